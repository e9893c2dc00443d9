"""Reads what is whole of a damaged file: writes a volume, flips one bit of it, and shows what that costs.

    python damaged_file.py

Prints how many samples are lost, where they are, and that all others have their bits. Draws damaged_file.png.
"""

import warnings

import h5py
import numpy as np

import h5stz

z, y, x = np.mgrid[0:96, 0:96, 0:96].astype("f4") / 96
rho = np.sin(9 * z + 3 * y**2) * np.cos(7 * x) + 0.01 * np.random.default_rng(1).standard_normal(x.shape, "f4")
with h5py.File("damaged.h5", "w") as file:
    file.create_dataset("rho", data=rho, chunks=(48, 96, 96), **h5stz.STZ(absolute=1e-3, block="region"))
with h5py.File("damaged.h5") as file:
    whole = file["rho"][...]
    chunk = file["rho"].id.get_chunk_info(1)
with open("damaged.h5", "r+b") as file:  # a bit in the middle of the second chunk
    file.seek(chunk.byte_offset + chunk.size // 2)
    (byte,) = file.read(1)
    file.seek(chunk.byte_offset + chunk.size // 2)
    file.write(bytes([byte ^ 1]))

with h5py.File("damaged.h5") as file, warnings.catch_warnings():
    warnings.simplefilter("ignore", h5stz.DamageWarning)  # which says what the loop below prints
    view = h5stz.view(file["rho"], on_error="nan")
    array = view[...]
    lost = np.isnan(array)
    print(f"lost: {np.count_nonzero(lost)} of {array.size} samples")
    print(f"all others have their bits: {np.array_equal(array[~lost], whole[~lost])}")
    for damage in view.damage:
        print(damage)

done = h5stz.salvage("damaged.h5", "salvaged.h5", overwrite=True)
with h5py.File("salvaged.h5") as file:
    print(f"salvaged: {np.array_equal(file['rho'][...], array, equal_nan=True)}, {len(done.damaged['/rho'])} damaged part")
    print(file["rho"].attrs["h5stz_damage"])

# A picture, where matplotlib is installed.
from picture import Panel, draw

label, limits = "rho (dimensionless)", (-1.1, 1.1, "RdBu_r")
panels = [Panel("before", whole[60], label, *limits), Panel("after: lost samples are grey", array[60], label, *limits)]
draw("damaged_file.png", "A plane of a file in which one bit was flipped", panels)

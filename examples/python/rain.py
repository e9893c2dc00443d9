"""Rain over a day: dry places stay dry, with fewer bytes under the same bound.

    python rain.py

Prints for several options: the share of the dry samples that come back as exactly 0, the largest error in units of the bound,
and the bytes. keep_zeros=True keeps every 0. favour="size" gives up some of the mean error for bytes. The last line is about
sums that were rounded to 0.1 mm: without loss they are kept as decimals.
"""

import h5py
import numpy as np

import h5stz

BOUND = 0.05  # mm per hour

hour, y, x = np.meshgrid(np.arange(24), np.linspace(0, 9, 96), np.linspace(0, 9, 96), indexing="ij")
waves = sum(np.sin(a * x + 0.3 * hour + a) * np.cos(b * y - 0.2 * hour) for a, b in ((0.7, 0.9), (1.6, 1.3), (3.1, 2.7)))
rain = np.maximum(0, 4 * waves - 2).astype("f4")

chosen = {
    "bound alone": {},
    "keep_zeros": {"keep_zeros": True},
    "keep_zeros, favour size": {"keep_zeros": True, "favour": "size"},
}
sums = np.round(rain.sum(0, dtype="f8"), 1)
with h5py.File("rain.h5", "w") as file:
    for name, options in chosen.items():
        file.create_dataset(name, data=rain, chunks=rain.shape, **h5stz.STZ(absolute=BOUND, **options))
    file.create_dataset("sums", data=sums, chunks=sums.shape, **h5stz.STZ(lossless=True))

with h5py.File("rain.h5") as file:
    for name in chosen:
        decoded, dry, stored = file[name][...], rain == 0, file[name].id.get_storage_size()
        error = np.abs(decoded.astype("f8") - rain).max() / BOUND
        print(
            f"{name}: dry samples that are 0: {(decoded[dry] == 0).mean():.3f}  max error / bound: {error:.6f}  bytes: {stored}"
        )
    stored = file["sums"].id.get_storage_size()
    print(f"sums: ratio: {sums.nbytes / stored:.1f}  samples unchanged: {np.array_equal(file['sums'][...], sums)}")

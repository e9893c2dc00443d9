"""A series that grows by one frame at a time, in chunks of many frames, and is corrected afterwards: the bound holds.

    python growing_dataset.py

HDF5 decodes and encodes a chunk again whenever a part of it is written. With the growth axis in the options (append_axis=0) the
dataset is as large as if it had been written at once. Prints its size relative to that, with the axis and without it, after
corrections too, and the largest errors.
"""

import h5py
import numpy as np

import h5stz

BOUND = 1e-3
FRAMES, ROWS, COLUMNS = 64, 96, 128
CHUNKS = (32, ROWS, COLUMNS)

time, y, x = np.meshgrid(np.arange(FRAMES), np.linspace(0, 4, ROWS), np.linspace(0, 5, COLUMNS), indexing="ij", sparse=True)
noise = np.random.default_rng(1).normal(0, 0.01, (FRAMES, ROWS, COLUMNS))
series = (np.sin(x + time / 7) * np.cos(y * 2 - time / 11) + noise).astype("f4")


def size_and_error(name):
    """Stored bytes, and the largest error in units of the bound."""
    with h5py.File(name) as file:
        error = np.abs(file["series"][...].astype("f8") - series).max()
        return file["series"].id.get_storage_size(), error / BOUND


def append(name, options):
    """Frame by frame, the file closed after each, as a program does that is called once for each frame."""
    with h5py.File(name, "w") as file:
        shape = (0, ROWS, COLUMNS)
        file.create_dataset("series", shape, "f4", maxshape=(None, ROWS, COLUMNS), chunks=CHUNKS, **options)
    for index, frame in enumerate(series):
        with h5py.File(name, "r+") as file:
            file["series"].resize(index + 1, axis=0)
            file["series"][index] = frame


with h5py.File("at_once.h5", "w") as file:
    file.create_dataset("series", data=series, chunks=CHUNKS, **h5stz.STZ(absolute=BOUND))
whole, _ = size_and_error("at_once.h5")
for name, options in {
    "growing.h5": h5stz.STZ(absolute=BOUND, append_axis=0),
    "unknown_growth.h5": h5stz.STZ(absolute=BOUND),
}.items():
    append(name, options)
    size, error = size_and_error(name)
    print(f"{name}: bytes over those of whole chunks: {size / whole:.3f} max error / bound: {error:.6f}")

for index in range(0, FRAMES, 5):  # corrections: a box here, a column there
    series[index, 20:50, 30:70] += 0.5
    series[:, index, 100] = 1
    with h5py.File("growing.h5", "r+") as file:
        file["series"][index, 20:50, 30:70] = series[index, 20:50, 30:70]
        file["series"][:, index, 100] = series[:, index, 100]
size, error = size_and_error("growing.h5")
print(f"corrected: bytes over those of whole chunks: {size / whole:.3f} max error / bound: {error:.6f}")

"""Writes and reads a dataset with all processors, and compares the file with that of HDF5, which uses one.

    python parallel.py

Prints the times of both, that they have stored the same chunks, and the largest error. A terminal also shows how far a call is.
"""

import sys
import time

import h5py
import numpy as np

import h5stz

z, y, x = np.ogrid[:160, :256, :256]
field = (np.sin(z / 9) * np.cos(y / 7) + x / 64).astype("f4")
field += np.random.default_rng(0).normal(scale=1e-2, size=field.shape).astype("f4")
chunks = (32, 128, 128)


def show(path, done, total):
    """Shows how far a call is. The call would end early if this raised an exception."""
    if sys.stderr.isatty():
        print(f"{path}: {done / total:.0%}", end="\r", file=sys.stderr)


with h5py.File("parallel.h5", "w") as file:
    start = time.perf_counter()
    ours = h5stz.write(file, "ours", field, chunks=chunks, absolute=1e-3, learn=False, progress=show)
    seconds = time.perf_counter() - start

    start = time.perf_counter()
    with h5py.File("one.h5", "w") as other:
        theirs = other.create_dataset("theirs", data=field, chunks=chunks, **h5stz.STZ(absolute=1e-3, learn=False))
        print(f"written in {seconds:.2f} s, by HDF5 in {time.perf_counter() - start:.2f} s")
        print("same bytes:", ours.id.get_storage_size() == theirs.id.get_storage_size())

with h5py.File("parallel.h5") as file:
    start = time.perf_counter()
    read = h5stz.read(file["ours"], progress=show)
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    same = np.array_equal(read, file["ours"][...])
    print(f"read in {seconds:.2f} s, by HDF5 in {time.perf_counter() - start:.2f} s; same samples: {same}")
    print("largest error:", abs(read.astype("f8") - field).max())

"""Writes an array of dask compressed: its tasks compress chunks, this process stores them in the file.

    python dask_writing.py

Prints the bound, the largest error and the ratio, and that another scheduler writes the same.
Needs dask: pip install 'h5stz[dask]'.
"""

import dask.array as da
import h5py
import numpy as np

import h5stz


def step(block_info=None):
    """A field that is computed in parts: one time step for each block."""
    time = block_info[None]["chunk-location"][0]
    y, x = np.meshgrid(np.linspace(0, 9, 512, dtype="f4"), np.linspace(0, 9, 512, dtype="f4"), indexing="ij")
    return (np.sin(x + time / 5) * np.cos(y))[np.newaxis]


series = da.map_blocks(step, chunks=((1,) * 24, (512,), (512,)), meta=np.empty((0, 0, 0), "f4"))
kelvin = 273.15 + 10 * series

h5stz.to_hdf5(kelvin, "series.h5", "run1/T", chunks=(8, 256, 512), scheduler="threads", relative=1e-4)
h5stz.to_hdf5(kelvin.mean(axis=0), "series.h5", "run1/mean", chunks=(512, 512), scheduler="threads", absolute=1e-3)

with h5py.File("series.h5") as file:
    stored = file["run1/T"]
    bound = h5stz.STZ.from_dataset(stored).bound
    print("bound:", bound)
    print("largest error:", abs(stored[...].astype("f8") - kelvin.compute()).max())
    print("ratio:", round(stored.nbytes / stored.id.get_storage_size(), 1))
    h5stz.to_hdf5(kelvin, "copy.h5", "T", chunks=stored.chunks, scheduler="synchronous", absolute=bound)
    with h5py.File("copy.h5") as copy:
        print("same chunks by another scheduler:", np.array_equal(copy["T"][...], stored[...]))

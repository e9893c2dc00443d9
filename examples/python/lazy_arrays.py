"""Lazy arrays: every time step at a coarse resolution, dask and xarray, views in other processes, many files as one dataset.

    python lazy_arrays.py

Prints which part of the bytes an overview of all time steps takes, and that every way of reading gives the same samples. Needs
xarray and dask: pip install 'h5stz[xarray]'.
"""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import h5py
import numpy as np
import xarray

import h5stz

STEPS, SHAPE = 16, (64, 96, 96)


def step_of(t):
    """One time step of a wave."""
    z, y, x = np.meshgrid(*(np.linspace(0, 1, extent, dtype="f4") for extent in SHAPE), indexing="ij", sparse=True)
    return np.sin(20 * x * y + 0.3 * t) * np.cos(15 * z + 0.1 * t) + np.sin(60 * z * x + 0.9 * t) / 4


def write_files():
    """Each time step in a file of its own, the whole series as a virtual dataset, and again in chunks of all steps."""
    options = h5stz.STZ(absolute=1e-3)
    layout = h5py.VirtualLayout((STEPS, *SHAPE), "f4")
    for t in range(STEPS):
        with h5py.File(f"step{t:02}.h5", "w") as file:
            file.create_dataset("rho", data=step_of(t), chunks=SHAPE, **options)
        layout[t] = h5py.VirtualSource(f"step{t:02}.h5", "rho", SHAPE)
    with h5py.File("series.h5", "w") as file:
        file.create_virtual_dataset("rho", layout)
        series = file.create_dataset("rho_8", (STEPS, *SHAPE), "f4", chunks=(8, *SHAPE), **options)
        for t in range(0, STEPS, 8):
            series[t : t + 8] = [step_of(t + i) for i in range(8)]


def largest(view):
    """The largest value of a view; runs in another process."""
    return float(np.max(view))


def main():
    """Writes the files, reads them in four ways."""
    write_files()
    with h5py.File("series.h5") as file:
        for name, stored in [("rho", "one step for each chunk, a virtual dataset"), ("rho_8", "eight steps for each chunk")]:
            view = h5stz.view(file[name])
            overview = view.level(2, axes=(1, 2, 3))  # every time step, every fourth sample of the other axes
            same = np.array_equal(overview[...], file[name][:, ::4, ::4, ::4])
            print(f"{stored}: {overview.shape}")
            print(f"  blocks decoded: {view.stats.blocks_decoded} of {view.stats.blocks_present}")
            print(f"  percent read: {100 * view.stats.bytes_read / view.stats.bytes_touched_chunks:.1f}")
            print(f"  as h5py reads it: {same}")

        with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # the view travels by name: the file is opened there
            found = pool.submit(largest, h5stz.view(file["rho"]).level(1, axes=(1, 2, 3))).result()
        print(f"as another process reads it: {found == file['rho'][:, ::2, ::2, ::2].max()}")
        print(f"bytes of a pickled view: {len(pickle.dumps(h5stz.view(file['rho'])))}")

        lazy = h5stz.dask_array(file["rho"], level=1, axes=(1, 2, 3), chunks=(1, -1, -1, -1))
        rho = xarray.DataArray(lazy, dims=("time", "z", "y", "x"), name="rho")
        section = rho.isel(y=10).mean("time")  # nothing has been read yet
        wanted = file["rho"][:, ::2, 20, ::2].mean(0)
    print(f"computed after the file was closed: {np.allclose(section.compute(), wanted, atol=1e-6)}")  # opened again by name
    h5stz.close_files()


if __name__ == "__main__":
    main()

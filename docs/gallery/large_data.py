# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Looking at large data
#
# Overviews and parts of a dataset are decoded without the rest. The one here is small; with a large one nothing changes.
# [Download this notebook](../large_data.ipynb).

# %%
import os
import tempfile

import dask.array as da
import h5py
import matplotlib.pyplot as plt
import numpy as np
import xarray

import h5stz

os.chdir(tempfile.mkdtemp())  # the files of this notebook go here

# %% [markdown]
# ## Written by dask
# The tasks of dask compress; the array is never in memory as a whole.

# %%
axis = da.linspace(0, 1, 192, chunks=96, dtype="f4")
z, y, x = axis[:, None, None], axis[None, :, None], axis[None, None, :]
rho = da.sin(20 * x * y) * da.cos(15 * z) + da.sin(60 * z * x) / 4
h5stz.to_hdf5(rho, "large.h5", "rho", absolute=1e-3)
print(f"{rho.nbytes / 1e6:.1f} MB in {os.path.getsize('large.h5') / 1e6:.2f} MB")

# %% [markdown]
# ## Levels and regions
# `view.level(2)` is every fourth sample. `view.stats` says what was read from the file.

# %%
with h5py.File("large.h5") as file:
    whole = file["rho"].id.get_storage_size()
    view = h5stz.view(file["rho"])
    pictures, names, read = [], [], []
    for name, get in {
        "level 3": lambda: view.level(3)[12],
        "level 2": lambda: view.level(2)[24],
        "level 1": lambda: view.level(1)[48],
        "a region": lambda: view[96, 100:150, 100:150],
        "a plane": lambda: view[96],
    }.items():
        view.stats.reset()
        pictures.append(get())
        names.append(name)
        read.append(view.stats.bytes_read)
        print(f"{name:9} {pictures[-1].shape!s:11} {read[-1]:8} bytes read, {100 * read[-1] / whole:5.1f} % of the dataset")

# %%
figure, axes = plt.subplots(1, 5, figsize=(13, 3), layout="constrained")
for axis_, name, picture in zip(axes, names, pictures, strict=True):
    axis_.imshow(picture, cmap="RdBu_r", vmin=-1.25, vmax=1.25, interpolation="nearest")
    axis_.set(title=name, xticks=[], yticks=[])
plt.show()

# %% [markdown]
# ## xarray
# The engine `h5stz` has `level=`; values are read when they are needed.

# %%
dataset = xarray.Dataset({"rho": (("z", "y", "x"), rho[:96, :96, :96].compute())})
h5stz.to_netcdf(dataset, "rho.nc", absolute=1e-3)
coarse = xarray.open_dataset("rho.nc", engine="h5stz", level=2)
print(coarse.sizes)
coarse["rho"].isel(z=10).plot(size=3)
plt.show()

# %% [markdown]
# ## dask
# `h5stz.dask_array` gives a lazy array, here of level 1.

# %%
with h5py.File("large.h5") as file:
    lazy = h5stz.dask_array(file["rho"], level=1)
    print(lazy)
    print("mean over the half resolution:", float(lazy.mean().compute()))
    print("mean over all samples:        ", float(np.mean(file["rho"][...], dtype="f8")))
h5stz.close_files()

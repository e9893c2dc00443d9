# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # First steps
#
# A field is stored in an HDF5 file with an error bound and read back. [Download this notebook](../first_steps.ipynb).

# %%
import os
import tempfile

import h5py
import matplotlib.pyplot as plt
import numpy as np

import h5stz

os.chdir(tempfile.mkdtemp())  # the files of this notebook go here

# %% [markdown]
# ## A field
# A random field of 96 x 96 x 96 samples with a power-law spectrum, as in turbulence.

# %%
rng = np.random.default_rng(1)
n = 96
k = np.sqrt(sum(f**2 for f in np.meshgrid(*3 * [np.fft.fftfreq(n, 1 / n)], indexing="ij", sparse=True)))
amplitude = np.where(k > 0, np.maximum(k, 1) ** (-11 / 6), 0)
field = np.fft.ifftn(np.fft.fftn(rng.standard_normal((n, n, n))) * amplitude).real
field = (field / field.std()).astype("f4")

# %% [markdown]
# ## Writing and reading
# `relative=1e-3` allows errors up to 0.1 % of max - min. The range is that of `data=`; printing the options shows the bound.

# %%
options = h5stz.STZ(relative=1e-3, data=field)
with h5py.File("field.h5", "w") as file:
    file.create_dataset("rho", data=field, chunks=field.shape, **options)
with h5py.File("field.h5") as file:
    stored = file["rho"].id.get_storage_size()
    decoded = file["rho"][...]
print(options)
print(f"ratio: {field.nbytes / stored:.1f}")

# %% [markdown]
# ## No error is above the bound

# %%
bound = 1e-3 * (float(field.max()) - float(field.min()))
error = (decoded.astype("f8") - field) / bound
print(f"largest error / bound: {abs(error).max():.6f}")
plt.figure(figsize=(6, 3))
plt.hist(error.ravel(), bins=np.linspace(-1.2, 1.2, 97))
for side in (-1, 1):
    plt.axvline(side, color="k", linestyle="--")
plt.xlabel("error / bound")
plt.ylabel("samples")
plt.show()

# %% [markdown]
# ## Before and after

# %%
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
for axis, title, values, limit in zip(
    axes, ("original", "decompressed", "error / bound"), (field[48], decoded[48], error[48]), (3, 3, 1), strict=True
):
    image = axis.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit)
    axis.set(title=title, xticks=[], yticks=[])
    figure.colorbar(image, ax=axis, shrink=0.8)
plt.show()

# %% [markdown]
# ## NaN and fill values
# NaN, infinities and the fill value of the dataset come back bit for bit; they do not enter the range.

# %%
ocean = field.copy()
ocean[:, :20] = -999  # land
ocean[0, 50, 50] = np.nan
with h5py.File("ocean.h5", "w") as file:
    options = h5stz.STZ(relative=1e-3, data=ocean, fill_value=-999)
    file.create_dataset("sst", data=ocean, chunks=ocean.shape, fillvalue=-999, **options)
with h5py.File("ocean.h5") as file:
    back = file["sst"][...]
print(options)
print("land is exact:", np.array_equal(back == -999, ocean == -999))
print("NaN is kept:", np.array_equal(np.isnan(back), np.isnan(ocean)))

# ---
# jupyter:
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # Choosing a bound
#
# What a bound costs and what it does to the data, before anything is written.
# [Download this notebook](../choosing_a_bound.ipynb).

# %%
import matplotlib.pyplot as plt
import numpy as np

import h5stz

# %%
rng = np.random.default_rng(1)
n = 96
k = np.sqrt(sum(f**2 for f in np.meshgrid(*3 * [np.fft.fftfreq(n, 1 / n)], indexing="ij", sparse=True)))
amplitude = np.where(k > 0, np.maximum(k, 1) ** (-11 / 6), 0)
field = np.fft.ifftn(np.fft.fftn(rng.standard_normal((n, n, n))) * amplitude).real
field = (field / field.std()).astype("f4")

# %% [markdown]
# ## Estimates
# `h5stz.estimate` says what ratio and PSNR to expect. Of an array this small it is exact, of large ones it looks at samples.

# %%
bounds = [1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5]
found = [h5stz.estimate(field, relative=relative) for relative in bounds]
for relative, estimate in zip(bounds, found, strict=True):
    print(f"relative={relative:<7g} ratio {estimate.ratio:7.1f}   PSNR {estimate.psnr:6.1f} dB")

# %% [markdown]
# ## Rate and distortion
# Crosses are estimates, circles are what compression really gives.

# %%
extent = float(field.max()) - float(field.min())
decoded, real = {}, []
for relative in bounds:
    stream = h5stz.compress(field, relative=relative)
    decoded[relative] = h5stz.decompress(stream)
    rms = np.sqrt(np.mean((decoded[relative].astype("f8") - field) ** 2))
    real.append((8 * len(stream) / field.size, 20 * np.log10(extent / rms)))
plt.figure(figsize=(6, 3.6))
plt.plot(*zip(*real, strict=True), "o-", fillstyle="none", label="compressed")
plt.plot([32 / e.ratio for e in found], [e.psnr for e in found], "x", label="estimated")
plt.xlabel("bits per sample")
plt.ylabel("PSNR / dB")
plt.legend()
plt.show()

# %% [markdown]
# ## The power spectrum
# Errors of small bounds are nearly white noise. Where the spectrum of the field falls below theirs, as here at the end
# with 1e-1, structures are lost: a bound is fine if this happens beyond the wave numbers that you look at.


# %%
def spectrum(values):
    """Mean power at each whole wave number."""
    power = abs(np.fft.fftn(values)) ** 2 / values.size
    shell = np.rint(k).astype(int).ravel()
    return (np.bincount(shell, power.ravel()) / np.bincount(shell))[1 : n // 2]


plt.figure(figsize=(6, 3.6))
plt.loglog(np.arange(1, n // 2), spectrum(field), "k", label="field")
for relative in (1e-1, 1e-2, 1e-3):
    plt.loglog(np.arange(1, n // 2), spectrum(decoded[relative].astype("f8") - field), label=f"errors, relative={relative:g}")
plt.xlabel("wave number")
plt.ylabel("power")
plt.legend()
plt.show()

# %% [markdown]
# ## Starting from a ratio or a PSNR
# Both become an absolute bound, which then holds for every sample.

# %%
for wanted in ({"ratio": 20}, {"psnr": 70}):
    options = h5stz.STZ(**wanted, data=field, chunks=field.shape)
    print(wanted, "->", options)

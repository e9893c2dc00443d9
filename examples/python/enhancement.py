"""Enhancement: the same PSNR from fewer bytes, and what it does to the largest error.

python enhancement.py
"""

import tempfile
from pathlib import Path

import h5py
import numpy as np

import h5stz


def noisy_field(extent, seed=1):
    """A smooth random field (float32) of extent^3 samples, with noise."""
    rng = np.random.default_rng(seed)
    wave = np.sqrt(sum(np.square(k) for k in np.meshgrid(*[np.fft.fftfreq(extent) * extent] * 3, indexing="ij")))
    wave[0, 0, 0] = np.inf
    field = np.fft.ifftn(np.fft.fftn(rng.standard_normal((extent,) * 3)) * wave**-2).real
    return (field / field.std() + 0.05 * rng.standard_normal((extent,) * 3)).astype("f4")


def psnr(original, decoded):
    """Peak signal-to-noise ratio in dB."""
    error = np.sqrt(np.mean(np.square(original.astype("f8") - decoded)))
    return 20 * np.log10(np.ptp(original) / error)


data = noisy_field(64)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "enhanced.h5"
    options = {str(kind): h5stz.STZ(psnr=40, data=data, enhance=kind) for kind in (None, "strict", "relaxed", "both", True)}
    with h5py.File(path, "w") as file:
        for name, stz in options.items():
            file.create_dataset(name, data=data, chunks=data.shape, **stz)

    with h5py.File(path) as file:
        for name, stz in options.items():
            decoded, size = file[name][...], file[name].id.get_storage_size()
            error = np.abs(data.astype("f8") - decoded).max() / stz.bound
            print(f"enhance={name}: {size} bytes, {psnr(data, decoded):.2f} dB, error up to {error:.2f} x {stz.bound:.4f}")
            assert psnr(data, decoded) >= 40
            assert error <= (1 if name in ("None", "strict") else 1.5)

        plain = h5stz.view(file["True"]).read(np.s_[:8], enhance=False)  # without the filter, and so within the bound itself
        assert np.abs(data[:8].astype("f8") - plain).max() <= options["True"].bound

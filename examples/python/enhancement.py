"""Enhancement: a wanted PSNR from fewer bytes, and what it does to the largest error.

    python enhancement.py

Prints, without enhancement and with each kind, the bytes that 34 dB take and the largest error in units of the bound. True
takes the kind with the fewest bytes. The chunk shape (chunks=) is needed for that. Draws enhancement.png.
"""

import h5py
import numpy as np

import h5stz

PSNR, KINDS = 34, (None, "strict", "relaxed", "both", True)


def noisy_field(extent, seed=1):
    """A smooth random field (float32) of extent^3 samples, with noise."""
    rng = np.random.default_rng(seed)
    wave = np.sqrt(sum(np.square(k) for k in np.meshgrid(*[np.fft.fftfreq(extent) * extent] * 3, indexing="ij")))
    wave[0, 0, 0] = np.inf
    field = np.fft.ifftn(np.fft.fftn(rng.standard_normal((extent,) * 3)) * wave**-3).real
    return (field / field.std() + 0.1 * rng.standard_normal((extent,) * 3)).astype("f4")


def psnr(original, decoded):
    """Peak signal-to-noise ratio in dB."""
    error = np.sqrt(np.mean(np.square(original.astype("f8") - decoded)))
    return 20 * np.log10(np.ptp(original) / error)


data = noisy_field(40)
options = {str(kind): h5stz.STZ(psnr=PSNR, data=data, chunks=data.shape, enhance=kind) for kind in KINDS}
with h5py.File("enhanced.h5", "w") as file:
    for name, stz in options.items():
        file.create_dataset(name, data=data, chunks=data.shape, **stz)

sizes, errors = [], []
with h5py.File("enhanced.h5") as file:
    for name, stz in options.items():
        decoded = file[name][...]
        sizes.append(file[name].id.get_storage_size())
        errors.append(np.abs(data.astype("f8") - decoded).max() / stz.bound)
        about = f"{sizes[-1]} bytes, PSNR: {psnr(data, decoded):.2f} dB, bound {stz.bound:.3f}"
        print(f"enhance={name:8} {about}, max error / bound: {errors[-1]:.2f}")

    plain = h5stz.view(file["True"]).read(np.s_[:8], enhance=False)  # without the filter, and so within the bound itself
    error = np.abs(data[:8].astype("f8") - plain).max() / options["True"].bound
    print(f"without the filter, max error / bound: {error:.2f}")

# A picture, where matplotlib is installed.
from picture import pyplot, save

if (plotting := pyplot()) is not None:
    figure, places = plotting.subplots(1, 2, figsize=(9, 4), layout="constrained")
    figure.suptitle(f"What {PSNR} dB take, without enhancement (None) and with it")
    places[0].bar(list(options), sizes)
    places[0].set(xlabel="enhance=", ylabel="size (bytes)")
    places[1].bar(list(options), errors, color="tab:orange")
    places[1].axhline(1, color="black", linewidth=1)
    places[1].set(xlabel="enhance=", ylabel="largest error / bound (dimensionless)")
    save(figure, "enhancement.png")

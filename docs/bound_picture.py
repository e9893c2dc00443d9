"""Draws docs/bounds.png: a field under relative bounds from 1e-1 to 1e-5, the error of each, and its power spectrum.

./run python docs/bound_picture.py [FILE]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import pyplot

import h5stz

EDGE = 256
BOUNDS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # of the range


def field():
    """A field with a turbulent spectrum, k^-5/3 in energy: (EDGE, EDGE, 32), float32."""
    rng = np.random.default_rng(5)
    shape = (EDGE, EDGE, 32)
    wave = np.sqrt(sum(k**2 for k in np.meshgrid(*[np.fft.fftfreq(n) * n for n in shape], indexing="ij", sparse=True)))
    amplitude = (1 + wave / 3) ** (-11 / 6) * np.exp(-wave / 60)
    return np.fft.ifftn(np.fft.fftn(rng.standard_normal(shape)) * amplitude).real.astype("f4")


def spectrum(plane):
    """Power by wavenumber (cycles over the plane), the mean over rings of width 1."""
    power = np.abs(np.fft.fft2(plane)) ** 2
    k = np.fft.fftfreq(EDGE) * EDGE
    ring = np.rint(np.hypot(k[:, None], k[None])).astype(int)
    count = np.bincount(ring.ravel())
    return (np.bincount(ring.ravel(), power.ravel()) / count)[1 : EDGE // 2]


def main():
    """Writes the picture."""
    original = field()
    plane, width = original[..., 16], np.ptp(original)
    cut, small = np.s_[64:192, 64:192], np.s_[64:128, 64:128]
    figure, panels = pyplot.subplots(3, len(BOUNDS), figsize=(3 * len(BOUNDS), 8.6), layout="constrained")
    for bound, column in zip(BOUNDS, panels.T, strict=True):
        stream = h5stz.compress(original, absolute=bound * width)
        decoded = h5stz.decompress(stream)[..., 16]
        error = decoded.astype("f8") - plane
        column[0].imshow(decoded[cut], cmap="viridis", vmin=plane.min(), vmax=plane.max())
        column[0].set_title(f"bound {bound:g}: {original.nbytes / len(stream):.0f} times smaller", fontsize=11)
        column[1].imshow(error[small] / (bound * width), cmap="RdBu", vmin=-1, vmax=1)
        for axes in column[:2]:
            axes.set(xticks=[], yticks=[])
        column[2].loglog(spectrum(plane), color="#1f5fa8", label="field")
        column[2].loglog(spectrum(error), color="#e07b39", label="error")
        column[2].set(xlabel="wavenumber", ylim=(1e-14 * spectrum(plane).max(), None))
    panels[0, 0].set_ylabel("decoded")
    panels[1, 0].set_ylabel("error, -1 to 1 bound")
    panels[2, 0].set_ylabel("power")
    panels[2, 0].legend()
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("bounds.png")
    figure.savefig(path, dpi=64)


if __name__ == "__main__":
    main()

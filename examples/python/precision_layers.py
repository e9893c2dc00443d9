"""Precision layers: one file, read with errors of 1e-2, 1e-3 or with all its precision, for a part of the bytes each time.
Lossless data without layers have a preview, which is read with its error in the same way.

    python precision_layers.py

Prints the largest error with one layer, two and all, the error found and the bytes that were read, then those of the preview.
Draws precision_layers.png.
"""

import tempfile
from pathlib import Path

import h5py
import numpy as np

import h5stz


def turbulence(extent, seed=1):
    """A smooth random field (float32) of extent^3 samples with values about -3 to 3."""
    rng = np.random.default_rng(seed)
    wave = np.sqrt(sum(np.square(k) for k in np.meshgrid(*[np.fft.fftfreq(extent) * extent] * 3, indexing="ij")))
    wave[0, 0, 0] = np.inf
    field = np.fft.ifftn(np.fft.fftn(rng.standard_normal((extent,) * 3)) * wave**-2.5).real
    return (field / field.std()).astype("f4")


data, steps = turbulence(64), []
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "layers.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("rho", data=data, chunks=data.shape, **h5stz.STZ(absolute=1e-5, layers=3))

    with h5py.File(path) as file:
        view = h5stz.view(file["rho"], cache_bytes=0)
        print("largest errors with one layer, two and all:", ", ".join(f"{error:.1e}" for error in view.layer_errors()))
        for error, array in view.refine(np.s_[16:48, 16:48, :], by="error"):
            found = np.abs(array.astype(float) - data[16:48, 16:48, :]).max()
            print(f"errors up to {error:.1e}, found {found:.1e}, from {view.stats.bytes_read} bytes")
            steps.append((error, array, view.stats.bytes_read))
            view.stats.reset()

        rough = view.at_error(view.layer_errors()[0])  # a view that is read with the layers that suffice for this error
        plane = rough.level(1)[10]  # region, resolution and precision together
        print("a plane of every second sample:", plane.shape, f"from {view.stats.bytes_read} bytes")

        assert np.abs(file["rho"][...].astype(float) - data).max() <= 1e-5  # whoever reads as usual gets all of it

    with h5py.File(path, "w") as file:
        stored = file.create_dataset("rho", data=data, chunks=data.shape, **h5stz.STZ(lossless=True))
        accepted = h5stz.info(stored.id.read_direct_chunk((0, 0, 0))[1]).preview_error
    with h5py.File(path) as file:
        view = h5stz.view(file["rho"], cache_bytes=0)
        preview = view.at_error(accepted)[...]
        found = np.abs(preview.astype(float) - data).max()
        few_bytes = view.stats.bytes_read
        assert np.array_equal(view[...], data)
        print(f"preview: error {accepted:.2e}, seen {found:.2e}; {few_bytes} of {view.stats.bytes_read - few_bytes} bytes")

# A picture, where matplotlib is installed.
from picture import Panel, draw

panels = [
    Panel(
        f"{count} layer{'s' if count > 1 else ''}: errors up to {error:.1e}",
        np.maximum(np.abs(array[16, :, 16:48].astype(float) - data[32, 16:48, 16:48]), 1e-8),  # of a logarithm
        "|difference| (dimensionless)",
        1e-7,
        1e-1,
        logarithmic=True,
        extent=(16, 48, 16, 48),
    )
    for count, (error, array, _) in enumerate(steps, 1)
]
draw("precision_layers.png", "One file, read with more and more layers: the errors of a plane", panels)

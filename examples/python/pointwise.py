"""A bound relative to each sample, for data that span many decades: |x - x'| <= r |x|, zeros and signs exact.

    python pointwise.py

Prints the decades that a density spans, the ratio, and the largest error in units of the bound of its sample.
Draws pointwise.png.
"""

import h5py
import numpy as np

import h5stz

RELATIVE = 1e-3

z, y, x = np.meshgrid(*3 * [np.linspace(-6, 6, 80)], indexing="ij")
atoms = ((-1.2, 0.1, 0.0, 1.1), (1.2, -0.2, 0.3, 1.7), (0.1, 1.6, -0.9, 0.8))
density = sum(np.exp(-2 * decay * np.sqrt((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2)) for a, b, c, decay in atoms)
density[:2] = 0  # zeros come back as zeros

with h5py.File("density.h5", "w") as file:
    options = h5stz.STZ(pointwise_relative=RELATIVE)
    file.create_dataset("density", data=density, chunks=density.shape, **options)
with h5py.File("density.h5") as file:
    decoded, stored = file["density"][...], file["density"].id.get_storage_size()

filled = density != 0
print(f"decades: {np.log10(density[filled].max() / density[filled].min()):.1f}")
print(f"ratio: {density.nbytes / stored:.1f}")
print(f"max error / bound: {(np.abs(decoded - density)[filled] / density[filled]).max() / RELATIVE:.6f}")
print(f"zeros unchanged: {not decoded[~filled].any()}")

# A picture, where matplotlib is installed.
from picture import Panel, draw

plane, read = np.ma.masked_equal(density[40], 0), decoded[40]
label, decades = "density (dimensionless)", {"lowest": plane.min(), "largest": plane.max(), "logarithmic": True}
error = (read - plane) / plane / RELATIVE
panels = [
    Panel("original", plane, label, **decades),
    Panel("decompressed", read, label, **decades),
    Panel("difference", error, "difference / (0.001 of the sample) (dimensionless)", -1, 1, "PuOr_r"),
]
draw("pointwise.png", "Each sample within a thousandth of itself", panels)

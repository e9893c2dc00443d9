"""Choosing a bound before writing: what each gives, and the bound for a wanted PSNR or ratio.

    python choose_bound.py

Prints a table of estimates for a volume, then writes it ten times smaller and compares with what was expected. PSNR, the peak
signal-to-noise ratio, is the range over the root mean square error, in decibels (dB). Draws choose_bound.png.
"""

import h5py
import numpy as np

import h5stz

rng = np.random.default_rng(1)
rho = np.cumsum(np.cumsum(rng.standard_normal((80, 80, 80)), axis=0), axis=1).astype("f4")

BOUNDS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
estimates = [h5stz.estimate(rho, relative=relative) for relative in BOUNDS]
print("relative bound   ratio  PSNR/dB")
for relative, found in zip(BOUNDS, estimates, strict=True):
    print(f"{relative:14g}  {found.ratio:6.1f}  {found.psnr:7.1f}")

print("for 60 dB:", h5stz.estimate(rho, psnr=60).options)

options = h5stz.STZ(ratio=10, data=rho, chunks=rho.shape)
with h5py.File("choose_bound.h5", "w") as file:
    rho_stored = file.create_dataset("rho", data=rho, chunks=rho.shape, **options)
    print("for a ratio of 10:", options)
    print(f"written, ratio: {rho.nbytes / rho_stored.id.get_storage_size():.3f}")

# A picture, where matplotlib is installed.
from picture import pyplot, save

if (plotting := pyplot()) is not None:
    figure, places = plotting.subplots(1, 2, figsize=(9, 4), layout="constrained")
    figure.suptitle("What a bound gives for this volume")
    places[0].loglog(BOUNDS, [found.ratio for found in estimates], "o-")
    places[0].set(xlabel="bound / range (dimensionless)", ylabel="ratio: size before / after (dimensionless)")
    places[1].semilogx(BOUNDS, [found.psnr for found in estimates], "o-")
    places[1].set(xlabel="bound / range (dimensionless)", ylabel="PSNR (dB)")
    for place in places:
        place.grid(alpha=0.4)
    save(figure, "choose_bound.png")

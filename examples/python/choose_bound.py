"""Choosing a bound before writing: what each gives, and the bound for a wanted PSNR or ratio.

Prints a table of estimates for a volume, then writes it ten times smaller and compares with what was expected.
"""

import h5py
import numpy as np

import h5stz

rng = np.random.default_rng(1)
rho = np.cumsum(np.cumsum(rng.standard_normal((160, 160, 160)), axis=0), axis=1).astype("f4")

print("relative bound  ratio  PSNR/dB")
for relative in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
    found = h5stz.estimate(rho, relative=relative)
    print(f"{relative:14g}  {found.ratio:5.1f}  {found.psnr:7.1f}")

print("for 60 dB:", h5stz.estimate(rho, psnr=60).options)

options = h5stz.STZ(ratio=10, data=rho, chunks=rho.shape)
with h5py.File("choose_bound.h5", "w") as file:
    rho_stored = file.create_dataset("rho", data=rho, chunks=rho.shape, **options)
    print(f"for a ratio of 10: {options}, ratio: {rho.nbytes / rho_stored.id.get_storage_size():.3f}")

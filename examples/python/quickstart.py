"""The smallest complete use: write a dataset within an absolute error, read it back."""

import h5py
import numpy as np

import h5stz

field = np.fromfunction(lambda z, y, x: np.sin(z / 9) * np.cos(y / 7) + x / 64, (64, 64, 64), dtype="f4")
with h5py.File("quickstart.h5", "w") as file:
    file.create_dataset("rho", data=field, chunks=(64, 64, 64), **h5stz.STZ(absolute=1e-3))
with h5py.File("quickstart.h5") as file:
    stored = file["rho"]
    print("ratio:", round(field.nbytes / stored.id.get_storage_size(), 1))
    print("largest error:", abs(stored[...] - field).max())

"""The smallest complete use: writes a dataset within an absolute error and reads it back.

    python quickstart.py

Prints how many times smaller the dataset is, and the largest error: it is below the bound, 0.001. Draws quickstart.png.
"""

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

# A picture, where matplotlib is installed.
from picture import compare

with h5py.File("quickstart.h5") as file:
    decoded = file["rho"][32]
compare("quickstart.png", "A plane of quickstart.h5: rho within 0.001", field[32], decoded, 1e-3, "rho (dimensionless)")

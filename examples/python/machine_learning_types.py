"""bfloat16 and float8: weights as training programs store them, without loss and within a bound.

NumPy has these types by the package ml_dtypes. HDF5 stores them as types of its own, which HDF5 2.0 names; Keras stores opaque
bytes.
Prints the ratio of each, and the largest error with a bound. Needs ml_dtypes: pip install 'h5stz[types]'
"""

import h5py
import ml_dtypes
import numpy as np

import h5stz

rng = np.random.default_rng(1)
scales = np.exp(rng.normal(size=(512, 1)))
weights = (0.05 * scales * rng.normal(size=(512, 1024))).cumsum(axis=1)  # rows of different size

with h5py.File("weights.h5", "w") as file:
    for dtype in ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2:
        exact, name = weights.astype(dtype), np.dtype(dtype).name
        h5stz.write(file, f"{name}/exact", exact, lossless=True)
        h5stz.write(file, f"{name}/bounded", exact, absolute=0.5)
    keras = file.create_dataset("keras", data=weights.astype(ml_dtypes.bfloat16))
    keras.attrs["dtype"] = "bfloat16"  # as keras.saving does

with h5py.File("weights.h5") as file:
    for name in "bfloat16", "float8_e4m3fn", "float8_e5m2":
        exact, bounded = h5stz.read(file[f"{name}/exact"]), h5stz.read(file[f"{name}/bounded"])
        ratios = [exact.nbytes / file[f"{name}/{each}"].id.get_storage_size() for each in ("exact", "bounded")]
        error = np.abs(exact.astype("f8") - bounded.astype("f8")).max()
        print(f"{exact.dtype}: without loss, ratio: {ratios[0]:.2f}")
        print(f"{exact.dtype}: with a bound of 0.5, ratio: {ratios[1]:.2f}")
        print(f"{exact.dtype}: largest error: {error:g}")

report = h5stz.repack("weights.h5", "weights_small.h5", [h5stz.Rule("/keras", {"lossless": True})])
before, after = next((each.before, each.after) for each in report.outcomes if each.path == "/keras")
with h5py.File("weights_small.h5") as file:
    same = np.array_equal(file["keras"][...].view(ml_dtypes.bfloat16), weights.astype(ml_dtypes.bfloat16))
print(f"the dataset of Keras in a copy of the file, ratio: {before / after:.2f}\nread by any program: {same}")

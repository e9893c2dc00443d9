"""Missing samples (numpy.ma, a fill value, NaN) come back bit for bit and do not affect the bound.

    python masked_climate.py

The synthetic monthly temperatures have no values on land, as in ocean models. Prints, for four ways to say which samples are
missing, the ratio, the largest error and that missing samples are unchanged. Draws masked_climate.png.
"""

import h5py
import numpy as np

import h5stz

FILL = np.float32(1e20)

month, latitude, longitude = np.meshgrid(np.arange(24), np.linspace(-80, 80, 96), np.arange(0, 360, 2.5), indexing="ij")
temperature = 273.15 + 28 * np.cos(np.radians(latitude)) + 4 * np.sin(2 * np.pi * month / 12) * np.sin(np.radians(latitude))
temperature = (temperature + np.cos(np.radians(3 * longitude + 5 * month))).astype("f4")
land = np.sin(np.radians(2 * longitude)) * np.cos(np.radians(3 * latitude)) > 0.3
masked = np.ma.masked_array(temperature, land, fill_value=FILL)


def report(name, original, options):
    """Writes a dataset, reads it back and prints how valid and missing samples came back."""
    with h5py.File(f"{name}.h5", "w") as file:
        file.create_dataset("temperature", data=original, chunks=original.shape, **options)
    with h5py.File(f"{name}.h5") as file:
        decoded, stored = file["temperature"][...], file["temperature"].id.get_storage_size()
    kept = np.array_equal(decoded.view("u4")[land], original.view("u4")[land])
    error = np.abs(decoded[~land].astype("f8") - original[~land]).max()
    print(f"{name}: {options!r}")
    print(f"  ratio: {original.nbytes / stored:.1f}")
    print(f"  max error / bound: {error / options.bound:.6f}")
    print(f"  missing samples unchanged: {kept}")


# A masked array has a fill value of its own; the dataset stores the plain array with the fill value at the masked samples.
report("masked", masked.filled(), h5stz.STZ(relative=1e-3, data=masked))
# In a plain array, a repeated value far from all others is detected as the fill value. It can also be given: fill_value=.
report("detected", masked.filled(), h5stz.STZ(relative=1e-3, data=masked.filled()))
report("given", masked.filled(), h5stz.STZ(absolute=0.05, data=masked.filled(), fill_value=FILL))
# NaN and infinities need no option.
report("nan", masked.filled(np.nan), h5stz.STZ(relative=1e-3, data=masked.filled(np.nan)))

# A picture, where matplotlib is installed.
from picture import compare

with h5py.File("nan.h5") as file:
    decoded = file["temperature"][0]
bound, map_axes = h5stz.STZ(relative=1e-3, data=masked).bound, ("longitude (degrees east)", "latitude (degrees north)")
planes, place = (masked[0].filled(np.nan), decoded), (-1.25, 358.75, -80.8, 80.8)
compare("masked_climate.png", "The first month: no values on land (grey)", *planes, bound, "temperature (K)", place, map_axes)

"""Bounds for the variables of a climate file, chosen by what they do to an index that is derived from them.

    python bounds_of_climate.py

Writes a small generated file of daily temperature, humidity, pressure, wind and precipitation. The index is the apparent
temperature of Steadman (1994), which the Australian Bureau of Meteorology uses: what a person feels in the shade. Its root mean
square change may be 0.01 K. h5stz.choose_bounds finds a bound for each variable, on the first half of the days, and verifies
them on the second. Takes a few seconds. Prints the table, then bits per sample of the variables that the index uses: for the
chosen bounds, and for the one relative bound for all that changes the index by as much. Draws bounds_of_climate.png.
"""

import h5py
import numpy as np

import h5stz

DAYS, LATITUDES, LONGITUDES = 64, 36, 72
BUDGET = 0.01  # K
INDEX_USES = ("tas", "huss", "ps", "uas", "vas")


def weather(seed, slope=2.2):
    """Random waves of mean 0 and standard deviation 1 on days, latitudes and longitudes."""
    noise = np.random.default_rng(seed).standard_normal((DAYS, LATITUDES, LONGITUDES))
    waves = [np.fft.fftfreq(size, 1 / size) for size in noise.shape]
    length = np.sqrt((waves[0][:, None, None] / 3) ** 2 + waves[1][:, None] ** 2 + waves[2] ** 2)
    found = np.fft.ifftn(np.fft.fftn(noise) * np.maximum(length, 1) ** -slope).real
    return (found - found.mean()) / found.std()


def write(path):
    """The file of a model: six variables and their coordinates."""
    latitude = np.linspace(-88.125, 88.125, LATITUDES)
    cold = np.sin(np.radians(latitude[:, None])) ** 2
    tas = 300 - 45 * cold + 4 * weather(1)
    saturated = 611 * np.exp(17.3 * (tas - 273.15) / (tas - 35.9))  # Pa
    ps = 98500 + 900 * weather(2) - 2500 * np.abs(weather(7)[0])
    huss = 0.622 * saturated / ps * (0.7 + 0.12 * weather(3))
    variables = {
        "tas": (tas, "K"),
        "huss": (huss, "kg kg-1"),
        "ps": (ps, "Pa"),
        "uas": (5 * weather(4), "m s-1"),
        "vas": (4 * weather(5), "m s-1"),
        "pr": (1e-5 * np.maximum(weather(6, 1.5), 0), "kg m-2 s-1"),
    }
    with h5py.File(path, "w") as file:
        for name, (values, unit) in variables.items():
            file.create_dataset(name, data=values.astype("f4")).attrs["units"] = unit
        file["time"], file["lat"], file["lon"] = np.arange(DAYS), latitude, np.arange(0, 360, 360 / LONGITUDES)


def apparent_temperature(variables, days):
    """The index in K."""
    tas, huss, ps, uas, vas = (variables[name][days].astype("f8") for name in INDEX_USES)
    vapour_pressure = huss * ps / (0.622 + 0.378 * huss) / 100  # hPa
    return tas + 0.33 * vapour_pressure - 0.70 * np.hypot(uas, vas) - 4.00


def change(days):
    """A metric: the root mean square change of the index on these days, in K."""
    exact = apparent_temperature(arrays, days)
    return lambda found: np.sqrt(np.mean((apparent_temperature(found, days) - exact) ** 2))


write("climate.h5")
with h5py.File("climate.h5") as file:
    arrays = {name: dataset[...] for name, dataset in file.items()}
first, second = slice(0, DAYS // 2), slice(DAYS // 2, DAYS)
# aim: on so many samples a mean square hardly depends on the days, so the search may use nearly all of the budget.
chosen = h5stz.choose_bounds(arrays, change(first), BUDGET, verify=change(second), aim=0.95)
print(chosen, end="\n\n")

with h5py.File("bounds_of_climate.h5", "w") as file:
    for name, array in arrays.items():
        file.create_dataset(name, data=array, chunks=array.shape, **chosen[name])
with h5py.File("bounds_of_climate.h5") as file:
    read = {name: dataset[...] for name, dataset in file.items()}

samples = sum(arrays[name].size for name in INDEX_USES)
bits = 8 * sum(row.bytes for row in chosen.rows if row.name in INDEX_USES) / samples
whole = change(slice(None))
print(f"chosen bounds, bits per sample: {bits:.2f}")
print(f"chosen bounds, change in K: {whole(read):.4f}")


def with_one_bound(relative):
    """The variables with one relative bound, and their bits per sample."""
    streams = {name: h5stz.compress(arrays[name], relative=relative) for name in INDEX_USES}
    return {name: h5stz.decompress(each) for name, each in streams.items()}, 8 * sum(map(len, streams.values())) / samples


low, high = 1e-6, 1e-1
for _ in range(9):
    middle = np.sqrt(low * high)
    low, high = (middle, high) if whole(with_one_bound(middle)[0]) <= whole(read) else (low, middle)
decoded, bits_of_one = with_one_bound(low)
print(f"relative={low:.1e} for all, bits per sample: {bits_of_one:.2f}")
print(f"relative={low:.1e} for all, change in K: {whole(decoded):.4f}")

# A picture, where matplotlib is installed.
from picture import compare

planes = [apparent_temperature(each, slice(-1, None))[0] for each in (arrays, read)]
place, map_axes = (-2.5, 357.5, -90, 90), ("longitude (degrees east)", "latitude (degrees north)")
compare("bounds_of_climate.png", "The last day", *planes, BUDGET, "apparent temperature (K)", place, map_axes)

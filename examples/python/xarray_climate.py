"""xarray: one bound for the data of a dataset, every bit of the rest; saved again without a second loss; read coarsely.

    python xarray_climate.py

Prints the ratio, the largest errors, and what is unchanged: missing samples, flags, the bits of a copy. Needs xarray,
h5netcdf and dask: pip install 'h5stz[xarray]'.
"""

import os

import numpy as np
import xarray

import h5stz

latitude, longitude = np.linspace(-80, 80, 96), np.arange(0, 360, 2.5)
time = np.arange("2001-01", "2005-01", dtype="M8[M]").astype("M8[ns]")
month, lat, lon = np.meshgrid(np.arange(48), np.radians(latitude), np.radians(longitude), indexing="ij")
noise = np.random.default_rng(1).normal(0, 0.2, month.shape)
temperature = (273.15 + 28 * np.cos(lat) + 4 * np.sin(np.pi * month / 6) * np.sin(lat) + np.cos(3 * lon) + noise).astype("f4")
ocean = np.where(np.sin(2 * lon) * np.cos(3 * lat) > 0.3, np.nan, temperature).astype("f4")

dims = ("time", "lat", "lon")
dataset = xarray.Dataset(
    {
        "tas": (dims, temperature, {"units": "K"}),
        "tos": (dims, ocean, {"units": "K"}),
        "warm": (dims, (temperature > 290).astype("i1"), {"flag_values": [0, 1], "flag_meanings": "no yes"}),
    },
    coords={"time": time, "lat": latitude, "lon": longitude},
).chunk(time=12)
dataset["tos"].encoding["_FillValue"] = np.float32(1e20)

# The bound is for tas and tos. It is 0.1 % of the range of each, without the missing samples.
h5stz.to_netcdf(dataset, "climate.nc", relative=1e-3)
print("ratio:", round(dataset.nbytes / os.path.getsize("climate.nc"), 1))

with xarray.open_dataset("climate.nc", engine="h5netcdf") as read:
    for name in ("tas", "tos"):
        bound = read[name].attrs["h5stz_absolute_error_bound"]
        error = float(abs(read[name].astype("f8") - dataset[name]).max())
        print(f"{name}: max error / bound: {error / bound:.6f}")
    print("missing samples unchanged:", bool((read["tos"].isnull() == dataset["tos"].isnull()).all()))
    print("flags unchanged:", bool((read["warm"] == dataset["warm"]).all()))

    # Saved again it keeps its options, and loses nothing more.
    read.to_netcdf("copy.nc", engine="h5netcdf", encoding=h5stz.xarray_encoding(read))
    with xarray.open_dataset("copy.nc", engine="h5netcdf") as copy:
        print("copy has the same bits:", copy.identical(read))

    # Every fourth sample of the maps; the coordinates are thinned alike.
    with xarray.open_dataset("climate.nc", engine="h5stz", level=2, axes=("lat", "lon")) as coarse:
        print("coarse:", dict(coarse.sizes))
        same = coarse.identical(read.isel(lat=slice(None, None, 4), lon=slice(None, None, 4)))
        print("coarse samples are those of the file:", same)

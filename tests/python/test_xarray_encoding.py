"""xarray_encoding, xarray_attributes, to_netcdf: what xarray then writes keeps the bound of data and every bit of the rest."""

import fnmatch
import warnings

import h5py
import numpy as np
import pytest

import h5stz
from support import exact
from support.requirements import needs_packages

pytestmark = needs_packages("xarray", "h5netcdf", "dask")
FILL = np.float32(1e20)
SHAPE = (24, 40, 72)
RELATIVE = 1e-3
READERS = [pytest.param("h5netcdf"), pytest.param("netcdf4", marks=needs_packages("netCDF4"))]


def series(seed=1):
    """A smooth field with noise, float32."""
    t, y, x = np.meshgrid(*map(np.arange, SHAPE), indexing="ij")
    noise = np.random.default_rng(seed).normal(0, 0.3, SHAPE)
    return (280 + 20 * np.sin(y / 13) + 5 * np.cos(x / 9 + t / 4) + noise).astype("f4")


def climate(dask=False):
    """A dataset as of a model: data with and without missing samples, bounds, flags, auxiliary coordinates, text, times."""
    import xarray

    values, ice = series(), series(2)
    ice[:, :9] = np.nan
    grid = series(3)[0].astype("f8")
    dims = ("time", "lat", "lon")
    dataset = xarray.Dataset(
        {
            "tas": (dims, values, {"units": "K", "cell_methods": "time: mean", "cell_measures": "area: areacella"}),
            "sic": (dims, ice),
            "flags": (dims, (values > 280).astype("f4"), {"flag_values": [0.0, 1.0], "flag_meanings": "cold warm"}),
            "count": (dims, (values * 7).astype("i4")),
            "areacella": (("lat", "lon"), np.tile(grid, (1, 1)) ** 3),
            "lat_bnds": (("lat", "nv"), grid[:, :2]),
            "epoch": (dims, values.astype("f8"), {"units": "seconds since 1970-01-01"}),
            "station": (("lat",), np.array(["x"] * SHAPE[1])),
            "seen": (("time", "lat"), np.full(SHAPE[:2], "2001-02-03", "M8[ns]")),
            "level": ((), 2.5),
        },
        coords={
            "time": np.arange("2001-01", "2003-01", dtype="M8[M]").astype("M8[ns]"),
            "lat": ("lat", np.linspace(-80, 80, SHAPE[1]), {"bounds": "lat_bnds"}),
            "area": (("lat", "lon"), np.tile(grid, (1, 1))),
        },
    )
    dataset["sic"].encoding["_FillValue"] = FILL
    return dataset.chunk(time=6) if dask else dataset


def write(dataset, path, **options):
    """The file that xarray writes with the encoding, and the encoding."""
    encoding = h5stz.xarray_encoding(dataset, **options)
    dataset.to_netcdf(path, engine="h5netcdf", encoding=encoding)
    return encoding


def stz(path, name):
    with h5py.File(path) as file:
        return h5stz.STZ.from_dataset(file[name])


def compressed(path):
    """Names of the compressed datasets: {name: whether with loss}."""
    found = {}
    with h5py.File(path) as file:
        for name, dataset in file.items():
            if any(
                dataset.id.get_create_plist().get_filter(i)[0] == h5stz.FILTER_ID
                for i in range(dataset.id.get_create_plist().get_nfilters())
            ):
                found[name] = h5stz.STZ.from_dataset(dataset).bound > 0
    return found


@pytest.mark.parametrize("dask", [False, True], ids=["numpy", "dask"])
@pytest.mark.parametrize("engine", READERS)
def test_data_keep_the_bound_and_the_rest_every_bit(tmp_path, engine, dask):
    import xarray

    original = climate()
    write(climate(dask), tmp_path / "a.nc", relative=RELATIVE)
    assert compressed(tmp_path / "a.nc") == {"tas": True, "sic": True, "flags": False, "count": False, "epoch": False}
    with xarray.open_dataset(tmp_path / "a.nc", engine=engine, decode_times=True) as read:
        for name in ("tas", "sic"):
            values = original[name].values
            valid = np.isfinite(values)
            bound = RELATIVE * float(np.float64(values[valid].max()) - np.float64(values[valid].min()))
            assert stz(tmp_path / "a.nc", name).bound == pytest.approx(bound, rel=1e-12)
            exact.largest_error(values[valid], read[name].values[valid], stz(tmp_path / "a.nc", name).bound)
            assert np.array_equal(np.isfinite(read[name].values), valid)
            assert read[name].attrs == {**original[name].attrs}
        kept = [name for name in original.variables if name not in ("tas", "sic", "epoch")]
        for name in kept:
            assert np.array_equal(read[name].values, original[name].values), name
    with h5py.File(tmp_path / "a.nc") as file:
        assert np.array_equal(file["epoch"][...], original["epoch"].values)
        assert file["sic"].attrs["_FillValue"] == FILL and (file["sic"][:, :9] == FILL).all()


def test_dask_is_asked_once_and_chunks_are_its_blocks(tmp_path):
    """All relative bounds come from one computation that makes each block once."""
    import dask.array
    import xarray

    made = []

    def block(block_id):
        made.append(block_id)
        return series()[block_id[0] * 6 :][:6]

    def make():
        array = dask.array.map_blocks(
            block, chunks=((6,) * 4, *((n,) for n in SHAPE[1:])), dtype="f4", meta=np.empty((0, 0, 0), "f4")
        )
        return xarray.Dataset({"a": (("t", "y", "x"), array), "b": (("t", "y", "x"), array * 2)})

    encoding = h5stz.xarray_encoding(make(), relative=RELATIVE)
    assert sorted(made) == [(step, 0, 0) for step in range(4)]
    assert encoding["a"]["chunksizes"] == encoding["b"]["chunksizes"] == (6, *SHAPE[1:])


def test_a_mark_that_nobody_names_does_not_count_for_the_range():
    import xarray

    values = series()
    values[:, :9] = FILL
    for array in (values, xarray.DataArray(values, dims=("t", "y", "x")).chunk(t=6).data):
        (found,) = h5stz.xarray_encoding(xarray.Dataset({"a": (("t", "y", "x"), array)}), relative=RELATIVE).values()
        options = h5stz.STZ.from_filter_options(found["compression_opts"], dtype="f4")
        assert options.fill_value == FILL and options.bound < 0.1


def test_missing_value_alone_is_honoured(tmp_path):
    import xarray

    dataset = climate()[["sic"]]
    dataset["sic"].encoding = {"missing_value": np.float32(-999), "_FillValue": None}
    write(dataset, tmp_path / "a.nc", absolute=0.5)
    assert stz(tmp_path / "a.nc", "sic").fill_value == -999
    with xarray.open_dataset(tmp_path / "a.nc") as read:
        assert np.array_equal(np.isnan(read["sic"].values), np.isnan(dataset["sic"].values))


def test_valid_ranges_are_kept(tmp_path):
    import xarray

    share = np.clip(np.random.default_rng(1).standard_normal((64, 80)).cumsum(1) / 9, 0, 1).astype("f4")
    dataset = xarray.Dataset({"a": (("y", "x"), share, {"valid_range": [0.0, 1.0]}), "b": (("y", "x"), share)})
    write(dataset, tmp_path / "a.nc", absolute=0.2, variables={"b": {"absolute": 0.2, "keep_range": True}})
    assert stz(tmp_path / "a.nc", "a").get_config()["valid_range"] == (0, 1)
    with xarray.open_dataset(tmp_path / "a.nc") as read:
        for name in ("a", "b"):
            assert read[name].values.min() >= 0 and read[name].values.max() <= 1


def test_variables_by_name(tmp_path):
    dataset = climate()
    rules = {"sic": {"lossless": True}, "s*": {"absolute": 1}, "area": {"pointwise_relative": 1e-3}, "epoch": None}
    write(dataset, tmp_path / "a.nc", absolute=0.25, variables=rules, effort=3)
    found = compressed(tmp_path / "a.nc")
    assert found == {"tas": True, "sic": False, "flags": False, "count": False, "area": True}
    assert repr(stz(tmp_path / "a.nc", "area")).startswith("h5stz.STZ('pointwise_relative=0.001")
    assert stz(tmp_path / "a.nc", "tas").get_config()["effort"] == 3
    encoding = h5stz.xarray_encoding(dataset, variables={"tas": {"psnr": 60, "chunks": {"time": 8}}})
    assert list(encoding) == ["tas"] and encoding["tas"]["chunksizes"] == (8, *SHAPE[1:])


def test_wildcards_and_other_options_reach_data_only():
    rules = {"t*": {"effort": 9}, "*": {"relative": 1e-2, "effort": 2}}
    for options in ({"variables": rules, "absolute": 0.5}, {"variables": {"*": {"relative": 1e-2}}}):
        encoding = h5stz.xarray_encoding(climate(), **options)
        lossy = h5stz.xarray_attributes(encoding)
        assert set(lossy) == {"tas", "sic"} and (len(encoding) > 2) == ("absolute" in options)
    assert h5stz.xarray_encoding(climate(), absolute=1, variables={"*": None}) == {}


def test_packed_integers_stay_exact_and_packed_floats_are_refused(tmp_path):
    import xarray

    dataset = climate()[["tas"]]
    dataset["tas"].encoding = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 280.0, "_FillValue": np.int16(-32768)}
    dataset.to_netcdf(tmp_path / "plain.nc", engine="h5netcdf")
    write(dataset, tmp_path / "a.nc", absolute=1)
    assert compressed(tmp_path / "a.nc") == {"tas": False}
    with xarray.open_dataset(tmp_path / "plain.nc") as plain, xarray.open_dataset(tmp_path / "a.nc") as read:
        assert read.identical(plain)
    dataset["tas"].encoding = {"dtype": "f4", "scale_factor": 0.01}
    with pytest.raises(h5stz.StzError, match="'tas' is packed"):
        h5stz.xarray_encoding(dataset, absolute=1)


def test_series_that_grow(tmp_path):
    """append_axis is the unlimited dimension, and no chunk of the finished series is partly filled."""
    write(climate(), tmp_path / "a.nc", absolute=0.5, unlimited_dims=["time"])
    assert stz(tmp_path / "a.nc", "tas").get_config()["append_axis"] == 0
    for length in (20, 21, 24):
        encoding = h5stz.xarray_encoding(climate().isel(time=slice(length)), absolute=0.5, unlimited_dims="time")
        assert length % encoding["tas"]["chunksizes"][0] == 0 and encoding["tas"]["chunksizes"][0] > 1
    turned = climate()[["tas"]].transpose("lat", "time", "lon")
    encoding = h5stz.xarray_encoding(turned, relative=1e-3, unlimited_dims="time")
    turned.to_netcdf(tmp_path / "b.nc", engine="h5netcdf", encoding=encoding, unlimited_dims=["time"])
    assert stz(tmp_path / "b.nc", "tas").get_config()["append_axis"] == 1
    encoding = h5stz.xarray_encoding(climate(), absolute=0.5, unlimited_dims=["time"], chunks={"time": 1, "lat": -1})
    assert encoding["tas"]["chunksizes"] == (1, *SHAPE[1:])


def test_series_that_have_not_begun(tmp_path):
    """An empty variable is compressed as it will grow."""
    empty = climate()[["tas"]].isel(time=slice(0))
    encoding = h5stz.xarray_encoding(empty, absolute=0.5, unlimited_dims="time")
    empty.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", encoding=encoding, unlimited_dims=["time"])
    with h5py.File(tmp_path / "a.nc", "a") as file:
        file["tas"].resize(24, axis=0)
        file["tas"][...] = series()
    with h5py.File(tmp_path / "a.nc") as file:
        exact.largest_error(series(), file["tas"][...], 0.5)
        assert file["tas"].id.get_storage_size() < series().nbytes / 3
    with pytest.raises(h5stz.StzError, match=r"'tas': relative=.* no samples yet"):
        h5stz.xarray_encoding(empty, relative=1e-3)


@pytest.mark.parametrize("engine", READERS)
def test_a_file_is_saved_again_as_it_was(tmp_path, engine):
    """Options, chunks and every bit, of variables with and without loss; modified attributes go with it."""
    import xarray

    write(climate(), tmp_path / "a.nc", relative=RELATIVE)
    with xarray.open_dataset(tmp_path / "a.nc", engine=engine) as read, warnings.catch_warnings():
        warnings.simplefilter("error")
        changed = read.assign_attrs(history="copied").rename(sic="ice")
        write(changed, tmp_path / "b.nc")
        with xarray.open_dataset(tmp_path / "b.nc", engine=engine) as again:
            # xarray itself rounds times that are stored in floating point when it decodes and encodes them.
            assert again.drop_vars("epoch").identical(changed.drop_vars("epoch"))
    for name, new in {"tas": "tas", "count": "count", "sic": "ice", "epoch": "epoch"}.items():
        assert repr(stz(tmp_path / "a.nc", name)) == repr(stz(tmp_path / "b.nc", new))
    with h5py.File(tmp_path / "a.nc") as first, h5py.File(tmp_path / "b.nc") as second:
        assert first["tas"].chunks == second["tas"].chunks


def test_a_second_loss_is_told(tmp_path):
    import xarray

    write(climate()[["tas"]], tmp_path / "a.nc", absolute=0.5, chunks={"time": 6})
    with xarray.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as read:
        with pytest.warns(UserWarning, match=r"'tas' was read from .*a\.nc.* accumulated bound is absolute=0\.75") as told:
            encoding = h5stz.xarray_encoding(read, absolute=0.25)
        assert told[0].filename == __file__
        read.to_netcdf(tmp_path / "b.nc", engine="h5netcdf", encoding=encoding)
        with pytest.warns(UserWarning, match=r"accumulated bound is absolute=1\.0"):
            h5stz.xarray_encoding(read, chunks={"time": 3})
        with pytest.warns(UserWarning, match=r"accumulated bound is absolute=1\.0"):
            h5stz.xarray_encoding(read.isel(time=slice(3, None)))
        with pytest.warns(UserWarning, match="absolute=0.5 and pointwise_relative=0.001 add up"):
            h5stz.xarray_encoding(read, pointwise_relative=1e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            h5stz.xarray_encoding(read, lossless=True)
            h5stz.xarray_encoding(read * 2, absolute=0.25)
    with xarray.open_dataset(tmp_path / "b.nc", engine="h5netcdf") as read:
        with pytest.warns(UserWarning, match=r"accumulated bound is absolute=1\.0"):
            h5stz.xarray_encoding(read, absolute=0.25, chunks={"time": 4})
        exact.largest_error(series(), read["tas"].values, 0.75)


def test_groups(tmp_path):
    import xarray

    h5stz.to_netcdf(climate()[["tas"]], tmp_path / "a.nc", absolute=0.5, writing={"group": "run"})
    with xarray.open_dataset(tmp_path / "a.nc", engine="h5netcdf", group="run") as read:
        assert h5stz.xarray_encoding(read, group="run")["tas"]["compression"] == h5stz.FILTER_ID
        with pytest.raises(h5stz.StzError, match="group="):
            h5stz.xarray_encoding(read)


def test_a_group_to_write_into(tmp_path):
    """As the keyword of xarray's own to_netcdf; what was read from the root group, or the same one, keeps its options."""
    import xarray

    dataset = climate()[["tas"]]
    h5stz.to_netcdf(dataset, tmp_path / "a.nc", absolute=0.5)
    h5stz.to_netcdf(dataset, tmp_path / "a.nc", absolute=0.25, group="run/1", writing={"mode": "a"})
    with h5py.File(tmp_path / "a.nc") as file:
        assert {"tas", "run"} <= set(file) and "h5stz_absolute_error_bound" in file["run/1/tas"].attrs
        assert [h5stz.STZ.from_dataset(file[name]).resolved.settings.bound for name in ("tas", "run/1/tas")] == [0.5, 0.25]
    for group, bound in ((None, 0.5), ("run/1", 0.25)):
        with xarray.open_dataset(tmp_path / "a.nc", engine="h5netcdf", group=group) as read:
            h5stz.to_netcdf(read, tmp_path / "b.nc", group=group or "other")
        with h5py.File(tmp_path / "b.nc") as file:
            assert list(file) == [(group or "other").split("/")[0]]
            assert h5stz.STZ.from_dataset(file[f"{group or 'other'}/tas"]).resolved.settings.bound == bound
    with pytest.raises(h5stz.StzError, match="give one"):
        h5stz.to_netcdf(dataset, tmp_path / "c.nc", absolute=1, group="a", writing={"group": "b"})
    with pytest.raises(h5stz.StzError, match="h5stz run --compress"):
        h5stz.to_netcdf(dataset, tmp_path / "c.nc", absolute=1, writing={"engine": "netcdf4"})
    with pytest.raises(h5stz.StzError, match="names 'tas', which is compressed"):
        h5stz.to_netcdf(dataset, tmp_path / "c.nc", absolute=1, writing={"encoding": {"tas": {"dtype": "f8"}}})


@pytest.mark.parametrize("dask", [False, True])
@pytest.mark.parametrize("option", ["psnr", "relative"])
def test_variables_without_a_range_are_stored_without_loss(tmp_path, option, dask):
    dataset = climate(dask)
    dataset["same"], dataset["none"] = dataset["tas"] * 0 + 3, dataset["tas"] * np.nan
    write(dataset, tmp_path / "a.nc", **{option: 60 if option == "psnr" else RELATIVE})
    for name in ("same", "none"):
        assert str(stz(tmp_path / "a.nc", name)).startswith("lossless")
    assert str(stz(tmp_path / "a.nc", "tas")).startswith("absolute")


@pytest.mark.parametrize("bound, attribute", [("absolute", 0.5), ("pointwise_relative", 1e-3)])
def test_attributes_tell_of_the_loss(tmp_path, bound, attribute):
    import xarray

    dataset = climate(dask=True)
    h5stz.to_netcdf(dataset, tmp_path / "a.nc", **{bound: attribute})
    with xarray.open_dataset(tmp_path / "a.nc") as read:
        marked = {name for name in read.variables if any(fnmatch.fnmatch(key, "h5stz_*") for key in read[name].attrs)}
        assert marked == {"tas", "sic"}
        assert read["tas"].attrs[f"h5stz_{bound}_error_bound"] == attribute and "quantization" not in read["tas"].attrs
    assert dataset["tas"].attrs == climate()["tas"].attrs


def test_attributes_count_earlier_losses(tmp_path):
    import xarray

    h5stz.to_netcdf(climate()[["tas"]], tmp_path / "a.nc", absolute=0.5)
    with xarray.open_dataset(tmp_path / "a.nc", engine="h5netcdf") as read, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (options, lost) in enumerate(
            [
                ({}, {"absolute": 0.5}),
                ({"lossless": True}, {"absolute": 0.5}),
                ({"absolute": 0.25}, {"absolute": 0.75}),
                ({"pointwise_relative": 0.01}, {"absolute": 0.5, "pointwise_relative": 0.01}),
            ]
        ):
            h5stz.to_netcdf(read, tmp_path / f"{number}.nc", **options)
            with xarray.open_dataset(tmp_path / f"{number}.nc") as again:
                found = {key: value for key, value in again["tas"].attrs.items() if key.endswith("_error_bound")}
                assert found == {f"h5stz_{mode}_error_bound": bound for mode, bound in lost.items()}


def test_writing_later(tmp_path):
    import xarray

    later = h5stz.to_netcdf(climate(dask=True), tmp_path / "a.nc", absolute=0.5, writing={"compute": False})
    later.compute()
    with xarray.open_dataset(tmp_path / "a.nc") as read:
        exact.largest_error(series(), read["tas"].values, 0.5)


def test_nothing_valid_and_constants_are_exact(tmp_path):
    import xarray

    for value in (np.nan, 3.25):
        dataset = xarray.Dataset({"a": (("t", "y", "x"), np.full(SHAPE, value, "f4"))})
        write(dataset, tmp_path / "a.nc", relative=RELATIVE)
        assert compressed(tmp_path / "a.nc") == {"a": False}


@pytest.mark.parametrize(
    "options, said",
    [
        ({}, "no bound is given"),
        ({"absolute": 1, "relative": 1}, "give one bound"),
        ({"absolute": 1, "engine": "netcdf4"}, "h5netcdf.*h5stz run --compress"),
        ({"absolute": 1, "engine": "scipy"}, "h5netcdf"),
        ({"absolute": -1}, "variable 'tas'"),
        ({"relative": -1}, "variable 'tas'"),
        ({"variables": {"tos": {"absolute": 1}}}, "no variable has such a name; there are tas"),
        ({"absolute": 1, "chunks": {"times": 8}}, "no variable has this dimension; there are time"),
        ({"variables": {"tas": {"absolute": 1, "chunks": {"times": 8}}}}, "no variable has this dimension; there are time"),
        ({"variables": {"tas": 0.1}}, "give a dict such as {'absolute': 0.1}, or None"),
        ({"variables": {"tas": {"absolut": 1}}}, "'absolut' is not an option"),
        ({"variables": {"tas": {"absolute": 1, "relative": 1}}}, "'tas' has the bounds absolute and relative"),
        ({"variables": {"station": {"absolute": 1}}}, "'station' .*cannot be compressed"),
        ({"absolute": 1, "chunks": (1, 2, 3)}, "lengths by dimension"),
        ({"absolute": 1, "chunks": {"time": 0}}, "-1 for all"),
    ],
)
def test_what_cannot_be_is_said(options, said):
    with pytest.raises(h5stz.StzError, match=said):
        h5stz.xarray_encoding(climate(), **options)


def test_a_data_array_is_no_dataset():
    with pytest.raises(h5stz.StzTypeError, match="to_dataset"):
        h5stz.xarray_encoding(climate()["tas"], absolute=1)
    with pytest.raises(TypeError, match="did you mean absolute="):
        h5stz.xarray_encoding(climate(), absolut=1)

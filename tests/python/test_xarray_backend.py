"""xarray's engine "h5stz": the dataset that h5netcdf reads, decoded in parts, at any level, in any thread and process."""

import io
import pickle
import warnings

import h5py
import numpy as np
import pytest

import h5stz
from support.requirements import needs_packages

pytestmark = needs_packages("xarray", "h5netcdf", "dask")
SHAPE = (12, 70, 90)
DIMS = ("time", "y", "x")


def field(seed=0):
    t, y, x = np.meshgrid(*map(np.arange, SHAPE), indexing="ij")
    noise = np.random.default_rng(seed).normal(0, 0.1, SHAPE)
    return (np.sin(y / 9) + np.cos(x / 11 + t) + noise).astype("f4")


def make(path, group=None):
    """A file with compressed data, packed and masked ones, coordinates, bounds and text."""
    import xarray

    masked = field(1)
    masked[:, 20:30] = np.nan
    dataset = xarray.Dataset(
        {
            "rho": (DIMS, field(), {"units": "kg m-3"}),
            "ice": (DIMS, masked),
            "plane": (("y", "x"), field(2)[0]),
            "packed": (DIMS, np.round(field(3), 2)),
            "mean": ("time", np.arange(12.0)),
            "y_bnds": (("y", "nv"), np.arange(140.0).reshape(70, 2)),
            "name": ("y", np.array([f"row {n}" for n in range(70)], object)),
        },
        coords={
            "time": np.arange("2001-01", "2002-01", dtype="M8[M]").astype("M8[ns]"),
            "y": ("y", np.arange(70.0), {"bounds": "y_bnds"}),
            "x": np.arange(90.0),
            "area": (("y", "x"), field(4)[0]),
        },
    )
    dataset["ice"].encoding["_FillValue"] = np.float32(1e20)
    dataset["packed"].encoding = {"dtype": "i2", "scale_factor": 0.01, "_FillValue": np.int16(-9999)}
    writing = {"group": group} if group else {}
    h5stz.to_netcdf(dataset, path, absolute=1e-3, chunks={"time": 5, "y": 33}, writing=writing)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return make(tmp_path_factory.mktemp("xarray") / "a.nc")


def opened(path, engine="h5stz", **options):
    import xarray

    return xarray.open_dataset(path, engine=engine, **options)


@pytest.mark.parametrize("decoding", [{}, {"mask_and_scale": False}, {"decode_cf": False}], ids=str)
def test_it_is_the_dataset_that_h5netcdf_reads(path, decoding):
    with opened(path, **decoding) as read, opened(path, "h5netcdf", **decoding) as expected:
        assert read.identical(expected)
        assert {name: read[name].dtype for name in read.variables} == {n: expected[n].dtype for n in expected.variables}
        for name, encoding in ((name, read[name].encoding) for name in read.variables):
            filters = ("compression", "compression_opts")
            kept = {key: value for key, value in expected[name].encoding.items() if key not in filters}
            assert {key: repr(encoding[key]) for key in kept} == {key: repr(value) for key, value in kept.items()}


#: Of every level below.
INDEXES = [
    {"time": 3},
    {"time": -1, "y": slice(16, None, -7), "x": slice(2, 20, 3)},
    {"y": [3, 16, 4], "x": slice(-5, None)},
    {"time": [0, 2, -1], "y": slice(9, 9)},
    {"time": slice(None, None, -5), "y": np.int64(-18), "x": -1},
]


@pytest.mark.parametrize("options", [{}, {"level": 1}, {"level": 2, "axes": ("y", "x")}, {"level": 1, "axes": "y"}], ids=str)
@pytest.mark.parametrize("index", INDEXES, ids=str)
def test_every_index_of_every_level(path, options, index):
    step = slice(None, None, 2 ** options.get("level", 0))
    axes = options.get("axes", DIMS)
    with opened(path, **options) as read, opened(path, "h5netcdf") as whole:
        expected = whole.isel({dim: step for dim in ([axes] if isinstance(axes, str) else axes)})
        assert dict(read.sizes) == dict(expected.sizes)
        assert read.isel(index).identical(expected.isel(index))


@pytest.mark.parametrize("level", [1, 3, 7, 60])
def test_levels_thin_everything_alike(path, level):
    step = slice(None, None, 2**level)
    with opened(path, level=level) as read, opened(path, "h5netcdf") as whole:
        assert read.identical(whole.isel(time=step, y=step, x=step))
        assert read["rho"].encoding["chunksizes"] == tuple(-(-n >> level) for n in (5, 33, 90))


def test_a_part_decodes_a_part(tmp_path, monkeypatch):
    """Nothing is decoded when a file is opened, and of a region or a level only the blocks that it needs."""
    import xarray

    from h5stz.xarray import arrays

    dataset = xarray.Dataset({"rho": (DIMS, np.tile(field(), (4, 1, 1)))})
    h5stz.to_netcdf(dataset, tmp_path / "a.nc", absolute=1e-3, block="region")
    made = []
    view = arrays.view
    monkeypatch.setattr(arrays, "view", lambda *args, **options: made.append(view(*args, **options)) or made[-1])
    with opened(tmp_path / "a.nc") as read, opened(tmp_path / "a.nc", level=1, axes=("y", "x")) as coarse:
        assert not made
        assert np.array_equal(read["rho"][3, 40:44, 7], opened(tmp_path / "a.nc", "h5netcdf")["rho"][3, 40:44, 7])
        coarse["rho"][0, 3, 4].load()
        for one in made:
            assert one.fallback_reason is None
            assert 0 < one.stats.blocks_decoded < one.stats.blocks_present / 2


def test_dask_reads_it_with_threads_and_processes(path):
    import dask

    with opened(path, "h5netcdf") as whole:
        expected = float(whole["rho"].astype("f8").sum())
    with opened(path, chunks={}) as read:
        assert read["rho"].data.chunksize == (5, 33, 90)
        total = read["rho"].astype("f8").sum().data
        with dask.config.set(scheduler="threads", num_workers=4):
            assert float(total.compute()) == pytest.approx(expected, rel=1e-12)
        with dask.config.set(scheduler="processes", num_workers=1):
            assert float(total.compute()) == pytest.approx(expected, rel=1e-12)


def test_it_pickles(path):
    with opened(path, level=1) as read:
        expected = read.load().copy()
    with opened(path, level=1) as read:
        read["rho"][0, 0, 0].load()  # a view is open
        again = pickle.loads(pickle.dumps(read))
        assert again.identical(expected)
        again.close()


def test_files_that_xarray_closed_are_opened_again(path, tmp_path):
    """xarray keeps a number of files open and closes the others behind the back of their datasets."""
    import xarray

    with xarray.set_options(file_cache_maxsize=1), opened(path) as read:
        before = read["rho"][0, 3:9].load(), read["rho"][0, 3:9]
        with opened(make(tmp_path / "b.nc")) as other:
            other["rho"][0].load()
            assert before[0].identical(before[1].load())


@pytest.mark.usefixtures("every_chunk_fitted")
def test_groups_and_file_objects(tmp_path, path):
    make(tmp_path / "a.nc", group="run/1")
    with opened(tmp_path / "a.nc", group="run/1", level=1) as read, opened(path, level=1) as expected:
        assert read.identical(expected)
        with opened(io.BytesIO(path.read_bytes()), level=1) as held:
            assert held.identical(expected)


def test_several_files_at_once(path):
    """As one series, each opened at the level."""
    import xarray

    with xarray.open_mfdataset([path, path], engine="h5stz", combine="nested", concat_dim="run", level=1) as read:
        assert read["rho"].shape == (2, 6, 35, 45)
        assert np.array_equal(read["rho"][1].values, opened(path, level=1)["rho"].values)


def test_it_is_written_again_with_its_options(path, tmp_path):
    """to_netcdf needs no encoding; xarray_encoding() says what is lost twice, as views are not known to the filter."""
    with opened(path) as read:
        read.to_netcdf(tmp_path / "b.nc", engine="h5netcdf")
        with pytest.warns(UserWarning, match="although nothing else changes.* accumulated bound is absolute=0.002"):
            h5stz.xarray_encoding(read)
    with h5py.File(path) as first, h5py.File(tmp_path / "b.nc") as second:
        for name in ("rho", "ice"):
            assert repr(h5stz.STZ.from_dataset(first[name])) == repr(h5stz.STZ.from_dataset(second[name]))


def test_files_without_compression_are_read_too(tmp_path):
    import xarray

    dataset = xarray.Dataset({"a": (("y", "x"), field()[0])})
    dataset.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with opened(tmp_path / "a.nc", level=1, axes="x") as read:
        assert read.identical(dataset.isel(x=slice(None, None, 2)))
    with opened(tmp_path / "a.nc", level=1) as read:
        assert read.identical(dataset)  # no variable says which axes


def test_xarray_does_not_take_it_unasked(path):
    import xarray

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "h5stz" in xarray.backends.list_engines()
        with xarray.open_dataset(path) as read:
            assert read["rho"].encoding.get("compression") != h5stz.FILTER_ID


@pytest.mark.parametrize(
    "options, error, said",
    [
        ({"level": -1}, h5stz.StzError, "0 .all samples. to 63"),
        ({"level": "2"}, h5stz.StzTypeError, "not an integer"),
        ({"on_error": "ignore"}, h5stz.StzTypeError, "must be 'raise', 'nan', 'fill' or a number"),
        ({"level": 1, "axes": ("z", "y")}, h5stz.StzError, "no dimension 'z'; it has nv, time, y, x"),
    ],
)
def test_what_cannot_be_is_said(path, options, error, said):
    with pytest.raises(error, match=said):
        opened(path, **options)


def test_damaged_files(path, tmp_path):
    """on_error=: what is lost is missing, all else is as in the whole file; without it, reading what is lost is an error."""
    damaged = tmp_path / "damaged.nc"
    content = bytearray(path.read_bytes())
    with h5py.File(path) as file:
        for name in ("rho", "packed"):
            chunk = file[name].id.get_chunk_info(1)
            content[chunk.byte_offset + chunk.size - 40] ^= 1
    damaged.write_bytes(content)
    with opened(path) as whole:
        with opened(damaged) as read, pytest.raises(h5stz.StzError, match="checksum"):
            read["rho"].values  # noqa: B018
        with opened(damaged, on_error="fill") as read:
            for name in ("rho", "packed"):
                with pytest.warns(h5stz.DamageWarning):
                    samples = read[name].values
                lost = np.isnan(samples)
                assert 0 < lost.sum() <= 5 * 33 * 90
                assert np.array_equal(samples[~lost], whole[name].values[~lost])
            assert np.array_equal(read["ice"].values, whole["ice"].values, equal_nan=True)
        with (
            opened(damaged, on_error="nan") as read,
            pytest.raises(h5stz.StzError, match="int16 have no NaN: give on_error='fill'"),
        ):
            read["packed"].values  # noqa: B018
        with opened(damaged, on_error="nan") as read, pytest.warns(h5stz.DamageWarning):
            assert np.isnan(pickle.loads(pickle.dumps(read))["rho"].values).any()

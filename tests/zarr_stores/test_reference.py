"""HDF5 files as zarr stores: the same bits as h5py gives, whole and in part, what xarray sees of netCDF files, and refusals."""

import io
import json

import h5py
import numpy as np
import pytest

import h5stz
from support import cases
from support.paths import EXAMPLES
from support.requirements import needs_packages

pytestmark = needs_packages("zarr", "numcodecs", "fsspec")


def references(file, **options):
    """The references after a way through JSON."""
    from h5stz.zarr import reference

    return json.loads(json.dumps(reference(file, **options)))


def opened(refs, **options):
    """The zarr group of references; `options` of the reference file system."""
    import zarr

    storage = zarr.storage.FsspecStore.from_url("reference://", storage_options={"fo": refs, **options}, read_only=True)
    return zarr.open_group(storage, mode="r")


def write(path, libver=None, **datasets):
    """A file with datasets of the options of create_dataset each."""
    with h5py.File(path, "w", libver=libver) as file:
        for name, options in datasets.items():
            file.create_dataset(name, **options)
    return path


LAYOUTS = {
    "h5stz": lambda: {"chunks": (16, 20), **h5stz.STZ(absolute=0.5, integers="lossy")},
    "h5stz region": lambda: {"chunks": (48, 64), **h5stz.STZ(absolute=0.5, block="region", content_check=True)},
    "deflate": lambda: {"chunks": (16, 20), "compression": "gzip"},
    "shuffle and deflate": lambda: {"chunks": (16, 20), "compression": "gzip", "shuffle": True},
    "shuffle": lambda: {"chunks": (16, 20), "shuffle": True},
    "chunks": lambda: {"chunks": (16, 20)},
    "contiguous": lambda: {},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [*cases.ONCE, np.dtype(">f8"), np.dtype(bool)], ids=str)
def test_the_bits_are_those_of_h5py(layout, dtype, tmp_path):
    data = cases.make("walk", (50, 70), "f4" if dtype.kind == "b" else dtype)
    data = data > 0 if dtype.kind == "b" else data
    path = write(tmp_path / "f.h5", x={"data": data, **LAYOUTS[layout]()})
    array = opened(references(path))["x"]
    with h5py.File(path) as file:
        for key in (..., np.s_[3:40, 17], np.s_[::4, ::4], np.s_[49], np.s_[5, 6]):
            expected = np.asarray(file["x"][key])
            found = np.asarray(array[key])
            assert found.dtype == dtype.newbyteorder("=")
            assert found.tobytes() == expected.astype(found.dtype).tobytes()


def test_chunks_that_are_not_stored_and_small_shapes(tmp_path):
    options = {"chunks": (16, 16), "fillvalue": 7.5, **h5stz.STZ(absolute=0.5)}
    path = tmp_path / "f.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (40, 40), "f4", **options)[:10, 20:30] = 1
        file.create_dataset("nothing", (40, 40), "f4", fillvalue=3)
        file["number"], file["empty"] = 2.5, np.zeros((0, 3))
        file["null"] = h5py.Empty("f4")
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((3,))
        small = h5py.Dataset(h5py.h5d.create(file.id, b"compact", h5py.h5t.IEEE_F64BE, space, dcpl=compact))
        small[...] = [1, 2, 3]
    group = opened(references(path))
    assert set(group) == {"x", "nothing", "number", "empty", "compact"}
    with h5py.File(path) as file:
        for name in group:
            assert np.array_equal(group[name][...], file[name][...]), name


def test_groups_attributes_and_links(tmp_path):
    path = tmp_path / "f.h5"
    with h5py.File(path, "w") as file:
        file.attrs["title"], file.attrs["numbers"], file.attrs["one"] = "flow", np.arange(3), np.array([2.5])
        group = file.create_group("a/b")
        group.attrs["inside"] = np.bytes_(b"text")
        group.create_dataset("x", data=np.arange(12.0), chunks=(4,), **h5stz.STZ(lossless=True)).attrs["units"] = "m/s"
        group["x"].attrs["kind"] = np.dtype("f4").str
        group["x"].attrs["reference"] = file.ref
        group["round"] = file["a"]
        file["same"], file["soft"] = group["x"], h5py.SoftLink("/a/b/x")
    refs = references(path)
    group = opened(refs)
    assert dict(group.attrs) == {"title": "flow", "numbers": [0, 1, 2], "one": 2.5}
    assert dict(group["a/b"].attrs) == {"inside": "text"}
    assert dict(group["a/b/x"].attrs) == {"units": "m/s", "kind": "<f4"}
    assert np.array_equal(group["a/b/x"][3:9], np.arange(3.0, 9)) and np.array_equal(group["same"][...], np.arange(12.0))
    assert np.array_equal(opened(references(h5py.File(path)["a/b"]))["x"][...], np.arange(12.0))
    elsewhere = references(path, url="s3://bucket/f.h5")["refs"]
    assert {value[0] for value in elsewhere.values() if isinstance(value, list)} == {"s3://bucket/f.h5"}


@needs_packages("aiohttp")
def test_parts_of_a_remote_file(tmp_path, monkeypatch):
    """Of a file on a web server, only the bytes that a part needs are sent."""
    monkeypatch.syspath_prepend(EXAMPLES)
    from range_server import RangeServer

    field = cases.make("rough", (80, 80, 80), "f4")
    options = h5stz.STZ(absolute=1e-3, block="region")
    path = write(tmp_path / "f.h5", x={"data": field, "chunks": (80, 80, 80), **options})
    with h5py.File(path) as file:
        whole = file["x"][...]
    with RangeServer({"f.h5": path.read_bytes()}) as server:
        refs = references(path, url=f"{server.url}/f.h5")
        array = opened(refs, remote_options={"asynchronous": True})["x"]
        server.reset()
        assert np.array_equal(array[40:48, 9:17, 20], whole[40:48, 9:17, 20])
        assert server.bytes_sent < path.stat().st_size / 5
        assert len(server.requests) < 30


@needs_packages("xarray", "netCDF4", "h5netcdf")
def test_xarray_sees_what_it_sees_of_the_netcdf_file(tmp_path):
    import netCDF4
    import xarray

    path = tmp_path / "f.nc"
    field = cases.make("walk", (6, 20, 30), "f4")
    field[2, 3:7] = np.nan
    data = xarray.Dataset(
        {
            "t": (("time", "y", "x"), field, {"units": "K"}),
            "count": (("y", "x"), np.arange(600, dtype="i4").reshape(20, 30)),
            "corner": (("y", "vertex"), np.arange(40.0).reshape(20, 2)),
        },
        coords={"time": np.arange(6) * np.timedelta64(3600, "s") + np.datetime64("2020-01-01", "ns"), "y": np.arange(20.0)},
        attrs={"title": "a file"},
    )
    encoding = {
        "t": {"chunksizes": (3, 20, 30), "_FillValue": np.float32(-99), **h5stz.STZ(absolute=1e-2)},
        "count": {"_FillValue": 5, "zlib": True, "shuffle": True},
    }
    data.to_netcdf(path, engine="h5netcdf", encoding=encoding)
    with netCDF4.Dataset(path, "a") as file:
        assert file.dimensions["vertex"].size == 2  # a dimension without a variable
    seen = xarray.open_zarr("reference://", storage_options={"fo": references(path)}, consolidated=False)
    with xarray.open_dataset(path, engine="h5netcdf") as expected:
        xarray.testing.assert_identical(seen.load(), expected.load())
    assert np.isnan(seen.t.values[2, 3:7]).all() and np.isnan(seen["count"].values[0, 5])


@needs_packages("xarray")
def test_axes_without_names_get_some(tmp_path):
    import xarray

    path = write(tmp_path / "f.h5", x={"data": np.ones((4, 5, 4))}, y={"data": np.ones((5, 6))})
    seen = xarray.open_zarr("reference://", storage_options={"fo": references(path)}, consolidated=False)
    assert seen.x.dims == ("phony_dim_0", "phony_dim_1", "phony_dim_2") and seen.y.dims == ("phony_dim_1", "phony_dim_3")


def refused(path, message, **options):
    with pytest.raises(h5stz.StzError, match=message):
        references(path)
    refs = references(path, unsupported="skip")["refs"]
    assert not any(key.startswith("x/") for key in refs) and "good/zarr.json" in refs


def test_what_zarr_could_not_read_as_hdf5_does_is_refused(tmp_path):
    good = {"data": np.arange(4.0)}
    options = {"data": np.ones((40, 40)), "chunks": (16, 16)}
    cases_of = {
        "fletcher32": ({**options, "fletcher32": True}, "HDF5 filters 3: "),
        "other order": ({**options, "fletcher32": True, **h5stz.STZ(absolute=1)}, "/x .*HDF5 filters"),
        "text": ({"data": ["a", "b"]}, "text cannot be compressed|cannot be compressed"),
        "records": ({"data": np.zeros(3, "i4,f4")}, "cannot be compressed"),
    }
    for name, (x, message) in cases_of.items():
        refused(write(tmp_path / f"{name}.h5", x=x, good=good), message)
    path = write(
        tmp_path / "mask.h5", x={"shape": (40, 40), "dtype": "f4", "chunks": (16, 16), "compression": "gzip"}, good=good
    )
    with h5py.File(path, "a") as file:
        file["x"].id.write_direct_chunk((16, 0), np.ones((16, 16), "f4").tobytes(), 1)
    refused(path, r"chunk at \(16, 0\) is stored without the filters")
    growing = {"shape": (40, 40), "maxshape": (40, None), "dtype": "f4", **h5stz.STZ(absolute=1), "chunks": (16, 16)}
    refused(write(tmp_path / "growing.h5", "latest", x=growing, good=good), "grows along another axis")
    with h5py.File(tmp_path / "virtual.h5", "w", libver="latest") as file:
        layout = h5py.VirtualLayout((4,), "f8")
        layout[...] = h5py.VirtualSource(str(path), "good", shape=(4,))
        file.create_virtual_dataset("x", layout)
        file["good"] = np.arange(3.0)
    refused(tmp_path / "virtual.h5", "in other datasets or files")
    with h5py.File(tmp_path / "user.h5", "w", userblock_size=512) as file:
        file["good"] = np.arange(3.0)
    with pytest.raises(h5stz.StzError, match="userblock"):
        references(tmp_path / "user.h5")


def test_wrong_arguments():
    with pytest.raises(h5stz.StzTypeError, match="give a path"):
        references(5)
    with h5py.File(io.BytesIO(), "w") as file, pytest.raises(h5stz.StzError, match="url="):
        references(file)
    with pytest.raises(TypeError, match="unsupported"):
        references("f.h5", unsuported="skip")

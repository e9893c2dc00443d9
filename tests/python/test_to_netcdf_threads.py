"""h5stz.to_netcdf with several threads: the chunks are those that HDF5 makes of the same encoding, for NumPy and dask."""

import hashlib
import threading

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.hdf5.registration import plugin

xarray = pytest.importorskip("xarray", reason="needs Python package xarray")
pytest.importorskip("h5netcdf", reason="needs Python package h5netcdf")

FIELD = np.random.default_rng(1).normal(size=(30, 60, 50)).cumsum(0).astype("f4")


@pytest.fixture(autouse=True)
def unlearned(monkeypatch):
    """The filter learns from chunk to chunk, in their order; to_netcdf takes only predictions of the client data."""
    monkeypatch.setenv("H5STZ_LEARN", "0")


def dataset_of(chunks=None):
    missing = np.where(FIELD > 3, np.nan, FIELD)
    made = xarray.Dataset(
        {
            "plain": (("time", "y", "x"), FIELD, {"units": "K"}),
            "missing": (("time", "y", "x"), missing.astype("f4")),
            "wide": (("time", "y", "x"), FIELD.astype(">f8")),
            "counts": (("time", "y", "x"), (FIELD * 100).astype("i4")),
            "flat": (("y", "x"), FIELD[0]),
            "text": (("time",), np.array([f"t{n}" for n in range(30)])),
        },
        coords={"time": np.arange(30.0), "y": np.arange(60.0), "x": np.arange(50.0)},
    )
    made["missing"].encoding["_FillValue"] = np.float32(-999)
    return made if chunks is None else made.chunk(chunks)


def contents(path):
    found = {}
    with h5py.File(path) as file:
        for name, item in file.items():
            words = (
                h5stz.STZ.from_dataset(item).filter_options
                if item.chunks and item.id.get_create_plist().get_nfilters()
                else None
            )
            infos = [item.id.get_chunk_info(number) for number in range(item.id.get_num_chunks())] if words else []
            chunks = {
                info.chunk_offset: hashlib.sha256(item.id.read_direct_chunk(info.chunk_offset)[1]).hexdigest() for info in infos
            }
            found[name] = item.shape, item.chunks, item.maxshape, words, chunks, item[...].tobytes() if words else None
    return found


@pytest.mark.parametrize("blocks", [None, {"time": 10}, {"time": 7, "y": 20}, {"time": 30}], ids=str)
@pytest.mark.parametrize("unlimited", [(), ("time",)])
def test_chunks_are_those_of_hdf5(tmp_path, blocks, unlimited, monkeypatch):
    monkeypatch.setattr("h5stz.xarray.parallel_targets._LARGE", 100_000)
    plugin().stz_h5_forget()
    dataset = dataset_of(blocks)
    options = {"relative": 1e-3, "chunks": {"time": 10, "y": 32, "x": 50}, "unlimited_dims": unlimited}
    encoding = h5stz.xarray_encoding(dataset, **options)
    dataset.to_netcdf(tmp_path / "wanted.nc", engine="h5netcdf", encoding=encoding, unlimited_dims=unlimited)
    h5stz.to_netcdf(dataset, tmp_path / "made.nc", threads=3, attributes=False, **options)
    if blocks != {"time": 7, "y": 20}:  # threads write parts of chunks in any order, and streams tell the order
        assert contents(tmp_path / "made.nc") == contents(tmp_path / "wanted.nc")
    assert not [thread for thread in threading.enumerate() if thread.name == "h5stz"]
    with xarray.open_dataset(tmp_path / "made.nc", engine="h5netcdf") as read:
        xarray.testing.assert_allclose(read, dataset_of(), atol=0.1)


def test_whole_chunks_pass_hdf5_by(tmp_path, monkeypatch):
    from h5stz.hdf5.chunk_codec import ChunkCodec

    encoded, encode = [], ChunkCodec.encode
    monkeypatch.setattr(ChunkCodec, "encode", lambda self, part: encoded.append(part.shape) or encode(self, part))
    for blocks, wanted in (None, 6 * 3), ({"time": 10, "y": 32}, 6 * 3), ({"time": 7}, 0):
        encoded.clear()
        small = dataset_of(blocks)[["plain", "missing", "wide"]]
        h5stz.to_netcdf(small, tmp_path / "x.nc", threads=2, absolute=1e-2, chunks={"time": 10, "y": 32, "x": 50})
        assert len(encoded) == wanted


def test_two_calls_at_once(tmp_path):
    errors = []

    def work(number):
        try:
            for turn in range(3):
                path = tmp_path / f"{number} {turn}.nc"
                h5stz.to_netcdf(dataset_of()[["plain", "wide"]] + number, path, threads=2, absolute=1e-2)
                with xarray.open_dataset(path, engine="h5stz") as read:
                    assert abs(read["plain"] - (FIELD + number)).max() <= 1.001e-2
        except BaseException as error:
            errors.append(error)

    from xarray.backends.h5netcdf_ import H5NetCDFStore

    original = H5NetCDFStore.prepare_variable
    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not errors and H5NetCDFStore.prepare_variable is original


@pytest.mark.parametrize("arguments", [{"compute": False}, {"mode": "a"}, {"group": "g"}])
def test_other_ways_to_write(tmp_path, arguments):
    dataset = dataset_of({"time": 10})[["plain"]]
    given = dict(arguments)
    group = given.pop("group", None)
    delayed = h5stz.to_netcdf(dataset, tmp_path / "x.nc", threads=2, absolute=1e-2, group=group, writing=given)
    if delayed is not None:
        delayed.compute()
    with xarray.open_dataset(tmp_path / "x.nc", engine="h5netcdf", group=group) as read:
        assert abs(read["plain"] - FIELD).max() <= 1e-2

"""What h5stz.write reads: datasets of h5py, netCDF4 and zarr, memory maps, arrays of dask and xarray, lists; each part once."""

import io
import itertools

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.hdf5.registration import plugin
from support.written import CHUNKS, FIELD, stored


@pytest.fixture(autouse=True)
def unlearned(monkeypatch):
    """The filter learns from chunk to chunk, in their order; h5stz.write takes only predictions of the client data."""
    monkeypatch.setenv("H5STZ_LEARN", "0")


def check(data, plain=FIELD, chunks=CHUNKS, threads=2, **options):
    options = options or {"absolute": 1e-2}
    plugin().stz_h5_forget()  # chunks of other tests, of which HDF5's addresses may remind the filter
    with h5py.File(io.BytesIO(), "w") as file:
        made = h5stz.write(file, "a/made", data, chunks=chunks, threads=threads, **options)
        of_stz = {**options, **({"data": plain} if "relative" in options else {})}
        wanted = file.create_dataset(
            "wanted",
            data=plain,
            chunks=made.chunks,
            **(h5stz.STZ(**of_stz).trained(plain, made.chunks) if isinstance(data, np.ndarray | list) else h5stz.STZ(**of_stz)),
        )
        assert h5stz.STZ.from_dataset(made).filter_options == h5stz.STZ.from_dataset(wanted).filter_options
        assert stored(made) == stored(wanted)
        return made.chunks


class Counted:
    """An array that is read piece by piece, and counts how often each sample is read."""

    def __init__(self, array, chunks=None):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        self.count = np.zeros(array.shape, int)
        self.largest = 0
        if chunks:
            self.chunks = chunks

    def __getitem__(self, box):
        self.count[box] += 1
        self.largest = max(self.largest, self.array[box].nbytes)
        return self.array[box]


@pytest.mark.parametrize("chunks", [None, (32, 32, 50), (70, 1, 50), (10, 33, 7)])
def test_each_sample_is_read_once(chunks, monkeypatch):
    monkeypatch.setattr("h5stz.writing.samples.STORED_BYTES", 200_000)
    source = Counted(FIELD, chunks)
    check(source)
    assert (source.count == 1).all()
    assert source.largest < FIELD.nbytes
    source = Counted(FIELD, chunks)
    check(source, relative=1e-3)
    assert (source.count == 2).all()


def test_a_source_with_huge_chunks_is_cut(monkeypatch):
    monkeypatch.setattr("h5stz.writing.samples._LARGEST", 300_000)
    monkeypatch.setattr("h5stz.writing.samples.STORED_BYTES", 200_000)
    source = Counted(FIELD, (70, 60, 50))
    check(source)
    assert source.largest <= 300_000


def test_datasets_and_files_in_memory(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name, arguments in {"chunked": {"chunks": (7, 9, 11)}, "gzip": {"compression": "gzip"}, "plain": {}}.items():
            check(file.create_dataset(name, data=FIELD, **arguments))
        same = file["plain"]
        made = h5stz.write(file, "copy", same, absolute=1e-2)
        assert np.abs(made[...] - FIELD).max() <= 1e-2
    FIELD.tofile(tmp_path / "x.raw")
    check(np.memmap(tmp_path / "x.raw", "f4", "r", shape=FIELD.shape))
    check(FIELD.tolist(), plain=FIELD.astype("f8"))


def test_a_compressed_source():
    """Decoded samples are recognised, as for every other source."""
    with h5py.File(io.BytesIO(), "w") as file:
        source = h5stz.write(file, "x", FIELD, chunks=CHUNKS, absolute=1e-2)
        copy = h5stz.write(file, "y", source, absolute=1e-2, chunks=CHUNKS)
        assert stored(copy) == stored(source)


def test_zarr():
    zarr = pytest.importorskip("zarr", reason="needs Python package zarr")
    array = zarr.create_array({}, shape=FIELD.shape, chunks=(20, 60, 50), dtype="f4")
    array[...] = FIELD
    check(array)


def test_netcdf4(tmp_path):
    netcdf = pytest.importorskip("netCDF4", reason="needs Python package netCDF4")
    with netcdf.Dataset(tmp_path / "x.nc", "w") as file:
        for name, extent in zip("zyx", FIELD.shape, strict=True):
            file.createDimension(name, extent)
        variable = file.createVariable("v", "f4", ("z", "y", "x"), fill_value=-999)
        variable[...] = FIELD
        variable[3, 5:9] = -999
        variable.set_auto_maskandscale(False)
        plain = FIELD.copy()
        plain[3, 5:9] = -999
        check(variable, plain)


def test_xarray(tmp_path):
    xarray = pytest.importorskip("xarray", reason="needs Python package xarray")
    check(xarray.DataArray(FIELD))
    pytest.importorskip("dask", reason="needs Python package dask")
    check(xarray.DataArray(FIELD).chunk({"dim_0": 20}))


BLOCKS = [(70, 60, 50), (32, 32, 50), (64, 64, 50), (30, 17, 13), (1, 60, 50)]


@pytest.mark.parametrize(
    "scheduler, blocks",
    [*(("threads", blocks) for blocks in BLOCKS), ("synchronous", BLOCKS[3]), ("processes", BLOCKS[1])],
    ids=str,
)
def test_dask(blocks, scheduler):
    dask = pytest.importorskip("dask", reason="needs Python package dask")
    pytest.importorskip("dask.array", reason="needs Python package dask")
    array = dask.array.from_array(FIELD, chunks=blocks)
    with dask.config.set(scheduler=scheduler):
        check(array)
        check(array, relative=1e-3)


def test_each_block_of_dask_is_computed_once(monkeypatch):
    array = pytest.importorskip("dask.array", reason="needs Python package dask")
    monkeypatch.setattr("h5stz.dask.writing._TASK", 1)  # a task for each chunk
    monkeypatch.setattr("h5stz.dask.writing._BATCH", 2)
    calls = itertools.count()

    def computed(block):
        next(calls)
        return block

    lazy = array.from_array(FIELD, chunks=(35, 60, 50)).map_blocks(computed, dtype="f4", meta=np.empty((0, 0, 0), "f4"))
    chunks = check(lazy, chunks=(35, 20, 10))
    assert chunks == (35, 20, 10) and next(calls) == 2


def test_dask_with_masks_types_and_progress():
    array = pytest.importorskip("dask.array", reason="needs Python package dask")
    masked = np.ma.masked_where(FIELD > 1, FIELD)
    lazy = array.from_array(masked, chunks=(32, 60, 50), asarray=False)
    with h5py.File(io.BytesIO(), "w") as file:
        with pytest.raises(h5stz.StzError, match="give fill_value="):
            h5stz.write(file, "x", lazy, absolute=1)
        for name, fill in (("a", {"fillvalue": -7}), ("b", {"fill_value": -7})):
            made = h5stz.write(file, name, lazy, lossless=True, **fill)
            assert made.fillvalue == -7 and np.array_equal(made[...], masked.filled(-7))
        told = []
        made = h5stz.write(
            *(file, "x", array.from_array(FIELD, chunks=(32, 60, 50))),
            **{"absolute": 1e-2, "dtype": "f8", "fillvalue": 3, "chunks": (32, 30, 50)},
            progress=lambda *call: told.append(call),
        )
        assert made.dtype == "f8" and made.fillvalue == 3
        assert told[-1] == ("/x", FIELD.size * 8, FIELD.size * 8) and len(told) >= 6
        other = h5stz.write(
            file, "y", array.from_array(FIELD, chunks=(32, 60, 50)), absolute=1e-2, creation={"fletcher32": True}
        )
        assert np.abs(other[...] - FIELD).max() <= 1e-2


def test_chunks_that_are_chosen():
    large = np.broadcast_to(np.float32(0), (64, 1024, 1024))
    with h5py.File(io.BytesIO(), "w") as file:
        for name, data in {"large": large[:, :512, :512], "long": np.zeros(3 << 20), "small": FIELD}.items():
            chunks = h5stz.write(file, name, data, lossless=True).chunks
            size = np.prod(chunks) * data.itemsize
            assert chunks == data.shape or 1 << 20 <= size <= 4 << 20
        assert file["small"].chunks == FIELD.shape
        suitable = Counted(FIELD, (35, 60, 50))
        assert h5stz.write(file, "suitable", suitable, lossless=True).chunks == (35, 60, 50)
        assert h5stz.write(file, "tiny", Counted(FIELD, (1, 60, 50)), lossless=True).chunks == FIELD.shape
        assert h5stz.write(file, "true", FIELD, chunks=True, lossless=True).chunks == FIELD.shape
        assert h5stz.write(file, "line", np.zeros(1000), chunks=100, lossless=True).chunks == (100,)
        series = h5stz.write(file, "series", large[:, :512, :512], lossless=True, append_axis=0, maxshape=(None, 512, 512))
        assert series.chunks[0] == 8

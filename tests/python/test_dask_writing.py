"""h5stz.to_hdf5: arrays of dask become datasets with the bytes that the filter makes, by any scheduler, or nothing is left."""

import hashlib
import os
import signal
import subprocess

import h5py
import numpy as np
import pytest

import h5stz
from support.requirements import needs_programs

dask = pytest.importorskip("dask", reason="needs Python package dask")
da = pytest.importorskip("dask.array", reason="needs Python package dask")
distributed = pytest.importorskip("distributed", reason="needs Python package distributed")

FIELD = np.random.default_rng(1).normal(size=(70, 60, 50)).astype("f4")
CHUNKS = (32, 32, 50)


@pytest.fixture(scope="module")
def client():
    """Workers in threads of this process."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            yield client


def stored(dataset):
    """All chunks as they are stored, by their places: sizes and hashes, as pytest takes minutes to show how bytes differ."""
    infos = [dataset.id.get_chunk_info(number) for number in range(dataset.id.get_num_chunks())]
    chunks = {info.chunk_offset: dataset.id.read_direct_chunk(info.chunk_offset) for info in infos}
    return {place: (mask, len(stream), hashlib.sha256(stream).hexdigest()) for place, (mask, stream) in chunks.items()}


def check_as_by_the_filter(path, name, array, chunks, creation=None, **options):
    """The dataset is what create_dataset() makes of the same array."""
    with h5py.File(path, "a") as file:
        wanted = file.create_dataset("wanted", data=array, chunks=chunks, **(creation or {}), **h5stz.STZ(**options))
        assert stored(file[name]) == stored(wanted)
        assert file[name].dtype == wanted.dtype and file[name].chunks == wanted.chunks
        assert np.array_equal(file[name][...], wanted[...], equal_nan=array.dtype.kind == "f")
        assert h5stz.STZ.from_dataset(file[name]).filter_options == h5stz.STZ.from_dataset(wanted).filter_options
        del file["wanted"]


@pytest.mark.usefixtures("every_chunk_fitted")
@pytest.mark.parametrize("blocks", [CHUNKS, (64, 32, 50), (70, 60, 50), (30, 17, 13)])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads", "client"])
def test_chunks_are_those_of_the_filter(tmp_path, client, scheduler, blocks):
    lazy = da.from_array(FIELD, chunks=blocks)
    options = {"scheduler": client if scheduler == "client" else scheduler}
    h5stz.to_hdf5(lazy, tmp_path / "x.h5", "a/b", chunks=CHUNKS, relative=1e-3, **options)
    check_as_by_the_filter(tmp_path / "x.h5", "a/b", FIELD, CHUNKS, relative=1e-3, data=FIELD)


@pytest.mark.usefixtures("every_chunk_fitted")
def test_processes_and_addresses(tmp_path, client):
    lazy = da.from_array(FIELD, chunks=CHUNKS)
    h5stz.to_hdf5(lazy, tmp_path / "x.h5", "p", chunks=CHUNKS, scheduler="processes", absolute=1e-2)
    h5stz.to_hdf5(lazy, tmp_path / "x.h5", "c", chunks=CHUNKS, scheduler=client.scheduler.address, absolute=1e-2)
    with client.as_current():
        h5stz.to_hdf5(lazy, tmp_path / "x.h5", "d", chunks=CHUNKS, absolute=1e-2)
    for name in "pcd":
        check_as_by_the_filter(tmp_path / "x.h5", name, FIELD, CHUNKS, absolute=1e-2)


def masked_numbers():
    values = FIELD.copy()
    values[::3, :5] = -999
    return values


CASES = {
    "f8 big-endian": (FIELD.astype(">f8"), {"absolute": 1e-3}, {}),
    "f2": (FIELD.astype("f2"), {"pointwise_relative": 1e-2}, {}),
    "integers": (np.arange(70 * 60 * 50).reshape(FIELD.shape), {"absolute": 5}, {}),
    "integers, relative": (np.arange(70 * 60 * 50).reshape(FIELD.shape), {"relative": 0.1}, {}),
    "lossy integers": ((FIELD * 1000).astype("i4"), {"relative": 0.1, "integers": "lossy"}, {}),
    "bool": (FIELD > 0, {"absolute": 1e-3}, {}),
    "complex": (FIELD + 1j, {"absolute": 1e-3}, {}),
    "NaN": (np.where(FIELD > 1, np.nan, FIELD), {"relative": 1e-3}, {}),
    "fill value found": (masked_numbers(), {"relative": 1e-3}, {}),
    "fill value given": (masked_numbers(), {"relative": 1e-3, "fill_value": -999}, {}),
    "fill value of HDF5": (masked_numbers(), {"absolute": 1e-3}, {"fillvalue": -999}),
    "psnr": (FIELD, {"psnr": 60}, {}),
    "lossless": (FIELD, {"lossless": True}, {}),
    "other options": (FIELD, {"absolute": 0.1, "block": "region", "effort": 2, "append_axis": 0}, {"maxshape": (None, 60, 50)}),
}


def bound_of(path):
    with h5py.File(path) as file:
        return h5stz.STZ.from_dataset(file["x"]).bound


@pytest.mark.usefixtures("every_chunk_fitted")
@pytest.mark.parametrize("case", CASES)
def test_types_bounds_and_missing_values(tmp_path, case):
    array, options, creation = CASES[case]
    lazy = da.from_array(array, chunks=(64, 32, 50))
    h5stz.to_hdf5(lazy, tmp_path / "x.h5", "x", creation=creation, **{"chunks": CHUNKS, **options})
    if "psnr" in options:
        check_as_by_the_filter(tmp_path / "x.h5", "x", array, CHUNKS, absolute=bound_of(tmp_path / "x.h5"), learn=False)
        with h5py.File(tmp_path / "x.h5") as file:
            error = np.sqrt(np.mean((file["x"][...].astype("f8") - array) ** 2))
            assert 60 <= 20 * np.log10(np.ptp(array) / error) <= 60.7
        return
    whole = {"data": array} if {"relative", "psnr"} & set(options) else {"dtype": array.dtype}
    check_as_by_the_filter(tmp_path / "x.h5", "x", array, CHUNKS, creation, **options, **whole)


@pytest.mark.usefixtures("every_chunk_fitted")
def test_masked_arrays(tmp_path):
    masked = np.ma.masked_where(FIELD > 1, FIELD)
    lazy = da.from_array(masked, chunks=CHUNKS, asarray=False)
    with pytest.raises(h5stz.StzError, match="give fill_value=, the number that is stored for masked samples"):
        h5stz.to_hdf5(lazy, tmp_path / "x.h5", "x", chunks=CHUNKS, absolute=1e-3)
    assert not (tmp_path / "x.h5").exists()
    h5stz.to_hdf5(lazy, tmp_path / "x.h5", "x", chunks=CHUNKS, relative=1e-3, fill_value=-999)
    check_as_by_the_filter(tmp_path / "x.h5", "x", masked.filled(-999), CHUNKS, relative=1e-3, data=masked, fill_value=-999)


def test_chunks_that_are_chosen(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        h5stz.to_hdf5(da.zeros((512, 512), chunks=(256, 256), dtype="f4"), file, "blocks", absolute=1)
        h5stz.to_hdf5(da.zeros((64, 64), chunks=(16, 16), dtype="f4"), file, "small", absolute=1)
        h5stz.to_hdf5(
            da.zeros((0, 64), dtype="f4"), file, "empty", chunks=(8, 64), absolute=1, creation={"maxshape": (None, 64)}
        )
        assert file["blocks"].chunks == (256, 256) and file["small"].chunks == (64, 64)
        assert file["empty"].shape == (0, 64) and file.id.valid


class Broken(Exception):
    """Of a task."""


def fails_late(block, block_info=None):
    if block_info[0]["chunk-location"] == (2, 1, 0):
        raise Broken
    return block


@pytest.mark.parametrize("scheduler", ["synchronous", "client"])
def test_nothing_is_left_after_an_error(tmp_path, client, scheduler):
    lazy = da.from_array(FIELD, chunks=CHUNKS).map_blocks(fails_late, dtype="f4")
    chosen = client if scheduler == "client" else scheduler
    with h5py.File(tmp_path / "old.h5", "w") as file:
        file["other"] = 1
    for name in ("old.h5", "new.h5"):
        with pytest.raises(Broken):
            h5stz.to_hdf5(lazy, tmp_path / name, "x", chunks=CHUNKS, scheduler=chosen, absolute=1e-3)
    with h5py.File(tmp_path / "old.h5") as file:
        assert list(file) == ["other"]
    assert not (tmp_path / "new.h5").exists()


ERRORS = [
    ({"array": FIELD}, h5stz.StzTypeError, r"give a dask.array.Array"),
    ({"array": da.zeros(())}, h5stz.StzError, "no chunks"),
    ({"array": da.zeros(9)[da.zeros(9) > 1]}, h5stz.StzError, "compute_chunk_sizes"),
    ({"array": da.zeros((9, 9), dtype="S4")}, h5stz.StzTypeError, "S4"),
    ({"chunks": (3,)}, h5stz.StzError, r"chunks=\(3,\) must be a tuple of 3"),
    ({"data": FIELD}, h5stz.StzError, "data= is taken from the array"),
    ({"relative": 1e-3}, h5stz.StzError, "two bounds"),
    ({"path": "there"}, h5stz.StzError, "'there' exists in the file"),
    ({"scheduler": "tcp://127.0.0.1:1"}, h5stz.StzError, "there is no dask scheduler at"),
    ({"file": "https://host/x.h5"}, h5stz.StzError, r"^https://host/x\.h5: new files are written on this machine"),
    ({"absolut": 1}, TypeError, "did you mean absolute="),
    ({"creation": {"data": 1}}, h5stz.StzError, "creation=.'data': .*give the array as the argument array"),
    ({"creation": {"chunks": (8, 8, 8)}}, h5stz.StzError, "creation=.'chunks': .*give chunks= itself"),
    ({"creation": {"compression": "gzip"}}, h5stz.StzError, "creation=.'compression': .*compressed with h5stz"),
]


@pytest.mark.parametrize(("wrong", "error", "text"), ERRORS)
def test_what_does_not_fit(tmp_path, wrong, error, text):
    with h5py.File(tmp_path / "x.h5", "w") as file, dask.config.set({"distributed.comm.timeouts.connect": "100ms"}):
        file["there"] = 1
        given = {"array": da.from_array(FIELD), "file": file, "path": "x", "chunks": CHUNKS, "absolute": 1e-3, **wrong}
        with pytest.raises(error, match=text):
            h5stz.to_hdf5(given.pop("array"), given.pop("file"), given.pop("path"), **given)
        assert list(file) == ["there"]


@needs_programs("h5dump")
def test_h5dump_reads_it(tmp_path):
    h5stz.to_hdf5(da.from_array(FIELD, chunks=CHUNKS), tmp_path / "x.h5", "x", chunks=CHUNKS, lossless=True)
    command = ["h5dump", "-d", "x", "-s", "69,59,49", "-c", "1,1,1", tmp_path / "x.h5"]
    environment = {**os.environ, "HDF5_PLUGIN_PATH": str(h5stz.plugin_path())}
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert f"(69,59,49): {FIELD[-1, -1, -1]:.6g}"[:15] in printed


def ends_its_worker_once(block, marker):
    """Ends the process that it runs in, once."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.usefixtures("every_chunk_fitted")
@pytest.mark.slow
def test_a_worker_that_is_killed(tmp_path):
    lazy = da.from_array(FIELD, chunks=(16, 16, 50)).map_blocks(ends_its_worker_once, str(tmp_path / "marker"), meta=FIELD[:0])
    lazy = lazy.rechunk((32, 32, 50))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as one,
    ):
        h5stz.to_hdf5(lazy, tmp_path / "x.h5", "x", chunks=CHUNKS, scheduler=one, absolute=1e-3)
    assert (tmp_path / "marker").exists()
    check_as_by_the_filter(tmp_path / "x.h5", "x", FIELD, CHUNKS, absolute=1e-3)


def test_a_ratio(tmp_path):
    h5stz.to_hdf5(da.from_array(FIELD, chunks=CHUNKS), tmp_path / "x.h5", "x", chunks=CHUNKS, ratio=4)
    with h5py.File(tmp_path / "x.h5") as file:
        assert file["x"].nbytes >= 4 * file["x"].id.get_storage_size()

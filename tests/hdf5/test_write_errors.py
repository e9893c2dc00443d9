"""h5stz.write: errors say what to do, a call that ends early leaves a valid file and no thread, and other threads may go on."""

import io
import itertools
import os
import subprocess
import sys
import threading

import h5py
import numpy as np
import pytest
from h5py._objects import phil

import h5stz
from support.requirements import needs_programs
from support.written import CHUNKS, FIELD, stored

MANY = (8, 8, 8)  # a shape of chunks of which FIELD has many


@pytest.fixture
def file():
    with h5py.File(io.BytesIO(), "w") as file:
        yield file


@pytest.fixture(autouse=True)
def unlearned(monkeypatch):
    """The filter learns from chunk to chunk, in their order; h5stz.write takes only predictions of the client data."""
    monkeypatch.setenv("H5STZ_LEARN", "0")


def threads_of_writes():
    return [thread for thread in threading.enumerate() if thread.name == "h5stz"]


class Broken:
    """An array whose third slab cannot be read."""

    shape, dtype, chunks = FIELD.shape, FIELD.dtype, (8, 60, 50)

    def __init__(self, error):
        self.error = error
        self.slabs = 0

    def __getitem__(self, box):
        self.slabs += 1
        if self.slabs == 3:
            raise self.error
        return FIELD[box]


def test_wrong_calls(file, tmp_path):
    file["taken"] = 1
    for arguments, options, message in [
        (("taken", FIELD), {"absolute": 1}, r"'taken' exists in .*: delete it first \(`del parent\['taken'\]`\)"),
        (("x", FIELD), {}, "no bound is given: give exactly one of absolute="),
        (("x", FIELD), {"absolute": 1, "lossless": True}, "two bounds are given"),
        (("x", 3.5), {"absolute": 1}, r"a single number has no chunks: write it with parent\[name\] = number"),
        (("x", FIELD), {"absolute": 1, "chunks": (8, 8)}, "chunks=.* must be a tuple of 3 positive integers"),
        (("x", FIELD), {"absolute": 1, "chunks": (8, 8, 0)}, "must be a tuple of 3 positive integers"),
        (("x", FIELD), {"absolute": 1, "threads": 0}, "threads=0 must be 1 to 255"),
        (("x", np.empty((0, 5), "f4")), {"absolute": 1}, "no samples: give maxshape="),
        (("x", np.ma.masked_less(FIELD, 0)), {"absolute": 1, "dtype": "f8"}, "convert the data first"),
        (("x", FIELD), {"absolute": 1, "fill_value": 1e300}, "cannot be stored in data of dtype float32"),
    ]:
        with pytest.raises(h5stz.StzError, match=message):
            h5stz.write(file, *arguments, **options)
    for data in np.array(["a", "b"]), np.array([object()]), np.zeros(3, "M8[s]"), np.zeros(3, np.longdouble):
        with pytest.raises(h5stz.StzTypeError, match="cannot be compressed"):
            h5stz.write(file, "x", data, absolute=1)
    with pytest.raises(TypeError, match="did you mean absolute="):
        h5stz.write(file, "x", FIELD, accuracy=1)
    with pytest.raises(h5stz.StzTypeError, match=r"give an h5py\.File that is open for writing"):
        h5stz.write(str(tmp_path / "x.h5"), "x", FIELD, absolute=1)
    with pytest.raises(ValueError, match=r"Chunk shape must not be greater than data shape"):
        h5stz.write(file, "x", FIELD, absolute=1, chunks=(100, 60, 50))
    assert list(file) == ["taken"]


@pytest.mark.parametrize("source", ["memory", "dask"])
@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("data", FIELD + 1, "give the array as the argument data"),
        ("shape", (3,), "give maxshape= for a dataset that grows"),
        ("name", "y", "give it as the argument name"),
        ("dtype", "f8", "give dtype= itself"),
        ("chunks", (8, 8, 8), "give chunks= itself"),
        ("fillvalue", 3, "give fillvalue= itself"),
        ("maxshape", (None, 60, 50), "give maxshape= itself"),
        ("compression", "gzip", "the dataset is compressed with h5stz"),
        ("compression_opts", 4, "give options of STZ"),
        ("absolute", 3, "give absolute= itself"),
        ("effort", 3, "give effort= itself"),
    ],
)
def test_arguments_of_the_call_are_refused_in_creation(file, name, value, instead, source):
    data = (
        FIELD if source == "memory" else pytest.importorskip("dask.array", reason="needs Python package dask").from_array(FIELD)
    )
    with pytest.raises(h5stz.StzError, match=f"^creation={{'{name}': ...}} is not possible: .*{instead}"):
        h5stz.write(file, "x", data, absolute=1, creation={"track_order": True, name: value})
    assert list(file) == []


def test_files_that_cannot_be_written(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file["x"] = 1
        group = file.create_group("group")
        file.swmr_mode = True
        with pytest.raises(h5stz.StzError, match="is in SWMR mode, in which HDF5 creates no datasets"):
            h5stz.write(file, "y", FIELD, absolute=1)
    with pytest.raises(h5stz.StzError, match="the file of parent was closed: open it again"):
        h5stz.write(group, "y", FIELD, absolute=1)
    with h5py.File(path) as file, pytest.raises(h5stz.StzError, match=r"open for reading only: open it with h5py\.File"):
        h5stz.write(file, "y", FIELD, absolute=1)


@pytest.mark.parametrize("other", [{"shuffle": True}, {"scaleoffset": 2}])
def test_filters_in_front_are_refused(file, other):
    with pytest.raises((ValueError, RuntimeError), match="is in front of h5stz"):
        h5stz.write(file, "x", FIELD, absolute=1, creation=other)
    assert list(file) == []


def test_a_checksum_behind_is_left_to_hdf5(file):
    made = h5stz.write(file, "x", FIELD, chunks=CHUNKS, absolute=1e-2, creation={"fletcher32": True})
    wanted = file.create_dataset("y", data=FIELD, chunks=CHUNKS, fletcher32=True, **h5stz.STZ(absolute=1e-2))
    assert stored(made) == stored(wanted) and np.abs(made[...] - FIELD).max() <= 1e-2


@pytest.mark.parametrize("size", [(1 << 32) - 1, 1 << 32])
def test_chunks_of_4_gib(file, size):
    data = np.broadcast_to(np.uint8(0), (2, size))
    with pytest.raises((ValueError, RuntimeError, OSError), match="use chunks of 1 to 64 MiB"):
        h5stz.write(file, "x", data, chunks=(1, size), absolute=1)
    assert list(file) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_of_the_data_removes_the_dataset(file, threads, monkeypatch):
    monkeypatch.setattr("h5stz.writing.samples.STORED_BYTES", 100_000)
    with pytest.raises(OSError, match="the disk is gone") as error:
        h5stz.write(file, "a/x", Broken(OSError("the disk is gone")), chunks=MANY, threads=threads, absolute=1)
    assert not threads_of_writes()
    assert "x" not in file["a"]
    if sys.version_info >= (3, 11):
        assert "/a/x was removed from" in error.value.__notes__[0] and "chunks had been written" in error.value.__notes__[0]
    h5stz.write(file, "a/x", FIELD, absolute=1)


class Stop(Exception):
    """Of a callback that has enough."""


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_can_stop_the_call(tmp_path, threads):
    told = []

    def progress(path, done, total):
        told.append((path, done, total))
        if len(told) == 100:
            raise Stop

    with h5py.File(tmp_path / "x.h5", "w") as file:
        h5stz.write(file, "before", FIELD, absolute=1)
        with pytest.raises(Stop):
            h5stz.write(file, "x", FIELD, chunks=MANY, threads=threads, absolute=1, progress=progress)
        assert not threads_of_writes()
    with h5py.File(tmp_path / "x.h5") as file:
        assert list(file) == ["before"] and np.abs(file["before"][...] - FIELD).max() <= 1
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_progress_ends_with_everything(file):
    told = []
    h5stz.write(file, "x", FIELD, chunks=MANY, threads=2, absolute=1, progress=lambda *call: told.append(call))
    assert told[-1] == ("/x", FIELD.nbytes, FIELD.nbytes) and len(told) >= 9 * 8 * 7
    assert all(one[1] <= other[1] for one, other in itertools.pairwise(told))


INTERRUPTED = """
import signal, sys, threading
import h5py, numpy as np, h5stz
def interrupt(number, frame):
    while frame is not None and frame.f_code is not h5stz.write.__code__:
        frame = frame.f_back
    if frame is not None:  # the alarm of a slow host comes before the call, or after it
        raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
data = np.random.default_rng(0).normal(size=(96, 128, 128)).cumsum(0).astype("f4")
interrupted = 0
with h5py.File(sys.argv[1], "w") as file:
    h5stz.write(file, "before", data[:8], absolute=1)
    for turn in range(40):
        signal.setitimer(signal.ITIMER_REAL, 0.001 * (turn + 1))
        try:
            h5stz.write(file, "x", data, chunks=(16, 32, 32), threads=3, absolute=1e-3)
        except KeyboardInterrupt:
            interrupted += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        # Python lists a thread for ever whose start() was interrupted before it began: it has no identity
        threads = [thread for thread in threading.enumerate()[1:] if thread.ident is not None]
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads)
        file.pop("x", None)
print(interrupted, list(file) if file else "closed")
"""


def test_ctrl_c_at_any_place(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, tmp_path / "x.h5"], capture_output=True, text=True, timeout=300, check=True
    )
    assert int(done.stdout.split()[0]) >= 1
    with h5py.File(tmp_path / "x.h5") as file:
        assert list(file) == ["before"] and file["before"][...].shape == (8, 128, 128)


def test_writes_and_reads_in_several_threads(tmp_path):
    """h5py allows one thread at a time into HDF5; calls here wait for it, and never for each other while they hold it."""
    errors = []

    def work(number):
        try:
            for turn in range(3):
                path = tmp_path / f"{number} {turn}.h5"
                with h5py.File(path, "w") as file:
                    h5stz.write(file, "x", FIELD + number, chunks=(16, 30, 25), threads=2, absolute=1e-2)
                with h5py.File(path) as file:
                    read = h5stz.read(file["x"], threads=2)
                    assert np.abs(read - (FIELD + number)).max() <= 1.001e-2
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not errors and not any(thread.is_alive() for thread in threads)


def test_a_caller_may_hold_the_lock_of_h5py(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file, phil:
        h5stz.write(file, "x", FIELD, chunks=(16, 30, 25), threads=2, absolute=1e-2)
    with h5py.File(tmp_path / "x.h5") as file:
        found = []
        with phil:
            found.append(h5stz.read(file["x"], threads=2))
        file.visititems(lambda name, item: found.append(h5stz.read(item, threads=2)))
        file.visititems(lambda name, item: found.append(h5stz.view(item, threads=2)[...]))
        file.visititems(lambda name, item: found.append(h5stz.view(item, threads=2)[3:40, 5:]))
        assert found[0].tobytes() == found[2].tobytes()
        assert found[0].tobytes() == found[1].tobytes()


def test_forks(tmp_path):
    """A child that was forked while another thread writes can write and read too."""
    program = """
import os, sys, threading
import h5py, numpy as np, h5stz
data = np.random.default_rng(0).normal(size=(64, 64, 64)).astype("f4")
stop = threading.Event()
def work():
    array, codec = data.copy(), None
    with h5py.File(sys.argv[1] + "parent", "w") as file:
        while not stop.is_set():
            h5stz.write(file, "x", array, chunks=(16, 16, 64), threads=2, absolute=1e-3)
            del file["x"]
def child(number):
    from h5stz.thread_team import in_order
    with in_order(lambda job: h5stz.compress(job, absolute=1e-3), [data] * 4, 2) as results:
        assert len(list(results)) == 4
thread = threading.Thread(target=work)
thread.start()
for number in range(10):
    pid = os.fork()
    if pid == 0:
        child(number)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
thread.join()
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tmp_path / "x")], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("driver", ["core", "stdio", "split", "family", "external link"])
def test_drivers(tmp_path, driver):
    path = tmp_path / ("x%d.h5" if driver == "family" else "x.h5")
    arguments = {} if driver == "external link" else {"driver": driver}
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other.create_group("group")
    with h5py.File(path, "w", **arguments) as file:
        if driver == "external link":
            file["link"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "group")
        name = "link/x" if driver == "external link" else "x"
        made = h5stz.write(file, name, FIELD, chunks=CHUNKS, threads=2, absolute=1e-2)
        assert np.abs(h5stz.read(made) - FIELD).max() <= 1e-2
    with h5py.File(tmp_path / "other.h5" if driver == "external link" else path, "r", **arguments) as file:
        dataset = file["group/x" if driver == "external link" else "x"]
        assert np.abs(h5stz.read(dataset, threads=2) - FIELD).max() <= 1e-2
        assert h5stz.read(dataset).tobytes() == dataset[...].tobytes()


def test_other_arguments_of_creation(file):
    made = h5stz.write(
        *(file, "x", FIELD),
        **{"absolute": 1, "maxshape": (None, 60, 50), "chunks": CHUNKS},
        creation={"track_order": True, "track_times": True, "rdcc_nbytes": 1 << 20},
    )
    assert made.maxshape == (None, 60, 50)
    assert made.id.get_create_plist().get_attr_creation_order() != 0
    anonymous = h5stz.write(file, None, FIELD, absolute=1)
    assert anonymous.name is None and np.abs(anonymous[...] - FIELD).max() <= 1
    empty = h5stz.write(file, "empty", np.empty((0, 60), "f4"), maxshape=(None, 60), absolute=1)
    assert empty.shape == (0, 60)


@needs_programs("h5dump")
def test_h5dump_reads_it(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        h5stz.write(file, "x", np.arange(1000, dtype="i4"), chunks=(64,), lossless=True)
    environment = {**os.environ, "HDF5_PLUGIN_PATH": h5stz.plugin_path()}
    command = ["h5dump", "-y", "-w", "0", "-d", "x", "-s", "500", "-c", "3", tmp_path / "x.h5"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "500, 501, 502" in done.stdout


def test_netcdf4_reads_it(tmp_path):
    netcdf = pytest.importorskip("netCDF4", reason="needs Python package netCDF4")
    with h5py.File(tmp_path / "x.nc", "w") as file:
        h5stz.write(file, "x", FIELD, chunks=CHUNKS, threads=2, absolute=1e-2)
    with netcdf.Dataset(tmp_path / "x.nc") as file:
        assert np.abs(file["x"][...] - FIELD).max() <= 1e-2


@pytest.mark.parametrize("variable, threads", [("3", 3), ("", len(os.sched_getaffinity(0)))])
def test_the_number_of_threads(file, monkeypatch, variable, threads):
    seen = set()
    monkeypatch.setenv("H5STZ_THREADS", variable)

    def progress(*call):
        seen.add(len(threads_of_writes()))

    h5stz.write(file, "x", FIELD, chunks=MANY, absolute=1, progress=progress)
    assert max(seen) == (threads if threads > 1 else 0)


def test_the_only_chunk_uses_all_threads(file, monkeypatch):
    from h5stz.hdf5.chunk_codec import ChunkCodec

    given, encode = [], ChunkCodec.encode
    monkeypatch.setattr(
        ChunkCodec, "encode", lambda self, part, threads=1: given.append(threads) or encode(self, part, threads)
    )
    h5stz.write(file, "x", FIELD, absolute=1, threads=5)
    h5stz.write(file, "y", FIELD, chunks=(35, 60, 50), absolute=1, threads=5)
    assert given == [5, 2, 2]

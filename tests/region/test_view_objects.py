"""h5stz.view of files that h5py reads through a Python object: ranges of it where that is safe, and faults of objects."""

import gc
import gzip
import io
import sys
import tempfile
import threading

import h5py
import numpy as np
import pytest
from h5py._objects import phil

import h5stz
from h5stz.sources import file_objects
from support import region_files
from support.region_files import CHUNKS, USERBLOCK, opened, overwrite, route, same, write


class Counting(io.BytesIO):
    """A file in memory that counts what is read, and does something else once `then` is set."""

    def __init__(self, content):
        super().__init__(content)
        self.given, self.threads, self.then = 0, set(), None

    def read(self, size=-1):
        """Bytes that are counted, or what `then` gives."""
        if self.then is not None:
            return self.then(size)
        found = super().read(size)
        self.given += len(found)
        self.threads.add(threading.get_ident())
        return found


class Slow:
    """An object that gives a few bytes at a time, and has nothing but what h5py asks for."""

    def __init__(self, content):
        file = io.BytesIO(content)
        self.seek, self.tell, self.readinto, self.flush = file.seek, file.tell, file.readinto, file.flush
        self.read = lambda size: file.read(min(size, 1000))


def zipped(path):
    """The file `path` in an archive that is read as one file."""
    with gzip.open(path.with_suffix(".gz"), "wb") as file:
        file.write(path.read_bytes())
    return gzip.open(path.with_suffix(".gz"), "rb")


def copied(path):
    """A temporary file, which is a wrapper about a file."""
    file = tempfile.NamedTemporaryFile()
    file.write(path.read_bytes())
    return file


OBJECTS = region_files.OBJECTS | {
    "a temporary file": copied,
    "gzip": zipped,
    "few bytes at a time": lambda path: Slow(path.read_bytes()),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_ranges_of_any_object(path, name):
    source = OBJECTS[name](path)
    with opened(source) as dataset, opened(path) as as_file:
        assert dataset.file.driver == "fileobj"
        full = as_file[...]
        for threads in (1, 4):
            assert route(dataset, full, threads=threads) == "ranges"
        view = h5stz.view(dataset)
        assert same(full[::2, ::2], view.level(1)[...])
        for level, array in view.refine(np.s_[20:90, 100:180]):
            of_level = tuple(slice(-(-low >> level) << level, low + count, 1 << level) for low, count in ((20, 70), (100, 80)))
            assert same(full[of_level], array)
        assert level == 0
        with h5stz.partial_reads() as stats:
            assert same(full[::4, ::4], dataset[::4, ::4])
        assert 0 < stats.bytes_read < stats.bytes_touched_chunks


def test_stats_count_what_the_object_gave(path):
    with opened(Counting(path.read_bytes())) as dataset:
        dataset[0, 0]
        source = source_of(dataset)
        view = h5stz.view(dataset, cache_bytes=0)
        for index in (np.s_[30:40, 30:40], np.s_[::8, ::8], np.s_[...]):
            view[0, 0]  # h5py looks the chunks up once
            source.given = 0
            view.stats.reset()
            view[index]
            assert source.given == view.stats.bytes_read > 0


def source_of(dataset):
    """The object that a view reads from."""
    return h5stz.view(dataset)._reader._file._file


def test_a_view_keeps_the_object_no_longer_than_it_lives(path):
    source = Counting(path.read_bytes())
    before = sys.getrefcount(source)
    for _ in range(3):
        with opened(source) as dataset:
            view = h5stz.view(dataset)
            assert view._reader._file._file is source
            view[...]
            del view
    del dataset
    gc.collect()
    assert sys.getrefcount(source) == before


def test_one_thread_alone_moves_the_position(path):
    """Objects are used by the thread that asks, under h5py's lock, which callers may hold: other threads cannot deadlock it."""
    with opened(Counting(path.read_bytes())) as dataset:
        full, source = dataset[...], source_of(dataset)
        view = h5stz.view(dataset, threads=4, cache_bytes=0)
        source.threads.clear()
        assert same(full[3:140], view[3:140])
        assert source.threads == {threading.get_ident()}
        together, failures = threading.Barrier(4, timeout=60), []

        def work(number):
            together.wait()
            for turn in range(30):
                low = (number * 31 + turn * 7) % 140
                try:
                    if number % 2:
                        with phil:
                            assert same(full[low : low + 10, ::3], view[low : low + 10, ::3])
                    else:
                        assert same(full[low : low + 10, ::3], view[low : low + 10, ::3])
                        assert same(full[low], dataset[low])
                except BaseException as error:
                    failures.append(error)
                    raise

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads) and not failures


def test_the_lock_of_h5py_is_held_when_the_object_is_used(path):
    with opened(Counting(path.read_bytes())) as dataset:
        full, source, taken = dataset[...], source_of(dataset), []

        def somebody_else():
            if phil.acquire(False):
                taken.append(True)
                phil.release()

        def then(size):
            other = threading.Thread(target=somebody_else)
            other.start()
            other.join()
            return io.BytesIO.read(source, size)

        view, source.then = h5stz.view(dataset, threads=2), then
        assert same(full[3:140], view[3:140]) and same(full[::2, ::2], view.level(1)[...])
        assert not taken, "another thread could have moved the position"


def ends_early(_):
    return b""


def fails(_):
    raise OSError("the cable was pulled")


def too_many(size):
    return bytes(size + 1)


FAULTS = {
    "an exception": (fails, "OSError: the cable was pulled"),
    "too few bytes": (ends_early, "gave 0 bytes"),
    "too many bytes": (too_many, "bytes as bytes"),
    "nothing": (lambda _: None, "TypeError"),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("index", [np.s_[100:110, 200:210], np.s_[...]], ids=["box", "all"])
def test_faults_of_the_object_are_errors(path, name, index):
    fault, text = FAULTS[name]
    with opened(Counting(path.read_bytes())) as dataset:
        full, source = dataset[...], source_of(dataset)
        for before in range(4):  # it fails at any of its reads
            view = h5stz.view(dataset)
            view[0, 0]
            left = iter(range(before))

            def then(size, left=left):
                return fault(size) if next(left, None) is None else io.BytesIO.read(source, size)

            source.then = then
            with pytest.raises(h5stz.StzError) as raised:
                view[index]
            assert text in str(raised.value) and "open it again" in str(raised.value) and "of /x in" in str(raised.value)
            if name == "an exception":
                assert isinstance(raised.value.__cause__.__cause__, OSError)
            source.then = None
            assert same(full[index], view[index]), "it works again once the object does"


def test_an_interrupt_is_not_made_an_error_of_the_file(path):
    def interrupted(_):
        raise KeyboardInterrupt

    with opened(Counting(path.read_bytes())) as dataset:
        view, source = h5stz.view(dataset), source_of(dataset)
        source.then = interrupted
        with pytest.raises(KeyboardInterrupt):
            view[3, 4]


def test_a_closed_object_is_an_error(path):
    with open(path, "rb") as source, h5py.File(source) as file:
        view = h5stz.view(file["x"])
        kept = view[3, 4]
        source.close()
        with pytest.raises(h5stz.StzError, match="was closed: open it again"):
            view[140, 250]
        del file
    assert kept.dtype == "f4"


@pytest.mark.parametrize("name", ["buffered", "raw", "gzip", "fsspec, local"])
def test_a_file_changed_in_place_is_an_error(path, tmp_path, original, name):
    other = write(tmp_path / "other.h5", original + 1, CHUNKS, {"absolute": 2e-3}).read_bytes()
    with OBJECTS[name](path) as source, opened(source) as dataset:
        view = h5stz.view(dataset)
        view[0, 0]
        (path.with_suffix(".gz") if name == "gzip" else path).write_bytes(other)
        for _ in range(2):
            with pytest.raises(h5stz.StzError, match="changed while it was open"):
                view[100:, 200:]


def test_userblocks(tmp_path, original):
    path = write(tmp_path / "x.h5", original, CHUNKS, {"absolute": 1e-3}, userblock_size=USERBLOCK)
    with opened(io.BytesIO(path.read_bytes())) as dataset:
        assert route(dataset) == "ranges"
    noise = np.random.default_rng(1).integers(0, 1 << 32, (256, 256), "u4")
    path = write(path, noise, CHUNKS, {"lossless": True}, userblock_size=USERBLOCK)
    content = path.read_bytes()
    with opened(path) as dataset:
        first, second = (dataset.id.get_chunk_info_by_coord(start) for start in ((0, 0), (0, 128)))
    here, there = (0, USERBLOCK) if content[first.byte_offset :].startswith(b"STZ") else (USERBLOCK, 0)
    overwrite(path, first.byte_offset + there, content[second.byte_offset + here :][: second.size])
    with opened(io.BytesIO(path.read_bytes())) as dataset:
        view = h5stz.view(dataset)
        assert same(noise[:2, :2], view[:2, :2])
        assert view._reader._readers.get((0, 0)).stored is not None, "read whole, through HDF5, as there are two streams"


def test_writable_files(path):
    with opened(io.BytesIO(path.read_bytes()), "r+", rdcc_nbytes=1 << 15) as dataset:
        assert route(dataset) == "chunk"
    with opened(io.BytesIO(path.read_bytes()), "r+") as dataset:
        assert route(dataset) == "h5py"


def test_whole_chunks_where_the_object_cannot_be_found(path, monkeypatch):
    monkeypatch.setattr("h5stz.sources.file_objects._driver_info", lambda: None)
    with opened(io.BytesIO(path.read_bytes())) as dataset:
        assert route(dataset) == "chunk"


@pytest.mark.parametrize("driver", ["sec2", "core", "stdio"])
def test_other_drivers_have_no_object(path, driver):
    """What HDF5 is asked for, as h5py has no function for it, is an object with one driver alone."""
    with opened(path, driver=driver) as dataset:
        assert file_objects.object_of(dataset.file.id) is None

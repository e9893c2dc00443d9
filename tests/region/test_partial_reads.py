"""h5stz.partial_reads: plain indexing of h5py takes the cheaper route where that is safe, as long as it is asked to."""

import threading
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import pytest

import h5stz
from support.region_files import opened, same, smooth, write

ORIGINAL = h5py.Dataset.__getitem__


@pytest.fixture(autouse=True)
def unchanged():
    """Whatever a test does, h5py is as before when it ends."""
    yield
    assert h5py.Dataset.__getitem__ is ORIGINAL


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "x.h5", smooth((150, 260)), (128, 128), {"absolute": 1e-3})


def test_plain_indexing_reads_less(path):
    with opened(path) as dataset:
        full = dataset[...]
        with h5stz.partial_reads() as stats:
            assert h5py.Dataset.__getitem__ is not ORIGINAL
            assert same(full[::4, ::4], dataset[::4, ::4])
            assert 0 < stats.bytes_read < stats.bytes_touched_chunks
            for index in [(), ..., 5, (5, 6), (5, 6, ...), (slice(3, 140), -1), (slice(5, 5),)]:
                with_h5py = ORIGINAL(dataset, index)
                found = dataset[index]
                assert type(found) is type(with_h5py) and same(with_h5py, found)
            assert stats.fallback_chunks == 0
            decoded = stats.blocks_decoded
            assert same(full[7:9], dataset.file["x"][7:9])
            assert stats.blocks_decoded == decoded, "another h5py.Dataset of the same dataset has what was kept"


def test_everything_else_goes_to_h5py(path, tmp_path):
    with h5py.File(tmp_path / "others.h5", "w") as file:
        file["plain"] = smooth((20, 30))
        file["records"] = np.zeros(5, [("a", "i4"), ("b", "f8")])
        file["text"] = ["one", "two"]
        file["nothing"] = h5py.Empty("f4")
    with opened(path) as dataset, h5py.File(tmp_path / "others.h5") as others, h5stz.partial_reads() as stats:
        full = ORIGINAL(dataset, ...)
        assert same(full[[1, 5, 7], :4], dataset[[1, 5, 7], :4])
        assert same(full[full > 80], dataset[full > 80])
        assert same(full[3:9].astype("f8"), dataset.astype("f8")[3:9])
        for wrong, error in [((slice(None, None, -1),), ValueError), ((1, 2, 3), (TypeError, ValueError)), (150, IndexError)]:
            with pytest.raises(error) as expected:
                ORIGINAL(dataset, wrong)
            with pytest.raises(error) as raised:
                dataset[wrong]
            assert str(raised.value) == str(expected.value)
        assert same(others["plain"][3:9, 2], ORIGINAL(others["plain"], (slice(3, 9), 2)))
        assert np.array_equal(others["records"]["a"], np.zeros(5))
        assert list(others["text"].asstr()[...]) == ["one", "two"]
        assert others["nothing"][()] == h5py.Empty("f4")
        assert (stats.bytes_read, stats.fallback_chunks) == (0, 0)


def test_h5py_is_restored_after_an_error_and_when_the_last_block_ends(path):
    with pytest.raises(KeyError):
        with h5stz.partial_reads():
            raise KeyError
    assert h5py.Dataset.__getitem__ is ORIGINAL
    with h5stz.partial_reads() as outer:
        with h5stz.partial_reads() as inner:
            assert inner is outer
        assert h5py.Dataset.__getitem__ is not ORIGINAL
    for wrong, error in [({"threads": "two"}, TypeError), ({"cache_bytes": -1}, ValueError)]:
        with pytest.raises(error):
            with h5stz.partial_reads(**wrong):
                pass


def test_blocks_overlap_in_threads(path):
    with opened(path) as dataset:
        full = dataset[...]
        together = threading.Barrier(4, timeout=60)

        def work(number):
            together.wait()
            for turn in range(20):
                with h5stz.partial_reads(threads=2):
                    low = (number * 31 + turn * 7) % 140
                    assert same(full[low : low + 10, ::3], dataset[low : low + 10, ::3])
            return True

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(work, range(4)))


def test_who_replaced_it_later_is_left_alone(path):
    with opened(path) as dataset:
        with h5stz.partial_reads() as stats:
            ours = h5py.Dataset.__getitem__

            def theirs(dataset, args):
                return ours(dataset, args)

            h5py.Dataset.__getitem__ = theirs
        try:
            assert h5py.Dataset.__getitem__ is theirs
            read = stats.bytes_read
            assert same(ORIGINAL(dataset, 3), dataset[3])
            assert stats.bytes_read == read, "beyond its end h5py reads"
        finally:
            h5py.Dataset.__getitem__ = ORIGINAL


def test_files_are_opened_and_closed_meanwhile(path, tmp_path):
    with h5stz.partial_reads() as stats:
        for turn in range(20):
            other = write(tmp_path / "y.h5", smooth((40, 50), seed=turn), (40, 50), {"lossless": True})
            with opened(other) as dataset:
                assert same(smooth((40, 50), seed=turn)[3:9], dataset[3:9])
        with opened(path, "r+") as dataset:
            dataset[3, 4] = 5
            assert dataset[3, 4] == 5
        with pytest.raises((ValueError, RuntimeError)):
            dataset[3]
        assert stats.fallback_chunks == 0


def test_a_file_that_is_open_twice_and_closed_once(path):
    with opened(path) as second, h5stz.partial_reads() as stats:
        with opened(path) as first:
            wanted = first[5:9]
        read = stats.bytes_read
        assert same(wanted, second[5:9]) and stats.bytes_read > read > 0

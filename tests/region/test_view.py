"""h5stz.view: every index gives the bits of the same index into the whole array, and only what is needed is decoded."""

import gc
import tempfile
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import h5stz
from support import fields
from support.region_files import agrees, opened, same, smooth, write

DTYPES = ["<f4", ">f4", "<f8", ">f8", "<i2", ">i2", "u1", "<c8", ">c16", "?", "<f2", ">u8"]
MOST = {1: 3000, 2: 120, 3: 30, 4: 10}  # longest axis by rank
OPENED = [{}, {"driver": "core"}, {"mode": "r+", "rdcc_nbytes": 0}]  # ranges of the file, whole chunks, whole chunks anew


@st.composite
def files(draw):
    """(array, chunks, options of STZ) in all forms of streams: constant, blocks, masked, tiny, with an axis map."""
    rank = draw(st.integers(1, 4))
    shape = tuple(draw(st.lists(st.integers(1, MOST[rank]), min_size=rank, max_size=rank)))
    if rank < 3:
        components = tuple(draw(st.lists(st.integers(2, 4), max_size=4)))
        shape = draw(st.sampled_from([shape + components, components + shape]))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    array = smooth(shape, dtype, draw(st.integers(0, 9)))
    options = draw(st.sampled_from([{"absolute": 0.5}, {"lossless": True}, {"absolute": 1e-2, "block": "region"}]))
    if dtype.kind in "fc" and draw(st.booleans()):
        array[tuple(slice(0, draw(st.integers(0, extent))) for extent in shape)] = np.nan
    elif dtype.kind in "fiu" and draw(st.booleans()):
        array[tuple(slice(0, draw(st.integers(0, extent))) for extent in shape)] = 99
        options = {**options, "fill_value": 99, "dtype": dtype}
    chunks = tuple(draw(st.one_of(st.just(extent), st.integers(-(-extent // 3), extent))) for extent in shape)
    return array, chunks, options


@given(data=st.data(), made=files(), how=st.sampled_from(OPENED), threads=st.integers(1, 3))
def test_any_index_gives_the_bits_of_the_whole_array(data, made, how, threads):
    array, chunks, options = made
    with tempfile.TemporaryDirectory() as directory:
        with opened(write(Path(directory, "x.h5"), array, chunks, options), **how) as dataset:
            full, view = dataset[...], h5stz.view(dataset, threads=threads)
            for _ in range(4):
                level = data.draw(st.integers(0, 4))
                coarse = full[(slice(None, None, 1 << level),) * full.ndim]
                index = data.draw(npst.basic_indices(coarse.shape, allow_newaxis=False))
                wanted = coarse[index]
                found = view.level(level)[index]
                assert same(wanted if wanted.ndim else wanted[()], found), (level, index)
            assert view.stats.fallback_chunks == 0


@given(data=st.data(), made=files(), how=st.sampled_from(OPENED))
def test_a_region_on_a_level_is_what_the_level_has_of_it(data, made, how):
    array, chunks, options = made
    with tempfile.TemporaryDirectory() as directory:
        with opened(write(Path(directory, "x.h5"), array, chunks, options), **how) as dataset:
            full, view = dataset[...], h5stz.view(dataset)
            ends = [sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2))) for n in full.shape]
            region = tuple(slice(*pair) for pair in ends)
            inside = [np.arange(n)[part] for n, part in zip(full.shape, region, strict=True)]
            seen = []
            for level, found in view.refine(region):
                kept = [each[each % (1 << level) == 0] for each in inside]
                assert same(full[np.ix_(*kept)], found)
                assert same(found, view.read(region, level))
                seen.append(level)
            assert seen == sorted(seen, reverse=True) and seen[-1] == 0


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    """(path, array as stored) of a volume in eight chunks, the last ones cut off by the edge."""
    path = write(tmp_path_factory.mktemp("volume") / "x.h5", smooth((120, 100, 110)), (64, 64, 64))
    with opened(path) as dataset:
        return path, dataset[...]


def test_it_looks_like_an_array(volume):
    path, full = volume
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        assert (view.shape, view.dtype, view.ndim, view.size) == (full.shape, full.dtype, 3, full.size)
        assert (view.nbytes, len(view), view.chunks) == (full.nbytes, 120, (64, 64, 64))
        assert (view.spacing, view.dataset, view.fallback_reason) == ((1, 1, 1), dataset, None)
        assert np.array_equal(np.asarray(view), full)
        assert np.asarray(view, "f8").dtype == "f8"
        assert np.array_equal(np.add(view, 1), full + 1)
        assert sum(1 for _ in view.level(3)) == 15
        with pytest.raises(ValueError, match="copy=False"):
            view.__array__(copy=False)
        coarse = view.level(1).level(1)
        assert (coarse.shape, coarse.spacing, coarse.chunks) == ((30, 25, 28), (4, 4, 4), (16, 16, 16))
        assert "x" in repr(view) and "(4, 4, 4)" in repr(coarse)
        assert coarse.stats is view.stats


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_are_those_of_h5py(tmp_path, dtype):
    with opened(write(tmp_path / "x.h5", smooth((70, 80), dtype), (40, 64))) as dataset:
        assert agrees(h5stz.view(dataset), dataset[...]).fallback_chunks == 0


def test_enumerations_keep_their_names(tmp_path):
    colours = h5py.enum_dtype({"red": 0, "green": 1}, basetype=">i2")
    values = (smooth((70, 80)) > 100).astype(">i2")
    with opened(write(tmp_path / "x.h5", values, (40, 64), {"lossless": True}, dtype=colours)) as dataset:
        view = h5stz.view(dataset)
        assert h5py.check_enum_dtype(view[3:9, 5].dtype) == {"red": 0, "green": 1}
        assert agrees(view, dataset[...]).fallback_chunks == 0


@pytest.mark.parametrize("name", fields.names())
def test_fields(tmp_path, name):
    """Missing samples among them: boxes, a level, and levels of all axes but one."""
    array = fields.load(name).array
    middle = tuple(slice(max(0, extent // 2 - 35), extent // 2 + 35) for extent in array.shape)
    array = np.ascontiguousarray(array[middle]) if array.ndim > 1 else array
    chunks = tuple(min(extent, 32 if array.ndim > 1 else 1000) for extent in array.shape)
    with opened(write(tmp_path / "x.h5", array, chunks, {"relative": 1e-3, "data": array})) as dataset:
        view, full = h5stz.view(dataset), dataset[...]
        assert agrees(view, full).fallback_chunks == 0
        for kept in range(-1, full.ndim):  # -1: none
            step = tuple(slice(None, None, 1 if axis == kept else 4) for axis in range(full.ndim))
            thinned = [axis for axis in range(full.ndim) if axis != kept]
            assert same(full[step], view.level(2, thinned)[...])


@pytest.mark.parametrize(
    "index, error, said",
    [
        ([1, 2], TypeError, "integers, slices"),
        ((slice(None), np.array([1, 2])), TypeError, "integers, slices"),
        (np.ones((120, 100, 110), bool), TypeError, "integers, slices"),
        (True, TypeError, "integers, slices"),
        (1.5, TypeError, "integers, slices"),
        (slice(0, 2.5), TypeError, "integers, slices"),
        (None, TypeError, "newaxis"),
        ("field", TypeError, "fields"),
        ((1, 2, 3, 4), IndexError, "too many"),
        ((..., 1, ...), IndexError, "one ellipsis"),
        (120, IndexError, "120 samples"),
        ((0, -101), IndexError, "axis 1"),
        (slice(None, None, 0), ValueError, "step"),
    ],
)
def test_an_index_that_is_not_possible_says_what_is(volume, index, error, said):
    with opened(volume[0]) as dataset, pytest.raises(error, match=said):
        h5stz.view(dataset)[index]


def test_arguments_that_are_not_possible(volume):
    with opened(volume[0]) as dataset:
        for wrong, error in [
            ({"cache_bytes": -1}, ValueError),
            ({"cache_bytes": 1.5}, TypeError),
            ({"threads": 0.5}, TypeError),
        ]:
            with pytest.raises(error):
                h5stz.view(dataset, **wrong)
        for level, error in [(-1, ValueError), (64, ValueError), (1.5, TypeError)]:
            with pytest.raises(error, match="level"):
                h5stz.view(dataset).level(level)
        for wrong in (dataset.file, np.zeros(3), None):
            with pytest.raises(TypeError, match="give an h5py"):
                h5stz.view(wrong)
        with pytest.raises(h5stz.StzError, match="cannot have steps"):
            h5stz.view(dataset).refine(np.s_[::2])
        with pytest.raises(h5stz.StzError, match="cannot have steps"):
            h5stz.view(dataset).read(np.s_[::-1], 1)


def test_reading_into_an_array(volume):
    path, full = volume
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        region = np.s_[10:90:3, 50, ::-1]
        wanted = full[region]
        for out in (np.empty_like(wanted), np.empty((27, 220), "f4")[:, ::2], np.empty((110, 27), "f4")[::-1].T):
            assert view.read(region, out=out) is out
            assert np.array_equal(out, wanted)
        number = np.empty((), "f4")
        assert view.read((1, 2, 3), out=number) is number and number == full[1, 2, 3]
        read_only = np.empty_like(wanted)
        read_only.flags.writeable = False
        wrong = [
            ([0.0], TypeError, "ndarray"),
            (np.empty((27, 110), "f8"), TypeError, "dtype"),
            (np.empty((27, 110), ">f4"), TypeError, "dtype"),
            (np.empty((27, 111), "f4"), ValueError, "shape"),
            (read_only, ValueError, "read-only"),
        ]
        for out, error, said in wrong:
            with pytest.raises(error, match=said) as raised:
                view.read(region, out=out)
            assert "numpy.empty((27, 110), '<f4')" in str(raised.value)


def test_a_limit_of_the_result(volume):
    path, full = volume
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        assert view.read(np.s_[:10], max_bytes=full[:10].nbytes).nbytes == full[:10].nbytes
        with pytest.raises(h5stz.StzError, match="coarser level"):
            view.read(np.s_[:10], max_bytes=full[:10].nbytes - 1)
        assert view.read(np.s_[:10], level=1, max_bytes=full[:10].nbytes - 1).shape == (5, 50, 55)


def test_a_part_costs_less_than_the_whole(tmp_path):
    with opened(write(tmp_path / "x.h5", smooth((128, 128, 128)), (128, 128, 128), {"absolute": 1e-3})) as dataset:
        view = h5stz.view(dataset)
        view[60:70, 3, 5]
        line = view.stats.bytes_read
        assert 0 < line < view.stats.bytes_touched_chunks / 2
        assert 0 < view.stats.blocks_decoded < view.stats.blocks_present
        assert view.stats.bytes_touched_chunks == dataset.id.get_storage_size()
        view.stats.reset()
        assert (view.stats.bytes_read, view.stats.blocks_present, view.stats.bytes_touched_chunks) == (0, 0, 0)
        fresh = h5stz.view(dataset)
        fresh.level(2)[...]
        assert fresh.stats.bytes_read < fresh.stats.bytes_touched_chunks / 4
        assert "blocks_decoded" in repr(fresh.stats)


def test_refining_reads_only_the_difference(tmp_path):
    with opened(write(tmp_path / "x.h5", smooth((128, 100, 130)), (64, 100, 96))) as dataset:
        view, full = h5stz.view(dataset), dataset[...]
        region = np.s_[5:100, 17, 40:]
        levels, decoded = [], []
        for level, found in view.refine(region):
            step = 1 << level
            assert same(full[-(-5 // step) * step : 100 : step, 17 // step * step, -(-40 // step) * step :: step], found)
            levels.append(level)
            decoded.append(view.stats.blocks_decoded)
        assert levels == list(range(levels[0], -1, -1)) and len(levels) > 3
        direct = h5stz.view(dataset)
        direct[region]
        assert view.stats.bytes_read < 1.5 * direct.stats.bytes_read
        for _ in view.refine(region):
            pass
        assert view.stats.blocks_decoded == decoded[-1], "all of it was kept"
        assert [level for level, _ in view.level(1).refine(region_of(view.level(1)))][-1] == 0


def region_of(view):
    """The middle of a view."""
    return tuple(slice(extent // 4, extent // 2) for extent in view.shape)


def test_refining_an_empty_region_and_a_number(volume):
    path, full = volume
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        assert [(level, found.shape) for level, found in view.refine(np.s_[5:5])] == [(0, (0, 100, 110))]
        assert [found for _, found in view.refine((5, 6, 7))][-1] == full[5, 6, 7]
        assert view.read(np.s_[5:7], 3).shape == (0, 13, 14)


@pytest.mark.parametrize("shape, chunks", [((0, 5), (4, 5)), ((7, 1), (3, 1)), ((1, 1, 1), (1, 1, 1))])
def test_small_arrays_and_the_coarsest_levels(tmp_path, shape, chunks):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", shape, "f4", maxshape=(None, *shape[1:]), chunks=chunks, **h5stz.STZ(absolute=1e-3))
        file["x"][...] = np.arange(np.prod(shape)).reshape(shape)
    with opened(tmp_path / "x.h5") as dataset:
        view, full = h5stz.view(dataset), dataset[...]
        for level in (0, 1, 2, 63):
            assert same(full[(slice(None, None, 1 << level),) * full.ndim], view.level(level)[...])
            assert same(view.level(level)[...], view.read(..., level))
        for impossible in (lambda: view.level(60).level(4), lambda: view.level(60).read(..., 4)):
            with pytest.raises(h5stz.StzError, match=r"to 3$"):
                impossible()


@pytest.mark.parametrize("driver", [None, "core"])
def test_the_cache_keeps_to_its_limit(volume, driver):
    path, full = volume
    with opened(path, driver=driver) as dataset:
        for limit in (0, 100_000, 1_000_000, 1 << 70):
            view = h5stz.view(dataset, cache_bytes=limit)
            for _ in range(2):
                for low in range(0, 120, 30):
                    assert same(full[low : low + 30], view[low : low + 30])
                    assert view._reader._readers.kept_bytes <= limit
        everything = view.stats.blocks_decoded
        assert same(full[20:100], view[20:100]) and view.stats.blocks_decoded == everything, "all of it was kept"
        none = h5stz.view(dataset, cache_bytes=0)
        none[3, 4, 5]
        first = none.stats.blocks_decoded
        none[3, 4, 5]
        assert none.stats.blocks_decoded == 2 * first > 0


def test_a_chunk_that_made_room_for_another_one_is_kept_again(tmp_path):
    with opened(write(tmp_path / "x.h5", smooth((128, 64, 64)), (64, 64, 64))) as dataset:
        full, everything = dataset[...], h5stz.view(dataset)
        everything[:60]
        one_chunk = everything._reader._readers.kept_bytes
        view = h5stz.view(dataset, cache_bytes=one_chunk * 3 // 2)
        decoded = []
        for box in (np.s_[:60], np.s_[70:], np.s_[:60], np.s_[:60]):
            assert same(full[box], view[box])
            decoded.append(view.stats.blocks_decoded)
        assert 0 < decoded[2] - decoded[1] <= decoded[0], "what was let go is decoded again"
        assert decoded[3] == decoded[2], "and kept"


def test_many_threads_share_a_view(volume):
    path, full = volume
    with opened(path) as dataset:
        view = h5stz.view(dataset, cache_bytes=500_000, threads=2)

        def read(seed):
            rng = np.random.default_rng(seed)
            low = [int(rng.integers(0, extent - 20)) for extent in full.shape]
            box = tuple(slice(start, start + int(rng.integers(1, 60)), int(rng.integers(1, 5))) for start in low)
            return same(full[box], view[box])

        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(read, range(120)))


def test_threads_while_the_caller_holds_the_lock_of_h5py(volume):
    path, full = volume
    with h5py.File(path) as file:
        found = []
        work = threading.Thread(target=file.visititems, args=(lambda _, item: found.append(h5stz.view(item, threads=3)[...]),))
        work.daemon = True
        work.start()
        work.join(60)
        assert not work.is_alive(), "a thread waits for the lock that visititems holds"
        assert same(full, found[0])


def test_a_closed_file(volume):
    with opened(volume[0]) as dataset:
        view = h5stz.view(dataset)
        view[1, 2, 3]
    with pytest.raises(h5stz.StzError, match="closed"):
        view[1, 2, 3]
    with pytest.raises(h5stz.StzError, match="closed"):
        h5stz.view(dataset)
    assert "closed" in repr(view)


def test_a_view_that_keeps_no_chunks_keeps_little_of_each(tmp_path):
    """It counts which ones it touched: a bit each, and no object."""
    count, at_once = 3000, 500
    with opened(write(tmp_path / "x.h5", smooth((4 * count, 8), "f4", 1), (4, 8))) as dataset:
        view = h5stz.view(dataset, cache_bytes=0)
        view[: 4 * at_once]
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for first in range(4 * at_once, 4 * count, 4 * at_once):
                view[first : first + 4 * at_once]
            gc.collect()
            kept = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert kept < 8 * count

"""A chunk that was decoded and changed in part is recognised by what it holds: in small programs, and under every allocator.

Most programs are those of programs/rewriting_cases.py, each in a process of its own.
"""

import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support import allocators, exact, host_tools
from support.paths import PROGRAMS
from support.piecewise import write_points

PROGRAM = PROGRAMS / "rewriting_cases.py"


def answer(directory, *words, allocator="glibc", **variables):
    """The number that a program of the file prints."""
    environment = {**allocators.environment(allocator), **variables}
    words = [sys.executable, str(PROGRAM), *map(str, words)]
    done = subprocess.run(words, cwd=directory, env=environment, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return float(done.stdout.split()[-1])


def test_a_copy_within_hdf5_of_a_chunk_that_is_not_flushed(tmp_path):
    assert answer(tmp_path, "object_copy") <= 1


def create(path, values, chunks):
    """A file with a dataset, with nothing remembered."""
    host_tools.forget()
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=values, chunks=chunks, **h5stz.STZ(absolute=1e-2))


def copied(path, changed, new=lambda before: before + np.random.default_rng(9).normal(50, 5, before.shape).astype("f4")):
    """What a dataset held, and what H5Ocopy makes of its chunks in the cache, of which the samples of a mask were changed.

    Of a copy content alone tells: there are no hints.
    """
    host_tools.forget()
    with h5py.File(path, "r+", rdcc_nbytes=1 << 28, rdcc_nslots=9973) as file:
        dataset = file["a"]
        before = dataset[...]
        write_points(dataset, np.argwhere(changed), new(before)[changed])
        file.copy("a", "b")
    with h5py.File(path) as file:
        return before, file["b"][...]


def rough(*shape):
    return np.random.default_rng(1).standard_normal(shape).cumsum(-1).astype("f4")


@pytest.mark.parametrize("count", [1, 70])
def test_scattered_samples_are_recognised(count, tmp_path):
    """200 of the 4096 of each chunk are left: single probes miss them all in 2 of a million."""
    values = rough(64 * count, 64)
    changed = np.ones((count, 4096), bool)
    for chunk in changed:
        chunk[np.random.default_rng(count).choice(4096, 200, replace=False)] = False
    changed = changed.reshape(values.shape)
    create(tmp_path / "f.h5", values, (64, 64))
    before, found = copied(tmp_path / "f.h5", changed)
    assert exact.same_bits(found[~changed], before[~changed])


@pytest.mark.parametrize(
    "side, count, left", [pytest.param((64, 64), 300, 127, marks=pytest.mark.slow), ((64, 64, 64), 66, 511)], ids=str
)
def test_the_shortest_stretch_that_is_met_for_certain_is_recognised(side, count, left, tmp_path):
    """In raster order, anywhere in a chunk, beside so many other chunks that one single probe is too little."""
    rng, values = np.random.default_rng(2), rough(count * side[0], *side[1:])
    changed = np.zeros((count, np.prod(side)), bool)
    for chunk in (0, count // 2, count - 1):
        changed[chunk] = True
        first = rng.integers(0, changed.shape[1] - left)
        changed[chunk, first : first + left] = False
    changed = changed.reshape(values.shape)
    create(tmp_path / "f.h5", values, side)
    before, found = copied(tmp_path / "f.h5", changed)
    assert exact.same_bits(found[~changed], before[~changed])


def test_chunks_that_differ_in_few_samples_are_told_apart(tmp_path):
    """Three of 4096, which lie between the probes as a rule; so many others are changed that patches span the chunk."""
    path, rng = tmp_path / "f.h5", np.random.default_rng(3)
    create(path, np.tile(rough(64, 64), (4, 1)), (64, 64))
    changed = rng.random((256, 64)) < 0.3
    with h5py.File(path, "r+", rdcc_nbytes=0) as file:  # all but the first become the first with patches
        first = file["a"][:64]
        for number in range(4):
            own, chunk = rng.choice(4096, 3, replace=False), first.copy()
            chunk.flat[own] += rng.normal(0, 3, 3)
            changed[64 * number : 64 * number + 64].flat[own] = False
            file["a"][64 * number : 64 * number + 64] = chunk
    before, found = copied(path, changed)
    assert exact.same_bits(found[~changed], before[~changed])


def test_what_is_left_of_a_chunk_beside_a_part_of_another_one_is_recognised(tmp_path):
    """As where frames move on by one: most of a chunk is what the one before it holds."""
    create(tmp_path / "f.h5", rough(256, 64), (64, 64))
    changed = (np.arange(256)[:, None] >= 64) & (np.arange(256)[:, None] % 64 < 50) & np.ones(64, bool)
    before, found = copied(tmp_path / "f.h5", changed, lambda before: np.roll(before, 64, axis=0))
    assert exact.same_bits(found[~changed], before[~changed])


#: side and number of chunks, bytes of the chunk cache, the order in which chunks are written
HINTED = {
    "flushed in the order of reading": (96, 20, 1 << 28, range(20)),
    "small, flushed in any order": (64, 7, 1 << 28, [3, 0, 6, 1, 5, 2, 4]),
    "leaving the cache in any order": (96, 12, 5 * 4 * 96 * 96, np.random.default_rng(4).integers(0, 12, 60)),
}


@pytest.mark.parametrize("side, count, cache, order", HINTED.values(), ids=HINTED)
def test_one_sample_is_recognised_where_order_or_address_tell(side, count, cache, order, tmp_path):
    """Too little for content: of each chunk one sample goes in again as it came out."""
    create(tmp_path / "f.h5", rough(side * count, side), (side, side))
    kept = np.array([(number * side + 7 * number % side, 11) for number in range(count)])
    host_tools.forget()
    with h5py.File(tmp_path / "f.h5", "r+", rdcc_nbytes=cache, rdcc_nslots=9973) as file:
        dataset = file["a"]
        before = dataset[...]
        for turn, number in enumerate(order):
            chunk, rng = slice(number * side, number * side + side), np.random.default_rng(turn)
            values, (row, column) = dataset[chunk], kept[number] - (number * side, 0)
            sample = values[row, column]
            values[...] = rng.normal(0, 5, values.shape)
            values[row, column] = sample
            dataset[chunk] = values
        dataset[...]  # what is left in a small cache leaves it before H5Fclose flushes copies
    with h5py.File(tmp_path / "f.h5") as file:
        found = file["a"][...]
    places = tuple(kept.T)
    assert exact.same_bits(found[places], before[places])


def test_a_chunk_whose_stream_was_dropped_is_stored_exactly(tmp_path, monkeypatch):
    """Streams of 3 MiB are decoded, one MiB is kept: of the first chunk content tells only that it is not new."""
    monkeypatch.setenv("H5STZ_REWRITE_MEMORY", "1")
    values = np.random.default_rng(1).normal(0, 5, (300 * 64, 64)).astype("f4")
    changed = np.zeros(values.shape, bool)
    changed[:50] = True
    create(tmp_path / "f.h5", values, (64, 64))
    before, found = copied(tmp_path / "f.h5", changed)
    monkeypatch.undo()
    host_tools.forget()
    assert exact.same_bits(found[~changed], before[~changed])


@pytest.mark.parametrize("allocator", allocators.each())
def test_a_forgotten_stream(allocator, tmp_path):
    assert answer(tmp_path, "forgotten", allocator=allocator, H5STZ_REWRITE_MEMORY="0") <= 1


@pytest.mark.slow
@pytest.mark.parametrize("allocator", allocators.each())
def test_flushes_between_chunks_that_take_the_place_of_others(allocator, tmp_path):
    assert answer(tmp_path, "flushes", allocator=allocator) <= 1


def test_two_copies_of_the_plugin_in_one_process(tmp_path):
    answer(tmp_path, "two_plugins_create")
    for _ in range(3):
        assert answer(tmp_path, "two_plugins", HDF5_PLUGIN_PATH=str(tmp_path / "copy")) <= 1


@pytest.mark.slow
def test_a_chunk_beside_nine_thousand_that_were_read(tmp_path):
    assert answer(tmp_path, "many_read") == 0


@pytest.mark.slow
@pytest.mark.parametrize("program", ["flush_small", "read_equal", "flush_large"])
def test_time_grows_with_the_number_of_chunks(program, tmp_path):
    """Processor time of four times as many chunks: 4 if it grows with their number, 16 with its square; 8 lies between."""
    assert answer(tmp_path, "growth", program) <= 8


@pytest.mark.parametrize("bound", [5e-5, 1e-4, 2e-4, 1e-3])
def test_the_same_data_again_take_no_more_bytes(bound, tmp_path):
    assert answer(tmp_path, "again", bound) <= 1.01

"""What docs/rewriting.md says of bits that change within the bound, and of chunks that HDF5 stores raw, is what happens."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support import exact, host_tools
from support.paths import PROGRAMS

BOUND = 1e-2
SIDE = 64
STZ = h5stz.STZ(absolute=BOUND)


def walk(rows, seed=1):
    """Rough rows."""
    return np.random.default_rng(seed).standard_normal((rows, SIDE)).cumsum(1).astype("f4")


def opened(path, mode="r+", **options):
    """The file without a chunk cache, with nothing remembered of what was decoded before."""
    host_tools.forget()
    return h5py.File(path, mode, libver="latest", **{"rdcc_nbytes": 0, **options})


def read(path):
    with h5py.File(path) as file:
        return file["a"][...]


EXACT_BY_CHANCE = {
    "constant": np.full((SIDE, SIDE), 1 / 3, "f4"),
    "few values": (np.random.default_rng(1).integers(0, 3, (SIDE, SIDE)) / 3).astype("f4"),
    "raw": np.random.default_rng(1).integers(0, 1 << 32, (SIDE, SIDE), "u4").view("f4"),
}


@pytest.mark.parametrize("values", EXACT_BY_CHANCE.values(), ids=EXACT_BY_CHANCE)
def test_chunks_that_are_exact_by_chance_get_their_bound_once(values, tmp_path):
    path = tmp_path / "f.h5"
    with opened(path, "w") as file:
        file.create_dataset("a", data=values, chunks=values.shape, **STZ)
    found = [read(path)]
    stream = h5stz.compress(values, absolute=BOUND)
    in_memory = [h5stz.decompress(stream)]
    for turn in range(3):
        new = walk(24, turn)
        with opened(path) as file:
            file["a"][40:] = new
        found.append(read(path))
        changed = in_memory[-1].copy()
        changed[40:] = new
        stream = h5stz.rewrite(changed, stream, absolute=BOUND)
        in_memory.append(h5stz.decompress(stream))
    for states in (found, in_memory):
        assert exact.same_bits(states[0], values)
        assert exact.error_over_bound(values[:40], states[1][:40], BOUND) <= 1
        assert all(exact.same_bits(state[:40], states[1][:40]) for state in states[2:]), "once"


def stored(dataset):
    """What a reader beside the writer finds of the only chunk after a flush."""
    dataset.flush()
    return h5stz.decompress(dataset.id.read_direct_chunk((0, 0))[1])


@pytest.mark.parametrize("decoded", [False, True], ids=["new chunk", "decoded chunk"])
def test_samples_have_their_final_bits_once_the_chunk_has_left_the_cache(decoded, tmp_path):
    """Until then each flush keeps the bound of what was written."""
    path, expected = tmp_path / "f.h5", np.zeros((SIDE, SIDE), "f4")
    with opened(path, "w") as file:
        file.create_dataset(
            "a", data=walk(SIDE) if decoded else None, shape=(SIDE, SIDE), dtype="f4", chunks=(SIDE, SIDE), **STZ
        )
    if decoded:
        expected = walk(SIDE)
    with opened(path, rdcc_nbytes=1 << 20) as file:
        for turn, rows in enumerate((np.s_[:10], np.s_[40:], np.s_[5:10])):
            file["a"][rows] = expected[rows] = walk(SIDE, turn + 2)[rows]
            assert exact.error_over_bound(expected, stored(file["a"]), BOUND) <= 1
    final = read(path)
    for turn in range(3):
        with opened(path, rdcc_nbytes=1 << 20) as file:
            file["a"][20:30] = walk(10, turn + 9)
            assert exact.same_bits(np.delete(stored(file["a"]), np.s_[20:30], 0), np.delete(final, np.s_[20:30], 0))


def with_raw_edges(path, values):
    """A dataset that can grow, whose chunk becomes an edge chunk without filter when it shrinks."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(values.shape)
    host_tools.store_edge_chunks_unfiltered(properties)
    properties.set_filter(STZ["compression"], 0, STZ["compression_opts"])
    space = h5py.h5s.create_simple(values.shape, (h5py.h5s.UNLIMITED, SIDE))
    with opened(path, "w") as file:
        h5py.Dataset(h5py.h5d.create(file.id, b"a", h5py.h5t.IEEE_F32LE, space, properties))[...] = values


def test_raw_edge_chunks_are_quantized_again_when_another_process_lets_them_grow(tmp_path):
    """At most one bound each time; a process that decoded the chunk itself knows it."""
    path, values = tmp_path / "f.h5", walk(SIDE)
    with_raw_edges(path, values)
    before, kept = read(path), SIDE // 2
    for _ in range(3):
        with opened(path) as file:
            file["a"].resize(kept, axis=0)
            file["a"].resize(SIDE, axis=0)
        assert exact.same_bits(read(path)[:kept], before[:kept])
    for turn in range(1, 4):
        with opened(path) as file:
            file["a"].resize(kept, axis=0)
        with opened(path, "r") as file:
            assert file["a"].id.get_storage_size() == values.nbytes, "raw"
            raw = file["a"][...]
        assert exact.same_bits(raw, before[:kept]), "as it was"
        with opened(path) as file:
            file["a"].resize(SIDE, axis=0)
        before = read(path)
        assert exact.error_over_bound(raw, before[:kept], BOUND) <= 1
        assert exact.error_over_bound(values[:kept], before[:kept], (turn + 1) * BOUND) <= 1


def test_a_chunk_for_which_memory_is_short_is_stored_exactly(tmp_path):
    """With room for what was decoded, its stream and a buffer of the same size; with less it is raw, and as it was."""
    words = [sys.executable, str(PROGRAMS / "rewriting_cases.py"), "short_of_memory"]
    asked_anew = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}  # glibc keeps little of what is freed
    variables = host_tools.environment() | asked_anew
    done = subprocess.run(words, cwd=tmp_path, env=variables, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr
    outcomes = dict(line.split(": ") for line in done.stdout.splitlines() if ": " in line)
    assert (outcomes["1.5"], outcomes["4.0"], outcomes["20.0"]) == ("raw", "exact", "bounded")
    assert list(outcomes.values()).count("raw") == 1

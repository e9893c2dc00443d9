"""Datasets with chunks that were rewritten in part: region reads by every route give what HDF5 gives, and decode little."""

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import h5stz
from support import cases
from support.host_tools import field
from support.patched_streams import Patch, compose, random_patched
from support.region_files import agrees, same
from support.region_program import box, needs_hdf5_for_c, read_direct

OPENED = [{}, {"driver": "core"}, {"mode": "r+", "rdcc_nbytes": 0}]  # ranges of the file, whole chunks, whole chunks anew


def write_chunks(path, shape, chunks, dtype, streams, **options):
    """The dataset "x" with these streams {offset: bytes} as its chunks."""
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", shape, dtype, chunks=chunks, **h5stz.STZ(**options or {"lossless": True}))
        for offset, stream in streams.items():
            dataset.id.write_direct_chunk(offset, stream)
    return path


@st.composite
def chunked(draw):
    """(shape, chunks, dtype, streams) of patched and of missing chunks; chunks reach beyond the dataset."""
    rank = draw(st.integers(1, 4))
    shape = tuple(draw(st.lists(st.integers(1, {1: 900, 2: 60, 3: 16, 4: 7}[rank]), min_size=rank, max_size=rank)))
    chunks = tuple(draw(st.integers(-(-extent // 2), extent)) for extent in shape)
    dtype = draw(st.sampled_from(cases.DTYPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    streams = {}
    for place in np.ndindex(*(-(-extent // part) for extent, part in zip(shape, chunks, strict=True))):
        stream, whole = random_patched(rng, chunks, dtype, draw(st.integers(1, 4)))
        if len(stream) <= whole.nbytes + cases.OVERHEAD and rng.random() < 0.9:
            streams[tuple(int(k) * part for k, part in zip(place, chunks, strict=True))] = stream
    return shape, chunks, dtype, streams


@given(
    data=st.data(), made=chunked(), how=st.sampled_from(OPENED), threads=st.integers(1, 3), kept=st.sampled_from([0, 1 << 27])
)
def test_any_index_gives_the_bits_of_the_whole_array(tmp_path_factory, data, made, how, threads, kept):
    path = write_chunks(tmp_path_factory.getbasetemp() / "patched.h5", *made)
    with h5py.File(path, **how) as file:
        full, view = file["x"][...], h5stz.view(file["x"], threads=threads, cache_bytes=kept)
        for _ in range(4):
            level = data.draw(st.integers(0, 4))
            coarse = full[(slice(None, None, 1 << level),) * full.ndim]
            index = data.draw(npst.basic_indices(coarse.shape, allow_newaxis=False))
            wanted = coarse[index]
            assert same(wanted if wanted.ndim else wanted[()], view.level(level)[index]), (level, index)
        assert view.stats.fallback_chunks == 0


@pytest.fixture(scope="module")
def series(tmp_path_factory):
    """A file with a chunk of frames, all but the first of which were added later, and one that is stored exactly."""
    frames = np.stack([field((130, 128), "f4", seed) for seed in range(16)] * 4)
    base = np.zeros_like(frames)
    base[0] = frames[0]
    patches = [
        Patch((k, 0, 0), (1, 130, 128), h5stz.compress(frames[k : k + 1], absolute=1e-3, block="region")) for k in range(1, 64)
    ]
    stream = compose(h5stz.compress(base, absolute=1e-3, block="region"), patches)
    exact = h5stz.compress(frames[::-1], lossless=True, block="region")
    path = tmp_path_factory.mktemp("series") / "series.h5"
    return write_chunks(path, (120, 130, 128), (64, 130, 128), "f4", {(0, 0, 0): stream, (64, 0, 0): exact}, absolute=1e-3)


@pytest.mark.parametrize("how", OPENED, ids=["file", "core", "write"])
def test_routes(series, how):
    with h5py.File(series, **how) as file:
        stats = agrees(h5stz.view(file["x"]), file["x"][...])
        assert stats.fallback_chunks == 0 < stats.blocks_decoded


def test_a_frame_takes_its_patch_alone(series):
    with h5py.File(series) as file:
        view, whole = h5stz.view(file["x"]), file["x"][7]
        assert same(whole, view[7])
        first = view.stats.bytes_read
        assert first < view.stats.bytes_touched_chunks / 10
        assert same(whole, view[7])
        assert view.stats.bytes_read == first


def test_levels_and_refinement(series):
    with h5py.File(series) as file:
        view, whole = h5stz.view(file["x"]), file["x"][...]
        region = np.s_[3:40, 5:90, 64]
        for level, array in view.refine(region):
            assert same(view.read(region, level), array)
        assert same(whole[region], array)
        for level in range(4):
            assert same(np.ascontiguousarray(whole[(slice(None, None, 2**level),) * 3]), view.level(level)[...])


def test_h5py_within_partial_reads(series):
    with h5py.File(series) as file:
        whole = file["x"][...]
        with h5stz.partial_reads() as stats:
            assert same(whole[10:14, 3, ::2], file["x"][10:14, 3, ::2])
        assert 0 < stats.bytes_read < stats.bytes_touched_chunks


@needs_hdf5_for_c
@pytest.mark.parametrize(
    ("slab", "chunks"),
    [
        (box((7, 4, 5), (1, 10, 8)), 1),
        (box((3, 0, 0), (4, 130, 128)), 1),
        (box((0, 77, 0), (120, 1, 128)), 2),
        (box((1, 2, 3), (30, 20, 20), (3, 4, 5)), 2),
        (box((1, 2, 3), (10, 3, 4), (5, 40, 30), (2, 5, 2)), 1),
    ],
)
def test_from_c(region_reader, series, slab, chunks):
    result = read_direct(region_reader, series, "x", *slab)
    assert result["direct"] == chunks and result["decoded"] > 0


def test_damage_in_a_patch_is_named(series, tmp_path):
    with h5py.File(series) as file:
        _, stream = file["x"].id.read_direct_chunk((0, 0, 0))
    damaged = bytearray(stream)
    damaged[len(stream) // 2] ^= 1
    path = write_chunks(tmp_path / "damaged.h5", (64, 130, 128), (64, 130, 128), "f4", {(0, 0, 0): bytes(damaged)})
    with h5py.File(path) as file, pytest.raises(h5stz.StzError, match="chunk"):
        h5stz.view(file["x"])[:, 3:120]

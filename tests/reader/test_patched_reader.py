"""Partial reads of patched streams: the bits of base and patches put together, and only what a part meets is read."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
import reference_decoder
from h5stz import _core
from support import boxes, cases, exact
from support.patched_streams import Patch, compose, composed, random_patched
from support.stream_bytes import varint

KEPT = 1 << 30  # bytes: everything


@st.composite
def patched(draw):
    """(stream, array) of up to five axes, every dtype and byte order."""
    rank, left, shape = draw(st.integers(0, 5)), 20_000, []
    for _ in range(rank):
        extent = draw(st.integers(1, min(left, draw(st.sampled_from([3, 20, 60, 1500])))))
        shape.append(extent)
        left //= extent
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return random_patched(
        rng, tuple(draw(st.permutations(shape))), draw(st.sampled_from(cases.DTYPES)), draw(st.integers(1, 6))
    )


@given(patched(), st.data())
def test_every_part_has_the_bits_of_the_whole(made, data):
    stream, whole = made
    assert exact.same_bits(whole, h5stz.decompress(stream))
    reader = _core.Reader.of_bytes(stream, data.draw(st.sampled_from([0, 10_000, KEPT])))
    assert boxes.known_without_the_end(reader.info()) == boxes.known_without_the_end(_core.info(stream))
    for _ in range(5):
        request = data.draw(boxes.requests(whole.shape))
        part = boxes.read(reader, whole.dtype, *request, threads=data.draw(st.sampled_from([1, 3])))
        assert part.tobytes() == boxes.cut(whole, *request).tobytes(), request


def frames(count=6, shape=(8, 90, 80)):
    """(stream, array, base, patches) of a volume some of whose frames were written later, one by one."""
    base, _ = boxes.volume(shape)
    patches = []
    for k in range(count):
        frame = 5 + cases.make("smooth", (1, *shape[1:]), "f4", k)
        patches.append(Patch((k, 0, 0), frame.shape, h5stz.compress(frame, absolute=1e-3)))
    return compose(base, patches), composed(base, patches), base, patches


def test_all_sources_give_the_same(tmp_path):
    stream, whole, *_ = frames()
    requests = [((2, 4, 5), (6, 9, 30), (1, 1, 2)), ((0, 0, 0), (2, 23, 20), (4, 4, 4)), ((0, 7, 0), (8, 1, 80), (1, 1, 1))]
    boxes.read_through_all_sources(tmp_path, stream, whole, requests)


def fetched_parts(request, made):
    """Which patches, and whether the base, a read took more of than what opening it took."""
    stream, whole, base, patches = made
    asked = []

    def read(offset, size):
        asked.append((offset, size))
        return stream[offset : offset + size]

    reader = _core.Reader.of_callback(read, len(stream), 0)
    asked.clear()
    assert boxes.read(reader, "f4", *request).tobytes() == boxes.cut(whole, *request).tobytes()
    ends = len(stream) - len(base) - np.cumsum([0, *[len(patch.stream) for patch in reversed(patches)]])
    starts = [*reversed(ends.tolist())][:-1]
    parts = [(start, start + len(patch.stream)) for start, patch in zip(starts, patches, strict=True)]
    parts.append((len(stream) - len(base), len(stream)))
    return [any(low < at + size and at < high for at, size in asked) for low, high in parts]


def test_patches_are_read_only_where_a_box_meets_them():
    made = frames()
    frame = (1, 90, 80)
    assert fetched_parts(((3, 0, 0), frame, (1, 1, 1)), made) == [False, False, False, True, False, False, False]
    assert fetched_parts(((7, 0, 0), frame, (1, 1, 1)), made) == [False] * 6 + [True]
    assert fetched_parts(((1, 5, 5), (2, 9, 9), (3, 1, 1)), made) == [False, True, False, False, True, False, True]
    assert fetched_parts(((6, 0, 0), (2, 4, 4), (1, 9, 9)), made) == [False] * 6 + [True]


def test_what_lies_beneath_is_not_read():
    _, _, base, patches = frames(3)
    again = h5stz.compress(cases.make("smooth", (2, 90, 80), "f4", 77), absolute=1e-3)
    patches = [*patches, Patch((1, 0, 0), (2, 90, 80), again)]
    made = compose(base, patches), composed(base, patches), base, patches
    assert fetched_parts(((1, 3, 3), (2, 50, 9), (1, 1, 3)), made) == [False, False, False, True, False]
    transparent = [*patches[:3], Patch((1, 0, 0), (2, 90, 80), again, 0)]
    made = compose(base, transparent), composed(base, transparent), base, transparent
    assert fetched_parts(((1, 3, 3), (2, 50, 9), (1, 1, 3)), made) == [False, True, True, True, True]


def test_a_level_takes_the_patches_and_a_prefix_of_the_base():
    stream, whole, base, _ = frames(1, (64, 90, 80))
    sizes, alone = h5stz.info(stream).level_bytes, h5stz.info(base).level_bytes
    before = len(stream) - len(base)
    assert sizes == tuple(before + size for size in alone)
    for level, size in enumerate(alone[:4]):
        reader = _core.Reader.of_callback(lambda offset, size: stream[offset : offset + size], len(stream), 0)
        count = [-(-extent // 2**level) for extent in whole.shape]
        part = boxes.read(reader, "f4", [0] * 3, count, [2**level] * 3)
        assert part.tobytes() == np.ascontiguousarray(whole[(slice(None, None, 2**level),) * 3]).tobytes()
        assert reader.stats()["bytes_read"] <= before + max(size, 512)


@pytest.mark.parametrize("origin", [(0, 0, 0), (3, 5, 6), (16, 16, 16), (63, 89, 79)])
def test_levels_over_patches_that_begin_anywhere(origin):
    base, whole = boxes.volume((64, 90, 80))
    extent = tuple(min(20, size - at) for at, size in zip(origin, whole.shape, strict=True))
    patches = [Patch(origin, extent, h5stz.compress(cases.make("walk", extent, "f4"), absolute=0.1))]
    stream, whole = compose(base, patches), composed(base, patches)
    reader = _core.Reader.of_bytes(stream, KEPT)
    for level in (5, 4, 3, 2, 1, 0):
        count = [-(-size // 2**level) for size in whole.shape]
        part = boxes.read(reader, "f4", [0] * 3, count, [2**level] * 3)
        assert part.tobytes() == np.ascontiguousarray(whole[(slice(None, None, 2**level),) * 3]).tobytes()


@pytest.mark.parametrize("kept", [0, 20_000, 300_000, KEPT])
def test_plans_are_what_reads_fetch(kept):
    stream, whole, *_ = frames()
    rng, asked = np.random.default_rng(5), []

    def read(offset, size):
        asked.append((offset, size))
        return stream[offset : offset + size]

    reader = _core.Reader.of_callback(read, len(stream), kept)
    for _ in range(60):
        request = boxes.random_request(rng, whole.shape)
        plan = reader.plan(*request)
        assert plan == sorted(plan) and all(low + size < high for (low, size), (high, _) in pairwise(plan))
        asked.clear()
        assert boxes.read(reader, "f4", *request).tobytes() == boxes.cut(whole, *request).tobytes()
        planned = {byte for offset, size in plan for byte in range(offset, offset + size)}
        fetched = [byte for offset, size in asked for byte in range(offset, offset + size)]
        assert planned == set(fetched)
        assert reader.stats()["cached_bytes"] <= kept
    if kept == KEPT:
        everything = (0, 0, 0), whole.shape, (1, 1, 1)
        boxes.read(reader, "f4", *everything)
        assert reader.plan(*everything) == []
        reader.limit(1000)
        assert reader.stats()["cached_bytes"] <= 1000
        assert boxes.read(reader, "f4", *everything).tobytes() == whole.tobytes()


def test_empty_requests_read_nothing():
    stream, *_ = frames()
    reader = _core.Reader.of_bytes(stream, 0)
    before = reader.stats()
    reader.read((0, 90, 0), (4, 0, 3), (1, 1, 1), bytearray(0), 1)
    assert reader.plan((0, 90, 0), (4, 0, 3), (1, 1, 1)) == []
    assert reader.stats() == before


@pytest.mark.parametrize(
    "start, count, step, error",
    [
        ((8, 0, 0), (1, 1, 1), (1, 1, 1), "ARGUMENT"),
        ((7, 0, 0), (2, 1, 1), (1, 1, 1), "ARGUMENT"),
        ((0, 0, 0), (1, 1, 1), (0, 1, 1), "ARGUMENT"),
        ((0, 0, 0), (2, 1, 1), (2**63, 1, 1), "ARGUMENT"),
        ((0, 0, 0), (1, 1, 2), (1, 1, 1), "CAPACITY"),
    ],
)
def test_requests_that_cannot_be(start, count, step, error):
    reader = _core.Reader.of_bytes(frames()[0], 0)
    with pytest.raises(h5stz.StzError) as raised:
        reader.read(start, count, step, bytearray(4 * count[0]), 1)
    assert raised.value.code == _core.ERROR_CODES[f"STZ_ERROR_{error}"]


def test_steps_of_any_size():
    stream, whole, *_ = frames()
    reader = _core.Reader.of_bytes(stream, 0)
    request = (1, 2, 3), (1, 1, 1), (2**64 - 1, 2**63, 1)
    assert boxes.read(reader, "f4", *request).tobytes() == whole[1:2, 2:3, 3:4].tobytes()


def test_a_source_that_was_wrong_once_is_asked_again():
    stream, whole, *_ = frames()
    request = (0, 0, 0), whole.shape, (1, 1, 1)
    head = len(stream) - sum(patch.size for patch in reference_decoder.read_header(stream).patches) - len(frames()[2])
    for wrong in [*range(head, len(stream), 97), len(stream) - 5]:
        broken = [False]

        def read(offset, size, wrong=wrong, broken=broken):
            part = bytearray(stream[offset : offset + size])
            if broken[0] and offset <= wrong < offset + size:
                part[wrong - offset] ^= 0xFF
            return bytes(part)

        reader = _core.Reader.of_callback(read, len(stream), 0)
        broken[0] = True
        try:
            boxes.read(reader, "f4", *request)
        except h5stz.StzError:
            pass
        broken[0] = False
        assert boxes.read(reader, "f4", *request).tobytes() == whole.tobytes()


def test_many_patches():
    """A header longer than any other, and more readers than are kept."""
    whole = cases.make("random bits", (64, 64), "u2")
    base = h5stz.compress(np.zeros((64, 64), "u2"), lossless=True)
    places = [(y, x) for y in range(64) for x in range(64)]
    patches = [Patch(at, (1, 1), h5stz.compress(whole[at].reshape(1, 1), lossless=True)) for at in places]
    stream = compose(base, patches)
    assert len(stream) - len(base) - sum(len(patch.stream) for patch in patches) > 20_000
    assert h5stz.info(stream).patches == 4096
    reader = _core.Reader.of_callback(lambda offset, size: stream[offset : offset + size], len(stream), 1000)
    assert boxes.read(reader, "u2", (0, 0), (64, 64)).tobytes() == whole.tobytes()
    assert boxes.read(reader, "u2", (7, 9), (9, 9), (5, 3)).tobytes() == whole[7:52:5, 9:36:3].tobytes()
    assert exact.same_bits(h5stz.decompress(stream), whole)
    assert varint(4096) in stream[:30]

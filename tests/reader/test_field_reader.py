"""Partial reads of floating-point fields: the bits of the whole, from the directory and the blocks that a part needs alone.

Blocks of a damaged or truncated stream that are whole can be read.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
from h5stz import _core
from reference_decoder import read_header
from reference_decoder.fields import read_directory
from support import boxes, cases, exact, field_streams
from support.memory import grows_less_than
from support.patched_streams import Patch, compose
from support.stream_bytes import varint

KEPT = 1 << 30  # bytes: everything
LOG_BLOCK = 8


def noise(shape, dtype):
    """Numbers with zeros among them, so that blocks differ in size."""
    rng = np.random.default_rng(len(shape))
    numbers = rng.standard_normal(int(np.prod(shape)) * (2 if np.dtype(dtype).kind == "c" else 1))
    numbers[: len(numbers) // 3][rng.random(len(numbers) // 3) < 0.7] = 0
    return cases.from_numbers(numbers, shape, dtype)


MADE = {
    (shape, dtype): (array := noise(shape, dtype), field_streams.stream_of(array, LOG_BLOCK, log_lanes=3))
    for shape, dtype in (((5000,), "<f4"), ((40, 50), ">f8"), ((11, 12, 13), "<c8"), ((3, 20, 5, 9), ">f2"))
}
WHOLE, STREAM = MADE[(5000,), "<f4"]


def blocks_of(stream):
    """(offset, size) of each block of a stream."""
    header = read_header(stream)
    fields = header.fields
    count = -(-int(np.prod(header.shape)) * header.parts >> fields.log_block)
    sizes = read_directory(stream[header.size : header.size + fields.directory], count, fields.blocks)
    ends = list(itertools.accumulate(sizes, initial=header.size + fields.directory))
    return list(zip(ends, sizes, strict=False))


@given(st.sampled_from(sorted(MADE)), st.data())
def test_every_part_has_the_bits_of_the_whole(made, data):
    whole, stream = MADE[made]
    reader = _core.Reader.of_bytes(stream, data.draw(st.sampled_from([0, 3000, KEPT])))
    for _ in range(4):
        request = data.draw(boxes.requests(whole.shape))
        part = boxes.read(reader, whole.dtype, *request, threads=data.draw(st.sampled_from([1, 3])))
        assert part.tobytes() == boxes.cut(whole, *request).tobytes(), request


@pytest.mark.parametrize("made", MADE, ids=str)
def test_every_source_gives_the_same(tmp_path, made):
    whole, stream = MADE[made]
    rng = np.random.default_rng(1)
    boxes.read_through_all_sources(tmp_path, stream, whole, [boxes.random_request(rng, whole.shape) for _ in range(8)])


def test_parts_of_what_the_encoder_writes():
    array = np.random.default_rng(2).standard_normal((300, 1000)).astype("f4")  # three blocks
    stream = h5stz.compress(array, lossless=True)
    rng = np.random.default_rng(3)
    reader = _core.Reader.of_bytes(stream, 600_000)
    for threads in (1, 2, 3) * 5:
        request = boxes.random_request(rng, array.shape)
        assert boxes.read(reader, "f4", *request, threads=threads).tobytes() == boxes.cut(array, *request).tobytes()


@pytest.mark.parametrize(
    "request_", [((700,), (3,), (1,)), ((700,), (500,), (1,)), ((100,), (5,), (1000,)), ((4999,), (1,), (1,))], ids=str
)
def test_only_the_directory_and_the_needed_blocks_are_fetched(request_):
    asked = []

    def fetch(offset, size):
        asked.append((offset, size))
        return STREAM[offset : offset + size]

    reader = _core.Reader.of_callback(fetch, len(STREAM), KEPT)
    plan = reader.plan(*request_)
    indices = np.arange(5000)[request_[0][0] :: request_[2][0]][: request_[1][0]]
    wanted = {byte for b in set(indices >> LOG_BLOCK) for byte in range(blocks_of(STREAM)[b][0], sum(blocks_of(STREAM)[b]))}
    header = read_header(STREAM)
    first = {byte for offset, size in asked for byte in range(offset, offset + size)}
    assert first == set(range(max(512, header.size + header.fields.directory)))
    asked.clear()
    assert boxes.read(reader, "f4", *request_).tobytes() == boxes.cut(WHOLE, *request_).tobytes()
    fetched = {byte for offset, size in asked for byte in range(offset, offset + size)}
    assert fetched == {byte for offset, size in plan for byte in range(offset, offset + size)} == wanted - first
    assert reader.plan(*request_) == []
    assert reader.stats()["blocks_decoded"] == len(set(indices >> LOG_BLOCK))
    assert reader.stats()["blocks_present"] == len(blocks_of(STREAM))


def test_what_is_kept_is_not_decoded_again():
    reader = _core.Reader.of_bytes(STREAM, KEPT)
    assert reader.stats()["cached_bytes"] == 0
    boxes.read(reader, "f4", (0,), (5000,))
    first = reader.stats()
    assert first["blocks_decoded"] == first["blocks_present"] and first["cached_bytes"] == WHOLE.nbytes
    boxes.read(reader, "f4", (77,), (3000,))
    assert reader.stats() == first
    reader.limit(3000)
    assert 0 < reader.stats()["cached_bytes"] <= 3000
    assert boxes.read(reader, "f4", (77,), (3000,)).tobytes() == WHOLE[77:3077].tobytes()
    assert reader.stats()["cached_bytes"] <= 3000
    reader.limit(0)
    assert reader.stats()["cached_bytes"] == 0


def test_few_samples_of_many_blocks_take_little_memory():
    """Each of 60 blocks of a few bytes stands for 8 MB of zeros."""
    block = field_streams.block_writers(np.zeros(64), claims={"constants": 2**20})[0].bytes()
    array = np.broadcast_to(np.float64(0), (60 << 20,))
    stream = field_streams.stream_of_blocks(array, [block] * 60, log_block=20)
    reader = _core.Reader.of_bytes(stream, 0)
    with grows_less_than(60 << 20):
        assert not boxes.read(reader, "f8", (5,), (60,), (2**20,)).any()


def test_a_prefix_has_the_blocks_that_are_there():
    places = blocks_of(STREAM)
    for kept in (0, 1, 7, len(places) - 1):
        prefix = STREAM[: places[kept][0] + places[kept][1] - 1]
        reader = _core.Reader.of_bytes(prefix, KEPT)
        there = kept << LOG_BLOCK
        if there:
            assert boxes.read(reader, "f4", (0,), (there,)).tobytes() == WHOLE[:there].tobytes()
        with pytest.raises(h5stz.StzError, match="too early"):
            boxes.read(reader, "f4", (there,), (1,))
        assert h5stz.info(prefix).form == "floating-point fields"
        with pytest.warns(h5stz.DamageWarning):
            array = h5stz.decompress(prefix, on_error="nan")
        assert exact.same_bits(array[:there], WHOLE[:there]) and np.isnan(array[there:]).all()


@pytest.mark.parametrize("made", MADE, ids=str)
def test_damage_in_a_block_leaves_the_others_alone(made):
    whole, stream = MADE[made]
    rng = np.random.default_rng(4)
    per_block = (1 << LOG_BLOCK) // (2 if whole.dtype.kind == "c" else 1)
    for number, (offset, size) in enumerate(blocks_of(stream)):
        broken = bytearray(stream)
        broken[offset + int(rng.integers(size))] ^= 1 << int(rng.integers(8))
        with pytest.raises(h5stz.StzError, match="checksum"):
            h5stz.decompress(bytes(broken))
        with pytest.warns(h5stz.DamageWarning) as told:
            array = h5stz.decompress(bytes(broken), on_error="nan").reshape(-1)
        lost = np.zeros(whole.size, bool)
        lost[number * per_block : (number + 1) * per_block] = True
        assert np.isnan(array[lost]).all() and array[~lost].tobytes() == whole.reshape(-1)[~lost].tobytes()
        (damage,) = told[0].message.damage
        assert damage.level == 0 and damage.block == number
        assert damage.lost == lost.sum() * (2 if whole.dtype.kind == "c" else 1)


@pytest.mark.parametrize("place", ["header", "directory"])
def test_without_header_or_directory_all_is_lost(place):
    header = read_header(STREAM)
    broken = bytearray(STREAM)
    broken[header.size + (-2 if place == "header" else 3)] ^= 1
    for read in (h5stz.decompress, lambda data: boxes.read(_core.Reader.of_bytes(data, 0), "f4", (0,), (5,))):
        with pytest.raises(h5stz.StzError, match="checksum"):
            read(bytes(broken))


def test_a_directory_that_is_said_to_be_long_takes_no_memory():
    array = np.broadcast_to(np.float32(0), (2**55,))
    for claimed in ((2**50, 2**54), (2**36, 2**40), (2**63, 2**62)):
        stream = field_streams.stream_of_blocks(array, [bytes(20)], log_block=20, claimed=claimed)
        with grows_less_than(40 << 20), pytest.raises(h5stz.StzError):
            boxes.read(_core.Reader.of_bytes(stream, 0), "f4", (1,), (300,))
    many = field_streams.stream_of_blocks(array, [bytes(20)], log_block=20, sizes=[2**53])
    assert varint(2**53) in many
    with grows_less_than(40 << 20), pytest.raises(h5stz.StzError):
        boxes.read(_core.Reader.of_bytes(many, 0), "f4", (1,), (300,))


def test_patches_over_fields():
    whole, base = MADE[(40, 50), ">f8"]
    patch = noise((7, 9), ">f8")
    stream = compose(base, [Patch((5, 6), (7, 9), field_streams.stream_of(patch, LOG_BLOCK))])
    expected = whole.copy()
    expected[5:12, 6:15] = patch
    assert exact.same_bits(h5stz.decompress(stream), expected)
    assert h5stz.info(stream).form == "patched: floating-point fields"
    rng = np.random.default_rng(5)
    reader = _core.Reader.of_bytes(stream, 3000)
    for _ in range(20):
        request = boxes.random_request(rng, expected.shape)
        assert boxes.read(reader, ">f8", *request).tobytes() == boxes.cut(expected, *request).tobytes()

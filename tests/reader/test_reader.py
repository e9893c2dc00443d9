"""Partial reads: any box, step and level of a stream gives the bits of the same cut out of the whole, from as few bytes."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
from h5stz import _core
from support import boxes, cases
from support.memory import grows_less_than
from support.paths import GOLDEN
from support.small_streams import STREAMS
from support.stream_bytes import varint, with_check, with_crc

CODES = _core.ERROR_CODES
KEPT = 1 << 30  # bytes: everything


def shapes(draw):
    """Shapes of up to five axes, of up to 60,000 elements, thin and long ones among them."""
    rank, left, shape = draw(st.integers(1, 5)), 60_000, []
    for _ in range(rank):
        extent = draw(st.integers(1, min(left, draw(st.sampled_from([3, 20, 90, 2000])))))
        shape.append(extent)
        left //= extent
    return tuple(draw(st.permutations(shape)))


@st.composite
def arrays(draw):
    """(array, options): every dtype and mode, masked samples, padding."""
    shape, dtype = shapes(draw), draw(st.sampled_from(cases.ONCE))
    array = cases.make(
        draw(st.sampled_from(["smooth", "rough", "walk", "few values", "layers"])), shape, dtype, draw(st.integers(0, 99))
    )
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if dtype.kind == "f" and draw(st.booleans()):
        array[rng.random(shape) < draw(st.sampled_from([0.01, 0.3, 0.95]))] = np.nan
        array[rng.random(shape) < 0.01] = -np.inf
        payload = rng.random(shape) < 0.02
        bits = array.view(f"{dtype.str[0]}u{dtype.itemsize}")
        bits[payload] = bits.dtype.type((0x7E << 8 * (dtype.itemsize - 1)) | (0xFF << 8 * (dtype.itemsize - 2))) + 5
    if draw(st.integers(0, 4)) == 0:  # an edge chunk: the upper part is of one value
        valid = tuple(slice(0, draw(st.integers(1, extent))) for extent in shape)
        padded = np.full_like(array, array.flat[0])
        padded[valid] = array[valid]
        array = padded
    modes = [{"lossless": True}, {"absolute": 0.5}, {"absolute": 20.0}]
    modes += [{"pointwise_relative": 0.01}] if dtype.kind == "f" else []
    options = dict(draw(st.sampled_from(modes)))
    return array, options | {"block": draw(st.sampled_from(["default", "region"])), "fill_value": False, "integers": "lossy"}


@given(arrays(), st.data())
def test_every_part_has_the_bits_of_the_whole(made, data):
    array, options = made
    stream = h5stz.compress(array, **options)
    whole = h5stz.decompress(stream)
    reader = _core.Reader.of_bytes(stream, data.draw(st.sampled_from([0, 100_000, KEPT])))
    for _ in range(4):
        request = data.draw(boxes.requests(array.shape))
        part = boxes.read(reader, whole.dtype, *request, threads=data.draw(st.sampled_from([1, 3])))
        assert part.tobytes() == boxes.cut(whole, *request).tobytes(), request


@pytest.mark.parametrize(
    ("block", "options"),
    [
        ("default", {"absolute": 1e-3}),
        ("region", {"absolute": 1e-6}),
        ("default", {"lossless": True}),
        ("region", {"lossless": True}),
    ],
    ids=str,
)
@pytest.mark.parametrize("masked", ["nothing", "a hole", "here and there"])
def test_parts_of_several_blocks(block, masked, options):
    stream, whole = boxes.volume((140, 66, 130), block, **options)
    rng = np.random.default_rng(1)
    if masked != "nothing":
        whole[(slice(10, 70), slice(20, None), slice(50, 90)) if masked == "a hole" else rng.random(whole.shape) < 0.4] = np.nan
        stream = h5stz.compress(whole, block=block, **options)
        whole = h5stz.decompress(stream)
    for kept in (0, 3_000_000, KEPT):
        reader = _core.Reader.of_bytes(stream, kept)
        for turn in range(16):
            request = boxes.random_request(rng, whole.shape)
            if turn % 2:  # a small box
                start = tuple(int(rng.integers(0, extent - 9)) for extent in whole.shape)
                request = start, (9, 9, 9), (1, 1, 1)
            assert boxes.read(reader, "f4", *request).tobytes() == boxes.cut(whole, *request).tobytes(), request
            assert reader.stats()["cached_bytes"] <= kept


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/*.stz")), ids=lambda path: path.stem)
def test_parts_of_golden_streams(path):
    stream = path.read_bytes()
    whole = h5stz.decompress(stream)
    rng, reader = np.random.default_rng(2), _core.Reader.of_bytes(stream, 0)
    assert boxes.known_without_the_end(reader.info()) == boxes.known_without_the_end(_core.info(stream))
    for _ in range(10 if whole.size else 0):
        request = boxes.random_request(rng, whole.shape)
        assert boxes.read(reader, whole.dtype, *request).tobytes() == boxes.cut(whole, *request).tobytes(), request


def test_all_sources_give_the_same(tmp_path):
    stream, whole = boxes.volume()
    requests = [((3, 4, 5), (9, 1, 30), (1, 1, 2)), ((0, 0, 0), (20, 18, 23), (4, 4, 4))]
    boxes.read_through_all_sources(tmp_path, stream, whole, requests)


def test_a_plan_is_what_a_read_fetches():
    stream, _ = boxes.volume()
    request = (40, 0, 7), (1, 72, 50), (1, 1, 1)
    asked = []

    def read(offset, size):
        asked.append((offset, size))
        return stream[offset : offset + size]

    reader = _core.Reader.of_callback(read, len(stream), KEPT)
    plan = reader.plan(*request)
    assert 0 < sum(size for _, size in plan) < len(stream)
    seen = {byte for offset, size in asked for byte in range(offset, offset + size)}  # the directories
    asked.clear()
    boxes.read(reader, "f4", *request)
    planned = {byte for offset, size in plan for byte in range(offset, offset + size)}
    fetched = {byte for offset, size in asked for byte in range(offset, offset + size)}
    assert fetched == planned - seen
    assert reader.plan(*request) == []


@pytest.mark.parametrize("block", ["default", "region"])
def test_a_level_takes_its_first_bytes_and_no_others(block):
    stream, whole = boxes.volume((128, 100, 140), block)
    sizes = h5stz.info(stream).level_bytes
    for level, size in enumerate(sizes[:4]):
        reader = _core.Reader.of_bytes(stream, 0)
        count = [-(-extent // 2**level) for extent in whole.shape]
        part = boxes.read(reader, "f4", [0] * 3, count, [2**level] * 3)
        assert part.tobytes() == np.ascontiguousarray(whole[(slice(None, None, 2**level),) * 3]).tobytes()
        assert reader.stats()["bytes_read"] == size


def test_small_boxes_take_little():
    def stats(stream, whole, start, count):
        reader = _core.Reader.of_bytes(stream, 0)
        assert boxes.read(reader, "f4", start, count).tobytes() == boxes.cut(whole, start, count, (1, 1, 1)).tobytes()
        return reader.stats()

    small = boxes.volume((192, 192, 192), "region")
    box = stats(*small, (90, 40, 100), (16, 16, 16))
    everything = stats(*small, (0, 0, 0), (192, 192, 192))
    assert everything["blocks_decoded"] == everything["blocks_present"] == box["blocks_present"]
    assert everything["bytes_read"] == h5stz.info(small[0]).level_bytes[0]
    assert box["blocks_decoded"] < 0.2 * box["blocks_present"]
    assert box["bytes_read"] < 0.25 * len(small[0])
    # classes of odd planes are streams of their own
    large = boxes.volume((192, 192, 192), "default")
    even, odd = stats(*large, (90, 0, 0), (1, 192, 192)), stats(*large, (91, 0, 0), (1, 192, 192))
    assert even["bytes_read"] < 0.9 * odd["bytes_read"] < 0.6 * len(large[0])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kept", [KEPT, 2_000_000])
def test_moving_slices_decode_each_block_about_once(axis, kept):
    stream, whole = boxes.volume((96, 90, 100), "region")
    reader = _core.Reader.of_bytes(stream, kept)
    for index in [*range(whole.shape[axis]), 5]:
        start, count = [0] * 3, list(whole.shape)
        start[axis], count[axis] = index, 1
        part = boxes.read(reader, "f4", start, count)
        assert part.tobytes() == np.take(whole, [index], axis).tobytes()
        before = reader.stats()["cached_bytes"]
        reader.limit(kept)
        assert before == reader.stats()["cached_bytes"] <= kept
    stats = reader.stats()
    if kept == KEPT:
        assert stats["blocks_decoded"] < 1.5 * stats["blocks_present"]


def test_what_is_kept_is_not_read_again():
    stream, whole = boxes.volume()
    reader = _core.Reader.of_bytes(stream, KEPT)
    assert reader.stats()["cached_bytes"] == 0
    for level in (3, 2, 1, 0):  # refining reads each byte once
        boxes.read(reader, "f4", [0] * 3, [-(-extent // 2**level) for extent in whole.shape], [2**level] * 3)
    first = reader.stats()
    assert first["bytes_read"] == h5stz.info(stream).level_bytes[0]
    assert first["blocks_decoded"] == first["blocks_present"]
    assert first["cached_bytes"] >= whole.nbytes
    boxes.read(reader, "f4", (5, 6, 7), (20, 1, 30))
    assert reader.stats() == first
    reader.limit(50_000)
    assert reader.stats()["cached_bytes"] <= 50_000
    part = boxes.read(reader, "f4", (5, 6, 7), (20, 1, 30))
    assert part.tobytes() == whole[5:25, 6:7, 7:37].tobytes()
    assert reader.stats()["bytes_read"] > first["bytes_read"]


@pytest.mark.parametrize(
    "start, count, step, size, error",
    [
        ((0, 0), (1, 1), (1, 1), 4, "STZ_ERROR_ARGUMENT"),
        ((80, 0, 0), (1, 1, 1), (1, 1, 1), 4, "STZ_ERROR_ARGUMENT"),
        ((79, 0, 0), (2, 1, 1), (1, 1, 1), 8, "STZ_ERROR_ARGUMENT"),
        ((0, 0, 0), (2, 1, 1), (80, 1, 1), 8, "STZ_ERROR_ARGUMENT"),
        ((0, 0, 0), (2**63, 1, 1), (2, 1, 1), 8, "STZ_ERROR_ARGUMENT"),
        ((0, 0, 0), (1, 1, 1), (0, 1, 1), 4, "STZ_ERROR_ARGUMENT"),
        ((0, 0, 0), (1, 1, 2), (1, 1, 1), 4, "STZ_ERROR_CAPACITY"),
        ((0, 0, 0), (1, 1, 1), (1, 1, 1), 8, "STZ_ERROR_CAPACITY"),
    ],
)
def test_requests_that_cannot_be(start, count, step, size, error):
    reader = _core.Reader.of_bytes(boxes.volume()[0], 0)
    with pytest.raises(h5stz.StzError) as raised:
        reader.read(start, count, step, bytearray(size), 1)
    assert raised.value.code == CODES[error]


def test_empty_requests_read_nothing():
    stream, _ = boxes.volume()
    reader = _core.Reader.of_bytes(stream, 0)
    before = reader.stats()
    reader.read((0, 72, 0), (4, 0, 3), (1, 1, 1), bytearray(0), 1)
    assert reader.plan((0, 72, 0), (4, 0, 3), (1, 1, 1)) == []
    assert reader.stats() == before


def test_sources_that_fail(tmp_path):
    stream, whole = boxes.volume()
    everything = (0, 0, 0), whole.shape, (1, 1, 1)

    def fails(offset, size):
        if offset + size > 3000:
            raise OSError("the tape broke")
        return stream[offset : offset + size]

    reader = _core.Reader.of_callback(fails, len(stream), 0)
    with pytest.raises(OSError, match="the tape broke"):
        boxes.read(reader, "f4", *everything)
    with pytest.raises(h5stz.StzError, match="bytes where"):
        _core.Reader.of_callback(lambda offset, size: b"", len(stream), 0)
    path = tmp_path / "file"
    path.write_bytes(stream)
    with open(path, "r+b") as file:
        reader = _core.Reader.of_file(file.fileno(), 0, len(stream), 0)
        file.truncate(len(stream) // 2)
        with pytest.raises(h5stz.StzError) as raised:
            boxes.read(reader, "f4", *everything)
        assert raised.value.code == CODES["STZ_ERROR_READ"]
        file.truncate(0)
        with pytest.raises(h5stz.StzError) as raised:
            _core.Reader.of_file(file.fileno(), 0, len(stream), 0)
        assert raised.value.code == CODES["STZ_ERROR_READ"]


def test_a_source_that_was_wrong_once_is_asked_again():
    stream, whole = boxes.volume()
    request = (0, 0, 0), whole.shape, (1, 1, 1)
    for wrong in (700, 2500, len(stream) // 2, h5stz.info(stream).level_bytes[0] - 5):
        broken = [True]

        def read(offset, size, wrong=wrong, broken=broken):
            part = bytearray(stream[offset : offset + size])
            if broken[0] and offset <= wrong < offset + size:
                part[wrong - offset] ^= 0xFF
            return bytes(part)

        reader = _core.Reader.of_callback(read, len(stream), 0)
        with pytest.raises(h5stz.StzError):
            boxes.read(reader, "f4", *request)
        broken[0] = False
        assert boxes.read(reader, "f4", *request).tobytes() == whole.tobytes()


def test_plans_of_any_sequence_of_reads():
    stream, whole = boxes.volume((96, 90, 100), "region")
    rng, asked = np.random.default_rng(5), []

    def read(offset, size):
        asked.append((offset, size))
        return stream[offset : offset + size]

    reader = _core.Reader.of_callback(read, len(stream), 3_000_000)
    for turn in range(60):
        request = boxes.random_request(rng, whole.shape)
        if turn % 3:  # moves
            request = ((turn, 0, 0), (1, 90, 100), (1, 1, 1)) if turn % 2 else ((0, 0, turn), (96, 90, 1), (1, 1, 1))
        plan = reader.plan(*request)
        asked.clear()
        assert boxes.read(reader, "f4", *request).tobytes() == boxes.cut(whole, *request).tobytes()
        assert sum(size for _, size in plan) == sum(size for _, size in asked)
        assert {edge for o, n in plan for edge in (o, o + n)} <= {edge for o, n in asked for edge in (o, o + n)}


def test_what_is_kept_of_the_finest_level_is_enough():
    stream, _ = boxes.volume((192, 192, 192), "region")
    request = (8, 8, 8), (100, 100, 100), (1, 1, 1)
    reader = _core.Reader.of_bytes(stream, KEPT)
    boxes.read(reader, "f4", *request)
    reader = _core.Reader.of_bytes(stream, int(0.9 * reader.stats()["cached_bytes"]))
    boxes.read(reader, "f4", *request)
    once = reader.stats()["blocks_decoded"]
    for _ in range(3):
        boxes.read(reader, "f4", *request)
    assert reader.stats()["blocks_decoded"] < 1.2 * once


def test_a_few_bytes_that_promise_a_large_array_take_no_memory():
    root = with_check(bytes(8))
    # format version 1, blocks, absolute bound, float32, one axis that is never split: all of it is the base section
    header = b"STZ\x02\x06\x02\x01" + varint(2**34) + struct.pack("<d", 1.0) + b"\x00\x08" + bytes([63] * 4) + varint(len(root))
    stream = with_crc(header) + root
    assert h5stz.info(stream).shape == (2**34,)
    with grows_less_than(20 << 20), pytest.raises(h5stz.StzError) as raised:
        boxes.read(_core.Reader.of_bytes(stream, 0), "f4", (0,), (1,))
    assert raised.value.code == CODES["STZ_ERROR_CORRUPT"]


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_damaged_streams_give_an_error_or_the_original(name):
    whole, stream = STREAMS[name]
    rng = np.random.default_rng(4)
    request = boxes.random_request(rng, whole.shape) if whole.size else ((0,) * whole.ndim, whole.shape, (1,) * whole.ndim)
    original, noticed = boxes.cut(whole, *request).tobytes(), 0
    damages = [
        (at, stream[:at] + bytes([stream[at] ^ 1 << bit]) + stream[at + 1 :]) for at in range(len(stream)) for bit in (0, 6)
    ]
    damages = [damages[place][1] for place in rng.permutation(len(damages))[:400]]
    damages += [stream[:size] for size in range(0, len(stream), 1 + len(stream) // 50)] + [stream + b"\0"]
    for damaged in damages:
        try:
            reader = _core.Reader.of_bytes(damaged, 0)
            part = boxes.read(reader, whole.dtype, *request)
        except h5stz.StzError as error:
            assert error.code != CODES["STZ_ERROR_INTERNAL"]
            noticed += 1
            continue
        assert part.tobytes() == original
    assert noticed > 0.1 * len(damages)

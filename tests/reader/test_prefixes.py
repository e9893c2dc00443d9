"""A reader of a prefix of a stream: what the prefix holds has its bits, the rest is an error that says so."""

import numpy as np
import pytest

import h5stz
from h5stz import _core
from reference_decoder import read_header
from support import boxes, cases, exact
from support.memory import grows_less_than
from support.patched_streams import Patch, compose
from support.small_streams import STREAMS
from support.stream_bytes import varint, with_crc

TRUNCATED = _core.ERROR_CODES["STZ_ERROR_TRUNCATED"]
VOLUME = h5stz.compress(cases.make("rough", (70, 66, 68), "f4"), absolute=0.5, fill_value=False)
PATCHES = [Patch((3, 4), (9, 11), h5stz.compress(cases.make("smooth", (9, 11), "f4"), absolute=0.01))]
PATCHED = compose(h5stz.compress(cases.make("rough", (300, 280), "f4"), absolute=0.5, fill_value=False), PATCHES)
LONG = {"volume": VOLUME, "patched": PATCHED, "masked": STREAMS["masked"][1], "lattice": STREAMS["lattice"][1]}


def level_of(data, level, dtype):
    """Level `level` read from some bytes of a stream; None if they do not hold it."""
    reader = _core.Reader.of_bytes(data, 1 << 20)
    shape = reader.info()["shape"]
    count = tuple(-(-extent >> level) for extent in shape)
    try:
        return boxes.read(reader, dtype, (0,) * len(shape), count, (1 << level,) * len(shape))
    except h5stz.StzError as error:
        assert error.code == TRUNCATED
        return None


@pytest.mark.parametrize("name", LONG)
def test_levels_of_a_prefix(name):
    stream = LONG[name]
    info, array = h5stz.info(stream), h5stz.decompress(stream)
    assert info.levels > 2
    for level, size in enumerate(info.level_bytes):
        expected = array[(slice(None, None, 1 << level),) * array.ndim]
        assert exact.same_bits(level_of(stream[:size], level, info.dtype), expected)
        for finer in range(level):
            assert level_of(stream[:size], finer, info.dtype) is None
        assert size == len(stream) or exact.same_bits(level_of(stream[: size + 1], level, info.dtype), expected)
        if level < info.levels - 1:
            assert level_of(stream[: size - 1], level, info.dtype) is None


def test_blocks_of_a_prefix():
    """Of a level that is there in part, what lies in the blocks that are there can be read."""
    stream = h5stz.compress(cases.make("rough", (70, 66, 68), "f4"), absolute=0.5, fill_value=False, block="region")
    array = h5stz.decompress(stream)
    prefix = stream[: sum(h5stz.info(stream).level_bytes[:2]) // 2]
    reader = _core.Reader.of_bytes(prefix, 0)
    assert exact.same_bits(boxes.read(reader, "f4", (0, 0, 0), (5, 6, 7)), array[:5, :6, :7])
    with pytest.raises(h5stz.StzError) as caught:
        boxes.read(reader, "f4", (69, 65, 67), (1, 1, 1))
    assert caught.value.code == TRUNCATED
    assert exact.same_bits(boxes.read(reader, "f4", (0, 0, 0), (5, 6, 7)), array[:5, :6, :7])


@pytest.mark.parametrize("name", STREAMS)
def test_every_prefix_gives_its_bits_or_an_error(name):
    array, stream = STREAMS[name]
    shape = array.shape
    for size in range(0, len(stream), 7):
        try:
            reader = _core.Reader.of_bytes(stream[:size], 0)
            whole = boxes.read(reader, array.dtype, (0,) * len(shape), shape)
        except h5stz.StzError as error:
            assert error.code == TRUNCATED
        else:
            assert exact.same_bits(whole, array)
            assert reader.info()["levels"] > 0


def test_a_prefix_through_a_callback():
    size = h5stz.info(VOLUME).level_bytes[1]
    reader = _core.Reader.of_callback(lambda offset, count: VOLUME[offset : offset + count], size, 0)
    coarse = boxes.read(reader, "f4", (0, 0, 0), (35, 33, 34), (2, 2, 2))
    assert exact.same_bits(coarse, h5stz.decompress(VOLUME)[::2, ::2, ::2])


def test_bytes_behind_a_stream_are_damage():
    with pytest.raises(h5stz.StzError, match="damaged"):
        _core.Reader.of_bytes(VOLUME + b"\0", 0)


def test_sections_that_are_said_to_be_long_take_no_memory():
    """The header of a stream of petabytes, and what there is of its sections."""
    stream = h5stz.compress(np.arange(40000, dtype="f4"), absolute=0.01, fill_value=False)
    header = read_header(stream)
    sizes = header.section_sizes
    front = stream[: header.size - 4 - sum(len(varint(size)) for size in sizes)]
    for place in range(len(sizes)):
        claimed = [2**50 if k == place else size for k, size in enumerate(sizes)]
        changed = with_crc(front + b"".join(map(varint, claimed))) + stream[header.size :]
        with grows_less_than(40 << 20), pytest.raises(h5stz.StzError):
            boxes.read(_core.Reader.of_bytes(changed, 0), "f4", (1,), (30000,))

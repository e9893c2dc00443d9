"""Headers of raw and constant streams have no check of their own: what is promised of them before the array is decoded."""

from dataclasses import replace

import numpy as np
import pytest

import h5stz
from h5stz import _core
from support import boxes
from support.stream_bytes import varint

RAW = h5stz.compress(np.random.default_rng(1).integers(0, 2**62, (5, 7)), absolute=0.5, fill_value=3, integers="lossy")
CONSTANT = h5stz.compress(np.full((40, 7), 2.5, ">f4"), absolute=0.25)
SHAPE = 7  # where the shape begins


def error_of(function, *arguments):
    """The name of the error that a call fails with, None if it succeeds."""
    try:
        function(*arguments)
    except h5stz.StzError as error:
        return next(name for name, code in _core.ERROR_CODES.items() if code == error.code).removeprefix("STZ_ERROR_")
    return None


def opened(stream):
    """A reader of the stream, from memory and by a function of its own."""
    _core.Reader.of_callback(lambda offset, size: stream[offset : offset + size], len(stream), 0)
    return _core.Reader.of_bytes(stream, 0)


def test_the_streams_are_what_they_are_meant_to_be():
    assert (h5stz.info(RAW).form, h5stz.info(CONSTANT).form) == ("raw", "constant")
    assert (RAW[SHAPE], CONSTANT[SHAPE]) == (5, 40)


@pytest.mark.parametrize("look", [h5stz.info, opened])
@pytest.mark.parametrize("stream", [RAW, CONSTANT], ids=["raw", "constant"])
def test_a_size_that_the_header_does_not_call_for(look, stream):
    assert error_of(look, stream) is None
    for size in range(len(stream)):
        assert error_of(look, stream[:size]) == "TRUNCATED"
    for more in (b"\0", stream):
        assert error_of(look, stream + more) == "CORRUPT"


@pytest.mark.parametrize("look", [h5stz.info, opened])
def test_a_raw_stream_is_as_long_as_its_array(look):
    for extent in (2**9, 2**29, 2**40):
        assert error_of(look, RAW[:SHAPE] + varint(extent) + RAW[SHAPE + 1 :]) == "TRUNCATED"
    for extent in (0, 1, 4):
        assert error_of(look, RAW[:SHAPE] + varint(extent) + RAW[SHAPE + 1 :]) == "CORRUPT"
    for dtype in (4, 8, 13):  # of one, four and sixteen bytes
        assert error_of(look, RAW[:5] + bytes([dtype]) + RAW[6:]) in ("TRUNCATED", "CORRUPT")


@pytest.mark.parametrize("look", [h5stz.info, opened])
def test_every_flipped_bit_of_a_constant_stream(look):
    for bit in range(8 * len(CONSTANT)):
        damaged = bytearray(CONSTANT)
        damaged[bit // 8] ^= 1 << bit % 8
        assert error_of(look, bytes(damaged)) is not None


def test_a_constant_stream_of_a_shape_that_was_changed():
    for extent in (1, 39, 2**9, 2**29):
        changed = CONSTANT[:SHAPE] + varint(extent) + CONSTANT[SHAPE + 1 :]
        assert error_of(h5stz.info, changed) == error_of(opened, changed) == "CHECKSUM"


def test_what_stays_open_of_a_raw_header_is_noticed_when_samples_are_read():
    """Mode, bound, fill value and byte order leave the size as it is."""
    for place in range(SHAPE + 2, len(RAW)):
        damaged = RAW[:place] + bytes([RAW[place] ^ 1]) + RAW[place + 1 :]
        reader = opened(damaged)
        assert error_of(h5stz.decompress, damaged) == "CHECKSUM"
        assert error_of(boxes.read, reader, "i8", (0, 0), (1, 1)) == "CHECKSUM"


def test_a_prefix_of_blocks_is_enough():
    stream = h5stz.compress(np.random.default_rng(1).standard_normal((90, 90)), absolute=0.1)
    prefix, whole = h5stz.info(stream[:300]), h5stz.info(stream)
    assert (prefix.content_check, whole.content_check) == (None, True)
    assert replace(prefix, stream_bytes=len(stream), content_check=True) == whole

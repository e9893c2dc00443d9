"""Damaged streams: whatever was changed, decoding raises StzError or gives the exact original, quickly and in bounded memory.

One small stream of every form. What it decodes to is compared with its content check, which covers the trailer too.
Flipped bits (all of them: test_every_damage.py), every truncation, appended bytes, claims of gigantic arrays.
"""

import numpy as np
import pytest

import h5stz
from h5stz import _core
from support import exact
from support.memory import grows_less_than
from support.small_streams import STREAMS
from support.stream_bytes import varint, with_crc

# What decoding a small stream may need at most, whatever the stream says.
MEMORY = 32 << 20


NAMES = list(STREAMS)


def outcome(damaged, original):
    """The error code, or None if the damaged stream decodes to the original; anything else fails the test."""
    try:
        h5stz.info(damaged)
        decoded = h5stz.decompress(damaged, max_bytes=1 << 20, verify=True)
    except h5stz.StzError as error:
        assert error.code < 0 and error.code != _core.ERROR_CODES["STZ_ERROR_INTERNAL"], error
        return error.code
    assert exact.same_bits(original, decoded), "a damaged stream decoded to something else"
    return None


@pytest.fixture(autouse=True)
def memory_is_bounded():
    """Fails a test if the process needs much more memory in it than before it."""
    with grows_less_than(MEMORY):
        yield


def test_the_streams_are_of_every_form():
    forms = {h5stz.info(stream).form for _, stream in STREAMS.values()}
    assert forms >= {"raw", "constant"} | {f"blocks of {what}numbers" for what in ("", "ULP-space ", "fixed-point ")} | {
        "blocks of integers",
        "blocks of ranks in a palette",
        "blocks of numbers with remainders",
    }
    assert all(len(stream) < 6000 for _, stream in STREAMS.values())


@pytest.mark.parametrize("name", NAMES)
def test_flipped_bits(name):
    original, stream = STREAMS[name]
    bits = np.random.default_rng(2).permutation(8 * len(stream))[:2000]
    for bit in bits.tolist():
        damaged = bytearray(stream)
        damaged[bit // 8] ^= 1 << bit % 8
        assert outcome(damaged, original) is not None


@pytest.mark.parametrize("name", NAMES)
def test_every_truncation(name):
    original, stream = STREAMS[name]
    for size in range(len(stream)):
        assert outcome(stream[:size], original) is not None


@pytest.mark.parametrize("name", NAMES)
def test_appended_and_leading_bytes(name):
    original, stream = STREAMS[name]
    for junk in (b"\0", b"\xff", b"\0" * 4, b"\0" * 1000, stream, bytes(range(256))):
        assert outcome(stream + junk, original) is not None
        assert outcome(junk + stream, original) is not None or junk == stream


def header(form, dtype, shape, tail=b""):
    """A lossless header as docs/format.md has it, of any shape."""
    return b"STZ" + bytes([h5stz.FORMAT_VERSION, form, dtype, len(shape)]) + b"".join(map(varint, shape)) + tail


@pytest.mark.parametrize("form", [0, 1, 2], ids=["raw", "constant", "blocks"])
def test_a_shape_too_large_fails_before_anything_is_allocated(form):
    shapes = [(2**55,), (2**31, 2**24), (2**20, 2**20, 2**15), (2**7,) * 7, (2**40,) + (1,) * 6, (3,) * 32, (2**63,) * 9]
    for shape in (*shapes, (2**64 - 1,)):
        for tail in (b"", bytes(20), bytes(400), b"\x01" * 400, b"\xff" * 400):
            for dtype in range(1, 17):
                with pytest.raises(h5stz.StzError):
                    h5stz.decompress(header(form, dtype, shape, tail))


def test_a_constant_stream_of_a_gigantic_array_is_not_allocated():
    small = h5stz.compress(np.full((8,), 2.5), lossless=True)
    shape_at = 7
    assert small[shape_at] == 8
    large = with_crc(small[:shape_at] + varint(2**45) + small[shape_at + 1 : -4])
    assert h5stz.info(large).array_bytes == 2**48
    with pytest.raises(h5stz.StzError, match="max_bytes"):
        h5stz.decompress(large)

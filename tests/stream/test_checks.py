"""Checks of streams and sections: what they have to notice, in both decoders."""

import numpy as np
import pytest

import h5stz
import reference_decoder
from h5stz import _core
from support import cases

CHECKSUM = _core.ERROR_CODES["STZ_ERROR_CHECKSUM"]


def test_published_values():
    assert reference_decoder.crc(b"123456789") == 0xE3069283
    assert reference_decoder.crc16(b"123456789") == 0x906E


@pytest.fixture(scope="module")
def long_stream():
    """A stream that ends with a code stream of more than 8407 bytes and its check."""
    noise = np.random.default_rng(1).standard_normal((64, 64, 32)).astype("f4")
    stream = h5stz.compress(noise, absolute=0.01, fill_value=False, content_check=False)
    header = reference_decoder.read_header(stream)
    assert header.blocks[0] == [1, 64, 64, 32]  # one block, 7 classes of about the same size
    assert header.section_sizes[-1] > 7 * 9000
    return stream


@pytest.mark.parametrize("distance", [1, 67_255, 67_256])
def test_a_wrong_bit_far_from_the_end_of_a_stream(long_stream, distance):
    """The low half of a CRC-32C does not change with the bit that is 67255 bits from the end."""
    bits = np.unpackbits(np.frombuffer(long_stream, "u1"), bitorder="little")
    for end in (len(long_stream) - 4, len(long_stream) - 2):
        damaged = bits.copy()
        damaged[8 * end - distance] ^= 1
        with pytest.raises(h5stz.StzError) as caught:
            h5stz.decompress(np.packbits(damaged, bitorder="little").tobytes())
        assert caught.value.code == CHECKSUM


def sections_of(stream):
    header = reference_decoder.read_header(stream)
    begin = header.size
    for size in header.section_sizes:
        yield begin, begin + size
        begin += size


def test_bursts_in_short_sections():
    """Every burst of up to 16 wrong bits in a section with a check of two bytes."""
    stream = h5stz.compress(cases.make("smooth", (3000,), "f4"), absolute=0.5, fill_value=False, content_check=False)
    short = [(begin, end) for begin, end in sections_of(stream) if end - begin < 258]
    assert len(short) > 1
    rng = np.random.default_rng(1)
    for begin, end in short:
        for _ in range(200):
            first = int(rng.integers(8 * begin, 8 * end - 15))
            damaged = int.from_bytes(stream, "little") ^ (int(rng.integers(1, 2**16)) << first)
            with pytest.raises(h5stz.StzError):
                h5stz.decompress(damaged.to_bytes(len(stream), "little"))

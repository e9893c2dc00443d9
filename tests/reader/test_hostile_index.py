"""A section of few bytes may not promise an index of very many streams: what a reader needs is bounded by what it is given.

An entry of an index takes a 700th of a bit at least, so a kilobyte holds millions. Such an index can be written down at once:
the bytes of zeros() stay at the upper end of the binary decoder's range, which is a zero bit of every model.
"""

import struct

import numpy as np
import pytest

import h5stz
import reference_decoder
from h5stz import _core
from support import boxes
from support.memory import grows_less_than
from support.stream_bytes import varint, with_check, with_crc

LIMIT = 2**22  # entries that every section may have
ENTRIES_PER_BYTE = 256  # of a longer section
BASE_SECTION_SAMPLES = 256  # samples of the finest level of the base section


def zeros(size):
    """Bytes from which the binary decoder reads zeros: its code begins one below its range, 2**32 - 1, and stays there."""
    return b"\xff\xff\xff\xfe" + b"\xff" * (size - 4)


def level_section(size):
    """A section of `size` bytes with parameters and an index of zeros, and without streams."""
    for coded in range(size - 10, size):
        content = varint(coded) + zeros(coded)
        section = with_check(content)
        if len(section) == size:
            return section
    raise AssertionError(f"no section has {size} bytes")


def stream(entries, size):
    """Float32 samples of one axis, all zero: level 0 has `entries` blocks of two samples, one stream each, in `size` bytes."""
    samples = 2 * entries
    levels = next(level for level in range(64) if -(-samples >> level) <= BASE_SECTION_SAMPLES)
    sections = [with_check(zeros(8)), *[level_section(20)] * (levels - 1), level_section(size)]
    # format version 1, blocks, absolute bound, float32, one axis; uniform quantizer; the blocks of levels are given
    header = b"STZ\x02\x06\x02\x01" + varint(samples) + struct.pack("<d", 1.0) + b"\x00\x20"
    header += bytes([1] * 4) + bytes([20] * 4) * (levels - 1)
    header += b"".join(varint(len(section)) for section in sections)
    return with_crc(header) + b"".join(sections)


def second_sample(data):
    """Read alone. The first one would be on every level, and no reader looks at level 0 then."""
    reader = _core.Reader.of_bytes(data, 0)
    return boxes.read(reader, "f4", (1,), (1,))


def test_the_stream_is_what_it_is_meant_to_be():
    """A small one decodes, here and by the reference decoder."""
    small = stream(1000, 60)
    assert h5stz.decompress(small).tobytes() == reference_decoder.decode(small).tobytes() == bytes(8000)


@pytest.mark.parametrize(("entries", "size"), [(LIMIT, 2000), (LIMIT + 1, LIMIT // ENTRIES_PER_BYTE + 1)])
def test_indexes_up_to_the_limit_are_read(entries, size):
    assert second_sample(stream(entries, size)) == np.float32(0)


def refused(data, error):
    """Asserts that reading fails with this error, without memory for the index."""
    with grows_less_than(20 << 20), pytest.raises(h5stz.StzError) as raised:
        second_sample(data)
    assert raised.value.code == _core.ERROR_CODES[f"STZ_ERROR_{error}"]


REFUSED = [
    (LIMIT + 1, 2000),
    (LIMIT + 1, LIMIT // ENTRIES_PER_BYTE),
    (8 * LIMIT, 8000),
    (8 * LIMIT, 2000),  # more than so many bytes can hold at all
]


@pytest.mark.parametrize(("entries", "size"), REFUSED)
def test_longer_indexes_are_refused_before_anything_is_allocated(entries, size):
    refused(stream(entries, size), "CORRUPT")


def test_an_index_is_not_read_before_its_check():
    whole = stream(LIMIT, 2000)
    refused(whole[:-1] + bytes([whole[-1] ^ 1]), "CHECKSUM")
    refused(whole[:-100] + bytes([whole[-100] ^ 1]) + whole[-99:], "CHECKSUM")

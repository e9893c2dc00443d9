"""Streams of few bytes that claim much, with checks that fit: what somebody writes who wants a reader's memory or its time.

Numbers and sizes that are all zero take a 700th of a bit each, and can be written down at once: the bytes of zeros() stay at
the upper end of the binary decoder's range, which is a zero bit of every model.
"""

import struct
from dataclasses import dataclass

import numpy as np

import h5stz
from reference_decoder import read_header
from reference_decoder.conventions import Reader
from support import field_streams
from support.patched_streams import Patch, compose
from support.stream_bytes import varint, with_check, with_crc
from support.stream_writer import F32, INTEGER, LOSSLESS, PALETTE, Fields

LIMIT = 2**22  # entries that the index of every section may have
BASE_SECTION_SAMPLES = 256  # samples of the finest level of the base section
NEVER = (63,) * 4  # axis offsets: all samples in the base section
FRONT = b"STZ" + bytes([h5stz.FORMAT_VERSION])


def zeros(size):
    """Bytes from which the binary decoder reads zeros: its code begins one below its range, 2**32 - 1, and stays there."""
    return b"\xff\xff\xff\xfe" + b"\xff" * (size - 4)


def level_section(size):
    """A section of `size` bytes with parameters and an index of zeros, and without streams."""
    for coded in range(size - 10, size):
        section = with_check(varint(coded) + zeros(coded))
        if len(section) == size:
            return section
    raise AssertionError(f"no section has {size} bytes")


def line(samples, log_blocks, sizes):
    """Float32 samples of one axis, all zero: level l has blocks of 2^log_blocks[l] samples and a section of sizes[l] bytes.

    The last of both are for all further levels.
    """
    levels = next(level for level in range(64) if -(-samples >> level) <= BASE_SECTION_SAMPLES)
    of_level = [(*given[:levels], *[given[-1]] * (levels - len(given))) for given in (log_blocks, sizes)]
    sections = [with_check(zeros(8)), *[level_section(size) for size in reversed(of_level[1])]]
    # blocks, absolute bound, float32, one axis; uniform quantizer; the blocks of levels are given
    header = FRONT + b"\x06\x02\x01" + varint(samples) + struct.pack("<d", 1.0) + b"\x00\x20"
    header += b"".join(bytes([log] * 4) for log in of_level[0])
    header += b"".join(varint(len(section)) for section in sections)
    return with_crc(header) + b"".join(sections)


def long_index(entries, size):
    """Level 0 has `entries` blocks of two samples, one stream each, in `size` bytes."""
    return line(2 * entries, (1, 20), (size, 20))


def long_base_section(samples, size):
    """A base section of `size` bytes that claims so many samples."""
    return Fields((samples,), offsets=NEVER).stream(with_check(zeros(size)))


def long_palette(values, size):
    """A palette of `size` bytes of the coder that claims so many values: 0, 1, 2 ..."""
    palette = with_check(zeros(size))
    fields = Fields((40, 5), "u4", LOSSLESS, representation=(F32, INTEGER, PALETTE), palette=(values, len(palette)))
    base = with_check(zeros(20))
    fields.section_sizes = (len(base),)
    return fields.header() + palette + base


def constant(shape, dtype="<f8"):
    """A constant stream of zeros, of any shape."""
    kinds = {"<f8": 3, "|u1": 5, "<c16": 13}
    header = FRONT + bytes([1, kinds[dtype], len(shape)]) + b"".join(map(varint, shape))
    return with_crc(header + bytes(np.dtype(dtype).itemsize))


def raw(shape, content=b""):
    """A raw stream of bytes of any shape, of which `content` is there."""
    return with_crc(FRONT + bytes([0, 5, len(shape)]) + b"".join(map(varint, shape)) + content)


def many_patches(count):
    """A patched stream of `count` bytes, each with a patch of its own."""
    one = [h5stz.compress(np.array([number % 251], "u1"), lossless=True) for number in range(251)]
    patches = [Patch((number,), (1,), one[number % 251]) for number in range(count)]
    return compose(constant((count,), "|u1"), patches)


def overlapping_patches(elements, count):
    """A patched stream, each of whose patches covers the whole array."""
    whole = constant((elements,), "|u1")
    return compose(whole, [Patch((0,), (elements,), whole)] * count)


def fields_of_zeros(blocks):
    """Floating-point fields of 2^20 zeros for each block of a few bytes."""
    block = field_streams.block_writers(np.zeros(64), claims={"constants": 2**20})[0].bytes()
    array = np.broadcast_to(np.float64(0), (blocks << 20,))
    return field_streams.stream_of_blocks(array, [block] * blocks, log_block=20)


@dataclass(frozen=True)
class Hostile:
    """A stream with `claims`, the number of that of its checks which guards what it claims."""

    stream: bytes
    claims: int


def _levels_of(samples):
    return next(level for level in range(64) if -(-samples >> level) <= BASE_SECTION_SAMPLES)


#: Each decodes where there is room for its array, but that with the palette, which fails behind it. Checks count from that of
#: the header, 0, in the order of the stream.
HOSTILE = {
    "index": Hostile(long_index(LIMIT, 2000), 1 + _levels_of(2 * LIMIT)),
    "index of a terabyte": Hostile(line(2**38, (22,), (200, 60)), 2),  # the coarsest level
    "base section": Hostile(long_base_section(100_000, 64), 1),
    "palette": Hostile(long_palette(2**20, 400), 1),
    "patches": Hostile(many_patches(4096), 0),
    "overlapping patches": Hostile(overlapping_patches(300, 16), 0),
    "layers": Hostile(h5stz.compress(np.sin(np.arange(300_000) / 999).astype("f4"), absolute=1e-6, layers=7), 99),
    "fields": Hostile(fields_of_zeros(3000), 1),
    "constant": Hostile(constant((2**52,)), 0),
    "constant of 32 axes": Hostile(constant((2,) * 32 + (), "<c16"), 0),
    "raw of no elements": Hostile(raw((2**55, 0)), 0),
}


def checks(stream):
    """Where the checks of header, palette and sections are in a stream: a list of (offset, bytes)."""
    if stream[4] & 3 < 2 and not stream[4] & 64:
        return [(len(stream) - 4, 4)]
    header = read_header(stream)
    found = [(header.size - 4, 4)]
    if header.fields:  # those of the directory and of the last block
        return [*found, (header.size + header.fields.directory - 4, 4), (len(stream) - 2, 2)]
    if stream[4] & 3 == 3:
        return found
    at = header.size
    for number, size in enumerate(
        [*([header.palette_size] * (header.palette_size > 0)), *header.section_sizes, *header.refined_sizes.values()]
    ):
        whole_section = number < 1 + (header.palette_size > 0)  # a binary coder and its check
        if whole_section:
            width = 2 if size < 258 else 4
            found.append((at + size - width, width))
        else:
            reader = Reader(stream[at : at + size])
            reader.take(reader.varint())
            covered = size - reader.at <= 4100
            width = (2 if size < 258 else 4) if covered else (2 if reader.at < 256 else 4)
            found.append((at + reader.at, width))
        at += size
    return found


def with_broken(stream, check):
    """The stream with one bit of a check, (offset, bytes), changed."""
    broken = bytearray(stream)
    broken[check[0]] ^= 1
    return bytes(broken)

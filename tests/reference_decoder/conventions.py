"""Conventions of docs/format.md: masks of axes, CRCs, and fields taken from the front of some bytes."""

import struct
from functools import cache

import numpy as np

AXES = range(4)
ZERO = (0, 0, 0, 0)


class Damaged(ValueError):
    """The bytes are no stream that this decoder knows."""


class NewerVersion(Damaged):
    """They may be a stream of a later version."""


class Different(Damaged):
    """The values are not those that the writer saw."""


class Truncated(Damaged):
    """The bytes end too early."""


def require(condition, what):
    """Raises Damaged unless `condition` holds."""
    if not condition:
        raise Damaged(what)


def require_version(condition, what):
    """Raises NewerVersion unless `condition` holds."""
    if not condition:
        raise NewerVersion(what)


def floor_log2(value):
    """Index of the highest set bit of a positive integer."""
    return value.bit_length() - 1


def ceil_log2(value):
    """The least e with 2**e >= value."""
    return (value - 1).bit_length()


def clamp(value, low, high):
    """The nearest number from low to high."""
    return min(high, max(low, value))


def unzigzag(value):
    """0, 1, 2, 3, 4 ... to 0, -1, 1, -2, 2 ..."""
    return (value >> 1) ^ -(value & 1)


def bits_set(mask):
    """How many axes a mask has."""
    return mask.bit_count()


def axes_of(mask):
    """The axes of a mask by rising number."""
    return [axis for axis in AXES if mask >> axis & 1]


def ranges(starts, ends):
    """The slices from starts to ends, one for each axis."""
    return tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))


@cache
def _crc_of_byte(byte, polynomial):
    for _ in range(8):
        byte = byte >> 1 ^ (polynomial if byte & 1 else 0)
    return byte


def _reflected_crc(data, polynomial, ones):
    value = ones
    for byte in data:
        value = value >> 8 ^ _crc_of_byte((value ^ byte) & 255, polynomial)
    return value ^ ones


def crc(data):
    """CRC-32C."""
    return _reflected_crc(data, 0x82F63B78, 0xFFFFFFFF)


def crc16(data):
    """The CRC-16 of HDLC."""
    return _reflected_crc(data, 0x8408, 0xFFFF)


def check(data):
    """The check of these bytes: CRC-16 for fewer than 256 of them, else CRC-32C."""
    return crc16(data).to_bytes(2, "little") if len(data) < 256 else crc(data).to_bytes(4, "little")


class Reader:
    """Takes fields from the front of some bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        """The next `count` bytes."""
        if self.at + count > len(self.data):
            raise Truncated("truncated")
        self.at += count
        return self.data[self.at - count : self.at]

    def integer(self, width):
        """An unsigned integer of `width` bytes."""
        return int.from_bytes(self.take(width), "little")

    def double(self):
        """A binary64."""
        return struct.unpack("<d", self.take(8))[0]

    def varint(self):
        """A LEB128 of at most ten bytes."""
        value = 0
        for place in range(10):
            byte = self.integer(1)
            value |= (byte & 127) << 7 * place
            if byte < 128:
                break
        else:
            raise Damaged("varint")
        require(value < 2**64, "varint")
        return value


def rint(numbers):
    """Predictions as 64-bit integers."""
    numbers = np.asarray(numbers, np.float64)
    whole = np.where(np.abs(numbers) < 2.0**51, np.rint(numbers), np.trunc(numbers))
    above, below = numbers > -9.2e18, numbers < 9.2e18
    integers = np.where(above & below, whole, 0).astype(np.int64)
    integers = np.where(above, integers, np.int64(-(2**63)))
    integers = np.where(below, integers, np.int64(2**63 - 1))
    return np.where(np.isnan(numbers), np.int64(0), integers)

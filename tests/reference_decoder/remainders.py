"""Remainders: elements in steps of a power of two, and their bits below it."""

import math
from dataclasses import dataclass

import numpy as np

from reference_decoder.binary_coder import BinaryDecoder, SignedModel, most_decisions
from reference_decoder.conventions import AXES, Reader, check, require

AS_OTHERS, MARKED, ALL = range(3)  # what small numbers say of exact zeros
LONGEST_GAP, MOST_GAP_BITS, SLAB = 20, 5, 4096


@dataclass
class Remainders:
    """The record."""

    zeros: int
    gap_bits: int
    zero_bits: int
    step: float


def read_remainders(payload):
    """The record's payload."""
    small = payload.integer(1)
    require(small & 3 <= ALL and small >> 2 <= MOST_GAP_BITS, "remainders: small numbers")
    return Remainders(small & 3, small >> 2, payload.integer(1), payload.double())


class Format:
    """The fields of an element."""

    def __init__(self, header):
        self.header, self.remainders = header, header.remainders
        self.width = 8 * header.component.itemsize
        self.mantissa = 23 if self.width == 32 else 52
        self.ones = (1 << self.width - 1 - self.mantissa) - 1
        self.least = math.frexp(self.remainders.step)[1] - 1 + self.ones // 2 if self.remainders.step > 0 else 0

    def exponent(self, bits):
        """The exponent field."""
        return bits >> self.mantissa & self.ones

    def is_special(self, bits):
        """Whether an element has no remainder."""
        return self.exponent(bits) == self.ones or (self.header.has_fill and bits == self.header.fill)

    def multiple(self, bits):
        """The multiple of the step that is nearest to an element."""
        word = np.array(bits, f"u{self.width // 8}")
        magic = 1.5 * 2.0**52
        number = np.float64(word.view(self.header.component)) * (1 / self.remainders.step)
        return int(((number + magic - magic) * self.remainders.step).astype(self.header.component).view(word.dtype))

    def bits_of(self, bits):
        """How many bits of an element that is not small are left."""
        return max(0, self.mantissa - (self.exponent(bits) - self.least) - self.remainders.zero_bits)


def require_remainders(header):
    """Raises Damaged unless the header's other fields allow remainders."""
    mantissa, exponent = math.frexp(header.remainders.step) if math.isfinite(header.remainders.step) else (0, 0)
    plain = (header.mode, header.quantizer, header.transform) == (0, 0, 0) and header.component.kind == "f"
    require(plain and header.component.itemsize >= 4 and mantissa == 0.5 and exponent > -1022, "remainders: header")
    require(not header.layers.added and not header.layers.missing and not header.enhancement, "remainders: with other records")
    form = Format(header)
    require(1 <= form.least < form.ones and header.remainders.zero_bits <= form.mantissa, "remainders: step")


class Bits:
    """Fields of bits, the low bits of each first; behind the end there are zeros."""

    def __init__(self, data):
        self.number, self.at, self.end = int.from_bytes(data, "little"), 0, 8 * len(data)

    def take(self, count):
        """The next field."""
        self.at += count
        return self.number >> self.at - count & (1 << count) - 1

    def to_next_byte(self):
        """Skips what is left of a byte."""
        self.at = -(-self.at // 8) * 8


def slabs(level, block):
    """The boxes of the slabs of an item, as (low, high); `block`: the extent of blocks."""
    axis = next((axis for axis in AXES if block[axis] > 1), 3)
    plane = math.prod(block[axis + 1 :])
    thickness = 1
    while thickness * plane < SLAB and thickness < block[axis]:
        thickness *= 2
    parts = -(-block[axis] // thickness)
    for place in np.ndindex(*[-(-extent // size) for extent, size in zip(level.extent, block, strict=True)]):
        low = [index * size for index, size in zip(place, block, strict=True)]
        high = [min(at + size, extent) for at, size, extent in zip(low, block, level.extent, strict=True)]
        for part in range(parts):
            first = min(low[axis] + part * thickness, high[axis])
            last = min(first + thickness, high[axis])
            yield [*low[:axis], first, *low[axis + 1 :]], [*high[:axis], last, *high[axis + 1 :]]


def read_small(form, bits):
    """An element below the step."""
    zeros = form.remainders.zeros
    if zeros == ALL or (zeros == MARKED and bits.take(1)):
        return 0
    sign = bits.take(1) << form.width - 1
    gap = 0
    while gap < LONGEST_GAP and not bits.take(1):
        gap += 1
    if gap == LONGEST_GAP:
        return sign | bits.take(form.width - 1)
    gap = gap << form.remainders.gap_bits | bits.take(form.remainders.gap_bits)
    require(form.least > gap + 1, "remainders: gap")
    low = bits.take(form.mantissa - form.remainders.zero_bits) << form.remainders.zero_bits
    return sign | form.least - 1 - gap << form.mantissa | low


def read_slab(form, data, words, places):
    """Adds the remainders of a slab to the words at some places, which are in its order."""
    bits, smalls = Bits(data), []
    for place in places:
        word = int(words[place])
        if form.is_special(word):
            continue
        word = form.multiple(word)
        if form.exponent(word) < form.least:
            smalls.append(place)
        else:
            words[place] = word | bits.take(form.bits_of(word)) << form.remainders.zero_bits
    bits.to_next_byte()
    for place in smalls:
        require(bits.at <= bits.end, "remainders: end of a slab")
        words[place] = read_small(form, bits)
    bits.to_next_byte()
    require(bits.at == bits.end, "remainders: size of a slab")


def read_sizes(section, count):
    """The sizes of the slabs of a section, and the rest of it."""
    reader = Reader(section)
    coded = reader.take(reader.varint())
    front = section[: reader.at]
    require(reader.take(len(check(front))) == check(front), "checksum of remainders")
    most = min(most_decisions(len(coded)), max(2**22, 256 * len(section)))
    require(count <= most, "more slabs than a section can hold")
    coder, model, sizes, size = BinaryDecoder(coded), SignedModel(), [], 0
    for _ in range(count):
        size += coder.signed(model)
        require(0 <= size <= len(section), "remainders: size of a slab")
        sizes.append(size)
    return sizes, reader


def add_remainders(header, words, sections):
    """Adds the remainders to the words of all items; `sections`: their bytes, of the base level first."""
    form = Format(header)
    for number, section in zip(reversed(range(header.base_level + 1)), sections, strict=True):
        level = header.levels[number]
        block = level.extent if number == header.base_level else header.blocks[number]
        boxes = list(slabs(level, block))
        sizes, reader = read_sizes(section, len(boxes) * header.batch)
        step = [math.prod(2 if finer.split[axis] else 1 for finer in header.levels[:number]) for axis in AXES]
        for place, size in enumerate(sizes):
            data = reader.take(size)
            require(not size or reader.take(len(check(data))) == check(data), "checksum of a slab")
            item, (low, high) = place // len(boxes), boxes[place % len(boxes)]
            own = [
                index
                for index in np.ndindex(*[last - first for first, last in zip(low, high, strict=True)])
                if number == header.base_level or any(level.split[axis] and (low[axis] + index[axis]) % 2 for axis in AXES)
            ]
            places = [(item, *[(low[axis] + index[axis]) * step[axis] for axis in AXES]) for index in own]
            read_slab(form, data, words, places)
        require(reader.at == len(section), "remainders: bytes are left over")
    return words

"""Palette: the table of distinct values of which the samples are the ranks."""

import numpy as np

from reference_decoder.binary_coder import BinaryDecoder, BitModel, NumberModel, SignedModel, most_decisions
from reference_decoder.conventions import check, floor_log2, require

MOST_VALUES, LARGEST_DISTANCE = 2**20, 2**63 - 1


class Places:
    """Components in the order of the numbers, as unsigned integers."""

    def __init__(self, component, floats):
        self.kind, self.width = "f" if floats else component.kind, 8 * component.itemsize
        self.sign, self.all = 1 << self.width - 1, (1 << self.width) - 1
        self.lowest = self.of(self.sign | floats.first_special - 1) if floats else 0
        self.highest = self.of(floats.first_special - 1) if floats else self.all

    def of(self, bits):
        """The place of a component."""
        if self.kind == "f" and bits & self.sign:
            return bits ^ self.all
        return bits if self.kind == "u" else bits ^ self.sign

    def bits(self, place):
        """The component at a place."""
        if self.kind == "f" and not place & self.sign:
            return place ^ self.all
        return place if self.kind == "u" else place ^ self.sign

    def extended(self, place, zero_bits):
        """A place with its lowest bits again."""
        place <<= zero_bits
        return place | (1 << zero_bits) - 1 if self.kind == "f" and not place & self.sign else place


def read_palette(header, section):
    """The values by rank, as words."""
    width = 2 if len(section) < 258 else 4
    require(len(section) >= width and check(section[:-width]) == section[-width:], "checksum of the palette")
    coded = section[:-width]
    require(header.palette_count <= most_decisions(len(coded)), "more values than the palette can hold")
    places, coder = Places(header.component, header.floats), BinaryDecoder(coded)
    zero_bits = coder.number(NumberModel())
    require(zero_bits < places.width, "palette: zero bits")
    changes = coder.bit(BitModel())
    place = coder.raw(places.width - zero_bits)
    highest = places.highest >> zero_bits
    require(places.lowest <= places.extended(place, zero_bits) and place <= highest, "palette: first value")
    models = [SignedModel() for _ in range(64)]
    values, s0, s1, distance = [place], 0, 0, 1
    for _ in range(header.palette_count - 1):
        model = models[floor_log2(s0 + s1 + 1)]
        number = coder.signed(model) if changes else coder.number(model.magnitude)
        distance = number + (distance if changes else 1)
        require(1 <= distance <= LARGEST_DISTANCE and distance <= highest - values[-1], "palette: distance")
        s0, s1 = abs(number), s0
        values.append(values[-1] + distance)
    words = [places.bits(places.extended(place, zero_bits)) for place in values]
    return np.array(words, f"u{header.component.itemsize}")

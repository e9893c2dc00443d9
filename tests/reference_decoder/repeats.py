"""Repeats: boxes of a patched stream that are stored as differences from other boxes."""

import itertools
from dataclasses import dataclass

import numpy as np

from reference_decoder.conventions import require

MOST_REPEATS = 8


@dataclass(frozen=True)
class Repeat:
    """The source of a patch: its lowest corner, whether it is mirrored along each axis, and whether its numbers are negated."""

    source: list
    mirrored: list
    negated: bool


def read_repeats(payload, shape):
    """The repeats of a record."""
    require(len(payload.data) > 0 and len(shape) > 0, "repeats: none")
    repeats = []
    while payload.at < len(payload.data):
        source = [payload.varint() for _ in shape]
        how = payload.varint()
        require(how >> 1 < 1 << len(shape), "repeats: axes")
        repeats.append(Repeat(source, [bool(how >> 1 + axis & 1) for axis in range(len(shape))], bool(how & 1)))
        require(len(repeats) <= MOST_REPEATS, "repeats: number")
    return repeats


def are_apart(one, two):
    """Whether two boxes, each given by origin and extent, have no element in common."""
    return any(a + n <= b or b + m <= a for a, n, b, m in zip(*one, *two, strict=True))


def require_repeats(header):
    """Raises Damaged unless the header's other fields and its patches allow repeats."""
    exact = header.mode == 0 and not header.bound_used and header.accumulated_bound is None and not header.exact_size
    require(exact and header.floats and header.parts == 1, "repeats: header")
    require(len(header.repeats) == len(header.patches), "repeats: number")
    for repeat, patch in zip(header.repeats, header.patches, strict=True):
        ends = [at + size for at, size in zip(repeat.source, patch.extent, strict=True)]
        require(all(end <= size for end, size in zip(ends, header.shape, strict=True)), "repeats: box")
        require(patch.pattern is None, "repeats: transparent")
        require(are_apart((patch.origin, patch.extent), (repeat.source, patch.extent)), "repeats: a box of itself")
    boxes = [(patch.origin, patch.extent) for patch in header.patches]
    require(all(are_apart(*pair) for pair in itertools.combinations(boxes, 2)), "repeats: boxes over each other")


def place(words):
    """The places of numbers in their order, from their bits; also the bits from the places."""
    largest = np.array(~words.dtype.type(0) >> 1, words.dtype)
    return np.where(words > largest, words ^ largest, words)


def elements_of(repeat, extent, words, differences):
    """The words of a box, from those of the array and from its differences. All are unsigned, in the byte order of the host."""
    box = tuple(slice(at, at + size) for at, size in zip(repeat.source, extent, strict=True))
    others = words[box][tuple(slice(None, None, -1 if mirrored else 1) for mirrored in repeat.mirrored)]
    if repeat.negated:
        others = others ^ (~(~words.dtype.type(0) >> 1))
    return place(place(others) + differences)

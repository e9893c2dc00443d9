"""Streams with any axis map that the format allows, written by the encoder's own parts (tests/native/mapped_stream.cpp)."""

import subprocess
from functools import cache

import numpy as np
from hypothesis import strategies as st

from support.native import native_program

BATCH, MERGED = 4, 5
DTYPES = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16"]
LOSSLESS, ABSOLUTE, POINTWISE = range(3)


@cache
def _program():
    return native_program("mapped_stream")


def mapped(array, axis_map, mode=LOSSLESS, bound=0.0):
    """The stream of an array with a map; None if it is too much noise for blocks."""
    dtype = array.dtype
    layout = [1 + DTYPES.index(dtype.str[1:]), int(dtype.str[0] == ">"), mode, repr(float(bound))]
    arguments = [*layout, ",".join(map(str, array.shape)), "".join(map(str, axis_map))]
    command = [_program(), *map(str, arguments)]
    result = subprocess.run(command, input=np.ascontiguousarray(array).tobytes(), capture_output=True)
    assert result.returncode in (0, 3), (array.shape, axis_map, result.stderr)
    return result.stdout or None


def valid_extent(array):
    """The extent without trailing planes of one value."""
    bits = array.view(f"u{array.dtype.itemsize // (2 if array.dtype.kind == 'c' else 1)}").reshape(*array.shape, -1)
    padding = (bits == bits.flat[-1]).all(axis=-1)
    for axis in range(array.ndim):
        while padding.shape[axis] > 1 and np.take(padding, -1, axis).all():
            padding = np.delete(padding, -1, axis)
    return padding.shape


@st.composite
def maps(draw, array):
    """A map for an array."""
    valid = valid_extent(array)
    groups, start = [], 0
    while start < len(valid):  # axes that are merged
        end = draw(st.integers(start + 1, min(len(valid), start + 3)))
        groups.append(range(start, end))
        start = end
    long = [group for group in groups if any(valid[axis] > 1 for axis in group)]
    count = draw(st.integers(min(1, len(long)), min(4, len(long))))
    chosen = draw(st.permutations(long))[:count]
    roles = {group: 4 - count + place for place, group in enumerate(chosen)}
    axis_map = []
    for group in groups:
        axis_map += [MERGED] * (len(group) - 1) + [roles.get(group, BATCH)]
    return axis_map

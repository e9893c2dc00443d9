"""Grids of slices: integers that mean other numbers in each slice along an axis."""

from dataclasses import dataclass

import numpy as np

from reference_decoder.conventions import require, rint

MOST_SLICES, LARGEST = 1024, 2.0**500


@dataclass(frozen=True)
class SliceGrids:
    """The payload of record 17; `grids`: (origin, delta, first) of each slice."""

    axis: int
    grids: list

    def apply(self, header, words):
        """Changes the words of the array, in the byte order of the host, into those of the numbers."""
        array = words.view(header.component).reshape(header.shape)
        whole = np.isfinite(array) & (array == rint(np.where(np.isfinite(array), array, 0)))
        if header.has_fill:
            whole &= words.reshape(header.shape) != header.fill
        shape = [-1 if axis == self.axis else 1 for axis in range(len(header.shape))]
        origin, delta, first = (np.array(column, np.float64).reshape(shape) for column in zip(*self.grids, strict=True))
        limits = np.finfo(header.component)
        with np.errstate(all="ignore"):
            numbers = origin + (array.astype(np.float64) + first) * delta
            numbers = np.clip(numbers, float(limits.min), float(limits.max)).astype(header.component)
        array[whole] = numbers[whole]
        return words


def read_slices(payload, shape):
    """The grids of a record."""
    axis = payload.integer(1)
    require(axis < len(shape) and 1 <= shape[axis] <= MOST_SLICES, "slices: axis")
    grids = []
    for _ in range(shape[axis]):
        origin, delta, first = payload.double(), payload.double(), payload.varint()
        require(abs(origin) <= LARGEST and abs(delta) <= LARGEST, "slices: grid")
        grids.append((origin, delta, float(-(first >> 1) - 1 if first & 1 else first >> 1)))
    return SliceGrids(axis, grids)


def require_slices(header, fixed_point):
    """Raises Damaged unless the header's other fields allow grids of slices."""
    plain = header.mode == 0 and fixed_point and header.step == 1 and header.parts == 1 and header.valid == list(header.shape)
    alone = not (header.decimals or header.values or header.enhancement)
    require(plain and alone and not header.layers.added and not any(header.layers.missing), "slices: header")

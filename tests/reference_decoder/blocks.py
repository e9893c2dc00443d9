"""Blocks: the parity classes of a box of a level with ghost planes and the halo around them."""

import numpy as np

from reference_decoder.conventions import AXES, ZERO, ranges, rint
from reference_decoder.parameters import Parameters
from reference_decoder.prediction import predict

BELOW, ABOVE = 4, 5


class Block:
    """A box of a level. The arrays of its classes have space for the halo around index 0 to extent - 1."""

    def __init__(self, level, low, extent):
        self.level, self.low, self.extent = level, low, extent
        split = level.split
        self.even = [(extent[axis] + 1) // 2 if split[axis] else extent[axis] for axis in AXES]
        self.odd = [extent[axis] // 2 for axis in AXES]
        self.below = [BELOW if level.extent[axis] > 1 else 0 for axis in AXES]
        self.above = [ABOVE if level.extent[axis] > 1 else 0 for axis in AXES]
        self.has_ghost_plane = [split[axis] and low[axis] + extent[axis] < level.extent[axis] for axis in AXES]

    def new(self, dtype):
        """An empty array for a class."""
        return np.zeros([self.below[axis] + self.even[axis] + self.above[axis] for axis in AXES], dtype)

    def class_extent(self, cls):
        """How many samples of the class there are along each axis."""
        return [self.odd[axis] if cls >> axis & 1 else self.even[axis] for axis in AXES]

    def view(self, array, cls, extent=None, shift=ZERO):
        """The samples of a class, or `extent` of them from index `shift` on."""
        extent = self.class_extent(cls) if extent is None else extent
        starts = [self.below[axis] + shift[axis] for axis in AXES]
        return array[ranges(starts, [starts[axis] + extent[axis] for axis in AXES])]

    def tap_view(self, arrays, cls, tap, extent=None, shift=ZERO):
        """What the samples of a class see at a tap."""
        source = cls ^ sum(1 << axis for axis in AXES if tap[axis] % 2)
        extent = self.class_extent(cls) if extent is None else extent
        return self.view(arrays[source], cls, extent, [shift[axis] + (tap[axis] + 1) // 2 for axis in AXES])

    def places(self, cls):
        """Where the samples of a class are in the grid of the level."""
        return tuple(
            slice(self.low[axis] + (cls >> axis & 1), self.low[axis] + self.extent[axis], 2 if self.level.split[axis] else 1)
            for axis in AXES
        )

    def store(self, arrays, grid):
        """Copies all classes into the grid of the level."""
        for cls in [0, *self.level.classes]:
            grid[self.places(cls)] = self.view(arrays[cls], cls)

    def load(self, coarser, repeat=False):
        """Class 0 from the grid of the coarser level; with `repeat` only the samples of the block itself are seen."""
        array = self.new(coarser.dtype)
        start = [self.low[axis] // 2 if self.level.split[axis] else self.low[axis] for axis in AXES]
        low, high = ZERO, self.even
        if not repeat:
            low = [max(-self.below[axis], -start[axis]) for axis in AXES]
            high = [min(self.even[axis] + self.above[axis], coarser.shape[axis] - start[axis]) for axis in AXES]
        source = ranges([start[axis] + low[axis] for axis in AXES], [start[axis] + high[axis] for axis in AXES])
        target = ranges([self.below[axis] + low[axis] for axis in AXES], [self.below[axis] + high[axis] for axis in AXES])
        array[target] = coarser[source]
        self.make_halo(array, 0, low, high, repeat)
        return array

    def make_halo(self, array, cls, low, high, repeat=False):
        """Extrapolates (or repeats) what is known from index low to high along the axes where the class is even."""
        for axis in reversed(AXES):
            if cls >> axis & 1 or not self.level.active >> axis & 1:
                continue
            lines = np.moveaxis(array, axis, 0)
            first, last = self.below[axis] + low[axis], self.below[axis] + high[axis] - 1
            inwards = 1 if last > first else 0
            for index in range(len(lines)):
                if first <= index <= last:
                    continue
                outermost, step = (first, 1) if index < first else (last, -1)
                v0, v1, distance = lines[outermost], lines[outermost + step * inwards], abs(index - outermost)
                lines[index] = v0 if repeat else v0 + (v0 - v1) * array.dtype.type(distance)

    def repeat_halo(self, array, cls):
        """The halo of activities and special values."""
        if min(self.class_extent(cls)) > 0:
            self.make_halo(array, cls, ZERO, self.class_extent(cls), repeat=True)

    def fill_halo(self, arrays, cls, real):
        """The ghost planes of a decoded class, then its halo."""
        covered = self.class_extent(cls)
        for axis in AXES:
            if not self.has_ghost_plane[axis] or cls >> axis & 1:
                continue
            extent = [1 if b == axis else covered[b] for b in AXES]
            shift = [covered[axis] if b == axis else 0 for b in AXES]
            if min(extent) > 0:
                plane = predict(self, arrays, cls, Parameters(), real, extent, shift)
                self.view(arrays[cls], cls, extent, shift)[...] = to_samples(plane, arrays[cls].dtype)
            covered[axis] += 1
        if min(covered) > 0:
            self.make_halo(arrays[cls], cls, ZERO, covered)


def to_samples(numbers, sample):
    """Numbers in Real as samples."""
    return rint(numbers) if sample == np.int64 else numbers.astype(sample)

"""Hierarchy: the levels of an array, their classes and default blocks."""

import math

from reference_decoder.conventions import AXES, Damaged, bits_set, ceil_log2, require

LARGEST_BLOCK = 2**22


class Level:
    """A level of the hierarchy: its extent, its split axes and its classes in order."""

    def __init__(self, extent, split):
        self.extent, self.split = tuple(extent), tuple(split)
        self.active = sum(1 << axis for axis in AXES if extent[axis] > 1)
        mask = sum(1 << axis for axis in AXES if split[axis])
        self.classes = sorted((cls for cls in range(1, 16) if cls & ~mask == 0), key=lambda cls: (bits_set(cls), cls))


def codec_axes(valid):
    """The extent along the four axes of the codec and the batch (of one component)."""
    extents = [extent for extent in valid if extent > 1]
    return [1] * (4 - len(extents[-4:])) + extents[-4:], math.prod(extents[:-4])


def hierarchy(extent, offsets):
    """The levels, level 0 first."""
    levels = []
    while len(levels) < 48:
        more = any(offsets[axis] != 63 and extent[axis] > 2 for axis in AXES)
        split = [more and extent[axis] > 1 and len(levels) >= offsets[axis] for axis in AXES]
        levels.append(Level(extent, split))
        if not more:
            require(sum(not any(level.split) for level in levels[:-1]) <= 3, "levels that split no axis")
            return levels
        extent = [(extent[axis] + 1) // 2 if split[axis] else extent[axis] for axis in AXES]
    raise Damaged("levels")


def base_level_of(levels):
    """The number of the base level."""
    base = len(levels) - 1
    while base > 0 and math.prod(levels[base - 1].extent) <= 256:
        base -= 1
    return base


def default_block(level, number, regions):
    """log2 of the default extent of the level's blocks."""
    rank = bits_set(level.active)
    budget = {0: 15, 1: 15, 2: 16}.get(rank, 18)
    if regions and rank == 3:
        budget = 15 if number == 0 else 12
    logs, is_open = [0] * 4, [True] * 4
    while any(is_open):
        share = max(3, budget // sum(is_open))
        short = [axis for axis in AXES if is_open[axis] and ceil_log2(level.extent[axis]) <= share]
        if short:
            axis = min(short, key=lambda axis: level.extent[axis])
            logs[axis], is_open[axis] = ceil_log2(level.extent[axis]), False
            budget = max(0, budget - logs[axis])
            continue
        for axis in reversed(AXES):
            if is_open[axis]:
                logs[axis] = max(3, -(-budget // sum(is_open[: axis + 1])))
                is_open[axis] = False
                budget = max(0, budget - logs[axis])
    return logs

"""Hierarchy: the levels of an array, their classes and default blocks."""

import math

from reference_decoder.conventions import AXES, Damaged, bits_set, ceil_log2, require

LARGEST_BLOCK = 2**22
LARGEST_ROOM, MARGIN = 2**26, 5  # samples of a block with those around it; of these along each active axis, for each class
LONG_STENCIL_AXES = 2
BATCH, MERGED = 4, 5  # roles in an axis map beside the axes of the codec


class Level:
    """A level of the hierarchy: its extent, its split axes and its classes in order."""

    def __init__(self, extent, split):
        self.extent, self.split = tuple(extent), tuple(split)
        self.active = sum(1 << axis for axis in AXES if extent[axis] > 1)
        mask = sum(1 << axis for axis in AXES if split[axis])
        self.classes = sorted((cls for cls in range(1, 16) if cls & ~mask == 0), key=lambda cls: (bits_set(cls), cls))

    def room(self, block):
        """How many samples there are in a block of these extents and around it."""
        room = 1
        for axis in AXES:
            if self.split[axis]:
                room *= 2 * (-(-block[axis] // 2) + MARGIN)
            elif self.extent[axis] > 1:
                room *= block[axis] + MARGIN
        return room


STANDARD, REGIONS, THROUGHPUT = range(3)  # which default blocks


def axis_roles(valid, axis_map):
    """For each axis of the array the axis of the codec that it is or is merged into, or BATCH."""
    if axis_map is None:
        last = [axis for axis, extent in enumerate(valid) if extent > 1][-4:]
        return [4 - len(last) + last.index(axis) if axis in last else BATCH for axis in range(len(valid))]
    named = [role for role in axis_map if role < BATCH]
    require(len(set(named)) == len(named) and axis_map[-1] != MERGED, "axis map")
    roles = list(axis_map)
    for axis in reversed(range(len(roles))):
        if roles[axis] == MERGED:
            roles[axis] = roles[axis + 1]
    return roles


def codec_axes(valid, axis_map):
    """The extent of an item, the batch (of one component), and the axes of the array in the order of the samples."""
    roles = axis_roles(valid, axis_map)
    extents = [math.prod(extent for extent, role in zip(valid, roles, strict=True) if role == axis) for axis in (*AXES, BATCH)]
    require(all(extents[axis] == 1 or extents[axis + 1] > 1 for axis in range(3)), "axis map: axes of extent 1")
    return extents[:4], extents[4], sorted(range(len(valid)), key=lambda axis: (roles[axis] != BATCH, roles[axis]))


def hierarchy(extent, offsets):
    """The levels, level 0 first."""
    levels = []
    while len(levels) < 48:
        more = any(offsets[axis] != 63 and extent[axis] > 2 for axis in AXES)
        split = [more and extent[axis] > 1 and len(levels) >= offsets[axis] for axis in AXES]
        levels.append(Level(extent, split))
        if not more:
            return levels
        require(any(split), "a level that splits no axis")
        extent = [(extent[axis] + 1) // 2 if split[axis] else extent[axis] for axis in AXES]
    raise Damaged("levels")


def base_level_of(levels):
    """The number of the base level."""
    base = len(levels) - 1
    while base > 0 and math.prod(levels[base - 1].extent) <= 256:
        base -= 1
    return base


def default_block(level, number, blocks):
    """log2 of the default extent of the level's blocks."""
    rank = bits_set(level.active)
    budget, long_rows = {0: 15, 1: 15, 2: 16}.get(rank, 18), False
    if rank == 3:
        finest = number == 0
        budget = {STANDARD: 18 if finest else 16, REGIONS: 15 if finest else 12, THROUGHPUT: 19}[blocks]
        long_rows = blocks == THROUGHPUT or (blocks == STANDARD and finest)
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
                left = sum(is_open[: axis + 1])
                logs[axis] = max(3, -(-budget // left) + (long_rows and left == 3))
                is_open[axis] = False
                budget = max(0, budget - logs[axis])
    return logs

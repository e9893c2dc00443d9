"""Masks: special values and their kinds, and how masked samples are filled."""

import numpy as np

from reference_decoder.binary_coder import BitModel
from reference_decoder.blocks import to_samples
from reference_decoder.conventions import AXES, require
from reference_decoder.header import LOGARITHMIC
from reference_decoder.prediction import nearest_taps

SPECIAL_VALUES = range(7)
VALID, FILL, COMMON_NAN, PLUS_INFINITY, MINUS_INFINITY, LITERAL, PLUS_ZERO = SPECIAL_VALUES


def possible_kinds(header):
    """The kinds that masked samples of a stream can have."""
    specials = {LITERAL}
    if header.has_fill:
        specials |= {FILL}
    if header.component.kind == "f":
        specials |= {COMMON_NAN, PLUS_INFINITY, MINUS_INFINITY}
    if header.transform == LOGARITHMIC:
        specials |= {PLUS_ZERO}
    return specials


class MaskModels:
    """The models of kinds."""

    def __init__(self):
        self.masked = [[BitModel() for _ in range(6)] for _ in range(5)]
        self.same = BitModel()
        self.kind = [BitModel() for _ in range(8)]


def mask_context(masked, count, faces_masked, faces):
    """The context of a kind: how many of the nearest taps and of the faces are masked."""
    if masked == 0:
        return 0
    if masked == count:
        return 5
    if faces_masked == 0:
        return 1
    if faces_masked == faces:
        return 4
    return 2 if 2 * faces_masked <= faces else 3


def read_special(coder, models, masked_model, neighbour, header):
    """(kind, its own bits if it is LITERAL)."""
    if not coder.bit(masked_model):
        return VALID, None
    if neighbour and coder.bit(models.same):
        kind = neighbour
    else:
        node = 1
        for _ in range(3):
            node = 2 * node + coder.bit(models.kind[node])
        kind = node - 8
        require(kind in possible_kinds(header), "kind")
    return kind, coder.raw(8 * header.component.itemsize) if kind == LITERAL else None


def fill_class(block, arrays, specials, cls, real):
    """Filling, step 1: masked samples of a class become the mean of their nearest valid taps."""
    taps = nearest_taps(cls, block.level.active)
    extent = block.class_extent(cls)
    valid_sum, whole_sum, valid_count = np.zeros(extent, real), np.zeros(extent, real), np.zeros(extent, real)
    for tap in taps:
        numbers = block.tap_view(arrays, cls, tap).astype(real)
        valid = block.tap_view(specials, cls, tap) == VALID
        whole_sum = whole_sum + numbers
        valid_sum = np.where(valid, valid_sum + numbers, valid_sum)
        valid_count += valid
    mean = np.where(valid_count > 0, valid_sum / valid_count, whole_sum / real(len(taps)))
    masked = block.view(specials[cls], cls) != VALID
    block.view(arrays[cls], cls)[masked] = to_samples(mean[masked], arrays[cls].dtype)


def fill_box(grid, specials, real):
    """Filling, step 2: two sweeps over a complete block, given as views of the level's grids."""
    has_value = specials == VALID
    for _ in range(2):
        total, count = np.zeros(grid.shape, real), np.zeros(grid.shape, real)
        for axis in AXES:
            lower, upper = [slice(None)] * 4, [slice(None)] * 4
            lower[axis], upper[axis] = slice(None, -1), slice(1, None)
            for target, source in ((tuple(upper), tuple(lower)), (tuple(lower), tuple(upper))):
                usable = has_value[source]
                total[target] = np.where(usable, total[target] + grid[source].astype(real), total[target])
                count[target] += usable
        filled = ~has_value & (count > 0)
        grid[filled] = to_samples(total[filled] / count[filled], grid.dtype)
        has_value = has_value | filled

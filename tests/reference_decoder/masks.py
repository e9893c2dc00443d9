"""Masks: special values and their kinds, and how masked samples are filled."""

import itertools
import math

import numpy as np

from reference_decoder.binary_coder import BitModel
from reference_decoder.blocks import to_samples
from reference_decoder.conventions import AXES, require
from reference_decoder.header import LOGARITHMIC
from reference_decoder.prediction import face_taps, nearest_taps

SPECIAL_VALUES = range(7)
VALID, FILL, COMMON_NAN, PLUS_INFINITY, MINUS_INFINITY, LITERAL, PLUS_ZERO = SPECIAL_VALUES


def possible_kinds(header):
    """The kinds that masked samples of a stream can have."""
    specials = {LITERAL}
    if header.has_fill:
        specials |= {FILL}
    if header.floats:
        specials |= {COMMON_NAN}
    if header.floats and header.floats.has_infinity:
        specials |= {PLUS_INFINITY, MINUS_INFINITY}
    if header.transform == LOGARITHMIC:
        specials |= {PLUS_ZERO}
    return specials


class MaskModels:
    """The models of kinds."""

    def __init__(self):
        self.coarsest, self.row = [BitModel(), BitModel()], [[BitModel(), BitModel()] for _ in range(2)]
        self.general = [BitModel() for _ in range(6)]
        for model, p, seen in zip(self.general, (1311, 13107, 26214, 39322, 52429, 64225), (2, 1, 1, 1, 1, 2), strict=True):
            model.p, model.seen = p, seen
        self.masked = [[BitModel() for _ in range(27)] for _ in range(6)]
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


def _tree(coder, models, depth):
    """A number of `depth` bits, high first, each with the model of those before it."""
    node = 1
    for _ in range(depth):
        node = 2 * node + coder.bit(models[node])
    return node - 2**depth


def _new_kind(coder, models, header):
    kind = _tree(coder, models.kind, 3)
    require(kind in possible_kinds(header), "kind")
    return kind


def read_kind(coder, models, neighbour, header):
    """(kind of a masked sample, its own bits if it is LITERAL)."""
    kind = neighbour if neighbour and coder.bit(models.same) else _new_kind(coder, models, header)
    return kind, coder.raw(8 * header.component.itemsize) if kind == LITERAL else None


def read_special(coder, models, masked_model, neighbour, header):
    """(kind, its own bits if it is LITERAL)."""
    return read_kind(coder, models, neighbour, header) if coder.bit(masked_model) else (VALID, None)


def _relation(kinds, at, axis):
    """0 if there is no sample before this one along the axis, 1 if it is valid, 2 if it is masked."""
    if axis is None or at[axis] == 0:
        return 0
    before = list(at)
    before[axis] -= 1
    return 1 + (kinds[tuple(before)] != VALID)


def read_regions(coder, models, block, specials, cls, header, with_rows):
    """The kinds of a class into specials[cls]; yields (index in the class, own bits) of each literal."""
    extent, kinds = block.class_extent(cls), block.view(specials[cls], cls)
    masked, neighbour = np.zeros(extent, int), np.zeros(extent, np.uint8)
    nearest, faces = nearest_taps(cls, block.level.active), face_taps(cls, block.level.active)
    for tap in nearest:
        seen = block.tap_view(specials, cls, tap)
        masked += seen != VALID
        neighbour = np.where(seen != VALID, seen, neighbour)
    faces_masked = sum((block.tap_view(specials, cls, tap) != VALID).astype(int) for tap in faces)
    settled = (masked == 0) | (masked == len(nearest)) & (neighbour != LITERAL)
    exceptions = 0
    for row in np.ndindex(*extent[:3]):
        settle = with_rows and settled[row].any()
        if settle:
            exceptions = coder.bit(models.row[int(not settled[row].all())][exceptions])
            settle = not exceptions
        rows_before = [*[axis for axis in (2, 1, 0) if row[axis]][:2], None, None]
        for x in range(extent[3]):
            at = (*row, x)
            if settle and settled[at]:
                kinds[at] = neighbour[at]
                continue
            context = mask_context(masked[at], len(nearest), faces_masked[at], len(faces))
            surroundings = 9 * _relation(kinds, at, 3) + 3 * _relation(kinds, at, rows_before[0])
            model = models.masked[context][surroundings + _relation(kinds, at, rows_before[1])]
            model.begin_as(models.general[context])
            kinds[at], own_bits = read_special(coder, models, model, int(neighbour[at]), header)
            models.general[context].update(kinds[at] != VALID)
            if kinds[at] == LITERAL:
                yield at, own_bits


class ScatteredMask:
    """Masks of a block that say for each group of samples how many are masked, then which of them."""

    def __init__(self, coder, header):
        self.coder, self.header, self.models = coder, header, MaskModels()
        self.ones = [[BitModel() for _ in range(32)] for _ in range(2)]
        self.kind, self.before = VALID, VALID
        if coder.bit(BitModel()):
            self.kind = _new_kind(coder, self.models, header)
            require(self.kind != LITERAL, "the one kind")

    def _which(self, size):
        ones = _tree(self.coder, self.ones[size == 16], 5)
        require(ones <= size, "more masked samples than a group has")
        if ones == 0:
            return 0
        rank = self.coder.below(math.comb(size, ones))
        return next(itertools.islice((number for number in range(1 << size) if number.bit_count() == ones), rank, None))

    def read(self, block, specials, cls):
        """As read_regions."""
        extent, kinds = block.class_extent(cls), block.view(specials[cls], cls)
        for row in np.ndindex(*extent[:3]):
            for start in range(0, extent[3], 16):
                size = min(16, extent[3] - start)
                which = self._which(size)
                for x in (x for x in range(size) if which >> x & 1):
                    own_bits = None
                    if not self.kind:
                        self.before, own_bits = read_kind(self.coder, self.models, self.before, self.header)
                    kinds[(*row, start + x)] = self.kind or self.before
                    if own_bits is not None:
                        yield (*row, start + x), own_bits


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

"""A decoder of h5stz streams written from docs/format.md and the integers of code_tables.inc, and from nothing else.

It is slow and made to be read beside that document: one part for each of its sections, with its names. `decode(stream)`
gives the array. All arrays of samples have four axes; a class is named by its mask of axes, class 0 is the coarser level.
"""

import itertools
import math
import re
import struct
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

AXES = range(4)
ZERO = (0, 0, 0, 0)
RAW, CONSTANT, BLOCKS = range(3)
UNIFORM, INTEGER, ORDERED = range(3)
NONE, LATTICE, LOGARITHMIC, ORDERED_HALF = range(4)


class Damaged(ValueError):
    """The bytes are no stream that this decoder knows."""


def require(condition, what):
    """Raises Damaged unless `condition` holds."""
    if not condition:
        raise Damaged(what)


# Conventions


def floor_log2(value):
    """Index of the highest set bit of a positive integer."""
    return value.bit_length() - 1


def ceil_log2(value):
    """The least e with 2**e >= value."""
    return (value - 1).bit_length()


def clamp(value, low, high):
    """The nearest number from low to high."""
    return min(high, max(low, value))


def unzigzag(value):
    """0, 1, 2, 3, 4 ... to 0, -1, 1, -2, 2 ..."""
    return (value >> 1) ^ -(value & 1)


def bits_set(mask):
    """How many axes a mask has."""
    return mask.bit_count()


def axes_of(mask):
    """The axes of a mask by rising number."""
    return [axis for axis in AXES if mask >> axis & 1]


def ranges(starts, ends):
    """The slices from starts to ends, one for each axis."""
    return tuple(slice(start, end) for start, end in zip(starts, ends, strict=True))


@cache
def _crc_of_byte(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


def crc(data):
    """CRC-32C."""
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ _crc_of_byte((value ^ byte) & 255)
    return value ^ 0xFFFFFFFF


def short_crc(data):
    """The CRC as a section stores it: two bytes for fewer than 256 bytes, else four."""
    return crc(data).to_bytes(4, "little")[: 2 if len(data) < 256 else 4]


class Reader:
    """Takes fields from the front of some bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        """The next `count` bytes."""
        require(self.at + count <= len(self.data), "truncated")
        self.at += count
        return self.data[self.at - count : self.at]

    def integer(self, width):
        """An unsigned integer of `width` bytes."""
        return int.from_bytes(self.take(width), "little")

    def double(self):
        """A binary64."""
        return struct.unpack("<d", self.take(8))[0]

    def varint(self):
        """A LEB128 of at most ten bytes."""
        value = 0
        for place in range(10):
            byte = self.integer(1)
            value |= (byte & 127) << 7 * place
            if byte < 128:
                break
        else:
            raise Damaged("varint")
        require(value < 2**64, "varint")
        return value


def rint(numbers):
    """Predictions as 64-bit integers."""
    numbers = np.asarray(numbers, np.float64)
    whole = np.where(np.abs(numbers) < 2.0**51, np.rint(numbers), np.trunc(numbers))
    above, below = numbers > -9.2e18, numbers < 9.2e18
    integers = np.where(above & below, whole, 0).astype(np.int64)
    integers = np.where(above, integers, np.int64(-(2**63)))
    integers = np.where(below, integers, np.int64(2**63 - 1))
    return np.where(np.isnan(numbers), np.int64(0), integers)


# Header

DTYPES = [None, "f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16"]


@dataclass
class Header:
    """The fields of the header; those of the form blocks only if it is that."""

    form: int
    mode: int
    regions: bool
    component: np.dtype
    parts: int
    byte_order: str
    shape: list
    bound: float = 0.0
    fill: int = 0
    size: int = 0
    samples: int = 0
    quantiser: int = UNIFORM
    transform: int = NONE
    negative: bool = False
    masked: bool = False
    step: int = 1
    base: float = 0.0
    origin: float = 0.0
    delta: float = 0.0
    zero_bits: int = 0
    common_nan: int = 0
    padding: int = 0
    valid: list = field(default_factory=list)
    batch: int = 1
    levels: list = field(default_factory=list)
    root: int = 0
    level_bounds: list = field(default_factory=list)
    blocks: list = field(default_factory=list)
    section_sizes: list = field(default_factory=list)

    @property
    def real(self):
        """The type of predictions."""
        return np.float32 if self.samples == 0 else np.float64

    @property
    def sample(self):
        """The type of samples."""
        return (np.float32, np.float64, np.int64)[self.samples]

    @property
    def bits(self):
        """The width of samples and codes."""
        return 32 if self.samples == 0 else 64

    @property
    def wrapped_step(self):
        """The step modulo 2**64."""
        return np.array(self.step, np.uint64).astype(np.int64)


def read_header(stream):
    """The Header of a stream."""
    reader = Reader(stream)
    require(reader.take(3) == b"STZ", "not a stream")
    require(reader.integer(1) == 1, "version")
    kind = reader.integer(1)
    require(kind >> 6 == 0 and kind & 3 < 3 and kind >> 2 & 3 < 3, "version")
    dtype = reader.integer(1)
    require(1 <= dtype & 31 < len(DTYPES) and dtype >> 5 < 2, "version")
    whole = np.dtype(DTYPES[dtype & 31])
    parts = 2 if whole.kind == "c" else 1
    component = np.dtype(f"f{whole.itemsize // 2}") if parts == 2 else whole
    shape = [reader.varint() for _ in range(reader.integer(1))]
    header = Header(kind & 3, kind >> 2 & 3, bool(kind >> 5 & 1), component, parts, "<>"[dtype >> 5], shape)
    if header.mode:
        header.bound = reader.double()
    if kind >> 4 & 1:
        header.fill = reader.integer(component.itemsize)
    if header.form == BLOCKS:
        read_blocks_header(reader, header)
    header.size = reader.at
    return header


def read_blocks_header(reader, header):
    """The rest of the header of the form blocks."""
    how, flags = reader.integer(1), reader.integer(1)
    header.samples, header.quantiser, header.transform = how & 3, how >> 2 & 3, how >> 4
    require(header.samples < 3 and header.quantiser < 3 and header.transform < 4, "version")
    header.masked, header.negative = bool(flags & 2), bool(flags & 64)
    if header.quantiser != UNIFORM:
        header.step = reader.varint()
    header.base = reader.double() if header.quantiser == UNIFORM and flags & 1 else header.bound
    if header.transform == LATTICE:
        header.origin, header.delta = reader.double(), reader.double()
    if header.quantiser == ORDERED:
        header.zero_bits = reader.integer(1)
    if header.masked:
        header.common_nan = reader.integer(header.component.itemsize)
    header.valid = header.shape
    if flags & 4:
        header.padding = reader.integer(header.component.itemsize)
        header.valid = [extent - reader.varint() for extent in header.shape]
        require(all(extent > 0 for extent in header.valid), "cut")
    offsets = [reader.integer(1) for _ in AXES] if flags & 8 else ZERO
    extent, batch = codec_axes(header.valid)
    header.batch = batch * header.parts
    header.levels = hierarchy(extent, offsets)
    header.root = root_level(header.levels)
    if flags & 16:
        header.level_bounds = [reader.double() for _ in header.levels]
    else:
        factors = itertools.accumulate(header.levels[1:], lambda factor, _: max(0.5, factor * 0.8), initial=1.0)
        header.level_bounds = [header.base * factor for factor in factors]
    for number, level in enumerate(header.levels[: header.root]):
        logs = [reader.integer(1) for _ in AXES] if flags & 32 else default_block(level, number, header.regions)
        require(not flags & 32 or all(1 <= log <= 30 for log in logs), "level blocks")
        header.blocks.append([min(level.extent[axis], 1 << logs[axis]) for axis in AXES])
    if flags & 128:
        require(all(reader.integer(1) == 1 for _ in header.levels), "version: layers")
    header.section_sizes = [reader.varint() for _ in range(header.root + 1)]
    check = crc(reader.data[: reader.at])
    require(reader.integer(4) == check, "checksum of the header")


# Hierarchy


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
            return levels
        extent = [(extent[axis] + 1) // 2 if split[axis] else extent[axis] for axis in AXES]
    raise Damaged("levels")


def root_level(levels):
    """The number of the root."""
    root = len(levels) - 1
    while root > 0 and math.prod(levels[root - 1].extent) <= 256:
        root -= 1
    return root


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


# Binary coder


class BitModel:
    """The adaptive probability of one bit."""

    def __init__(self):
        self.p, self.seen = 32768, 0

    def update(self, bit):
        """Learns from a bit."""
        rate = 131072 // (2 * self.seen + 3)
        self.p += ((65535 if bit else 0) - self.p) * rate >> 16
        self.seen = min(30, self.seen + 1)


class NumberModel:
    """The models of a number."""

    def __init__(self):
        self.exponent = [BitModel() for _ in range(65)]
        self.mantissa = [BitModel() for _ in range(65)]


class SignedModel:
    """The models of a signed number."""

    def __init__(self):
        self.magnitude, self.sign = NumberModel(), BitModel()


class BinaryDecoder:
    """The adaptive binary coder."""

    def __init__(self, data):
        self.data, self.at = data, 0
        self.range, self.code = 2**32 - 1, 0
        for _ in range(4):
            self._next_byte()

    def _next_byte(self):
        require(self.at < len(self.data) + 4, "truncated binary coder")
        byte = self.data[self.at] if self.at < len(self.data) else 0
        self.at += 1
        self.code = (self.code << 8 | byte) & 0xFFFFFFFF

    def _normalise(self):
        while self.range < 1 << 24:
            self.range <<= 8
            self._next_byte()

    def bit(self, model):
        """A bit with a model."""
        bound = (self.range >> 16) * clamp(model.p, 64, 65472)
        bit = int(self.code < bound)
        if bit:
            self.range = bound
        else:
            self.code -= bound
            self.range -= bound
        model.update(bit)
        self._normalise()
        return bit

    def raw(self, count):
        """`count` bits without a model."""
        value = 0
        for _ in range(count):
            self.range >>= 1
            bit = int(self.code >= self.range)
            if bit:
                self.code -= self.range
            value = value << 1 | bit
            self._normalise()
        return value

    def number(self, model):
        """A number from 0 up."""
        e = 0
        while self.bit(model.exponent[e]):
            e += 1
            require(e < 63, "exponent")
        if e == 0:
            return 0
        high = self.bit(model.mantissa[e])
        return 2**e + high * 2 ** (e - 1) + self.raw(e - 1) - 1

    def signed(self, model):
        """A number of either sign."""
        value = self.number(model.magnitude)
        return -value if value and self.bit(model.sign) else value


# Prediction


def tap_group(*distances):
    """The taps at ± the given (axis, distance) pairs, the first axis changing its sign fastest."""
    taps = []
    for signs in itertools.product((-1, 1), repeat=len(distances)):
        tap = [0] * 4
        for (axis, distance), sign in zip(distances, reversed(signs), strict=True):
            tap[axis] = sign * distance
        taps.append(tuple(tap))
    return tuple(taps)


@cache
def stencil(number, cls, active):
    """The groups of taps of stencil `number` (0 standard, 1 wide, 2 long) for a class."""
    odd, even = axes_of(cls), axes_of(active & ~cls)
    groups = [tap_group((axis, distance)) for distance in (1, 3, 5) for axis in odd]
    if len(odd) == 1:
        groups += [tap_group((odd[0], 1), (b, 2)) for b in even]
    elif len(odd) == 2:
        groups += [tap_group((odd[0], 1), (odd[1], 1))]
    elif len(odd) == 3:
        groups += [tap_group((odd[a], 1), (odd[b], 1)) for a, b in ((1, 2), (2, 0), (0, 1))]
        groups += [tap_group((odd[0], 1), (odd[1], 1), (odd[2], 1))]
    else:
        pairs = [tap_group((a, 1), (b, 1)) for a, b in itertools.combinations(AXES, 2)]
        triples = [tap_group(((a + 1) % 4, 1), ((a + 2) % 4, 1), ((a + 3) % 4, 1)) for a in AXES]
        groups += [sum(pairs, ()), sum(triples, ()), tap_group((0, 1), (1, 1), (2, 1), (3, 1))]
    if number >= 1:
        groups += wide_groups(odd, even)
    if number >= 2:
        for axis in odd:
            groups += [tap_group((axis, 7)), tap_group((axis, 9))]
    return groups


def wide_groups(odd, even):
    """The groups between the end of the standard stencil and that of the wide one."""
    groups = []
    if len(odd) == 1:
        for b in even:
            groups += [tap_group((odd[0], 3), (b, 2)), tap_group((odd[0], 1), (b, 4))]
    elif len(odd) == 2:
        groups += [tap_group((odd[0], 1), (odd[1], 3)), tap_group((odd[0], 3), (odd[1], 1))]
        for b in even:
            groups += [tap_group((odd[0], 1), (b, 2)), tap_group((odd[1], 1), (b, 2))]
    elif len(odd) == 3:
        groups += [tap_group((odd[a], 3), (odd[b], 1)) for a, b in itertools.permutations(range(3), 2)]
    return groups


def face_taps(cls, active):
    """The taps of the first o groups."""
    return sum(stencil(0, cls, active)[: bits_set(cls)], ())


def nearest_taps(cls, active):
    """The faces and the groups of the standard stencil after the first 3 o."""
    return face_taps(cls, active) + sum(stencil(0, cls, active)[3 * bits_set(cls) :], ())


class Model(NamedTuple):
    """The model of a context: dense with a scale and a shape, or sparse with a gap table and a value table."""

    sparse: bool
    scale_or_gap: int
    shape_or_value: int


@dataclass
class Parameters:
    """The parameters of a class of a level. Those without arguments give the mean of the 1-D cubics."""

    predictor: int = 0
    stencil: int = 0
    precision: int = 0
    weights: list = field(default_factory=list)
    mean: int = 0
    models: list = field(default_factory=list)


def group_weights(parameters, cls, groups, real):
    """v[g] of the linear predictor, of the groups that it uses."""
    odd = bits_set(cls)
    rest, weights = 1.0, [0.0] * len(groups)
    if parameters.precision:
        for g, weight in enumerate(parameters.weights):
            weights[g] = weight * 2.0**-parameters.precision
            rest -= weights[g]
    for k in range(odd):
        weights[k] = weights[k] + rest * 9 / 8 / odd
        weights[odd + k] = weights[odd + k] - rest / 8 / odd
    used = len(groups) if parameters.precision else 2 * odd
    return [real(weights[g] / len(groups[g])) for g in range(used)]


def predict(block, arrays, cls, parameters, real, extent=None, shift=ZERO):
    """The predictions of a class of a block, or of `extent` samples of it from index `shift` on."""

    def tap_values(tap):
        return block.tap_view(arrays, cls, tap, extent, shift).astype(real)

    if parameters.predictor:
        taps = face_taps if parameters.predictor == 2 else nearest_taps
        return median([tap_values(tap) for tap in taps(cls, block.level.active)], real)
    groups = stencil(parameters.stencil, cls, block.level.active)
    products = []
    for group, weight in zip(groups, group_weights(parameters, cls, groups, real), strict=False):
        total = tap_values(group[0])
        for tap in group[1:]:
            total = total + tap_values(tap)
        products.append(total * weight)
    total = products[0]
    for product in products[1:]:
        total = total + product
    return total


def median(values, real):
    """The median of arrays, sorted as far as it takes."""
    count = len(values)
    for i in range(count // 2 + 1):
        for j in range(count - 1, i, -1):
            swap = values[j] < values[j - 1]
            values[j - 1], values[j] = np.where(swap, values[j], values[j - 1]), np.where(swap, values[j - 1], values[j])
    if count % 2:
        return values[count // 2]
    return real(0.5) * (values[count // 2 - 1] + values[count // 2])


# Closed blocks

BELOW, ABOVE = 4, 5


class Block:
    """A box of a level. The arrays of its classes have room for the halo around index 0 to extent - 1."""

    def __init__(self, level, low, extent):
        self.level, self.low, self.extent = level, low, extent
        split = level.split
        self.even = [(extent[axis] + 1) // 2 if split[axis] else extent[axis] for axis in AXES]
        self.odd = [extent[axis] // 2 for axis in AXES]
        self.below = [BELOW if level.extent[axis] > 1 else 0 for axis in AXES]
        self.above = [ABOVE if level.extent[axis] > 1 else 0 for axis in AXES]
        self.has_plane = [split[axis] and low[axis] + extent[axis] < level.extent[axis] for axis in AXES]

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
        """The halo of magnitudes and kinds."""
        if min(self.class_extent(cls)) > 0:
            self.make_halo(array, cls, ZERO, self.class_extent(cls), repeat=True)

    def close(self, arrays, cls, real):
        """The planes above a decoded class, then its halo."""
        known = self.class_extent(cls)
        for axis in AXES:
            if not self.has_plane[axis] or cls >> axis & 1:
                continue
            extent = [1 if other == axis else known[other] for other in AXES]
            shift = [known[axis] if other == axis else 0 for other in AXES]
            if min(extent) > 0:
                plane = predict(self, arrays, cls, Parameters(), real, extent, shift)
                self.view(arrays[cls], cls, extent, shift)[...] = to_samples(plane, arrays[cls].dtype)
            known[axis] += 1
        if min(known) > 0:
            self.make_halo(arrays[cls], cls, ZERO, known)


def to_samples(numbers, sample):
    """Numbers in Real as samples."""
    return rint(numbers) if sample == np.int64 else numbers.astype(sample)


# Quantisers


class Codes:
    """The codes of an array of samples; where `stored`, the sample's own `bits` instead."""

    def __init__(self, shape):
        self.code = np.zeros(shape, np.int64)
        self.stored = np.zeros(shape, bool)
        self.bits = np.zeros(shape, np.uint64)


def reconstruct(header, level, prediction, codes):
    """The samples of level number `level` from their predictions (in Real) and codes."""
    quantise = (uniform, integer, ordered)[header.quantiser]
    samples = quantise(header, level, np.asarray(prediction, header.real), codes.code)
    own = codes.bits.astype(np.uint32 if header.bits == 32 else np.uint64).view(header.sample)
    return np.where(codes.stored, own, samples)


def uniform(header, level, p, code):
    """x' = p + c * step."""
    real = header.real
    step = real(2 * header.level_bounds[level])
    near = p + code.astype(real) * step
    far = (p.astype(np.float64) + code.astype(np.float64) * np.float64(step)).astype(real)
    samples = np.where(np.abs(code) <= (2**21 if header.samples == 0 else 2**50), near, far)
    if header.component == np.float16 and header.transform == NONE:
        samples = samples.astype(np.float16).astype(real)
    return samples


def integer(header, level, p, code):
    """x' = rint(p) + c * step."""
    return (rint(p) + code * header.wrapped_step).astype(header.sample)


def in_order(numbers):
    """o(x): numbers as integers in their order, and back (of the integers as numbers)."""
    integers = numbers.view(np.int32 if numbers.itemsize == 4 else np.int64)
    return np.where(integers < 0, integers ^ np.iinfo(integers.dtype).max, integers)


def ordered(header, level, p, code):
    """q = (o(p) >> z) + c * step, shifted back."""
    word = np.int32 if header.bits == 32 else np.int64
    z = word(header.zero_bits)
    place = np.where(np.isnan(p), word(0), in_order(p))
    q = (place >> z) + (code * header.wrapped_step).astype(word) << z
    q = np.where(q < 0, q | ((word(1) << z) - word(1)), q)
    return in_order(q.view(header.sample)).view(header.sample)


# Magnitudes and contexts

THRESHOLDS = [128, 203, 323, 512, 813, 1290, 2048, 3251, 5161, 8192, 13004, 20643, 32768, 52016, 60000]
MASKED_CONTEXT = -1


def lg(value):
    """256 log2(value), rounded down."""
    e = floor_log2(value)
    m = value >> e - 31 if e > 31 else value << 31 - e
    for _ in range(8):
        m = m * m >> 31
        bit = int(m >= 2**32)
        m >>= bit
        e = e << 1 | bit
    return e


def mean_index(total, count):
    """The index of the mean total / count."""
    if total == 0 or count == 0:
        return 0
    return clamp((4 * lg(total) - 4 * lg(count) + 128) // 256 + 81, 1, 329)


def magnitudes(codes, mean, bits):
    """The magnitudes of codes of samples of so many bits."""
    if mean == 0:
        right, left, factor = 0, 9, 4095
    else:
        octave, quarter = divmod(mean - 81, 4)
        factor = (4096, 3444, 2896, 2435)[quarter]
        left, right = clamp(4 - octave, 0, 9), max(0, octave - 4)
    sizes = np.where(codes.stored, np.uint64(2 ** (31 if bits == 32 else 63)), np.abs(codes.code).astype(np.uint64))
    short = np.minimum(sizes >> np.uint64(right), np.uint64(511)).astype(np.int64)
    return np.minimum(255, (short << left) * factor >> 12).astype(np.uint8)


def contexts(block, magnitude_arrays, cls):
    """The contexts of a class."""
    groups = stencil(0, cls, block.level.active)
    odd = bits_set(cls)
    weights = [(4, 1, 0)[g // odd] if g < 3 * odd else 2 for g in range(len(groups))]
    total = np.zeros(block.class_extent(cls), np.int64)
    for weight, taps in zip(weights, groups, strict=True):
        unit = 256 * weight // (sum(weights) * len(taps))
        for tap in taps:
            total += unit * block.tap_view(magnitude_arrays, cls, tap).astype(np.int64)
    return np.searchsorted(THRESHOLDS, total, side="right")


# Models


def read_code_tables():
    """The integers of code_tables.inc: name to list of tables (of scales for default_scale)."""
    path = Path(__file__).resolve().parents[1] / "filter" / "core" / "code_tables.inc"
    tables = {}
    for name, body in re.findall(r"(\w+)\[\] = \{(.*?)\n?\};", path.read_text(), re.DOTALL):
        rows = re.findall(r"\{\d+, \{(.*?)\}\}", body)
        numbers = [[int(number) for number in row.split(",")] for row in rows or [body]]
        tables[name] = numbers if rows else numbers[0]
    return tables


TABLES = read_code_tables()
EXPECTED = (-24, -18, -16, -13, -10, -8, -5, -2, 0, 2, 5, 8, 10, 13, 16, 18)


def default_model(mean, context):
    """The model of a context before deviations."""
    t = mean - 49 + EXPECTED[context]
    if t < 16:
        return Model(True, clamp(20 - t, 0, 47), 8)
    scales = TABLES["default_scale"]
    scale = scales[t] if t < len(scales) else scales[-1] + t - len(scales) + 1
    return Model(False, min(279, scale), 0)


class Deviations:
    """How the models last named differed from their defaults."""

    def __init__(self):
        self.of = {}

    def default(self, mean, context):
        """B: the default model with the deviation."""
        model = default_model(mean, context)
        steps, shape_or_value = self.of.get((model.sparse, context), (0, model.shape_or_value))
        return Model(model.sparse, clamp(model.scale_or_gap + steps, 0, 47 if model.sparse else 279), shape_or_value)

    def learn(self, mean, context, model):
        """Takes note of a model."""
        default = default_model(mean, context)
        if model.sparse == default.sparse:
            self.of[model.sparse, context] = model.scale_or_gap - default.scale_or_gap, model.shape_or_value


# Parameters of a class


class ParameterModels:
    """The models of the parameters of a level."""

    def __init__(self):
        for name in ("P0", "P1", "CW", "AW", "S0", "S1", "PS", "RF", "AC", "M0", "M1", "MV", "H0", "H1", "H2"):
            setattr(self, name, BitModel())
        self.PN, self.MN = NumberModel(), NumberModel()
        for name in ("WC", "W0", "W1", "W2", "ME", "MS"):
            setattr(self, name, SignedModel())


class ParameterState:
    """What lives from the first level below the root to level 0."""

    def __init__(self, root_mean):
        self.precision, self.mean = 8, root_mean or 81
        self.coarser, self.deviations = {}, Deviations()

    def read(self, coder, models, cls, active):
        """The parameters of a class."""
        found = Parameters()
        if coder.bit(models.P0):
            found.predictor = 1 + coder.bit(models.P1)
        else:
            self._read_weights(coder, models, cls, active, found)
        self.coarser[cls] = found
        if coder.bit(models.AC):
            self.mean += coder.signed(models.ME)
            require(1 <= self.mean <= 329, "mean")
            found.mean = self.mean
            for context in range(16):
                model = read_model(coder, models, self.deviations.default(self.mean, context))
                self.deviations.learn(self.mean, context, model)
                found.models.append(model)
        return found

    def _read_weights(self, coder, models, cls, active, found):
        coarser = self.coarser.get(cls)
        refers = coarser is not None and coarser.precision != 0
        if refers and coder.bit(models.CW):
            found.stencil, found.precision, found.weights = coarser.stencil, coarser.precision, coarser.weights
            return
        if not coder.bit(models.AW):
            return
        if coder.bit(models.S0):
            found.stencil = 1 + coder.bit(models.S1)
        if not coder.bit(models.PS):
            self.precision = 1 + coder.number(models.PN)
            require(self.precision <= 24, "precision")
        found.precision = self.precision
        changes = refers and coder.bit(models.RF)
        odd = bits_set(cls)
        for g in range(len(stencil(found.stencil, cls, active))):
            if changes:
                weight = coder.signed(models.WC)
                if g < len(coarser.weights):
                    weight += rescaled(coarser.weights[g], found.precision - coarser.precision)
            else:
                weight = coder.signed(models.W0 if g < odd else models.W1 if g < 3 * odd else models.W2)
            require(abs(weight) <= 2**28, "weight")
            found.weights.append(weight)


def rescaled(weight, shift):
    """A weight shifted left, or right if `shift` is negative."""
    return weight << shift if shift >= 0 else weight >> -shift


def read_model(coder, models, default):
    """The model of a context, given its default B."""
    if coder.bit(models.M0):
        return default
    same_kind = coder.bit(models.M1)
    sparse = default.sparse if same_kind else not default.sparse
    start = default.scale_or_gap if same_kind else 8 if sparse else 12
    scale_or_gap = start + coder.signed(models.MS)
    require(0 <= scale_or_gap <= (47 if sparse else 279), "model")
    if sparse:
        as_default = coder.bit(models.MV)
        value = (default.shape_or_value if same_kind else 8) if as_default else coder.number(models.MN)
        require(value <= 31, "value table")
        return Model(True, scale_or_gap, value)
    high = coder.bit(models.H0)
    low = coder.bit(models.H2 if high else models.H1)
    return Model(False, scale_or_gap, 2 * high + low)


# Code streams


@cache
def symbol_table(name, index):
    """Of a table: the symbol at each of 4096 places, the start of each symbol, its frequencies."""
    frequencies = TABLES[name][index]
    symbols = [symbol for symbol, frequency in enumerate(frequencies) for _ in range(frequency)]
    return symbols, list(itertools.accumulate(frequencies, initial=0)), frequencies


class CodeStream:
    """A code stream of a block."""

    def __init__(self, data, bits):
        self.words, self.data, self.bits = Reader(data), data, bits
        first, lanes = self.words.integer(4), 1
        if first >> 31:
            log_lanes = self.words.integer(1)
            require(1 <= log_lanes <= 6, "lanes")
            first, lanes = first & 0x7FFFFFFF, 1 << log_lanes
        self.states = [first] + [self.words.integer(4) for _ in range(lanes - 1)]
        self.end, self.raw_bits, self.raw_count = len(data), 0, 0

    def raw(self, count):
        """Raw bits from the back."""
        while self.raw_count < count:
            require(self.end > self.words.at, "truncated code stream")
            self.end -= 1
            self.raw_bits |= self.data[self.end] << self.raw_count
            self.raw_count += 8
        value = self.raw_bits & (1 << count) - 1
        self.raw_bits >>= count
        self.raw_count -= count
        return value

    def symbol(self, table, number):
        """The symbol that is the queue's token `number`."""
        symbols, starts, frequencies = table
        lane = number % len(self.states)
        y = self.states[lane] % 4096
        symbol = symbols[y]
        state = frequencies[symbol] * (self.states[lane] >> 12) + y - starts[symbol]
        if state < 2**15:
            state = state << 16 | self.words.integer(2)
        self.states[lane] = state
        return symbol

    def value(self, symbol, table):
        """(v, None) for a symbol, (None, bits) for a stored sample."""
        if symbol == len(table[2]) - 1:
            e = self.raw(6)
            return (None, self.raw(self.bits)) if e == 63 else (2**e + self.raw(e) - 1, None)
        if symbol < 33:
            return symbol, None
        e = 5 + (symbol - 33) // 4
        return (4 + (symbol - 33) % 4) * 2 ** (e - 2) + self.raw(e - 2) + 1, None

    def read_class(self, context, models):
        """The Codes of a class, given the context of each sample and the models."""
        codes = Codes(context.shape)
        code, stored, bits = codes.code.reshape(-1), codes.stored.reshape(-1), codes.bits.reshape(-1)
        for number, model in enumerate(models):
            places = np.flatnonzero(context == number)
            if len(places) == 0:
                continue
            read_queue = self._sparse_queue if model.sparse else self._dense_queue
            for place, (zigzag, own) in read_queue(model, len(places)).items():
                if own is None:
                    code[places[place]] = unzigzag(zigzag)
                else:
                    stored[places[place]], bits[places[place]] = True, own
        return codes

    def _dense_queue(self, model, count):
        """{place: (zigzag, bits if stored)} of a dense queue."""
        scale, shape = model.scale_or_gap, model.shape_or_value
        if scale < 36:
            shift, table = 0, symbol_table("two_sided_source", 36 * shape + scale)
        else:
            shift, table = 1 + (scale - 36) // 4, symbol_table("one_sided_source", 4 * shape + (scale - 36) % 4)
        symbols = [self.symbol(table, number) for number in range(count)]
        low_bits = [self.raw(shift) for _ in range(count)]
        found = {}
        for place in range(count):
            value, own = self.value(symbols[place], table)
            found[place] = (None, own) if value is None else (value << shift | low_bits[place], None)
        return found

    def _sparse_queue(self, model, count):
        """{place: (zigzag, bits if stored)} of the codes of a sparse queue that are not zero."""
        gaps = symbol_table("gap_source", model.scale_or_gap)
        values = symbol_table("value_source", model.shape_or_value)
        found, place, token = {}, 0, 0
        while place < count:
            gap = self._gap(self.symbol(gaps, token), gaps, count - place)
            if gap == count - place:
                break
            place += gap
            value, own = self.value(self.symbol(values, token + 1), values)
            found[place] = (None, own) if value is None else (value + 1, None)
            place += 1
            token += 2
        return found

    def _gap(self, symbol, table, left):
        """The length of a run of zeros, `left` if the rest of the queue is zeros."""
        if symbol == len(table[2]) - 1:
            e = self.raw(6)
            gap = 2**e + self.raw(e) - 1
        else:
            if symbol < 16:
                base, raw_count = symbol, 0
            elif symbol < 32:
                raw_count = 2 + (symbol - 16) // 4
                base = (4 + (symbol - 16) % 4) << raw_count
            else:
                raw_count = 7 + (symbol - 32) // 2
                base = (2 + (symbol - 32) % 2) << raw_count
            if base >= left:
                return left
            gap = base + self.raw(raw_count)
            require(gap < left, "gap")
        require(gap <= left, "gap")
        return gap

    def finish(self):
        """Checks that the stream ends as it must."""
        require(self.words.at == self.end and self.raw_count < 8 and self.raw_bits == 0, "end of a code stream")
        require(all(state == 2**15 for state in self.states), "final state of a code stream")


# Masks

VALID, FILL, COMMON_NAN, PLUS_INFINITY, MINUS_INFINITY, OTHER, PLUS_ZERO = range(7)


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


def read_kind(coder, models, masked_model, neighbour, width):
    """(kind, its own bits if it is OTHER)."""
    if not coder.bit(masked_model):
        return VALID, None
    if neighbour and coder.bit(models.same):
        kind = neighbour
    else:
        node = 1
        for _ in range(3):
            node = 2 * node + coder.bit(models.kind[node])
        kind = node - 8
        require(VALID < kind <= PLUS_ZERO, "kind")
    return kind, coder.raw(8 * width) if kind == OTHER else None


def fill_class(block, arrays, kinds, cls, real):
    """Filling, step 1: masked samples of a class become the mean of their nearest valid taps."""
    taps = nearest_taps(cls, block.level.active)
    extent = block.class_extent(cls)
    valid_sum, whole_sum, valid_count = np.zeros(extent, real), np.zeros(extent, real), np.zeros(extent, real)
    for tap in taps:
        numbers = block.tap_view(arrays, cls, tap).astype(real)
        valid = block.tap_view(kinds, cls, tap) == VALID
        whole_sum = whole_sum + numbers
        valid_sum = np.where(valid, valid_sum + numbers, valid_sum)
        valid_count += valid
    mean = np.where(valid_count > 0, valid_sum / valid_count, whole_sum / real(len(taps)))
    masked = block.view(kinds[cls], cls) != VALID
    block.view(arrays[cls], cls)[masked] = to_samples(mean[masked], arrays[cls].dtype)


def fill_box(grid, kinds, real):
    """Filling, step 2: two sweeps over a complete block, given as views of the level's grids."""
    known = kinds == VALID
    for _ in range(2):
        total, count = np.zeros(grid.shape, real), np.zeros(grid.shape, real)
        for axis in AXES:
            lower, upper = [slice(None)] * 4, [slice(None)] * 4
            lower[axis], upper[axis] = slice(None, -1), slice(1, None)
            for target, source in ((tuple(upper), tuple(lower)), (tuple(lower), tuple(upper))):
                usable = known[source]
                total[target] = np.where(usable, total[target] + grid[source].astype(real), total[target])
                count[target] += usable
        found = ~known & (count > 0)
        grid[found] = to_samples(total[found] / count[found], grid.dtype)
        known = known | found


# Root section and level sections


@dataclass
class Item:
    """The grids of one item at one level: samples, magnitudes, kinds."""

    samples: np.ndarray
    kinds: np.ndarray
    magnitudes: np.ndarray | None = None


class RootCodes:
    """The coder of the root section with all that it remembers."""

    def __init__(self, data, header):
        self.coder, self.header = BinaryDecoder(data), header
        self.stored, self.signed = BitModel(), [SignedModel() for _ in range(16)]
        self.masks = MaskModels()
        self.s0 = self.s1 = 0
        self.kind = VALID

    def read_into(self, codes, index):
        """Reads the code of one sample."""
        size = 0
        if self.coder.bit(self.stored):
            codes.stored[index], codes.bits[index] = True, self.coder.raw(self.header.bits)
        else:
            code = self.coder.signed(self.signed[min(15, floor_log2(2 * (self.s0 + self.s1) + 1))])
            codes.code[index] = code
            size = code if code >= 0 else -code - 1
        self.s0, self.s1 = min(2**20, size), self.s0


class Sections:
    """Decodes the sections of a stream, from the root to level 0."""

    def __init__(self, header, data):
        self.header = header
        self.other_bits = {}
        reader = Reader(data)
        sections = [reader.take(size) for size in header.section_sizes]
        require(reader.at == len(data), "bytes are left over")
        self.items = self._root_section(sections[0])
        for number, section in zip(reversed(range(header.root)), sections[1:], strict=True):
            self.items = self._level_section(number, section)

    # Root section

    def _root_section(self, section):
        header = self.header
        width = 2 if len(section) < 258 else 4
        require(len(section) >= width and short_crc(section[:-width]) == section[-width:], "checksum of the root")
        state = RootCodes(section[:-width], header)
        items, all_codes = [], []
        for number in range(header.batch):
            item = self._coarsest_level(state, number)
            codes = Codes(item.samples.shape)
            for level in range(len(header.levels) - 2, header.root - 1, -1):
                item, codes = self._root_level(state, number, level, item, codes)
            items.append(item)
            all_codes.append(codes)
        total = sum(min(abs(int(code)), 2**40) for codes in all_codes for code in codes.code[~codes.stored])
        mean = mean_index(total, sum(int(np.sum(~codes.stored)) for codes in all_codes))
        for item, codes in zip(items, all_codes, strict=True):
            item.magnitudes = magnitudes(codes, mean, header.bits)
            item.magnitudes[item.kinds != VALID] = 16
        self.state = ParameterState(mean)
        return items

    def _coarsest_level(self, state, number):
        header, level = self.header, len(self.header.levels) - 1
        extent = header.levels[level].extent
        item = Item(np.zeros(extent, header.sample), np.zeros(extent, np.uint8))
        before = header.real(0)
        for index in np.ndindex(*extent):
            if header.masked:
                masked_model = state.masks.masked[0][1 if state.kind else 0]
                state.kind = self._kind(state.coder, state.masks, masked_model, state.kind, (number, level, index))
                item.kinds[index] = state.kind
            code = Codes(())
            if not state.kind:
                state.read_into(code, ())
            item.samples[index] = reconstruct(header, level, before, code)
            before = header.real(item.samples[index])
        return item

    def _root_level(self, state, number, level_number, coarser, coarser_codes):
        """A level of the root section as one block; also the codes of all its samples."""
        header, level = self.header, self.header.levels[level_number]
        block = Block(level, ZERO, level.extent)
        samples = {0: block.load(coarser.samples)}
        kinds = {0: block.load(coarser.kinds, repeat=True)}
        self._masks(state.coder if header.masked else None, state.masks, block, kinds, number, level_number)
        all_codes = Codes(level.extent)
        for name in ("code", "stored", "bits"):
            getattr(all_codes, name)[block.places(0)] = getattr(coarser_codes, name)
        for cls in level.classes:
            masked = block.view(kinds[cls], cls) != VALID
            codes = Codes(masked.shape)
            for index in np.ndindex(*masked.shape):
                if not masked[index]:
                    state.read_into(codes, index)
            self._finish_class(block, samples, kinds, cls, level_number, Parameters(), codes)
            for name in ("code", "stored", "bits"):
                getattr(all_codes, name)[block.places(cls)] = getattr(codes, name)
        item = Item(np.zeros(level.extent, header.sample), np.zeros(level.extent, np.uint8))
        block.store(samples, item.samples)
        block.store(kinds, item.kinds)
        fill_box(item.samples, item.kinds, header.real)
        return item, all_codes

    def _finish_class(self, block, samples, kinds, cls, level_number, parameters, codes):
        """Prediction, reconstruction, filling and closing of a class of which the codes are known."""
        samples[cls] = block.new(self.header.sample)
        if codes.code.size:
            prediction = predict(block, samples, cls, parameters, self.header.real)
            block.view(samples[cls], cls)[...] = reconstruct(self.header, level_number, prediction, codes)
            if block.view(kinds[cls], cls).any():
                fill_class(block, samples, kinds, cls, self.header.real)
        block.close(samples, cls, self.header.real)

    # Masks of a block

    def _kind(self, coder, models, masked_model, neighbour, place):
        """Reads a kind and keeps its own bits by the sample's place (item, index at level 0)."""
        kind, own = read_kind(coder, models, masked_model, neighbour, self.header.component.itemsize)
        if kind == OTHER:
            item, level_number, index = place
            strides = [2 ** sum(level.split[axis] for level in self.header.levels[:level_number]) for axis in AXES]
            self.other_bits[(item, *(index[axis] * strides[axis] for axis in AXES))] = own
        return kind

    def _masks(self, coder, models, block, kinds, item, level_number):
        """The kinds of all classes of a block; none is masked without a coder."""
        for cls in block.level.classes:
            kinds[cls] = block.new(np.uint8)
            if coder is None:
                continue
            extent = block.class_extent(cls)
            masked, neighbour = np.zeros(extent, int), np.zeros(extent, np.uint8)
            nearest, faces = nearest_taps(cls, block.level.active), face_taps(cls, block.level.active)
            for tap in nearest:
                seen = block.tap_view(kinds, cls, tap)
                masked += seen != VALID
                neighbour = np.where(seen != VALID, seen, neighbour)
            faces_masked = sum((block.tap_view(kinds, cls, tap) != VALID).astype(int) for tap in faces)
            places = block.places(cls)
            found = block.view(kinds[cls], cls)
            for at in np.ndindex(*extent):
                context = mask_context(masked[at], len(nearest), faces_masked[at], len(faces))
                index = [places[axis].start + at[axis] * places[axis].step for axis in AXES]
                masked_model = models.masked[bits_set(cls)][context]
                found[at] = self._kind(coder, models, masked_model, int(neighbour[at]), (item, level_number, index))
            block.repeat_halo(kinds[cls], cls)

    # Level section

    def _level_section(self, number, section):
        header, level, extent = self.header, self.header.levels[number], self.header.blocks[number]
        reader = Reader(section)
        coder = BinaryDecoder(reader.take(reader.varint()))
        merged = coder.bit(BitModel())
        models = ParameterModels()
        parameters = {cls: self.state.read(coder, models, cls, level.active) for cls in level.classes}
        corners = list(itertools.product(*[range(0, level.extent[axis], extent[axis]) for axis in AXES]))
        sizes = self._index(coder, merged, len(level.classes), header.batch * len(corners))
        streams = self._streams(reader, sizes)
        items = []
        for item_number, coarser in enumerate(self.items):
            item = Item(*[np.zeros(level.extent, dtype) for dtype in (header.sample, np.uint8, np.uint8)])
            for low in corners:
                box = [min(extent[axis], level.extent[axis] - low[axis]) for axis in AXES]
                block = Block(level, low, box)
                self._block(number, item_number, block, coarser, item, parameters, streams, merged)
            items.append(item)
        return items

    def _index(self, coder, merged, class_count, block_count):
        """The sizes of all streams in order."""
        mask_model, block_model = NumberModel(), NumberModel()
        class_models = [NumberModel() for _ in range(class_count)]
        sizes = []
        for _ in range(block_count):
            if self.header.masked:
                sizes.append(coder.number(mask_model))
            sizes += [coder.number(model) for model in ([block_model] if merged else class_models)]
        return sizes

    def _streams(self, reader, sizes):
        """An iterator over the streams, checked."""
        index_end = reader.at
        covered = sum(sizes) <= 4096
        check_width = 2 if index_end + (sum(sizes) if covered else 0) < 256 else 4
        check = reader.take(check_width)
        first_stream = reader.at
        streams = []
        for size in sizes:
            streams.append(reader.take(size))
            if size and not covered:
                require(reader.integer(2) == crc(streams[-1]) & 0xFFFF, "checksum of a stream")
        require(reader.at == len(reader.data), "bytes are left over in a section")
        content = reader.data[:index_end] + (reader.data[first_stream:] if covered else b"")
        require(short_crc(content) == check, "checksum of a section")
        return iter(streams)

    def _block(self, level_number, item_number, block, coarser, item, parameters, streams, merged):
        """Decodes a block into the grids of `item`."""
        header = self.header
        samples = {0: block.load(coarser.samples)}
        magnitude_arrays = {0: block.load(coarser.magnitudes, repeat=True)}
        kinds = {0: block.load(coarser.kinds, repeat=True)}
        mask_stream = next(streams) if header.masked else b""
        coder = BinaryDecoder(mask_stream) if mask_stream else None
        self._masks(coder, MaskModels(), block, kinds, item_number, level_number)
        data = next(streams) if merged else b""
        stream = CodeStream(data, header.bits) if data else None
        for cls in block.level.classes:
            if not merged:
                data = next(streams)
                stream = CodeStream(data, header.bits) if data else None
            masked = block.view(kinds[cls], cls) != VALID
            codes = Codes(masked.shape)
            if stream and parameters[cls].mean and masked.size:
                context = contexts(block, magnitude_arrays, cls)
                context[masked] = MASKED_CONTEXT
                codes = stream.read_class(context, parameters[cls].models)
            if stream and not merged:
                stream.finish()
            self._finish_class(block, samples, kinds, cls, level_number, parameters[cls], codes)
            magnitude_arrays[cls] = block.new(np.uint8)
            found = magnitudes(codes, parameters[cls].mean, header.bits)
            block.view(magnitude_arrays[cls], cls)[...] = np.where(masked, 16, found)
            block.repeat_halo(magnitude_arrays[cls], cls)
        if stream and merged:
            stream.finish()
        block.store(samples, item.samples)
        block.store(kinds, item.kinds)
        block.store(magnitude_arrays, item.magnitudes)
        if level_number > 0:
            box = ranges(block.low, [block.low[axis] + block.extent[axis] for axis in AXES])
            fill_box(item.samples[box], item.kinds[box], header.real)


# From samples to elements


def chord_table():
    """T[0 .. 64] of the octaves."""
    table = []
    for i in range(64):
        m, bits = 2**62 + i * 2**56, 0
        for _ in range(40):
            m = m * m >> 62
            bit = int(m >= 2**63)
            m >>= bit
            bits = bits << 1 | bit
        table.append(bits)
    return [*table, 2**40]


CHORDS = chord_table()
LARGEST = float(np.finfo(np.float64).max)


def number_of_octaves(v):
    """2**v by chords."""
    if not v > -1022:
        return 2.0**-1022
    if not v < 1024:
        return LARGEST
    e, t = divmod(round(v * 2.0**40), 2**40)
    if e > 1023:
        return LARGEST
    chord = max(i for i in range(64) if CHORDS[i] <= t)
    inside = (t - CHORDS[chord] << 46) // (CHORDS[chord + 1] - CHORDS[chord])
    return struct.unpack("<d", struct.pack("<Q", e + 1023 << 52 | chord << 46 | inside))[0]


def rounded(numbers, dtype):
    """Doubles clamped to the largest finite numbers of a type and rounded to it."""
    limits = np.finfo(dtype)
    return np.clip(numbers, float(limits.min), float(limits.max)).astype(dtype)


def elements(header, samples):
    """Components from samples, masks aside."""
    component = header.component
    if header.transform == LATTICE:
        return rounded(header.origin + samples.astype(np.float64) * header.delta, component)
    if header.transform == LOGARITHMIC:
        numbers = np.array([number_of_octaves(float(v)) for v in samples.reshape(-1)]).reshape(samples.shape)
        return rounded(-numbers if header.negative else numbers, component)
    if header.transform == ORDERED_HALF:
        places = np.clip(rint(samples), -(2**15), 2**15 - 1).astype(np.int16)
        return np.where(places < 0, places ^ np.int16(0x7FFF), places).view(component)
    if component.kind == "f":
        return samples.astype(component)
    if component == np.uint64:
        return samples.view(np.uint64) ^ np.uint64(2**63)
    integers = samples if header.samples == 2 else rint(samples)
    limits = np.iinfo(component)
    return np.clip(integers, limits.min, limits.max).astype(component)


def put_masked(header, words, kinds, other_bits):
    """Gives masked components their bits."""
    words[kinds == FILL] = header.fill
    words[kinds == COMMON_NAN] = header.common_nan
    words[kinds == PLUS_ZERO] = 0
    if header.component.kind == "f":
        for kind, number in ((PLUS_INFINITY, np.inf), (MINUS_INFINITY, -np.inf)):
            words[kinds == kind] = np.array(number, header.component).view(words.dtype)
    for place, own in other_bits.items():
        words[place] = own


def decode_blocks(header, data):
    """The components of a stream of the form blocks as words, real parts before imaginary ones."""
    sections = Sections(header, data)
    word = np.dtype(f"u{header.component.itemsize}")
    words = np.ascontiguousarray(elements(header, np.stack([item.samples for item in sections.items]))).view(word)
    put_masked(header, words, np.stack([item.kinds for item in sections.items]), sections.other_bits)
    whole = np.full((header.parts, *header.shape), header.padding, word)
    whole[(slice(None), *ranges([0] * len(header.valid), header.valid))] = words.reshape(header.parts, *header.valid)
    return whole


def decode(stream):
    """The array of a stream."""
    header = read_header(stream)
    dtype = header.component if header.parts == 1 else np.dtype(f"c{2 * header.component.itemsize}")
    dtype = dtype.newbyteorder(header.byte_order)
    if header.form == BLOCKS:
        with np.errstate(all="ignore"):
            words = decode_blocks(header, stream[header.size :])
        data = np.moveaxis(words, 0, -1).astype(words.dtype.newbyteorder(header.byte_order)).tobytes()
    else:
        data = stream[header.size : -4]
        require(int.from_bytes(stream[-4:], "little") == crc(stream[:-4]), "checksum of the array")
        if header.form == CONSTANT:
            data = data * math.prod(header.shape)
    require(len(data) == math.prod(header.shape) * dtype.itemsize, "size of the array")
    return np.frombuffer(data, dtype).reshape(header.shape)

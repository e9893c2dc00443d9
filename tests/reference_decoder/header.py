"""Header: its fields, and those that only the form blocks has."""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from reference_decoder.conventions import AXES, ZERO, Damaged, Reader, Truncated, crc, require, require_version
from reference_decoder.decimals import Decimals, read_decimals, require_decimals
from reference_decoder.enhancement import Enhancement, read_enhancement, require_enhancement
from reference_decoder.fields import Fields, read_fields
from reference_decoder.hierarchy import (
    LARGEST_BLOCK,
    LARGEST_ROOM,
    MERGED,
    REGIONS,
    STANDARD,
    THROUGHPUT,
    base_level_of,
    codec_axes,
    default_block,
    hierarchy,
)
from reference_decoder.layers import Layers, read_layer_errors, read_layers, require_layers
from reference_decoder.palette import MOST_VALUES
from reference_decoder.remainders import Remainders, read_remainders, require_remainders
from reference_decoder.repeats import read_repeats, require_repeats
from reference_decoder.short_floats import FLOATS, Floats
from reference_decoder.slices import SliceGrids, read_slices, require_slices
from reference_decoder.value_range import Range, read_range

RAW, CONSTANT, BLOCKS, PATCHED = range(4)
# tags of extension records of this version
LAYERS, TRAILER_SIZE, CONTENT_CHECK, AXIS_MAP = 1, 2, 4, 5
ACCUMULATED_BOUND, VALUE_RANGE, BOUND_USED, ENHANCEMENT = range(6, 10)
LAYER_ERRORS, FIELDS, EXACT_SIZE, REMAINDERS, DECIMALS = 10, 11, 12, 13, 15
SLICES, REPEATS = 17, 19
LARGEST_HEADER, MOST_PATCHES, MOST_PATCHED_ELEMENTS = 32768, 4096, 16
TRANSPARENT = 1
UNIFORM, INTEGER, ULP = range(3)
NONE, FIXED_POINT, LOGARITHMIC, ULP_SHORT, PALETTE = range(5)
HALF_STEP, MASKED, PARTIAL, OFFSETS, LEVEL_BOUNDS, LEVEL_BLOCKS, NEGATIVE, LONG_ROWS = (1 << bit for bit in range(8))
F32, F64, I64 = range(3)
NEVER_SPLIT = 63
DTYPES = [None, "f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16"]
DTYPES += ["bfloat16", "float8_e4m3fn", "float8_e5m2"]  # which NumPy has not: their components are words
WORDS = {"bfloat16": "u2", "float8_e4m3fn": "u1", "float8_e5m2": "u1"}


@dataclass
class Patch:
    """A row of the table of a patched stream: a box of the array, and where its stream is."""

    origin: list
    extent: list
    pattern: int | None  # the bits of a component that are transparent
    size: int
    offset: int = 0


@dataclass
class Header:
    """The fields of the header; those of the form blocks only if it is that."""

    form: int
    mode: int
    block_kind: int
    component: np.dtype
    floats: Floats | None  # of floating-point types
    parts: int
    byte_order: str
    shape: list
    bound: float = 0.0
    fill: int = 0
    size: int = 0
    trailer_size: int = 0
    axis_map: list | None = None
    accumulated_bound: float | None = None
    values: Range | None = None  # of the decoded components
    bound_used: bool = False
    exact_size: int | None = None
    layers: Layers = field(default_factory=Layers)
    enhancement: Enhancement | None = None
    fields: Fields | None = None
    flags: int = 0
    samples: int = 0
    quantizer: int = UNIFORM
    transform: int = NONE
    has_fill: bool = False
    negative: bool = False
    masked: bool = False
    step: int = 1
    half_step: float = 0.0
    origin: float = 0.0
    delta: float = 0.0
    decimals: Decimals | None = None
    slices: SliceGrids | None = None
    palette_count: int = 0
    palette_size: int = 0
    palette: np.ndarray | None = None  # words, once they are read
    zero_bits: int = 0
    common_nan: int = 0
    padding: int = 0
    valid: list = field(default_factory=list)
    order: list = field(default_factory=list)  # the axes of the array in the order of the samples
    batch: int = 1
    levels: list = field(default_factory=list)
    base_level: int = 0
    level_bounds: list = field(default_factory=list)
    blocks: list = field(default_factory=list)
    section_sizes: list = field(default_factory=list)
    refined_sizes: dict = field(default_factory=dict)  # (refinement, level): bytes of its section, in the order of the stream
    remainders: Remainders | None = None
    remainder_sizes: list = field(default_factory=list)
    patches: list = field(default_factory=list)
    repeats: list = field(default_factory=list)  # one for each patch, or none
    base_size: int = 0
    base_offset: int = 0

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


def combinations(component, floats):
    """The (samples, quantizer, transform) that are written for elements of a type."""
    palette = (F32, INTEGER, PALETTE)
    if floats is None:
        samples = F32 if component.itemsize <= 2 else F64 if component.itemsize == 4 else I64
        rounded = set() if samples == I64 else {(samples, UNIFORM, NONE)}
        return {(samples, INTEGER, NONE), palette} | rounded
    samples = F64 if component.itemsize == 8 else F32
    both = {(samples, UNIFORM, NONE), (F64, UNIFORM, LOGARITHMIC), palette}
    if floats.is_short:
        return both | {(F32, INTEGER, ULP_SHORT)}
    return both | {(samples, ULP, NONE), (F32, INTEGER, FIXED_POINT), (F64, INTEGER, FIXED_POINT)}


def read_header(stream):
    """The Header of a stream."""
    reader = Reader(stream)
    require(reader.take(3) == b"STZ", "not a stream")
    version = reader.integer(1)
    require(version != 0, "zero as format version")
    require_version(version == 2, "format version")
    kind = reader.integer(1)
    require_version(kind >> 7 == 0 and kind >> 2 & 3 < 3, "kind")
    dtype = reader.integer(1)
    require_version(1 <= dtype & 31 < len(DTYPES) and dtype >> 5 < 2, "type")
    name = DTYPES[dtype & 31]
    whole = np.dtype(WORDS.get(name, name))
    parts = 2 if whole.kind == "c" else 1
    component = np.dtype(f"f{whole.itemsize // 2}") if parts == 2 else whole
    floats = FLOATS.get(name if name in WORDS else f"{component.kind}{component.itemsize}")
    rank = reader.integer(1)
    require(rank <= 32, "rank")
    shape = [reader.varint() for _ in range(rank)]
    require(math.prod(extent for extent in shape if extent) < 2**56, "extents")
    header = Header(
        kind & 3, kind >> 2 & 3, REGIONS if kind >> 5 & 1 else STANDARD, component, floats, parts, "<>"[dtype >> 5], shape
    )
    if header.mode:
        header.bound = reader.double()
    require(0 <= header.bound < math.inf, "bound")
    header.has_fill = bool(kind >> 4 & 1)
    if header.has_fill:
        header.fill = reader.integer(component.itemsize)
    if kind >> 6 & 1:
        read_extension_records(reader, header)
    if header.form == BLOCKS:
        require(math.prod(shape) > 0, "blocks of no elements")
        read_blocks_header(reader, header)
    else:
        require(reader.at + 4 * bool(header.fields) <= LARGEST_HEADER, "header: size")
    if header.fields:
        read_check(reader)
    if header.form == PATCHED:
        read_patch_table(reader, header)
    header.size = reader.at
    header.base_offset = header.size + sum(patch.size for patch in header.patches)
    require(header.base_offset + header.base_size < 2**64, "sizes of patches")
    if header.repeats:
        require_repeats(header)
    return header


def read_check(reader):
    """The CRC of the header."""
    check = crc(reader.data[: reader.at])
    require(reader.integer(4) == check, "checksum of the header")


def read_extension_records(reader, header):
    """The records behind the fill value."""
    size = reader.varint()
    require(size <= LARGEST_HEADER, "extension records: size")
    for_records(reader.take(size), lambda tag, payload: read_record(tag, payload, header))


def for_records(data, use):
    """Calls use(tag, Reader of the payload) for the records that some bytes are."""
    records = Reader(data)
    tag = 0
    try:
        while records.at < len(data):
            last, tag = tag, records.varint()
            require(tag > last, "extension records: order")
            use(tag, Reader(records.take(records.varint())))
    except Truncated:
        raise Damaged("extension records: end") from None


def read_record(tag, payload, header):
    """One record. Those that are not known and even are skipped."""
    if tag == LAYERS:
        require(header.form == BLOCKS, "layers: form")
        read_layers(payload, header.layers)
    elif tag == LAYER_ERRORS:
        require(header.form == BLOCKS, "errors of layers: form")
        read_layer_errors(payload, header.layers)
    elif tag == TRAILER_SIZE:
        header.trailer_size = payload.varint()
        require(header.trailer_size >= 4, "size of the trailer")
    elif tag == AXIS_MAP:
        require(header.form == BLOCKS and len(payload.data) == len(header.shape) > 0, "axis map")
        header.axis_map = list(payload.take(len(header.shape)))
        require_version(max(header.axis_map) <= MERGED, "axis map")
    elif tag == ACCUMULATED_BOUND:
        header.accumulated_bound = payload.double()
        require(0 < header.accumulated_bound < math.inf, "accumulated bound")
    elif tag == VALUE_RANGE:
        require(header.form == BLOCKS, "range of values: form")
        header.values = read_range(payload, header.component, header.floats)
    elif tag == BOUND_USED:
        require(header.mode == 0, "bound used: mode")
        header.bound_used = True
    elif tag == ENHANCEMENT:
        require(header.form == BLOCKS, "enhancement: form")
        header.enhancement = read_enhancement(payload)
    elif tag == REMAINDERS:
        require(header.form == BLOCKS, "remainders: form")
        header.remainders = read_remainders(payload)
    elif tag == DECIMALS:
        require(header.form == BLOCKS, "decimals: form")
        header.decimals = read_decimals(payload)
    elif tag == SLICES:
        require(header.form == BLOCKS, "slices: form")
        header.slices = read_slices(payload, header.shape)
    elif tag == REPEATS:
        require(header.form == PATCHED, "repeats: form")
        header.repeats = read_repeats(payload, header.shape)
    elif tag == FIELDS:
        require(header.form == RAW and math.prod(header.shape) > 0, "fields: form")
        header.fields = read_fields(payload, header.floats)
    elif tag == EXACT_SIZE:
        require(header.form == PATCHED, "exact size: form")
        header.exact_size = payload.varint()
    else:
        require_version(tag % 2 == 0, "critical record")
        return
    require(payload.at == len(payload.data), "extension records: length of a record")


def read_patch_table(reader, header):
    """The table of a patched stream and its check."""
    elements = math.prod(header.shape)
    require(elements > 0, "patches of no elements")
    count = reader.varint()
    require(1 <= count <= MOST_PATCHES, "number of patches")
    header.base_size = reader.varint()
    patched = 0
    for _ in range(count):
        origin = []
        for axis_extent in header.shape:
            origin.append(reader.varint())
            require(origin[-1] < axis_extent, "origin of a patch")
        extent = []
        for axis_extent, axis_origin in zip(header.shape, origin, strict=True):
            extent.append(reader.varint())
            require(0 < extent[-1] <= axis_extent - axis_origin, "extent of a patch")
        flags = reader.integer(1)
        require_version(flags <= TRANSPARENT, "flags of a patch")
        pattern = reader.integer(header.component.itemsize) if flags & TRANSPARENT else None
        header.patches.append(Patch(origin, extent, pattern, reader.varint()))
        patched += math.prod(extent)
        require(patched <= MOST_PATCHED_ELEMENTS * elements, "elements of patches")
    read_check(reader)
    at = reader.at
    for patch in header.patches:
        patch.offset = at
        at += patch.size


def read_blocks_header(reader, header):
    """The rest of the header of the form blocks."""
    flags = header.flags = read_representation(reader, header)
    header.masked = bool(flags & MASKED)
    if header.masked:
        header.common_nan = reader.integer(header.component.itemsize)
    header.valid = header.shape
    if flags & PARTIAL:
        header.padding = reader.integer(header.component.itemsize)
        header.valid = [extent - reader.varint() for extent in header.shape]
        require(all(extent > 0 for extent in header.valid), "cut")
    read_levels(reader, header, flags)
    require(reader.at + 4 <= LARGEST_HEADER, "header: size")
    read_check(reader)


def read_representation(reader, header):
    """What samples and codes stand for. Returns the flags."""
    how, flags = reader.integer(1), reader.integer(1)
    if flags & LONG_ROWS:
        require_version(header.block_kind == STANDARD, "flags")
        header.block_kind = THROUGHPUT
    header.samples, header.quantizer, header.transform = how & 3, how >> 2 & 3, how >> 4
    require_version(
        (header.samples, header.quantizer, header.transform) in combinations(header.component, header.floats), "combination"
    )
    header.negative = bool(flags & NEGATIVE)
    require_version(not header.negative or header.transform == LOGARITHMIC, "negative")
    header.half_step = header.bound
    if header.quantizer == UNIFORM:
        if flags & HALF_STEP:
            header.half_step = reader.double()
        require(0 <= header.half_step < math.inf, "base")
    else:
        require_version(not flags & HALF_STEP, "half step")
        header.step = reader.varint()
        require(header.step % 2 == 1, "step")
    if header.decimals:
        require_decimals(header, header.transform == FIXED_POINT)
    elif header.transform == FIXED_POINT:
        header.origin, header.delta = reader.double(), reader.double()
        require(math.isfinite(header.origin) and math.isfinite(header.delta) and header.delta != 0, "fixed point")
    if header.transform == PALETTE:
        require_version(header.step == 1, "step of a palette")
        header.palette_count, header.palette_size = reader.varint(), reader.varint()
        require(1 <= header.palette_count <= MOST_VALUES, "number of values")
    if header.quantizer == ULP:
        header.zero_bits = reader.integer(1)
        require(header.zero_bits < (23 if header.samples == F32 else 52), "zero bits")
        require(header.zero_bits == 0 or header.step == 1, "zero bits with a step")
    return flags


def read_levels(reader, header, flags):
    """The hierarchy, what is said of each of its levels, and the sizes of the sections."""
    offsets = [reader.integer(1) for _ in AXES] if flags & OFFSETS else ZERO
    require(all(offset < 48 or offset == NEVER_SPLIT for offset in offsets), "axis offsets")
    extent, batch, header.order = codec_axes(header.valid, header.axis_map)
    header.batch = batch * header.parts
    header.levels = hierarchy(extent, offsets)
    header.base_level = base_level_of(header.levels)
    if header.remainders and not flags & LEVEL_BOUNDS:
        header.level_bounds = [header.half_step for _ in header.levels]
    elif flags & LEVEL_BOUNDS:
        header.level_bounds = [reader.double() for _ in header.levels]
        require(all(0 < bound < math.inf for bound in header.level_bounds), "level bounds")
    else:
        factors = itertools.accumulate(header.levels[1:], lambda factor, _: max(0.5, factor * 0.8), initial=1.0)
        header.level_bounds = [header.half_step * factor for factor in factors]
    for number, level in enumerate(header.levels[: header.base_level]):
        logs = [reader.integer(1) for _ in AXES] if flags & LEVEL_BLOCKS else default_block(level, number, header.block_kind)
        require(not flags & LEVEL_BLOCKS or all(1 <= log <= 30 for log in logs), "level blocks")
        header.blocks.append([min(level.extent[axis], 1 << logs[axis]) for axis in AXES])
        require(math.prod(header.blocks[-1]) <= LARGEST_BLOCK, "level blocks: samples")
        require(level.room(header.blocks[-1]) <= LARGEST_ROOM, "level blocks: samples around them")
    header.section_sizes = [reader.varint() for _ in range(header.base_level + 1)]
    require_layers(header.layers, header.base_level, header.bits)
    if header.enhancement:
        require_enhancement(header)
    header.refined_sizes = {place: reader.varint() for place in header.layers.sections()}
    if header.slices:
        require_slices(header, header.transform == FIXED_POINT)
    if header.remainders:
        require_remainders(header)
        header.remainder_sizes = [reader.varint() for _ in range(header.base_level + 1)]

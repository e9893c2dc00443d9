"""Header: its fields, and those that only the form blocks has."""

import itertools
from dataclasses import dataclass, field

import numpy as np

from reference_decoder.conventions import AXES, ZERO, Reader, crc, require
from reference_decoder.hierarchy import codec_axes, default_block, hierarchy, root_level

RAW, CONSTANT, BLOCKS = range(3)
UNIFORM, INTEGER, ORDERED = range(3)
NONE, LATTICE, LOGARITHMIC, ORDERED_HALF = range(4)
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

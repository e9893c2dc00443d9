"""Streams written by hand, field by field, from docs/format.md: also those that the encoder never writes.

A Fields object is a header of the form blocks; `header()` writes it with a check that fits. BinaryEncoder is the other
side of the second decoder's BinaryDecoder, with its models.
"""

import struct
from dataclasses import dataclass, field, replace

import numpy as np

from reference_decoder import check
from reference_decoder.binary_coder import BitModel, NumberModel, SignedModel
from reference_decoder.parameters import ParameterModels
from support.stream_bytes import varint, with_check, with_crc

F32, F64, I64 = range(3)
UNIFORM, INTEGER, ULP = range(3)
NONE, FIXED_POINT, LOGARITHMIC, ULP_SHORT, PALETTE = range(5)
LOSSLESS, ABSOLUTE, POINTWISE = range(3)
SHORT_FLOATS = {"bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1}  # bytes
DTYPES = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16", *SHORT_FLOATS]


@dataclass
class Fields:
    """The fields of a header of the form blocks. None: the field and its flag are missing."""

    shape: tuple
    dtype: str = "f4"
    mode: int = ABSOLUTE
    bound: float = 1.0
    fill: int | None = None
    region: bool = False
    representation: tuple = (F32, UNIFORM, NONE)
    flags: int = 0  # beside those that the fields below stand for
    step: int = 1
    half_step: float | None = None
    origin: float = 0.0
    delta: float = 1.0
    palette: tuple = (1, 9)  # number of values, bytes
    zero_bits: int = 0
    common_nan: int | None = None
    padding: int = 0
    cuts: tuple | None = None
    offsets: tuple | None = None
    level_bounds: tuple | None = None
    level_blocks: tuple | None = None
    section_sizes: tuple = field(default_factory=tuple)

    @property
    def component_size(self):
        """Bytes of a component."""
        if self.dtype in SHORT_FLOATS:
            return SHORT_FLOATS[self.dtype]
        return int(self.dtype[1:]) // (2 if self.dtype[0] == "c" else 1)

    def bits(self, number):
        """A component's bits."""
        return number.to_bytes(self.component_size, "little")

    def header(self):
        """The header's bytes."""
        samples, quantizer, transform = self.representation
        kind = 2 | self.mode << 2 | (self.fill is not None) << 4 | self.region << 5
        out = b"STZ\x02" + bytes([kind, 1 + DTYPES.index(self.dtype), len(self.shape)]) + b"".join(map(varint, self.shape))
        if self.mode != LOSSLESS:
            out += struct.pack("<d", self.bound)
        if self.fill is not None:
            out += self.bits(self.fill)
        present = [
            self.half_step,
            self.common_nan,
            self.cuts,
            self.offsets,
            self.level_bounds,
            self.level_blocks,
        ]
        flags = self.flags | sum(1 << bit for bit, value in enumerate(present) if value is not None)
        out += bytes([samples | quantizer << 2 | transform << 4, flags])
        if quantizer != UNIFORM:
            out += varint(self.step)
        if self.half_step is not None:
            out += struct.pack("<d", self.half_step)
        if transform == FIXED_POINT:
            out += struct.pack("<2d", self.origin, self.delta)
        if transform == PALETTE:
            out += varint(self.palette[0]) + varint(self.palette[1])
        if quantizer == ULP:
            out += bytes([self.zero_bits])
        if self.common_nan is not None:
            out += self.bits(self.common_nan)
        if self.cuts is not None:
            out += self.bits(self.padding) + b"".join(map(varint, self.cuts))
        out += bytes(self.offsets or ())
        out += struct.pack(f"<{len(self.level_bounds or ())}d", *(self.level_bounds or ()))
        out += b"".join(map(bytes, self.level_blocks or ()))
        out += b"".join(map(varint, self.section_sizes))
        return with_crc(out)

    def stream(self, *sections):
        """A stream of these sections, the base section first."""
        return replace(self, section_sizes=tuple(map(len, sections))).header() + b"".join(sections)


class BinaryEncoder:
    """Writes what BinaryDecoder reads, with models of the same classes."""

    def __init__(self):
        self.low, self.range, self.shifts = 0, 2**32 - 1, 0

    def _normalise(self):
        while self.range < 1 << 24:
            self.range <<= 8
            self.low <<= 8
            self.shifts += 1

    def bit(self, model, bit):
        """A bit with a model."""
        bound = (self.range >> 16) * min(65472, max(64, model.p))
        if bit:
            self.range = bound
        else:
            self.low += bound
            self.range -= bound
        model.update(bit)
        self._normalise()

    def raw(self, value, count):
        """`count` bits without a model."""
        for place in reversed(range(count)):
            self.range >>= 1
            self.low += self.range * (value >> place & 1)
            self._normalise()

    def plain(self, value, count):
        """`count` bits without a model, up to 16 in a step."""
        while count:
            piece = min(16, count)
            count -= piece
            self.range >>= piece
            self.low += self.range * (value >> count & (1 << piece) - 1)
            self._normalise()

    def number(self, model, value):
        """A number from 0 up."""
        e = (value + 1).bit_length() - 1
        for k in range(e):
            self.bit(model.exponent[k], 1)
        self.bit(model.exponent[e], 0)
        if e:
            rest = value + 1 - 2**e
            self.bit(model.mantissa[e], rest >> e - 1)
            self.raw(rest & (1 << e - 1) - 1, e - 1)

    def signed(self, model, value):
        """A number of either sign."""
        self.number(model.magnitude, abs(value))
        if value:
            self.bit(model.sign, int(value < 0))

    def finish(self):
        """The bytes."""
        return self.low.to_bytes(4 + self.shifts, "big")


def code_stream(symbols, raw_value, raw_size, log_lanes=0, final_state=None, lanes_byte=None):
    """A code stream of symbols, coded from the last to the first, and raw bits. Each: (number in its bin, symbol, table)."""
    states, words = [2**15] * (1 << log_lanes), []
    if final_state:
        states[final_state[0]] = final_state[1]
    for number, symbol, (_, starts, frequencies) in reversed(symbols):
        lane, frequency = number % len(states), frequencies[symbol]
        if states[lane] >= frequency << 19:
            words.append(states[lane] & 0xFFFF)
            states[lane] >>= 16
        high, low = divmod(states[lane], frequency)
        states[lane] = (high << 12) + starts[symbol] + low
    first = states[0] | (1 << 31 if log_lanes else 0)
    out = first.to_bytes(4, "little") + (bytes([log_lanes if lanes_byte is None else lanes_byte]) if log_lanes else b"")
    out += b"".join(state.to_bytes(4, "little") for state in states[1:])
    out += b"".join(word.to_bytes(2, "little") for word in reversed(words))
    return out + raw_value.to_bytes(-(-raw_size // 8), "big")


def root_section(coder):
    """The section of what was written."""
    coded = coder.finish()
    return with_check(coded)


def level_section(coder, block_count):
    """The section of parameters that were written, of one class or merged streams without masks, all of them empty."""
    sizes = NumberModel()
    for _ in range(block_count):
        coder.number(sizes, 0)
    coded = coder.finish()
    content = varint(len(coded)) + coded
    return with_check(content)


def root_of_small_codes(samples, rng):
    """A base section of small codes for so many samples, without outliers."""
    coder, stored, models = BinaryEncoder(), BitModel(), [SignedModel() for _ in range(16)]
    sizes = [0, 0]
    for code in rng.integers(-3, 4, samples).tolist():
        coder.bit(stored, 0)
        coder.signed(models[min(15, (2 * sum(sizes) + 1).bit_length() - 1)], code)
        sizes = [code if code >= 0 else -code - 1, sizes[0]]
    return root_section(coder)


class LevelWriter:
    """The parameters of the only class of a level of an array of one axis, and an index of one stream."""

    def __init__(self, arrangement=0):
        self.coder, self.models = BinaryEncoder(), ParameterModels()
        self.coder.number(NumberModel(), arrangement)

    def bits(self, **named):
        """Bits of the models with these names, in order."""
        for name, bit in named.items():
            self.coder.bit(getattr(self.models, name), bit)
        return self

    def precision(self, precision):
        """A precision other than the state's."""
        self.bits(PS=0).coder.number(self.models.PN, precision - 1)
        return self

    def numbers(self, name, *values):
        """Signed numbers of one model."""
        for value in values:
            self.coder.signed(getattr(self.models, name), value)
        return self

    def section(self, stream=b""):
        """The level's section, of a single block."""
        self.coder.number(NumberModel(), len(stream))
        coded = self.coder.finish()
        front = varint(len(coded)) + coded
        return front + check(front + stream) + stream


ONE_LEVEL = Fields((300,), "f8", representation=(F64, UNIFORM, NONE))  # 300 and, in the base section, 150 samples


def with_level(level):
    """A stream of ONE_LEVEL with these parameters of level 0."""
    return ONE_LEVEL.stream(root_of_small_codes(150, np.random.default_rng(1)), level.section())


def with_model(context, **named):
    """Parameters with a model for a context, as these names say. By default context 0 has run-length mode, 15 direct mode."""
    level = LevelWriter().bits(P0=0, AW=0, FB=0, AC=1).numbers("ME", 0)
    for _ in range(context):
        level.bits(M0=1)
    for name, value in named.items():
        if name == "MS":
            level.numbers(name, value)
        elif name == "MN":
            level.coder.number(level.models.MN, value)
        else:
            level.bits(**{name: value})
    for _ in range(15 - context):
        level.bits(M0=1)
    return level

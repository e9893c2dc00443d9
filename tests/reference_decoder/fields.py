"""Floating-point fields: the record of the header, the directory, blocks of symbols and planes."""

import itertools
from dataclasses import dataclass

import numpy as np

from reference_decoder.binary_coder import BinaryDecoder, BitModel, NumberModel
from reference_decoder.conventions import Damaged, Reader, Truncated, check, require

FULL, SHORT, CONSTANT = range(3)
LEAST_BLOCK, LARGEST_BLOCK, MOST_TOP_BITS, MOST_SYMBOLS, MOST_LANES = 6, 20, 16, 64, 6
TOTAL, LEAST_STATE, MOST_STATE = 4096, 2**15, 2**31 - 1
LEAST_SIZE = 3  # of a block, and of a directory
PLANES = 32, 16, 8


@dataclass
class Fields:
    """The payload of the record."""

    log_block: int
    width: int  # bits of a number
    mantissa: int  # bits of a number's mantissa
    low: int  # those of them in a rest
    directory: int
    blocks: int

    @property
    def top(self):
        """Bits of a top."""
        return self.width - 1 - self.low


def read_fields(payload, floats):
    """The record of the header of an array of such floating-point components; None: they are others."""
    require(floats is not None, "fields: type")
    log_block, mantissa = payload.integer(1), payload.integer(1)
    require(LEAST_BLOCK <= log_block <= LARGEST_BLOCK, "fields: block")
    require(mantissa <= floats.m, "fields: mantissa")
    fields = Fields(log_block, 1 + floats.e + floats.m, floats.m, floats.m - mantissa, payload.varint(), payload.varint())
    require(fields.top <= MOST_TOP_BITS, "fields: bits of a top")
    require(fields.directory >= LEAST_SIZE, "fields: size of the directory")
    return fields


def without_check(data):
    """Bytes without the check behind them."""
    width = 2 if len(data) < 258 else 4
    require(len(data) > width and check(data[:-width]) == data[-width:], "checksum of fields")
    return data[:-width]


def read_directory(data, blocks, all_bytes):
    """The sizes of the blocks."""
    reader = Reader(without_check(data))
    sizes = [reader.varint() for _ in range(min(blocks, len(data)))]
    require(len(sizes) == blocks and reader.at == len(reader.data), "directory: length")
    require(all(size >= LEAST_SIZE for size in sizes) and sum(sizes) == all_bytes, "directory: sizes")
    return sizes


class Models:
    """The models of the parameters of a block, by the names of the document."""

    def __init__(self):
        self.COUNT, self.N, self.Z, self.G, self.F = (NumberModel() for _ in range(5))
        self.E, self.S, self.C, self.IC, self.IS = (BitModel() for _ in range(5))


@dataclass
class Symbol:
    """A symbol of a block. The escape has no top."""

    top: int | None
    kind: int = FULL
    rest: int = 0
    frequency: int = TOTAL


class Block:
    """The parameters of a block of n numbers."""

    def __init__(self, coded, fields, n):
        self.fields = fields
        coder, models = BinaryDecoder(coded), Models()
        count = coder.number(models.COUNT)
        self.escapes = 1 + coder.number(models.N) if coder.bit(models.E) else 0
        has_short, has_constant = coder.bit(models.S), coder.bit(models.C)
        require(1 <= count + (self.escapes > 0) <= MOST_SYMBOLS, "fields: symbols")
        self.zeros, self.of_kind = [coder.number(models.Z), 0], [0, 0, 0]
        if has_short:
            self.zeros[SHORT] = coder.number(models.Z)
            self.of_kind[SHORT] = 1 + coder.number(models.N)
        if has_constant:
            self.of_kind[CONSTANT] = 1 + coder.number(models.N)
        require(max(self.zeros) <= fields.low, "fields: zero bits")
        self.of_kind[FULL] = n - sum(self.of_kind)
        require(self.escapes <= self.of_kind[FULL], "fields: numbers")
        self.coded = count + (self.escapes > 0) > 1
        self.symbols = []
        for _ in range(count):
            self.symbols.append(self._symbol(coder, models))
        if self.escapes:
            self.symbols.append(Symbol(None))
            if self.coded:
                self.symbols[-1].frequency = 1 + coder.number(models.F)
        require(sum(symbol.frequency for symbol in self.symbols) == TOTAL, "fields: frequencies")
        self.log_lanes = self.words = 0
        if self.coded:
            self.log_lanes, self.words = coder.raw(3), coder.number(models.N)
            require(self.log_lanes <= MOST_LANES and self.words <= n, "fields: lanes and words")

    def _symbol(self, coder, models):
        """The next symbol."""
        last = self.symbols[-1] if self.symbols else Symbol(0, -1)
        symbol = Symbol(last.top + (last.kind == CONSTANT) + coder.number(models.G))
        require(symbol.top < 1 << self.fields.top, "fields: top")
        if self.of_kind[CONSTANT] and coder.bit(models.IC):
            symbol.kind = CONSTANT
            symbol.rest = coder.plain(1 + self.fields.low)
        elif self.of_kind[SHORT] and coder.bit(models.IS):
            symbol.kind = SHORT
        require(symbol.top > last.top or symbol.kind > last.kind, "fields: order of symbols")
        if self.coded:
            symbol.frequency = 1 + coder.number(models.F)
        return symbol


def read_symbols(reader, block, n):
    """The symbol of each number."""
    if not block.coded:
        return block.symbols * n
    states = [reader.integer(4) for _ in range(1 << block.log_lanes)]
    require(all(LEAST_STATE <= state <= MOST_STATE for state in states), "fields: state of a lane")
    words = Reader(reader.take(2 * block.words))
    starts = list(itertools.accumulate((symbol.frequency for symbol in block.symbols), initial=0))
    places = [number for number, symbol in enumerate(block.symbols) for _ in range(symbol.frequency)]
    found = []
    for i in range(n):
        lane = i % len(states)
        y = states[lane] % TOTAL
        symbol = block.symbols[places[y]]
        state = symbol.frequency * (states[lane] >> 12) + y - starts[places[y]]
        states[lane] = state << 16 | words.integer(2) if state < LEAST_STATE else state
        found.append(symbol)
    require(words.at == len(words.data) and set(states) == {LEAST_STATE}, "fields: end of the symbols")
    return found


def read_bits(reader, count, bits):
    """`count` numbers of so many bits, without gaps."""
    taken = int.from_bytes(reader.take(-(-count * bits // 8)), "little")
    return [taken >> at * bits & (1 << bits) - 1 for at in range(count)]


def read_planes(reader, count, bits):
    """`count` rests of so many bits."""
    rests, at = [0] * count, 0
    for plane in PLANES:
        if bits - at >= plane:
            rests = [rest | reader.integer(plane // 8) << at for rest in rests]
            at += plane
    left = read_bits(reader, count, bits - at)
    return [rest | more << at for rest, more in zip(rests, left, strict=True)]


def decode_block(data, fields, n):
    """The numbers of a block."""
    reader = Reader(without_check(data))
    block = Block(reader.take(reader.varint()), fields, n)
    symbols = read_symbols(reader, block, n)
    require(sum(symbol.top is None for symbol in symbols) == block.escapes, "fields: escapes")
    for kind in (SHORT, CONSTANT):
        require(sum(symbol.kind == kind for symbol in symbols) == block.of_kind[kind], "fields: kinds")
    rests = []
    for kind in (FULL, SHORT):
        stored = read_planes(reader, block.of_kind[kind], 1 + fields.low - block.zeros[kind])
        rests.append(iter([rest << block.zeros[kind] for rest in stored]))
    tops = iter(read_bits(reader, block.escapes, fields.top))
    require(reader.at == len(reader.data), "fields: bytes left over")
    numbers = []
    for symbol in symbols:
        top = next(tops) if symbol.top is None else symbol.top
        rest = symbol.rest if symbol.kind == CONSTANT else next(rests[symbol.kind])
        sign, mantissa = divmod(rest, 1 << fields.low)
        numbers.append(sign << fields.width - 1 | top << fields.low | mantissa)
    return numbers


def decode_fields(fields, data, numbers):
    """The numbers, in the order of the array, as unsigned integers; `data`: what follows the header."""
    if len(data) < fields.directory + fields.blocks:
        raise Truncated("truncated")
    require(len(data) == fields.directory + fields.blocks, "bytes behind the blocks")
    in_block = 1 << fields.log_block
    sizes = read_directory(data[: fields.directory], -(-numbers // in_block), fields.blocks)
    found, at = [], fields.directory
    for number, size in enumerate(sizes):
        try:
            found += decode_block(data[at : at + size], fields, min(in_block, numbers - number * in_block))
        except Truncated:
            raise Damaged("a block ends too early") from None
        at += size
    return np.array(found, f"u{fields.width // 8}")

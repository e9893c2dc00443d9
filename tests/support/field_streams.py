"""Streams of floating-point fields written by hand from docs/format.md, also those that the encoder never writes."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from reference_decoder.fields import CONSTANT, FULL, PLANES, SHORT, TOTAL, Models, Symbol
from support import cases
from support.patched_streams import component, record, words
from support.stream_bytes import varint, with_check, with_crc
from support.stream_writer import BinaryEncoder

RECORD = 11
MANTISSA = {2: 10, 4: 23, 8: 52}  # bits, by bytes of a number
KINDS = [None, *cases.KINDS]  # by the number that a stream gives a dtype


@dataclass
class BlockWriter:
    """A block of numbers. What the parameters say may be changed before `bytes()`."""

    numbers: list
    width: int
    low: int
    log_lanes: int = 0
    short_zeros: int = 0  # 0: no number is short
    constants: bool = True
    most_symbols: int = 64  # with the escape
    symbols: list = field(default_factory=list)  # without the escape
    claims: dict = field(default_factory=dict)  # of the parameters: names of what is said wrongly, and what is said instead

    def __post_init__(self):
        self.rests = [(number >> self.width - 1) << self.low | number & (1 << self.low) - 1 for number in self.numbers]
        self.tops = [number >> self.low & (1 << self.width - 1 - self.low) - 1 for number in self.numbers]
        keys = list(zip(self.tops, map(self._kind, self.rests), strict=True))
        if self.constants:
            alike = {key: {rest for rest, other in zip(self.rests, keys, strict=True) if other == key} for key in set(keys)}
            equal = {key for key, rests in alike.items() if len(rests) == 1}
            equal -= {(top, SHORT) for top, kind in equal if kind == FULL}  # one constant of each top
            keys = [(key[0], CONSTANT) if key in equal else key for key in keys]
        counts = Counter(keys)
        kept = sorted(counts, key=lambda key: (-counts[key], key))
        if len(kept) > self.most_symbols:
            kept = kept[: self.most_symbols - 1]
        numbers = {key: number for number, key in enumerate(sorted(kept))}
        self.of_number = [numbers.get(key, len(numbers)) for key in keys]
        rest_of = dict(zip(keys, self.rests, strict=True))
        self.symbols = [Symbol(top, kind, rest_of[top, kind] if kind == CONSTANT else 0) for top, kind in sorted(kept)]
        self.escapes = self.of_number.count(len(numbers))
        self._set_frequencies()

    def _kind(self, rest):
        return SHORT if self.short_zeros and rest & (1 << self.short_zeros) - 1 == 0 else FULL

    def _set_frequencies(self):
        """Frequencies in rough proportion to counts."""
        counts = Counter(self.of_number)
        self.frequencies = [
            max(1, counts[s] * TOTAL // len(self.numbers)) for s in range(len(self.symbols) + (self.escapes > 0))
        ]
        largest = self.frequencies.index(max(self.frequencies))
        self.frequencies[largest] += TOTAL - sum(self.frequencies)

    def _of_kind(self, kind):
        """The rests of a kind; those of escapes are full."""
        kinds = [symbol.kind for symbol in self.symbols] + [FULL]
        return [rest for rest, symbol in zip(self.rests, self.of_number, strict=True) if kinds[symbol] == kind]

    def _encoded_symbols(self):
        """(states, words)."""
        states, out = [2**15] * (1 << self.log_lanes), []
        for i in reversed(range(len(self.numbers))):
            lane, symbol = i % len(states), self.of_number[i]
            frequency = self.frequencies[symbol]
            if states[lane] >= frequency << 19:
                out.append(states[lane] & 0xFFFF)
                states[lane] >>= 16
            high, low = divmod(states[lane], frequency)
            states[lane] = (high << 12) + sum(self.frequencies[:symbol]) + low
        return states, out[::-1]

    def _parameters(self, zeros, counted, said_words):
        """The output of the binary coder."""
        out, models = BinaryEncoder(), Models()
        out.number(models.COUNT, len(self.symbols))
        out.bit(models.E, self.escapes > 0)
        if self.escapes:
            out.number(models.N, counted["escapes"] - 1)
        out.bit(models.S, counted["shorts"] > 0)
        out.bit(models.C, counted["constants"] > 0)
        out.number(models.Z, zeros[FULL])
        if counted["shorts"]:
            out.number(models.Z, zeros[SHORT])
            out.number(models.N, counted["shorts"] - 1)
        if counted["constants"]:
            out.number(models.N, counted["constants"] - 1)
        coded, least = len(self.frequencies) > 1, 0
        for symbol, frequency in zip(self.symbols, self.frequencies, strict=False):
            out.number(models.G, symbol.top - least)
            least = symbol.top + (symbol.kind == CONSTANT)
            if counted["constants"]:
                out.bit(models.IC, symbol.kind == CONSTANT)
            if counted["shorts"] and symbol.kind != CONSTANT:
                out.bit(models.IS, symbol.kind == SHORT)
            if symbol.kind == CONSTANT:
                out.plain(symbol.rest, 1 + self.low)
            if coded:
                out.number(models.F, frequency - 1)
        if coded:
            if self.escapes:
                out.number(models.F, self.frequencies[-1] - 1)
            out.raw(self.claims.get("log_lanes", self.log_lanes), 3)
            out.number(models.N, said_words)
        return out.finish()

    def bytes(self):
        """The block with its check."""
        rests = {kind: self._of_kind(kind) for kind in (FULL, SHORT, CONSTANT)}
        zeros = {kind: common_zeros(rests[kind], self.low) for kind in (FULL, SHORT)} | self.claims.get("zeros", {})
        counted = {"escapes": self.escapes, "shorts": len(rests[SHORT]), "constants": len(rests[CONSTANT])}
        counted |= {name: self.claims[name] for name in counted if name in self.claims}
        states, coded_words = self._encoded_symbols() if len(self.frequencies) > 1 else ([], [])
        states = self.claims.get("states", states)
        parameters = self._parameters(zeros, counted, self.claims.get("words", len(coded_words)))
        out = varint(len(parameters)) + parameters
        out += b"".join(state.to_bytes(4, "little") for state in states)
        out += b"".join(word.to_bytes(2, "little") for word in coded_words)
        for kind in (FULL, SHORT):
            out += planes([rest >> zeros[kind] for rest in rests[kind]], 1 + self.low - zeros[kind])
        escaped = [top for top, symbol in zip(self.tops, self.of_number, strict=True) if symbol == len(self.symbols)]
        return with_check(out + packed(escaped, self.width - 1 - self.low) + self.claims.get("behind", b""))


def common_zeros(rests, low):
    """The lowest bits that are zero in all rests; their signs are always stored."""
    return next((bit for bit in range(low) if any(rest >> bit & 1 for rest in rests)), low)


def packed(numbers, bits):
    """Numbers of so many bits without gaps."""
    whole = sum((number & (1 << bits) - 1) << at * bits for at, number in enumerate(numbers))
    return whole.to_bytes(-(-len(numbers) * bits // 8), "little")


def planes(rests, bits):
    """The planes of rests of so many bits."""
    out, at = b"", 0
    for plane in PLANES:
        if bits - at >= plane:
            out += packed([rest >> at for rest in rests], plane)
            at += plane
    return out + packed([rest >> at for rest in rests], bits - at)


def block_writers(array, log_block=6, mantissa=0, **options):
    """The blocks of an array."""
    width = 8 * component(array.dtype).itemsize
    numbers = words(array).reshape(-1).tolist()
    cut = [numbers[at : at + (1 << log_block)] for at in range(0, len(numbers), 1 << log_block)]
    return [BlockWriter(of_block, width, MANTISSA[width // 8] - mantissa, **options) for of_block in cut]


def stream_of_blocks(array, blocks, log_block=6, mantissa=0, sizes=None, claimed=None):
    """A stream of these blocks (bytes). `sizes`, `claimed`: what directory and header say instead of their sizes."""
    directory = with_check(b"".join(map(varint, sizes or map(len, blocks))))
    content = b"".join(blocks)
    payload = bytes([log_block, mantissa]) + b"".join(map(varint, claimed or (len(directory), len(content))))
    kind = np.dtype(array.dtype)
    front = b"STZ\x02" + bytes([64, KINDS.index(kind.str[1:]) | (kind.str[0] == ">") << 5, array.ndim])
    records = record(RECORD, payload)
    front += b"".join(map(varint, array.shape)) + varint(len(records)) + records
    return with_crc(front) + directory + content


def stream_of(array, log_block=6, mantissa=0, **options):
    """A stream of an array, each of whose blocks is written with these options."""
    blocks = [writer.bytes() for writer in block_writers(array, log_block, mantissa, **options)]
    return stream_of_blocks(array, blocks, log_block, mantissa)

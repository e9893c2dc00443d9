"""Code streams: rANS lanes from the front, raw bits from the back."""

import itertools
from functools import cache

import numpy as np

from reference_decoder.conventions import Reader, require, require_version, unzigzag
from reference_decoder.models import TABLES
from reference_decoder.quantizers import Codes, largest_code


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
            require_version(1 <= log_lanes <= 6, "lanes or coder")
            first, lanes = first & 0x7FFFFFFF, 1 << log_lanes
        self.states = [first] + [self.words.integer(4) for _ in range(lanes - 1)]
        require(all(2**15 <= state < 2**31 for state in self.states), "state of a lane")
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
        """The symbol that is the bin's token `number`."""
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
        """(v, None) for a symbol, (None, bits) for an outlier."""
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
        code, outlier, bits = codes.code.reshape(-1), codes.outlier.reshape(-1), codes.bits.reshape(-1)
        for number, model in enumerate(models):
            places = np.flatnonzero(context == number)
            if len(places) == 0:
                continue
            read_bin = self._even_bin if model.even_bits else self._run_length_bin if model.run_length else self._direct_bin
            for place, (zigzag, sample_bits) in read_bin(model, len(places)).items():
                if sample_bits is None:
                    require(zigzag <= 2 * largest_code(self.bits), "code")
                    code[places[place]] = unzigzag(zigzag)
                else:
                    outlier[places[place]], bits[places[place]] = True, sample_bits
        return codes

    def _direct_bin(self, model, count):
        """{place: (zigzag, bits if an outlier)} of a bin in direct mode."""
        scale, shape, shift = model.scale_or_zero_run, model.shape_or_value, model.shift
        if shift == 0:
            table = symbol_table("two_sided_source", 36 * shape + scale)
        else:
            table = symbol_table("one_sided_source", 4 * shape + (scale - 36) % 4)
        symbols = [self.symbol(table, number) for number in range(count)]
        low_bits = [self.raw(shift) for _ in range(count)]
        codes_by_place = {}
        for place in range(count):
            value, sample_bits = self.value(symbols[place], table)
            codes_by_place[place] = (None, sample_bits) if value is None else (value << shift | low_bits[place], None)
        return codes_by_place

    def _even_bin(self, model, count):
        """{place: (zigzag, None)} of a bin of fields."""
        return {place: (self.raw(model.even_bits), None) for place in range(count)}

    def _run_length_bin(self, model, count):
        """{place: (zigzag, bits if an outlier)} of the codes of a bin in run-length mode that are not zero."""
        zero_runs = symbol_table("zero_run_source", model.scale_or_zero_run)
        values = symbol_table("value_source", model.shape_or_value)
        codes_by_place, place, token = {}, 0, 0
        while place < count:
            zero_run = self._zero_run(self.symbol(zero_runs, token), zero_runs, count - place)
            if zero_run == count - place:
                break
            place += zero_run
            value, sample_bits = self.value(self.symbol(values, token + 1), values)
            codes_by_place[place] = (None, sample_bits) if value is None else (value + 1, None)
            place += 1
            token += 2
        return codes_by_place

    def _zero_run(self, symbol, table, left):
        """The length of a run of zeros, `left` if the rest of the bin is zeros."""
        if symbol == len(table[2]) - 1:
            e = self.raw(6)
            require(e < 63, "zero run")
            zero_run = 2**e + self.raw(e) - 1
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
            zero_run = base + self.raw(raw_count)
            require(zero_run < left, "zero run")
        require(zero_run <= left, "zero run")
        return zero_run

    def finish(self):
        """Checks that the stream ends as it must."""
        require(self.words.at == self.end and self.raw_count < 8 and self.raw_bits == 0, "end of a code stream")
        require(all(state == 2**15 for state in self.states), "final state of a code stream")

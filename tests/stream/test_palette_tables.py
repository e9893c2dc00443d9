"""Tables of palettes written by hand: their limits, ranks beyond them, what a table may cost; by both decoders, by readers."""

import itertools

import numpy as np
import pytest

import h5stz
import reference_decoder
from h5stz import _core
from reference_decoder import read_header
from reference_decoder.binary_coder import BitModel, NumberModel, SignedModel
from reference_decoder.conventions import floor_log2
from support import boxes
from support.memory import grows_less_than
from support.stream_bytes import with_check
from support.stream_writer import F32, INTEGER, LOSSLESS, PALETTE, BinaryEncoder, Fields, root_section
from support.two_decoders import decoded, verdict, word_of


class TableWriter:
    """A table, number by number."""

    def __init__(self, width, first, zero_bits=0, changes=0):
        self.coder, self.models = BinaryEncoder(), [SignedModel() for _ in range(64)]
        self.s0 = self.s1 = 0
        self.changes = changes
        self.coder.number(NumberModel(), zero_bits)
        self.coder.bit(BitModel(), changes)
        self.coder.raw(first, width - zero_bits)

    def numbers(self, *numbers):
        """Distances minus 1, or changes of distances."""
        for number in numbers:
            model = self.models[floor_log2(self.s0 + self.s1 + 1)]
            if self.changes:
                self.coder.signed(model, number)
            else:
                self.coder.number(model.magnitude, number)
            self.s0, self.s1 = abs(number), self.s0
        return self

    def section(self):
        """Its bytes."""
        return with_check(self.coder.finish())


def stream(dtype, count, table, ranks=(0,), outlier=None):
    """A stream of so few samples that all are in the coarsest level: these ranks, or one outlier of these bits."""
    coder, stored, models = BinaryEncoder(), BitModel(), [SignedModel() for _ in range(16)]
    before, s0, s1 = 0, 0, 0
    for rank in ranks:
        coder.bit(stored, int(outlier is not None))
        if outlier is not None:
            coder.raw(outlier, 32)
            continue
        code = rank - before
        coder.signed(models[min(15, floor_log2(2 * (s0 + s1) + 1))], code)
        before, s0, s1 = rank, code if code >= 0 else -code - 1, s0
    base = root_section(coder)
    fields = Fields(
        (len(ranks),),
        dtype,
        LOSSLESS,
        representation=(F32, INTEGER, PALETTE),
        palette=(count, len(table)),
        section_sizes=(len(base),),
    )
    return fields.header() + table + base


def place(number, dtype):
    """The place of a number, as docs/format.md has it."""
    dtype = np.dtype(dtype)
    width = 8 * dtype.itemsize
    bits = int(np.array(number, dtype).view(f"u{dtype.itemsize}"))
    if dtype.kind == "u":
        return bits
    return bits ^ (2**width - 1) if dtype.kind == "f" and bits >> width - 1 else bits ^ 1 << width - 1


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_a_table_by_distances_and_by_changes(dtype):
    low, high = (3, 9) if dtype[0] == "u" else (-5, 6)
    numbers = np.unique(np.array([low, low + 1, 1, 2, high], dtype))
    places = [place(number, dtype) for number in numbers]
    distances = [b - a for a, b in itertools.pairwise(places)]
    width = 8 * numbers.itemsize
    if max(distances) >= 2**63:
        return  # -5 and 1 as float64 are farther apart
    written = TableWriter(width, places[0]).numbers(*[d - 1 for d in distances]).section()
    changes = [b - a for a, b in itertools.pairwise([1, *distances])]
    other = TableWriter(width, places[0], changes=1).numbers(*changes).section()
    for table in (written, other):
        assert decoded(stream(dtype, len(numbers), table, (0, len(numbers) - 1))).tolist() == [numbers[0], numbers[-1]]


def test_zero_bits_of_numbers_of_both_signs():
    table = TableWriter(32, place(-1.5, "f4") >> 22, zero_bits=22).numbers(
        (place(1.5, "f4") >> 22) - (place(-1.5, "f4") >> 22) - 1
    )
    assert decoded(stream("f4", 2, table.section(), (0, 1))).tolist() == [-1.5, 1.5]


@pytest.mark.parametrize(
    ("bits", "expected"), [(0x7FC00000, 1), (0x7F800000, 3), (0xFF800000, 1), (0x4F000000, 3), (0xCF000000, 1), (0x40000000, 3)]
)
def test_outliers_and_ranks_that_the_table_does_not_have(bits, expected):
    table = TableWriter(16, 1).numbers(0, 0).section()
    assert decoded(stream("u2", 3, table, outlier=bits)).tolist() == [expected]


@pytest.mark.parametrize(("rank", "expected"), [(-1, 7), (-(2**31) + 1, 7), (0, 7), (1, 9), (2, 9), (2**31 - 1, 9)])
def test_ranks_are_clamped(rank, expected):
    table = TableWriter(32, place(7, "i4")).numbers(1).section()
    assert decoded(stream("i4", 2, table, (rank,))).tolist() == [expected]


FLOAT_ENDS = place(np.finfo("f4").min, "f4"), place(np.finfo("f4").max, "f4")


@pytest.mark.parametrize(
    ("dtype", "count", "table", "expected"),
    [
        ("f4", 2, TableWriter(32, FLOAT_ENDS[0]).numbers(FLOAT_ENDS[1] - FLOAT_ENDS[0] - 1), None),
        ("f4", 2, TableWriter(32, FLOAT_ENDS[0]).numbers(FLOAT_ENDS[1] - FLOAT_ENDS[0]), "damaged"),
        ("f4", 1, TableWriter(32, FLOAT_ENDS[0] - 1), "damaged"),
        ("f4", 1, TableWriter(32, FLOAT_ENDS[1] + 1), "damaged"),
        ("f8", 1, TableWriter(64, 0), "damaged"),
        ("f2", 1, TableWriter(16, 0xFFFF), "damaged"),
        ("u1", 2, TableWriter(8, 0).numbers(254), None),
        ("u1", 2, TableWriter(8, 0).numbers(255), "damaged"),
        ("i2", 1, TableWriter(16, 0, zero_bits=15), None),
        ("i2", 1, TableWriter(16, 0, zero_bits=16), "damaged"),
        ("i2", 2, TableWriter(16, 0, zero_bits=15).numbers(0), None),
        ("i2", 3, TableWriter(16, 0, zero_bits=15).numbers(0, 0), "damaged"),
        ("u8", 2, TableWriter(64, 0).numbers(2**63 - 2), None),
        ("u8", 2, TableWriter(64, 1, changes=1).numbers(2**63 - 2), None),
        ("u8", 3, TableWriter(64, 0, changes=1).numbers(2**63 - 2, 1), "damaged"),
        ("u8", 2, TableWriter(64, 0, changes=1).numbers(-1), "damaged"),
        ("u8", 2, TableWriter(64, 9, changes=1).numbers(-(2**63) + 2), "damaged"),
    ],
)
def test_limits_of_tables(dtype, count, table, expected):
    assert verdict(stream(dtype, count, table.section())) == expected


@pytest.mark.parametrize("table", [b"", b"\0", with_check(b""), with_check(bytes(3)), bytes(258)], ids=len)
def test_tables_that_are_too_short(table):
    assert verdict(stream("u4", 200, table)) == "damaged"


def test_the_check_of_a_table():
    whole = stream("u2", 3, TableWriter(16, 1).numbers(0, 0).section(), (2,))
    assert verdict(whole) is None
    for at in range(read_header(whole).size, len(whole)):
        damaged = whole[:at] + bytes([whole[at] ^ 16]) + whole[at + 1 :]
        assert word_of(h5stz.decompress, damaged) == word_of(reference_decoder.decode, damaged) == "checksum"


def test_a_few_bytes_that_promise_a_large_table_take_no_memory():
    table = with_check(b"\xff\xff\xff\xfe" + b"\xff" * 60)  # the decoder reads zero bits
    with grows_less_than(1 << 20):
        assert verdict(stream("u8", 2**20, table)) == "damaged"


def test_a_reader_fetches_the_table_once():
    rng = np.random.default_rng(1)
    values = np.sort(rng.random(3000)).astype("f4")
    array = values[np.rint(1500 + 1499 * np.sin(np.arange(60000) / 500)).astype(int)].reshape(200, 300)
    data = h5stz.compress(array, lossless=True)
    header = read_header(data)
    assert header.transform == PALETTE and header.palette_size > 2000
    reads = []

    def read(offset, size):
        reads.append((offset, size))
        return data[offset : offset + size]

    reader = _core.Reader.of_callback(read, len(data), 0)
    for start in ((0, 0), (64, 64), (8, 200), (0, 0)):
        count = (40, 50)
        assert np.array_equal(boxes.read(reader, "f4", start, count), boxes.cut(array, start, count, (1, 1)))
    covered = np.zeros(len(data), int)
    for offset, size in reads:
        covered[offset : offset + size] += 1
    assert set(covered[header.size : header.size + header.palette_size]) == {1}

"""Streams of later versions, simulated: the second table of "Versions" in docs/format.md, row by row, in both decoders and all
readers.

What only describes is skipped, what changes samples is refused by name, and nothing is ever guessed.
"""

import re

import numpy as np
import pytest

import h5stz
import reference_decoder
from golden import arrays
from h5stz import _core
from support import boxes, exact
from support.patched_streams import Patch, compose, extended, record
from support.paths import ROOT
from support.relaned import relaned
from support.stream_bytes import varint, with_crc
from support.stream_writer import F64, NONE, UNIFORM, Fields, LevelWriter, root_of_small_codes, with_level, with_model
from support.two_decoders import verdict

BASE = arrays.compress(arrays.of_dtype(arrays.waves((30, 26), 50), "f4"), {"absolute": 9.0, "content_check": False})
RAW = arrays.compress(np.arange(20, dtype="u2") ** 3, {"lossless": True})
CONSTANT = arrays.compress(np.full((7, 8), 2.5), {"absolute": 0.1})
PATCHED = compose(BASE, [Patch((1, 2), (3, 4), arrays.compress(np.ones((3, 4), "f4"), {"lossless": True}))])
FORMS = {"blocks": BASE, "raw": RAW, "constant": CONSTANT, "patched": PATCHED}


def of_fields(**changes):
    """A stream of a header with other fields, and sections that fit the plain one."""
    return Fields(**{"shape": (300,), "dtype": "f8", "representation": (F64, UNIFORM, NONE), **changes}).stream(
        root_of_small_codes(150, np.random.default_rng(1)), LevelWriter().bits(P0=0, AW=0, FB=0, AC=0).section()
    )


def with_byte(stream, place, value):
    """The stream with another byte, and checks that fit."""
    size = reference_decoder.read_header(stream).size
    front = bytearray(stream[: size - 4])
    front[place] = value
    return with_crc(bytes(front)) + stream[size:]


def odd_records():
    return [extended(stream, record(tag, b"x")) for stream in FORMS.values() for tag in (3, 21, 23, 4711, 2**63 + 1)]


def even_records():
    return [(stream, extended(stream, record(tag, b"x"))) for stream in FORMS.values() for tag in (14, 100, 2**63)]


def trailers():
    trailer = with_crc(record(14, b"x") + record(4711, b"odd"))
    return [(stream, extended(stream, record(2, varint(len(trailer))), trailer)) for stream in FORMS.values()]


def reserved_in_the_header():
    """The mode 3, the highest bit of `kind`, dtypes, byte orders, sample types, quantizers, transforms, flags and roles."""
    kind = BASE[4]
    bytes_ = [(4, kind | 12), (4, kind | 128), (5, 17), (5, 31), (5, 2 | 2 << 5), (5, 2 | 7 << 5)]
    found = [with_byte(BASE, place, value) for place, value in bytes_]
    for representation in ((3, 0, 0), (F64, 3, 0), (F64, 0, 5), (F64, 0, 15), (F64, 1, 0)):
        found.append(of_fields(representation=representation))
    found += [of_fields(flags=64), of_fields(region=True, flags=128)]
    return [*found, extended(BASE, record(5, bytes([2, 6])))]


def reserved_in_sections():
    """Arrangements, predictors, stencils, precisions, tables of symbols, coders."""
    weights = LevelWriter().bits(P0=0, AW=1, S0=1, S1=1, S2=1)
    levels = [LevelWriter(3), LevelWriter().bits(P0=1, P1=1, P2=1), weights, LevelWriter().bits(P0=0, AW=1, S0=0).precision(25)]
    for context, parts in (
        (0, {"MS": 280 - 12, "H0": 0, "H1": 0}),
        (15, {"MS": 48 - 8, "MV": 1}),
        (15, {"MS": 0, "MV": 0, "MN": 32}),
    ):
        levels.append(with_model(context, M0=0, M1=0, **parts))
    lanes = relaned(arrays.compress(*arrays.cases()["levels_2d"]), 2, lanes_byte=8 | 2)
    return [*map(with_level, levels), lanes]


def other_versions():
    return [stream[:3] + bytes([version]) + stream[4:] for stream in FORMS.values() for version in (1, 3, 127, 131, 255)]


REFUSED = {
    "another record with an odd tag": odd_records,
    "what is reserved in the header (below)": reserved_in_the_header,
    "what is reserved in sections (below)": reserved_in_sections,
    "another format version": other_versions,
}
SKIPPED = {"another record with an even tag": even_records, "another record of a trailer": trailers}
#: Golden streams have them.
KNOWN = {
    "critical records 1, 5 and 9",
    "records 2, 6, 8, 10 and 12, record 4 of a trailer",
    "critical record 7",
    "critical record 11",
    "critical record 13",
    "critical record 15",
    "critical record 17",
    "critical record 19",
    "dtypes 14, 15 and 16",
}


def whole_by_reader(stream):
    info = h5stz.info(stream)
    return boxes.read(_core.Reader.of_bytes(stream, 0), info.dtype, (0,) * len(info.shape), info.shape)


@pytest.mark.parametrize("row", REFUSED)
def test_what_may_change_samples_is_refused(row):
    for number, stream in enumerate(REFUSED[row]()):
        assert verdict(stream) == "version", number
        with pytest.raises(h5stz.StzError, match="newer version of h5stz"):
            whole_by_reader(stream)


@pytest.mark.parametrize("row", SKIPPED)
def test_what_describes_is_skipped(row):
    for plain, stream in SKIPPED[row]():
        array = h5stz.decompress(plain)
        for decode in (h5stz.decompress, whole_by_reader, reference_decoder.decode):
            assert exact.same_bits(array, decode(stream))


def test_the_table_has_these_rows():
    text = (ROOT / "docs/format.md").read_text()
    table = text[text.index("| what is in a stream |") :].split("\n\n")[0]
    rows = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)[1:]
    assert set(rows) - {"---"} == {*REFUSED, *SKIPPED, *KNOWN}

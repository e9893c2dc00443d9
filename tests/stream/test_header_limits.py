"""Headers written by hand: both decoders refuse what is out of range, reserved or beyond a limit."""

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
import reference_decoder
from support import stream_writer
from support.stream_bytes import with_crc
from support.stream_writer import (
    F32,
    F64,
    FIXED_POINT,
    I64,
    INTEGER,
    LOGARITHMIC,
    LOSSLESS,
    NONE,
    PALETTE,
    ULP,
    ULP_SHORT,
    UNIFORM,
    Fields,
)
from support.two_decoders import word_of

NEGATIVE, HALF_STEP = 64, 1
NAN, INFINITY = math.nan, math.inf


def verdict(fields):
    """What both make of a header; fails where they differ."""
    header = fields.header()
    said = [word_of(call, header) for call in (h5stz.info, reference_decoder.read_header)]
    assert said[0] == said[1], fields
    return said[0]


def with_sizes(fields):
    """The fields with as many section sizes as there must be."""
    for count in range(1, 49):
        sized = replace(fields, section_sizes=(9,) * count)
        if word_of(reference_decoder.read_header, sized.header()) not in ("truncated", "checksum"):
            return sized
    raise AssertionError("no number of sections fits")


PLAIN = Fields((20, 30))  # 600, 150 samples: one level below the base level
ULP_FIELDS = Fields((20, 30), mode=LOSSLESS, representation=(F32, ULP, NONE))
FIXED_POINT_FIELDS = Fields((20, 30), representation=(F32, INTEGER, FIXED_POINT))
PALETTE_FIELDS = Fields((20, 30), representation=(F32, INTEGER, PALETTE))
OCTAVES = Fields((20, 30), mode=2, representation=(F64, UNIFORM, LOGARITHMIC))


@pytest.mark.parametrize("fields", [PLAIN, ULP_FIELDS, FIXED_POINT_FIELDS, PALETTE_FIELDS, OCTAVES, Fields((2,)), Fields(())])
def test_headers_that_are_sound(fields):
    assert verdict(with_sizes(fields)) is None


def with_blocks(shape, first):
    """Fields that name the blocks of level 0, and small ones of the levels down to the base level."""
    below_root = next(level for level in range(48) if math.prod(-(-extent >> level) for extent in shape) <= 256)
    return Fields(shape, level_blocks=(first, *[(3, 3, 3, 3)] * (below_root - 1)))


SOUND = [
    replace(ULP_FIELDS, zero_bits=22),
    replace(ULP_FIELDS, step=5),
    replace(ULP_FIELDS, step=2**64 - 1),
    replace(FIXED_POINT_FIELDS, delta=-1e-300, origin=-1e308),
    replace(PALETTE_FIELDS, palette=(2**20, 0)),
    replace(OCTAVES, half_step=0.125, flags=NEGATIVE),
    replace(PLAIN, half_step=0.0),
    replace(PLAIN, offsets=(47, 0, 0, 3)),
    replace(PLAIN, offsets=(63,) * 4),
    replace(PLAIN, common_nan=0, fill=7, cuts=(19, 29), padding=3),
    with_blocks((2048, 2048), (11, 11, 11, 11)),
    with_blocks((4096, 2048), (1, 1, 11, 11)),
    with_blocks((2**14, 2**14), (30, 30, 30, 8)),
    with_blocks((2**22,), (1, 1, 1, 30)),
    with_blocks((2, 2, 2, 38826), (1, 1, 1, 30)),  # 12^3 * 2 * 19418 samples with those around them, just below 2^26
    replace(PLAIN, level_bounds=(1e300, 5e-324, 1.0, 1.0, 1.0)),
]


@pytest.mark.parametrize("fields", SOUND)
def test_values_at_the_ends_of_their_ranges(fields):
    assert verdict(with_sizes(fields)) is None


RESERVED = [
    replace(PLAIN, flags=NEGATIVE),
    replace(ULP_FIELDS, flags=NEGATIVE),
    replace(FIXED_POINT_FIELDS, flags=NEGATIVE),
    replace(ULP_FIELDS, flags=HALF_STEP),
    replace(ULP_FIELDS, half_step=1.0),
    replace(FIXED_POINT_FIELDS, flags=HALF_STEP),
    replace(FIXED_POINT_FIELDS, half_step=1.0),
    replace(PLAIN, representation=(F32, ULP, FIXED_POINT)),
    replace(PLAIN, representation=(3, UNIFORM, NONE)),
    replace(PLAIN, representation=(F32, 3, NONE)),
    replace(PLAIN, representation=(F32, UNIFORM, 5)),
    replace(PLAIN, representation=(F32, UNIFORM, PALETTE)),
    replace(PALETTE_FIELDS, step=3),
    replace(PALETTE_FIELDS, flags=NEGATIVE),
    replace(PLAIN, region=True, flags=128),
]


@pytest.mark.parametrize("fields", RESERVED)
def test_what_is_reserved_is_for_a_later_version(fields):
    assert verdict(with_sizes(fields)) == "version"


VERSIONS = [(3, version) for version in (1, 2, 127, 128, 130, 255) if version != h5stz.FORMAT_VERSION]
KINDS = [(4, 2 | 128), (4, 2 | 3 << 2)]
TYPES = [(5, 0), (5, 17), (5, 31), (5, 2 | 2 << 5)]


@pytest.mark.parametrize(("place", "byte"), VERSIONS + KINDS + TYPES)
def test_unknown_versions_kinds_and_types(place, byte):
    header = bytearray(with_sizes(PLAIN).header())
    header[place] = byte
    header = with_crc(header[:-4])
    assert word_of(h5stz.info, header) == word_of(reference_decoder.read_header, header) == "version"


DAMAGED = [
    *[replace(PLAIN, bound=bound) for bound in (-1.0, INFINITY, NAN)],
    *[replace(PLAIN, half_step=base) for base in (-1.0, INFINITY, NAN)],
    *[replace(FIXED_POINT_FIELDS, delta=delta) for delta in (0.0, -0.0, INFINITY, NAN)],
    *[replace(FIXED_POINT_FIELDS, origin=origin) for origin in (-INFINITY, NAN)],
    replace(ULP_FIELDS, zero_bits=23),
    replace(ULP_FIELDS, zero_bits=1, step=3),
    *[replace(ULP_FIELDS, step=step) for step in (0, 2, 2**64 - 2)],
    replace(FIXED_POINT_FIELDS, step=4),
    replace(PALETTE_FIELDS, step=2),
    *[replace(PALETTE_FIELDS, palette=palette) for palette in ((0, 9), (2**20 + 1, 9), (2**63, 9))],
    *[replace(PLAIN, offsets=(0, 0, 0, offset)) for offset in (48, 62, 64, 255)],
    replace(PLAIN, cuts=(20, 0)),
    *[replace(PLAIN, level_bounds=(1.0,) * 4 + (bound,)) for bound in (0.0, -1.0, INFINITY, NAN)],
    *[with_blocks((20, 30), (3, 3, 3, log)) for log in (0, 31, 255)],
    Fields((1,) * 33),
    Fields((2**28, 2**28)),
    Fields((0, 4)),
    with_blocks((4096, 2048), (1, 1, 12, 11)),
    with_blocks((2**22 + 1,), (1, 1, 1, 23)),
    with_blocks((5, 2**20), (1, 1, 3, 20)),
    with_blocks((2, 2, 2, 2**16), (1, 1, 1, 16)),  # few samples, but with many around them
    with_blocks((2, 2, 2, 38827), (1, 1, 1, 30)),
]


@pytest.mark.parametrize("fields", DAMAGED)
def test_what_is_out_of_range_is_damage(fields):
    assert verdict(with_sizes(fields)) == "damaged"


@pytest.mark.parametrize(("offset", "expected"), [(0, None), (1, "damaged"), (25, "damaged"), (47, "damaged"), (63, None)])
def test_every_level_splits_an_axis(offset, expected):
    assert verdict(with_sizes(Fields((5000,), offsets=(0, 0, 0, offset)))) == expected


def test_an_axis_waits_for_its_offset_while_another_one_is_split():
    assert verdict(with_sizes(Fields((3, 5000), offsets=(0, 0, 0, 2)))) is None  # 3, 2, 1
    assert verdict(with_sizes(Fields((3, 5000), offsets=(0, 0, 0, 3)))) == "damaged"


@pytest.mark.parametrize("dtype", stream_writer.DTYPES)
def test_every_combination_of_samples_quantizer_and_transform(dtype):
    verdicts = {
        combination: verdict(with_sizes(Fields((20, 30), dtype, representation=combination)))
        for combination in itertools.product(range(4), range(4), range(6))
    }
    short = dtype in ("f2", *stream_writer.SHORT_FLOATS)
    kind, width = "f" if short else dtype[0], Fields((1,), dtype).component_size
    samples = F32 if width < 4 or (kind in "fc" and width == 4) else F64 if kind in "fc" or width == 4 else I64
    expected = {(samples, INTEGER, NONE)} if kind in "iu" else {(samples, UNIFORM, NONE), (F64, UNIFORM, LOGARITHMIC)}
    expected |= {(F32, INTEGER, PALETTE)}
    if kind in "iu" and width <= 4:
        expected |= {(samples, UNIFORM, NONE)}
    if short:
        expected |= {(F32, INTEGER, ULP_SHORT)}
    elif kind in "fc":
        expected |= {(samples, ULP, NONE), (F32, INTEGER, FIXED_POINT), (F64, INTEGER, FIXED_POINT)}
    assert {combination for combination, found in verdicts.items() if found is None} == expected
    assert {found for found in verdicts.values() if found} == {"version"}


OFFSETS = st.sampled_from([0, 1, 2, 3, 4, 5, 8, 25, 47, 48, 63])
DOUBLES = st.one_of(st.sampled_from([0.0, -0.0, 1.0, 5e-324, 1.7e308, INFINITY, -INFINITY, NAN]), st.floats())


@given(
    fields=st.builds(
        Fields,
        shape=st.lists(st.one_of(st.integers(0, 40), st.integers(0, 2**31)), max_size=6).map(tuple),
        dtype=st.sampled_from(stream_writer.DTYPES),
        mode=st.integers(0, 3),
        bound=DOUBLES,
        fill=st.none() | st.integers(0, 255),
        representation=st.sampled_from(
            [(F32, UNIFORM, NONE), (F32, INTEGER, FIXED_POINT), (F32, INTEGER, PALETTE), (F64, INTEGER, NONE), (F32, ULP, NONE)]
        )
        | st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 5)),
        flags=st.sampled_from([0, 0, 0, NEGATIVE, HALF_STEP]),
        step=st.integers(0, 6) | st.integers(0, 2**64 - 1),
        half_step=st.none() | DOUBLES,
        origin=DOUBLES,
        delta=DOUBLES,
        palette=st.tuples(st.integers(0, 2**21), st.integers(0, 2**40)),
        zero_bits=st.integers(0, 60),
        common_nan=st.none() | st.integers(0, 255),
        offsets=st.none() | st.tuples(*[OFFSETS] * 4),
    )
)
def test_both_decoders_agree_on_any_header(fields):
    verdict(with_sizes(fields))

"""Values that are reserved inside sections: both decoders take a stream with one of them for that of a later version."""

import pytest

from support.relaned import relaned
from support.small_streams import STREAMS
from support.stream_writer import LevelWriter, with_level, with_model
from support.two_decoders import verdict


@pytest.mark.parametrize(("arrangement", "expected"), [(0, None), (1, None), (3, "version"), (200, "version")])
def test_arrangements_of_streams(arrangement, expected):
    assert verdict(with_level(LevelWriter(arrangement).bits(P0=0, AW=0, FB=0, AC=0))) == expected


def test_edge_mode_has_no_parameters():
    assert verdict(with_level(LevelWriter(2))) is None


@pytest.mark.parametrize(("bits", "expected"), [((0,), None), ((1, 0), None), ((1, 1, 0), None), ((1, 1, 1), "version")])
def test_predictors(bits, expected):
    level = LevelWriter().bits(**dict(zip(("P0", "P1", "P2"), bits, strict=False)))
    if bits == (0,):
        level.bits(AW=0)
    assert verdict(with_level(level.bits(FB=0, AC=0))) == expected


@pytest.mark.parametrize(
    ("bits", "groups", "expected"), [((0,), 3, None), ((1, 0), 3, None), ((1, 1, 0), 5, None), ((1, 1, 1), 5, "version")]
)
def test_stencils(bits, groups, expected):
    level = LevelWriter().bits(P0=0, AW=1, **dict(zip(("S0", "S1", "S2"), bits, strict=False))).bits(PS=1)
    level.numbers("W0", 3).numbers("W1", 0, 0).numbers("W2", *[0] * (groups - 3)).bits(FB=0, AC=0)
    assert verdict(with_level(level)) == expected


@pytest.mark.parametrize(("precision", "expected"), [(1, None), (24, None), (25, "version"), (2**60, "version")])
def test_precisions(precision, expected):
    level = LevelWriter().bits(P0=0, AW=1, S0=0).precision(precision).numbers("W0", 3).numbers("W1", 0, 0).bits(FB=0, AC=0)
    assert verdict(with_level(level)) == expected


@pytest.mark.parametrize(
    ("scale", "expected"), [(0, None), (280, "version"), (2**62, "version"), (-1, "damaged"), (-(2**62), "damaged")]
)
def test_scales(scale, expected):
    assert verdict(with_level(with_model(0, M0=0, M1=0, MS=scale - 12, H0=0, H1=0))) == expected


@pytest.mark.parametrize(
    ("zero_run", "expected"), [(0, None), (47, None), (48, "version"), (2**62, "version"), (-1, "damaged")]
)
def test_tables_of_zero_runs(zero_run, expected):
    assert verdict(with_level(with_model(15, M0=0, M1=0, MS=zero_run - 8, MV=1))) == expected


@pytest.mark.parametrize(("value", "expected"), [(0, None), (31, None), (32, "version"), (2**62, "version")])
def test_value_tables(value, expected):
    assert verdict(with_level(with_model(15, M0=0, M1=0, MS=0, MV=0, MN=value))) == expected


@pytest.mark.parametrize("lanes", [0, 7, 8, 8 | 2, 128 | 6, 255])
def test_coders_and_numbers_of_lanes(lanes):
    _, stream = STREAMS["float32"]
    assert verdict(relaned(stream, 2)) is None
    assert verdict(relaned(stream, 2, lanes_byte=lanes)) == "version"

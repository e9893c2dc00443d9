"""Integers come back exactly unless a bound is asked for by name: an index, a flag or a time that is near is simply wrong."""

import numpy as np
import pytest

import h5stz
from support import cases, exact

BOUNDS = [{"absolute": 40.0}, {"relative": 0.3}, {"psnr": 30}, {"pointwise_relative": 0.5}]


@pytest.mark.parametrize("dtype", cases.INTEGERS, ids=str)
def test_every_bound_leaves_integers_alone(dtype):
    array = cases.make("rough", (30, 40), dtype)
    for options in BOUNDS:
        stream = h5stz.compress(array, **options)
        assert exact.same_bits(array, h5stz.decompress(stream)), options
        assert (h5stz.info(stream).mode, h5stz.info(stream).bound) == ("lossless", 0.0)


def test_bool_is_always_exact():
    flags = np.arange(600).reshape(20, 30) % 7 < 2
    for options in BOUNDS:
        for integers in ("lossless", "lossy"):
            stream = h5stz.compress(flags, integers=integers, **options)
            assert np.array_equal(h5stz.decompress(stream).astype(bool), flags), (options, integers)


@pytest.mark.parametrize("dtype", cases.INTEGERS_ONCE, ids=str)
def test_lossy_integers_are_asked_for_by_name(dtype):
    array = cases.make("rough", (30, 40), dtype)
    stream = h5stz.compress(array, absolute=40.0, integers="lossy")
    assert (h5stz.info(stream).mode, h5stz.info(stream).bound) == ("absolute", 40.0)
    assert len(stream) < len(h5stz.compress(array, absolute=40.0))


@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_floating_point_data_do_not_care(dtype):
    array = cases.make("smooth", (30, 40), dtype)
    assert h5stz.compress(array, absolute=1e-2, integers="lossy") == h5stz.compress(array, absolute=1e-2)


def test_the_options_say_it():
    described = h5stz.STZ(absolute=2, dtype="i4").resolved.described()
    assert "absolute=2.0 does not apply to int32 without integers='lossy'" in described
    assert h5stz.STZ(absolute=2, dtype="i4") == h5stz.STZ(lossless=True)
    assert h5stz.STZ(absolute=2, dtype="i4", integers="lossy").bound == 2
    assert h5stz.STZ(absolute=2, integers="lossy") != h5stz.STZ(absolute=2), "the filter looks at the type of a dataset"


@pytest.mark.parametrize("dtype", cases.INTEGERS_ONCE, ids=str)
def test_bounds_hold_over_the_whole_range_of_a_type(dtype):
    """Those that are coded as numbers between the integers are rounded at the end."""
    limits, random = np.iinfo(dtype), np.random.default_rng(5)
    waves = np.sin(np.arange(40.0) / 6)[:, None] * np.cos(np.arange(50.0) / 9)
    rough = waves + 0.1 * random.standard_normal(waves.shape)
    for sheet in (waves, rough):
        numbers = (sheet + 1) / 2 * (float(limits.max) - float(limits.min)) + float(limits.min)
        array = np.array([[min(max(int(v), limits.min), limits.max) for v in row] for row in numbers], dtype)
        for bound in (1, 2, 2.9, 7, 100.5):
            decoded = h5stz.decompress(h5stz.compress(array, absolute=bound, integers="lossy"))
            assert abs(array.astype(object) - decoded.astype(object)).max() <= int(bound), bound

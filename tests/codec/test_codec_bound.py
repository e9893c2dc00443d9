"""The bound of every mode over dtypes, byte orders, patterns and bounds; the reference is exact arithmetic (exact.py)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import h5stz
from h5stz import _core
from support import cases, exact

SHAPES = [(2500,), (43, 61), (13, 14, 15), (3, 9, 10, 11), (5, 1, 21, 2, 7), (2, 3, 4, 5, 6, 3)]


def shape_for(*parts):
    """One of the shapes, chosen by what is tested so that all of them occur."""
    return SHAPES[sum(map(ord, "".join(map(str, parts)))) % len(SHAPES)]


def some(values, place, count):
    """So many of the values, others for each place: what is varied besides meets each of them."""
    return [values[(place + step * len(values) // count) % len(values)] for step in range(count)]


@pytest.mark.parametrize("kind", cases.FLOATING_KINDS)
def test_absolute_bounds_around_one_ulp(kind):
    for place, (dtype, pattern) in enumerate(cases.pairs(kind)):
        array = cases.make(pattern, shape_for(pattern, dtype), dtype)
        numbers = np.abs(exact.components(array))
        number = numbers.max() if place % 2 else np.sort(numbers)[numbers.size // 2]
        ulp = float(np.spacing(min(number, np.finfo(number.dtype).max / 2)))
        for bound in (0.49 * ulp, 0.5 * ulp, 0.51 * ulp, ulp, np.nextafter(ulp, 0), 1.5 * ulp, 3.7 * ulp, 20 * ulp):
            cases.keeps(array, absolute=bound)


@pytest.mark.parametrize("dtype", cases.FLOATING_ONCE, ids=str)
def test_pointwise_relative_bounds_of_one_sign_with_zeros(dtype):
    positive = np.abs(exact.components(cases.make("rough", (20, 30), dtype)))
    positive[::7] = 0
    for numbers in (positive, -positive, np.where(np.arange(positive.size) % 3, positive, -positive)):
        array = cases.from_numbers(numbers, (20, 30), dtype)
        zero = exact.components(array) == 0
        for bound in (1e-3, 0.2, 0.95):
            decoded = cases.round_trip(array, pointwise_relative=bound)[1]
            exact.largest_error(array, decoded, bound, pointwise=True)
            assert np.array_equal(exact.bits(exact.components(array))[zero], exact.bits(exact.components(decoded))[zero])


@pytest.mark.parametrize("dtype", cases.FLOATING_ONCE, ids=str)
def test_pointwise_relative_bounds_over_the_whole_range_of_magnitudes(dtype):
    info = np.finfo(cases.number_type(dtype))
    exponents = np.linspace(np.log2(float(info.smallest_subnormal)), np.log2(float(info.max)) - 1e-3, 3000)
    numbers = np.exp2(exponents).astype(info.dtype)
    numbers[-5:] = info.max
    signs = np.random.default_rng(3).choice([-1, 1], numbers.size).astype(info.dtype)
    for values in (numbers, -numbers, numbers * signs):
        for bound in (1e-3, 0.4):
            cases.keeps(cases.from_numbers(values, (-1,), dtype), pointwise_relative=bound)


@pytest.mark.parametrize("dtype", cases.INTEGERS_ONCE, ids=str)
def test_integers_at_their_limits_do_not_wrap_around(dtype):
    low, high = cases.limits(dtype)
    ends = np.array([low, low + 1, high - 1, high, low // 2 + high // 2], cases.number_type(dtype))
    for bound in (1, 1.999, 2, 7.5, 100, 1e6, 4e9, 1e18, 9.3e18, 1e25):
        drawn = np.random.default_rng(int(bound) % 1000).choice(ends, 900)
        for numbers in (drawn, np.repeat(ends, 180), np.linspace(low // 2, high // 2, 900).astype(ends.dtype)):
            cases.keeps(cases.from_numbers(numbers, (-1, 30), dtype), absolute=bound)


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2", "<c8"])
def test_a_lone_number_far_from_a_grid(dtype):
    """Samples in steps of 0.01 or of a tiny number, and one that is as many steps away as no integer can count."""
    smooth = 20 + 5 * np.sin(np.arange(8000) / 100) + np.random.default_rng(1).normal(0, 0.1, 8000)
    for place, value in enumerate((1e20, -9.96921e36, 2.0**63, 6e4)):
        for step in (0.01, 2.0**-20):
            numbers = (np.round(smooth / step) * step).astype(cases.number_type(dtype))
            numbers[(4115, 6667)[place % 2]] = max(min(value, 6e4), -6e4) if dtype == "<f2" else value
            array = cases.from_numbers(numbers, (100, -1), dtype)
            for options in ({"lossless": True}, {"absolute": 1e-3}, {"absolute": step}, {"pointwise_relative": 1e-9}):
                cases.keeps(array, **options)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", ">f8", "<c8", ">c8", "<c16"])
def test_bounds_around_the_largest_number(dtype):
    """Samples near the largest number, and bounds as large, also larger than it: what is finite stays finite."""
    largest = float(np.finfo(cases.number_type(dtype)).max)
    for times in (0.5, 1.0005, 1.9, 2.5):
        for seed in range(4):
            rng = np.random.default_rng(seed)
            numbers = (rng.choice([-1, 1], 2592) * rng.uniform(0.995, 1, 2592) * largest).astype(cases.number_type(dtype))
            cases.keeps(cases.from_numbers(numbers, (54, -1), dtype), absolute=min(times * largest, np.finfo("f8").max))


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_lossless_bits_of_every_kind(dtype):
    width = cases.number_type(dtype).itemsize
    bits = np.random.default_rng(5).integers(0, 2 ** (8 * width) - 1, 6000, np.uint64, endpoint=True)
    bits[::50] = 1 << (8 * width - 1)  # -0.0
    numbers = bits.astype(f"u{width}").view(cases.number_type(dtype))
    array = cases.from_numbers(numbers, (-1, 50), dtype)
    assert exact.same_bits(array, cases.round_trip(array, lossless=True)[1])


def core_round_trip(array, mode, bound):
    """The array back from the codec without the checks of the Python package."""
    native = array.dtype.str[1:]
    arguments = (_core.DTYPES[native], _core.BIG if array.dtype.str[0] == ">" else _core.LITTLE, array.shape)
    stream = _core.compress(array.tobytes(), *arguments, _core.Options(_core.MODES[mode], bound))
    out = np.empty_like(array)
    _core.decompress(stream, out.view("u1").data if out.ndim else bytearray(out.nbytes), 1)
    return out


@pytest.mark.parametrize("kind", cases.FLOATING_KINDS)
def test_pointwise_relative_bounds_of_one_and_more(kind):
    # The package refuses them because they say so little; the codec keeps them.
    for place, (dtype, pattern) in enumerate(cases.pairs(kind)):
        array = cases.make(pattern, (30, 40), dtype)
        for bound in some((1.0, 1.7, 50.0, 1e300), place, 2):
            exact.largest_error(array, core_round_trip(array, "pointwise_relative", bound), bound, pointwise=True)


@pytest.mark.parametrize(
    "shape",
    [(0,), (3, 0, 5), (2**40, 0), (0, 2**55), (2**8,) * 6 + (1,) * 25 + (0,), (0,) + (2**7,) * 7 + (1,) * 24],
    ids=str,
)
def test_empty_arrays(shape):
    for fill in (None, 3):
        options = _core.Options(_core.MODES["absolute"], 0.5, fill)
        stream = _core.compress(b"", _core.DTYPES["f8"], _core.LITTLE, shape, options)
        assert len(stream) <= cases.OVERHEAD
        _core.decompress(stream, bytearray(), 1)
        assert _core.info(stream)["shape"] == shape


@pytest.mark.parametrize("shape", [(2**56,), (2**30, 2**30), (0, 2**56), (2**62,) * 31 + (0,)], ids=str)
def test_shapes_that_nobody_can_address_are_refused(shape):
    with pytest.raises(h5stz.StzError, match="axes"):
        _core.compress(b"", _core.DTYPES["f4"], _core.LITTLE, shape, _core.Options(_core.MODES["absolute"], 0.5))


@settings(max_examples=max(120, settings.default.max_examples))
@given(
    pattern=st.sampled_from(sorted(cases.PATTERNS)),
    dtype=st.sampled_from(cases.DTYPES),
    shape=st.lists(st.integers(1, 12), max_size=5),
    seed=st.integers(0, 2**32),
    bound=st.floats(0, 2) | st.floats(0, allow_infinity=False, allow_nan=False),
    of_the_range=st.booleans(),
)
def test_any_absolute_bound(pattern, dtype, shape, seed, bound, of_the_range):
    array = cases.make(pattern, tuple(shape), dtype, seed)
    if of_the_range:
        bound = min(bound, 2.0) * min(cases.width(array), 8e307)
    cases.keeps(array, absolute=bound)


@settings(max_examples=max(120, settings.default.max_examples))
@given(
    pattern=st.sampled_from(sorted(cases.PATTERNS)),
    dtype=st.sampled_from(cases.FLOATING),
    shape=st.lists(st.integers(1, 12), max_size=5),
    seed=st.integers(0, 2**32),
    bound=st.floats(0, 1, exclude_max=True) | st.floats(0, 1e-300),
)
def test_any_pointwise_relative_bound(pattern, dtype, shape, seed, bound):
    cases.keeps(cases.make(pattern, tuple(shape), dtype, seed), pointwise_relative=bound)

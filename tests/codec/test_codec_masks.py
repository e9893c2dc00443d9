"""Missing samples: NaN with any payload, infinities and fill values come back bit for bit, the others keep the bound."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
from support import cases, exact

SHAPES = [(2600,), (50, 53), (12, 15, 14), (6, 7, 8, 9)]
MODES = [{"absolute": 0.05}, {"absolute": 3.0}, {"pointwise_relative": 1e-3}, {"lossless": True}]
# Shapes of chunks and of what is valid in them.
PADDED = [
    ((3000,), (1700,)),
    ((3000,), (1,)),
    ((60, 50), (33, 50)),
    ((60, 50), (60, 1)),
    ((60, 50), (7, 11)),
    ((16, 17, 18), (16, 3, 18)),
    ((16, 17, 18), (1, 1, 1)),
    ((16, 17, 18), (9, 10, 11)),
    ((8, 7, 9, 6), (5, 7, 2, 6)),
    ((3, 4, 5, 6, 7), (3, 2, 5, 6, 4)),
]
COVERS = ["none", "few", "half", "patch", "all", "all but one", "one", "first", "last", "checkerboard", "plane"]


def cover(name, shape, seed=1):
    """Which samples are missing."""
    rng = np.random.default_rng(seed)
    missing = np.zeros(shape, bool)
    flat = missing.reshape(-1)
    if name == "few":
        flat[:] = rng.random(flat.size) < 0.02
    elif name == "half":
        flat[:] = rng.random(flat.size) < 0.5
    elif name == "patch":
        missing[tuple(slice(n // 3, 2 * n // 3 + 1) for n in shape)] = True
    elif name == "all":
        missing[...] = True
    elif name == "all but one":
        missing[...] = True
        flat[flat.size // 2 + 1] = False
    elif name in ("one", "first", "last"):
        flat[{"one": flat.size // 3, "first": 0, "last": -1}[name]] = True
    elif name == "checkerboard":
        missing[...] = np.indices(shape).sum(axis=0) % 2 == 0
    elif name == "plane":
        missing[shape[0] // 2 :] = True
    return missing


def special_bits(dtype, which, count, seed=2):
    """Bits of NaN and infinities for the number type of `dtype`."""
    width = cases.number_type(dtype).itemsize
    fraction = {2: 10, 4: 23, 8: 52}[width]
    sign, infinity = 1 << (8 * width - 1), ((1 << (8 * width - 1)) - 1) >> fraction << fraction
    quiet, rng = infinity | 1 << (fraction - 1), np.random.default_rng(seed)
    if which == "payloads":
        payloads = rng.integers(1, 1 << fraction, count, np.uint64) | np.uint64(infinity)
        return np.where(rng.random(count) < 0.5, payloads | np.uint64(sign), payloads).astype(f"u{width}")
    choices = {
        "nan": [quiet],
        "negative nan": [quiet | sign],
        "signalling nan": [infinity | 1],
        "inf": [infinity],
        "-inf": [infinity | sign],
        "infinities": [infinity, infinity | sign],
        "all kinds": [quiet, quiet | sign, infinity | 1, infinity, infinity | sign],
    }[which]
    return rng.choice(np.array(choices, f"u{width}"), count)


def with_bits(array, missing, bits):
    """A copy of an array with the bits (one per real number) where `missing` (one per real number) says."""
    numbers = exact.components(array).copy()
    exact.bits(numbers)[missing.reshape(-1)] = bits[: np.count_nonzero(missing)]
    return cases.from_bits(exact.bits(numbers), array.shape, array.dtype)


@pytest.mark.parametrize("dtype", cases.FLOATING_ONCE, ids=str)
@pytest.mark.parametrize(
    "which", ["nan", "negative nan", "signalling nan", "payloads", "inf", "-inf", "infinities", "all kinds"]
)
def test_nan_and_infinities(dtype, which):
    for number, name in enumerate(COVERS):
        shape = SHAPES[(number + len(which)) % len(SHAPES)]
        array = cases.make("rough" if number % 2 else "smooth", shape, dtype)
        missing = cover(name, exact.components(array).shape if dtype.kind == "c" else shape)
        array = with_bits(array, missing, special_bits(dtype, which, missing.size))
        cases.keeps(array, **MODES[(number // 2 + len(which)) % len(MODES)])


@pytest.mark.parametrize("dtype", [dtype for dtype in cases.ONCE if dtype.kind != "c"], ids=str)
def test_fill_values(dtype):
    if dtype.kind == "f":
        info = np.finfo(dtype)
        fills = [-9999.0, 0.0, -0.0, float(info.max / 3), float(info.max), float(info.smallest_subnormal)]
    else:
        fills = [0, *cases.limits(dtype), 42]
    modes = MODES if dtype.kind == "f" else MODES[:2] + MODES[3:]
    for place, (name, fill) in enumerate(itertools.product(COVERS, fills)):
        shape = SHAPES[place % len(SHAPES)]
        array = cases.make("rough", shape, dtype)
        array[cover(name, shape)] = fill
        cases.keeps(array, fill_value=fill, **modes[place // len(SHAPES) % len(modes)])


@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<i2", ">u4", "<i8"])
def test_valid_samples_near_the_fill_value_keep_the_bound(dtype):
    rng = np.random.default_rng(4)
    array = rng.integers(95, 106, (50, 60)).astype(dtype)
    for bound in (1, 2, 40):
        cases.keeps(array, fill_value=100, absolute=bound)


@pytest.mark.parametrize("dtype", ["<f4", "<f8"])
def test_zeros_of_both_signs_are_not_the_same_fill_value(dtype):
    array = np.where(np.random.default_rng(5).random((40, 50)) < 0.5, 0.0, -0.0).astype(dtype)
    array[5:9] = 3.25
    decoded = cases.round_trip(array, fill_value=0.0, absolute=0.5)[1]
    positive = exact.bits(array) == 0
    assert not exact.bits(decoded)[positive].any()


@pytest.mark.parametrize("dtype", cases.ONCE, ids=str)
def test_chunks_padded_at_the_edge(dtype):
    nan = int(special_bits(dtype, "nan", 1)[0]) if dtype.kind in "fc" else 0x41
    pads = {"zero": 0, "nan": nan, "odd nan": nan | 7, "value": 0x41, "fill": 7}
    for place, (shape, valid) in enumerate(PADDED * 2):
        pad, bits = list(pads.items())[(place + place // len(PADDED)) % len(pads)]
        array = cases.make("rough", shape, dtype)
        outside = np.ones(shape, bool)
        outside[tuple(slice(n) for n in valid)] = False
        parts = exact.components(array).size // array.size
        array = with_bits(array, np.repeat(outside.reshape(-1), parts), np.full(array.size * parts, bits, np.uint64))
        fill = {"fill_value": cases.number_from_bits(bits, dtype)} if pad == "fill" and dtype.kind != "c" else {}
        stream = cases.keeps(array, absolute=0.5, **fill)
        inside = cases.keeps(np.ascontiguousarray(array[tuple(slice(n) for n in valid)]), absolute=0.5, **fill)
        if dtype.kind != "c" or pad == "zero":
            assert len(stream) < len(inside) + 40, "what is outside costs next to nothing"
        if place % 3 == 0:
            cases.keeps(array, lossless=True, **fill)


def test_masks_cost_little():
    missing = cover("patch", (200, 200))
    array = cases.make("smooth", (200, 200), "f4")
    plain = len(cases.keeps(array, absolute=0.05))
    array[missing] = np.nan
    assert len(cases.keeps(array, absolute=0.05)) < plain + 1000


@given(
    dtype=st.sampled_from(cases.FLOATING),
    shape=st.lists(st.integers(1, 14), min_size=1, max_size=4),
    which=st.sampled_from(["nan", "payloads", "infinities", "all kinds"]),
    share=st.sampled_from([0.01, 0.3, 0.9]),
    pattern=st.sampled_from(sorted(cases.PATTERNS)),
    options=st.sampled_from(MODES),
    seed=st.integers(0, 1000),
)
def test_any_mask(dtype, shape, which, share, pattern, options, seed):
    array = cases.make(pattern, tuple(shape), dtype, seed)
    missing = np.random.default_rng(seed).random(exact.components(array).size) < share
    cases.keeps(with_bits(array, missing, special_bits(dtype, which, missing.size, seed)), **options)


@pytest.mark.parametrize("options", [{}, {"layers": 2}, {"block": "region"}, {"effort": 9}], ids=str)
def test_minus_zero_is_a_number_where_the_fill_value_is_zero(options):
    array = cases.make("rough", (64, 64), "f4")
    array[::5, ::7], array[1::5, ::7] = 0.0, -0.0
    found = h5stz.decompress(h5stz.compress(array, absolute=0.5, fill_value=0, **options))
    fill = array.view("u4") == 0
    assert np.array_equal(found.view("u4") == 0, fill) and np.abs(found - array).max() <= 0.5


def test_one_rare_nan_does_not_make_the_others_expensive():
    """The most frequent NaN is the one that costs no bits of its own, not the first one."""
    rng = np.random.default_rng(5)
    array = np.cumsum(rng.standard_normal((32, 32, 32)), -1).astype("f4")
    bits = array.view("u4")
    bits[rng.random(array.shape) < 0.3] = 0x7FC00001
    plain = h5stz.compress(array, absolute=0.1)
    bits[0, 0, 0] = 0x7FC00002
    stream = h5stz.compress(array, absolute=0.1)
    assert len(stream) < len(plain) + 100
    decoded = h5stz.decompress(stream)
    assert np.array_equal(decoded.view("u4")[np.isnan(array)], bits[np.isnan(array)])

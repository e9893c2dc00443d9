"""Data with few distinct values are coded by rank where that is shorter: bit for bit, whatever type, mode and values are."""

import numpy as np
import pytest

import h5stz
from support import cases, exact

PALETTE = "blocks of ranks in a palette"
RNG = np.random.default_rng(1)


def ranks(shape, count, seed=1):
    """Smooth integers from 0 to count - 1."""
    x = np.linspace(0, 7 + seed, int(np.prod(shape)))
    return np.rint((np.sin(x) + 1) / 2 * (count - 1)).astype(int).reshape(shape)


def values(count, dtype, seed=1):
    """So many different values by rising number, that are no multiples of anything, and all over the type's range."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize) - 1, 40 * count, dtype=np.uint64, endpoint=True).astype(
        f"u{dtype.itemsize}"
    )
    numbers = np.unique(bits.view(dtype)[np.isfinite(bits.view(dtype))])
    return numbers[np.sort(rng.choice(len(numbers), count, replace=False))]


def coded(array, **options):
    """The form of the stream, which must give the array again."""
    options = {"lossless": True} if not options else options
    stream = h5stz.compress(array, **{"fill_value": False, **options})
    assert exact.same_bits(array, h5stz.decompress(stream))
    return h5stz.info(stream).form


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_every_type(dtype):
    real = cases.number_type(dtype)
    table = values(30, real)
    numbers = table[np.clip(ranks(6000, 30) + np.random.default_rng(3).integers(-1, 2, 6000), 0, 29)]
    array = cases.from_numbers(numbers, 3000 if dtype.kind == "c" else (60, 100), dtype)
    assert coded(array) == PALETTE


@pytest.mark.parametrize("options", [{"absolute": 1e-4}, {"pointwise_relative": 1e-6}], ids=str)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
def test_a_bound_that_they_keep_anyway(dtype, options):
    real = cases.number_type(dtype)
    table = np.sort(np.random.default_rng(2).normal(size=40)).astype(real) * 1000
    array = cases.from_numbers(table[ranks(6000, 40)], 3000 if dtype == "c8" else (60, 100), dtype)
    stream = h5stz.compress(array, **options)
    assert h5stz.info(stream).form == PALETTE and not h5stz.info(stream).bound_used
    assert h5stz.info(stream).mode == ("pointwise_relative" if "pointwise_relative" in options else "absolute")
    assert exact.same_bits(array, h5stz.decompress(stream))


def test_a_bound_that_makes_them_few_anyway():
    table = np.sort(np.random.default_rng(2).normal(size=400)).astype("f4")
    array = table[ranks((90, 90), 400)]
    assert h5stz.info(h5stz.compress(array, absolute=0.1)).form == "blocks of numbers"


def test_integers_with_a_bound():
    array = values(30, np.dtype("i4"))[ranks((60, 100), 30)]
    assert coded(array, absolute=3, integers="lossy") == PALETTE


@pytest.mark.parametrize("kind", ["rough", "smooth", "walk"])
@pytest.mark.parametrize("dtype", cases.ONCE, ids=str)
def test_ordinary_data_have_none(kind, dtype):
    if dtype.itemsize > 1:
        assert coded(cases.make(kind, (60, 100), dtype)) != PALETTE


def test_both_zeros_are_values():
    table = np.array([-2.7, -1e-30, -0.0, 0.0, 3e-12, 5.1], "f4")
    array = table[ranks((60, 100), 6)]
    assert coded(array) == PALETTE
    assert len(np.unique(h5stz.decompress(h5stz.compress(array, lossless=True)).view("u4"))) == 6


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_the_ends_of_the_range(dtype):
    limits = np.finfo(dtype)
    table = np.array([limits.min, -3.3, -limits.smallest_subnormal, limits.smallest_subnormal, 7.7, limits.max], dtype)
    assert coded(table[ranks((60, 100), 6)]) == PALETTE


def test_distances_beyond_the_coder_s_numbers():
    """Of the signs of float64 from one to the other: zero becomes a value. Of integers: they are coded otherwise."""
    far = np.array([-1e300, -77.7, 8.1e9, 1.1e301])
    assert coded(far[ranks((60, 100), 4)]) == PALETTE
    assert coded(np.array([3, 8, 2**63 + 99, 2**64 - 1], "u8")[ranks((60, 100), 4)]) == "blocks of integers"
    assert coded(np.array([3, 2**63 + 1, 2**63 + 99], "u8")[ranks((60, 100), 3)]) == PALETTE


def test_masks_stay_masks():
    array = values(30, np.dtype("f4"))[ranks((60, 100), 30)]
    array[4:20, 9:30] = np.nan
    array[30:33, 9:30] = np.inf
    array.view("u4")[40:43, 7:9] = 0x7FC12345
    array[50:, 80:] = -9999
    assert coded(array, lossless=True, fill_value=-9999.0) == PALETTE
    padded = array.copy()
    padded[:, 70:] = -1.5
    assert coded(padded) == PALETTE


def test_nothing_but_masks_and_one_value():
    array = np.full((60, 100), np.nan, "f4")
    array[RNG.random(array.shape) < 0.5] = 1.25
    coded(array)
    array[:] = np.nan
    array[3, 4:6] = 1, 2
    coded(array)


@pytest.mark.parametrize("options", [{"block": "region"}, {"threads": 3}, {"content_check": True}], ids=str)
def test_options_are_for_them_too(options):
    array = values(300, np.dtype("f4"))[ranks((30, 40, 50), 300)]
    assert coded(array, lossless=True, **options) == PALETTE
    if "threads" in options:
        assert h5stz.compress(array, lossless=True) == h5stz.compress(array, lossless=True, **options)
    h5stz.verify(h5stz.compress(array, lossless=True, **options))


@pytest.mark.slow
def test_many_values():
    random = np.random.default_rng(3)
    table = np.sort(random.random(2**21))
    for count, form in ((2**19, PALETTE), (2**20 + 8, "blocks of ULP-space numbers")):
        groups = random.permuted(np.tile(table[:count], 4).reshape(-1, 8), axis=1)  # no repeats of one another
        assert coded(groups.ravel()) == form


def test_changed_in_part_they_are_compressed_anew():
    array = values(30, np.dtype("f4"))[ranks((60, 100), 30)]
    stream = h5stz.compress(array, absolute=1e-30)
    changed = array.copy()
    changed[3:9, 4:50] = array[20, 20]
    again = h5stz.rewrite(changed, stream, absolute=1e-30)
    assert exact.same_bits(changed, h5stz.decompress(again)) and h5stz.info(again).form == PALETTE


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_values_on_a_decimal_grid_have_a_short_table(layers):
    """A table of them is shorter than their distances say, and none of the ways to code them with loss as short."""
    x = np.arange(4136)
    array = np.round(10 * np.sin(x * 0.9) + 10 * np.sin(x * 1.7 + 1), 1).astype("f4").reshape(2, 2, 2, 517)
    stream = h5stz.compress(array, absolute=0.015, layers=layers)
    assert h5stz.info(stream).form == PALETTE
    assert len(stream) <= len(h5stz.compress(array, lossless=True)) + 16

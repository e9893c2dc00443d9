"""bfloat16, float8 E4M3FN and E5M2: every bit without loss, every bound with NaN and infinities as they are."""

import sys
from unittest import mock

import numpy as np
import pytest

import h5stz
import reference_decoder
from golden import arrays
from reference_decoder.short_floats import FLOATS, Floats
from support import short_floats
from support.requirements import needs_packages
from support.short_floats import NAMES, all_numbers, check, doubles, dtype_of, field, same, words

pytestmark = needs_packages("ml_dtypes")


@pytest.mark.parametrize(("name", "order"), [*((name, "<") for name in NAMES), ("bfloat16", ">")])
@pytest.mark.parametrize("shape", [(-1,), (16, -1), (4, 4, -1)])
def test_every_bit_pattern_comes_back(name, shape, order):
    array = np.random.default_rng(1).permutation(all_numbers(name).reshape(shape))
    array = words(array).astype(f"{order}u{array.itemsize}").view(array.dtype.newbyteorder(order))
    stream = h5stz.compress(array, lossless=True)
    assert same(array, h5stz.decompress(stream))
    if array.size == 256:  # the second decoder is slow
        assert reference_decoder.decode(stream).tobytes() == array.tobytes()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bound", [1e-3, 0.3, 1.0, 7.0, 40.0, 300.0])
def test_a_bound_holds_for_numbers_of_the_type(name, bound):
    for array in (field(name), field(name, (12, 21, 14), 440.0), all_numbers(name).reshape(16, -1)):
        stream = h5stz.compress(array, absolute=bound, fill_value=False, content_check=True)
        decoded = h5stz.decompress(stream, verify=True)
        check(array, decoded, bound)
        if array.size < 5000:  # the second decoder is slow
            assert reference_decoder.decode(stream, verify=True).tobytes() == decoded.tobytes()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bound", [0.01, 0.2, 0.5])
def test_a_bound_relative_to_each_number(name, bound):
    for array in (field(name), np.abs(field(name)), -np.abs(field(name, largest=440.0))):
        stream = h5stz.compress(array, pointwise_relative=bound, fill_value=False)
        check(array, h5stz.decompress(stream), bound, pointwise=True)
        if bound == 0.5:  # the second decoder is slow
            assert reference_decoder.decode(stream).tobytes() == h5stz.decompress(stream).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_bounds_save_bytes(name):
    array = field(name, (200, 210))
    sizes = [len(h5stz.compress(array, **bound)) for bound in ({"lossless": True}, {"absolute": 20.0})]
    assert sizes[1] < 0.6 * sizes[0] < 0.6 * array.nbytes


def test_numbers_near_the_largest_of_e4m3fn_stay_numbers():
    """A reconstruction above 448 would be NaN."""
    array = np.random.default_rng(1).choice([384.0, 416.0, 448.0, -448.0], (70, 71)).astype(dtype_of("float8_e4m3fn"))
    for bound in (20.0, 40.0, 70.0, 500.0):
        check(array, h5stz.decompress(h5stz.compress(array, absolute=bound, fill_value=False)), bound)


def test_reconstructions_above_the_largest_of_e4m3fn_are_that_number():
    array, options = arrays.cases()["float8_e4m3fn_limits"]
    stream = arrays.compress(array, options)
    decoded = h5stz.decompress(stream)
    check(array, decoded, options["absolute"])
    assert reference_decoder.decode(stream).tobytes() == decoded.tobytes()
    with mock.patch.object(Floats, "largest", 1e9):
        assert reference_decoder.decode(stream).tobytes() != decoded.tobytes()  # such reconstructions occur


@pytest.mark.parametrize("name", NAMES)
def test_relative_bounds_are_of_the_exact_range(name):
    array = field(name)
    numbers = doubles(array)[np.isfinite(doubles(array))]
    stz = h5stz.STZ(relative=0.01, data=array, fill_value=False)
    assert stz.bound == pytest.approx(0.01 * np.ptp(numbers), rel=1e-12)
    assert h5stz.STZ(psnr=30, data=array, fill_value=False).bound > 0
    assert h5stz.STZ(str(stz)).bound == stz.bound


@pytest.mark.parametrize("name", NAMES)
def test_fill_values_are_rounded_once(name):
    """Also halfway between two numbers, and a little beside that, where float32 in between would round twice."""
    magnitudes = all_numbers(name)[: 128 if dtype_of(name).itemsize == 1 else 32768]
    finite = doubles(magnitudes)[np.isfinite(doubles(magnitudes))]
    steps = np.arange(0, len(finite) - 1, max(1, len(finite) // 60))
    for step in steps:
        middle, even = (finite[step] + finite[step + 1]) / 2, int(step + step % 2)
        for number, expected in (
            (middle, even),
            (np.nextafter(middle, 0), int(step)),
            (np.nextafter(middle, np.inf), int(step) + 1),
        ):
            assert h5stz.STZ(lossless=True, dtype=name, fill_value=number).resolved.settings.fill == expected
    with pytest.raises(h5stz.StzError, match="cannot be stored"):
        h5stz.STZ(lossless=True, dtype=name, fill_value=1.1 * finite[-1])


@pytest.mark.parametrize("name", NAMES)
def test_missing_samples_keep_their_number(name):
    array = np.nan_to_num(doubles(field(name)), posinf=9, neginf=9).astype(dtype_of(name))
    array[10:30, 5:40] = -96
    stz = h5stz.STZ(absolute=3.0, dtype=name, fill_value=-96)
    assert (stz.fill_value, h5stz.STZ(**stz.get_config()).fill_value, h5stz.STZ(str(stz)).fill_value) == (-96, -96, -96)
    decoded = h5stz.decompress(h5stz.compress(array, absolute=3.0, fill_value=-96))
    check(array, decoded, 3.0)
    assert np.array_equal(decoded == array.dtype.type(-96), array == array.dtype.type(-96))
    masked = np.ma.masked_array(array, array == array.dtype.type(-96))
    assert np.isnan(doubles(h5stz.decompress(h5stz.compress(masked, absolute=3.0)))[masked.mask]).all()


@pytest.mark.parametrize("name", NAMES)
def test_rewritten_arrays_lose_nothing_twice(name):
    array = field(name)
    stream = h5stz.compress(array, absolute=5.0, fill_value=False)
    for step in range(4):
        decoded = h5stz.decompress(stream)
        decoded[5 * step : 5 * step + 9, 30:50] = 50 - step
        stream = h5stz.rewrite(decoded, stream, absolute=5.0, fill_value=False)
        check(decoded, h5stz.decompress(stream), 5.0)
        kept = np.ones(array.shape, bool)
        kept[5 * step : 5 * step + 9, 30:50] = False
        assert np.array_equal(words(decoded)[kept], words(h5stz.decompress(stream))[kept])


@pytest.mark.parametrize("name", NAMES)
def test_lost_samples_become_nan(name):
    array = field(name, (300, 310))
    stream = bytearray(h5stz.compress(array, absolute=1.0, fill_value=False))
    stream[-300] ^= 1
    with pytest.warns(h5stz.DamageWarning):
        decoded = h5stz.decompress(bytes(stream), on_error="nan")
    lost = np.isnan(doubles(decoded)) & ~np.isnan(doubles(array))
    assert lost.any() and not lost.all()


def test_types_without_ml_dtypes(monkeypatch):
    stream = h5stz.compress(field("bfloat16"), lossless=True)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(h5stz.StzTypeError, match="bfloat16 is a dtype of the package ml_dtypes: pip install ml_dtypes"):
        h5stz.decompress(stream)


def test_the_second_decoder_rounds_like_ml_dtypes():
    rng = np.random.default_rng(1)
    for name in NAMES:
        largest = doubles(all_numbers(name))[np.isfinite(doubles(all_numbers(name)))].max()
        numbers = np.ldexp(rng.normal(size=20000), rng.integers(-30, 9, 20000)).astype("f4")
        numbers = numbers[np.abs(numbers) <= largest]
        rounded = FLOATS[name].rounded(numbers.astype("f8"))
        assert np.array_equal(rounded, doubles(numbers.astype(dtype_of(name))))
        assert np.array_equal(FLOATS[name].words(rounded), words(numbers.astype(dtype_of(name))))
    assert short_floats.NAMES == tuple(name for name in FLOATS if not name.startswith("f") or len(name) > 2)

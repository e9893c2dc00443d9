"""Arrays to test the codec on: every dtype, and patterns of samples from easy to hostile, made by this file alone.

`round_trip` compresses and decompresses and checks what holds for every array: size, dtype, shape, the same bits every time.
"""

import numpy as np

import h5stz
from support import exact

KINDS = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16"]
DTYPES = [np.dtype(order + kind) for kind in KINDS for order in "<>" if not (order == ">" and kind[1:] == "1")]
FLOATING = [dtype for dtype in DTYPES if dtype.kind in "fc"]
#: Every kind once, in one byte order or the other.
ONCE = [np.dtype("<>"[place % 2] + kind) for place, kind in enumerate(KINDS)]
FLOATING_ONCE = [dtype for dtype in ONCE if dtype.kind in "fc"]
INTEGERS = [dtype for dtype in DTYPES if dtype.kind in "iu"]
INTEGERS_ONCE = [dtype for dtype in ONCE if dtype.kind in "iu"]
FLOATING_KINDS = [kind for kind in KINDS if kind[0] in "fc"]

#: Bytes that a stream may be longer than its array.
OVERHEAD = 64


def number_type(dtype):
    """The native dtype of the real numbers in an array of `dtype`: a complex sample is two of them."""
    dtype = np.dtype(dtype).newbyteorder("=")
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def limits(dtype):
    """Smallest and largest finite number of a real dtype, as exact Python numbers."""
    dtype = number_type(dtype)
    found = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return (float(found.min), float(found.max)) if dtype.kind == "f" else (int(found.min), int(found.max))


def from_numbers(numbers, shape, dtype):
    """An array of `dtype` and `shape` of real numbers (flat, of its number type)."""
    dtype, real = np.dtype(dtype), number_type(dtype)
    native = np.ascontiguousarray(numbers, real).view(dtype.newbyteorder("="))
    return native.reshape(shape).astype(dtype)


def from_bits(bits, shape, dtype):
    """An array of `dtype` and `shape` of the bits of real numbers (flat unsigned integers); NaN keep their payloads."""
    width = number_type(dtype).itemsize
    order = np.dtype(dtype).str[0]
    swapped = bits.astype(f"{'<' if order == '|' else order}u{width}")
    return swapped.view(dtype).reshape(shape)


def number_from_bits(bits, dtype):
    """The real number (a Python scalar) of these bits."""
    real = number_type(dtype)
    return np.array([bits], f"u{real.itemsize}").view(real)[0].item()


def rounded(values, dtype):
    """Real numbers (float64) in the number type of `dtype`: clipped to its range, integers rounded."""
    real = number_type(dtype)
    low, high = limits(real)
    if real.kind == "f":
        return np.clip(values, low, high).astype(real)
    inside = np.clip(np.rint(values), float(low), float(np.nextafter(float(high), 0)) if high > 2**53 else high)
    return inside.astype(real)


def bits_as(bits, dtype):
    """Unsigned 64-bit integers cut to the width of the number type and read as numbers, with finite ones only."""
    real = number_type(dtype)
    numbers = bits.astype(f"u{real.itemsize}").view(real)
    if real.kind == "f":
        numbers = np.where(np.isfinite(numbers), numbers, real.type(1))
    return numbers


def _smooth(count, rng):
    x = np.linspace(0, 1, count)
    return np.sin(9 * x + rng.uniform()) + rng.normal() * x * x


def _few_values(count, rng, dtype):
    """Some dozens of values that are no multiples of anything, next to values like them."""
    values = np.sort(rng.normal(size=60)) * 300 + 600
    return rounded(values[np.rint(29 + 29 * np.clip(_smooth(count, rng), -1, 1)).astype(int)], dtype)


def _near_limits(count, rng, dtype):
    low, high = limits(dtype)
    real = number_type(dtype)
    if real.kind == "f":
        return np.where(rng.random(count) < 0.5, real.type(low), real.type(high)) * rng.choice([1, 0.999], count).astype(real)
    return np.where(rng.random(count) < 0.5, real.type(low), real.type(high)) ^ rng.integers(0, 4, count).astype(real)


#: name -> function(count, rng, dtype) that gives `count` finite real numbers of the number type of `dtype`.
PATTERNS = {
    "smooth": lambda count, rng, dtype: rounded(40 * _smooth(count, rng) + 60, dtype),
    "few values": _few_values,
    "rough": lambda count, rng, dtype: rounded(30 * rng.standard_normal(count) + 50, dtype),
    "walk": lambda count, rng, dtype: rounded(np.cumsum(rng.standard_normal(count)), dtype),
    "constant": lambda count, rng, dtype: rounded(np.full(count, 77.7), dtype),
    "step": lambda count, rng, dtype: rounded(120 * (np.arange(count) > count * 0.4) + 0.01 * rng.random(count), dtype),
    "spike": lambda count, rng, dtype: rounded(_smooth(count, rng) * np.where(np.arange(count) == count // 3, 1e30, 1), dtype),
    "sparse": lambda count, rng, dtype: rounded(np.where(rng.random(count) < 0.03, 90 * rng.standard_normal(count), 0), dtype),
    "lattice": lambda count, rng, dtype: rounded(np.round(_smooth(count, rng) * 30, 2) + 40, dtype),
    "layers": lambda count, rng, dtype: rounded(9.25 * (np.arange(count) // 23 % 7), dtype),
    "ramp": lambda count, rng, dtype: rounded(0.25 * np.arange(count), dtype),
    "random bits": lambda count, rng, dtype: bits_as(rng.integers(0, 2**64, count, np.uint64), dtype),
    "tiny": lambda count, rng, dtype: bits_as(rng.integers(0, 200, count, np.uint64), dtype),  # denormal, or small integers
    "near the limits": _near_limits,
    "whole range": lambda count, rng, dtype: rounded(_smooth(count, rng) / 2.5 * float(limits(dtype)[1]), dtype),
}


def pairs(kind):
    """(dtype, pattern) of every pattern, in one byte order or the other."""
    return [(np.dtype("<>"[(len(pattern) + KINDS.index(kind)) % 2] + kind), pattern) for pattern in PATTERNS]


def make(pattern, shape, dtype, seed=1):
    """The array of a pattern."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=int)) * (2 if dtype.kind == "c" else 1)
    with np.errstate(over="ignore"):
        numbers = PATTERNS[pattern](count, np.random.default_rng(seed), dtype)
    return from_numbers(numbers, shape, dtype)


def width(array):
    """max - min of the finite real numbers of an array as a finite float, 1.0 where that is zero."""
    numbers = exact.components(array)
    numbers = numbers[np.isfinite(numbers)] if numbers.dtype.kind == "f" else numbers
    if not numbers.size:
        return 1.0
    return min(float(numbers.max()) / 2 - float(numbers.min()) / 2, 8e307) * 2 or 1.0


def round_trip(array, **options):
    """(stream, decoded array); unless given, `fill_value` is False, none, and the bound counts for integers."""
    options.setdefault("fill_value", False)
    options.setdefault("integers", "lossy")
    stream = h5stz.compress(array, **options)
    assert len(stream) <= array.nbytes + OVERHEAD
    if len(stream) % 4 == 0:  # a sample of all calls: encoding is what takes the time
        assert h5stz.compress(array, **options) == stream, "the same array gives the same bytes"
    decoded = h5stz.decompress(stream)
    out = np.full_like(decoded, 1)
    h5stz.decompress(stream, out=out)
    assert exact.same_bits(decoded, out), "a stream gives the same bits every time"
    assert (decoded.dtype, decoded.shape) == (array.dtype, array.shape)
    return stream, decoded


def keeps(array, **options):
    """Asserts the promise of one option `absolute`, `pointwise_relative` or `lossless` for an array; returns the stream."""
    stream, decoded = round_trip(array, **options)
    bound = options.get("absolute", options.get("pointwise_relative", 0.0))
    if bound == 0 or (array.dtype.kind in "iu" and bound < 1):
        assert exact.same_bits(array, decoded)
    else:
        if options.get("enhance"):
            bound = h5stz.info(stream).relaxed_bound
        exact.largest_error(array, decoded, bound, pointwise="pointwise_relative" in options)
    fill = options.get("fill_value", False)
    if fill is not False:
        missing = exact.bits(exact.components(array)) == exact.bits(np.array([fill]).astype(number_type(array.dtype)))
        assert np.array_equal(exact.bits(exact.components(decoded))[missing], exact.bits(exact.components(array))[missing])
    return stream

"""Arrays of bfloat16 and float8 (ml_dtypes) and what must hold for what the codec makes of them."""

import ml_dtypes
import numpy as np

NAMES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def dtype_of(name):
    """The dtype of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name))


def words(array):
    """The bits of an array."""
    return array.view(f"{array.dtype.str[0]}u{array.dtype.itemsize}")


def all_numbers(name):
    """Every bit pattern of a type."""
    dtype = dtype_of(name)
    return np.arange(256**dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)


def doubles(array):
    """The numbers as float64."""
    with np.errstate(invalid="ignore"):
        return array.astype("f8")


def same(one, other):
    """Whether two arrays have the same type, shape and bits."""
    return (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()


def field(name, shape=(60, 70), largest=100.0, seed=1):
    """A rough field, with NaN and, where the type has them, infinities."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=shape).cumsum(-1).cumsum(0)
    numbers *= largest / np.abs(numbers).max()
    numbers[3:9, 4:20] = np.nan
    if name != "float8_e4m3fn":
        numbers[10, ::7], numbers[11, ::9] = np.inf, -np.inf
    return numbers.astype(dtype_of(name))


def check(original, decoded, bound, pointwise=False):
    """Asserts the bound for finite numbers, and the bits of all others."""
    assert (decoded.dtype, decoded.shape) == (original.dtype, original.shape)
    x, y = doubles(original), doubles(decoded)
    finite = np.isfinite(x)
    assert np.array_equal(words(original)[~finite], words(decoded)[~finite])
    x, y = x[finite], y[finite]
    assert (np.abs(x - y) <= bound * (np.abs(x) if pointwise else 1)).all()

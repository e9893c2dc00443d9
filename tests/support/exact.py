"""The reference of every bound test: exact arithmetic, independent of the package.

Samples whose error is clearly below the bound are judged in floating point; every other one by fractions.Fraction.
"""

from fractions import Fraction

import numpy as np

# A difference of two exact numbers rounded once is off by 2**-53 of itself: everything above this share is judged exactly.
_CLEARLY_BELOW = 1 - 2.0**-40


def components(array):
    """The real numbers of an array as a flat native array; complex samples are two."""
    flat = np.array(array, order="C").reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(f"{flat.dtype.str[0]}f{flat.dtype.itemsize // 2}")
    return flat.astype(flat.dtype.newbyteorder("="))


def bits(numbers):
    """The bits of real numbers as unsigned integers."""
    return numbers.view(f"u{numbers.dtype.itemsize}")


def largest_error(original, decoded, bound, pointwise=False):
    """max error / bound (a float); asserts every promise on the way.

    |x - x'| <= bound (times |x| if `pointwise`) in exact arithmetic for finite x, all other samples bit for bit.
    """
    assert (decoded.dtype, decoded.shape) == (original.dtype, original.shape)
    x, y = components(original), components(decoded)
    finite = np.isfinite(x) if x.dtype.kind == "f" else np.ones(x.shape, bool)
    assert np.array_equal(bits(x[~finite]), bits(y[~finite])), "NaN and infinities must come back bit for bit"
    x, y = x[finite], y[finite]
    if x.dtype.kind == "f":
        assert np.isfinite(y).all(), "a finite sample became NaN or infinite"
        with np.errstate(over="ignore"):
            error = np.abs(x.astype(np.longdouble) - y.astype(np.longdouble))
    else:
        error = np.abs(x.astype(np.longdouble) - y.astype(np.longdouble))
    limit = np.longdouble(bound) * np.abs(x.astype(np.longdouble)) if pointwise else np.longdouble(bound)
    for index in np.flatnonzero(error > limit * _CLEARLY_BELOW):
        exact_limit = Fraction(bound) * (abs(Fraction(x[index].item())) if pointwise else 1)
        exact_error = abs(Fraction(x[index].item()) - Fraction(y[index].item()))
        assert exact_error <= exact_limit, f"sample {index}: {x[index]!r} -> {y[index]!r}, bound {bound!r}"
    if pointwise:
        assert np.array_equal(np.signbit(x), np.signbit(y)), "signs must be exact"
    limits = np.broadcast_to(limit, error.shape)
    return float(np.max(error[limits > 0] / limits[limits > 0], initial=0))


def error_over_bound(original, decoded, bound, pointwise=False):
    """max error / bound as a float that exceeds 1 exactly if a promise is broken; infinite where NaN or infinities changed.

    For what breaks the bound too: it measures and asserts nothing about the samples.
    """
    assert (decoded.dtype, decoded.shape) == (original.dtype, original.shape)
    x, y = components(original), components(decoded)
    same = bits(x) == bits(y)
    x, y = x[~same], y[~same]
    if not x.size:
        return 0.0
    if x.dtype.kind == "f" and not (np.isfinite(x).all() and np.isfinite(y).all()):
        return float("inf")
    wide, other = x.astype(np.longdouble), y.astype(np.longdouble)
    limit = np.longdouble(bound) * np.abs(wide) if pointwise else np.full(wide.shape, np.longdouble(bound))
    if pointwise and ((limit == 0) | (np.signbit(wide) != np.signbit(other))).any():
        return float("inf")
    share = np.abs(wide - other) / limit
    largest = float(share.max())
    near = np.flatnonzero(np.abs(share - 1) < 1 - _CLEARLY_BELOW)
    if not near.size or largest > 2 - _CLEARLY_BELOW:
        return largest
    pairs = zip(x[near].tolist(), y[near].tolist(), strict=True)
    kept = all(abs(Fraction(a) - Fraction(b)) <= Fraction(bound) * (abs(Fraction(a)) if pointwise else 1) for a, b in pairs)
    return min(largest, 1.0) if kept else max(largest, float(np.nextafter(1, 2)))


def same_bits(original, decoded):
    """Whether two arrays agree in dtype, shape and every bit."""
    return (decoded.dtype, decoded.shape) == (original.dtype, original.shape) and decoded.tobytes() == original.tobytes()


def psnr(original, decoded, valid=None):
    """20 log10(range / rmse) in dB over the valid numbers (default: finite ones); inf without any error."""
    x, y = components(original).astype("f8"), components(decoded).astype("f8")
    keep = np.isfinite(x) if valid is None else valid.reshape(-1)
    x, y = x[keep], y[keep]
    width = x.max() - x.min()
    error = np.sqrt(np.mean(((x - y) / width) ** 2))
    return float("inf") if error == 0 else -20 * float(np.log10(error))

"""The reference of every bound test: exact arithmetic, independent of the package.

Samples whose error is clearly below the bound are judged in floating point; every other one by fractions.Fraction.
"""

from dataclasses import dataclass
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


@dataclass
class Judgement:
    """What a comparison of arrays found.

    Attributes:
        wrong: the first promise that is broken, with the sample; empty if all hold.
        samples: how many finite numbers were compared with the bound.
        by_fractions: how many of them were so near the bound that fractions had to tell.
        largest: max error / bound, rounded.
    """

    wrong: str = ""
    samples: int = 0
    by_fractions: int = 0
    largest: float = 0.0


def _rounded(number):
    """A float or a Fraction in extended precision; of a Fraction 53 bits are right, also beyond the normal range of float64."""
    shift = 0 if isinstance(number, float) else 200 if number < 1 else -200
    return np.ldexp(np.longdouble(float(Fraction(number) * Fraction(2) ** shift if shift else number)), -shift)


def _finite(numbers):
    """Which numbers are finite. Types of ml_dtypes have another kind than NumPy's."""
    if numbers.dtype.kind in "iu":
        return np.ones(numbers.shape, bool)
    with np.errstate(invalid="ignore"):
        return np.isfinite(numbers)


def judge(original, decoded, bound, pointwise=False):
    """The Judgement of |x - x'| <= bound (times |x| if `pointwise`) for finite x, and of the bits of all other samples.

    `bound`: a float or a Fraction above 0.
    """
    if (decoded.dtype, decoded.shape) != (original.dtype, original.shape):
        return Judgement(f"{original.dtype} {original.shape} became {decoded.dtype} {decoded.shape}")
    x, y = components(original), components(decoded)
    finite = _finite(x)
    if not np.array_equal(bits(x[~finite]), bits(y[~finite])):
        return Judgement("NaN and infinities must come back bit for bit")
    x, y = x[finite], y[finite]
    if not _finite(y).all():
        return Judgement("a finite sample became NaN or infinite")
    if pointwise and not np.array_equal(np.signbit(x), np.signbit(y)):
        return Judgement("signs must be exact")
    wide = x.astype(np.longdouble)
    error = np.abs(wide - y.astype(np.longdouble))
    limit = np.broadcast_to(_rounded(bound) * np.abs(wide) if pointwise else _rounded(bound), error.shape)
    near = np.flatnonzero(error > limit * _CLEARLY_BELOW)
    some = limit > 0
    found = Judgement("", x.size, near.size, float(np.max(error[some] / limit[some], initial=0)))
    for a, b in dict.fromkeys(zip(x[near].tolist(), y[near].tolist(), strict=True)):
        if abs(Fraction(a) - Fraction(b)) > Fraction(bound) * (abs(Fraction(a)) if pointwise else 1):
            index = np.flatnonzero(finite)[near[np.flatnonzero((x[near] == a) & (y[near] == b))[0]]]
            found.wrong = f"sample {index}: {a!r} -> {b!r}, bound {bound!r}"
            break
    return found


def largest_error(original, decoded, bound, pointwise=False):
    """max error / bound (a float); asserts every promise on the way.

    |x - x'| <= bound (times |x| if `pointwise`) in exact arithmetic for finite x, all other samples bit for bit.
    """
    found = judge(original, decoded, bound, pointwise)
    assert not found.wrong, found.wrong
    return found.largest


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

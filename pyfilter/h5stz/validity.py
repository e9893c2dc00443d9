"""Determines the valid samples of an array: finite, not masked (numpy.ma) and not the fill value.

Values on which a bound depends are computed from the whole array, slab by slab, with exact numbers: Python ints and fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from h5stz import _core, elements
from h5stz.counts import counted
from h5stz.elements import Array
from h5stz.errors import StzError

# A repeated extreme is a fill value when its distance to the rest is more than CLEAR ranges of the rest, and may be one
# from MAYBE ranges on. Below one sample in RARE (but two at least) it is too rare to be taken for one without asking.
CLEAR = 10
MAYBE = 1
RARE = 10_000

_SAMPLE = 1 << 16
_ROUNDING_UP = 1 + 1e-14  # more than the few roundings of a product of positive numbers


@dataclass(frozen=True)
class Extremes:
    """The exact minimum and maximum of the valid numbers, how often each occurs, and the count of valid numbers."""

    low: int | float
    high: int | float
    low_count: int
    high_count: int
    count: int

    @property
    def width(self) -> Fraction:
        """high - low, exact."""
        return Fraction(self.high) - Fraction(self.low)

    def merged(self, other: Extremes) -> Extremes:
        """The extremes of two parts together."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Extremes(
            low,
            high,
            sum(part.low_count for part in (self, other) if part.low == low),
            sum(part.high_count for part in (self, other) if part.high == high),
            self.count + other.count,
        )


#: What looks at all valid numbers but those of the excluded bits.
Finder: TypeAlias = Callable[[tuple[int, ...]], Extremes | None]


def components(array: Array) -> Array:
    """The real numbers of a contiguous ndarray as a 1-D array: two per complex sample, uint8 for bool."""
    values = array.reshape(-1)
    if values.dtype.kind == "c":
        return values.view(f"{values.dtype.str[0]}f{values.dtype.itemsize // 2}")
    return values.view(elements.storage_dtype(values.dtype))


def valid(values: Array, excluded: tuple[int, ...] = ()) -> slice | npt.NDArray[np.bool_]:
    """The index of the valid numbers (a bool array, or a slice if all are valid). `excluded`: bits of fill values."""
    keep: slice | npt.NDArray[np.bool_] = slice(None)
    if elements.is_short_float(values.dtype):
        with np.errstate(invalid="ignore"):
            keep = np.isfinite(values)
    elif values.dtype.kind == "f" and values.size:
        with np.errstate(invalid="ignore"):
            finite = np.isfinite(values.min()) and np.isfinite(values.max())
        keep = keep if finite else np.isfinite(values)
    for bits in excluded:
        other = values.view(f"{values.dtype.str[0]}u{values.dtype.itemsize}") != bits
        keep = other if isinstance(keep, slice) else keep & other
    return keep


def numbers(piece: Array, excluded: tuple[int, ...] = ()) -> Array:
    """The valid numbers of an ndarray or masked array as a 1-D array.

    SHORT_FLOATS are float32. `excluded`: bits of fill values.
    """
    values = elements.unmasked(piece)
    if elements.is_masked(piece) and (mask := np.ma.getmask(piece)) is not np.ma.nomask:
        values = values[~mask]
    values = components(np.ascontiguousarray(values))
    return elements.exact_numbers(values[valid(values, excluded)])


def absolute_error(relative: float, piece: Array, excluded: tuple[int, ...] = ()) -> float:
    """The absolute error that a pointwise relative bound permits for decoded numbers; infinity if the bound is 1 or more.

    x - x'| <= relative |x| implies |x - x'| <= relative / (1 - relative) |x'|; the result is rounded up.

    Args:
        relative: the bound, 0 or more.
        piece: ndarray or masked array of the decoded numbers, of any shape.
        excluded: bits of fill values.
    """
    if relative >= 1:
        return math.inf
    found = numbers(piece, excluded)
    largest = max(abs(float(found.min())), abs(float(found.max()))) if found.size else 0.0
    return relative / (1 - relative) * largest * _ROUNDING_UP


def extremes(pieces: Iterable[Array], excluded: tuple[int, ...] = (), *, counted: bool = True) -> Extremes | None:
    """The Extremes over an iterable of arrays; None if no number is valid. Counts are 0 unless `counted`."""
    whole: Extremes | None = None
    for piece in pieces:
        values = numbers(piece, excluded)
        if values.size:
            low, high = values.min(), values.max()
            low_count, high_count = (int(np.count_nonzero(values == each)) if counted else 0 for each in (low, high))
            part = Extremes(low.item(), high.item(), low_count, high_count, values.size)
            whole = part if whole is None else whole.merged(part)
    return whole


def sample(array: Array, size: int) -> Array:
    """An evenly spread sample of an ndarray that is part of `size` samples, as a 1-D array. Only for hints, not for
    guarantees.
    """
    step = max(1, size // _SAMPLE) | 1  # odd: does not stay in one column of a power-of-two array
    return np.ascontiguousarray(array.reshape(-1)[::step] if array.flags.c_contiguous else array.flat[::step])


def probable_fill(array: Array, mode: int, bound: float) -> int | None:
    """The fill value (bits) that the filter would detect in an ndarray, or None. Only the size of the stream depends on it."""
    if array.dtype.kind == "b":
        return None
    values = np.ascontiguousarray(array)
    return _core.find_fill(elements.as_bytes(values), *elements.element_type(values.dtype), values.shape, mode, bound)


def certain_fill(find: Finder, dtype: npt.DTypeLike) -> int | None:
    """The fill value of data whose bound depends on it, as bits, or None if there clearly is none.

    A fill value is an extreme (least or greatest finite number) that is repeated and set apart from the rest. Data with
    two distinct numbers only have none. This is stricter than the filter's rule: a number that is wrongly left out of the range
    changes the bound.

    Args:
        find: function from a tuple of excluded bits to the Extremes of the rest.
        dtype: of the data; complex data have no fill value.

    Raises:
        StzError: it is not clear; the message names ``fill_value=``.
    """
    if np.dtype(dtype).kind in "cb":
        return None
    everything = find(())
    if everything is None:
        return None
    suspects = _suspects(find, dtype, everything, ())
    clear = [suspect for suspect in suspects if suspect.clear]
    if len(suspects) == 1 and clear:
        # The rest may hold a second one, which the first had kept from sight.
        suspects += _suspects(find, dtype, suspects[0].rest, (suspects[0].bits,))
    if suspects and (len(suspects) > 1 or not clear):
        raise StzError(_question(suspects), _core.ERROR_CODES["STZ_ERROR_OPTION"])
    return clear[0].bits if clear else None


@dataclass(frozen=True)
class _Suspect:
    number: int | float
    bits: int
    count: int
    clear: bool
    rest: Extremes


def _suspects(find: Finder, dtype: npt.DTypeLike, whole: Extremes, excluded: tuple[int, ...]) -> list[_Suspect]:
    """The repeated extremes of `whole` that are set apart from the rest, the greater first."""
    ends = [(whole.high, whole.high_count), (whole.low, whole.low_count)]
    bits_of = {number: elements.fill_bits(number, dtype) for number, _ in ends}
    repeated = [(number, bits, count) for number, count in ends if count > 1 and (bits := bits_of[number]) is not None]
    if whole.low == whole.high:
        return []
    rests = [find((*excluded, bits)) for _, bits, _ in repeated]
    if len(repeated) == 2:
        # Two fill values, one at each end, hide each other: judge both by what lies between them.
        between = find((*excluded, repeated[0][1], repeated[1][1]))
        if between is not None and all(_distance(number, between) > CLEAR * between.width for number, _, _ in repeated):
            rests = [between, between]
    suspects = []
    for (number, bits, count), rest in zip(repeated, rests, strict=True):
        if rest is None or rest.low == rest.high:
            continue
        distance, enough = _distance(number, rest), count * RARE >= whole.count
        if distance > CLEAR * rest.width or (distance > MAYBE * rest.width and enough):
            suspects.append(_Suspect(number, bits, count, distance > CLEAR * rest.width and enough, rest))
    return suspects


def _distance(number: int | float, rest: Extremes) -> Fraction:
    """How far `number` lies outside the range of `rest`."""
    return max(Fraction(number) - Fraction(rest.high), Fraction(rest.low) - Fraction(number))


def _question(suspects: list[_Suspect]) -> str:
    described = " and ".join(f"{each.number!r} ({counted(each.count, 'time')})" for each in suspects)
    rest = suspects[-1].rest
    return (
        f"is {described} a fill value? The other numbers are {rest.low!r} to {rest.high!r}. Give "
        f"fill_value={suspects[0].number!r} if it marks missing samples, fill_value=False if every number is data"
    )

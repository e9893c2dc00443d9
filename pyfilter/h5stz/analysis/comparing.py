"""Compares two arrays: `compare`. Reads both slab by slab and sums over all samples.

Samples that are not finite, or missing, in either array are excluded from the sums. They are counted if they differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.ma  # now, not within a call
import numpy.typing as npt

from h5stz import _core, elements, slabs
from h5stz.counts import counted
from h5stz.elements import Array, DType, is_masked
from h5stz.errors import StzError, StzTypeError
from h5stz.files import compare_data
from h5stz.progress import Meter, Progress
from h5stz.signatures import checked
from h5stz.slabs import ArraySource, Box
from h5stz.type_words import described

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_DTYPE = _core.ERROR_CODES["STZ_ERROR_DTYPE"]
_PIECE = 16 << 20  # bytes that are read at once
_CACHED = 1 << 16  # samples of a part: some copies of it in float64 stay in a processor's cache


@dataclass(frozen=True)
class Comparison:
    """Errors of an array against its original. Errors are array - original, in the units of the data.

    Attributes:
        shape, dtype: of the original. Complex data have an additional last axis with real and imaginary parts.
        identical: True if all bits are equal.
        count: number of compared pairs: both samples are finite and not missing.
        unpaired: number of other pairs that differ: only one sample is finite and not missing, or neither is and they are
            different.
        low, high: minimum and maximum of the original, over the compared pairs.
        largest_error, largest_at: max |error| and its index; None if no pair was compared.
        mean_error, rmse: mean error and root mean squared error.
        psnr: 20 log10((high - low) / rmse) in dB; inf without error.
        sign_changes: number of compared pairs in which the sample of the array is below 0, or above 0, and its original is not.
        zero_changes: number of compared pairs in which the original is 0 and the sample of the array is not.
        zeros: number of compared pairs in which the original is 0.
    """

    shape: tuple[int, ...]
    dtype: str
    identical: bool
    count: int
    unpaired: int
    low: float
    high: float
    largest_error: float
    largest_at: tuple[int, ...] | None
    mean_error: float
    rmse: float
    psnr: float
    sign_changes: int = 0
    zero_changes: int = 0
    zeros: int = 0


@checked
def compare(
    original: ArraySource | npt.ArrayLike,
    array: ArraySource | npt.ArrayLike,
    *,
    missing: Sequence[float] = (),
    progress: Progress | None = None,
) -> Comparison:
    """Computes the errors of an array against its original.

    Args:
        original, array: numeric array-likes of the same shape. h5py datasets are read slab by slab.
        missing: numbers that mark missing values. Masked samples are missing too.
        progress: called with the path of the dataset, the bytes done and the bytes in total.

    Returns:
        Comparison

    Raises:
        StzError: (a ValueError) the shapes differ.
        StzTypeError: (also a TypeError) an array is not numeric.
    """
    one, other = _source(original), _source(array)
    size = math.prod(one.shape) * one.dtype.itemsize
    with Meter(progress, size).share(str(getattr(original, "name", None) or ""), size) as add:
        return compared(one, other, missing, add)


def compared(one: ArraySource, other: ArraySource, missing: Sequence[float], add: Callable[[int], None]) -> Comparison:
    """As compare(). `add` is called with the number of bytes of each slab of the original."""
    one, other = _source(one), _source(other)
    if tuple(one.shape) != tuple(other.shape):
        raise StzError(f"the shapes {tuple(one.shape)} and {tuple(other.shape)} differ: give arrays of one shape", _ARGUMENT)
    sums = _Sums(identical=one.dtype == other.dtype)
    of_one, of_other = slabs.Memory(), slabs.Memory()
    for box in slabs.boxes(one.shape, slabs.slab_extents(one, _PIECE, other)):
        x, y = of_one.piece(one, box), of_other.piece(other, box)
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the largest ones
            sums.add(box, x, y, missing)
        add(x.nbytes)
    return sums.comparison(one)


def _source(data: ArraySource | npt.ArrayLike) -> ArraySource:
    source = cast(ArraySource, data if slabs.is_array_like(data) else np.asarray(data))
    kind = np.dtype(source.dtype).kind
    if elements.is_short_float(np.dtype(source.dtype)):
        return _Exact(source)
    if kind not in "iufbc":
        raise StzTypeError(f"compare() needs numbers, not {described(source.dtype)}", _DTYPE)
    return _Parts(source) if kind == "c" else source


class _Exact:
    """bfloat16 or float8 as float32, which holds them exactly."""

    def __init__(self, source: ArraySource) -> None:
        self._source = source
        self.shape, self.chunks = source.shape, getattr(source, "chunks", None)
        self.dtype: DType = np.dtype(np.float32)

    def __getitem__(self, box: Box) -> Array:
        return elements.exact_numbers(slabs.piece(self._source, box))


class _Parts:
    """A complex array as real numbers, with a last axis for real and imaginary parts."""

    def __init__(self, source: ArraySource) -> None:
        self._source = source
        self.shape = (*source.shape, 2)
        self.dtype: DType = np.dtype(f"{source.dtype.byteorder}f{source.dtype.itemsize // 2}")
        self.chunks = (*chunks, 2) if (chunks := getattr(source, "chunks", None)) else None

    def __getitem__(self, box: Box) -> Array:
        array: Any = slabs.piece(self._source, box[:-1])
        stack: Any = np.ma.stack if is_masked(array) else np.stack
        made: Array = stack([array.real, array.imag], -1)
        return made[..., box[-1]].astype(self.dtype, copy=False)  # stacking leaves the order of bytes behind


def _flat(array: Array) -> Array:
    made: Array = np.ma.ravel(array) if is_masked(array) else np.ravel(array)
    return made


def _real(array: Array) -> Array:
    """Samples in a floating-point type that holds them; masked samples keep the value below the mask."""
    found = np.asarray(array)
    return found.astype(np.longdouble if found.dtype.kind in "iu" and found.dtype.itemsize == 8 else "f8")


def _fits_float64(dtype: DType) -> bool:
    """True if float64 holds all numbers of a type."""
    return dtype.itemsize <= (4 if dtype.kind in "iu" else 8)


def _valid(one: Array, other: Array, missing: Sequence[float]) -> Array:
    """True where both samples are finite, not masked and not a missing value."""
    found: Array = np.ones(np.shape(one), bool)
    for array in (one, other):
        found &= np.isfinite(np.asarray(array)) & ~np.ma.getmaskarray(array)
        for number in missing:
            found &= np.asarray(array) != number
    return found


def _sign_changes(one: Array, other: Array) -> int:
    """How many numbers have a sign that their originals do not have."""
    return int(np.count_nonzero((other < 0) > (one < 0)) + np.count_nonzero((other > 0) > (one > 0)))


def _zero_changes(one: Array, other: Array) -> tuple[int, int]:
    """How many zeros became other numbers, and how many zeros there are."""
    zeros = one == 0
    count = int(np.count_nonzero(zeros))
    return (int(np.count_nonzero(zeros & (other != 0))) if count else 0), count


class _Sums:
    """Sums over all slabs."""

    def __init__(self, identical: bool) -> None:
        self.identical = identical
        self.count = self.unpaired = self.sign_changes = self.zero_changes = self.zeros = 0
        self.low, self.high, self.largest = math.inf, -math.inf, 0.0
        self.at: tuple[int, ...] | None = None
        self.errors = self.squares = 0.0
        self._error = np.empty(_CACHED)

    def add(self, box: Box, one: Array, other: Array, missing: Sequence[float]) -> None:
        """Adds a slab, in parts that stay in the processor's cache."""
        shape = np.shape(one)
        flat, others = _flat(one), _flat(other)
        for begin in range(0, flat.size, _CACHED):
            part = slice(begin, begin + _CACHED)
            index = self._add(flat[part], others[part], missing)
            if index is not None:
                place = np.unravel_index(begin + index, shape)
                self.at = tuple(int(at) + cut.start for at, cut in zip(place, box, strict=True))

    def _add(self, one: Array, other: Array, missing: Sequence[float]) -> int | None:
        """Adds a part; returns the index of its largest error if it is the largest so far."""
        self.identical = self.identical and compare_data.same_bits(np.asarray(one), np.asarray(other))
        if (squares := self._all_valid(one, other, missing)) is not None:
            x, error = np.asarray(one), self._error[: one.size]
            largest = abs(max(float(error.max()), -float(error.min())))
            self._count_changes(x, np.asarray(other))
            self._sum_up(x, error, squares)
            return int(np.argmax(np.abs(error))) if self._is_largest(largest) else None
        x, y, valid = _real(one), _real(other), _valid(one, other, missing)
        count = int(np.count_nonzero(valid))
        if count < valid.size:
            same = (x == y) | ((x != x) & (y != y))
            self.unpaired += int(np.count_nonzero(~valid & ~same))
            if not count:
                return None
            samples, error = x[valid], np.where(valid, y, 0) - np.where(valid, x, 0)
            self._count_changes(samples, y[valid])
        else:
            samples, error = x, y - x
            self._count_changes(x, y)
        size = np.abs(error)
        self._sum_up(samples, error, float((error * error).sum()))
        return int(np.argmax(np.where(valid, size, -1))) if self._is_largest(float(size.max())) else None

    def _all_valid(self, one: Array, other: Array, missing: Sequence[float]) -> float | None:
        """The sum of the squared errors, if all samples are valid and float64 holds the errors. Puts the errors in `_error`.

        A sample that is not finite has an error, and a sum, that is not finite.
        """
        if is_masked(one) or is_masked(other) or not all(map(_fits_float64, (one.dtype, other.dtype))):
            return None
        if any(np.any(array == number) for array in (one, other) for number in missing):
            return None
        error = np.subtract(other, one, dtype=np.float64, out=self._error[: one.size])
        squares = float(np.einsum("i,i->", error, error))  # not np.dot, which wakes the threads of BLAS
        return squares if math.isfinite(squares) else None

    def _count_changes(self, one: Array, other: Array) -> None:
        """Counts valid samples that changed their sign, or from 0."""
        self.sign_changes += _sign_changes(one, other)
        changed, count = _zero_changes(one, other)
        self.zero_changes += changed
        self.zeros += count

    def _sum_up(self, samples: Array, error: Array, squares: float) -> None:
        """Adds valid samples of the original, their errors, and the sum of their squares."""
        self.low, self.high = min(self.low, float(samples.min())), max(self.high, float(samples.max()))
        self.errors += float(error.sum())
        self.squares += squares
        self.count += samples.size

    def _is_largest(self, error: float) -> bool:
        """True if an error is the largest so far, and is kept."""
        if not error > self.largest and self.at is not None:
            return False
        self.largest = error
        return True

    def comparison(self, one: ArraySource) -> Comparison:
        rmse = math.sqrt(self.squares / self.count) if self.count else math.nan
        width = self.high - self.low
        return Comparison(
            shape=tuple(one.shape),
            dtype=str(one.dtype),
            identical=self.identical,
            count=self.count,
            unpaired=self.unpaired,
            low=self.low if self.count else math.nan,
            high=self.high if self.count else math.nan,
            largest_error=self.largest if self.count else math.nan,
            largest_at=self.at,
            mean_error=self.errors / self.count if self.count else math.nan,
            rmse=rmse,
            psnr=math.inf if rmse == 0 else 20 * math.log10(width / rmse) if width > 0 else math.nan,
            sign_changes=self.sign_changes,
            zero_changes=self.zero_changes,
            zeros=self.zeros,
        )


def summary_lines(found: Comparison) -> list[str]:
    """A Comparison as lines of text."""
    said: list[str] = []
    if found.identical:
        said.append("identical, bit for bit")
    elif found.count:
        said.append(f"largest error: {found.largest_error:.6g} at {found.largest_at}")
        said.append(f"root mean square error: {found.rmse:.6g}, mean error: {found.mean_error:.3g}")
        said.append(f"PSNR: {found.psnr:.2f} dB, range {found.low:g} to {found.high:g}")
    else:
        said.append("no pair of samples is finite in both")
    if found.sign_changes:
        said.append(f"below or above 0, and not so in the original: {counted(found.sign_changes, 'sample')}")
    elif found.count and not found.identical:
        said.append("signs: all kept")
    if found.zeros and not found.zero_changes and not found.identical:
        said.append(f"zeros: all {found.zeros} kept")
    if found.zero_changes:
        said.append(f"not 0, and 0 in the original: {counted(found.zero_changes, 'sample')}")
    if found.unpaired:
        said.append(f"finite and not missing in one only, or in neither and different: {counted(found.unpaired, 'sample')}")
    return said

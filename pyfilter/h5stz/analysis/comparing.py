"""How far two arrays are apart: `compare`. Sums are over all samples, piece by piece; what needs neighbourhoods is sampled.

Samples that are not finite or missing in either array count as pairs apart, and take part in nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from h5stz import _core, slabs
from h5stz.analysis import compare_samples
from h5stz.counts import counted
from h5stz.elements import Array, DType, is_masked
from h5stz.errors import StzError, StzTypeError
from h5stz.progress import Meter, Progress
from h5stz.signatures import checked
from h5stz.slabs import ArraySource, Box
from h5stz.type_words import described

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_DTYPE = _core.ERROR_CODES["STZ_ERROR_DTYPE"]
_PIECE = 16 << 20  # bytes: some copies of it in float64 are made
_BINS = 101
PASSES = 2  # over the data: the histogram needs to know the largest error


@dataclass(frozen=True)
class Comparison:
    """How far an array is from its original. Errors are array - original, in units of the data.

    Attributes:
        shape, dtype: of the original; a complex one has a last axis here, of real and imaginary parts.
        identical: whether every bit is the same.
        count: pairs of samples that are compared: both finite, none missing.
        unpaired: samples that are finite and not missing in one of both only, or neither and different.
        low, high: the least and greatest value of the original.
        largest_error, largest_at: max |error|, and the index of it (None if there is no pair).
        mean_error, rmse: mean, and root of the mean squared error.
        psnr: 20 log10((high - low) / rmse) in dB; inf without error.
        correlation: Pearson's, of both arrays; nan where one is constant.
        autocorrelation: of the error with that of the next sample along each axis, of an axis of which only one sample
            fits into a piece over the middle of the data; nan where the error is constant.
        counts, edges: histogram of the error.
        ssim: mean structural similarity; None with fewer than 7 samples along two axes, or if it was not asked for.
        ssim_over: what it was taken over, as text.
        frequencies, power, error_power: spectra of the original and of the error, averaged over directions, by cycles per
            sample; empty where there are too few samples.
        spectrum_over: what they were taken over, as text.
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
    correlation: float
    autocorrelation: tuple[float, ...]
    counts: tuple[int, ...]
    edges: tuple[float, ...]
    ssim: float | None
    ssim_over: str
    frequencies: tuple[float, ...]
    power: tuple[float, ...]
    error_power: tuple[float, ...]
    spectrum_over: str


@checked
def compare(
    original: ArraySource | npt.ArrayLike,
    array: ArraySource | npt.ArrayLike,
    *,
    missing: Sequence[float] = (),
    ssim: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Tells how far an array is from its original.

    Args:
        original, array: array-likes of one shape, of numbers; h5py datasets are read in pieces, twice.
        missing: numbers that mark missing samples. Masked ones are missing too.
        ssim: whether to compute it, which needs scikit-image.
        progress: is told how far it is.

    Returns:
        Comparison.

    Raises:
        StzError: (a ValueError) they have different shapes; StzTypeError: (a TypeError too) they are no numbers.
        ImportError: scikit-image is not there.
    """
    one, other = _source(original), _source(array)
    size = PASSES * math.prod(one.shape) * one.dtype.itemsize
    with Meter(progress, size).share(str(getattr(original, "name", None) or ""), size) as add:
        return compared(one, other, missing, ssim, add)


def compared(
    one: ArraySource, other: ArraySource, missing: Sequence[float], ssim: bool, add: Callable[[int], None]
) -> Comparison:
    """As compare(); `add` is called with the bytes of each piece of the original, PASSES times in all."""
    one, other = _source(one), _source(other)
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the largest ones
        return _compared(one, other, missing, ssim, add)


def _compared(
    one: ArraySource, other: ArraySource, missing: Sequence[float], ssim: bool, add: Callable[[int], None]
) -> Comparison:
    if tuple(one.shape) != tuple(other.shape):
        raise StzError(f"the shapes {tuple(one.shape)} and {tuple(other.shape)} differ: give arrays of one shape", _ARGUMENT)
    pieces = _Pieces(one, other, missing, add)
    sums = _Sums(len(one.shape))
    for box, *pair in pieces:
        sums.add(box, *pair)
    edges = np.linspace(-1, 1, _BINS + 1) * (sums.largest or 1.0)
    counts = np.zeros(_BINS, int)
    for _, x, y, valid in pieces:
        counts += np.histogram((y[valid] - x[valid]).astype("f8"), edges)[0]
    sample = compare_samples.Samples(one, other, missing, (sums.low, sums.high))
    for axis in sums.axes_without_pairs(one.shape):
        sums.add_lagged(axis, *sample.along(axis))
    similarity, ssim_over = sample.ssim() if ssim and sums.count else (None, "")
    spectra = sample.spectra() if sums.count else compare_samples.NO_SPECTRA
    return sums.comparison(one, counts, edges, similarity, ssim_over, spectra, pieces.identical)


def _source(data: ArraySource | npt.ArrayLike) -> ArraySource:
    source = cast(ArraySource, data if slabs.is_array_like(data) else np.asarray(data))
    kind = np.dtype(source.dtype).kind
    if kind not in "iufbc":
        raise StzTypeError(f"compare() is for numbers, not {described(source.dtype)}", _DTYPE)
    return _Parts(source) if kind == "c" else source


class _Parts:
    """A complex array as real numbers: a last axis has real and imaginary parts."""

    def __init__(self, source: ArraySource) -> None:
        self._source = source
        self.shape = (*source.shape, 2)
        self.dtype: DType = np.dtype(f"{source.dtype.byteorder}f{source.dtype.itemsize // 2}")
        self.chunks = (*chunks, 2) if (chunks := getattr(source, "chunks", None)) else None

    def __getitem__(self, box: Box) -> Array:
        array = slabs.piece(self._source, box[:-1])
        stack: Any = np.ma.stack if is_masked(array) else np.stack
        made: Array = stack(_real_and_imaginary(array), -1)
        return made[..., box[-1]].astype(self.dtype, copy=False)  # stacking leaves the order of bytes behind


def _real_and_imaginary(array: Any) -> list[Array]:
    return [array.real, array.imag]


class _Pieces:
    """The pairs of pieces of two arrays: (box, x, y, valid)."""

    def __init__(self, one: ArraySource, other: ArraySource, missing: Sequence[float], add: Callable[[int], None]) -> None:
        self.one, self.other, self.missing, self._add = one, other, missing, add
        self.identical = one.dtype == other.dtype

    def __iter__(self) -> Iterator[tuple[Box, Array, Array, Array]]:
        for box in slabs.boxes(self.one.shape, slabs.slab_extents(self.one, _PIECE)):
            x, y = slabs.piece(self.one, box), slabs.piece(self.other, box)
            self.identical = self.identical and np.asarray(x).tobytes() == np.asarray(y).tobytes()
            yield box, compare_samples.real(x), compare_samples.real(y), compare_samples.valid(x, y, self.missing)
            self._add(x.nbytes)


class _Sums:
    """What is added up over all pieces."""

    def __init__(self, rank: int) -> None:
        self.count = self.unpaired = 0
        self.low, self.high, self.largest = math.inf, -math.inf, 0.0
        self.at: tuple[int, ...] | None = None
        self.moments = np.zeros(6)  # means of x, y and error, then the centred sums of x^2, y^2, x y
        self.squares = 0.0
        self.lagged = np.zeros((rank, 6))  # of pairs of errors (a, b) along each axis: n, a, b, a^2, b^2, a b

    def add(self, box: Box, x: Array, y: Array, valid: Array) -> None:
        same = (x == y) | ((x != x) & (y != y))
        self.unpaired += int(np.count_nonzero(~valid & ~same))
        count = int(np.count_nonzero(valid))
        if not count:
            return
        error = np.where(valid, y, 0) - np.where(valid, x, 0)
        size = np.abs(error)
        if (largest := float(size.max())) > self.largest or self.at is None:
            place = np.unravel_index(int(np.argmax(np.where(valid, size, -1))), x.shape)
            self.largest = largest
            self.at = tuple(int(index) + cut.start for index, cut in zip(place, box, strict=True))
        a, b = x[valid], y[valid]
        self.low, self.high = min(self.low, float(a.min())), max(self.high, float(a.max()))
        self.squares += float((error * error).sum())
        self._merge(count, a.astype("f8"), b.astype("f8"), float(error.sum()) / count)
        for axis in range(x.ndim):
            self.add_lagged(axis, error.astype("f8"), valid)

    def _merge(self, count: int, a: Array, b: Array, mean_error: float) -> None:
        """Adds centred moments to those of what came before, which cancels nothing (Chan et al.)."""
        means = np.array([a.mean(), b.mean(), mean_error])
        a, b = a - means[0], b - means[1]
        total = self.count + count
        apart, weight = means - self.moments[:3], self.count * count / total
        self.moments[3:] += [float(a @ a), float(b @ b), float(a @ b)]
        self.moments[3:] += weight * np.array([apart[0] ** 2, apart[1] ** 2, apart[0] * apart[1]])
        self.moments[:3] += apart * count / total
        self.count = total

    def axes_without_pairs(self, shape: Sequence[int]) -> list[int]:
        """Axes of which no piece had two samples."""
        return [axis for axis, extent in enumerate(shape) if extent > 1 and self.count and not self.lagged[axis, 0]]

    def add_lagged(self, axis: int, error: Array, valid: Array) -> None:
        ahead = tuple(slice(None, -1) if number == axis else slice(None) for number in range(error.ndim))
        behind = tuple(slice(1, None) if number == axis else slice(None) for number in range(error.ndim))
        both = valid[ahead] & valid[behind]
        a, b = error[ahead][both], error[behind][both]
        self.lagged[axis] += [a.size, a.sum(), b.sum(), a @ a, b @ b, a @ b]

    def comparison(
        self,
        one: ArraySource,
        counts: Array,
        edges: Array,
        similarity: float | None,
        ssim_over: str,
        spectra: compare_samples.Spectra,
        identical: bool,
    ) -> Comparison:
        rmse = math.sqrt(self.squares / self.count) if self.count else math.nan
        width = self.high - self.low
        psnr = math.inf if rmse == 0 else 20 * math.log10(width / rmse) if width > 0 else math.nan
        _, _, mean_error, of_x, of_y, of_both = self.moments.tolist()
        return Comparison(
            shape=tuple(one.shape),
            dtype=str(one.dtype),
            identical=identical,
            count=self.count,
            unpaired=self.unpaired,
            low=self.low if self.count else math.nan,
            high=self.high if self.count else math.nan,
            largest_error=self.largest if self.count else math.nan,
            largest_at=self.at,
            mean_error=mean_error if self.count else math.nan,
            rmse=rmse,
            psnr=psnr,
            correlation=_ratio(of_both, of_x, of_y),
            autocorrelation=tuple(_lag_one(*each) for each in self.lagged.tolist()),
            counts=tuple(counts.tolist()),
            edges=tuple(edges.tolist()),
            ssim=similarity,
            ssim_over=ssim_over,
            frequencies=spectra.frequencies,
            power=spectra.power,
            error_power=spectra.error_power,
            spectrum_over=spectra.over,
        )


def _lag_one(count: float, a: float, b: float, aa: float, bb: float, ab: float) -> float:
    return _ratio(ab - a * b / count, aa - a * a / count, bb - b * b / count) if count > 1 else math.nan


def _ratio(of_both: float, of_one: float, of_other: float) -> float:
    product = of_one * of_other
    return max(-1.0, min(1.0, of_both / math.sqrt(product))) if product > 0 else math.nan


def summary_lines(found: Comparison) -> list[str]:
    """A Comparison as lines of text."""
    said: list[Any] = []
    if found.identical:
        said.append("identical, bit for bit")
    elif found.count:
        said.append(f"largest error: {found.largest_error:.6g} at {found.largest_at}")
        said.append(f"root mean square error: {found.rmse:.6g}, mean error: {found.mean_error:.3g}")
        said.append(f"PSNR: {found.psnr:.2f} dB, range {found.low:g} to {found.high:g}")
        said.append(f"correlation: {found.correlation:.12g}")
        if found.ssim is not None:
            said.append(f"SSIM: {found.ssim:.6f}, {found.ssim_over}")
        lags = ", ".join(f"{each:.3f}" for each in found.autocorrelation)
        said.append(f"autocorrelation of the error with the next sample, by axis: {lags}")
    else:
        said.append("no sample is finite in both")
    if found.unpaired:
        said.append(f"finite and not missing in one only, or in neither and different: {counted(found.unpaired, 'sample')}")
    return said

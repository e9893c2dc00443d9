"""Estimates compressed size and errors from samples of the data: `estimate`.

The codec estimates a chunk from boxes of it (``stz_estimate`` in stz.h). This module chooses chunks that represent a dataset.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeGuard, cast

import h5py
import numpy as np

# NumPy would load these within a call, where a fork could catch it half-way.
import numpy.ma
import numpy.random
import numpy.typing as npt

from h5stz import _core, elements, slabs, validity
from h5stz.elements import Array
from h5stz.errors import StzError
from h5stz.options import bounds
from h5stz.options.bound_search import BoundSearch, Window
from h5stz.options.chunks import suggest_chunks
from h5stz.options.option_checks import BOUNDS, checked_bound, checked_chunks, checked_count
from h5stz.options.ratio_bounds import FIRST_GUESS, ratio_window
from h5stz.options.settings import Settings
from h5stz.options.stz import STZ, Options
from h5stz.signatures import with_options_of
from h5stz.slabs import ArraySource
from h5stz.waiting import no_garbage_collection

if TYPE_CHECKING:
    from typing_extensions import Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_BOUND = _core.ERROR_CODES["STZ_ERROR_BOUND"]

SAMPLE_BYTES = 128 << 20
_PSNR_WINDOW = 0.1  # dB


@dataclass(frozen=True)
class Estimate:
    """Expected result of compressing data.

    Attributes:
        bytes: expected size of all chunks, in bytes, without the metadata of a file.
        spread: standard deviation of `bytes`, from the differences between the sampled chunks.
        array_bytes: size of the data in bytes.
        psnr: expected PSNR in dB, 20 log10((max - min) / rmse), over the valid numbers of the sampled chunks. inf if lossless.
            NaN if float64 cannot hold the mean squared error.
        rmse: expected root mean squared error, in the units of the data. inf if float64 cannot hold its square.
        bound: the absolute bound; for `pointwise_relative` the bound relative to each sample; 0.0 is lossless.
        options: the options of STZ with this bound, as text.
        chunks: chunk shape.
        sampled, chunk_count: number of sampled chunks, and of all chunks.
        exact: True if all chunks were compressed, so that nothing is extrapolated, and the fill value of the dataset does
            not matter: it is unknown if chunks stand over the edge and `fill_value` is given.
        sign_changes: how many samples may come out below 0, or above 0, while they are not: in chunks of both signs, those that
            are not farther from 0 than an absolute bound. Chunks of one sign keep it.
        zero_changes: how many samples that are 0 may come out as other numbers. Under an absolute bound without `keep_zeros`,
            these are all zeros.
    """

    bytes: int
    spread: float
    array_bytes: int
    psnr: float
    rmse: float
    bound: float
    options: str
    chunks: tuple[int, ...]
    sampled: int
    chunk_count: int
    exact: bool
    sign_changes: int = 0
    zero_changes: int = 0

    @property
    def ratio(self) -> float:
        """Expected compression ratio: array_bytes / bytes."""
        return self.array_bytes / self.bytes if self.bytes else 1.0


@with_options_of(STZ)
def estimate(
    array: ArraySource | npt.ArrayLike, *, sample_bytes: int = SAMPLE_BYTES, jobs: int = 1, **options: Unpack[Options]
) -> Estimate:
    """Estimates compression ratio and error without compressing everything, from chunks that are spread over the data.

    Chunks of at most 2^21 samples are compressed, because an estimate would take as long. In larger chunks, the coarse levels
    and boxes of the finer levels are compressed (docs/estimates.md).

    Args:
        array: array-like, such as an h5py dataset. Only the sampled chunks are read.
        sample_bytes: approximate number of bytes to read, in whole chunks; at least one chunk is read.
        jobs: number of threads; each handles one chunk.
        **options: options of STZ except `data`. Bounds that depend on the data refer to the sampled chunks and are only as
            good as these represent the rest; `relative` for an array in memory refers to the whole array. chunks=None uses the
            chunks of the array. If it has none, an array in memory is one chunk, and others get suggest_chunks().

    Returns:
        Estimate. For `psnr` or `ratio`, its `bound` is the one that meets them.

    Raises:
        StzError: (a ValueError) invalid options, an empty array, or a psnr or ratio that no bound reaches.
    """
    source = cast(ArraySource, array if slabs.is_array_like(array) else np.asarray(array))
    checked_count("sample_bytes", sample_bytes, 2**62)
    checked_count("jobs", jobs, 4096)
    if "data" in options:
        raise StzError("data= is the array itself: leave it out", _ARGUMENT)
    if not source.shape or not math.prod(source.shape):
        raise StzError(
            f"data of the shape {tuple(source.shape)} are stored without compression: there is nothing to estimate", _ARGUMENT
        )
    sample = _Sample(source, options.pop("chunks", None), sample_bytes, jobs)
    kind, number = checked_bound({name: options.get(name) for name in BOUNDS}, options.get("lossless", False))
    if kind in ("psnr", "ratio"):
        return _searched(sample, kind, number, {name: value for name, value in options.items() if name != kind})
    resolved = STZ(**cast(Options, {**options, "data": sample.as_one()})).resolved
    return sample.result(resolved.settings, resolved.text())


class _Sample:
    """The sampled chunks of the data."""

    def __init__(self, source: ArraySource, chunks: object, sample_bytes: int, jobs: int) -> None:
        self.dtype, self.jobs = np.dtype(source.dtype), jobs
        self.array_bytes = math.prod(source.shape) * self.dtype.itemsize
        self.chunks = checked_chunks(chunks, source) or _chunks_of(source)
        boxes = slabs.boxes(source.shape, self.chunks)
        self.chunk_count = len(boxes)
        whole = [box for box in boxes if all(cut.stop - cut.start == most for cut, most in zip(box, self.chunks, strict=True))]
        wanted = max(1, sample_bytes // max(1, math.prod(self.chunks) * self.dtype.itemsize))
        if wanted < len(boxes):
            candidates = whole or boxes
            wanted = min(wanted, len(candidates))
            spread = np.random.default_rng(1).random(wanted)  # a place in each of as many equal parts
            boxes = [candidates[int((part + share) * len(candidates) / wanted)] for part, share in enumerate(spread)]
        self.pieces = [slabs.piece(source, box) for box in boxes]
        self.whole = source if _in_memory(source) else None
        self.rank = len(source.shape)
        self.in_chunks = chunks is not None or self.whole is None  # else compress() is estimated
        self.is_partial = any(piece.shape != self.chunks for piece in self.pieces)
        # HDF5 fills up chunks at the end of a dataset with its fill value, which the filter takes for a missing value.
        creation = source.id.get_create_plist() if isinstance(source, h5py.Dataset) else None
        self.has_file_fill = bool(creation and creation.fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED)
        self._counts: dict[int | None, list[int]] = {}

    def as_one(self) -> Array:
        """All sampled values as one array; for an array in memory, all of it."""
        if self.whole is not None:
            return self.whole
        if len(self.pieces) == 1:
            return self.pieces[0]
        masked = any(map(np.ma.isMaskedArray, self.pieces))
        joined = (np.ma.concatenate if masked else np.concatenate)([piece.ravel() for piece in self.pieces])
        return cast(Array, joined.reshape(-1, *[1] * (self.rank - 1)))  # options may name an axis

    def extremes(self, fill: int | None) -> validity.Extremes | None:
        """Minimum and maximum of the valid numbers."""
        return validity.extremes(slabs.slabs(self.as_one()), () if fill is None else (fill,), counted=False)

    def valid_counts(self, fill: int | None) -> list[int]:
        """Number of valid numbers in each chunk. The mean squared error of a chunk is over these."""
        if fill not in self._counts:
            excluded = () if fill is None else (fill,)
            self._counts[fill] = [validity.numbers(piece, excluded).size for piece in self.pieces]
        return self._counts[fill]

    def sign_changes(self, settings: Settings) -> int:
        """How many samples may change their sign."""

        def within(numbers: Array) -> int:
            return _within(numbers, settings.bound) if numbers.size and numbers.min() < 0 < numbers.max() else 0

        return self._expected_count(settings, within)

    def zero_changes(self, settings: Settings) -> int:
        """How many zeros may become other numbers."""
        return 0 if settings.keep_zeros else self._expected_count(settings, lambda numbers: _within(numbers, 0))

    def _expected_count(self, settings: Settings, count: Callable[[Array], int]) -> int:
        """What is counted among the valid numbers, for all data. 0 unless they have an absolute bound."""
        lossy_integers = settings.integers == _core.CHOICES["integers"]["lossy"]
        exact = self.dtype.kind in "iub" and (not lossy_integers or settings.bound < 1)
        if settings.mode != _core.MODES["absolute"] or settings.bound == 0 or exact:
            return 0
        excluded = () if settings.fill is None else (settings.fill,)
        counted = sum(count(validity.numbers(piece, excluded)) for piece in self.pieces)
        return round(counted * self.array_bytes / sum(piece.nbytes for piece in self.pieces))

    def measured(self, settings: Settings) -> list[tuple[float, float, float, bool]]:
        """The codec's estimate for each chunk as HDF5 stores it: chunks at the end of the data are padded."""

        def estimate(piece: Array, valid: int) -> tuple[float, float, float, bool]:
            stored = elements.stored(piece, settings.fill)
            whole = np.ascontiguousarray(bounds.as_chunk(stored, self.chunks, settings.fill))
            size, variance, square, exact = (settings.of_chunk(whole) if self.in_chunks else settings).estimate(whole)
            if settings.fill is None and valid:  # what fills it up has no error, but counts as valid
                square *= 1 + validity.components(whole).size / valid - validity.components(stored).size / valid
            return size, variance, square, exact

        with no_garbage_collection(), ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(estimate, self.pieces, self.valid_counts(settings.fill)))

    def expected(self, settings: Settings) -> tuple[float, float, float, bool]:
        """Expected bytes of all chunks, their standard deviation, the mean squared error, and whether all three are exact."""
        each = self.measured(settings)
        looked_at = sum(piece.nbytes for piece in self.pieces)
        scale = self.array_bytes / looked_at
        sizes = np.array([size for size, *_ in each])
        variance = sum(of_one for _, of_one, _, _ in each)
        if scale > 1 and len(each) > 1:
            variance += len(each) * float(np.var(sizes, ddof=1)) * (1 - 1 / scale)
        weights = self.valid_counts(settings.fill)
        squares = [square for _, _, square, _ in each]
        error = float(np.average(squares, weights=weights)) if any(weights) else 0.0
        known = not self.has_file_fill and (settings.fill is None or not self.is_partial)  # what the filter will see
        exact = scale == 1 and known and all(is_exact for *_, is_exact in each)
        return float(sizes.sum()) * scale, math.sqrt(variance) * scale, error, exact

    def result(self, settings: Settings, options: str) -> Estimate:
        """The Estimate for settings."""
        size, spread, square, exact = self.expected(settings)
        extremes = self.extremes(settings.fill)
        return Estimate(
            bytes=round(size),
            spread=spread,
            array_bytes=self.array_bytes,
            psnr=_psnr(extremes.width if extremes else 0, square),
            rmse=math.sqrt(square),
            bound=settings.bound,
            options=options,
            chunks=self.chunks,
            sampled=len(self.pieces),
            chunk_count=self.chunk_count,
            exact=exact,
            sign_changes=self.sign_changes(settings),
            zero_changes=self.zero_changes(settings),
        )


def _within(numbers: Array, bound: float) -> int:
    return int(np.count_nonzero((numbers >= -bound) & (numbers <= bound)))


def _in_memory(source: ArraySource) -> TypeGuard[Array]:
    return isinstance(source, np.ndarray) and not isinstance(source, np.memmap)


def _chunks_of(source: ArraySource) -> tuple[int, ...]:
    """The chunk shape to assume if none is given."""
    parts: Any = getattr(source, "chunks", None)
    if parts:  # dask
        return tuple(max(1, *extents) if isinstance(extents, tuple) else int(extents) for extents in parts)
    return tuple(source.shape) if _in_memory(source) else suggest_chunks(source.shape, source.dtype)


def _psnr(width: Fraction | float, square: float) -> float:
    """PSNR in dB, also for ranges beyond float64. NaN if float64 cannot hold the mean squared error."""
    if square == 0 or width == 0:
        return math.inf
    if not math.isfinite(square):
        return math.nan
    level = math.log10(width) if isinstance(width, float) else math.log10(width.numerator) - math.log10(width.denominator)
    return 20 * level - 10 * math.log10(square)


def _searched(sample: _Sample, kind: str, number: float, options: dict[str, Any]) -> Estimate:
    """The Estimate for the bound at which the data have about the given PSNR or ratio (`kind`)."""
    enhance = "both" if options.get("enhance") is True else options.get("enhance")
    resolved = STZ(**cast(Options, {**options, "enhance": enhance, "absolute": 1.0, "data": sample.as_one()})).resolved
    settings = resolved.settings
    width = bounds.range_of(sample.extremes(settings.fill))
    if settings.mode == _core.MODES["absolute"]:  # not integers that are exact anyway
        settings = settings.replace(bound=_bound_for(sample, kind, number, settings, width) if width else 0.0)
    return sample.result(settings, replace(resolved, settings=settings).text())


def _bound_for(sample: _Sample, kind: str, number: float, settings: Settings, width: float) -> float:
    """The bound at which the data are expected to have the PSNR or ratio. If none has, the nearest bound with more of it."""
    if kind == "psnr":
        window = Window(number, _PSNR_WINDOW, margin=_PSNR_WINDOW / 8, narrowest=_PSNR_WINDOW / 4, per_decade=20)
        guess = width * 10 ** (-number / 20) * math.sqrt(3)  # uniform errors in [-bound, bound]
    else:
        window, guess = ratio_window(number, sample.array_bytes), width * FIRST_GUESS
    search = BoundSearch(window, width)

    def level(bound: float) -> tuple[float, float]:
        size, _, square, _ = sample.expected(settings.replace(bound=bound))
        return (_psnr(width, square) if kind == "psnr" else math.log2(size)), 0.0

    bound = search.narrow(guess, level)
    if bound is not None:
        return bound
    if kind == "ratio" and search.worse is None:
        raise StzError(f"ratio={number:g} cannot be met on these data with any bound: give a smaller one", _BOUND)
    nearest = search.better if kind == "psnr" else search.worse
    return nearest.bound if nearest and (kind == "psnr" or search.better) else 0.0

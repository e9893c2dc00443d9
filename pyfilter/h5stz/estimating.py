"""How small data will be, and with what errors, from samples of them: `estimate`.

The codec estimates chunks from boxes of them (``stz_estimate`` in stz.h); here chunks are chosen that stand for a dataset.
"""

from __future__ import annotations

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeGuard, cast

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
    """What compressing data will come to.

    Attributes:
        bytes: expected size of the streams of all chunks; a file has its metadata besides.
        spread: standard deviation of `bytes`, as far as the differences between samples tell it.
        array_bytes: size of the data.
        psnr: expected PSNR in dB, 20 log10((max - min) / rmse) over the valid numbers of what was looked at; inf without loss,
            NaN where float64 cannot hold the mean squared error.
        rmse: expected root of the mean squared error, in units of the data; inf where float64 cannot hold its square.
        bound: the absolute bound, or that relative to each sample for `pointwise_relative`; 0.0 is lossless.
        options: the options of STZ with that bound, as text.
        chunks: shape of the chunks.
        sampled, chunk_count: how many chunks were looked at, and how many there are.
        exact: whether everything was looked at, in chunks so small that they were compressed: then nothing is guessed.
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

    @property
    def ratio(self) -> float:
        """array_bytes / bytes."""
        return self.array_bytes / self.bytes if self.bytes else 1.0


@with_options_of(STZ)
def estimate(
    array: ArraySource | npt.ArrayLike, *, sample_bytes: int = SAMPLE_BYTES, jobs: int = 1, **options: Unpack[Options]
) -> Estimate:
    """Estimates what compressing will come to, without compressing: from boxes of the samples, in chunks spread over the data.

    Chunks of at most 2^21 samples are compressed, which takes no longer than estimating them; of larger ones the coarse levels
    are, and boxes of the finer ones (docs/estimates.md).

    Args:
        array: array-like, such as an h5py dataset; only the chunks that are looked at are read.
        sample_bytes: about how much of it is read, in whole chunks; at least one.
        jobs: threads, each for a chunk of its own.
        **options: as of STZ, but `data`. Bounds that need data refer to the chunks that are looked at (`relative` of an array
            in memory: to all of it), and are as good as these stand for the rest. chunks=None: those of the array, or else one
            for an array in memory, and what suggest_chunks() gives for others.

    Returns:
        Estimate. Its `bound` is the one for the wanted `psnr` or `ratio`.

    Raises:
        StzError: (a ValueError) options that do not fit, no element, a psnr or ratio that no bound gives.
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
    """Chunks that stand for data."""

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
        self._counts: dict[int | None, list[int]] = {}

    def as_one(self) -> Array:
        """All that is looked at, for what depends on it as a whole; of an array in memory everything."""
        if self.whole is not None:
            return self.whole
        if len(self.pieces) == 1:
            return self.pieces[0]
        masked = any(map(np.ma.isMaskedArray, self.pieces))
        joined = (np.ma.concatenate if masked else np.concatenate)([piece.ravel() for piece in self.pieces])
        return cast(Array, joined)

    def extremes(self, fill: int | None) -> validity.Extremes | None:
        """The extremes of the valid numbers."""
        return validity.extremes(slabs.slabs(self.as_one()), () if fill is None else (fill,), counted=False)

    def valid_counts(self, fill: int | None) -> list[int]:
        """How many valid numbers each chunk has: its mean squared error is over these."""
        if fill not in self._counts:
            excluded = () if fill is None else (fill,)
            self._counts[fill] = [validity.numbers(piece, excluded).size for piece in self.pieces]
        return self._counts[fill]

    def measured(self, settings: Settings) -> list[tuple[float, float, float, bool]]:
        """The estimate of each chunk as HDF5 stores it: a chunk at the end of the data is filled up."""

        def estimate(piece: Array, valid: int) -> tuple[float, float, float, bool]:
            stored = elements.stored(piece, settings.fill)
            whole = np.ascontiguousarray(bounds.as_chunk(stored, self.chunks, settings.fill))
            size, variance, square, exact = settings.estimate(whole)
            if settings.fill is None and valid:  # what fills it up has no error, but counts as valid
                square *= 1 + validity.components(whole).size / valid - validity.components(stored).size / valid
            return size, variance, square, exact

        with no_garbage_collection(), ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(estimate, self.pieces, self.valid_counts(settings.fill)))

    def expected(self, settings: Settings) -> tuple[float, float, float, bool]:
        """Bytes of all chunks, their standard deviation, the mean squared error, and whether these are exact."""
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
        exact = scale == 1 and all(is_exact for *_, is_exact in each)
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
        )


def _in_memory(source: ArraySource) -> TypeGuard[Array]:
    return isinstance(source, np.ndarray) and not isinstance(source, np.memmap)


def _chunks_of(source: ArraySource) -> tuple[int, ...]:
    """The chunks to assume where none are given."""
    parts: Any = getattr(source, "chunks", None)
    if parts:  # dask
        return tuple(max(1, *extents) if isinstance(extents, tuple) else int(extents) for extents in parts)
    return tuple(source.shape) if _in_memory(source) else suggest_chunks(source.shape, source.dtype)


def _psnr(width: Fraction | float, square: float) -> float:
    """In dB, also where the range exceeds float64; NaN if the mean squared error does."""
    if square == 0 or width == 0:
        return math.inf
    if not math.isfinite(square):
        return math.nan
    level = math.log10(width) if isinstance(width, float) else math.log10(width.numerator) - math.log10(width.denominator)
    return 20 * level - 10 * math.log10(square)


def _searched(sample: _Sample, kind: str, number: float, options: dict[str, Any]) -> Estimate:
    """The Estimate for the bound with which the data have about a PSNR or a ratio (the kind)."""
    enhance = "both" if options.get("enhance") is True else options.get("enhance")
    resolved = STZ(**cast(Options, {**options, "enhance": enhance, "absolute": 1.0, "data": sample.as_one()})).resolved
    settings = resolved.settings
    width = bounds.range_of(sample.extremes(settings.fill))
    if settings.mode == _core.MODES["absolute"]:  # not integers that are exact anyway
        settings = settings.replace(bound=_bound_for(sample, kind, number, settings, width) if width else 0.0)
    return sample.result(settings, replace(resolved, settings=settings).text())


def _bound_for(sample: _Sample, kind: str, number: float, settings: Settings, width: float) -> float:
    """The bound with which data of this range are expected to have a PSNR or a ratio, or the nearest that has more of it."""
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

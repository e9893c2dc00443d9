"""Resolves a relative bound or a PSNR of the whole dataset to an absolute bound."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from h5stz import _core, elements, slabs, validity
from h5stz.elements import Array
from h5stz.errors import StzError
from h5stz.options.bound_search import BoundSearch, Window
from h5stz.options.settings import Settings
from h5stz.slabs import ArraySource, Box
from h5stz.validity import Extremes

_BOUND_ERROR = _core.ERROR_CODES["STZ_ERROR_BOUND"]

WINDOW = 0.7  # dB above the wanted PSNR that are allowed
# Bounds to try around a jump, on either side: as many as these bytes allow, within limits.
_PROBES = 8, 200
_PROBED_BYTES = 400 << 20
_CHUNK_SAMPLES = 1 << 15, 1 << 10
_CAP_MARGIN = 0.02  # dB that rounding and luck may take from evenly spread errors
_SEARCH_BYTES = 64 << 20
_BATCH = 1 << 18


class RangeError(StzError):
    """The range of the data, or a fraction of it, exceeds float64."""


class NoRangeError(StzError):
    """The data have fewer than two different valid numbers, so their PSNR is undefined."""


def range_of(extremes: Extremes | None) -> float:
    """high - low as a float; 0.0 without valid numbers. RangeError if float64 cannot hold it."""
    if extremes is None:
        return 0.0
    try:
        return float(extremes.width)
    except OverflowError:
        raise RangeError(
            f"the range of the data ({extremes.low!r} to {extremes.high!r}) exceeds float64: give the bound with absolute=",
            _BOUND_ERROR,
        ) from None


def nothing_valid(option: str) -> str:
    """The message for data without a valid number, which have no bound by this option."""
    return (
        f"{option}= refers to the range of the valid numbers, and data without a valid number have none (all are NaN, "
        "infinite, masked or the fill value): give the bound itself, absolute=, or lossless=True, which is as small"
    )


def relative_bound(relative: float, extremes: Extremes | None) -> float:
    """relative * (high - low), not above the exact product and not above the product in float64 arithmetic."""
    bound = relative * range_of(extremes)
    if math.isinf(bound):
        raise RangeError(
            f"relative={relative!r} times the range of the data, {range_of(extremes)!r}, exceeds float64: give a smaller share",
            _BOUND_ERROR,
        )
    exact = Fraction(relative) * extremes.width if extremes else Fraction(0)
    while Fraction(bound) > exact:  # twice, if the range and the product are both rounded up
        bound = math.nextafter(bound, 0.0)
    return bound


def psnr_settings(
    psnr: float,
    data: ArraySource,
    extremes: Extremes | None,
    candidates: Sequence[Settings],
    chunks: tuple[int, ...] | None = None,
) -> Settings:
    """Settings with a bound that gives all of `data` a PSNR in [psnr, psnr + WINDOW] dB, measured with the codec.

    A bound is found for each candidate, and the candidate with the fewest bytes is returned.

    It may be that every bound either gives a lower PSNR or stores the data losslessly, which is then also shorter (few
    distinct values, numbers on a grid). The result is then a bound that stores them losslessly.

    PSNR is 20 log10(range / rmse) over the valid samples (both components of complex ones). Errors depend slightly on the
    chunks. Without `chunks`, tiny, small and large chunks are measured, and all reach `psnr`. In addition, the bound is not
    larger than one at which evenly distributed errors have that PSNR. This does not prove that other chunk shapes reach it,
    and the PSNR may be above the window.

    Args:
        psnr: target in dB.
        data: array-like, the whole dataset.
        extremes: of its valid numbers.
        candidates: settings without a bound.
        chunks: chunk shape of the dataset; None if unknown.

    Raises:
        NoRangeError: constant data, or no valid numbers.
        StzError: no bound gives this PSNR.
        RangeError: float64 cannot hold the range.
    """
    width = range_of(extremes)
    if width == 0:
        reason = (
            nothing_valid("psnr")
            if extremes is None
            else "psnr= is undefined for constant data: use lossless=True, which is as small"
        )
        raise NoRangeError(reason, _BOUND_ERROR)
    searches = [_Search(psnr, width, data, settings, chunks) for settings in candidates]
    found = [search for search in searches if search.run()]
    if not found:
        raise StzError(searches[0].failure(), _BOUND_ERROR)
    return min(found, key=lambda search: search.size).settings


class _Search:
    """Searches a bound with all measurements of the data; for large data first with those of a part."""

    def __init__(
        self, psnr: float, width: float, data: ArraySource, settings: Settings, chunks: tuple[int, ...] | None
    ) -> None:
        self.psnr, self.width, self.data, self.settings = psnr, width, data, settings
        self.sizes: dict[float, int] = {}  # by bound: bytes of all streams when it was last tried
        extents: list[Sequence[int]] = [chunks] if chunks else []
        if not chunks:
            extents = [slabs.slab_extents(data, slabs.STORED_BYTES), *(_chunk_extents(data.shape, n) for n in _CHUNK_SAMPLES)]
        self.chunks_are_known, self.partition_chunk = bool(chunks), extents[0]
        self.partitions = [slabs.boxes(data.shape, each) for each in extents]
        self.search = BoundSearch(Window(psnr, WINDOW, margin=0.1, narrowest=0.15, per_decade=20), width)

    def run(self) -> bool:
        """True if a bound was found; `settings` then has it."""
        bound = self._bound()
        if bound is not None:
            self.settings = self.settings.replace(bound=bound)
        return bound is not None

    @property
    def size(self) -> int:
        """Compressed bytes with the bound that was found."""
        return self.sizes[self.settings.bound]

    def _bound(self) -> float | None:
        bound = self._measured_bound()
        return bound if bound is None or self.chunks_are_known else self._for_any_chunks(bound)

    def _for_any_chunks(self, bound: float) -> float:
        """The bound, or a smaller one that reaches the PSNR even if other chunks have larger mean errors.

        In the measured chunks, predictions may be so good that most errors are much smaller than the bound; in other chunks
        they may not be. Errors are then at worst evenly distributed up to the bound.
        """
        root = self.width * 10 ** (-self.psnr / 20)  # of the mean squared error
        cap = root * math.sqrt(3) * 10 ** (-_CAP_MARGIN / 20)
        surely = root / (1.5 if self.settings.may_be_relaxed else 1.0)  # no error is larger
        for share in (1.0, 0.9, 0.8, 0.7):
            if bound <= cap * share:
                return bound
            if cap * share > surely and self._levels(cap * share, self.partitions)[0] >= self.psnr:
                return cap * share
        self._levels(surely, self.partitions)
        return surely

    def _measured_bound(self) -> float | None:
        # Uniform errors in [-bound, bound] have an rmse of bound / sqrt(3).
        guess = min(self.width * 10 ** (-self.psnr / 20) * math.sqrt(3), sys.float_info.max)
        size = math.prod(self.data.shape) * np.dtype(self.data.dtype).itemsize
        if size > _SEARCH_BYTES and len(self.partitions[-1]) > 1:
            # First on evenly spread chunks, then on everything, starting from what they gave.
            step = -(-size // (_SEARCH_BYTES // 4))
            few = [self.partitions[-1 if self.chunks_are_known else 1][::step]]
            guess = self.search.narrow(guess, lambda bound: self._levels(bound, few)) or guess
            self.search.restart()
        probes = min(max(_PROBED_BYTES // size, _PROBES[0]), _PROBES[1])
        everywhere = functools.partial(self._levels, partitions=self.partitions)
        return self.search.narrow(guess, everywhere) or self.search.probe(probes, everywhere) or self._exact()

    def _exact(self) -> float | None:
        """The nearest bound not above the target, if it stores the data losslessly, as perhaps all others do."""
        better = self.search.better
        return better.bound if better and math.isinf(better.level) else None

    def _levels(self, bound: float, partitions: list[list[Box]]) -> tuple[float, float]:
        """The lowest PSNR of any partition, and how much higher the highest is."""
        settings = self.settings.replace(
            bound=bound, layer_bounds=tuple(each for each in self.settings.layer_bounds if each > bound)
        )
        chunk = tuple(self.partition_chunk) if self.chunks_are_known else None
        measured = [_psnr(self.data, boxes, settings, self.width, chunk) for boxes in partitions]
        levels = [level for level, _ in measured]
        self.sizes[bound] = sum(size for _, size in measured)
        return min(levels), max(levels) - min(levels) if math.isfinite(max(levels)) else 0.0

    def failure(self) -> str:
        """The error that run() found no bound, with the nearest bounds."""
        tried = filter(None, (self.search.better, self.search.worse))
        near = [f"absolute={each.bound:.6g} gives {each.level:.2f} dB" for each in tried]
        return (
            f"psnr={self.psnr:g}: no bound gives {self.psnr:g} to {self.psnr + WINDOW:g} dB on these data; "
            + ", ".join(near)
            + ": choose one of them"
        )


def _chunk_extents(shape: Sequence[int], samples: int) -> list[int]:
    """A chunk of this many samples of the data: equal extents on all axes that are long enough."""
    extents, left = [1] * len(shape), samples
    for rank, axis in zip(range(len(shape), 0, -1), sorted(range(len(shape)), key=shape.__getitem__), strict=True):
        extents[axis] = max(1, min(shape[axis], round(left ** (1 / rank))))
        left = max(1, left // extents[axis])
    return extents


def as_chunk(piece: Array, chunk: tuple[int, ...] | None, fill: int | None) -> Array:
    """A piece at the end of a dataset as the whole chunk that HDF5 stores. The rest is the fill value, or 0."""
    if chunk is None or piece.shape == chunk:
        return piece
    padded = np.zeros(chunk, piece.dtype)
    if fill is not None:
        validity.components(padded).view(f"{piece.dtype.str[0]}u{validity.components(padded).itemsize}")[...] = fill
    padded[tuple(map(slice, piece.shape))] = piece
    return padded


def stored_with(
    settings: Settings, samples: Array, chunk: tuple[int, ...] | None, shape: Sequence[int]
) -> tuple[Settings, ...]:
    """The possible Settings of a chunk of data of this shape.

    A single chunk may be stored with the filter, which has its own Settings for it, or without it.
    """
    if chunk is None:
        return (settings,)
    by_filter = settings.of_chunk(samples)
    return (by_filter,) if by_filter == settings or tuple(chunk) != tuple(shape) else (settings, by_filter)


def _psnr(
    data: ArraySource, boxes: list[Box], settings: Settings, width: float, chunk: tuple[int, ...] | None
) -> tuple[float, int]:
    """The PSNR in dB over the valid samples of these boxes (inf if nothing differs), and the bytes of their streams."""
    squares, count, size = 0.0, 0, 0
    excluded = () if settings.fill is None else (settings.fill,)
    for box in boxes:
        original = elements.stored(slabs.piece(data, box), settings.fill)
        whole = as_chunk(original, chunk, settings.fill)
        values = validity.components(original)
        keep = np.zeros(values.size, bool)
        keep[validity.valid(values, excluded)] = True
        ways = stored_with(settings, whole, chunk, data.shape)
        error, stream_bytes = max(_squares(original, whole, keep, each, width) for each in ways)
        squares, size, count = squares + error, size + stream_bytes, count + int(np.count_nonzero(keep))
    return (math.inf if squares == 0 else 10 * math.log10(count / squares)), size


def _squares(original: Array, whole: Array, keep: Array, settings: Settings, width: float) -> tuple[float, int]:
    """The sum of squared errors of samples in units of width^2, and the size of the stream of their chunk.

    Args:
        original: the samples.
        whole: the chunk, which begins with them.
        keep: which of their components count.
        settings: to encode with.
        width: divisor for the errors.
    """
    decoded = np.empty_like(whole)
    stream = settings.encode(whole)
    _core.decompress(stream, elements.as_bytes(decoded), settings.threads)
    decoded = np.ascontiguousarray(decoded[tuple(map(slice, original.shape))]).reshape(original.shape)
    values, others = validity.components(original), validity.components(decoded)
    squares = 0.0
    for low in range(0, values.size, _BATCH):
        part = slice(low, low + _BATCH)
        error = _difference(values[part][keep[part]], others[part][keep[part]]) / width
        squares += float(np.dot(error, error))
    return squares, len(stream)


def _difference(values: Array, others: Array) -> Array:
    """values - others| as float64, computed in integers if float64 cannot hold them."""
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        high, low = np.maximum(values, others), np.minimum(values, others)
        exact: Array = high.astype("u8") - low.astype("u8")
        return exact.astype("f8")
    return np.asarray(np.abs(values.astype("f8") - others.astype("f8")))

"""Absolute bounds from what users ask for: a share of the range, or a PSNR, over the whole dataset."""

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
    """The range of data, or a share of it, exceeds float64."""


class NoRangeError(StzError):
    """Data whose valid numbers are all the same, or that have none, have no PSNR."""


def range_of(extremes: Extremes | None) -> float:
    """high - low as a float; RangeError if float64 cannot hold it. 0.0 where nothing is valid."""
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
    """Why data without a valid number have no bound by this option."""
    return (
        f"{option}= refers to the range of the valid numbers, and data without a valid number have none (all are NaN, "
        "infinite, masked or the fill value): give the bound itself, absolute=, or lossless=True, which is as small"
    )


def relative_bound(relative: float, extremes: Extremes | None) -> float:
    """relative * (high - low): neither above the exact product nor above the product in float64 arithmetic."""
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
    """Settings whose bound gives the whole of `data` a PSNR in [psnr, psnr + WINDOW] dB, measured with the codec.

    Each of the candidates gets a bound, and the one with the fewest bytes is taken.

    Where every bound either gives less or stores the data exactly, which is then also shorter (few distinct values, numbers on
    a grid), it is one that stores them exactly.

    PSNR is 20 log10(range / rmse) over the valid samples (the numbers of complex ones). Errors depend a little on how the
    dataset is cut into chunks. Without `chunks` tiny, small and large ones are measured: all reach `psnr`. Besides, the bound
    is not larger than one with which errors that are spread evenly up to it have that PSNR. This does not prove that chunks of
    any shape reach it, and the PSNR may be higher than the window.

    Args:
        psnr: target in dB.
        data: array-like, the whole dataset.
        extremes: of its valid numbers.
        candidates: settings to compress with, but for the bound.
        chunks: shape of the chunks that the dataset will be stored in, None if not known.

    Raises:
        NoRangeError: constant data, or nothing valid.
        StzError: no bound gives this PSNR; RangeError: float64 cannot hold the range.
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
    """Searches with all that is measured of the data, first of a part of them where they are large."""

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
        """Whether a bound complies; then `settings` have it."""
        bound = self._bound()
        if bound is not None:
            self.settings = self.settings.replace(bound=bound)
        return bound is not None

    @property
    def size(self) -> int:
        """Bytes with the bound that was found."""
        return self.sizes[self.settings.bound]

    def _bound(self) -> float | None:
        bound = self._measured_bound()
        return bound if bound is None or self.chunks_are_known else self._for_any_chunks(bound)

    def _for_any_chunks(self, bound: float) -> float:
        """The bound, or a smaller one with which the PSNR is reached although other chunks may have larger mean errors.

        In the chunks that were measured, samples may be predicted so well that errors are mostly much smaller than the bound,
        and in others not. Errors that are spread evenly up to the bound are what remains then.
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
        """The nearest bound that is no larger than the aim, if data are stored exactly with it, perhaps as with all others."""
        better = self.search.better
        return better.bound if better and math.isinf(better.level) else None

    def _levels(self, bound: float, partitions: list[list[Box]]) -> tuple[float, float]:
        """The lowest PSNR of any partition, and how much higher the highest one is."""
        settings = self.settings.replace(
            bound=bound, layer_bounds=tuple(each for each in self.settings.layer_bounds if each > bound)
        )
        chunk = tuple(self.partition_chunk) if self.chunks_are_known else None
        measured = [_psnr(self.data, boxes, settings, self.width, chunk) for boxes in partitions]
        levels = [level for level, _ in measured]
        self.sizes[bound] = sum(size for _, size in measured)
        return min(levels), max(levels) - min(levels) if math.isfinite(max(levels)) else 0.0

    def failure(self) -> str:
        """Why run() found no bound, with the nearest ones."""
        tried = filter(None, (self.search.better, self.search.worse))
        near = [f"absolute={each.bound:.6g} gives {each.level:.2f} dB" for each in tried]
        return (
            f"psnr={self.psnr:g}: no bound gives {self.psnr:g} to {self.psnr + WINDOW:g} dB on these data; "
            + ", ".join(near)
            + ": choose one of them"
        )


def _chunk_extents(shape: Sequence[int], samples: int) -> list[int]:
    """A chunk of so many of these data: equal extents on all axes that are long enough."""
    extents, left = [1] * len(shape), samples
    for rank, axis in zip(range(len(shape), 0, -1), sorted(range(len(shape)), key=shape.__getitem__), strict=True):
        extents[axis] = max(1, min(shape[axis], round(left ** (1 / rank))))
        left = max(1, left // extents[axis])
    return extents


def as_chunk(piece: Array, chunk: tuple[int, ...] | None, fill: int | None) -> Array:
    """A piece at the end of a dataset as HDF5 stores it, in a whole chunk; the rest is the fill value, or 0."""
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
    """The Settings with which a chunk of data of this shape may be stored.

    Data of a single chunk may be stored with the filter, which has its own Settings for it, or without it.
    """
    if chunk is None:
        return (settings,)
    by_filter = settings.of_chunk(samples)
    return (by_filter,) if by_filter == settings or tuple(chunk) != tuple(shape) else (settings, by_filter)


def _psnr(
    data: ArraySource, boxes: list[Box], settings: Settings, width: float, chunk: tuple[int, ...] | None
) -> tuple[float, int]:
    """The PSNR in dB over the valid samples of these boxes, inf where nothing differs; bytes of their streams."""
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
    """The sum of the squared errors of samples in the stream of their chunk, in units of width^2; and the size of that stream.

    Args:
        original: the samples.
        whole: the chunk, which begins with them.
        keep: which parts of them count.
        settings: to encode with.
        width: what errors are divided by.
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
    """|values - others| as float64; in integers where float64 cannot hold them."""
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        high, low = np.maximum(values, others), np.minimum(values, others)
        exact: Array = high.astype("u8") - low.astype("u8")
        return exact.astype("f8")
    return np.asarray(np.abs(values.astype("f8") - others.astype("f8")))

"""Resolves a compression ratio to an absolute bound: found with estimates, confirmed by compressing."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from h5stz import _core, elements, slabs
from h5stz.elements import Array
from h5stz.errors import StzError
from h5stz.options import bounds
from h5stz.options.bound_search import BoundSearch, Window
from h5stz.options.settings import Settings
from h5stz.slabs import ArraySource, Box
from h5stz.validity import Extremes

_BOUND = _core.ERROR_CODES["STZ_ERROR_BOUND"]

EXCESS = 0.03  # of the ratio that is allowed above the wanted one
_SEARCH_BYTES = 64 << 20  # of evenly spread pieces that tell where to begin
_PROBES = 20
FIRST_GUESS = 1e-3  # of the range


def ratio_window(ratio: float, array_bytes: float) -> Window:
    """The wanted Window for a ratio of data of `array_bytes` bytes; levels are log2 of the compressed size."""
    largest = math.log2(array_bytes / ratio)
    width = math.log2(1 + EXCESS)
    return Window(largest - width, width, margin=width / 8, narrowest=width / 4, per_decade=1.5)


def ratio_bound(
    ratio: float, data: ArraySource, extremes: Extremes | None, settings: Settings, chunks: tuple[int, ...] | None = None
) -> float:
    """The absolute bound with which `data` are compressed by `ratio` to 1.03 x `ratio`, counting the streams of their chunks.

    0.0 if lossless compression reaches the ratio.

    Args:
        ratio: array bytes / compressed bytes, above 1.
        data: array-like, the whole dataset.
        extremes: of its valid numbers.
        settings: without a bound.
        chunks: chunk shape of the dataset; None: one chunk, or large pieces.

    Raises:
        StzError: the ratio cannot be met, even with a bound as large as the range.
    """
    width = bounds.range_of(extremes)
    if width == 0:
        return 0.0  # constant, or nothing valid: nothing is gained by a bound
    boxes = slabs.boxes(data.shape, chunks or slabs.slab_extents(data, slabs.STORED_BYTES))
    size = math.prod(data.shape) * np.dtype(data.dtype).itemsize
    few = boxes[:: -(-size // _SEARCH_BYTES)]
    estimated = BoundSearch(ratio_window(ratio, _array_bytes(data, few)), width)
    guess = estimated.narrow(width * FIRST_GUESS, functools.partial(_level, data, settings, few, Settings.estimated_bytes))
    search = BoundSearch(ratio_window(ratio, size), width)
    measure = functools.partial(_level, data, settings, boxes, Settings.stream_bytes, chunk=chunks)
    bound = search.narrow(guess or width * FIRST_GUESS, measure) or search.probe(_PROBES, measure)
    if bound is not None:
        return bound
    if search.better is None:  # with every bound that was tried the data take less than is wanted, perhaps also without loss
        level = measure(0.0)
        if level[0] <= math.log2(size / ratio):
            return 0.0
        bound = search.below(level[0], measure)
        if bound is not None:
            return bound
    raise StzError(_failure(ratio, size, search), _BOUND)


def _array_bytes(data: ArraySource, boxes: Sequence[Box]) -> int:
    elements_in = sum(math.prod(cut.stop - cut.start for cut in box) for box in boxes)
    return int(elements_in * np.dtype(data.dtype).itemsize)


def _level(
    data: ArraySource,
    settings: Settings,
    boxes: Sequence[Box],
    bytes_of: Callable[[Settings, Array], float],
    bound: float,
    chunk: tuple[int, ...] | None = None,
) -> tuple[float, float]:
    """A Measure of log2 of the compressed size. With `chunk`: of whole chunks, also at the end of the data."""
    settings = settings.replace(bound=bound)
    stored = (elements.stored(slabs.piece(data, box), settings.fill) for box in boxes)

    def size_of(piece: Array, padding: int | None) -> float:
        whole = np.ascontiguousarray(bounds.as_chunk(piece, chunk, padding))
        return max(bytes_of(each, whole) for each in bounds.stored_with(settings, whole, chunk, data.shape))

    # Beyond the end a dataset has its own fill value, which may be 0 whatever the options say: the larger stream counts.
    sizes = (max(size_of(piece, padding) for padding in _paddings(piece, chunk, settings.fill)) for piece in stored)
    return math.log2(sum(sizes)), 0.0


def _paddings(piece: Array, chunk: tuple[int, ...] | None, fill: int | None) -> tuple[int | None, ...]:
    """Possible contents of a chunk beyond the end of the data."""
    return (None, fill) if fill and chunk is not None and piece.shape != chunk else (fill,)


def _failure(ratio: float, size: int, search: BoundSearch) -> str:
    """The error that no bound was found, with the nearest bounds."""
    tried = [each for each in (search.better, search.worse) if each]
    near = ", ".join(f"absolute={each.bound:.6g} gives {size / 2**each.level:.4g}" for each in tried)
    if search.worse is None:
        return f"ratio={ratio:g} cannot be met on these data: {near}, and larger errors leave nothing of them"
    return f"ratio={ratio:g}: no bound gives {ratio:g} to {ratio * (1 + EXCESS):.4g} on these data; {near}: choose one of them"

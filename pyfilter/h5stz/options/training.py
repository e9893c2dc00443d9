"""Predictions for small chunks, trained on the data that will be stored (docs/decisions/19-learned-predictions.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from h5stz import _core, elements, slabs
from h5stz.elements import Array
from h5stz.options.settings import Settings
from h5stz.slabs import ArraySource, Box
from h5stz.thread_team import in_order

MOST_SAMPLES = 1 << 19  # of a chunk: in larger ones, fitting takes little of the time
FEWEST_SAMPLES = 1 << 9
FEWEST_CHUNKS = 48  # of a dataset: training takes as long as compressing 10 to 30 chunks
_TRAINED = ((1 << 13, 12), (1 << 16, 8), (MOST_SAMPLES, 5))  # chunks of up to this many samples: client data hold as many sets
_JUDGED = 4  # further chunks
_LARGEST_SOURCE_CHUNK = 16  # chunks
_MOST_LOSS = 0.02  # bytes that predictions may cost
_MOST_SHARE = 0.005  # of the bytes of the dataset that predictions may take
_HIGHEST_EFFORT = 6  # higher ones fit every chunk
_LEARN = _core.CHOICES["learn"]
_GOLDEN = (math.sqrt(5) - 1) / 2


def with_predictions(
    settings: Settings, source: ArraySource | None, chunks: Sequence[int] | None, threads: int = 1
) -> Settings:
    """The settings with predictions trained on chunks of the data; the same settings if training would not pay.

    Args:
        settings: the settings, with their bound.
        source: the data as they will be stored; None: not known. Arrays of dask are not used, because reading one chunk might
            compute all of them.
        chunks: the chunk shape; None: not known.
        threads: number of threads, which changes nothing but the time.
    """
    if source is None or chunks is None or not _may_pay(settings, source, chunks):
        return settings
    count = next(sets for most, sets in _TRAINED if math.prod(chunks) <= most)
    boxes = _spread_boxes(source.shape, chunks, 2 * count + _JUDGED)
    judged = [_samples(source, box, settings) for box in boxes[:_JUDGED]]
    own = _size(settings, judged, threads)
    if own / _JUDGED * _count(source.shape, chunks) * _MOST_SHARE < 4 * _core.CD_MAX_WORDS:
        return settings
    found: list[tuple[int, Settings]] = []
    for begin in (_JUDGED, _JUDGED + count):
        trained = _trained(settings, [_samples(source, box, settings) for box in boxes[begin : begin + count]], threads)
        found.append((_size(trained, judged, threads), trained))
        if found[-1][0] < (1 + _MOST_LOSS / 2) * own:
            break
    size, best = min(found, key=lambda each: each[0])
    return best if size <= (1 + _MOST_LOSS) * own else settings


def _may_pay(settings: Settings, source: ArraySource, chunks: Sequence[int]) -> bool:
    if not isinstance(chunks, tuple) or not all(isinstance(extent, int) and extent > 0 for extent in chunks):
        return False
    learns = settings.learn == _LEARN[True] and settings.learned is None and settings.layers <= 1 and not settings.layer_bounds
    return (
        learns
        and settings.effort <= _HIGHEST_EFFORT
        and len(chunks) == len(source.shape)
        and FEWEST_SAMPLES <= math.prod(chunks) <= MOST_SAMPLES
        and _count(source.shape, chunks) >= FEWEST_CHUNKS
        and not hasattr(source, "dask")
        and _reads_little(source, math.prod(chunks))
    )


def _reads_little(source: ArraySource, samples: int) -> bool:
    """False if the chunks of the source are so large that reading some samples would decode much of the source."""
    stored = getattr(source, "stored_chunks", getattr(source, "chunks", None))
    if isinstance(stored, tuple) and not all(isinstance(extent, int) for extent in stored):
        return False  # blocks of dask, of different lengths
    return not isinstance(stored, tuple) or math.prod(stored) <= _LARGEST_SOURCE_CHUNK * samples


def _count(shape: Sequence[int], chunks: Sequence[int]) -> int:
    """The number of whole chunks."""
    return math.prod(size // extent for size, extent in zip(shape, chunks, strict=True))


def _spread_boxes(shape: Sequence[int], chunks: Sequence[int], wanted: int) -> list[Box]:
    """Boxes of different whole chunks. Any consecutive ones are spread over the data."""
    grid = [size // extent for size, extent in zip(shape, chunks, strict=True)]
    count = math.prod(grid)
    places = dict.fromkeys(int((0.5 + k * _GOLDEN) % 1 * count) for k in range(4 * wanted))
    first = [np.unravel_index(place, grid) for place in list(places)[:wanted]]
    return [tuple(slice(int(i) * n, (int(i) + 1) * n) for i, n in zip(place, chunks, strict=True)) for place in first]


def _samples(source: ArraySource, box: Box, settings: Settings) -> Array:
    return np.ascontiguousarray(elements.stored(slabs.piece(source, box), settings.fill))


def _size(settings: Settings, arrays: Sequence[Array], threads: int) -> int:
    """The bytes of all streams."""
    with in_order(lambda array: len(settings.encode(array)), arrays, min(threads, len(arrays))) as sizes:
        return sum(sizes)


def _trained(settings: Settings, arrays: Sequence[Array], threads: int) -> Settings:
    code, byte_order = elements.element_type(arrays[0].dtype)

    def train(array: Array) -> _core.Learned:
        return _core.Learned.train([elements.as_bytes(array)], code, byte_order, array.shape, settings)

    with in_order(train, arrays, min(threads, len(arrays))) as of_each:
        return settings.replace(learned=_core.Learned.joined(list(of_each)))

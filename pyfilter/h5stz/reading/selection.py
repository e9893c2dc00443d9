"""NumPy basic indexing as boxes: the samples that an index selects, and the division of a box at chunk borders.

A Selection has one Axis per axis of the array: start, count and step. This module reads no data.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from h5stz import _core
from h5stz.counts import counted
from h5stz.elements import Array
from h5stz.errors import StzError, StzTypeError

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_INSTEAD = "select a box with integers, slices and ... first, then index the array that you get"

#: (start, count, step) of every axis, by rising index.
BoxAxes: TypeAlias = list[tuple[int, int, int]]
_Item: TypeAlias = int | slice | EllipsisType
_Cut: TypeAlias = tuple[int, int, int, int, slice]


@dataclass(frozen=True)
class Axis:
    """The samples start + i * step, 0 <= i < count, of one axis. `step` is not 0 and may be negative.

    `keep` is False for an integer index, whose axis the result lacks; `count` is then 1.
    """

    start: int
    count: int
    step: int
    keep: bool = True

    def ascending(self) -> tuple[int, int, int]:
        """(start, count, step) of the same samples in ascending order, so that step >= 1."""
        if self.step > 0:
            return self.start, self.count, self.step
        return self.start + max(self.count - 1, 0) * self.step, self.count, -self.step

    def scaled(self, spacing: int) -> Axis:
        """The same samples in the index space of an array that is finer by a factor `spacing`."""
        return Axis(self.start * spacing, self.count, self.step * spacing, self.keep)


@dataclass(frozen=True)
class Selection:
    """The samples that an index selects: one Axis for each axis of the array."""

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return tuple(axis.count for axis in self.axes if axis.keep)

    @property
    def size(self) -> int:
        """Number of samples."""
        return prod(axis.count for axis in self.axes)

    def scaled(self, spacing: Sequence[int]) -> Selection:
        """The Selection in the index space of an array that is finer by a factor spacing[a] along axis a."""
        return Selection(tuple(axis.scaled(step) for axis, step in zip(self.axes, spacing, strict=True)))

    def box(self) -> BoxAxes:
        """(start, count, step) of every axis, in ascending order."""
        return [axis.ascending() for axis in self.axes]

    def key(self) -> tuple[int | slice, ...]:
        """An index of integers and ascending slices that gives the result except for the order of its samples."""
        return tuple(
            slice(start, start + max(count - 1, 0) * step + min(count, 1), step) if axis.keep else start
            for axis, (start, count, step) in zip(self.axes, self.box(), strict=True)
        )

    def ascending(self, result: Array) -> Array:
        """A view of an array of the result's shape in which the kept axes are in ascending order."""
        flips = [slice(None, None, 1 if axis.step > 0 else -1) for axis in self.axes if axis.keep]
        index: tuple[Any, ...] = (*flips, ...)  # with the ellipsis it is a view even where no axis is kept
        flipped: Array = result[index]
        return flipped

    def target(self, result: Array) -> Array:
        """A view of an array of the result's shape with all axes in ascending order, to be filled with box()."""
        index: tuple[Any, ...] = tuple(slice(None) if axis.keep else np.newaxis for axis in self.axes)
        with_all_axes: Array = self.ascending(result)[index]
        return with_all_axes


def parse(index: Any, shape: Sequence[int]) -> Selection:
    """The Selection of a NumPy basic index in an array of `shape`.

    Args:
        index: integer, slice (any step but 0), Ellipsis, or a tuple of them. Missing axes are whole.
        shape: tuple of ints.

    Raises:
        StzTypeError: (a TypeError) another kind of index: lists, arrays, masks, names, newaxis.
        StzError: (a ValueError) a step is 0.
        IndexError: an integer is out of range, or there are too many indices.
    """
    items = _with_all_axes([_item(item) for item in (index if isinstance(index, tuple) else (index,))], len(shape))
    return Selection(tuple(_axis(item, extent, axis) for axis, (item, extent) in enumerate(zip(items, shape, strict=True))))


def parse_region(region: Any, shape: Sequence[int], levels: Sequence[int]) -> Selection:
    """The Selection, in the index space of a resolution level, of the level's samples in a region of the array.

    Level l of an axis has every 2**l-th sample of it. A slice selects the samples of the level in its range. An integer
    selects the last sample of the level at or before it, so that a plane exists on every level.

    Args:
        region: as for parse(), in the index space of the array (level 0). No steps along axes above level 0.
        shape: shape of the array.
        levels: level of each axis, 0 or more.

    Raises:
        As parse(), and StzError for a step along an axis above level 0.
    """
    selected = parse(region, shape)
    return Selection(tuple(_on_level(axis, level) for axis, level in zip(selected.axes, levels, strict=True)))


def _on_level(axis: Axis, level: int) -> Axis:
    """The samples of an axis that are on its level, in samples of the level."""
    if level == 0:
        return axis
    spacing = 1 << level
    if axis.keep and axis.step != 1:
        raise StzError(
            f"a region on level {level} cannot have steps along an axis that the level thins: give slices without a step, or "
            f"index the level itself, view.level({level})[...], where a step of 1 is {counted(spacing, 'sample')}",
            _ARGUMENT,
        )
    first = -(-axis.start // spacing) if axis.keep else axis.start // spacing
    end = -(-(axis.start + axis.count) // spacing) if axis.keep else first + 1
    return Axis(first, max(end - first, 0), 1, axis.keep)


def _item(item: Any) -> _Item:
    """An int, a slice of ints or Ellipsis; other items raise an error that names the remedy."""
    if isinstance(item, EllipsisType):
        return item
    if isinstance(item, slice):
        return slice(*(None if bound is None else _integer(bound) for bound in (item.start, item.stop, item.step)))
    if item is None:
        raise StzTypeError("newaxis cannot be used here: read first, then add the axis, view[...][np.newaxis]", _ARGUMENT)
    if isinstance(item, (str, bytes)):
        raise StzTypeError(f"fields such as {item!r} cannot be selected here: index the h5py dataset itself", _ARGUMENT)
    return _integer(item)


def _integer(item: Any) -> int:
    if not isinstance(item, (bool, np.bool_)):
        try:
            return operator.index(item)
        except TypeError:
            pass
    raise StzTypeError(f"an index of type {type(item).__name__} cannot be used here: {_INSTEAD}", _ARGUMENT)


def _with_all_axes(items: list[_Item], rank: int) -> list[int | slice]:
    """One item for each axis, with whole axes for Ellipsis and for missing ones."""
    given = [item for item in items if not isinstance(item, EllipsisType)]
    if len(items) - len(given) > 1:
        raise IndexError("an index can have one ellipsis (...) only: write the other axes as :")
    if len(given) > rank:
        raise IndexError(f"too many indices: {len(given)} for {counted(rank, 'axis', 'axes')}")
    place = items.index(Ellipsis) if len(given) < len(items) else len(items)
    return [*given[:place], *[slice(None)] * (rank - len(given)), *given[place:]]


def _axis(item: int | slice, extent: int, axis: int) -> Axis:
    if isinstance(item, slice):
        if item.step == 0:
            raise StzError(f"the step of axis {axis} is 0: give another one", _ARGUMENT)
        covered = range(*item.indices(extent))
        return Axis(covered.start, len(covered), covered.step)
    if not -extent <= item < extent:
        raise IndexError(f"index {item} is out of range for axis {axis}, which has {counted(extent, 'sample')}")
    return Axis(item % extent, 1, 1, keep=False)


@dataclass(frozen=True)
class Piece:
    """The part of a box in one chunk.

    Attributes:
        chunk: index of the chunk in the grid of chunks.
        start, count, step: tuples of the wanted samples, in the index space of the chunk.
        place: index (tuple of slices) of their place in an array of the box's shape.
    """

    chunk: tuple[int, ...]
    start: tuple[int, ...]
    count: tuple[int, ...]
    step: tuple[int, ...]
    place: tuple[slice, ...]


def pieces(box: BoxAxes, chunks: Sequence[int]) -> Iterator[Piece]:
    """The Pieces of a box, chunk by chunk in C order, without empty ones.

    Args:
        box: (start, count, step) of every axis with steps of 1 or more, as Selection.box().
        chunks: chunk shape.
    """
    for parts in _products([partial(_cut, *axis, extent) for axis, extent in zip(box, chunks, strict=True)]):
        chunk, start, count, step, place = zip(*parts, strict=True)
        yield Piece(chunk, start, count, step, place)


def _products(axes: Sequence[Callable[[], Iterator[_Cut]]]) -> Iterator[tuple[_Cut, ...]]:
    """As itertools.product(), which would hold all cuts of all axes. A dataset that claims terabytes could have billions."""
    if not axes:
        yield ()
        return
    for cut in axes[0]():
        for rest in _products(axes[1:]):
            yield (cut, *rest)


def _cut(start: int, count: int, step: int, extent: int) -> Iterator[_Cut]:
    """(chunk, local start, local count, step, place in the box) for every chunk of one axis that has a sample."""
    done = 0
    while done < count:
        sample = start + done * step
        chunk = sample // extent
        inside = min(count - done, -(-((chunk + 1) * extent - sample) // step))
        yield chunk, sample - chunk * extent, inside, step, slice(done, done + inside)
        done += inside

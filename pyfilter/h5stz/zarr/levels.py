"""Coarse levels of zarr arrays: every 2**l-th sample, from the first bytes of each chunk."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from h5stz import _core
from h5stz.errors import StzError, StzTypeError
from h5stz.reading.selection import parse_region
from h5stz.signatures import checked

if TYPE_CHECKING:
    import zarr

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_MOST_LEVELS = 63


@checked
def level(array: zarr.Array[Any], level: SupportsIndex, region: Any = ...) -> Any:
    """Every 2**level-th sample of each axis of a zarr array: array[::2**level, ::2**level, ...], or those in a region.

    In arrays of format 3 with h5stz.zarr.StzCodec as the only codec, where 2**level divides the extents of the chunks, that
    takes only the first bytes of each chunk. Elsewhere more is read, up to whole chunks; the result is the same.

    Args:
        array: zarr.Array, of any codec.
        level: 0 for all samples, l for every 2**l-th.
        region: integer, slice, ... or a tuple of them, in the index space of the array; above level 0 without steps. A slice
            means those of its samples that the level has, an integer the last sample of the level that is not behind it.

    Returns:
        ndarray; a NumPy scalar if every axis is indexed by an integer.

    Raises:
        StzError: (a ValueError) a level that does not exist, a region with a step, a damaged chunk.
        StzTypeError: (a TypeError too) an index that is none of these.
        IndexError: an integer is out of range, or there are too many indices.
    """
    try:
        number = operator.index(level)
    except TypeError:
        raise StzTypeError(f"level={level!r} is no integer: give 0 for all samples, 1 for every second", _ARGUMENT) from None
    if not 0 <= number <= _MOST_LEVELS:
        raise StzError(f"level={number}: levels are 0 (all samples) to {_MOST_LEVELS}", _ARGUMENT)
    wanted = parse_region(region, array.shape, (number,) * len(array.shape)).scaled((1 << number,) * len(array.shape))
    if not wanted.size:
        return np.empty(wanted.shape, array.dtype)
    return wanted.ascending(np.asarray(array[wanted.key()]))[()]

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
    """Reads every 2**level-th sample along each axis of a zarr array (array[::2**level, ::2**level, ...]), or of a region of
    it.

    If h5stz.zarr.StzCodec is the only codec of a format 3 array, and 2**level divides the chunk lengths, only the first bytes
    of each chunk are read. Otherwise more is read, up to whole chunks. The result is the same.

    Args:
        array: zarr.Array, with any codecs.
        level: 0 for all samples, l for every 2**l-th.
        region: integer, slice, ... or a tuple of them, as indices of the full array; slices need step 1 above level 0. A slice
            selects the samples of the level in its range. An integer selects the last sample of the level at or before it.

    Returns:
        ndarray; a NumPy scalar if every axis is indexed by an integer.

    Raises:
        StzError: (a ValueError) an invalid level, a region with a step, or a damaged chunk.
        StzTypeError: (also a TypeError) an unsupported kind of index.
        IndexError: an integer is out of range, or there are too many indices.
    """
    try:
        number = operator.index(level)
    except TypeError:
        raise StzTypeError(
            f"level={level!r} is not an integer: give 0 for all samples, 1 for every second", _ARGUMENT
        ) from None
    if not 0 <= number <= _MOST_LEVELS:
        raise StzError(f"level={number}: levels are 0 (all samples) to {_MOST_LEVELS}", _ARGUMENT)
    wanted = parse_region(region, array.shape, (number,) * len(array.shape)).scaled((1 << number,) * len(array.shape))
    if not wanted.size:
        return np.empty(wanted.shape, array.dtype)
    return wanted.ascending(np.asarray(array[wanted.key()]))[()]

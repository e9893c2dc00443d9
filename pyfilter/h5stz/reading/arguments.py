"""Checks of the arguments of views and reads. Errors name the remedy."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import SupportsIndex

import numpy as np

from h5stz import _core
from h5stz.counts import counted
from h5stz.elements import DType
from h5stz.errors import StzError, StzTypeError
from h5stz.limits import bytes_of
from h5stz.options.option_checks import thread_count, verifies

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_CAPACITY = _core.ERROR_CODES["STZ_ERROR_CAPACITY"]


def checked_axes(axes: SupportsIndex | Iterable[SupportsIndex], rank: int) -> tuple[int, ...]:
    """Axis numbers as ascending numbers from 0; negative ones count from the last axis."""
    try:
        given = [operator.index(axis) for axis in (axes if isinstance(axes, Iterable) else (axes,))]
    except TypeError:
        raise StzTypeError(f"axes={axes!r} must be an integer, the number of an axis, or several of them", _ARGUMENT) from None
    for axis in given:
        if not -rank <= axis < rank:
            raise StzError(
                f"axes={axes!r}: the array has {counted(rank, 'axis', 'axes')}, counted from 0, or from -1 backwards", _ARGUMENT
            )
    numbers = {axis % rank for axis in given}
    if len(numbers) < len(given):
        raise StzError(f"axes={axes!r} contains an axis twice", _ARGUMENT)
    return tuple(sorted(numbers))


def checked_cache_bytes(cache_bytes: SupportsIndex, threads: int | None, verify: bool | None) -> int:
    """`cache_bytes` as an int. Also checks the other options of view(), so that errors do not wait for the first read."""
    thread_count(threads)
    verifies(verify)
    return bytes_of("cache_bytes", cache_bytes)


def check_out(out: object, shape: tuple[int, ...], dtype: DType) -> None:
    """Raises StzError if `out` does not suit an array of `shape` and `dtype`."""
    wanted = f"numpy.empty({shape}, {dtype.str!r})"
    if not isinstance(out, np.ndarray):
        raise StzTypeError(f"out is of type {type(out).__name__}, it must be an ndarray such as {wanted}", _ARGUMENT)
    if out.dtype != dtype:
        raise StzTypeError(f"out is of dtype {out.dtype.str}, the dataset of {dtype.str}: give {wanted}", _CAPACITY)
    if out.shape != shape:
        raise StzError(f"out has the shape {out.shape}, the result {shape}: give {wanted}", _CAPACITY)
    if not out.flags.writeable:
        raise StzError(f"out is read-only: give {wanted}", _ARGUMENT)

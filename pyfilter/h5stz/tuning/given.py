"""What users give: arrays by name, and functions of them that return numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.ma  # now, not within a call

from h5stz import _core, codec, elements
from h5stz.elements import Array
from h5stz.errors import StzError, StzTypeError

ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]


def checked_arrays(arrays: object) -> dict[str, Array]:
    """The arrays in memory, of types that can be compressed. Masked arrays stay masked."""
    if not isinstance(arrays, Mapping) or not arrays:
        given = "empty" if isinstance(arrays, Mapping) else f"of type {type(arrays).__name__}"
        raise StzTypeError(f"arrays is {given}: give a mapping of names to arrays, such as {{'rho': rho}}", ARGUMENT)
    found: dict[str, Array] = {}
    for name, given in arrays.items():
        array = given if isinstance(given, np.ndarray) else np.asarray(given)
        try:
            elements.storage_dtype(array.dtype)
        except StzError as error:
            raise error.within(repr(name)) from None
        found[name] = array
    return found


def checked_names(argument: str, names: object, arrays: Mapping[str, Any]) -> frozenset[str]:
    """Names of arrays that were given in one of the arguments."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise StzTypeError(f"{argument}={names!r} must be names of arrays, such as [{names!r}]", ARGUMENT)
    found = frozenset(names)
    if unknown := sorted(map(str, found - arrays.keys())):
        raise StzError(
            f"{argument}= names {unknown[0]!r}, which is not in arrays: these are {', '.join(map(str, arrays))}", ARGUMENT
        )
    return found


def checked_sequence(argument: str, numbers: object) -> list[Any]:
    """Several numbers, which are not checked."""
    if isinstance(numbers, str) or not isinstance(numbers, Iterable):
        raise StzTypeError(f"{argument}= must be several numbers: give a tuple, such as ({numbers!r},)", ARGUMENT)
    return list(numbers)


def checked_function(argument: str, function: object) -> None:
    """Raises StzTypeError for what cannot be called."""
    if not callable(function):
        raise StzTypeError(f"{argument} is of type {type(function).__name__}: give a function that returns a number", ARGUMENT)


def number_of(result: object, what: str, remedy: str) -> float:
    """The number that a function returned: any that float() takes, infinity too.

    Args:
        result: what the function returned.
        what: names the function and what it was called with, for messages.
        remedy: what to do if it is NaN.
    """
    try:
        number = float(result)  # type: ignore[arg-type]  # which is what the error is for
    except (TypeError, ValueError):
        raise StzTypeError(f"{what} is {type(result).__name__}, not a number: return a float", ARGUMENT) from None
    if math.isnan(number):
        raise StzError(f"{what} is NaN: {remedy}", ARGUMENT)
    return number


def read_back(stream: elements.BytesLike, array: Array, threads: int | None) -> Array:
    """An array as readers of its stream have it, with the mask of the array."""
    values = codec.decompress(stream, max_bytes=max(1, array.nbytes), threads=threads)
    if not elements.is_masked(array):
        return values
    return np.ma.masked_array(values, np.ma.getmaskarray(array).copy(), fill_value=array.fill_value)

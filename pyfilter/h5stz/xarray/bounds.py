"""Resolves the options of many variables at once. Bounds that depend on whole variables are found in one pass over the data.

dask arrays are read block by block, all variables in one computation. Common intermediate results are computed once, and
memory use is limited to what dask holds at a time.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from h5stz import _core, elements, slabs, validity
from h5stz.elements import Array
from h5stz.errors import StzError
from h5stz.options import bounds
from h5stz.options.option_checks import checked_bound
from h5stz.options.stz import STZ
from h5stz.validity import Extremes
from h5stz.xarray.variables import StoredArray

_BOUND = _core.ERROR_CODES["STZ_ERROR_BOUND"]


@dataclass(frozen=True)
class Request:
    """The input for one STZ.

    Attributes:
        array: the numbers that the file will hold.
        options: options of STZ except `data`, `dtype`, `chunks` and `fill_value`.
        chunks: chunk shape in the file.
        fill: the number that marks missing values. None: detect it. False: there is none.
    """

    array: StoredArray
    options: Mapping[str, Any]
    chunks: tuple[int, ...]
    fill: float | bool | None


def resolve(requests: Mapping[Hashable, Request]) -> dict[Hashable, STZ]:
    """The STZ of each request. A StzError names the variable."""
    relative = {name: request for name, request in requests.items() if request.options.get("relative") is not None}
    found = _extremes({name: (request.array, _excluded(request)) for name, request in relative.items()})
    resolved = {}
    for name, request in requests.items():
        try:
            options = _relative(request, found[name]) if name in relative else _plain(request)
            resolved[name] = options.trained(request.array, request.chunks)
        except StzError as error:
            raise error.within(f"variable {name!r}") from None
    return resolved


def _plain(request: Request) -> STZ:
    options = dict(request.options)
    if options.get("psnr") is not None:
        try:
            return STZ(**options, data=request.array, chunks=request.chunks, fill_value=request.fill)
        except bounds.NoRangeError:
            return STZ(**{**options, "psnr": None, "lossless": True}, dtype=request.array.dtype)
    if request.fill is not None and request.fill is not False:
        options["fill_value"] = request.fill
    return STZ(**options, dtype=request.array.dtype)


def _relative(request: Request, everything: Extremes | None) -> STZ:
    """The STZ for a relative bound. It is lossless if there are fewer than two different valid numbers."""
    options, excluded = dict(request.options), _excluded(request)
    relative, dtype = options.pop("relative"), request.array.dtype
    _, share = checked_bound({"relative": relative}, False)
    if 0 in request.array.shape:
        raise StzError(f"relative={relative!r} of a variable that has no samples yet: give absolute=", _BOUND)
    extremes, fill = everything, request.fill
    if fill is None:

        def find(without: tuple[int, ...]) -> Extremes | None:
            return _extremes({"": (request.array, without)})[""] if without else everything

        bits = validity.certain_fill(find, dtype)
        if bits is not None:
            fill, extremes = elements.fill_number(bits, dtype), find((*excluded, bits))
    if fill is not None and fill is not False:
        options["fill_value"] = fill
    bound = 0.0 if extremes is None else bounds.relative_bound(share, extremes)
    return STZ(**options, absolute=bound, dtype=dtype) if bound else STZ(**options, lossless=True, dtype=dtype)


def _excluded(request: Request) -> tuple[int, ...]:
    if request.fill is None or request.fill is False:
        return ()
    bits = elements.fill_bits(request.fill, request.array.dtype)
    return () if bits is None else (bits,)


def _of_block(block: Array, excluded: tuple[int, ...]) -> Extremes | None:
    return validity.extremes([block], excluded)


def _merged(one: Extremes | None, other: Extremes | None) -> Extremes | None:
    return one.merged(other) if one and other else one or other


def _extremes(arrays: Mapping[Hashable, tuple[StoredArray, tuple[int, ...]]]) -> dict[Hashable, Extremes | None]:
    """The Extremes of arrays. Numbers with the excluded bit patterns do not count."""
    found: dict[Hashable, Extremes | None] = {}
    tasks: dict[Hashable, list[Any]] = {}
    for name, (array, excluded) in arrays.items():
        blocks = array.blocks()
        if blocks is None:
            found[name] = validity.extremes(slabs.slabs(array), excluded)
        else:
            task = _dask().delayed(_of_block)
            tasks[name] = [task(block, excluded) for block in blocks]
    if tasks:
        (results,) = _dask().compute(tasks)
        found |= {name: reduce(_merged, parts, None) for name, parts in results.items()}
    return found


def _dask() -> Any:
    """The module dask, which is installed if there are dask arrays."""
    return importlib.import_module("dask")

"""Options of many variables at once: bounds that refer to a whole variable are found in one pass over the data.

Arrays of dask are looked at block by block, all variables in one computation: what they share is computed once, and no more
of it is in memory than dask holds at a time.
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
    """What is to become an STZ.

    Attributes:
        array: the numbers that the file will hold.
        options: those of STZ but `data`, `dtype`, `chunks` and `fill_value`.
        chunks: in which they will be stored.
        fill: the number that marks missing samples, None to look for one, False for none.
    """

    array: StoredArray
    options: Mapping[str, Any]
    chunks: tuple[int, ...]
    fill: float | bool | None


def resolve(requests: Mapping[Hashable, Request]) -> dict[Hashable, STZ]:
    """The STZ of each request; a StzError names the variable."""
    relative = {name: request for name, request in requests.items() if request.options.get("relative") is not None}
    found = _extremes({name: (request.array, _excluded(request)) for name, request in relative.items()})
    resolved = {}
    for name, request in requests.items():
        try:
            resolved[name] = _relative(request, found[name]) if name in relative else _plain(request)
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
    """Of a relative bound; without loss where there is no valid number, or one only."""
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
    """The Extremes of arrays without the numbers of the excluded bits."""
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
    """The module, which is there if there are arrays of dask."""
    return importlib.import_module("dask")

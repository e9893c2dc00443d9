"""Checks of single options. Each returns the value to use, or raises a StzError that names the remedy."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Iterable, Mapping
from typing import Any, SupportsFloat, cast

import numpy as np
import numpy.typing as npt

from h5stz import _core, elements
from h5stz.counts import counted
from h5stz.elements import DType, Real
from h5stz.errors import StzError, StzTypeError
from h5stz.slabs import ArraySource

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_DTYPE = _core.ERROR_CODES["STZ_ERROR_DTYPE"]
_BOUND = _core.ERROR_CODES["STZ_ERROR_BOUND"]
_MODE = _core.ERROR_CODES["STZ_ERROR_MODE"]
_OPTION = _core.ERROR_CODES["STZ_ERROR_OPTION"]
_MOST_THREADS: int = _core.CD_MAX_THREADS
_LAST_AXIS = 30  # that client data can name

#: The counts for which 1 says the same as nothing.
ONE_IS_THE_DEFAULT = ("threads", "layers")
#: The options of which exactly one is given with a number; lossless is the other one.
BOUNDS = ("absolute", "relative", "psnr", "ratio", "pointwise_relative")
#: Arguments of create_dataset that STZ gives, or that HDF5 has for other filters.
_COMPRESSION = {
    "compression": "give the bound as an option, such as absolute=1e-3: the dataset is compressed with h5stz",
    "compression_opts": "give options of STZ, such as effort=7",
}


def check_creation(creation: Iterable[str], own: Mapping[str, str]) -> None:
    """Raises StzError if further arguments of create_dataset are arguments or options of the call.

    `own`: what to do instead, for each argument of create_dataset that the call has itself.
    """
    options = {
        name: f"give {name}= itself"
        for name in (*BOUNDS, "lossless", "fill_value", "layer_bounds", "valid_range", *_core.OPTIONS)
    }
    for name in creation:
        instead = ({**options, **_COMPRESSION, **own}).get(name)
        if instead is not None:
            raise StzError(f"creation={{{name!r}: ...}} is not possible: {instead}", _ARGUMENT)


def thread_count(threads: int | None) -> int:
    """The number of threads: `threads`, or for None the number in H5STZ_THREADS, or 1."""
    if threads is None:
        return _core.threads_of_environment() or 1
    return checked_count("threads", threads, _core.CD_MAX_THREADS, default=1) or 1


def all_cores(threads: int | None) -> int:
    """The number of threads: `threads`, or for None the number in H5STZ_THREADS, or all processors of this process."""
    return thread_count(threads) if threads is not None else _core.threads_of_environment() or min(_processors(), _MOST_THREADS)


def _processors() -> int:
    """The number of processors that this process may use."""
    count = getattr(os, "process_cpu_count", None)  # Python 3.13; it also knows PYTHON_CPU_COUNT
    if count is not None:
        return int(count() or 1)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def verifies(verify: bool | None) -> bool:
    """True if content checks are compared: `verify`, or for None the present value of H5STZ_VERIFY."""
    from_environment = int(_core.verify_of_environment())
    return bool(checked_switch("verify", verify, {True: 1, False: 0, None: from_environment}))


def checked_bound(numbers_given: Mapping[str, object], lossless: object) -> tuple[str, float]:
    """(name, number) of the single given bound, among BOUNDS and lossless."""
    if not isinstance(lossless, (bool, np.bool_)):
        raise StzTypeError(f"lossless={lossless!r} must be True or False", _MODE)
    given = {name: number for name, number in numbers_given.items() if number is not None}
    if lossless:
        given["lossless"] = 0.0
    if len(given) != 1:
        wrong = "two bounds are given, " + " and ".join(given) if given else "no bound is given"
        raise StzError(
            f"{wrong}: give exactly one of absolute=, relative= with data=, psnr= with data=, ratio= with data=, "
            "pointwise_relative= and lossless=True",
            _MODE,
        )
    name, number = given.popitem()
    if name == "lossless":
        return name, 0.0
    real = checked_number(name, number)
    if not math.isfinite(real) or real < 0:
        raise StzError(f"{name}={real!r} must be a finite number that is zero or more (lossless=True keeps every bit)", _BOUND)
    bound = float(real)
    if name == "pointwise_relative" and bound >= 1:
        raise StzError(f"pointwise_relative={bound!r} must be below 1: it is relative to each sample", _BOUND)
    if name == "psnr" and bound == 0:
        raise StzError("psnr=0 dB would allow errors as large as the range: give a greater one", _BOUND)
    if name == "ratio" and bound <= 1:
        raise StzError(f"ratio={bound:g} must be above 1: it is array bytes / compressed bytes", _BOUND)
    return name, bound


def checked_dtype(data: ArraySource | None, dtype: npt.DTypeLike | None, lossless: bool) -> DType | None:
    """The dtype of the dataset, which must be compressible; None if it is unknown, or only bytes for the core."""
    if data is not None and dtype is not None and elements.as_dtype(dtype) != data.dtype:
        raise StzTypeError(f"dtype={elements.as_dtype(dtype)} differs from that of data, {data.dtype}: leave dtype out", _DTYPE)
    if dtype is None and data is None:
        return None
    dataset_dtype: DType = np.dtype(data.dtype) if data is not None else elements.as_dtype(cast(npt.DTypeLike, dtype))
    if lossless and elements.is_long_double(dataset_dtype):
        return None
    elements.storage_dtype(dataset_dtype)
    return dataset_dtype


def checked_chunks(chunks: object, data: ArraySource) -> tuple[int, ...] | None:
    """The chunk shape for measurements: the given one, or that of the data, or None."""
    if chunks is None:
        stored_in = getattr(data, "chunks", None)
        return tuple(stored_in) if stored_in and all(isinstance(extent, int) for extent in stored_in) else None
    if not isinstance(chunks, tuple) or len(chunks) != len(data.shape):
        raise StzError(f"chunks={chunks!r} must be a tuple of {len(data.shape)} integers, one for each axis of data", _ARGUMENT)
    return tuple(checked_count("chunks", extent, 2**32 - 1) for extent in chunks)


def checked_layer_bounds(bounds: Iterable[SupportsFloat] | None, layers: object) -> tuple[float, ...]:
    """Errors of precision layers, decreasing and above 0. `layers` must be the default or agree with their number."""
    if bounds is None:
        return ()
    most = _core.MAX_LAYERS - 1
    try:
        given = tuple(map(float, bounds))
    except (TypeError, ValueError, OverflowError):
        raise StzTypeError(
            f"layer_bounds={bounds!r} must be numbers, the largest errors of layers, such as (1e-2, 1e-4)", _OPTION
        ) from None
    falling = all(one > other > 0 for one, other in zip((math.inf, *given), given, strict=False))
    if not 1 <= len(given) <= most or not falling:
        raise StzError(f"layer_bounds={given} must be 1 to {most} falling numbers above 0, in the units of the data", _OPTION)
    if layers not in (1, len(given) + 1):
        raise StzError(f"layers={layers!r}: these layer_bounds make {len(given) + 1} layers: omit layers=", _OPTION)
    return given


def checked_valid_range(ends: Iterable[SupportsFloat | None] | None) -> tuple[float, float] | None:
    """The smallest and the largest valid value; infinities for None, which is no end."""
    if ends is None:
        return None
    try:
        first, last = ends
        low, high = -math.inf if first is None else float(first), math.inf if last is None else float(last)
    except (TypeError, ValueError, OverflowError):
        raise StzTypeError(
            f"valid_range={ends!r} must be two numbers, the smallest and the largest valid value, such as (0, 100)", _OPTION
        ) from None
    if not low < high:
        raise StzError(f"valid_range=({low}, {high}) must have the smaller number first; None is no end", _OPTION)
    return low, high


def _without_axes(value: object) -> object:
    """The number in a 0-d array; other values unchanged."""
    item = getattr(value, "item", None)
    return item() if getattr(value, "shape", None) == () and not isinstance(value, np.generic) and callable(item) else value


def checked_number(name: str, value: object) -> Real:
    """A real number in float64's range: of Python or NumPy, or in a 0-d array as of xarray."""
    value = _without_axes(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise StzTypeError(f"{name}={value!r} must be a number", _ARGUMENT)
    try:
        float(value)
    except OverflowError:
        raise StzError(f"{name} is a number beyond float64, which cannot be stored", _ARGUMENT) from None
    return cast(Real, value)


def checked_count(name: str, value: object, largest: int, default: int | None = None) -> int:
    """An integer from 1 to `largest`; 0 for the default."""
    value = _without_axes(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise StzTypeError(f"{name}={value!r} must be an integer", _ARGUMENT)
    count = int(value)
    if not 1 <= count <= largest:
        raise StzError(f"{name}={count} must be " + (f"1 to {largest}" if largest > 1 else "1 in this version"), _OPTION)
    return 0 if count == default else count


def checked_axis(axis: object, rank: int | None = None) -> int:
    """An axis number that client data can store, for data with `rank` axes if known."""
    axis = _without_axes(axis)
    if isinstance(axis, (bool, np.bool_)) or not isinstance(axis, numbers.Integral):
        raise StzTypeError(f"append_axis={axis!r} must be an integer, the number of an axis", _ARGUMENT)
    if not 0 <= int(axis) <= _LAST_AXIS:
        raise StzError(f"append_axis={axis} must be 0 to {_LAST_AXIS}: axes are counted from 0, the slowest", _OPTION)
    if rank is not None and int(axis) >= rank:
        raise StzError(f"append_axis={axis}: the data have {counted(rank, 'axis', 'axes')}, counted from 0", _OPTION)
    return int(axis)


def checked_option(name: str, value: object, rank: int | None = None) -> int:
    """The core's number for an option of its table; 0 for the default. rank: number of axes of the data, if known."""
    choices = _core.CHOICES.get(name)
    if choices is not None:
        return checked_switch(name, value, choices) if True in choices else checked_choice(name, value, choices)
    if value is None:
        return 0
    _, most, offset = _core.COUNTS[name]
    if offset:
        return checked_axis(value, rank) + offset
    return checked_count(name, value, most, default=1 if name in ONE_IS_THE_DEFAULT else None)


def option_value(name: str, number: int) -> Any:
    """The user's value for a number of the core's table: the inverse of checked_option()."""
    if name in _core.CHOICES:
        return elements.name_of(_core.CHOICES[name], number)
    return number - _core.COUNTS[name][2]


def checked_choice(name: str, value: object, choices: Mapping[Any, int]) -> int:
    """The core's code for a word."""
    if not isinstance(value, str) or value not in choices:
        raise StzError(f"{name}={value!r} must be one of {', '.join(map(repr, choices))}", _OPTION)
    return choices[value]


def checked_switch(name: str, value: object, choices: Mapping[Any, int]) -> int:
    """The core's code for True, False or None."""
    if value is not None and not isinstance(value, (bool, np.bool_)):
        raise StzTypeError(f"{name}={value!r} must be True, False or None", _OPTION)
    return choices[None if value is None else bool(value)]


def checked_enhance(value: object, bound: str, layers: int) -> int:
    """The core's code for an enhancement, checked against the kind of bound."""
    if value is None or value is False or (isinstance(value, np.bool_) and not value):
        return 0
    if isinstance(value, (bool, np.bool_)):
        if bound not in ("psnr", "ratio", "lossless"):
            raise StzError(
                f"enhance=True needs psnr= or ratio=; with {bound}= say enhance='strict', which keeps the bound, or "
                "enhance='relaxed', with which errors may be up to 1.5 times the bound",
                _OPTION,
            )
        value = "both"
    code = checked_choice("enhance", value, _core.CHOICES["enhance"])
    if code == 0:
        return 0
    if layers > 1 and code != _core.CHOICES["enhance"]["strict"]:
        raise StzError("a filter (enhance=) is for full precision: with layers= only enhance='strict' is possible", _OPTION)
    check_bound_of_enhance(bound)
    return code


def check_bound_of_enhance(bound: str) -> None:
    """Raises StzError for a kind of bound that no enhancement keeps."""
    if bound == "pointwise_relative":
        raise StzError("enhance= needs an absolute bound, not pointwise_relative=", _OPTION)


def check_favour(favour: int, bound: str, enhance: int) -> None:
    """Raises StzError if favour="size" is given together with an option that asks for a low mean error."""
    if favour != _core.CHOICES["favour"]["size"]:
        return
    if bound == "psnr":
        raise StzError("favour='size' lowers the PSNR, which psnr= asks for: leave favour= out, or give absolute=", _OPTION)
    if enhance:
        raise StzError("favour='size' takes fewer bytes, enhance= a lower mean error: leave one of them out", _OPTION)

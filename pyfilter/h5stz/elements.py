"""NumPy dtypes and the element types of the core.

This module decides which arrays can be compressed, with which element type, and how the bits of a fill value are made. bool is
stored as uint8; a stream cannot tell the two apart.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from h5stz import _core
from h5stz.errors import StzError, StzTypeError
from h5stz.type_words import named

if TYPE_CHECKING:
    from typing_extensions import Buffer

Array: TypeAlias = npt.NDArray[Any]
DType: TypeAlias = np.dtype[Any]
#: What has bytes; before Python 3.12 its annotations do not say that of an ndarray.
BytesLike: TypeAlias = "Buffer | Array"
#: A number of Python or NumPy.
Real: TypeAlias = float | np.floating[Any] | np.integer[Any]

_NAMES = {code: name for name, code in _core.DTYPES.items()}
_DTYPE_ERROR = _core.ERROR_CODES["STZ_ERROR_DTYPE"]
_OPTION_ERROR = _core.ERROR_CODES["STZ_ERROR_OPTION"]

# What to do with data of a kind that has no element type.
_REMEDIES = {
    "M": "store its integers: data.view('i8')",
    "m": "store its integers: data.view('i8')",
    "V": "compress each field of a structured array on its own",
    "O": "convert it to numbers first, for example data.astype('f8')",
    "S": "text cannot be compressed: leave the filter out for this dataset",
    "U": "text cannot be compressed: leave the filter out for this dataset",
    "T": "text cannot be compressed: leave the filter out for this dataset",
    "f": "convert it with data.astype('f8')",
    "c": "convert it with data.astype('c16')",
}


def storage_dtype(dtype: npt.DTypeLike) -> DType:
    """The dtype in which arrays of `dtype` are stored: itself, or uint8 for bool. StzTypeError if they cannot be compressed."""
    given: DType = np.dtype(dtype)
    if given.kind == "b":
        return np.dtype("u1")
    if f"{given.kind}{given.itemsize}" not in _core.DTYPES:
        remedy = _REMEDIES.get(given.kind, "convert it to a floating-point or integer type")
        if given.kind == "V" and given.names is None:  # bfloat16 and others of ml_dtypes; bytes without a type
            remedy = (
                "NumPy has no built-in dtype for it: convert it, for example with data.astype('f4'), or leave the filter out"
            )
        raise StzTypeError(
            f"data of dtype {named(given)} cannot be compressed: {remedy}. Supported are float16/32/64, int8-64, uint8-64, "
            "bool, complex64 and complex128",
            _DTYPE_ERROR,
        )
    return given


def element_type(dtype: DType) -> tuple[int, int]:
    """(code, byte order) of a dtype of storage_dtype(), for the core."""
    return _core.DTYPES[f"{dtype.kind}{dtype.itemsize}"], _core.BIG if dtype.str[0] == ">" else _core.LITTLE


def dtype_of(code: int, byte_order: int) -> DType:
    """The NumPy dtype of an element type of the core."""
    return np.dtype((">" if byte_order == _core.BIG else "<") + _NAMES[code])


def fill_bits(value: Real, dtype: npt.DTypeLike) -> int | None:
    """The bits (an int) of the fill value `value` in arrays of `dtype`. None for NaN and infinities, which need no fill value.

    StzError if `dtype` cannot hold the value: integers must be exact, floating-point numbers are rounded once.
    """
    native = storage_dtype(dtype).newbyteorder("=")
    if native.kind == "c":
        raise StzTypeError("complex data cannot have a fill value: mark missing samples with NaN", _OPTION_ERROR)
    if native.kind == "f":
        if not math.isfinite(value):
            return None
        with np.errstate(over="ignore"):
            stored_value = np.array(float(value)).astype(native)
        held = bool(np.isfinite(stored_value))
    else:
        limits = np.iinfo(native)
        held = math.isfinite(value) and value == int(value) and limits.min <= int(value) <= limits.max
        stored_value = np.array(int(value) if held else 0, native)
    if not held:
        raise StzError(f"fill_value={value!r} cannot be stored in data of dtype {native}", _OPTION_ERROR)
    return int(stored_value.view(f"u{native.itemsize}"))


def fill_number(bits: int, dtype: npt.DTypeLike) -> int | float:
    """The fill value with these bits in arrays of `dtype` (in one component for complex data), as a Python number."""
    native = storage_dtype(dtype).newbyteorder("=")
    if native.kind == "c":
        native = np.dtype(f"f{native.itemsize // 2}")
    number: int | float = np.array(bits, f"u{native.itemsize}").view(native).item()
    return number


def stored(array: Array, fill: int | None) -> Array:
    """An array in the form that is stored: C-contiguous, of the storage dtype, with masked samples set to the fill value.

    Args:
        array: ndarray or masked array, with any strides and byte order (the byte order is kept).
        fill: bits of the fill value. None if no sample is masked, or if the fill value is NaN or infinite and has no bits;
            masked samples then become the fill value of the array, or NaN.
    """
    dtype = storage_dtype(array.dtype)
    if is_masked(array):
        if fill is not None:
            array = array.filled(fill_number(fill, dtype))
        else:
            array = array.filled(np.nan if dtype.kind in "fc" and np.isfinite(array.fill_value) else None)
    return np.asarray(array, order="C").view(dtype)


def is_masked(array: object) -> TypeGuard[np.ma.MaskedArray[Any, Any]]:
    """True for a masked array of numpy.ma."""
    # As long as numpy.ma is not loaded, nothing is. Loading it here takes time, and a fork could catch it half-way.
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return masked is not None and isinstance(array, masked)


def unmasked(array: Array) -> Array:
    """The data of a masked array, with the values below the mask. Other arrays are returned unchanged."""
    return np.ma.getdata(array) if is_masked(array) else array


def as_bytes(array: Array) -> npt.NDArray[np.uint8]:
    """The memory of a C-contiguous array of any dtype, rank and size, as a 1-D uint8 array."""
    return array.reshape(-1).view(np.uint8)


def name_of(names: Mapping[str, int], code: int) -> str:
    """The key of `code` in a table of the core (MODES, BLOCKS)."""
    return next(name for name, value in names.items() if value == code)

"""NumPy dtypes and the element types of the core.

This module decides which arrays can be compressed, with which element type, and how the bits of a fill value are made. bool is
stored as uint8; a stream cannot tell the two apart. bfloat16 and float8 are dtypes of the package ml_dtypes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from importlib import import_module
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
    "f": "store it in HDF5 with lossless=True, which keeps its bytes, or convert it with data.astype('f8')",
    "c": "convert it with data.astype('c16')",
}

#: Types that NumPy has not: the names of their dtypes in ml_dtypes.
SHORT_FLOATS = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def is_short_float(dtype: DType) -> bool:
    """True for bfloat16 and the supported float8 types."""
    return dtype.itemsize <= 2 and dtype.kind in "Vf" and dtype.names is None and dtype.name in SHORT_FLOATS


def is_floating(dtype: DType) -> bool:
    """True for real floating-point types, those of SHORT_FLOATS too. Their `kind` is "V" or "f"."""
    return dtype.kind == "f" or is_short_float(dtype)


def is_long_double(dtype: DType) -> bool:
    """True for floats of 16 bytes, for which there is no element type. The filter stores their bytes without loss."""
    return dtype.kind == "f" and dtype.itemsize == 16


def has_ml_dtypes() -> bool:
    """True if the package of SHORT_FLOATS is installed."""
    try:
        import_module("ml_dtypes")
    except ImportError:
        return False
    return True


def short_float(name: str) -> DType:
    """The dtype of a name of SHORT_FLOATS."""
    try:
        found: DType = np.dtype(getattr(import_module("ml_dtypes"), name))
    except ImportError:
        raise StzTypeError(f"{name} is a dtype of the package ml_dtypes: pip install ml_dtypes", _DTYPE_ERROR) from None
    return found


def as_dtype(dtype: npt.DTypeLike) -> DType:
    """numpy.dtype(dtype), also for the names of SHORT_FLOATS."""
    return short_float(dtype) if isinstance(dtype, str) and dtype in SHORT_FLOATS else np.dtype(dtype)


def text_of(dtype: DType) -> str:
    """The text of which as_dtype() makes a storage dtype. The text of SHORT_FLOATS has no byte order."""
    return str(dtype.name) if is_short_float(dtype) else dtype.str


def exact_numbers(values: Array) -> Array:
    """Real numbers in a type in which NumPy calculates: SHORT_FLOATS as float32, which holds them exactly."""
    return values.astype(np.float32) if is_short_float(values.dtype) else values


def _key(dtype: DType) -> str:
    """The key of a dtype in the core's table."""
    return str(dtype.name) if is_short_float(dtype) else f"{dtype.kind}{dtype.itemsize}"


def storage_dtype(dtype: npt.DTypeLike) -> DType:
    """The dtype in which arrays of `dtype` are stored: itself, or uint8 for bool. StzTypeError if they cannot be compressed."""
    given = as_dtype(dtype)
    if given.kind == "b":
        return np.dtype("u1")
    if _key(given) not in _core.DTYPES:
        remedy = _REMEDIES.get(given.kind, "convert it to a floating-point or integer type")
        if given.kind == "V" and given.names is None:  # others of ml_dtypes; bytes without a type
            remedy = (
                "NumPy has no built-in dtype for it: convert it, for example with data.astype('f4'), or leave the filter out"
            )
        raise StzTypeError(
            f"data of dtype {named(given)} cannot be compressed: {remedy}. Supported are float16/32/64, int8-64, uint8-64, "
            "bool, complex64, complex128, and bfloat16, float8_e4m3fn and float8_e5m2 of ml_dtypes",
            _DTYPE_ERROR,
        )
    return given


def element_type(dtype: DType) -> tuple[int, int]:
    """(code, byte order) of a dtype of storage_dtype(), for the core."""
    return _core.DTYPES[_key(dtype)], _core.BIG if dtype.str[0] == ">" and dtype.itemsize > 1 else _core.LITTLE


def dtype_of(code: int, byte_order: int) -> DType:
    """The NumPy dtype of an element type of the core."""
    name = _NAMES[code]
    native: DType = short_float(name) if name in SHORT_FLOATS else np.dtype(name)
    ordered: DType = native.newbyteorder(">" if byte_order == _core.BIG else "<")
    return ordered


def fill_bits(value: Real, dtype: npt.DTypeLike) -> int | None:
    """The bits (an int) of the fill value `value` in arrays of `dtype`. None for NaN and infinities, which need no fill value.

    StzError if `dtype` cannot hold the value: integers must be exact, floating-point numbers are rounded once.
    """
    native = storage_dtype(dtype).newbyteorder("=")
    if native.kind == "c":
        raise StzTypeError("complex data cannot have a fill value: mark missing samples with NaN", _OPTION_ERROR)
    if is_floating(native) and not math.isfinite(value):
        return None
    if is_short_float(native):
        return _short_fill_bits(value, native)
    if native.kind == "f":
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


def _short_fill_bits(value: Real, dtype: DType) -> int:
    """fill_bits() for SHORT_FLOATS. The core rounds once, NumPy by way of float32."""
    try:
        fields, _ = _core.parse_text(f"lossless,fill_value={float(value)!r}", _core.DTYPES[dtype.name])
    except StzError:
        raise StzError(f"fill_value={value!r} cannot be stored in data of dtype {dtype}", _OPTION_ERROR) from None
    return int(fields["fill"])


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
        if is_short_float(dtype):  # which numpy.ma takes for structures
            array = np.where(np.ma.getmaskarray(array), _marker(fill, dtype), array.data)
        elif fill is not None:
            array = array.filled(fill_number(fill, dtype))
        else:
            array = array.filled(np.nan if dtype.kind in "fc" and np.isfinite(array.fill_value) else None)
    return np.asarray(array, order="C").view(dtype)


def _marker(fill: int | None, dtype: DType) -> Array:
    """The number that masked samples of SHORT_FLOATS become."""
    return np.array(math.nan if fill is None else fill_number(fill, dtype), dtype)


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

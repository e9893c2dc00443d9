"""NumPy dtypes and the element types of the core.

One place decides which arrays can be compressed, as what, and how the bits of a fill value are made. bool is stored as
uint8: a stream does not know the difference.
"""

import math

import numpy as np

from h5stz import _core
from h5stz.errors import StzError, StzTypeError

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


def storage_dtype(dtype):
    """The dtype as which arrays of `dtype` are stored (itself, uint8 for bool); StzTypeError if it cannot be done."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.dtype("u1")
    if f"{dtype.kind}{dtype.itemsize}" not in _core.DTYPES:
        remedy = _REMEDIES.get(dtype.kind, "convert it to a floating-point or integer type")
        raise StzTypeError(
            f"data of dtype {dtype} cannot be compressed: {remedy}. Possible are float16/32/64, int8-64, uint8-64, "
            "bool, complex64 and complex128",
            _DTYPE_ERROR,
        )
    return dtype


def element_type(dtype):
    """(code, byte order) of a dtype that storage_dtype() returned, as the core wants them."""
    return _core.DTYPES[f"{dtype.kind}{dtype.itemsize}"], _core.BIG if dtype.str[0] == ">" else _core.LITTLE


def dtype_of(code, byte_order):
    """The NumPy dtype of an element type of the core."""
    return np.dtype((">" if byte_order == _core.BIG else "<") + _NAMES[code])


def fill_bits(value, dtype):
    """The bits (an int) of fill value `value` in arrays of `dtype`, or None for NaN and infinities, which need no fill value.

    StzError if `dtype` cannot hold the value: integers must be equal, floating-point numbers are rounded once.
    """
    dtype = storage_dtype(dtype).newbyteorder("=")
    if dtype.kind == "c":
        raise StzTypeError("complex data cannot have a fill value: mark missing samples with NaN", _OPTION_ERROR)
    if dtype.kind == "f":
        if not math.isfinite(value):
            return None
        with np.errstate(over="ignore"):
            stored = np.array(float(value)).astype(dtype)
        held = bool(np.isfinite(stored))
    else:
        limits = np.iinfo(dtype)
        held = math.isfinite(value) and value == int(value) and limits.min <= int(value) <= limits.max
        stored = np.array(int(value), dtype) if held else None
    if not held:
        raise StzError(f"fill_value={value!r} cannot be stored in data of dtype {dtype}", _OPTION_ERROR)
    return int(stored.view(f"u{dtype.itemsize}"))


def fill_number(bits, dtype):
    """The fill value with these bits in arrays of `dtype` (of one component of complex ones), as a Python number."""
    dtype = storage_dtype(dtype).newbyteorder("=")
    if dtype.kind == "c":
        dtype = np.dtype(f"f{dtype.itemsize // 2}")
    return np.array(bits, f"u{dtype.itemsize}").view(dtype).item()


def stored(array, fill):
    """An array as it is stored: a C-contiguous ndarray of the storage dtype, masked samples replaced by the fill value.

    Args:
        array: ndarray or masked array, any strides and byte order (which is kept).
        fill: bits of the fill value, or None if no sample is masked.
    """
    dtype = storage_dtype(array.dtype)
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.getdata(array) if fill is None else array.filled(fill_number(fill, dtype))
    return np.asarray(array, order="C").view(dtype)


def as_bytes(array):
    """The memory of a C-contiguous array, whatever its dtype, rank and size, as a 1-D uint8 array."""
    return array.reshape(-1).view(np.uint8)


def name_of(names, code):
    """The key with which a table of the core (MODES, BLOCKS) holds `code`."""
    return next(name for name, value in names.items() if value == code)

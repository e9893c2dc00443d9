"""Datasets of bfloat16 and float8, which h5py reads as float32 or as opaque bytes.

HDF5 2.0 has such types. They are floating-point types with other fields, so every version of HDF5 can store them. Keras and
h5py store opaque bytes instead; Keras names the type in an attribute.
"""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np
from h5py._hl import selections
from h5py._objects import phil

from h5stz import elements
from h5stz.elements import Array, DType

_ATTRIBUTE = "dtype"  # as Keras names it
#: (exponent bits, mantissa bits) of the types in HDF5. Their bias is that of IEEE 754.
_FIELDS = {"bfloat16": (8, 7), "float8_e4m3fn": (4, 3), "float8_e5m2": (5, 2)}


def hdf5_type(dtype: DType) -> h5py.h5t.TypeID:
    """The type of HDF5 in which a dataset of `dtype` is stored."""
    if not elements.is_short_float(dtype):
        return h5py.h5t.py_create(dtype, logical=True)
    exponent, mantissa = _FIELDS[dtype.name]
    bits = 8 * dtype.itemsize
    made = (h5py.h5t.IEEE_F16BE if dtype.itemsize > 1 and dtype.str[0] == ">" else h5py.h5t.IEEE_F16LE).copy()
    made.set_fields(bits - 1, mantissa, exponent, 0, mantissa)
    made.set_precision(bits)
    made.set_size(dtype.itemsize)
    made.set_ebias(2 ** (exponent - 1) - 1)
    return made


def creation_type(dtype: DType) -> Any:
    """The argument dtype of h5py's create_dataset for data of `dtype`. h5py would make opaque bytes of SHORT_FLOATS."""
    return h5py.Datatype(hdf5_type(dtype)) if elements.is_short_float(dtype) else dtype


def short_float_of(dataset: h5py.Dataset) -> str | None:
    """The name of the type of a dataset of bfloat16 or float8, else None."""
    stored = dataset.id.get_type()
    size = stored.get_size()
    if size > 2:
        return None
    if stored.get_class() == h5py.h5t.OPAQUE:
        named = _named_type(dataset)
        name = named.decode(errors="replace") if isinstance(named, bytes) else named
        return next((each for each in _FIELDS if each == name and 1 + sum(_FIELDS[each]) == 8 * size), None)
    if stored.get_class() != h5py.h5t.FLOAT:
        return None
    found = (*stored.get_fields(), stored.get_ebias(), stored.get_precision(), stored.get_norm())
    for each, (exponent, mantissa) in _FIELDS.items():
        if found == (8 * size - 1, mantissa, exponent, 0, mantissa, 2 ** (exponent - 1) - 1, 8 * size, h5py.h5t.NORM_IMPLIED):
            return each
    return None


def _named_type(dataset: h5py.Dataset) -> Any:
    """The value of the attribute that names the type."""
    try:
        return dataset.attrs[_ATTRIBUTE] if _ATTRIBUTE in dataset.attrs else None
    except (TypeError, ValueError, KeyError, OSError, RuntimeError):
        return None


class ShortFloats(h5py.Dataset):  # type: ignore[misc]  # h5py has no annotations
    """A dataset of bfloat16 or float8 as arrays of ml_dtypes: HDF5 converts nothing."""

    def __init__(self, identifier: h5py.h5d.DatasetID, name: str) -> None:
        super().__init__(identifier)
        stored = identifier.get_type()
        is_big = stored.get_class() == h5py.h5t.FLOAT and stored.get_order() == h5py.h5t.ORDER_BE and stored.get_size() > 1
        self._short: DType = elements.short_float(name).newbyteorder(">" if is_big else "<")

    @property
    def dtype(self) -> DType:
        """The dtype of ml_dtypes."""
        return self._short

    @property
    def fillvalue(self) -> Any:
        """The fill value; 0 if there is none."""
        if self.id.get_type().get_class() == h5py.h5t.OPAQUE:
            return np.zeros((), self._short)[()]
        value = np.zeros(1, np.float32)
        self.id.get_create_plist().get_fill_value(value)
        return value.astype(self._short)[0]

    def __getitem__(self, args: Any, new_dtype: Any = None) -> Any:
        """What h5py reads, in the dtype of ml_dtypes."""
        return self.unconverted(args) if new_dtype is None else super().__getitem__(args, new_dtype)

    def unconverted(self, args: Any) -> Any:
        """self[args]"""
        with phil:
            selected = selections.select(self.shape, args if isinstance(args, tuple) else (args,), self)
            out = np.zeros(selected.array_shape, self._short)
            if out.size:
                memory = h5py.h5s.create_simple(selected.mshape)
                self.id.read(memory, selected.id, out.view(f"u{self._short.itemsize}"), self.id.get_type())
        return out[()] if out.ndim == 0 else out

    def __setitem__(self, args: Any, val: Any) -> None:
        """Writes numbers of any type, as NumPy converts them."""
        with phil:
            selected = selections.select(self.shape, args if isinstance(args, tuple) else (args,), self)
            bits = np.ascontiguousarray(np.broadcast_to(np.asarray(val).astype(self._short), selected.array_shape))
            memory = h5py.h5s.create_simple(selected.mshape)
            self.id.write(memory, selected.id, bits.view(f"u{self._short.itemsize}"), self.id.get_type())

    def read_direct(self, dest: Array, source_sel: Any = None, dest_sel: Any = None) -> None:
        """Reads into an array of the dtype of ml_dtypes."""
        dest[... if dest_sel is None else dest_sel] = self[... if source_sel is None else source_sel]


def made_like(identifier: h5py.h5d.DatasetID, other: h5py.Dataset) -> h5py.Dataset:
    """A new dataset, with the dtype of another one in which it was created. It has no attributes yet."""
    return ShortFloats(identifier, other.dtype.name) if isinstance(other, ShortFloats) else h5py.Dataset(identifier)


def typed(dataset: h5py.Dataset) -> h5py.Dataset:
    """A dataset of bfloat16 or float8 as ShortFloats, if ml_dtypes is installed; any other dataset as it is."""
    name = None if isinstance(dataset, ShortFloats) else short_float_of(dataset)
    return dataset if name is None or not elements.has_ml_dtypes() else ShortFloats(dataset.id, name)

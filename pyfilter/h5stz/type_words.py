"""Describes the types of datasets in words: members with name and type, where NumPy would print Python structures."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from h5stz.counts import counted

_SHOWN = 8  # members of a compound type


def named(dtype: np.dtype[Any]) -> str:
    """NumPy's name of a dtype; for a compound type a description."""
    return described(dtype) if dtype.names is not None or dtype.subdtype is not None else str(dtype)


def described(dtype: np.dtype[Any]) -> str:
    """A dtype in words: NumPy's name for numbers, HDF5's term for others, such as "compound of id (int32), s (text)"."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{described(base)} array of {'x'.join(map(str, shape))}"
    if dtype.names is not None:
        return _compound(dtype)
    if (text := h5py.check_string_dtype(dtype)) is not None:
        return "text" if text.length is None else f"text of {counted(text.length, 'byte')}"
    if (inner := h5py.check_vlen_dtype(dtype)) is not None:
        return f"lists of {described(np.dtype(inner))}"
    if (reference := h5py.check_ref_dtype(dtype)) is not None:
        return "references to objects" if reference is h5py.Reference else "references to regions"
    if dtype.type.__module__ == "ml_dtypes":
        return str(dtype.name)
    if dtype.kind == "V":
        return f"opaque data of {counted(dtype.itemsize, 'byte')}"
    if dtype.kind == "O":
        return "objects of Python"
    return str(dtype)


def _member(dtype: np.dtype[Any]) -> str:
    return described(dtype) if dtype.isnative or dtype.kind not in "iufc" else f"{dtype.name} of the other byte order"


def _compound(dtype: np.dtype[Any]) -> str:
    names = dtype.names or ()
    members = [f"{name} ({_member(dtype[name])})" for name in names[:_SHOWN]]
    return f"compound of {', '.join(members)}{f', and {len(names) - _SHOWN} more' if len(names) > _SHOWN else ''}"

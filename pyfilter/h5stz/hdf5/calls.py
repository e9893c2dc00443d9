"""Calls functions of h5py's HDF5 library that h5py does not wrap."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import h5py
from h5py._objects import phil

_DONT_FILTER_PARTIAL_CHUNKS = 2  # H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS
_EXTENSIBLE_ARRAY = 4  # H5D_CHUNK_IDX_EARRAY

_UNUSUAL_UNUSED_BITS = 1  # H5F_RFIC_UNUSUAL_NUM_UNUSED_NUMERIC_BITS

_Identifier = ctypes.c_int64


@cache
def function(name: str, result: Any, *arguments: Any) -> Any:
    """A function of HDF5 by name and ctypes types; None if it cannot be found."""
    try:
        symbol = getattr(ctypes.PyDLL(h5py.h5p.__file__), name)  # looks in the libraries of the module too
    except (OSError, AttributeError):
        return None
    symbol.restype, symbol.argtypes = result, arguments
    return symbol


def _answer(name: str, identifier: int, answer: Any) -> Any:
    """The value of `answer`, a ctypes object, after the function has filled it; None if it failed."""
    ask = function(name, ctypes.c_int, _Identifier, ctypes.POINTER(type(answer)))
    with phil:
        return answer.value if ask is not None and ask(identifier, ctypes.byref(answer)) >= 0 else None


def allow_odd_numbers(access: h5py.h5p.PropFAID) -> None:
    """Lets HDF5 open datasets whose numbers use few of their bits, such as 3 of 32, which it considers damaged since 1.14."""
    tell = function("H5Pset_relax_file_integrity_checks", ctypes.c_int, _Identifier, ctypes.c_uint64)
    with phil:
        if tell is not None:
            tell(access.id, _UNUSUAL_UNUSED_BITS)


def edges_may_be_raw(creation: h5py.h5p.PropDCID) -> bool:
    """True if edge chunks of a dataset may be stored without filters (a creation property)."""
    options = _answer("H5Pget_chunk_opts", creation.id, ctypes.c_uint())
    return options is None or bool(options & _DONT_FILTER_PARTIAL_CHUNKS)


def may_be_extensible_array(dataset: h5py.h5d.DatasetID) -> bool:
    """True if the chunk index of a dataset may be an extensible array."""
    return _answer("H5Dget_chunk_index_type", dataset.id, ctypes.c_int()) in (None, _EXTENSIBLE_ARRAY)


def link_phase_change(creation: h5py.h5p.PropGCID | h5py.h5p.PropFCID) -> tuple[int, int] | None:
    """From the creation properties of a group: the most links in its header, and the fewest in a separate index."""
    most, fewest = ctypes.c_uint(), ctypes.c_uint()
    pointer = ctypes.POINTER(ctypes.c_uint)
    ask = function("H5Pget_link_phase_change", ctypes.c_int, _Identifier, pointer, pointer)
    with phil:
        found = ask is not None and ask(creation.id, ctypes.byref(most), ctypes.byref(fewest)) >= 0
    return (most.value, fewest.value) if found else None


def set_link_phase_change(creation: h5py.h5p.PropGCID | h5py.h5p.PropFCID, most: int, fewest: int) -> None:
    """Sets the values of link_phase_change()."""
    tell = function("H5Pset_link_phase_change", ctypes.c_int, _Identifier, ctypes.c_uint, ctypes.c_uint)
    with phil:
        if tell is not None:
            tell(creation.id, most, fewest)

"""Values of datasets and attributes in HDF5's memory form, in the type of the file, without conversion.

NumPy cannot express all types of HDF5. It truncates NULLTERM strings that fill their bytes, and has no time types, no tagged
opaque types and no nested variable-length values. Here values are bytes, which may contain pointers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

import h5py
import h5py.h5i
import numpy as np
from h5py._objects import phil

from h5stz.elements import Array, DType
from h5stz.hdf5.calls import function
from h5stz.slabs import Box, Memory

#: Called with the address of a reference of HDF5 in memory and its kind; may change it.
Visit = Callable[[int, int], None]
OBJECT, REGION, ANY = range(3)  # kinds of references: those of HDF5 1.8 to objects and regions, and those of HDF5 1.12
REFERENCE_BYTES = (8, 12, 64)

_Identifier = ctypes.c_int64


class _Sequence(ctypes.Structure):
    """hvl_t."""

    _fields_ = [("length", ctypes.c_size_t), ("address", ctypes.c_void_p)]


def call(name: str, *arguments: Any) -> int:
    """Calls a function of HDF5 with ids of h5py (ObjectID), ints, bytes, and memory (ndarray, or an address in a c_void_p)."""
    kinds: list[Any] = []
    values: list[Any] = []
    for each in arguments:
        if isinstance(each, np.ndarray):
            kinds.append(ctypes.c_void_p)
            values.append(each.ctypes.data)
        elif isinstance(each, (bytes, ctypes.c_void_p)):
            kinds.append(ctypes.c_char_p if isinstance(each, bytes) else ctypes.c_void_p)
            values.append(each)
        else:
            kinds.append(_Identifier)
            values.append(each if isinstance(each, int) else each.id)
    found = function(name, ctypes.c_int, *kinds)
    if found is None:
        raise RuntimeError(f"{name} is not in the HDF5 of h5py: install h5py from PyPI or conda-forge")
    with phil:
        answer = int(found(*values))
        if answer < 0:
            raise RuntimeError(f"HDF5 refused {name}")
        return answer


def opened(name: str, *arguments: Any) -> Any:
    """The object (an ObjectID) for an id that a function of HDF5 returns. Arguments as for call()."""
    values = [each if isinstance(each, (int, ctypes.c_void_p)) else each.id for each in arguments]
    kinds: list[Any] = [ctypes.c_void_p if isinstance(each, ctypes.c_void_p) else _Identifier for each in arguments]
    if name in _WITH_KIND:
        kinds[_WITH_KIND[name]] = ctypes.c_int
    ask = function(name, _Identifier, *kinds)
    if ask is None:
        raise RuntimeError(f"{name} is not in the HDF5 of h5py: install h5py from PyPI or conda-forge")
    with phil:
        found = ask(*values)
        if found < 0:
            raise RuntimeError(f"HDF5 refused {name}")
        return h5py.h5s.SpaceID(found) if name in ("H5Rget_region", "H5Ropen_region") else h5py.h5i.wrap_identifier(found)


_WITH_KIND = {"H5Rdereference2": 2, "H5Rget_region": 1}  # where the kind of a reference stands


@dataclass(frozen=True)
class Sizes:
    """The properties of data that slab_extents() needs."""

    shape: tuple[int, ...]
    dtype: DType
    chunks: tuple[int, ...] | None

    def __getitem__(self, box: Any) -> Any:
        raise NotImplementedError


def is_plain(stored: h5py.h5t.TypeID) -> bool:
    """True if values of a type consist of their bytes only, without pointers and references."""
    kind = stored.get_class()
    if kind == h5py.h5t.COMPOUND:
        return all(is_plain(stored.get_member_type(index)) for index in range(stored.get_nmembers()))
    if kind == h5py.h5t.ARRAY:
        return is_plain(stored.get_super())
    return kind not in (h5py.h5t.VLEN, h5py.h5t.REFERENCE) and not (kind == h5py.h5t.STRING and stored.is_variable_str())


@contextmanager
def values_of(dataset: h5py.h5d.DatasetID, box: Box, stored: h5py.h5t.TypeID, memory: Memory | None = None) -> Iterator[Array]:
    """A context with the values of a box of a dataset, as bytes in a 1-D array. Memory behind pointers is freed at the end.

    `memory`: for values that consist of their bytes only.
    """
    shape = tuple(cut.stop - cut.start for cut in box)
    space, selected = _spaces(dataset, box)
    size = prod(shape) * stored.get_size()
    raw = memory.array((size,), np.dtype(np.uint8)) if memory and is_plain(stored) else np.zeros(size, np.uint8)
    call("H5Dread", dataset, stored, selected, space, 0, raw)
    try:
        yield raw
    finally:
        if not is_plain(stored):
            call("H5Dvlen_reclaim", stored, selected, 0, raw)


def write_values(dataset: h5py.h5d.DatasetID, box: Box, stored: h5py.h5t.TypeID, raw: Array) -> None:
    """Writes values of values_of(). The types must be equal."""
    space, memory = _spaces(dataset, box)
    call("H5Dwrite", dataset, stored, memory, space, 0, raw)


def _spaces(dataset: h5py.h5d.DatasetID, box: Box) -> tuple[h5py.h5s.SpaceID, h5py.h5s.SpaceID]:
    space = dataset.get_space()
    if not box:
        return space, h5py.h5s.create(h5py.h5s.SCALAR)
    shape = tuple(cut.stop - cut.start for cut in box)
    space.select_hyperslab(tuple(cut.start for cut in box), shape)
    return space, h5py.h5s.create_simple(shape)


def copy_attribute(
    before: h5py.h5a.AttrID, made: h5py.h5a.AttrID, change: Callable[[h5py.h5t.TypeID, Array], None] = lambda *_: None
) -> None:
    """Copies the values of an attribute to another one, after `change` was called with their type and bytes."""
    stored, space = before.get_type(), before.get_space()
    raw = np.zeros(space.get_simple_extent_npoints() * stored.get_size(), np.uint8)
    call("H5Aread", before, stored, raw)
    try:
        change(stored, raw)
        call("H5Awrite", made, stored, raw)
    finally:
        if not is_plain(stored):
            call("H5Dvlen_reclaim", stored, space, 0, raw)


def visit_references(stored: h5py.h5t.TypeID, raw: Array, visit: Visit) -> None:
    """Calls `visit` for each reference in values."""
    _visit(stored, raw.ctypes.data, len(raw) // stored.get_size(), visit)


def _visit(stored: h5py.h5t.TypeID, address: int, count: int, visit: Visit) -> None:
    kind, size = stored.get_class(), stored.get_size()
    if is_plain(stored) or kind == h5py.h5t.STRING:
        return
    if kind == h5py.h5t.REFERENCE:
        old = OBJECT if stored.equal(h5py.h5t.STD_REF_OBJ) else ANY
        which = REGION if stored.equal(h5py.h5t.STD_REF_DSETREG) else old
        for number in range(count):
            visit(address + number * size, which)
    elif kind == h5py.h5t.ARRAY:
        _visit(stored.get_super(), address, count * prod(stored.get_array_dims()), visit)
    elif kind == h5py.h5t.VLEN:
        for number in range(count):
            found = _Sequence.from_address(address + number * size)
            _visit(stored.get_super(), found.address or 0, found.length, visit)
    else:
        for member in range(stored.get_nmembers()):
            its_type, offset = stored.get_member_type(member), stored.get_member_offset(member)
            if not is_plain(its_type):
                for number in range(count):
                    _visit(its_type, address + number * size + offset, 1, visit)


def told(stored: h5py.h5t.TypeID, raw: Array) -> bytes:
    """Bytes that are equal for equal values: pointers are replaced by their contents. For values without references."""
    parts: list[bytes] = []
    _tell(stored, raw.ctypes.data, len(raw) // stored.get_size(), parts)
    return b"".join(parts)


def _tell(stored: h5py.h5t.TypeID, address: int, count: int, parts: list[bytes]) -> None:
    kind, size = stored.get_class(), stored.get_size()
    if kind == h5py.h5t.COMPOUND:  # what lies between the members is no value
        for number in range(count):
            for member in range(stored.get_nmembers()):
                at = address + number * size + stored.get_member_offset(member)
                _tell(stored.get_member_type(member), at, 1, parts)
    elif is_plain(stored):
        parts.append(ctypes.string_at(address, count * size) if count else b"")
    elif kind == h5py.h5t.ARRAY:
        _tell(stored.get_super(), address, count * prod(stored.get_array_dims()), parts)
    elif kind == h5py.h5t.VLEN:
        for number in range(count):
            found = _Sequence.from_address(address + number * size)
            parts.append(found.length.to_bytes(8, "little"))
            _tell(stored.get_super(), found.address or 0, found.length, parts)
    elif kind == h5py.h5t.STRING:
        for number in range(count):
            text = ctypes.c_char_p.from_address(address + number * size).value
            parts.append(b"-" if text is None else b"+" + text + b"\0")

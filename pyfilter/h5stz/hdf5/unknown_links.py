"""Copies user-defined links, whose kinds only one program knows. HDF5 reads and copies only links of registered kinds.

A kind is therefore registered during the copy, with functions that follow no link and return its bytes.
"""

from __future__ import annotations

import ctypes
from typing import Any

import h5py
from h5py._objects import phil

from h5stz.hdf5 import calls

_Identifier = ctypes.c_int64
_VERSION = 1  # H5L_LINK_CLASS_T_VERS: the function that follows links has a data transfer property list
_Follow = ctypes.CFUNCTYPE(
    _Identifier, ctypes.c_char_p, _Identifier, ctypes.c_void_p, ctypes.c_size_t, _Identifier, _Identifier
)
_Query = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t)
_INFO_BYTES = 64  # more than any version of H5L_info_t has


class _Class(ctypes.Structure):
    """H5L_class_t."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("kind", ctypes.c_int),
        ("comment", ctypes.c_char_p),
        ("create", ctypes.c_void_p),
        ("move", ctypes.c_void_p),
        ("copy", ctypes.c_void_p),
        ("follow", _Follow),
        ("delete", ctypes.c_void_p),
        ("query", _Query),
    )


_leads_nowhere = _Follow(lambda *_: -1)


def copied(group: h5py.h5g.GroupID, name: bytes, made: h5py.h5g.GroupID, properties: h5py.h5p.PropLCID, kind: int) -> bool:
    """Creates in `made` a link with the name, the kind and the bytes of a link in `group`.

    Returns:
        False if this HDF5 cannot do that, or if the program has registered the kind itself.
    """
    register = calls.function("H5Lregister", ctypes.c_int, ctypes.POINTER(_Class))
    unregister = calls.function("H5Lunregister", ctypes.c_int, ctypes.c_int)
    is_known = calls.function("H5Lis_registered", ctypes.c_int, ctypes.c_int)
    if register is None or unregister is None or is_known is None:
        return False
    said: list[bytes] = []

    def query(_: Any, content: int | None, size: int, *__: Any) -> int:
        said.append(ctypes.string_at(content, size) if content and size else b"")
        return size

    its_class = _Class(_VERSION, kind, b"copied", None, None, None, _leads_nowhere, None, _Query(query))
    with phil:
        if is_known(kind) or register(ctypes.byref(its_class)) < 0:
            return False
        try:
            return _asked(group, name) and bool(said) and _created(made, name, kind, said[-1], properties)
        finally:
            unregister(kind)


def _asked(group: h5py.h5g.GroupID, name: bytes) -> bool:
    """Makes HDF5 query the bytes of a link."""
    for function in ("H5Lget_info2", "H5Lget_info1", "H5Lget_info"):
        ask = calls.function(function, ctypes.c_int, _Identifier, ctypes.c_char_p, ctypes.c_void_p, _Identifier)
        if ask is not None:
            return bool(ask(group.id, name, ctypes.create_string_buffer(_INFO_BYTES), 0) >= 0)
    return False


def _created(made: h5py.h5g.GroupID, name: bytes, kind: int, content: bytes, properties: h5py.h5p.PropLCID) -> bool:
    create = calls.function(
        *("H5Lcreate_ud", ctypes.c_int, _Identifier, ctypes.c_char_p, ctypes.c_int),
        *(ctypes.c_char_p, ctypes.c_size_t, _Identifier, _Identifier),
    )
    return create is not None and bool(create(made.id, name, kind, content, len(content), properties.id, 0) >= 0)

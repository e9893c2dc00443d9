"""Reads a dataset "d" with the bare C functions of one Python package's libhdf5 and prints the error stack.

error_stack.py PACKAGE FILE
"""

import ctypes
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.host_tools import mapped_library

package, path = sys.argv[1:]
importlib.import_module(package)
hdf5 = ctypes.CDLL(mapped_library("libhdf5"))

integer = ctypes.c_int64
for name in ["H5Fopen", "H5Dopen2"]:
    getattr(hdf5, name).restype = integer
hdf5.H5Fopen.argtypes = [ctypes.c_char_p, ctypes.c_uint, integer]
hdf5.H5Dopen2.argtypes = [integer, ctypes.c_char_p, integer]
hdf5.H5Dread.argtypes = [integer, integer, integer, integer, integer, ctypes.c_void_p]
hdf5.H5Ewalk2.argtypes = [integer, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]


class ErrorRecord(ctypes.Structure):
    """H5E_error2_t of HDF5."""

    _fields_ = [
        ("class_id", integer),
        ("major", integer),
        ("minor", integer),
        ("line", ctypes.c_uint),
        ("function", ctypes.c_char_p),
        ("file", ctypes.c_char_p),
        ("text", ctypes.c_char_p),
    ]


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.POINTER(ErrorRecord), ctypes.c_void_p)
def show(_, record, __):
    print(record.contents.text.decode())
    return 0


dataset = hdf5.H5Dopen2(hdf5.H5Fopen(path.encode(), 0, 0), b"d", 0)
assert dataset > 0
buffer = ctypes.create_string_buffer(1 << 20)
assert hdf5.H5Dread(dataset, integer.in_dll(hdf5, "H5T_NATIVE_FLOAT_g"), 0, 0, 0, buffer) < 0
hdf5.H5Ewalk2(0, 0, show, None)

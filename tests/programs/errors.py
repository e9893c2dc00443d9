"""Has one Python package's own copy of libhdf5 meet errors of the filter, and prints what its error stack says of each.

errors.py PACKAGE FILE

FILE has a dataset "d" with a chunk that cannot be read. Prints the version of the library, and for each error a line with its
name and what the filter says of it on the error stack, and a line with h5stz.last_error().
"""

import ctypes
import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.host_tools import FILTER_ID, mapped_library

package, path = sys.argv[1:]
importlib.import_module(package)
hdf5 = ctypes.CDLL(mapped_library("libhdf5"))  # before h5stz, which brings h5py and its copy

import h5stz  # noqa: E402

integer = ctypes.c_int64
for function in ["H5Fopen", "H5Fcreate", "H5Dopen2", "H5Dcreate2", "H5Screate_simple", "H5Pcreate", "H5Tcopy"]:
    getattr(hdf5, function).restype = integer


class ErrorRecord(ctypes.Structure):
    """H5E_error2_t."""

    _fields_ = [
        ("class_id", integer),
        ("major", integer),
        ("minor", integer),
        ("line", ctypes.c_uint),
        ("function", ctypes.c_char_p),
        ("file", ctypes.c_char_p),
        ("text", ctypes.c_char_p),
    ]


def call(function, *arguments):
    """Calls a function of HDF5; ids are 64 bits wide."""
    return getattr(hdf5, function)(*(integer(each) if isinstance(each, int) else each for each in arguments))


def variable(name):
    """The value of an id that the library exports."""
    return integer.in_dll(hdf5, name).value


def report(name, status):
    """Prints what the filter says of a call that must have failed."""
    said = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint, ctypes.POINTER(ErrorRecord), ctypes.c_void_p)
    def note(_, record, __):
        said.append(record.contents.text.decode())
        return 0

    call("H5Ewalk2", 0, ctypes.c_int(0), note, None)
    assert status < 0, name
    print(f"{name} {next((text for text in said if text.startswith('h5stz: ')), '')}")
    print(f"last {h5stz.last_error()}", flush=True)


def properties(flags, *words):
    """Creation properties with chunks and the filter."""
    created = call("H5Pcreate", variable("H5P_CLS_DATASET_CREATE_ID_g"))
    assert call("H5Pset_chunk", created, ctypes.c_int(1), extent) >= 0
    data = (ctypes.c_uint * len(words))(*words)
    assert call("H5Pset_filter", created, ctypes.c_int(FILTER_ID), ctypes.c_uint(flags), ctypes.c_size_t(len(words)), data) >= 0
    return created


numbers = [ctypes.c_uint() for _ in range(3)]
hdf5.H5get_libversion(*map(ctypes.byref, numbers))
print("version", *(number.value for number in numbers))
print("last", h5stz.last_error())
call("H5Eset_auto2", 0, None, None)
dataset = call("H5Dopen2", call("H5Fopen", path.encode(), ctypes.c_uint(0), 0), b"d", 0)
assert dataset > 0
buffer = ctypes.create_string_buffer(1 << 20)
report("damaged", call("H5Dread", dataset, variable("H5T_NATIVE_FLOAT_g"), 0, 0, 0, buffer))

extent = (ctypes.c_ulonglong * 1)(10)
space = call("H5Screate_simple", ctypes.c_int(1), extent, None)
file = call("H5Fcreate", f"{path}.{package}".encode(), ctypes.c_uint(2), 0, 0)
text = call("H5Tcopy", variable("H5T_C_S1_g"))
assert call("H5Tset_size", text, ctypes.c_size_t(8)) >= 0
for name, flags in [("mandatory", 0), ("optional", 1)]:
    status = call("H5Dcreate2", file, b"text", text, space, 0, properties(flags, 101, 0), 0)
    report(f"{name}_type", status)
    status = call("H5Dcreate2", file, b"words", variable("H5T_NATIVE_FLOAT_g"), space, 0, properties(flags, 101, 9), 0)
    report(f"{name}_words", status)

"""What the tests of the HDF5 plug-in share: the plug-in's place, its client data, other programs to run it in."""

import ctypes
import os
import re
import shlex
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

from support.paths import PROGRAMS

FILTER_ID = 34765
LOSSLESS, ABSOLUTE, POINTWISE = 0, 1, 2
MAX_RANK, MAX_LEVELS = 32, 64
#: stz_dtype of stz.h, by numpy.dtype.str without its byte order.
CODES = {name: code for code, name in enumerate("f2 f4 f8 i1 u1 i2 u2 i4 u4 i8 u8 c8 c16".split(), 1)}


def plugin_directory() -> str:
    """The directory with libh5stz.so: the package's, or H5STZ_PLUGIN_DIR to test another build of it."""
    chosen = os.environ.get("H5STZ_PLUGIN_DIR")
    if chosen:
        return chosen
    import h5stz

    return str(h5stz.plugin_path())


def plugin_file() -> str:
    return str(Path(plugin_directory()) / "libh5stz.so")


def forget() -> None:
    """Empties the memory for rewriting of this process's plug-in, as in a new process."""
    ctypes.CDLL(plugin_file()).stz_h5_forget()


def environment() -> dict[str, str]:
    """An environment in which every HDF5 program finds the plug-in, and no other plug-in."""
    return {**os.environ, "HDF5_PLUGIN_PATH": plugin_directory()}


def run(*command, succeed=True, directory=None) -> str:
    """Runs a program beside the plug-in and returns its output with its errors; asserts how it ended.

    `succeed=False` asks for an ordinary failure: a program that dies of a signal is never right.
    """
    done = subprocess.run(
        [str(word) for word in command],
        cwd=directory,
        env=environment(),
        text=True,
        timeout=240,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    ended_so = done.returncode == 0 if succeed else done.returncode > 0
    assert ended_so, f"{command} -> {done.returncode}\n{done.stdout}"
    return done.stdout


def run_python(script: str, *arguments) -> str:
    return run(sys.executable, PROGRAMS / script, *arguments)


def pkg_config(*options) -> list[str]:
    """What pkg-config says of the library for C and Fortran: flags for a compiler."""
    import h5stz

    description = Path(h5stz.__file__).parent / "lib" / "pkgconfig"
    command = ["env", f"PKG_CONFIG_PATH={description}", "pkg-config", *options, "h5stz"]
    return shlex.split(subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout)


def mapped_library(name: str, owner: str = "") -> str:
    """The path of a shared library that this process has loaded; of several that of the package `owner`."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if "/" in line}
    found = [path for path in paths if re.match(rf"{name}(_serial)?[-.].*so", Path(path).name)]
    return next((path for path in found if f"/{owner}.libs/" in path), found[0])


def store_edge_chunks_unfiltered(properties):
    """H5Pset_chunk_opts(H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) in h5py's own libhdf5, which h5py does not wrap."""
    call = ctypes.CDLL(mapped_library("libhdf5", "h5py")).H5Pset_chunk_opts
    call.argtypes = [ctypes.c_int64, ctypes.c_uint]
    assert call(properties.id, 2) >= 0


class FilterClass(ctypes.Structure):
    """H5Z_class2_t of HDF5."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("id", ctypes.c_int),
        ("encoder", ctypes.c_uint),
        ("decoder", ctypes.c_uint),
        ("name", ctypes.c_char_p),
        ("can_apply", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)),
        ("set_local", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)),
        (
            "filter",
            ctypes.CFUNCTYPE(
                ctypes.c_size_t,
                ctypes.c_uint,
                ctypes.c_size_t,
                ctypes.POINTER(ctypes.c_uint),
                ctypes.c_size_t,
                ctypes.POINTER(ctypes.c_size_t),
                ctypes.POINTER(ctypes.c_void_p),
            ),
        ),
    ]


def filter_class() -> FilterClass:
    """The plug-in's callbacks, to be called without HDF5."""
    plugin = ctypes.CDLL(plugin_file())
    plugin.H5PLget_plugin_info.restype = ctypes.POINTER(FilterClass)
    return plugin.H5PLget_plugin_info().contents


class Layout(ctypes.Structure):
    """stz_layout of stz.h."""

    _fields_ = [
        ("dtype", ctypes.c_int32),
        ("byte_order", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("shape", ctypes.c_uint64 * MAX_RANK),
    ]


class Options(ctypes.Structure):
    """stz_options of stz.h."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("mode", ctypes.c_int32),
        ("has_fill", ctypes.c_int32),
        ("bound", ctypes.c_double),
        ("fill", ctypes.c_uint64),
        ("block", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("effort", ctypes.c_int32),
        ("layers", ctypes.c_int32),
        ("append_axis", ctypes.c_int32),
        ("integers", ctypes.c_int32),
        ("bound_used", ctypes.c_int32),
        ("content_check", ctypes.c_int32),
        ("prior_bound", ctypes.c_double),
        *((f"layer_bound_{place}", ctypes.c_double) for place in range(6)),  # numbers are compared, arrays are not
        ("enhance", ctypes.c_int32),
        ("check", ctypes.c_int32),
        ("learned", ctypes.c_void_p),
        ("learn", ctypes.c_int32),
        ("favour", ctypes.c_int32),
        ("keep_range", ctypes.c_int32),
        ("keep_zeros", ctypes.c_int32),
        ("valid_low", ctypes.c_double),  # numbers are compared, arrays are not
        ("valid_high", ctypes.c_double),
    ]

    def __init__(self, **values):
        super().__init__(struct_size=ctypes.sizeof(self), **values)


class StreamInfo(ctypes.Structure):
    """stz_stream_info of stz.h."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("layout", Layout),
        ("mode", ctypes.c_int32),
        ("has_fill", ctypes.c_int32),
        ("bound", ctypes.c_double),
        ("fill", ctypes.c_uint64),
        ("array_bytes", ctypes.c_uint64),
        ("form", ctypes.c_char_p),
        ("block", ctypes.c_int32),
        ("format_version", ctypes.c_int32),
        ("levels", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("level_bytes", ctypes.c_uint64 * MAX_LEVELS),
        ("patches", ctypes.c_int32),
        ("bound_used", ctypes.c_int32),
        ("accumulated_bound", ctypes.c_double),
    ]

    def __init__(self):
        super().__init__(struct_size=ctypes.sizeof(self))


def stream_info(stream: bytes) -> StreamInfo:
    """What a stream's header says, through stz_info."""
    info = StreamInfo()
    error = ctypes.CDLL(plugin_file()).stz_info(stream, ctypes.c_size_t(len(stream)), ctypes.byref(info))
    assert error == 0, error
    return info


def double_words(value: float) -> tuple[int, int]:
    """A double as two words of client data, low word first."""
    return struct.unpack("<II", struct.pack("<d", value))


def short_form(mode: int, bound: float = 0.0) -> tuple[int, ...]:
    return (101, mode, *double_words(bound))


def bits(value: np.generic) -> int:
    """A scalar's bits as an unsigned integer, whatever its byte order."""
    native = np.asarray(value).astype(np.asarray(value).dtype.newbyteorder("="))
    return int(native.view(f"u{native.dtype.itemsize}")[()])


def full_form(dtype_code: int, big_endian: bool, chunk, mode=ABSOLUTE, bound=0.0, fill=None) -> tuple[int, ...]:
    """The full form as docs/cd_values.md defines it, written down independently of the plug-in."""
    fill_words = (0, 0, 0) if fill is None else (1, fill & 0xFFFFFFFF, fill >> 32)
    kind = dtype_code | int(big_endian) << 8 | len(chunk) << 16
    return (103, mode, *double_words(bound), 0, *fill_words, kind, *chunk)


def field(shape, dtype="f4", scale=100.0) -> np.ndarray:
    """A smooth field with a little noise, so that compression has something to do and something to get wrong."""
    rng = np.random.default_rng(7)
    axes = np.meshgrid(*[np.linspace(0, 3 + axis, n) for axis, n in enumerate(shape)], indexing="ij")
    values = scale * np.prod([np.sin(a + 0.3) for a in axes], axis=0) + rng.normal(0, scale * 1e-4, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * values[::-1]
    return values.astype(dtype)


def largest_error(original, decoded) -> float:
    """max |x - x'|, for complex numbers over both components, in extended precision."""
    original, decoded = np.asarray(original), np.asarray(decoded)
    if original.dtype.kind == "c":
        return max(largest_error(original.real, decoded.real), largest_error(original.imag, decoded.imag))
    wide = "O" if original.dtype.kind in "iub" and original.dtype.itemsize == 8 else np.longdouble
    return float(np.abs(original.astype(wide) - decoded.astype(wide)).max())

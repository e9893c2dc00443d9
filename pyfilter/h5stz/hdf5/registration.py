"""The plug-in file and its registration with the copies of HDF5 in this process and in its children.

h5py gets the filter by address, the others get the directory of the file (libraries.py). The plug-in finds the functions
of whichever HDF5 calls it: one file serves h5py, netCDF4, PyTables and the command-line tools.
"""

import ctypes
import glob
import importlib.util
import os
import sys
from functools import cache
from typing import NamedTuple

import h5py

from h5stz import _core
from h5stz.hdf5 import libraries

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_FILE = os.path.join(_PACKAGE, "plugins", "libh5stz.so")


class Config(NamedTuple):
    """What is installed here; get_config() returns it.

    Attributes:
        version: of h5stz.
        format_version: of the streams that it writes (docs/format.md).
        filter_id: of the filter in HDF5 files.
        hdf5_version: of the HDF5 that h5py uses.
        registered_filters: {"h5stz": file of the plug-in}; empty if that HDF5 does not have the filter.
    """

    version: str
    format_version: int
    filter_id: int
    hdf5_version: str
    registered_filters: dict[str, str]


def get_config() -> Config:
    """What is installed here, and whether h5py's HDF5 has the filter, much as hdf5plugin.get_config() tells it."""
    available = bool(h5py.h5z.filter_avail(_core.FILTER_ID))
    return Config(
        _core.VERSION,
        _core.FORMAT_VERSION,
        _core.FILTER_ID,
        h5py.version.hdf5_version,
        {"h5stz": _FILE} if available else {},
    )


def plugin_path(connector: bool = False) -> str:
    """What HDF5_PLUGIN_PATH (str) must name for programs outside Python: the directory of ``libh5stz.so``.

    Args:
        connector: also the directory of the VOL connector. They are apart because HDF5 1.14 and newer try every connector that
            they find on a file that they cannot open, and forget why they could not.
    """
    return os.pathsep.join(os.path.join(_PACKAGE, folder) for folder in ("plugins", "connector")[: 2 if connector else 1])


@cache
def _load() -> ctypes.CDLL:
    """The plug-in, which _core has loaded; HDF5 keeps pointers into it."""
    library = ctypes.CDLL(_FILE)
    library.H5PLget_plugin_info.restype = ctypes.c_void_p
    library.H5PLget_plugin_info.argtypes = []
    return library


def last_error() -> str | None:
    """The latest error of the filter in this process (str), in whichever thread and copy of HDF5, or None if there was none.

    HDF5's error stack has the message too, and h5py and PyTables show it. netCDF4 says "HDF error" and no more: ask here then.
    The plug-in must be the one of plugin_path(). Where the environment sets H5STZ_STDERR=1, the filter prints its errors too.
    """
    ask = _load().stz_h5_last_error
    ask.restype, ask.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]
    text = ctypes.create_string_buffer(2048)
    return text.value.decode(errors="replace") if ask(text, len(text)) else None


def register(everywhere: bool = True) -> None:
    """Registers the filter with the copies of HDF5 in this process; `import h5stz` does so. Harmless to repeat.

    Args:
        everywhere: True: with h5py's copy of HDF5; with all others that are loaded, such as those of netCDF4 and PyTables; and
            with those that will be loaded, in this process and in child processes: HDF5_PLUGIN_PATH gets plugin_path() and, if
            it was not set, the places in which HDF5 looks by default. False: with h5py's alone; the others forget it again, and
            the variable gets back what it held. The environment variable H5STZ_EVERYWHERE=0 has the same effect.

    Raises:
        ImportError: h5py's HDF5 did not accept the filter, such as one built without plug-ins.
    """
    h5py.h5z.register_filter(_load().H5PLget_plugin_info())
    if not h5py.h5z.filter_avail(_core.FILTER_ID):
        raise ImportError(
            f"h5py's HDF5 {h5py.version.hdf5_version} did not accept the filter {_core.FILTER_ID} of {_FILE}: "
            "install the h5py of PyPI or conda-forge"
        )
    if everywhere and os.environ.get("H5STZ_EVERYWHERE") != "0":
        _export()
    else:
        _unexport()


_VARIABLE = "HDF5_PLUGIN_PATH"
_AT_IMPORT = os.environ.get(_VARIABLE)
_exported: dict[str, str | None] = {}  # what the variable was set to: what it held before
_told: list[libraries.Library] = []


def _export() -> None:
    """Tells all copies of HDF5 but h5py's where the filter is."""
    directory = plugin_path()
    path = os.environ.get(_VARIABLE)
    directories = default_directories() if path is None else path.split(os.pathsep)
    if directory not in directories and os.pathsep not in directory:
        # Who has set the variable may have another version of the filter in mind: it goes first.
        directories = [*directories, directory] if path else [directory, *directories]
        os.environ[_VARIABLE] = os.pathsep.join(directories)
        _exported[os.environ[_VARIABLE]] = path
    of_h5py = libraries.of_h5py()
    _told.extend(each for each in libraries.loaded() if each.address != of_h5py and each.add(directory))


def _unexport() -> None:
    for library in _told:
        library.remove(plugin_path())
    _told.clear()
    path = os.environ.get(_VARIABLE)
    if path in _exported:  # else somebody has changed it since
        before = _exported[path]
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
    _exported.clear()


def variable_at_import() -> str | None:
    """What HDF5_PLUGIN_PATH held when this package was imported: what the shell has told its programs."""
    return _AT_IMPORT


def default_directories(of_packages: bool = True) -> list[str]:
    """Where copies of HDF5 look if the variable is not set, as far as there are such directories: once set it replaces them.

    of_packages: also where Python packages have plug-ins of their own.
    """
    places = [os.fsdecode(h5py.h5pl.get(index)) for index in range(h5py.h5pl.size())]
    if of_packages and (netcdf4 := importlib.util.find_spec("netCDF4")):
        # Its wheel sets the variable to a directory of its own, unless it is set.
        places += [os.path.join(place, "plugins") for place in netcdf4.submodule_search_locations or ()]
    places += [os.path.join(sys.prefix, "lib/hdf5/plugin"), "/usr/local/hdf5/lib/plugin"]  # conda; HDF5's own
    places += sorted(glob.glob("/usr/lib/*-linux-*/hdf5/*/plugins"))  # Debian
    return list(dict.fromkeys(filter(os.path.isdir, places)))

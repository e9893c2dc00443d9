"""Registers the plug-in with the copies of HDF5 in this process and in child processes.

h5py gets the filter by address. Other copies get the directory of the plug-in file (libraries.py). The plug-in uses the
functions of the HDF5 that calls it: one file serves h5py, netCDF4, PyTables and the command-line tools.
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
    """The installed versions; get_config() returns it.

    Attributes:
        version: version of h5stz.
        format_version: version of the stream format that h5stz writes (docs/format.md).
        filter_id: number of the filter in HDF5 files.
        hdf5_version: version of the HDF5 that h5py uses.
        registered_filters: {"h5stz": file of the plug-in}; empty if the filter is not registered with that HDF5.
    """

    version: str
    format_version: int
    filter_id: int
    hdf5_version: str
    registered_filters: dict[str, str]


def get_config() -> Config:
    """The installed versions, and whether the filter is registered with h5py's HDF5. Similar to hdf5plugin.get_config().

    Returns:
        Config
    """
    available = bool(h5py.h5z.filter_avail(_core.FILTER_ID))
    return Config(
        _core.VERSION,
        _core.FORMAT_VERSION,
        _core.FILTER_ID,
        h5py.version.hdf5_version,
        {"h5stz": _FILE} if available else {},
    )


def plugin_path(connector: bool = False) -> str:
    """The directory of ``libh5stz.so`` (str), for HDF5_PLUGIN_PATH in programs outside Python.

    Args:
        connector: True adds the directory of the VOL connector. It has a directory of its own because HDF5 1.14 and newer try
            every connector they find on a file that they cannot open, which hides the real error.
    """
    return os.pathsep.join(os.path.join(_PACKAGE, folder) for folder in ("plugins", "connector")[: 2 if connector else 1])


@cache
def plugin() -> ctypes.CDLL:
    """The plug-in, which _core has loaded. It stays loaded because HDF5 keeps pointers into it."""
    library = ctypes.CDLL(_FILE)
    library.H5PLget_plugin_info.restype = ctypes.c_void_p
    library.H5PLget_plugin_info.argtypes = []
    return library


def last_error() -> str | None:
    """The latest error message of the filter in this process (str), from any thread and copy of HDF5; None if there was no
    error.

    Use it where a program hides the message: netCDF4 reports only "HDF error". h5py and PyTables show the message themselves,
    from HDF5's error stack. The plug-in must be the one of plugin_path(). With the environment variable H5STZ_STDERR=1 the
    filter also prints its errors.
    """
    ask = plugin().stz_h5_last_error
    ask.restype, ask.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]
    text = ctypes.create_string_buffer(2048)
    return text.value.decode(errors="replace") if ask(text, len(text)) else None


def register(everywhere: bool = True) -> None:
    """Registers the filter with the copies of HDF5 in this process. `import h5stz` calls it; it may be called again.

    Args:
        everywhere: True registers the filter with h5py's copy of HDF5, with all other loaded copies (such as those of netCDF4
            and PyTables), and with copies that are loaded later, in this process and in child processes. For the later ones it
            adds plugin_path() to the environment variable HDF5_PLUGIN_PATH; if the variable was not set, it also adds HDF5's
            default directories. False registers the filter with h5py's copy only, removes it from the others and restores the
            variable. The environment variable H5STZ_EVERYWHERE=0 has the effect of False.

    Raises:
        ImportError: h5py's HDF5 did not accept the filter, for example because it was built without plug-ins.
    """
    h5py.h5z.register_filter(plugin().H5PLget_plugin_info())
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
    """Tells all copies of HDF5 except h5py's where the filter is."""
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
    """The value that HDF5_PLUGIN_PATH had when this package was imported, i.e. the one from the shell."""
    return _AT_IMPORT


def default_directories(of_packages: bool = True) -> list[str]:
    """The existing directories that HDF5 searches if HDF5_PLUGIN_PATH is not set. Setting the variable replaces them.

    of_packages: also the plug-in directories of Python packages.
    """
    places = [os.fsdecode(h5py.h5pl.get(index)) for index in range(h5py.h5pl.size())]
    if of_packages and (netcdf4 := importlib.util.find_spec("netCDF4")):
        # Its wheel sets the variable to a directory of its own, unless it is set.
        places += [os.path.join(place, "plugins") for place in netcdf4.submodule_search_locations or ()]
    places += [os.path.join(sys.prefix, "lib/hdf5/plugin"), "/usr/local/hdf5/lib/plugin"]  # conda; HDF5's own
    places += sorted(glob.glob("/usr/lib/*-linux-*/hdf5/*/plugins"))  # Debian
    return list(dict.fromkeys(filter(os.path.isdir, places)))

"""The copies of HDF5 in this process, and the directories where each looks for plug-ins.

The wheels of h5py, netCDF4, PyTables and VTK each contain a copy of HDF5. A copy reads HDF5_PLUGIN_PATH when it initialises,
so the variable reaches copies that are loaded later, also in child processes. Copies that are loaded already are told through
H5PLappend, a public function of HDF5 since 1.10.1. Copies that hide their functions (for example, if linked statically) cannot
be told.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import h5py

from h5stz.waiting import cached_property

_MAPS = "/proc/self/maps"
_PREFIXES = {"vtkhdf5": "vtkhdf5_"}  # of the functions of copies that renamed them, by a part of the name of their file


@dataclass(frozen=True)
class Library:
    """A loaded copy of HDF5.

    Attributes:
        file: the library in which its functions were found; this may be another library that depends on it.
        prefix: prefix of its function names.
        address: address of its function H5PLappend. Equal addresses mean the same copy.
    """

    file: str
    prefix: str
    address: int

    @cached_property
    def _handle(self) -> ctypes.PyDLL:
        # With the GIL held: packages that keep it while they call HDF5 are then not disturbed.
        return ctypes.PyDLL(self.file, mode=os.RTLD_LAZY | os.RTLD_NOLOAD)

    def _call(self, name: str, result: Any, *arguments: Any) -> Any:
        function = getattr(self._handle, self.prefix + name)
        function.restype = result
        return function(*arguments)

    @property
    def version(self) -> str:
        """Version of HDF5, such as 1.14.6."""
        numbers = [ctypes.c_uint() for _ in range(3)]
        self._call("H5get_libversion", ctypes.c_int, *map(ctypes.byref, numbers))
        return ".".join(str(number.value) for number in numbers)

    @property
    def search_path(self) -> list[str]:
        """The directories in which it looks for plug-ins, in order."""
        count = ctypes.c_uint()
        if self._call("H5PLsize", ctypes.c_int, ctypes.byref(count)) < 0:
            return []
        directories = []
        for index in range(count.value):
            length = self._call("H5PLget", ctypes.c_ssize_t, ctypes.c_uint(index), None, ctypes.c_size_t(0))
            text = ctypes.create_string_buffer(max(length, 0) + 1)
            self._call("H5PLget", ctypes.c_ssize_t, ctypes.c_uint(index), text, ctypes.c_size_t(len(text)))
            directories.append(os.fsdecode(text.value))
        return directories

    def add(self, directory: str) -> bool:
        """Appends a directory to its search path. False if the directory is there already, or the library refuses."""
        if directory in self.search_path:
            return False
        return bool(self._call("H5PLappend", ctypes.c_int, os.fsencode(directory)) >= 0)

    def remove(self, directory: str) -> None:
        """Removes a directory from its search path."""
        while directory in (path := self.search_path):
            if self._call("H5PLremove", ctypes.c_int, ctypes.c_uint(path.index(directory))) < 0:
                return


def loaded() -> list[Library]:
    """The copies of HDF5 in this process. Empty where the system does not list loaded libraries (other than Linux)."""
    found: dict[int, Library] = {}
    for file in _loaded_files():
        prefix = next((prefix for part, prefix in _PREFIXES.items() if part in os.path.basename(file)), "")
        address = _address(file, prefix + "H5PLappend")
        if address:
            found.setdefault(address, Library(file, prefix, address))
    return list(found.values())


def of_h5py() -> int | None:
    """The address that identifies h5py's copy; None if it cannot be found."""
    return _address(h5py.h5p.__file__, "H5PLappend")


def of_h5stz() -> list[str]:
    """The files of loaded libraries of h5stz. Several plug-ins mean that two installations are mixed."""
    return sorted(file for file in _loaded_files() if os.path.basename(file).startswith("libh5stz"))


def _loaded_files() -> Iterator[str]:
    """Files of shared libraries. Those named after HDF5 come first, before others that export the same functions."""
    try:
        with open(_MAPS, errors="surrogateescape") as maps:
            lines = maps.read().splitlines()
    except OSError:
        return
    files = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    libraries = [file for file in files if ".so" in os.path.basename(file) and file.startswith("/")]
    yield from sorted(libraries, key=lambda file: (not os.path.basename(file).startswith("libhdf5"), file))


def _address(file: str, name: str) -> int | None:
    """Address of a function that a loaded library, or a library it depends on, exports."""
    try:
        return ctypes.cast(getattr(ctypes.PyDLL(file, mode=os.RTLD_LAZY | os.RTLD_NOLOAD), name), ctypes.c_void_p).value
    except (OSError, AttributeError):
        return None

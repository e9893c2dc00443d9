"""The report of `h5stz doctor --report`: facts for an issue report, as Markdown, without user name and home directory."""

from __future__ import annotations

import getpass
import importlib.metadata
import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from h5stz.hdf5 import libraries, registration

# Packages whose versions explain most issues: those that call h5stz, and those that bring HDF5 or other filters.
_PACKAGES = ("numcodecs", "zarr", "xarray", "dask", "hdf5plugin", "netCDF4", "h5netcdf", "tables", "fsspec", "obstore")
_VARIABLES = ("H5STZ_", "HDF5_")
_CPU_FLAGS = ("avx", "bmi", "popcnt", "abm", "asimd", "sve")  # the beginnings of those that the choice of kernels looks at


def lines(found: dict[str, Any], round_trip: str) -> Iterator[str]:
    """The report as lines.

    Args:
        found: the facts that `h5stz doctor --json` prints.
        round_trip: the result of a round trip through HDF5.
    """
    private = _private_names()
    for name, values in _items(found, round_trip):
        if len(values) == 1:
            yield f"- {name}: {_shown(values[0], private)}"
        elif values:
            yield f"- {name}:"
            yield from (f"  - {_shown(value, private)}" for value in values)


def _items(found: dict[str, Any], round_trip: str) -> Iterator[tuple[str, list[str]]]:
    """The facts: name, and a value for each line."""
    yield "h5stz", [f"{found['h5stz']}, stream format {found['stream_format']}, filter {found['filter']}"]
    yield "Python", [f"{found['python']} ({platform.python_implementation()})"]
    yield "NumPy, h5py, HDF5", [f"{found['numpy']}, {found['h5py']}, {found['hdf5']}"]
    yield "packages", [", ".join(f"{name} {_version(name)}" for name in _PACKAGES)]
    yield "platform", [platform.platform()]
    yield "CPU", [_cpu()]
    yield "round trip through HDF5", [round_trip]
    yield "plug-in folder", [found["plugin_path"]]
    yield "loaded libraries of h5stz", libraries.of_h5stz() or ["none, or unknown on this system"]
    yield "copies of HDF5", [_copy(library) for library in found["libraries"]]
    yield "programs with an HDF5 of their own", [", ".join(found["programs"]) or "none found"]
    yield (
        "default plug-in folders",
        [f"{folder}: {'the filter' if has else 'no filter'}" for folder, has in found["directories"].items()],
    )
    yield "environment", list(_environment()) or [f"no variable {' or '.join(f'{name}*' for name in _VARIABLES)}"]


def _copy(library: dict[str, Any]) -> str:
    """Describes a copy of HDF5."""
    return f"{library['version']}, {library['file']}: {'has' if library['has_filter'] else 'does not find'} the filter"


def _version(package: str) -> str:
    """The installed version of a package, found without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _cpu() -> str:
    """The processor and the extensions that the kernels may use; `H5STZ_ISA` limits them."""
    try:
        about = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        about = ""
    name = re.search(r"^model name\s*: (.*)", about, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*: (.*)", about, re.MULTILINE)
    used = [flag for flag in sorted(flags[1].split()) if flag.startswith(_CPU_FLAGS)] if flags else ["extensions unknown"]
    model = name[1] if name else platform.processor() or "unknown"
    return f"{model}, {platform.machine()}, {os.cpu_count()} threads: {' '.join(used)}"


def _environment() -> Iterator[str]:
    """The variables that h5stz and HDF5 read, as set by the shell, because `import h5stz` changes one of them."""
    told = dict(os.environ)
    at_import = registration.variable_at_import()
    told.pop("HDF5_PLUGIN_PATH", None)
    if at_import is not None:
        told["HDF5_PLUGIN_PATH"] = at_import
    return (f"{name}={value}" for name, value in sorted(told.items()) if name.startswith(_VARIABLES))


def _private_names() -> dict[str, str]:
    """{pattern: replacement} for all names of the home directory, and for the user name in other paths."""
    homes = {os.path.expanduser("~"), os.path.realpath(os.path.expanduser("~"))}
    names = {rf"(?<![\w.-]){re.escape(home)}(?![\w.-])": "~" for home in sorted(homes, key=len, reverse=True) if len(home) > 1}
    try:
        names[rf"(?<=/){re.escape(getpass.getuser())}(?![\w.-])"] = "USER"
    except (OSError, KeyError):  # a container may have a user without a name
        pass
    return names


def _shown(value: str, private: dict[str, str]) -> str:
    """A value as inline code in Markdown."""
    for pattern, replacement in private.items():
        value = re.sub(pattern, replacement, value)
    return "`" + " ".join(value.replace("`", "'").split()) + "`"

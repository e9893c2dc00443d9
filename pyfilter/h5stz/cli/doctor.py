"""`h5stz doctor`: tests the filter, lists the copies of HDF5 that have it, and prints the lines that add it to others."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import click
import h5py
import numpy as np

from h5stz import _core
from h5stz.cli import report
from h5stz.cli.output import say
from h5stz.errors import StzError
from h5stz.hdf5 import libraries, registration
from h5stz.options.stz import STZ

_PACKAGES = ("netCDF4", "tables", "h5netcdf", "xarray", "vtk")  # those that bring or use a copy of HDF5
_PROGRAMS = ("h5dump", "h5repack", "ncdump", "nccopy", "cdo", "ncks", "octave")
_FILE = "libh5stz.so"
_BOUND = 1e-3


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--report", "as_report", is_flag=True, help="Print the facts for an issue report, as Markdown.")
def doctor(as_json: bool, as_report: bool) -> None:
    """Check that the filter works here and print versions.

    Exit status 1 if a round trip through HDF5 fails.
    """
    if as_json and as_report:
        raise click.UsageError("--json and --report exclude each other.")
    found = _facts()
    if as_report:
        _print_report(found)
        return
    if as_json:
        print(json.dumps(found | {"round_trip_error": _round_trip()}))
        return
    for line in _lines(found):
        say(line)
    _round_trip()
    say("round trip through HDF5: within the bound")


def _print_report(found: dict[str, Any]) -> None:
    """Prints the report, even if the round trip fails: then it is needed most."""
    failure = None
    try:
        ended = f"largest error {_round_trip():.3g} with the bound {_BOUND:g}"
    except (StzError, OSError, RuntimeError, ValueError) as error:
        failure, ended = error, f"failed: {error}"
    for line in report.lines(found, ended):
        say(line)
    if failure:
        raise failure


def _facts() -> dict[str, Any]:
    """The results as a dict, for programs."""
    paths = filter(None, (registration.variable_at_import() or "").split(os.pathsep))
    return {
        "h5stz": _core.VERSION,
        "stream_format": _core.FORMAT_VERSION,
        "filter": _core.FILTER_ID,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "h5py": h5py.version.version,
        "hdf5": h5py.version.hdf5_version,
        "plugin_path": registration.plugin_path(),
        "libraries": _libraries(),
        "programs": [name for name in _PROGRAMS if shutil.which(name)],
        "variable_names_plugin": registration.plugin_path() in map(os.path.abspath, paths),
        "directories": {
            directory: os.path.exists(os.path.join(directory, _FILE))
            for directory in registration.default_directories(of_packages=False)
        },
    }


def _libraries() -> list[dict[str, Any]]:
    """The copies of HDF5 in Python packages."""
    for name in _PACKAGES:
        if importlib.util.find_spec(name):
            importlib.import_module(name)
    registration.register()
    of_h5py, path = libraries.of_h5py(), registration.plugin_path()
    return [
        {
            "version": library.version,
            "file": library.file,
            "has_filter": library.address == of_h5py or path in library.search_path,
        }
        for library in libraries.loaded()
    ]


def _lines(found: dict[str, Any]) -> Iterator[str]:
    """The results as text: a line for each fact, and the commands that fix what is missing."""
    yield f"h5stz {found['h5stz']}, stream format {found['stream_format']}, filter {found['filter']}"
    yield f"Python {found['python']}, NumPy {found['numpy']}"
    yield f"h5py {found['h5py']}, HDF5 {found['hdf5']}"
    yield f"plug-in: {found['plugin_path']}"
    for library in found["libraries"]:
        has = "has the filter" if library["has_filter"] else "does not find the filter"
        yield f"HDF5 {library['version']} in Python: {library['file']}: {has}"
    if found["programs"]:
        yield f"programs with an HDF5 of their own: {', '.join(found['programs'])}"
    if found["variable_names_plugin"]:
        yield "HDF5_PLUGIN_PATH: names it: HDF5 programs started from here find the filter"
    else:
        yield "HDF5_PLUGIN_PATH: does not name it: for programs outside Python type"
        yield f"  export HDF5_PLUGIN_PATH={found['plugin_path']}"
    for directory, has_filter in found["directories"].items():
        if has_filter:
            yield f"{directory}: has the filter"
        else:
            yield f"{directory}: does not have the filter; for programs that look there, without the variable, type"
            yield f"  ln -s {os.path.join(found['plugin_path'], _FILE)} {directory}/"


def _round_trip() -> float:
    """The largest error of a round trip through HDF5. Raises StzError if it exceeds the bound."""
    data = np.linspace(0, 1, 4096, dtype="f4").reshape(16, 16, 16)
    # Without a chunk cache: HDF5 would hand back the samples that it was given, whatever the filter made of them.
    with h5py.File("doctor.h5", "w", driver="core", backing_store=False, rdcc_nbytes=0) as file:
        dataset = file.create_dataset("x", data=data, chunks=data.shape, **STZ(absolute=_BOUND))
        worst = float(np.abs(dataset[...].astype("f8") - data).max())
    if worst > _BOUND:
        code = _core.ERROR_CODES["STZ_ERROR_INTERNAL"]
        raise StzError(f"round trip through HDF5: error {worst} with the bound {_BOUND}", code)
    return worst

"""`h5stz doctor`: whether the filter works here, in which copies of HDF5, and the lines that make it work in others."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import sys

import click
import h5py
import numpy as np

from h5stz import _core, hdf5_libraries, registration
from h5stz.errors import StzError
from h5stz.options import STZ

_PACKAGES = ("netCDF4", "tables", "h5netcdf", "xarray", "vtk")  # those that bring or use a copy of HDF5
_PROGRAMS = ("h5dump", "h5repack", "ncdump", "nccopy", "cdo", "ncks", "octave")
_FILE = "libh5stz.so"


@click.command()
def doctor() -> None:
    """Check that the filter works here and print versions."""
    print(f"h5stz {_core.VERSION}, stream format {_core.FORMAT_VERSION}, filter {_core.FILTER_ID}")
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}")
    print(f"h5py {h5py.version.version}, HDF5 {h5py.version.hdf5_version}")
    print(f"plug-in: {registration.plugin_path()}")
    _print_libraries()
    _print_programs()
    _print_directories()
    _try_it()


def _print_libraries() -> None:
    """The copies of HDF5 that packages bring."""
    for name in _PACKAGES:
        if importlib.util.find_spec(name):
            importlib.import_module(name)
    registration.register()
    of_h5py = hdf5_libraries.of_h5py()
    for library in hdf5_libraries.loaded():
        found = library.address == of_h5py or registration.plugin_path() in library.search_path
        print(
            f"HDF5 {library.version} in Python: {library.file}: " + ("has the filter" if found else "does not find the filter")
        )


def _print_programs() -> None:
    """What programs outside Python find."""
    programs = [name for name in _PROGRAMS if shutil.which(name)]
    if programs:
        print(f"programs with an HDF5 of their own: {', '.join(programs)}")
    paths = filter(None, (registration.variable_at_import() or "").split(os.pathsep))
    if registration.plugin_path() in map(os.path.abspath, paths):
        print("HDF5_PLUGIN_PATH: names it: HDF5 programs started from here find the filter")
    else:
        print("HDF5_PLUGIN_PATH: does not name it: for programs outside Python type")
        print(f"  export HDF5_PLUGIN_PATH={registration.plugin_path()}")


def _print_directories() -> None:
    """Where copies of HDF5 look without the variable."""
    for directory in registration.default_directories(of_packages=False):
        file = os.path.join(directory, _FILE)
        if os.path.exists(file):
            print(f"{directory}: has the filter")
        else:
            print(f"{directory}: does not have the filter; for programs that look there, without the variable, type")
            print(f"  ln -s {os.path.join(registration.plugin_path(), _FILE)} {directory}/")


def _try_it() -> None:
    data = np.linspace(0, 1, 4096, dtype="f4").reshape(16, 16, 16)
    with h5py.File("doctor.h5", "w", driver="core", backing_store=False) as file:
        dataset = file.create_dataset("x", data=data, chunks=data.shape, **STZ(absolute=1e-3))
        file.flush()
        dataset.refresh()
        worst = float(np.abs(dataset[...].astype("f8") - data).max())
    if worst > 1e-3:
        raise StzError(f"round trip through HDF5: error {worst} with the bound 0.001", _core.ERROR_CODES["STZ_ERROR_INTERNAL"])
    print("round trip through HDF5: within the bound")

"""After `import h5stz` every library in the process, and in its children, has the filter, whatever was imported first."""

import itertools
import os
import subprocess
import sys
import zlib

import h5py
import numpy as np
import pytest

import h5stz
from support.fields import random_field
from support.paths import PROGRAMS
from support.requirements import needs_packages, require

#: Readers of tests/programs/import_orders.py with the packages that they need.
READERS = {
    "h5py": ["h5py"],
    "h5netcdf": ["h5netcdf"],
    "netCDF4": ["netCDF4"],
    "tables": ["tables"],
    "xarray:netcdf4": ["xarray", "netCDF4"],
    "xarray:h5netcdf": ["xarray", "h5netcdf"],
}
VARIABLE = "HDF5_PLUGIN_PATH"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A file, and the CRC of what every reader must find in its dataset "x"."""
    path = tmp_path_factory.mktemp("everywhere") / "x.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", data=random_field((60, 70), 4, 1).astype("f4"), **h5stz.STZ(absolute=0.01))
        for axis, name in enumerate("vu"):
            file[name] = np.arange(dataset.shape[axis])
            file[name].make_scale(name)
            dataset.dims[axis].attach_scale(file[name])
    with h5py.File(path) as file:
        return path, f"{zlib.crc32(file['x'][...].tobytes()):08x}"


def run(*words, **variables):
    """What a fresh Python prints, in an environment that names no plug-in."""
    environment = {name: value for name, value in os.environ.items() if name not in (VARIABLE, "H5STZ_EVERYWHERE")}
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, env=environment | variables, text=True, capture_output=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def read(stored, *names, **variables):
    return dict(line.split(maxsplit=1) for line in run(PROGRAMS / "import_orders.py", stored[0], *names, **variables))


@pytest.mark.parametrize("first", [True, False], ids=["h5stz first", "h5stz last"])
@pytest.mark.parametrize(
    "reader", [pytest.param(each, marks=pytest.mark.slow if number % 2 else ()) for number, each in enumerate(READERS)]
)
def test_every_library(stored, reader, first):
    require(needs_packages(*READERS[reader]))
    names = ("h5stz", reader) if first else (reader, "h5stz")
    assert read(stored, *names) == {reader: stored[1]}


@needs_packages("h5netcdf", "netCDF4", "tables")
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(order, marks=() if number % 8 == 5 else pytest.mark.slow, id=" ".join(order))
        for number, order in enumerate(itertools.permutations(["h5stz", "h5netcdf", "netCDF4", "tables"]))
    ],
)
def test_all_in_any_order(stored, names):
    assert read(stored, *names) == {name: stored[1] for name in names if name != "h5stz"}


@needs_packages("netCDF4")
def test_opting_out(stored):
    assert read(stored, "h5stz", "netCDF4")["netCDF4"] == stored[1]
    assert "filter" in read(stored, "h5stz", "netCDF4", H5STZ_EVERYWHERE="0")["netCDF4"].lower()
    script = """
import os, sys
import netCDF4
before = os.environ.get("HDF5_PLUGIN_PATH")
import h5stz
assert h5stz.plugin_path() in os.environ["HDF5_PLUGIN_PATH"].split(":")
h5stz.register(everywhere=False)
assert os.environ.get("HDF5_PLUGIN_PATH") == before
try:
    netCDF4.Dataset(sys.argv[1])["x"][...]
except Exception as error:
    print(error)
h5stz.register()
print(netCDF4.Dataset(sys.argv[1])["x"][...].shape)
"""
    refused, shape = run("-c", script, stored[0])
    assert "filter" in refused.lower() and shape == "(60, 70)"


@needs_packages("netCDF4")
@pytest.mark.parametrize("value", [None, "", "/nowhere:/nothing"])
def test_the_variable_keeps_what_it_holds(value):
    script = "import h5stz, os; print(os.environ['HDF5_PLUGIN_PATH'])"
    (path,) = run("-c", script, **({} if value is None else {VARIABLE: value}))
    directories = path.split(os.pathsep)
    assert h5stz.plugin_path() in directories
    if value:
        assert path == value + os.pathsep + h5stz.plugin_path()
        assert run("-c", script, **{VARIABLE: path}) == [path]


@needs_packages("netCDF4")
def test_the_filters_that_netcdf4_brings_are_found_as_before(tmp_path):
    """Those that this netCDF4 has: of the others nothing is asked."""
    script = """
import sys
import h5stz, netCDF4
for compression, known in {"zstd": "zstandard", "blosc_lz": "blosc", "bzip2": "bzip2"}.items():
    if not getattr(netCDF4, f"__has_{known}_support__"):
        continue
    with netCDF4.Dataset(sys.argv[1], "w") as file:
        file.createDimension("x", 1000)
        file.createVariable("x", "f4", ("x",), compression=compression)[...] = range(1000)
    with netCDF4.Dataset(sys.argv[1]) as file:
        print(file["x"][...].sum(), file["x"].filters()[compression.partition("_")[0]] is not False)
"""
    found = run("-c", script, tmp_path / "x.nc")
    if not found:
        pytest.skip("needs a netCDF4 with filters")
    assert set(found) == {"499500.0 True"}


SPAWN = """
import multiprocessing, sys, zlib

def work(path):
    import netCDF4  # alone: what the parent has exported is enough
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        return f"{zlib.crc32(file['x'][...].tobytes()):08x}"

if __name__ == "__main__":
    import h5stz
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(work, sys.argv[1:]))
"""


@needs_packages("netCDF4")
def test_spawned_workers(stored, tmp_path):
    (tmp_path / "spawn.py").write_text(SPAWN)
    assert run(tmp_path / "spawn.py", stored[0]) == [stored[1]]

"""The lines of `h5stz args` do what they say: each is pasted into a shell beside the files that it names."""

import importlib
import os
import re
import shlex
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support import exact, host_tools
from support.created_files import client_data, is_compressed
from support.requirements import needs, needs_packages, needs_programs, require

BOUND = 1e-2
FIELD = host_tools.field((24, 40, 60))


def cdo_version():
    try:
        text = subprocess.run(["cdo", "--version"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    except FileNotFoundError:
        return (0, 0)
    found = re.search(r"version (\d+)\.(\d+)", text)
    return tuple(map(int, found.groups())) if found else (0, 0)


def lines(capsys, *words):
    """The lines that are no comments, by the first word."""
    assert cli.main(["args", *words]) == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    return {line.split()[0]: line for line in shown}


def paste(line, directory):
    """Runs a line of a shell; h5stz is that of this interpreter."""
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    variables = host_tools.environment() | {"PATH": path}
    done = subprocess.run(["sh", "-c", line], cwd=directory, env=variables, text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def netcdf(tmp_path):
    """A file of netCDF with coordinates, 2-D and 1-D, an integer variable and two of data."""
    require(needs_packages("netCDF4"))
    netCDF4 = importlib.import_module("netCDF4")
    with netCDF4.Dataset(tmp_path / "IN.nc", "w") as file:
        for name, size in zip("tyx", FIELD.shape, strict=True):
            file.createDimension(name, size)
        file.createVariable("lat", "f8", ("y",))[...] = np.linspace(-80, 80, 40)
        file.createVariable("flags", "i4", ("t", "y", "x"))[...] = np.arange(FIELD.size).reshape(FIELD.shape) % 7
        for name in ("rho", "u"):
            file.createVariable(name, "f4", ("t", "y", "x"), zlib=True)[...] = FIELD
    return tmp_path


def compressed(path):
    """The names of the datasets that are compressed with a bound; all must keep it, and all others must be exact."""
    names = []
    with h5py.File(path) as file:
        for name in ("rho", "u"):
            if is_compressed(file[name]):
                names.append(name)
                assert h5stz.STZ.from_dataset(file[name]).bound == BOUND
            assert exact.largest_error(FIELD, file[name][...], BOUND) <= 1
        assert np.array_equal(file["flags"][...].reshape(-1), np.arange(FIELD.size) % 7), "an integer is never changed"
        if "lat" in file and not is_compressed(file["lat"]):
            assert np.array_equal(file["lat"][...], np.linspace(-80, 80, 40))
    return names


@needs_programs("nccopy")
@pytest.mark.parametrize("variables", [["rho"], ["rho", "u"], []], ids=str)
def test_nccopy(capsys, netcdf, variables):
    words = [word for name in variables for word in ("--variable", name)]
    paste(lines(capsys, f"absolute={BOUND}", *words)["nccopy"], netcdf)
    assert compressed(netcdf / "OUT.nc") == (variables or ["rho", "u"])


@needs_programs("nccopy")
def test_the_line_that_leaves_coordinates_alone(capsys, netcdf):
    paste(lines(capsys, "--absolute", str(BOUND))["h5stz"], netcdf)
    assert compressed(netcdf / "OUT.nc") == ["rho", "u"]
    with h5py.File(netcdf / "OUT.nc") as file:
        assert not is_compressed(file["lat"]) and not is_compressed(file["flags"])


@needs_programs("h5repack")
@pytest.mark.parametrize("variables", [["rho"], ["rho", "u"], []], ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_h5repack(capsys, tmp_path, variables, full):
    with h5py.File(tmp_path / "IN.h5", "w") as file:
        for name, data in {"rho": FIELD, "u": FIELD, "flags": (np.arange(FIELD.size) % 7).reshape(FIELD.shape)}.items():
            file.create_dataset(name, data=data, chunks=(8, 40, 60))
    words = [word for name in variables for word in ("--variable", name)]
    words += ["--chunks", "8,40,60", "--dtype", "f4"] if full else []
    paste(lines(capsys, "--absolute", str(BOUND), *words)["h5repack"], tmp_path)
    assert compressed(tmp_path / "OUT.h5") == (variables or ["rho", "u"])


@needs("CDO 2.5 or newer", cdo_version() >= (2, 5))
@pytest.mark.parametrize("variables", [["rho"], []], ids=str)
def test_cdo(capsys, netcdf, variables):
    shown = lines(capsys, "--absolute", str(BOUND), *(word for name in variables for word in ("--variable", name)))
    paste(shown["cdo" if not variables else "printf"], netcdf)
    assert compressed(netcdf / "OUT.nc") == (variables or ["rho", "u"])


@needs("CDO from 2.1 to 2.3", (2, 1) <= cdo_version() <= (2, 3))
def test_cdo_without_filters(capsys, netcdf):
    """What the comment says of these versions: they refuse the line, and work under h5stz run --compress."""
    line = lines(capsys, "--absolute", str(BOUND))["cdo"]
    assert subprocess.run(["sh", "-c", line], cwd=netcdf, capture_output=True).returncode != 0
    paste(f"h5stz run --compress '/rho=absolute={BOUND}' -- cdo -f nc4 copy IN.nc OUT.nc", netcdf)
    with h5py.File(netcdf / "OUT.nc") as file:
        assert is_compressed(file["rho"]) and not is_compressed(file["u"])


def test_h5py_takes_the_words_in_full(capsys):
    """As a host does that the filter cannot ask: the words are those that set_local would have stored."""
    full = next(iter(lines(capsys, f"absolute={BOUND},append_axis=0", "--chunks", "8,40,60", "--dtype", "f4").values()))
    with h5py.File("x.h5", "w", driver="core", backing_store=False) as file:
        words = tuple(map(int, full.split(",")))
        dataset = file.create_dataset("x", data=FIELD, chunks=(8, 40, 60), compression=h5stz.FILTER_ID, compression_opts=words)
        assert client_data(dataset) == words


@needs_packages("xarray", "h5netcdf")
def test_saving_again_what_xarray_has_read(tmp_path):
    """The two lines of the README keep the compression; without them the file cannot be written."""
    import xarray

    encoding = {"rho": {**h5stz.STZ(absolute=BOUND), "chunksizes": (8, 40, 60)}}
    xarray.Dataset({"rho": (("t", "y", "x"), FIELD)}).to_netcdf(tmp_path / "a.nc", engine="h5netcdf", encoding=encoding)
    dataset = xarray.open_dataset(tmp_path / "a.nc", engine="h5netcdf").load()
    with h5py.File(tmp_path / "a.nc") as file:
        dataset["rho"].encoding.update(h5stz.STZ.from_dataset(file["rho"]))
        before = client_data(file["rho"])
    dataset.to_netcdf(tmp_path / "b.nc", engine="h5netcdf")
    with h5py.File(tmp_path / "b.nc") as file:
        assert client_data(file["rho"]) == before
        assert exact.largest_error(FIELD, file["rho"][...], 2 * BOUND) <= 1


def test_lines_are_words_of_a_shell(capsys):
    for line in lines(capsys, "--lossless").values():
        assert shlex.split(line)

"""Places where a command or a function cannot write: one sentence names the file as the user did, what is wrong, what to do."""

import contextlib
import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support import commands, interrupted
from support.fields import random_field
from support.requirements import needs_packages, needs_programs

FIELD = random_field((40, 50, 60), 4, 1).astype("f4")
#: Each command that writes a file, without the name of the file at the end.
COMMANDS = {
    "compress": ["compress", "source.h5", "--lossless"],
    "decompress": ["decompress", "packed.h5"],
    "salvage": ["salvage", "source.h5"],
    **{kind: ["extract", "source.h5", "-o"] for kind in ("x.npy", "x.h5")},
    "x.nc": ["extract", "source.h5", "-o"],
}
WRITERS = [pytest.param(name, marks=needs_packages("netCDF4") if name == "x.nc" else ()) for name in COMMANDS]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return interrupted.preload_library(tmp_path_factory.mktemp("library"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "place").mkdir()
    for name, values in (("source.h5", FIELD), ("other.h5", FIELD + 1)):
        with h5py.File(name, "w") as file:
            file.create_dataset("rho", data=values, chunks=(10, 50, 60))
    h5stz.repack("source.h5", "packed.h5", lossless=True)
    return tmp_path


def words(command, directory):
    return [*COMMANDS[command], f"{directory}/{command if '.' in command else 'out.h5'}"]


def said(capsys, command, directory):
    """The error of a command that is to write into a directory, after the name of the file that the user gave."""
    written = words(command, directory)
    assert cli.main(written) == 1
    errors = capsys.readouterr().err
    assert errors.startswith(f"h5stz: {written[-1]}: ") and errors.count("\n") == 1, errors
    assert ".part" not in errors and "Errno" not in errors and "h5py" not in errors and "source.h5" not in errors
    return errors


@pytest.mark.parametrize("command", ["x.h5", "salvage"])
@pytest.mark.parametrize("through", ["itself", "a link"])
def test_what_holds_a_part_never_replaces_its_source(folder, capsys, command, through):
    place = folder / "source.h5"
    if through == "a link":
        place = folder / "link.h5"
        place.symlink_to(folder / "source.h5")
    before = (folder / "source.h5").read_bytes()
    assert cli.main([*COMMANDS[command], str(place), "--overwrite"]) == 1
    assert f"{place} is the input file" in capsys.readouterr().err
    assert (folder / "source.h5").read_bytes() == before


@pytest.mark.parametrize("command", WRITERS)
def test_a_directory_that_is_not_there(folder, capsys, command):
    assert "there is no directory none/at all: create it first" in said(capsys, command, "none/at all")


@pytest.mark.parametrize("command", WRITERS)
def test_a_directory_that_is_a_file(folder, capsys, command):
    assert "other.h5 is not a directory (Not a directory): choose another place" in said(capsys, command, "other.h5")


@pytest.mark.parametrize("command", WRITERS)
@pytest.mark.parametrize(
    "number, what",
    [
        (
            30,
            "directory place, as its disk is read-only (Read-only file system): choose another place",
        ),
        (28, "the disk is full: make room, or name a file on another disk (No space left on device), and nothing was written"),
        (5, "it cannot be written (Input/output error): choose another place"),
    ],
)
def test_a_disk_that_takes_no_file(folder, capsys, monkeypatch, command, number, what):
    original = os.open

    def refuses(path, flags, *rest, **others):
        if flags & os.O_CREAT and "place" in os.fsdecode(path):
            raise OSError(number, os.strerror(number), path)
        return original(path, flags, *rest, **others)

    monkeypatch.setattr(os, "open", refuses)
    assert what in said(capsys, command, "place")
    assert not os.listdir("place")


@needs_programs("gcc")
@pytest.mark.parametrize("room", [0, 3000, 100000])
def test_a_disk_that_gets_full(library, folder, room):
    for command in COMMANDS:
        (folder / "place" / command).mkdir()
    there = [name for name in COMMANDS if name != "x.nc" or importlib.util.find_spec("netCDF4")]
    lines = [words(command, f"place/{command}") for command in there]
    variables = interrupted.environment(library, FAULTY_WRITES_UNDER=f"{folder}/place/", FAULTY_WRITES_ROOM=room)
    for command, written, done in zip(there, lines, commands.in_processes(lines, variables), strict=True):
        last = done.err.decode().splitlines()[-1]  # h5py prints what it could not close before
        assert done.status == 1 and last.startswith(f"h5stz: {written[-1]}: the disk is full: make room"), done
        assert [name for name in os.listdir(f"place/{command}") if name != ".out.h5.unfinished"] == []


@pytest.fixture
def open_folder(folder, monkeypatch):
    """What is in the folder, where any user may read it, beside a directory in which nobody but root may write."""
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        os.chmod(copy, 0o755)
        os.chmod(f"{copy}/place", 0o555)
        monkeypatch.chdir(copy)
        yield copy
        os.chmod(f"{copy}/place", 0o755)


@contextlib.contextmanager
def without_rights():
    """As a user who may not do what root may."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


@pytest.mark.parametrize("command", WRITERS)
def test_a_directory_that_may_not_be_written(open_folder, capsys, command):
    cli.main(words(command, open_folder))  # so that whatever is imported is
    capsys.readouterr()
    with without_rights():
        errors = said(capsys, command, "place")
    assert "no file can be created in the directory place (Permission denied): choose another place" in errors


READERS = {
    **{name: COMMANDS[name] + ["o.h5"] for name in ("compress", "decompress", "salvage")},
    "extract": [*COMMANDS["x.npy"], "o.npy"],
    "dry run": [*COMMANDS["compress"], "--dry-run"],
    "compare": ["compare", "other.h5", "source.h5"],
    "info": ["info", "source.h5"],
    "verify": ["verify", "source.h5"],
    "estimate": ["estimate", "source.h5"],
    "args": ["args", "--relative", "1e-3", "--data", "source.h5", "rho"],
}


@pytest.mark.parametrize("command", READERS)
def test_a_file_that_may_not_be_read(open_folder, capsys, command):
    given = ["source.h5" if word == "packed.h5" else word for word in READERS[command]]
    cli.main(given)
    capsys.readouterr()
    os.chmod("source.h5", 0o200)
    with without_rights():
        status = cli.main(given)
    errors = capsys.readouterr().err
    assert status == 1 and errors.count("\n") == 1, errors
    assert "source.h5: it may not be read (permission denied): ask its owner, or change its permissions" in errors


def test_new_files_have_the_mode_of_new_files(folder):
    before = os.umask(0o027)
    try:
        assert cli.main(["extract", "source.h5", "-o", "x.npy"]) == 0
        os.chmod("x.npy", 0o604)
        assert cli.main(["extract", "source.h5", "-o", "x.npy", "--overwrite"]) == 0
        assert cli.main(["extract", "source.h5", "-o", "y.npy"]) == 0
    finally:
        os.umask(before)
    assert [stat.S_IMODE(os.stat(name).st_mode) for name in ("x.npy", "y.npy")] == [0o604, 0o640]
    assert np.array_equal(np.load("x.npy"), FIELD)


def to_netcdf(path):
    xarray = pytest.importorskip("xarray", reason="needs Python package xarray")
    h5stz.to_netcdf(xarray.Dataset({"t": (("x", "y", "z"), FIELD)}), path, lossless=True)


def to_hdf5(path):
    array = pytest.importorskip("dask.array", reason="needs Python package dask").from_array(FIELD)
    h5stz.to_hdf5(array, path, "t", lossless=True, scheduler="synchronous")


@pytest.mark.parametrize("write", [to_netcdf, to_hdf5])
def test_functions(folder, write):
    with pytest.raises(FileNotFoundError) as caught:
        write("none/x.nc")
    assert str(caught.value) == "none/x.nc: there is no directory none: create it first"
    with pytest.raises(OSError) as caught:
        write(Path("other.h5/x.nc"))
    assert str(caught.value).startswith("other.h5/x.nc: other.h5 is not a directory")


@pytest.mark.slow
@needs_programs("gcc")
@pytest.mark.parametrize("room", [0, 100000])
@pytest.mark.parametrize("write", ["to_netcdf", "to_hdf5"])
def test_functions_on_a_disk_that_gets_full(library, folder, write, room):
    package = {"to_netcdf": "xarray", "to_hdf5": "dask"}[write]
    pytest.importorskip(package, reason=f"needs Python package {package}")
    variables = interrupted.environment(library, FAULTY_WRITES_UNDER=f"{folder}/place/", FAULTY_WRITES_ROOM=room)
    variables["PYTHONPATH"] = os.pathsep.join(sys.path)
    script = f"from tools.test_places_of_files import {write}\ntry:\n    {write}('place/x.nc')\nexcept OSError as error:\n"
    script += "    print(error, flush=True)\nimport os\nos._exit(0)"
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True)
    assert done.stdout.startswith("place/x.nc: the disk is full: make room"), done
    assert not os.listdir("place")

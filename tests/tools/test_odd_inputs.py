"""Inputs of commands that are no HDF5 files, or not whole ones: one line says which file, what it is, and what to do."""

import errno
import importlib
import json
import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support.fields import random_field
from support.odd_files import FILES
from support.requirements import needs_packages, needs_programs

FIELD = random_field((64, 64), 4, 1).astype("f4")
COMMANDS = {
    "compress": ["compress", "IN", "OUT", "--absolute", "1e-3"],
    "plan": ["compress", "IN", "--dry-run", "--absolute", "1e-3"],
    "decompress": ["decompress", "IN", "OUT"],
    "verify": ["verify", "IN"],
    "info": ["info", "IN"],
    "estimate": ["estimate", "IN", "--absolute", "1e-3"],
    "salvage": ["salvage", "IN", "OUT"],
    "compare": ["compare", "IN", "x.h5"],
    "extract": ["extract", "IN", "-o", "part.npy"],
    "args": ["args", "--relative", "1e-3", "--data", "IN", "/a"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with h5py.File("x.h5", "w") as file:
        file["a"] = FIELD
    return tmp_path


def run(capsys, name, command):
    """(exit status, output, errors) of one of COMMANDS with an input."""
    status = cli.main([name if word == "IN" else word for word in COMMANDS[command]])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def content_of(path):
    return (path / "x.h5").read_bytes()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", FILES)
def test_files_of_other_formats(folder, capsys, kind, command):
    make, what, cure, _ = FILES[kind]
    (folder / "odd.h5").write_bytes(make(content_of(folder)))
    if (kind, command) == ("npy", "compare"):  # which is read
        return
    status, out, errors = run(capsys, "odd.h5", command)
    if (kind, command) == ("cut", "salvage"):
        assert status == 1 and "7 bytes missing at the end" in out
        return
    assert (status, out) == (1, "") and errors.startswith("h5stz: ") and errors.count("\n") == 1
    assert "odd.h5: " in errors and what in errors and cure in errors and "synchronously" not in errors
    assert sorted(os.listdir()) == ["odd.h5", "x.h5"]


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_no_file(folder, capsys, command):
    (folder / "d").mkdir()
    (folder / "z.zarr").mkdir()
    (folder / "z.zarr/zarr.json").write_text("{}")
    os.mkfifo(folder / "pipe")
    for name, what in (
        ("d", "it is a directory: name an HDF5 file"),
        ("z.zarr", "it is a Zarr store: open it with zarr or xarray"),
        ("pipe", "it is a pipe: name an HDF5 file"),
        ("missing.h5", "no such file"),
        ("x.h5/y", "no such file"),
    ):
        if name == "pipe" and command == "compare":  # which opens what may be a .npy file
            continue
        status, out, errors = run(capsys, name, command)
        assert (status, out) == (1, "") and errors.count("\n") == 1
        assert f"{name}: {what}" in errors, errors
    if command in ("compress", "decompress", "salvage"):
        assert "addresses are not read here" in run(capsys, "https://example.org/x.h5", command)[2]


def test_files_that_a_program_writes(folder, capsys):
    script = "import h5py, sys\nfile = h5py.File('used.h5', 'w', libver='latest')\nprint(flush=True)\nsys.stdin.read()"
    words = [sys.executable, "-c", script]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder) as writer:
        writer.stdout.readline()
        found = {command: run(capsys, "used.h5", command) for command in COMMANDS}
        writer.stdin.close()
    for command, (status, _, errors) in found.items():
        assert status == 1 and errors.count("\n") == 1, command
        assert "used.h5: another program has it open for writing: wait until it is closed" in errors


def test_a_file_that_its_writer_did_not_close(folder, capsys):
    script = "import h5py, os\nfile = h5py.File('left.h5', 'w', libver='latest')\nfile['a'] = 1.0\nfile.flush()\nos._exit(0)"
    subprocess.run([sys.executable, "-c", script], check=True, cwd=folder)
    status, _, errors = run(capsys, "left.h5", "verify")
    assert status == 1 and "left.h5: a program has it open for writing, or ended without closing it" in errors
    assert "type h5clear -s left.h5" in errors


@needs_packages("netCDF4")
@needs_programs("nccopy")
def test_netcdf3_with_what_the_error_says(folder, capsys):
    netcdf = importlib.import_module("netCDF4")
    with netcdf.Dataset("classic.nc", "w", format="NETCDF3_CLASSIC") as made:
        made.createDimension("x", 64)
        made.createVariable("rho", "f4", ("x", "x"))[...] = FIELD
    _, _, errors = run(capsys, "classic.nc", "compress")
    (line,) = re.findall(r"nccopy .* OUT\.nc", errors)
    subprocess.run(line.split(), check=True)
    assert run(capsys, "OUT.nc", "compress")[0] == 0
    with h5py.File("OUT") as file:
        assert np.abs(file["rho"][...].astype("f8") - FIELD).max() <= 1e-3


def test_places_where_no_file_can_be_made(folder, capsys):
    (folder / "other.h5").write_bytes(b"")
    for target, what in (
        ("none/o.h5", "none/o.h5: there is no directory none: make it first"),
        ("x.h5/o.h5", "x.h5/o.h5: "),
        ("other.h5", "other.h5 exists: choose another name"),
        ("x.h5", "x.h5 "),  # exists, or is what salvage reads
    ):
        for words in (["compress", "x.h5", target, "--lossless"], ["decompress", "x.h5", target], ["salvage", "x.h5", target]):
            assert cli.main(words) == 1
            errors = capsys.readouterr().err
            assert errors.startswith(f"h5stz: {what}") and errors.count("\n") == 1 and ".part" not in errors


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_target_that_cannot_be_written_is_named(folder, capsys, monkeypatch, number):
    def fails(*_):
        part = next(name for name in os.listdir() if name.endswith(".part"))
        raise OSError(f"Can't write data (file write failed: filename = '{folder}/{part}', error = '{os.strerror(number)}')")

    monkeypatch.setattr("h5stz.files.repacking.copy_tree", fails)
    status, _, errors = run(capsys, "x.h5", "compress")
    assert status == 1 and errors.startswith("h5stz: OUT: ") and errors.count("\n") == 1
    assert os.strerror(number) in errors and ".part" not in errors and "h5py" not in errors


@pytest.mark.parametrize("chunks", ["0,3", "3,-3", "3,x", "3,3,3", "100000,100000"])
def test_chunks_that_cannot_be(folder, capsys, chunks):
    assert cli.main(["compress", "x.h5", "OUT", "--lossless", "--chunks", chunks]) == 1
    errors = capsys.readouterr().err
    assert "h5py" not in errors and "chunk" in errors and errors.count("\n") == 1
    with pytest.raises(h5stz.StzError, match="rechunk="):
        h5stz.repack("x.h5", "OUT", lossless=True, rechunk=(0, 3))


def test_estimate_says_why_nothing_is_compressed(folder, capsys):
    h5stz.repack("x.h5", "packed.h5", absolute=1e-3)
    status, _, errors = run(capsys, "packed.h5", "estimate")
    assert status == 1 and "packed.h5: /a: has a lossy filter already" in errors
    with h5py.File("x.h5", "a") as file:
        file["time"] = np.arange(9)
    status, out, _ = run(capsys, "x.h5", "estimate")
    assert status == 0 and "/time: not estimated, as compress leaves it as it is (less than 4096 bytes)" in out
    assert cli.main(["estimate", "x.h5", "--absolute", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["skipped"] == [{"path": "/time", "reason": "small"}]


@pytest.mark.parametrize("command", ["info", "estimate"])
def test_every_dataset_of_odd_files(folder, capsys, command):
    """Links of kinds that HDF5 does not know, names that are no UTF-8, dense groups, and types that NumPy has not."""
    with h5py.File("odd.h5", "w", libver="latest", track_order=True) as file:
        for number in range(20):
            file.create_dataset(f"dense/{number}", data=FIELD, **h5stz.STZ(absolute=1e-3), chunks=FIELD.shape)
        file["a"] = FIELD
        odd = h5py.h5d.create(file.id, b"odd\xff", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(FIELD.shape))
        odd.write(h5py.h5s.ALL, h5py.h5s.ALL, FIELD)
        opaque = h5py.h5t.create(h5py.h5t.OPAQUE, 5)
        opaque.set_tag(b"odd")
        h5py.h5d.create(file.id, b"opaque", opaque, h5py.h5s.create_simple((9,)))
        file["out"] = h5py.ExternalLink("x.h5", "a")
    words = ["info", "odd.h5", "--all"] if command == "info" else ["estimate", "odd.h5", "--absolute", "1e-3"]
    assert cli.main(words) == 0
    out = capsys.readouterr().out
    assert "/odd\\udcff" in out and "/opaque" in out and "/dense/19" in out and "/a" in out and "/out" not in out
    one = ["info", "odd.h5", os.fsdecode(b"odd\xff")] if command == "info" else ["estimate", os.fsdecode(b"odd.h5::odd\xff")]
    assert cli.main(one) == 0
    assert "/odd\\udcff" in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_the_process_reads(folder, capsys, command):
    with h5py.File("x.h5") as file:
        assert run(capsys, "x.h5", command)[0] == 0
        assert np.array_equal(file["a"], FIELD)

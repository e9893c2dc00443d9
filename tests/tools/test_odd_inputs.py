"""Inputs of commands that are no HDF5 files, or not whole ones: one line says which file, what it is, and what to do."""

import importlib
import json
import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import h5stz
from h5stz import cli
from h5stz.hdf5 import classic_header
from support import interrupted
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
    if (kind, command) == ("npy", "compare") or kind == "netCDF-3":  # which are read
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
        assert "this needs a local file" in run(capsys, "https://example.org/x.h5", command)[2]


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


def netcdf3(name, model):
    """A netCDF-3 file with what such files have: an axis that grows, fill values, text, a scalar, bytes that are not ASCII."""
    netcdf = importlib.import_module("netCDF4")
    with netcdf.Dataset(name, "w", format=model) as made:
        for dimension, length in (("time", None), ("y", 64), ("x", 64), ("s", 5)):
            made.createDimension(dimension, length)
        made.title, made.numbers = "t\u00e9st", np.float32([1, 2])
        rho = made.createVariable("rho", "f4", ("time", "y", "x"), fill_value=-9.0)
        rho.units, rho.scale_factor = "\u00b0C", np.float32(0.5)
        rho.set_auto_maskandscale(False)
        rho[0:3] = np.stack([FIELD, FIELD + 1, FIELD])
        made.createVariable("label", "S1", ("y", "s"))[:] = np.full((64, 5), b"q")
        made.createVariable("k", "f8", ())[...] = 3.5
        made.createVariable("nothing", "i2", ("y",))
        if model == "NETCDF3_64BIT_DATA":
            made.createVariable("large", "u8", ("y",))[:] = np.uint64(2**63) + np.arange(64, dtype="u8")


def header(path):
    """What ncdump tells of a file, without its name."""
    return subprocess.run(["ncdump", path], capture_output=True, check=True).stdout.split(b"\n", 1)[1]


@needs_packages("netCDF4")
@needs_programs("ncdump")
@pytest.mark.parametrize("model", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_netcdf3(folder, capsys, model):
    netcdf3("classic.nc", model)
    assert cli.main(["compress", "classic.nc", "out.nc", "--dataset", "/rho=absolute:1e-3"]) == 0
    said = capsys.readouterr().out
    assert "/rho: 49152 -> " in said and "note: the source is a netCDF-3 file, the new one is a netCDF-4 file" in said
    assert cli.main(["compress", "classic.nc", "exact.nc", "--lossless"]) == 0
    capsys.readouterr()
    assert cli.main(["decompress", "exact.nc", "plain.nc"]) == 0
    assert header("plain.nc") == header("classic.nc")
    with h5py.File("out.nc") as file:
        assert h5stz.STZ.from_dataset(file["rho"]).bound == 1e-3
        assert np.abs(file["rho"][1].astype("f8") - (FIELD + 1)).max() <= 1e-3
    for command, what in (
        ("plan", "/rho: would be compressed"),
        ("verify", "datasets, none compressed with h5stz"),
        ("info", "datasets, none compressed with h5stz"),
        ("estimate", "/rho"),
        ("compare", "/rho: only in classic.nc"),
        ("decompress", "nothing was compressed with h5stz"),
    ):
        status, out, errors = run(capsys, "classic.nc", command)
        assert status == (command == "compare") and what in out, (out, errors)
    (folder / "OUT").unlink()
    for command in ("salvage", "extract"):
        status, _, errors = run(capsys, "classic.nc", command)
        assert status == 1 and "it is a netCDF-3 file: h5stz compress makes" in errors and "nccopy -k nc4" in errors


@needs_packages("netCDF4")
@needs_programs("gcc")
@pytest.mark.parametrize("room", [0, 30000])
def test_netcdf3_without_room_for_its_copy(folder, capsys, room):
    netcdf3("classic.nc", "NETCDF3_CLASSIC")
    (folder / "temporary").mkdir()
    library = interrupted.preload_library(folder)
    variables = interrupted.environment(
        library, TMPDIR="temporary", FAULTY_WRITES_UNDER=f"{folder}/temporary/h5stz-", FAULTY_WRITES_ROOM=room
    )
    words = [sys.executable, "-m", "h5stz", *COMMANDS["compress"]]
    done = subprocess.run(
        ["classic.nc" if word == "IN" else word for word in words], env=variables, capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert (
        done.stderr.startswith("h5stz: classic.nc: a netCDF-3 file is read through a copy") and "HDF error" not in done.stderr
    )
    size = os.path.getsize("classic.nc")
    assert re.search(rf"temporary, needs about {size + 65536} free bytes \(No space left on device\)", done.stderr)
    assert "set TMPDIR to a directory on another disk" in done.stderr and not os.listdir("temporary")


def test_netcdf3_without_netcdf4(folder, capsys, monkeypatch):
    (folder / "classic.nc").write_bytes(b"CDF\x01" + bytes(100))
    monkeypatch.setitem(sys.modules, "netCDF4", None)
    for command in ("compress", "plan", "decompress", "verify", "info", "estimate", "compare"):
        status, _, errors = run(capsys, "classic.nc", command)
        assert status == 1 and errors.count("\n") == 1
        assert "classic.nc: it is a netCDF-3 file, which is read through netCDF4: pip install netCDF4, or convert" in errors


READ_NETCDF3 = ("compress", "plan", "decompress", "verify", "info", "estimate", "compare", "salvage")


@needs_packages("netCDF4")
@pytest.mark.parametrize("command", READ_NETCDF3)
def test_netcdf3_with_a_damaged_header(folder, capsys, command):
    """It is the header, whatever netCDF says; salvage does not advise to compress it."""
    netcdf3("whole.nc", "NETCDF3_CLASSIC")
    whole = (folder / "whole.nc").read_bytes()
    names, kinds = whole.index(b"rho"), whole.index(b"time")
    for content in (
        b"CDF\x01" + bytes(range(200)),
        whole[:names] + b"r/o" + whole[names + 3 :],
        whole[:kinds] + b"\0ime" + whole[kinds + 4 :],
        whole[:8] + b"\0\0\0\x7f" + whole[12:],
    ):
        (folder / "classic.nc").write_bytes(content)
        status, out, errors = run(capsys, "classic.nc", command)
        assert (status, out) == (1, "") and errors.count("\n") == 1
        assert "classic.nc: the header of this netCDF-3 file is damaged (netCDF says: " in errors, errors
        assert "Get it again, or from a copy" in errors and "compress" not in errors.partition("salvage")[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_netcdf3_that_ends_in_its_header(folder, capsys, command):
    made = b"CDF\x01" + bytes(4) + b"\0\0\0\x0a\0\0\0\1\0\0\0\4time\0\0\0\5"
    for size in (4, 7, 12, 20, 30):
        (folder / "classic.nc").write_bytes(made[:size])
        status, out, errors = run(capsys, "classic.nc", command)
        assert (status, out) == (1, "") and errors.count("\n") == 1
        assert "classic.nc: this netCDF-3 file was cut short, or its header is damaged: it ends in the header" in errors, errors
        assert f"after {min(size, 28)} bytes. Get it again" in errors


@needs_packages("netCDF4")
@pytest.mark.parametrize("model", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"])
def test_netcdf3_that_was_cut_short(folder, capsys, model):
    """netCDF reads zeros past the end."""
    netcdf3("classic.nc", model)
    whole = (folder / "classic.nc").read_bytes()
    for length in (len(whole) - 4, len(whole) // 2, 1000):
        (folder / "classic.nc").write_bytes(whole[:length])
        for command in ("compress", "plan", "decompress", "verify", "info", "estimate", "compare"):
            status, _, errors = run(capsys, "classic.nc", command)
            assert status == 1 and errors.count("\n") == 1
            assert f"classic.nc: this netCDF-3 file was cut short: it has {length} of " in errors and "Get it again" in errors


@needs_packages("netCDF4")
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_length_of_netcdf3_files_is_what_netcdf_writes(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("netcdf3") / "x.nc"
    models = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
    with importlib.import_module("netCDF4").Dataset(path, "w", format=data.draw(st.sampled_from(models))) as made:
        if data.draw(st.booleans()):
            made.set_fill_off()
        made.createDimension("t", None)
        for number, length in enumerate(data.draw(st.lists(st.integers(1, 9), max_size=3))):
            made.createDimension(f"d{number}", length)
        made.setncattr("texts", "\u00e9" * data.draw(st.integers(1, 5)))
        axes = (
            st.lists(st.sampled_from(sorted(set(made.dimensions) - {"t"})), unique=True)
            if len(made.dimensions) > 1
            else st.just([])
        )
        records = data.draw(st.integers(0, 4))
        kinds = st.sampled_from(["i1", "i2", "i4", "f4", "f8"])
        for number, (kind, names, grows) in enumerate(data.draw(st.lists(st.tuples(kinds, axes, st.booleans()), max_size=5))):
            variable = made.createVariable(f"v{number}", kind, (["t"] if grows else []) + names)
            shape = [records if name == "t" else len(made.dimensions[name]) for name in variable.dimensions]
            if 0 not in shape and data.draw(st.booleans()):
                variable[...] = np.ones(shape, kind)
    there, stated = path.stat().st_size, classic_header.stated_bytes(path)
    assert stated == 0 or stated <= there <= stated + 3


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
    assert status == 1 and "packed.h5: /a: already compressed with a lossy filter" in errors
    with h5py.File("x.h5", "a") as file:
        file["time"] = np.arange(9)
    status, out, _ = run(capsys, "x.h5", "estimate")
    assert status == 0 and "/time: not estimated, as compress copies it unchanged (less than 4096 bytes)" in out
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

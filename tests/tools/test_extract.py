"""`h5stz extract` and h5stz.extract(): what other programs read has the samples and the coordinates of the dataset."""

import json
import re
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support import host_tools
from support.damaged_files import with_bytes_changed
from support.fields import random_field
from support.range_servers import Server
from support.requirements import needs_packages

FIELD = random_field((20, 31, 40), 4, 1).astype("f4")


@pytest.fixture
def file(tmp_path):
    """A file with a compressed dataset that has scales."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as made:
        t = made.create_dataset("flow/T", data=FIELD, chunks=FIELD.shape, **h5stz.STZ(absolute=1e-3))
        t.attrs["units"], t.attrs["_FillValue"], t.attrs["of"] = "K", np.float32(-999), np.array([1, 2])
        for axis, name in enumerate(("time", "lat", "lon")):
            scale = made.create_dataset(f"flow/{name}", data=10.0 + 0.5 * np.arange(FIELD.shape[axis]))
            scale.make_scale(name)
            scale.attrs["units"] = f"of {name}"
            t.dims[axis].attach_scale(scale)
        made["plain"], made["half"] = FIELD, FIELD.astype("f2")
        made["complex"] = FIELD.astype("c8")
    return path


def run(capsys, *words):
    status = cli.main(["extract", *map(str, words)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def stored(file):
    with h5py.File(file) as opened:
        return opened["flow/T"][...]


@pytest.mark.parametrize(
    "words, index",
    [
        ([], np.s_[...]),
        (["--region", "0:10,:,5"], np.s_[0:10, :, 5]),
        (["--region", "[-3, 4:20:3, ...]"], np.s_[-3, 4:20:3, :]),
        (["--level", "1"], np.s_[::2, ::2, ::2]),
        (["--level", "2", "--axes", "1,2", "--region", "3:7,:,10:30"], np.s_[3:7, ::4, 12:30:4]),
    ],
    ids=str,
)
def test_npy(words, index, file, stored, tmp_path, capsys):
    status, out, _ = run(capsys, f"{file}::/flow/T", *words, "-o", tmp_path / "x.npy")
    assert status == 0 and "/flow/T, float32" in out
    assert np.array_equal(np.load(tmp_path / "x.npy"), stored[index])


def test_only_what_is_needed_is_read(file, tmp_path, capsys):
    shown = json.loads(run(capsys, f"{file}::flow/T", "--level", "2", "-o", tmp_path / "x.npy", "--json")[1])
    with h5py.File(file) as opened:
        assert shown["bytes_read"] < opened["flow/T"].id.get_storage_size() / 3
    assert shown["shape"] == [5, 8, 10]


@needs_packages("netCDF4", "xarray")
@pytest.mark.parametrize("ending", ["nc", "h5"])
def test_coordinates(ending, file, stored, tmp_path, capsys):
    import xarray

    words = ["--region", "4,:,10:30", "--level", "1", "--axes", "1,2", "-o", tmp_path / f"x.{ending}"]
    assert run(capsys, f"{file}::/flow/T", *words)[0] == 0
    group = None if ending == "nc" else "flow"
    engine = "netcdf4" if ending == "nc" else "h5netcdf"
    with xarray.open_dataset(tmp_path / f"x.{ending}", group=group, engine=engine) as made:
        assert made["T"].dims == ("lat", "lon") and made["T"].attrs["units"] == "K"
        assert np.array_equal(made["T"].values, stored[4, ::2, 10:30:2])
        assert np.array_equal(made["lon"].values, 10 + 0.5 * np.arange(10, 30, 2))
        assert made["lat"].attrs["units"] == "of lat" and made["T"].encoding["_FillValue"] == -999


@pytest.fixture(params=["chunk", "header", "index"])
def damaged(request, file, stored):
    """The file, of which the scale of axis 1 is damaged: a chunk of its values, its header, or its index."""
    with h5py.File(file, "r+") as opened:
        opened["flow/T"].dims[1].detach_scale(opened["flow/lat"])
        del opened["flow/lat"]
        scale = opened.create_dataset("flow/lat", data=np.arange(31.0), chunks=(8,), compression="gzip", fletcher32=True)
        scale.make_scale("lat")
        opened["flow/T"].dims[1].attach_scale(scale)
        place, header = scale.id.get_chunk_info_by_coord((8,)), h5py.h5o.get_info(scale.id).addr
    content = file.read_bytes()
    chunk, index = range(place.byte_offset + 3, place.byte_offset + 9), content.rindex(b"TREE\1")
    places = {"chunk": chunk, "header": [header], "index": [index]}
    with_bytes_changed(file, places[request.param])
    return file


@pytest.mark.parametrize("ending", ["h5", pytest.param("nc", marks=needs_packages("netCDF4"))])
def test_a_damaged_scale_costs_its_coordinate_only(ending, damaged, stored, tmp_path, capsys):
    """The samples and the other coordinates are written, and the coordinate that is missing is told."""
    path = tmp_path / f"x.{ending}"
    status, out, errors = run(capsys, f"{damaged}::/flow/T", "--region", "3:9", "-o", path)
    assert status == 1 and f"{path}: /flow/T, float32 6x31x40" in out, errors
    assert errors.startswith("h5stz: the coordinates of axis 1 of /flow/T are left out: ") and errors.count("\n") == 1
    assert f"{damaged}" in errors and "get the file again" in errors
    with h5py.File(path) as made:
        group = made["flow"] if ending == "h5" else made
        assert np.array_equal(group["T"][...], stored[3:9])
        assert np.array_equal(group["time"][...], 10 + 0.5 * np.arange(3, 9)) and group["lon"].shape == (40,)
        assert "lat" not in group or not group["lat"].attrs.get("NAME", b"").startswith(b"lat")
    shown = json.loads(run(capsys, f"{damaged}::/flow/T", "-o", path, "--overwrite", "--json")[1])
    assert len(shown["left_out"]) == 1
    with h5py.File(damaged) as opened, pytest.warns(h5stz.DamageWarning, match="coordinates of axis 1 of /flow/T are left out"):
        assert h5stz.extract(opened["flow/T"], path, overwrite=True).left_out


def test_scales_are_not_read_where_they_are_not_written(damaged, tmp_path, capsys):
    status, _, errors = run(capsys, f"{damaged}::/flow/T", "-o", tmp_path / "x.npy")
    assert (status, errors) == (0, "")


def test_a_list_of_scales_that_cannot_be_read(file, stored, tmp_path, capsys):
    """It is in the global heap; labels of axes are too."""
    with h5py.File(file, "r+") as opened:
        opened["flow/T"].dims[0].label = "t"
    content = file.read_bytes()
    with_bytes_changed(file, [at.start() for at in re.finditer(b"GCOL", content)])
    status, _, errors = run(capsys, f"{file}::/flow/T", "-o", tmp_path / "x.h5")
    assert status == 1 and errors.count("the coordinates of axis") == errors.count("\n") == 3 and "get the file again" in errors
    with h5py.File(tmp_path / "x.h5") as made:
        assert np.array_equal(made["flow/T"][...], stored) and list(made["flow"]) == ["T"]


@pytest.mark.parametrize(
    "dataset, words, text",
    [
        ("flow/T", ["-o", "x.txt"], "ends with .npy"),
        ("flow/T", ["-o", "x.npy", "--region", "99"], "out of"),
        ("flow/T", ["-o", "x.npy", "--level", "1", "--region", "0:9:2"], "steps"),
        ("flow/T", ["-o", "x.npy", "--region", "a:b"], "'a:b' is not an index. /flow/T has the shape "),
        ("flow/T", ["-o", "x.npy", "--axes", "7", "--level", "1"], "axes"),
        ("complex", ["-o", "x.nc"], "netCDF cannot store complex64"),
        ("half", ["-o", "x.nc"], "netCDF cannot store float16"),
        ("flow", ["-o", "x.npy"], "is not a dataset"),
        ("nothing", ["-o", "x.npy"], "nothing"),
        ("flow/T", ["-o", "there.npy"], "--overwrite"),
    ],
    ids=str,
)
def test_errors(dataset, words, text, file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.npy").write_bytes(b"kept")
    before = sorted(each.name for each in tmp_path.iterdir())
    status, out, errors = run(capsys, f"{file}::{dataset}", *words)
    assert status in (1, 2) and out == "" and text in errors and errors.count("\n") == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == before and (tmp_path / "there.npy").read_bytes() == b"kept"


@needs_packages("fsspec", "aiohttp")
def test_a_remote_file(file, stored, tmp_path):
    """In a process of its own, as threads of fsspec outlive the test."""
    with Server({"a.h5": file.read_bytes()}) as server:
        words = [f"{server.url}/a.h5::/flow/T", "--region", "3", "-o", tmp_path / "x.npy"]
        host_tools.run(sys.executable, "-m", "h5stz", "extract", *words)
    assert np.array_equal(np.load(tmp_path / "x.npy"), stored[3])


def test_views(file, stored, tmp_path):
    with h5py.File(file) as opened:
        view = h5stz.view(opened["flow/T"])
        done = h5stz.extract(view, tmp_path / "x.npy", region=np.s_[2:4], level=1, axes=(-1,))
        assert done.shape == (2, 31, 20) and np.array_equal(np.load(tmp_path / "x.npy"), stored[2:4, :, ::2])
        with pytest.raises(h5stz.StzError, match="is a coarse level"):
            h5stz.extract(view.level(1), tmp_path / "y.npy")

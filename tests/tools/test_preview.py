"""`h5stz preview`: the plane that is asked for, from a coarse level, as a PNG file and in a terminal."""

import json
import os
import pty
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from h5stz.analysis import previewing
from support.requirements import needs_packages


@pytest.fixture
def file(tmp_path):
    """A large smooth field that rises along the last axis, with missing samples in a corner."""
    z, y, x = np.mgrid[:32, :200, :300]
    field = (x / 300 + 0.001 * np.sin(y / 9) * np.cos(z / 5)).astype("f4")
    field[:, :40, :60] = -999
    with h5py.File(tmp_path / "a.h5", "w") as made:
        options = h5stz.STZ(absolute=1e-4, fill_value=-999, dtype="f4")
        made.create_dataset("T", data=field, chunks=field.shape, **options).attrs["_FillValue"] = np.float32(-999)
        made["line"], made["text"], made["none"] = np.arange(50.0), b"x", np.full((9, 9), np.nan)
        made["cube"] = np.arange(27).reshape(3, 3, 3)
    return tmp_path / "a.h5"


def run(capsys, *words):
    status = cli.main(["preview", *map(str, words)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_planes(file):
    with h5py.File(file) as opened:
        whole = opened["T"][...]
        found = previewing.plane(opened["T"], slices={0: 6, -1: 10})
        assert found.values.shape == (1, 200) and found.axes[1] == 1
        found = previewing.plane(opened["T"], slices={1: 101}, level=2)
        assert found.axes == (0, 2) and found.extent == (32, 300)
        expected = whole[::4, 100, ::4]
        assert np.array_equal(found.values, expected) and found.title == "/T, axis 1 at 100, level 2"
        found = previewing.plane(opened["T"], most=100)
        assert found.level == 2 and np.isnan(found.values[:10, :15]).all() and np.isfinite(found.values[10:]).all()
        assert found.low > -1 and previewing.plane(opened["cube"]).values.tolist() == opened["cube"][1].tolist()


@needs_packages("matplotlib")
def test_a_png_file(file, tmp_path, capsys):
    from matplotlib.image import imread

    status, out, _ = run(capsys, f"{file}::T", "--slice", "0=3", "-o", tmp_path / "x.png")
    assert status == 0 and f"in {tmp_path / 'x.png'}" in out and out.count("\n") == 1, "no picture where nobody sees it"
    picture = imread(tmp_path / "x.png")
    assert picture.shape[0] > 300 and picture.shape[1] > 500
    colours = np.unique((picture[..., :3] * 255).astype("u1").reshape(-1, 3), axis=0)
    assert len(colours) > 100 and (191, 191, 191) in map(tuple, colours.tolist()), "the colours, and grey for what is missing"


def test_characters_where_there_is_no_terminal(file, capsys):
    status, out, _ = run(capsys, f"{file}::T", "--width", "40")
    rows = out.splitlines()
    assert status == 0 and rows[-1].startswith("/T, axis 0 at 16, level 2: ")
    assert rows[0].startswith("?" * 7) and all(len(row) == 40 for row in rows[:-1])
    last = rows[-2]
    assert [" .:-=+*#%@".index(each) for each in last] == sorted(" .:-=+*#%@".index(each) for each in last)
    assert json.loads(run(capsys, f"{file}::T", "--json")[1])["low"] > -1


@needs_packages("matplotlib")
def test_colours_in_a_terminal(file):
    """Half blocks: grey for what is missing, and green that grows from left to right, as of the map."""
    mine, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": "60", "LINES": "40"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "h5stz", "preview", f"{file}::T", "--width", "30"]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=environment) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(mine, 1 << 16):
                parts.append(part)
        except OSError:  # how Linux says that the other end is closed
            pass
        assert process.wait() == 0, process.stderr.read()
    os.close(mine)
    rows = b"".join(parts).decode().splitlines()
    cells = [re.findall(r"38;2;(\d+);(\d+);(\d+);48;2;\d+;\d+;\d+m(▀+)", row) for row in rows]
    assert cells[0][0][:3] == ("191", "191", "191")
    green = [int(cell[1]) for cell in cells[-2] for _ in cell[3]]
    assert len(green) == 30 and green == sorted(green) and green[-1] > 200


@pytest.mark.parametrize(
    "words, text",
    [
        (["T", "--slice", "5=1"], "there is no axis 5"),
        (["T", "--slice", "0=99"], "index 99 is out of range"),
        (["T", "--slice", "x"], "axis=index"),
        (["text"], "needs numbers"),
        (["none"], "valid number"),
        (["line", "--slice", "0=1"], "leave an axis"),
    ],
    ids=str,
)
def test_errors(words, text, file, capsys):
    name, *others = words
    status, out, errors = run(capsys, f"{file}::{name}", *others)
    assert status in (1, 2) and out == "" and text in errors and errors.count("\n") == 1

"""`plan_repack` and `h5stz compress --dry-run` say what `repack` then does, and write nothing."""

import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import Rule
from support.damaged_files import with_bytes_changed
from support.fields import random_field

FIELD = random_field((40, 50, 60), 4, 1).astype("f4")


@pytest.fixture
def source(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["group/field"] = FIELD
        file.create_dataset("chunked", data=FIELD, chunks=(2, 50, 60), compression="gzip")
        file.create_dataset("good", data=np.tile(FIELD, (2, 1, 1)), chunks=(40, 50, 60))
        file["line"], file["text"] = np.arange(5000.0), "a text"
        file["nothing"] = h5py.Empty("f4")
    return tmp_path / "a.h5"


@pytest.mark.parametrize("rules", [[], [Rule("/good", None)], [Rule("line", {"lossless": True})]], ids=str)
def test_what_is_planned_is_what_is_done(source, tmp_path, rules):
    planned = {each.path: each for each in h5stz.plan_repack(source, rules, relative=1e-3)}
    assert os.listdir(tmp_path) == ["a.h5"]
    done = h5stz.repack(source, tmp_path / "b.h5", rules, relative=1e-3)
    assert planned.keys() == {each.path for each in done.outcomes}
    with h5py.File(tmp_path / "b.h5") as made, h5py.File(source) as before:
        for each in done.outcomes:
            plan = planned[each.path]
            assert (plan.reason, plan.options, plan.array_bytes, plan.before) == (
                each.reason,
                each.options,
                each.array_bytes,
                each.before,
            )
            assert made[each.path].chunks == (plan.new_chunks or plan.chunks) and before[each.path].chunks == plan.chunks
            assert plan.shape == made[each.path].shape and plan.dtype == str(made[each.path].dtype)


def test_wrong_calls(source):
    for options, message in (({}, "bound"), ({"absolute": -1}, "absolute"), ({"absolute": 1, "rechunk": (3,)}, "axes of /")):
        with pytest.raises(h5stz.StzError, match=message):
            h5stz.plan_repack(source, **options)
    with pytest.raises(TypeError, match="absolute"):
        h5stz.plan_repack(source, absolut=1)


def command(*words):
    return subprocess.run([sys.executable, "-m", "h5stz", "compress", *map(str, words)], capture_output=True, text=True)


def test_the_command(source, tmp_path):
    done = command(source, "--absolute", "0.01", "--dry-run", "--dataset", "good=none")
    assert (done.returncode, done.stderr) == (0, "")
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if line.startswith("/"))
    assert lines["/good"] == "would be copied unchanged (no rule matches it)" and "1-D" in lines["/line"]
    chunks = "chunks 40x50x60 instead of 2x50x60, 480000 bytes"
    assert lines["/chunked"].startswith(f"would be compressed: absolute=0.01, {chunks}")
    assert "40x50x60 (contiguous now)" in lines["/group/field"]
    assert done.stdout.splitlines()[-1].startswith("2 of 6 datasets would be compressed: ")
    shown = json.loads(command(source, tmp_path / "b.h5", "--absolute", "0.01", "--dry-run", "--json").stdout)
    assert {each["path"]: each["reason"] for each in shown["datasets"]}["/nothing"] is not None
    assert os.listdir(tmp_path) == ["a.h5"]
    done = command(source, "--absolute", "0.01")
    assert (done.returncode, done.stderr) == (2, "h5stz: Missing argument 'OUT'. See h5stz compress --help\n")


@pytest.mark.parametrize("others", [["T K"], [], ["T [K]x", "a/T [K]"]], ids=str)
def test_a_rule_that_is_a_path_means_that_dataset(tmp_path, others):
    """Names with units in brackets: as a pattern of the shell, [K] would be K."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name in ["T [K]", "p [hPa]", *others]:
            file[name] = FIELD
    rules = [Rule("/T [K]", {"absolute": 1e-3}), Rule("/p [hPa]", {"lossless": True})]
    done = h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", rules)
    compressed = {each.path: each.options for each in done.outcomes if each.reason is None}
    assert compressed == {"/T [K]": "absolute=0.001", "/p [hPa]": "lossless"}
    assert h5stz.unpack(tmp_path / "b.h5", tmp_path / "c.h5", dataset="/T [K]")[0] == ["/T [K]"]


def test_one_letter_in_brackets_is_no_set(tmp_path):
    """Not even in a file without the dataset whose path the rule is."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["T K"], file["T[K"], file["x1"], file["x2"] = FIELD, FIELD, FIELD, FIELD
    with pytest.raises(h5stz.StzError, match="no dataset has a path like"):
        h5stz.plan_repack(tmp_path / "a.h5", [Rule("/T [K]", {"absolute": 1e-3})])
    for pattern, named in (("/T[[]K", {"/T[K"}), ("/x[12]", {"/x1", "/x2"}), ("*[!2]", {"/T K", "/T[K", "/x1"})):
        planned = h5stz.plan_repack(tmp_path / "a.h5", [Rule(pattern, {"absolute": 1e-3})])
        assert {each.path for each in planned if each.reason is None} == named


def test_types_that_the_filter_refuses_stay_by_plan_and_run(tmp_path):
    bits = h5py.h5t.STD_U16LE.copy()
    bits.set_precision(14)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, kind in ((b"bits", bits), (b"time", h5py.h5t.UNIX_D32LE), (b"field of bits", h5py.h5t.STD_B8BE)):
            h5py.h5d.create(file.id, name, kind, h5py.h5s.create_simple((64, 64)))
        file["field"] = FIELD
    planned = {each.path: each.reason for each in h5stz.plan_repack(tmp_path / "a.h5", absolute=1e-3)}
    done = h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", absolute=1e-3)
    stay = {"/bits": "type", "/time": "type", "/field of bits": "type"}
    assert planned == {each.path: each.reason for each in done.outcomes} == {**stay, "/field": None}
    command = [sys.executable, "-m", "h5stz", "compare", tmp_path / "a.h5", tmp_path / "b.h5"]
    compared = subprocess.run(command, capture_output=True, text=True)
    assert compared.returncode == 0 and compared.stdout.count("not compared") == 2, compared


BOUNDS = ("--relative", "1e-2"), ("--ratio", "2", "--chunks", "8,50,60")


@pytest.mark.slow
@pytest.mark.parametrize("bound", BOUNDS, ids=" ".join)
def test_a_dry_run_goes_on_where_compress_would_end(source, tmp_path, bound):
    """A chunk that its filter cannot decode, a dataset whose header is damaged, and one that no bound makes so small."""
    with h5py.File(source, "r+") as file:
        file.create_dataset("a", data=FIELD, chunks=(8, 50, 60), compression="gzip", fletcher32=True)
        file["noise"] = FIELD[:8]
        place = file["a"].id.get_chunk_info_by_coord((16, 0, 0))
        header = h5py.h5o.get_info(file["good"].id).addr
    with_bytes_changed(source, [*range(place.byte_offset + 9, place.byte_offset + 15), header])
    done = command(source, *bound, "--dry-run", "--dataset", "/noise=ratio:1e7")
    lines = done.stdout.splitlines()
    assert done.returncode == 1 and done.stderr.count("\n") == 3, done.stderr
    for text in ("the chunk at (16, 0, 0) of /a in", "/good of", "/noise: --ratio 1e+07 cannot be met"):
        assert text in done.stderr
    assert {line.partition(":")[0] for line in lines[:-2]} == {"/chunked", "/group/field", "/line", "/text", "/nothing"}
    assert (
        "/group/field: would be compressed" in done.stdout and lines[-1] == "compress would write nothing, because of 3 errors"
    )
    shown = json.loads(command(source, *bound, "--dry-run", "--dataset", "/noise=ratio:1e7", "--json").stdout)
    assert {each["path"] for each in shown["failed"]} == {"/a", "/good", "/noise"} and len(shown["datasets"]) == 5
    assert command(source, tmp_path / "b.h5", *bound).returncode == 1 and os.listdir(tmp_path) == ["a.h5"]
    with pytest.raises(ValueError, match=r"/good of .* cannot be read"):
        h5stz.plan_repack(source, relative=1e-2)


def test_data_without_a_range_are_stored_without_loss_under_psnr(tmp_path):
    """They have no PSNR, but the other datasets of the file have; without loss they take no more bytes than with any bound."""
    exact = {
        "constant": np.full((40, 50), 7, "f4"),
        "zero": np.zeros((40, 50)),
        "filled": np.where(FIELD[0] > 0, 5, -999).astype("f4").repeat(40).reshape(50, 60, 40),
        "nothing": np.full((40, 50), np.nan),
        "complex": np.full((40, 50), 1 + 1j, "c8"),
    }
    huge = np.where(FIELD > 0, 1.7e308, -1.7e308)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["field"], file["huge"], file["parts"] = FIELD, huge, np.full((40, 50), 1 + 2j, "c8")  # 1 and 2 are a range
        for name, array in exact.items():
            file[name] = array
        file["filled"].attrs["_FillValue"] = np.float32(-999)
    options = {"psnr": 60, "effort": 3, "enhance": True}
    planned = {each.path: each for each in h5stz.plan_repack(tmp_path / "a.h5", **options)}
    report = h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", **options)
    for each in report.outcomes:
        plan, is_exact = planned[each.path], each.path[1:] in exact
        assert (plan.options, plan.reason, plan.note) == (each.options, each.reason, each.note)
        assert each.note == ("no range" if is_exact else None) and each.reason == ("range" if each.path == "/huge" else None)
        assert each.options.startswith("lossless,") == is_exact and (each.largest_error > 0) == (each.path == "/field")
        assert ("effort=3" in each.options) == (each.reason is None)
    with h5py.File(tmp_path / "b.h5") as made:
        for name, array in exact.items():
            assert made[name][...].tobytes() == array.tobytes()
        assert np.array_equal(made["parts"][...], np.full((40, 50), 1 + 2j, "c8"))
        assert 60 <= h5stz.compare(FIELD, made["field"]).psnr <= 60.7
    why = "(psnr is undefined: its valid numbers are all equal, or there are none)"
    done = command(tmp_path / "a.h5", tmp_path / "c.h5", "--psnr", "60", "--layers", "2")
    assert done.returncode == 0 and done.stdout.count(why) == len(exact), done.stderr
    assert any(line.startswith("/constant: 8000 -> ") and f", lossless {why}, " in line for line in done.stdout.splitlines())
    done = command(tmp_path / "a.h5", "--psnr", "60", "--dry-run")
    assert done.returncode == 0 and f"/zero: would be compressed: lossless {why}, chunks 40x50" in done.stdout
    with pytest.raises(h5stz.StzError, match="psnr= is undefined for constant data"):
        h5stz.STZ(psnr=60, data=exact["constant"])

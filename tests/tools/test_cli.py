"""The command line: what it prints can be pasted, and errors are one line."""

import json
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from h5stz.options import arguments
from support import cases, commands, fields
from support.patched_streams import Patch, compose, record
from support.requirements import needs_packages


def run(capsys, *words):
    """(exit status, output, errors) of the command line in this process."""
    status = cli.main([str(word) for word in words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def printed_lines(capsys, *words):
    """The lines of `h5stz args` by program, without the comment."""
    status, out, _ = run(capsys, "args", *words)
    assert status == 0
    lines = [line for line in out.splitlines() if not line.startswith("#")]
    programs = ["h5repack", "nccopy", "cdo"] + ["run"] * ("--variable" not in words)
    return dict(zip(["full"] * ("--chunks" in words) + programs, lines, strict=True))


def test_plugin_path(capsys):
    assert run(capsys, "plugin-path") == (0, h5stz.plugin_path() + "\n", "")
    assert os.path.exists(os.path.join(h5stz.plugin_path(), "libh5stz.so"))


@pytest.mark.parametrize(
    "command", [["-m", "h5stz"], [os.path.join(os.path.dirname(sys.executable), "h5stz")]], ids=["module", "script"]
)
def test_both_ways_to_start(command):
    command = [sys.executable, *command, "plugin-path"]
    assert subprocess.run(command, text=True, capture_output=True, check=True).stdout == h5stz.plugin_path() + "\n"


def test_args(capsys):
    lines = printed_lines(capsys, "--absolute", "1e-3")
    assert lines["h5repack"] == "h5repack -f 'UD=34765,0,4,102,1,1,3' IN.h5 OUT.h5"
    assert lines["nccopy"] == "nccopy -F none IN.nc plain.nc && nccopy -F '*,34765,102,1,1,3' plain.nc OUT.nc"
    assert lines["cdo"] == "cdo -f nc4 --filter '34765,102,1,1,3' copy IN.nc OUT.nc"
    assert lines["run"] == "h5stz run --compress '/*=absolute=0.001' -- nccopy -k nc4 -F none IN.nc OUT.nc"
    assert printed_lines(capsys, "absolute=1e-3") == lines, "the options as text"


def test_args_for_one_variable(capsys):
    lines = printed_lines(capsys, "--lossless", "--variable", "rho")
    assert lines["h5repack"] == "h5repack -f 'rho:UD=34765,0,2,101,0' IN.h5 OUT.h5"
    assert "-F 'rho,34765,101,0'" in lines["nccopy"]
    assert 'rho="34765,101,0"' in lines["cdo"] and "setfilter,filename=filter.txt" in lines["cdo"]


def test_args_for_several_variables(capsys):
    lines = printed_lines(capsys, "--lossless", "--variable", "rho", "--variable", "u")
    assert lines["h5repack"] == "h5repack -f 'rho,u:UD=34765,0,2,101,0' IN.h5 OUT.h5"
    assert "nccopy -F 'rho,34765,101,0' -F 'u,34765,101,0' plain.nc OUT.nc" in lines["nccopy"]
    assert lines["cdo"].startswith("""printf '%s\\n' 'rho="34765,101,0"' 'u="34765,101,0"' > filter.txt""")


def test_args_in_full(capsys):
    lines = printed_lines(capsys, "--absolute", "0.5", "--chunks", "8,40", "--dtype", ">f4", "--append-axis", "0")
    assert lines["full"] == "103,1,0,1071644672,134217728,0,0,0,131330,8,40"
    assert lines["h5repack"] == f"h5repack -f 'UD=34765,0,11,{lines['full']}' IN.h5 OUT.h5"
    assert printed_lines(capsys, "--absolute", "0.5", "--chunks", "8x40", "--dtype", ">f4", "--append-axis", "0") == lines
    meaning = h5stz._core.parse(tuple(map(int, lines["full"].split(","))))
    assert (meaning["shape"], meaning["byte_order"], meaning["append_axis"]) == ((8, 40), 1, 1)
    integers = printed_lines(capsys, "--absolute", "3", "--chunks", "9", "--dtype", "i4", "--integers", "lossy")["full"]
    assert integers == "103,1,0,1074266112,1048576,0,0,0,65544,9"


def test_args_for_fill_values(capsys):
    lines = printed_lines(capsys, "--absolute", "0.5", "--fill-value", "-9999", "--dtype", "f4")
    assert "'/*=absolute=0.5,fill_value=-9999'" in lines["run"]


@pytest.mark.parametrize(
    "options",
    [
        {"absolute": 1e-3},
        {"absolute": 0.1234567890123},
        {"absolute": 5e-324},
        {"absolute": 4.0e9},
        {"absolute": 12345e20},
        {"absolute": 0},
        {"pointwise_relative": 0.05, "block": "region"},
        {"lossless": True},
        {"lossless": True, "threads": 4},
        {"absolute": 0.5, "fill_value": -9999, "dtype": "f4"},
    ],
    ids=str,
)
def test_the_integer_words_mean_the_same(options):
    words = h5stz.cd_values(**options)
    assert h5stz._core.parse(arguments.integer_words(words)) == h5stz._core.parse(words)


def test_args_with_the_range_of_a_dataset(capsys, tmp_path):
    array = fields.random_field((30, 40), 3, 1)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a/b"] = array
    status, out, _ = run(capsys, "args", "--relative", "1e-3", "--data", tmp_path / "x.h5", "a/b")
    assert status == 0
    assert f"# {h5stz.STZ(relative=1e-3, data=array)!r} for relative=0.001" in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["args"],
            "--absolute, --relative with --data, --psnr with --data, --ratio with --data, --pointwise-relative and",
        ),
        (["args", "--absolute", "-1"], "--absolute -1.0 must be a finite number that is zero or more (--lossless keeps"),
        (["args", "--relative", "0.1"], "--relative 0.1, --data FILE DATASET"),
        (["args", "--lossless", "--threads", "0"], "--threads 0 must be"),
        (["args", "--absolute", "1", "--fill-value", "3"], "--fill-value 3 needs the type: give --data or --dtype"),
        (["args", "--absolute", "1", "--dtype", "nonsense"], "nonsense"),
        (["args", "--absolute", "1", "--chunks", "4,5"], "--chunks needs the type too: give --dtype or --data"),
        (["args", "--absolute", "1", "--append-axis", "31"], "--append-axis 31 must be"),
        (["args", "absolut=1"], "'absolut' is not an option"),
        (["args", "absolute=1", "--threads", "2"], "either as text or as arguments"),
        (["info", "/nonexistent.h5"], "nonexistent"),
    ],
)
def test_errors_are_one_line_and_a_status(capsys, words, text):
    status, out, errors = run(capsys, *words)
    assert (status, out) == (1, "")
    assert text in errors and errors.count("\n") == 1


def test_a_fill_value_that_is_not_clear_is_asked_for_in_the_words_of_the_command_line(capsys, tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = np.r_[np.linspace(0, 500, 900), [-999.0] * 100]
        file.create_group("group")
    words = ["args", "--relative", "1e-3", "--data", tmp_path / "x.h5"]
    status, _, errors = run(capsys, *words, "x")
    assert status == 1 and "--fill-value -999.0 if it marks" in errors and "--fill-value none if every number is data" in errors
    assert run(capsys, *words, "x", "--fill-value", "none")[0] == 0
    status, _, errors = run(capsys, *words, "group")
    assert status == 1 and errors.startswith("h5stz: group is not a dataset of ") and "it is a group" in errors


@pytest.mark.parametrize("words", [["info", "--help"], ["plugin-path"]], ids=str)
def test_a_reader_of_the_output_that_has_ended_is_no_error(words):
    """As with `| head`: nothing on standard error, neither now nor when the interpreter ends."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "h5stz", *words]
    with os.fdopen(writing, "w") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize("name", ["two words", "it's", 'quo"ted', "$(touch owned)", "back\\slash", "a;b&c"])
def test_names_of_variables_are_quoted(capsys, tmp_path, name):
    """A shell takes every line apart into the words that were meant."""
    lines = printed_lines(capsys, "--lossless", "--variable", name)
    assert shlex.split(lines["h5repack"])[2] == f"{name}:UD=34765,0,2,101,0"
    assert shlex.split(lines["nccopy"])[-3] == f"{name},34765,101,0"
    subprocess.run(["sh", "-c", lines["cdo"].rsplit("; cdo", 1)[0]], cwd=tmp_path, check=True)
    assert (tmp_path / "filter.txt").read_text() == f'{name}="34765,101,0"\n'
    assert os.listdir(tmp_path) == ["filter.txt"]


@pytest.fixture
def file(tmp_path):
    """A file with a compressed dataset, one with a fill value and a plain one."""
    path = tmp_path / "x.h5"
    array = fields.random_field((40, 50), 4, 1).astype("f4")
    with h5py.File(path, "w") as opened:
        opened.create_dataset("a/rho", data=array, chunks=(16, 20), **h5stz.STZ(absolute=1e-3))
        marked = np.where(array > 0, -999, array)
        opened.create_dataset("marked", data=marked, chunks=(40, 50), **h5stz.STZ(pointwise_relative=0.25, data=marked))
        opened["plain"] = array
    return path


def test_info(capsys, file):
    status, out, _ = run(capsys, "info", file)
    assert status == 0
    assert "/a/rho: float32 40x50" in out and "absolute 0.001" in out and "16x20, 9 stored" in out
    assert "pointwise_relative 0.25" in out and "fill value: -999.0" in out
    with h5py.File(file) as opened:
        stored = opened["a/rho"].id.get_storage_size()
    assert f"8000 -> {stored} bytes, ratio {8000 / stored:.2f}" in out
    assert "plain" not in out


def test_info_of_one_dataset(capsys, file):
    _, out, _ = run(capsys, "info", file, "marked")
    assert "/marked" in out and "rho" not in out
    _, out, _ = run(capsys, "info", file, "plain")
    assert "not compressed with h5stz" in out
    for name in ("nothing", "a"):
        status, _, errors = run(capsys, "info", file, name)
        assert status == 1 and name in errors and errors.count("\n") == 1


def test_info_of_chunks_that_were_written_again(capsys, tmp_path):
    frames = fields.random_field((8, 20, 30), 4, 1).astype("f4")
    base, frame = h5stz.compress(frames, absolute=1e-3), h5stz.compress(frames[:1], absolute=1e-3)
    patches = [Patch((k, 0, 0), (1, 20, 30), frame) for k in (3, 5)]
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", (32, 20, 30), "f4", chunks=(8, 20, 30), **h5stz.STZ(absolute=1e-3))
        dataset[...] = np.tile(frames, (4, 1, 1))
        file.flush()
        dataset.id.write_direct_chunk((8, 0, 0), compose(base, patches))
        accumulated = record(6, np.float64(0.003).tobytes())
        dataset.id.write_direct_chunk((16, 0, 0), compose(base, patches[:1], records=accumulated))
        exact = compose(h5stz.compress(frames, lossless=True), patches[:1], records=record(8))
        dataset.id.write_direct_chunk((24, 0, 0), exact)
    _, out, _ = run(capsys, "info", tmp_path / "x.h5")
    assert "rewritten in part: 3 chunks, 4 patches\n" in out
    assert "stored losslessly, as the bound was used before: 1 chunk\n" in out
    assert "accumulated bound: 0.003, with those of earlier compressions: 1 chunk\n" in out


def test_info_of_a_series_that_ends_within_a_chunk(capsys, tmp_path):
    frames = fields.random_field((20, 20, 30), 4, 1).astype("f4")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        options = h5stz.STZ(absolute=1e-3, append_axis=0)
        dataset = file.create_dataset("x", (0, 20, 30), "f4", maxshape=(None, 20, 30), chunks=(8, 20, 30), **options)
        for k, frame in enumerate(frames):
            dataset.resize(k + 1, axis=0)
            dataset[k] = frame
    _, out, _ = run(capsys, "info", tmp_path / "x.h5")
    assert "grows along axis 0\n" in out
    assert "stored losslessly, as the last plane along the append axis has a single value: 1 chunk\n" in out


def test_info_of_chunks_of_few_values(capsys, tmp_path):
    values = np.sort(np.random.default_rng(1).normal(size=30)).astype("f4")
    ranks = np.rint(14.5 + 14 * np.sin(np.arange(6000) / 300)).astype(int).reshape(60, 100)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=values[ranks], chunks=(30, 100), **h5stz.STZ(absolute=1e-5))
        file.create_dataset("exact", data=values[ranks], chunks=(30, 100), **h5stz.STZ(lossless=True))
    _, out, _ = run(capsys, "info", tmp_path / "x.h5", "x")
    assert "stored losslessly, as this is shorter for few distinct values: 2 chunks\n" in out
    _, out, _ = run(capsys, "info", tmp_path / "x.h5", "exact")
    assert "stored exactly" not in out


def test_doctor(capsys):
    status, out, _ = run(capsys, "doctor")
    assert status == 0
    for fact in (h5stz.__version__, h5py.version.hdf5_version, h5stz.plugin_path(), "within the bound"):
        assert fact in out
    _, out, _ = run(capsys, "doctor", "--json")
    assert 0 < json.loads(out)["round_trip_error"] <= 1e-3, "samples that came back as they were never met the filter"


def report(status=0, **variables):
    """What `h5stz doctor --report` prints with these variables."""
    done = commands.run("doctor", "--report", **variables)
    assert done.status == status, done.err
    return done.out


def test_the_report_has_what_an_issue_needs():
    """Every line is an item of a Markdown list whose value is code."""
    out = report(H5STZ_THREADS="3", HDF5_USE_FILE_LOCKING="a `b` | c\nd", UNRELATED="secret")
    for fact in (h5stz.__version__, h5py.__version__, h5py.version.hdf5_version, np.__version__, platform.platform()):
        assert fact in out
    for line in ("H5STZ_THREADS=3", "HDF5_USE_FILE_LOCKING=a 'b' | c d"):
        assert f"\n  - `{line}`\n" in out
    assert re.search(r"^- CPU: `.+, .+ threads: .+`$", out, re.MULTILINE) and "largest error" in out and "hdf5plugin" in out
    assert all(re.fullmatch(r"- [\w ,-]+:( `[^`]+`)?|  - `[^`]+`", line) for line in out.splitlines())
    assert "secret" not in out


def test_the_report_names_neither_the_home_folder_nor_the_user(tmp_path, monkeypatch):
    home, user = Path(h5stz.__file__).parents[2], "somebody"
    path = f"{home}/plugins:{home}er/x:/scratch/{user}/{user}s/y"
    monkeypatch.setattr("h5stz.hdf5.registration.variable_at_import", lambda: path)
    out = report(HOME=str(home), LOGNAME=user)
    assert f"HDF5_PLUGIN_PATH=~/plugins:{home}er/x:/scratch/USER/{user}s/y`" in out
    assert f"`~/{Path(h5stz.plugin_path()).relative_to(home)}`" in out and f"{home}/" not in out
    (tmp_path / "link").symlink_to(home)
    assert f"{home}/" not in report(HOME=str(tmp_path / "link"))
    assert "/plugins`" in report(HOME="/")


def test_the_report_of_a_filter_that_fails():
    """It is needed most then: everything is printed, with the reason, before the command ends with status 1."""
    out = report(status=1, H5STZ_MAX_BYTES="1")
    assert "round trip through HDF5: `failed: " in out and "H5STZ_MAX_BYTES=1`" in out


@needs_packages("netCDF4", "tables")
def test_doctor_on_what_the_shell_and_other_packages_find(capsys, monkeypatch):
    """What `import h5stz` exports is no merit of the shell's."""
    monkeypatch.setenv("HDF5_PLUGIN_PATH", "/what/the/import/exported")
    for told in (False, True):
        monkeypatch.setattr(
            "h5stz.hdf5.registration.variable_at_import", lambda told=told: h5stz.plugin_path() if told else None
        )
        _, out, _ = run(capsys, "doctor")
        assert ("HDF5_PLUGIN_PATH: names it" in out) == told
        assert out.count(": has the filter") >= 3 and "does not find the filter" not in out
    monkeypatch.undo()
    variables = {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    program = "import h5stz; from h5stz.hdf5 import registration; print(registration.variable_at_import())"
    words = [sys.executable, "-c", program]
    assert subprocess.run(words, env=variables, capture_output=True, text=True, check=True).stdout == "None\n"


def test_ratios_of_nothing(capsys, tmp_path):
    """A dataset of which no chunk is stored has no ratio, and does not count for that of all."""
    array = cases.make("smooth", (100, 100), "f4")
    with h5py.File(tmp_path / "a.h5", "w") as made:
        made.create_dataset("chunked", (1000, 1000), "f4", chunks=(100, 100), fillvalue=-1)
        made.create_dataset("contiguous", (1000, 1000), "f4")
        made["x"] = array
    names = [str(tmp_path / "a.h5"), str(tmp_path / "b.h5")]
    assert cli.main(["compress", *names, "--absolute", "1e-3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("/chunked: 4000000 -> 0 bytes, nothing is stored, absolute=0.001")
    assert lines[1].startswith("/contiguous: 4000000 -> 0 bytes, nothing is stored, absolute=0.001")
    ratio = lines[2].split(", ")[1]
    assert re.fullmatch(r"ratio \d+\.\d\d", ratio)
    assert cli.main(["info", names[1]]) == 0
    shown = capsys.readouterr().out
    assert shown.count("size: 4000000 -> 0 bytes, nothing is stored\n") == 2
    assert shown.splitlines()[0].endswith(f"shown: 40000 -> {shown.partition('shown: 40000 -> ')[2].split()[0]} bytes, {ratio}")
    assert cli.main(["estimate", names[0], "--absolute", "1e-3"]) == 0
    shown = capsys.readouterr().out
    assert (
        "/chunked: not estimated, as nothing is stored of it\n/contiguous: not estimated, as nothing is stored of it\n" in shown
    )
    assert cli.main(["estimate", f"{names[0]}::/chunked"]) == 1
    assert "there is nothing to estimate in" in capsys.readouterr().err


@pytest.mark.parametrize("maxshape", [None, (None, 1000), (None, None)], ids=str)
@pytest.mark.parametrize("again", [False, True], ids=["chunks", "other chunks"])
def test_the_ratio_is_that_of_what_is_stored(capsys, tmp_path, maxshape, again):
    """Of chunks that were never written nothing was compressed. Those at the edge count as far as the dataset reaches."""
    path, field = tmp_path / "a.h5", np.random.default_rng(1).normal(size=(90, 90)).astype("f4")
    with h5py.File(path, "w", libver="latest" if maxshape else None) as file:
        some = file.create_dataset("some", (1000, 1000), "f4", chunks=(100, 100), maxshape=maxshape)
        edge = file.create_dataset("edge", (130, 1030), "f4", chunks=(100, 100), maxshape=maxshape and (None, None))
        some[200:290, 300:390], edge[40:, 960:] = field, field[:, :70]
        file.create_dataset("all", data=np.tile(field, (2, 2)), chunks=(90, 90))
    chunks = ("--chunks", "50,50") if again else ("--chunks", "keep")
    done = run(capsys, "compress", path, tmp_path / "b.h5", "--absolute", "1e-3", *chunks)[1]
    shown = run(capsys, "info", tmp_path / "b.h5")[1]
    facts = json.loads(run(capsys, "info", tmp_path / "b.h5", "--json")[1])["files"][0]["datasets"]
    written = {"/all": 4 * 180 * 180, "/edge": 4 * 130 * 130, "/some": 4 * 100 * 100}
    assert {each["path"]: each["written_bytes"] for each in facts} == written
    for each in facts:
        ratio = f"ratio {written[each['path']] / each['stored_bytes']:.2f}"
        part = "" if each["path"] == "/all" else f" of the {written[each['path']]} bytes in stored chunks"
        size = f"{each['array_bytes']} -> {each['stored_bytes']} bytes, {ratio}{part}"
        assert f"{each['path']}: {size}, absolute=0.001, " in done and f"size: {size}\n" in shown
        assert each["ratio"] == written[each["path"]] / each["stored_bytes"] < 8
    sums = [sum(each[name] for each in facts) for name in ("array_bytes", "stored_bytes")]
    total = sum(written.values())
    ratio = f"ratio {total / sums[1]:.2f} of the {total} bytes in stored chunks"
    assert f"3 datasets, shown: {sums[0]} -> {sums[1]} bytes, {ratio}\n" in shown

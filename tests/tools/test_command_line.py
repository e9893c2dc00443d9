"""What holds for all commands: words that are not understood, completion in shells, output that nobody reads, quick starts."""

import json
import os
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from h5stz.programs import compress_rules
from support.fields import random_field
from support.requirements import needs_programs, require

H5STZ = (sys.executable, "-m", "h5stz")
FIELD = random_field((40, 50), 4, 1).astype("f4")


def run(capsys, *words):
    """(exit status, output, errors) of the command line in this process."""
    status = cli.main([str(word) for word in words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def file(tmp_path):
    """A file with a compressed dataset and a plain one."""
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as made:
        made.create_dataset("a/rho", data=FIELD, chunks=(20, 25), **h5stz.STZ(absolute=1e-3, content_check=True))
        made["plain"] = FIELD
    return path


@pytest.mark.parametrize(
    "words, text",
    [
        (["--json", "info", "x.h5"], "--json is an option of info: write h5stz info ... --json. See h5stz --help"),
        (["--nothing", "info", "x.h5"], "No such option"),
        (["estimate", "a.h5", "--relative", "0.x%"], "'0.x%' is no percentage: write it as 0.1%"),
        (["comprss"], "No such command 'comprss'"),
        (["compress"], "Missing argument 'IN'. See h5stz compress --help"),
        (["compress", "a.h5", "b.h5", "--absolut", "1"], "No such option"),
        (["compress", "a.h5", "b.h5", "--absolute", "x"], "'x' is not a valid float"),
        (["args", "--block", "x"], "'--block'"),
        (["args", "--keep-zeros=true"], "Option '--keep-zeros' does not take a value. See"),
        (["args", "--chunks", "4,x"], "'4,x' is not a chunk shape such as 8,256,256"),
        (["run", "--cache", "0", "--", "true"], "'0' is not a number of MiB"),
        (["run", "--dry-run", "--", "true"], "No such option --dry-run: compress has it. See h5stz run --help"),
        (["args", "absolute=1", "--jobs", "3"], "No such option --jobs: compress, estimate have it. See h5stz args"),
        (
            ["extract", "a.h5", "/x", "-o", "b.npy"],
            "/x is one word too many: a dataset is named together with its file",
        ),
        (["compress", "a", "b", "--keep-zeros", "true"], "true is more than compress takes: --keep-zeros has no value. See"),
        (["salvage", "a", "b", "c"], "c is more than salvage takes. See h5stz salvage --help"),
        (["salvage", "a", "b", "--on-error", "zero"], "'zero' is no value: give nan, fill or a number. See h5stz"),
        (["compress", "a.h5", "b.h5", "--max-error", "x"], "'x' is no error. See h5stz compress --help"),
    ],
    ids=str,
)
def test_words_that_are_not_understood(capsys, words, text):
    status, out, errors = run(capsys, *words)
    assert (status, out) == (2, "") and text in errors and errors.startswith("h5stz: ") and errors.count("\n") == 1


#: Options that cannot be, alone or together, and what the error says.
WRONG_OPTIONS = {
    "--absolute=-1": "--absolute -1.0 must be a finite number",
    "--relative=nan": "--relative nan must be a finite number",
    "--psnr=0": "--psnr 0 dB would allow errors as large as the range: give a greater one",
    "--ratio=1": "--ratio 1 must be above 1",
    "--pointwise-relative=2": "--pointwise-relative 2.0 must be below 1",
    "--absolute=1 --relative=1": "two bounds are given, --absolute and --relative: give one of them, and --dataset GLOB=BOUND",
    "--lossless --psnr=9": "two bounds are given, --psnr and --lossless: give one of them",
    "--absolute=1 --effort=11": "--effort 11 must be 1 to 9",
    "--relative=1 --layers=9": "--layers 9 must be 1 to 7",
    "--relative=1e-3 --enhance=auto": "--enhance auto needs --psnr or --ratio; with --relative say --enhance 'strict'",
    "--psnr=50 --enhance=both --layers=2": "with --layers only --enhance 'strict' is possible",
    "--absolute=1 --jobs=0": "--jobs 0 must be 1 to 4096",
    "--absolute=1 --chunks=3": "--chunks (3,) does not have the 2 axes of /",
    "--dataset=/plain=absolute:-1": "/plain: --absolute -1.0 must be",
    "--dataset=/nothing=absolute:1": "no dataset has a path like '/nothing': there are /",
    "--dataset=/plain=absolute:x": "is not a number: give one, such as absolute:1e-3",
    "--dataset=/plain=absolute:1%": "is not a number: give one, such as absolute:1e-3",
    "--dataset=/plain=relative": "relative: is not a number: give one, such as relative:1e-3 or relative:0.1%",
}


@pytest.mark.parametrize("options", WRONG_OPTIONS)
def test_options_are_checked_before_out(capsys, file, tmp_path, options):
    (tmp_path / "there.h5").write_bytes(b"kept")
    status, out, errors = run(capsys, "compress", file, tmp_path / "there.h5", "--again", *options.split())
    assert (status, out) == (1, "") and errors.count("\n") == 1
    assert WRONG_OPTIONS[options] in errors, errors
    assert "exists" not in errors and sorted(os.listdir(tmp_path)) == ["there.h5", "x.h5"]


@pytest.mark.parametrize(
    "words, text",
    [
        (["decompress", "--deflate", "77"], "--deflate 77 must be"),
        (["salvage", "--threads", "0"], "--threads 0 must be"),
    ],
)
def test_options_of_others_are_checked_before_out(capsys, file, tmp_path, words, text):
    (tmp_path / "there.h5").write_bytes(b"kept")
    status, _, errors = run(capsys, words[0], file, tmp_path / "there.h5", *words[1:])
    assert status == 1 and text in errors and "exists" not in errors


def test_extract_checks_its_options_before_out(capsys, file, tmp_path):
    (tmp_path / "there.h5").write_bytes(b"kept")
    for options in (["--level", "99"], ["--axes", "7", "--level", "1"], ["--region", "99"]):
        status, _, errors = run(capsys, "extract", f"{file}::/plain", "-o", tmp_path / "there.h5", *options)
        assert status == 1 and "exists" not in errors and options[1] in errors


@pytest.mark.parametrize("rule", ["/plain=relative:1%", "/plain=relative:1e-2"])
def test_shares_in_rules_may_be_percentages(capsys, file, rule):
    out = run(capsys, "compress", file, "--dry-run", "--dataset", rule)[1]
    assert out == run(capsys, "compress", file, "--dry-run", "--dataset", "/plain=relative:0.01")[1]


def test_point_wise_shares_in_rules_may_be_percentages(capsys, file):
    for rule in ("/plain=pointwise_relative:1%", "/plain=pointwise-relative:0.01"):
        assert "pointwise_relative=0.01" in run(capsys, "compress", file, "--dry-run", "--dataset", rule)[1]
    rules = [compress_rules.parse(f"/a=pointwise_relative{sign}1%,block=region") for sign in ":="]
    assert [rule.options for rule in rules] == [f"pointwise_relative{sign}0.01,block=region" for sign in ":="]


def test_no_words_ask_for_help(capsys):
    assert run(capsys) == run(capsys, "--help")


@pytest.mark.parametrize("option", ["--relative", "--pointwise-relative"])
def test_shares_may_be_percentages(capsys, file, option):
    found = [run(capsys, "estimate", f"{file}::/plain", option, number, "--json") for number in ("0.1%", "1e-3")]
    assert [status for status, _, _ in found] == [0, 0]
    bounds = [[line["bound"] for line in json.loads(out)["datasets"]] for _, out, _ in found]
    assert bounds[0] == bounds[1] and bounds[0][0] > 0


@pytest.mark.parametrize("words", [("compress", "--absolute", "1e-3"), ("decompress",), ("salvage",)], ids=str)
def test_a_directory_as_out_gets_a_file_of_the_same_name(capsys, file, tmp_path, words):
    (tmp_path / "made").mkdir()
    for target in (tmp_path / "made", f"{tmp_path / 'made'}{os.sep}"):
        command, *options = words
        status, _, errors = run(capsys, command, file, target, *options)
        if str(target).endswith(os.sep):
            assert status == 1 and "made/x.h5 exists: choose another name" in errors
        else:
            assert status == 0 and os.listdir(tmp_path / "made") == ["x.h5"], errors
    assert run(capsys, words[0], file, file.parent, *words[1:])[0] == 1, "it would be the source itself"


def test_run_says_what_hdf5_reads_alone(file):
    program = f"import h5py; h5py.File({str(file)!r})['a/rho'][0, 0]"
    done = subprocess.run([*H5STZ, "run", "--stats", "--", sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0 and "1 read, 1 of them by HDF5 alone" in done.stderr and "HDF5 alone reads" in done.stderr


def test_help(capsys):
    """Every command is imported for it, has a line, and has help of its own under both names."""
    status, out, _ = run(capsys, "--help")
    assert status == 0
    for name in [*cli._COMMANDS, *cli._ALIASES]:
        assert name in cli._ALIASES or f"\n  {name} " in out
        status, text, _ = run(capsys, name, "-h")
        assert status == 0 and text.startswith("Usage: ") and text == run(capsys, name, "--help")[1]
    assert run(capsys, "--version") == (0, f"{h5stz.__version__}\n", "")


def completions(words, last):
    """What bash is told to propose for the last word of a line."""
    line = [*words, last]
    variables = {cli.COMPLETION: "bash_complete", "COMP_WORDS": " ".join(line), "COMP_CWORD": str(len(line) - 1)}
    return subprocess.run(H5STZ, env=os.environ | variables, text=True, capture_output=True, check=True).stdout.split()


def test_completions():
    assert set(completions(["h5stz"], "de")) == {"plain,decompress"}
    assert {"plain,--relative", "plain,--overwrite"} <= set(completions(["h5stz", "compress"], "--"))
    assert completions(["h5stz", "args", "--block"], "r") == ["plain,region"]
    assert completions(["h5stz", "compress"], "x") == ["file,x"]


def test_the_script_for_bash_in_bash(tmp_path):
    """As a user has it: the TAB key asks the function that the script defines."""
    require(needs_programs("bash"))
    (tmp_path / "h5stz").write_text(f'#!/bin/sh\nexec {sys.executable} -m h5stz "$@"\n')
    (tmp_path / "h5stz").chmod(0o755)
    asked = """
eval "$(_H5STZ_COMPLETE=bash_source h5stz)"
COMP_WORDS=(h5stz ver) COMP_CWORD=1
_h5stz_completion h5stz ver h5stz
echo "${COMPREPLY[@]}"
"""
    variables = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", asked], env=variables, text=True, capture_output=True)
    assert (done.stdout, done.stderr) == ("verify\n", "")


def test_ctrl_c():
    words = ["run", "--", sys.executable, "-c", "import os, signal; os.kill(os.getppid(), signal.SIGINT); signal.pause()"]
    # shells start what is in the background with the signal ignored, which children inherit
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = subprocess.run([*H5STZ, *words], text=True, capture_output=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "h5stz: interrupted\n")


def test_modules_that_a_command_does_not_need_are_not_loaded():
    """Starting must be quick: a shell asks at every press of the TAB key."""
    code = "import sys; from h5stz import cli; cli.main(['plugin-path']); print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True).stdout.split())
    assert "h5stz.cli.paths" in loaded
    assert not loaded & {"rich", "xarray", "dask", "h5stz.cli.compress", "h5stz.cli.info", "netCDF4"}


def on_terminal(*words):
    """(what a terminal on standard error gets, standard output) of a command."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    variables = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen([*H5STZ, *map(str, words)], stdout=subprocess.PIPE, stderr=theirs, env=variables) as process:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # as the other end of a terminal is told on Linux
            pass
        out = process.stdout.read().decode()
    os.close(ours)
    assert process.returncode == 0, shown
    return shown.decode(), out


@pytest.mark.parametrize(
    "words",
    [
        ["compress", "IN", "OUT", "--absolute", "1e-3"],
        ["decompress", "IN", "OUT"],
        ["verify", "IN"],
        ["compare", "IN", "IN"],
    ],
    ids=lambda x: x[0],
)
def test_progress_is_shown_on_a_terminal_only(capsys, file, tmp_path, words):
    words = [{"IN": file, "OUT": tmp_path / "b.h5"}.get(word, word) for word in words]
    shown, out = on_terminal(*words)
    assert "kB" in shown and "/s" in shown and "0:00:00" in shown and "\x1b" in shown and "\x1b" not in out
    (tmp_path / "b.h5").unlink(missing_ok=True)
    assert run(capsys, *words) == (0, out, "")


def test_info_is_a_tree(capsys, file):
    status, out, errors = run(capsys, "info", file)
    assert (status, errors) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{file}: {file.stat().st_size} bytes, 2 datasets, shown: 8000 -> ")
    assert lines[1:4] == ["└── /a", "    └── /a/rho: float32 40x50", "          bound: absolute 0.001"]
    assert "          levels: 2" in lines and all(line == line.rstrip() for line in lines)
    _, out, _ = run(capsys, "info", "--all", file)
    assert "├── /plain: float32 40x50\n│     not compressed with h5stz\n│     size: 8000 -> 8000 bytes, ratio 1.00\n" in out


def test_info_of_several_files(capsys, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with h5py.File("rho", "w") as made:  # a file with the name of a dataset in another directory
        made.create_dataset("u", data=FIELD, chunks=(40, 50), **h5stz.STZ(lossless=True))
        made.create_dataset("long/" * 40 + "name", data=FIELD, chunks=(40, 50), **h5stz.STZ(lossless=True))
    (tmp_path / "text").write_text("no HDF5")
    status, out, errors = run(capsys, "info", "x.h5", "rho")
    assert status == 0 and "/a/rho: " in out and "/u: " in out and "/long" * 40 + "/name: float32 40x50\n" in out
    status, out, errors = run(capsys, "info", "text", "x.h5", "missing", tmp_path, "--json")
    assert status == 1 and [each["file"] for each in json.loads(out)["files"]] == ["x.h5"]
    assert [line.split(": ")[1] for line in errors.splitlines()] == ["text", "missing", str(tmp_path)]


def test_info_of_chosen_datasets(capsys, file):
    for words in ([file, "--dataset", "rho"], [file, "--dataset", "/a/*"], [file, "a/rho"]):
        out = run(capsys, "info", *words)[1]
        assert "/a/rho" in out and "plain" not in out
    assert "plain" in run(capsys, "info", file, "--all", "--dataset", "p*")[1]
    status, _, errors = run(capsys, "info", file, "--dataset", "p*")
    assert status == 1 and "no compressed dataset has a path like p*" in errors


def test_info_of_what_json_has_no_number_for(capsys, tmp_path):
    with h5py.File(tmp_path / "n.h5", "w") as made:
        made.create_dataset("x", data=FIELD, chunks=(40, 50), **h5stz.STZ(absolute=1, fill_value=float("inf"), dtype="f4"))
    (found,) = json.loads(run(capsys, "info", tmp_path / "n.h5", "--json")[1], parse_constant=pytest.fail)["files"]
    compression = found["datasets"][0]["compression"]
    assert compression["bound"] == 1 and compression["first_chunks"]["looked_at"] == 1


def test_info_reads_few_headers_of_many_chunks(capsys, tmp_path):
    """However many there are, and it says of how many it speaks."""
    stream = h5stz.compress(np.zeros((1, 2), "f4"), lossless=True)
    with h5py.File(tmp_path / "many.h5", "w", libver="latest") as made:
        dataset = made.create_dataset("x", (20000, 2), "f4", chunks=(1, 2), **h5stz.STZ(lossless=True))
        for row in range(20000):
            dataset.id.write_direct_chunk((row, 0), stream)
    (found,) = json.loads(run(capsys, "info", tmp_path / "many.h5", "--json")[1])["files"]
    (x,) = found["datasets"]
    assert x["chunks_stored"] == 20000 and x["compression"]["first_chunks"]["looked_at"] == 1 << 14

"""Names and paths that the charset of a terminal does not have, or that it would obey, and outputs that cannot be written."""

import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support import commands
from support.requirements import needs_programs, require

H5STZ = (sys.executable, "-m", "h5stz")
FIELD = np.ones((64, 64), "f4")
NAMES = ("a", "\u03c1", "\u2603", "b\x1b[31m", "[/c]", "[red]d", "z\nz")
LOCALES = ("C", "C.UTF-8", "de_DE.ISO-8859-1")
COMMANDS = (
    ["verify", "IN"],
    ["info", "IN", "--all"],
    ["estimate", "PLAIN", "--absolute", "1e-3"],
    ["compress", "PLAIN", "OUT", "--absolute", "1e-3"],
    ["compress", "PLAIN", "--dry-run", "--absolute", "1e-3"],
    ["decompress", "IN", "OUT"],
    ["salvage", "IN", "OUT"],
    ["compare", "IN", "PLAIN"],
    ["extract", "ONE", "-o", "PART"],
)


@pytest.fixture(scope="session")
def locales(tmp_path_factory):
    """A directory of locales, with one whose charset is not UTF-8."""
    require(needs_programs("localedef"))
    folder = tmp_path_factory.mktemp("locales")
    subprocess.run(["localedef", "-i", "de_DE", "-f", "ISO-8859-1", folder / "de_DE.ISO-8859-1"], check=True)
    return folder


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The words of COMMANDS that stand for files, whose names are in bytes that are not UTF-8."""
    monkeypatch.chdir(tmp_path)
    with h5py.File("compressed.h5", "w") as made, h5py.File("plain.h5", "w") as plain, h5py.File("one.h5", "w") as one:
        for name in NAMES:
            made.create_dataset(name, data=FIELD, chunks=(64, 64), **h5stz.STZ(absolute=1e-3))
            plain[name] = FIELD
        one["\u03c1\x1b"] = FIELD
    found = {"OUT": b"out\xff.h5", "PART": b"part\xff.npy"}
    for word, name in (("IN", "compressed"), ("PLAIN", "plain"), ("ONE", "one")):
        found[word] = os.fsencode(name) + b"\xff\xe2\x98\x83.h5"
        os.rename(f"{name}.h5", found[word])
    return found


def run(lines, locales=None, **variables):
    """What becomes of commands in processes with only these variables of a locale."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONIO", "PYTHONUTF8"))}
    return commands.in_processes(lines, kept | variables | ({"LOCPATH": str(locales)} if locales else {}))


def with_files(words, files, number):
    """The words with the names of files; what is written has a name that no other command has."""
    made = {name: files[name].replace(b".", b"%d." % number) for name in ("OUT", "PART")}
    return [made.get(word, files.get(word, word)) for word in words]


@pytest.mark.slow
@pytest.mark.parametrize("locale", LOCALES)
def test_names_that_the_terminal_cannot_print(locales, files, locale):
    lines = list(COMMANDS)
    if locale == LOCALES[-1]:
        lines += [[*words, "--json"] for words in COMMANDS]
    found = run([with_files(words, files, number) for number, words in enumerate(lines)], locales, LC_ALL=locale)
    for words, done in zip(lines, found, strict=True):
        assert (done.status, done.err) == (0, b""), (words, done.err.decode(errors="replace"))
        assert b"\x1b" not in done.out and b"\nz" not in done.out, words
        if "--json" in words:
            assert isinstance(json.loads(done.out.decode("ascii")), dict)
        elif words[0] != "extract":
            assert b"z\\nz" in done.out, words  # the last dataset too


@pytest.mark.parametrize("charset", ["ascii", "utf-8:surrogateescape"])
def test_charsets_of_the_variable_of_python(files, charset):
    lines = [["verify", files["IN"]], ["info", files["IN"]], ["estimate", files["PLAIN"]]]
    for done in run(lines, PYTHONIOENCODING=charset):
        assert (done.status, done.err) == (0, b"") and b"z\\nz" in done.out


@pytest.mark.parametrize("locale", LOCALES)
def test_errors_about_a_path_that_the_terminal_cannot_print(locales, tmp_path, monkeypatch, locale):
    """Missing, and no HDF5 file."""
    monkeypatch.chdir(tmp_path)
    with open(b"text\xff.h5", "wb") as text:
        text.write(b"no HDF5 file")
    names = (b"none\xff.h5", b"text\xff.h5", b"none\xff.h5::/\xff")
    lines = [[command, name] for command in ("verify", "info", "estimate") for name in names]
    lines += [[command, name, b"out.h5"] for command in ("decompress", "salvage") for name in names]
    for (_, name, *_), done in zip(lines, run(lines, locales, LC_ALL=locale), strict=True):
        assert (done.status, done.out) == (1, b"")
        assert done.err.startswith(b"h5stz: ") and done.err.count(b"\n") == 1 and name[:4] in done.err


@pytest.mark.parametrize("locale", LOCALES[::2])
def test_what_run_says_of_such_names(locales, files, locale):
    code = r"import h5py, numpy; h5py.File('new.h5', 'w').create_dataset('\u2603', data=numpy.ones((200, 200)))"
    words = ["run", "--stats", "--compress", "/*=absolute:1e-3", "--", sys.executable, "-c", code]
    (done,) = run([words], locales, LC_ALL=locale)
    assert done.status == 0 and b"Traceback" not in done.err and b"datasets compressed: 1 (/" in done.err


def test_paths_for_variables_are_printed_in_bytes(locales, tmp_path):
    """What $(h5stz plugin-path) gives leads there in any locale."""
    link = os.path.join(os.fsencode(tmp_path), b"\xe2\x98\x83")
    os.symlink(os.path.dirname(os.path.dirname(h5stz.__file__)), link)
    for locale in LOCALES:
        kept = os.environ | {"LC_ALL": locale, "LOCPATH": str(locales)}
        code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from h5stz import cli; sys.exit(cli.main())"
        words = [sys.executable, "-c", code, link, "plugin-path"]
        done = subprocess.run(words, env=kept, capture_output=True)
        assert done.returncode == 0 and os.path.isdir(done.stdout.strip()), done


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs device /dev/full")
@pytest.mark.parametrize(
    "words", [["info", "IN"], ["info", "IN", "--json"], ["verify", "IN"], ["--help"], ["plugin-path"]], ids=" ".join
)
def test_a_full_disk_behind_the_output_is_said(files, words):
    words = [files.get(word, word) for word in words]
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*H5STZ, *words], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and done.stderr.startswith(b"h5stz: ") and b"Traceback" not in done.stderr
    assert b"No space left on device\n" in done.stderr and b"Exception ignored" not in done.stderr

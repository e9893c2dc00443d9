"""Datasets as arguments of commands: names of any bytes, links that lead nowhere, what has no samples, regions, types."""

import json
import os

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from h5stz.cli.datasets import split
from support.fields import random_field
from support.requirements import needs_packages

FIELD = random_field((20, 30, 40), 4, 1).astype("f4")
NAMES = [
    "a b",
    "::x",
    "a::b",
    "::",
    "new\nline",
    os.fsdecode(b"\xff\xe9 latin"),
    os.fsdecode(b"gr\xe9up/d\xe9"),
    "日本",
    "$x_",
    "..",
]
#: Each command that takes a dataset, with FILE and NAME.
COMMANDS = {
    "extract": ["extract", "FILE::NAME", "-o", "out.npy", "--overwrite"],
    "estimate": ["estimate", "FILE::NAME", "--absolute", "1e-3"],
    "compare": ["compare", "FILE::NAME", "FILE::NAME"],
    "compare with": ["compare", "other.h5::/rho", "FILE::NAME"],
    "info": ["info", "FILE", "NAME"],
    "info with": ["info", "other.h5", "FILE::NAME"],
    "args": ["args", "--relative", "1e-3", "--data", "FILE", "NAME"],
}
#: Each command that takes a pattern of datasets.
PATTERNS = {
    "compress": ["compress", "FILE", "out.h5", "--dataset", "NAME=absolute:1e-3"],
    "info": ["info", "FILE", "--all", "--dataset", "NAME"],
    "compare": ["compare", "FILE", "FILE", "--dataset", "NAME"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with h5py.File("other.h5", "w") as file:
        file["rho"] = FIELD
        file["here"] = h5py.SoftLink("/missing")
    return tmp_path


def create(group, name, array):
    """A dataset whose name is text with surrogate characters for bytes that are not UTF-8."""
    *above, last = os.fsencode(name).split(b"/")
    place = group.id
    for each in filter(None, above):
        place = h5py.h5g.create(place, each)
    made = h5py.h5d.create(place, last, h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(array.shape))
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, array)


def run(capsys, words, file, name):
    status = cli.main([word.replace("FILE", file).replace("NAME", name) for word in words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("file", ["x.h5", "odd::name.h5"])
def test_names_of_any_bytes(folder, capsys, file, name):
    with h5py.File(file, "w") as made:
        create(made, name, FIELD)
        create(made, "z", FIELD)
    for command, words in COMMANDS.items():
        status, _, errors = run(capsys, words, file, f"/{name}")
        assert (status, errors) == (0, ""), command
    assert np.array_equal(np.load("out.npy"), FIELD)
    with h5stz.open(file) as opened:
        assert name in opened.datasets() and f"/{name}" in opened and opened[name].name == f"/{name}"


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@needs_packages("netCDF4")
def test_names_of_any_bytes_are_written(folder, capsys, name):
    with h5py.File("x.h5", "w") as made:
        create(made, name, FIELD)
    for target in ("out.h5", "out.nc"):
        assert run(capsys, ["extract", "FILE", "-o", target], "x.h5", name)[0] == 0, target
    with h5stz.open("out.h5") as opened:
        assert opened.datasets() == [name] and np.array_equal(opened[name][...], FIELD)
    with h5py.File("out.nc") as opened:
        assert any(np.array_equal(each[...], FIELD) for each in opened.values() if each.shape == FIELD.shape)


@pytest.mark.parametrize(
    "text, file, path",
    [
        ("x.h5", "x.h5", ""),
        ("x.h5::/a::b", "x.h5", "/a::b"),
        ("x.h5::a", "x.h5", "a"),
        ("other.h5::::x", "other.h5", "::x"),
        ("https://host/x.h5::/a::b", "https://host/x.h5", "/a::b"),
        ("simplecache::s3://bucket/x.h5", "simplecache::s3://bucket/x.h5", ""),
        ("simplecache::s3://bucket/x.h5::/a", "simplecache::s3://bucket/x.h5", "/a"),
        ("zip://x.h5::s3://bucket/x.zip::/a::b", "zip://x.h5::s3://bucket/x.zip", "/a::b"),
        ("zip://x.h5::other.h5::/a", "zip://x.h5::other.h5", "/a"),
    ],
)
def test_file_and_dataset(folder, text, file, path):
    assert split(text) == (file, path)


@pytest.mark.parametrize("words", ["compress FILE o.h5 --lossless", "decompress FILE o.h5", "salvage FILE o.h5", "verify FILE"])
def test_commands_of_whole_files_say_so(folder, capsys, words):
    status, out, errors = run(capsys, words.split(), "other.h5::/rho", "")
    assert (status, out) == (1, "")
    assert errors == "h5stz: other.h5::/rho: no such file: this needs a whole file, name other.h5 alone\n"


def links(folder):
    """A file with links that lead nowhere, and what is said of each."""
    with h5py.File("x.h5", "w") as file:
        file["a/rho"] = FIELD
        file["type"] = np.dtype("f4")
        file["dangling"] = h5py.SoftLink("/nowhere/x")
        file["twice"] = h5py.SoftLink("dangling")
        file["loop"] = h5py.SoftLink("/loops")
        file["loops"] = h5py.SoftLink("loop")
        file["up"] = h5py.SoftLink("../a")
        file["lost"] = h5py.ExternalLink("lost.h5", "/x")
        file["text"] = h5py.ExternalLink("text.h5", "/x")
        file["inside"] = h5py.ExternalLink("other.h5", "/x")
        file["further"] = h5py.ExternalLink("other.h5", "/here")
        file["b/soft"] = h5py.SoftLink("/lost")
    (folder / "text.h5").write_text("no HDF5")
    return {
        "/dangling": ["/dangling is a soft link to /nowhere/x, and there is no /nowhere (in / are "],
        "/twice": ["/twice is a soft link to dangling, and /dangling is a soft link to /nowhere/x, and there is no /nowhere"],
        "/loop": ["/loop is a soft link to /loops, and /loops is a soft link to loop, and so they lead in a circle"],
        "/up": ["/up is a soft link to ../a, and HDF5 paths have no .."],
        "/lost": ["/lost is an external link to /x in the file lost.h5, and there is no such file", f"{folder}: copy it there"],
        "/text": ["/text is an external link to /x in the file text.h5, which cannot be opened: ", "name one"],
        "/inside": ["/inside is an external link to /x in the file other.h5, and there there is no /x (in / are here, rho)"],
        "/further": [
            "external link to /here in the file other.h5, and there /here is a soft link to /missing, and there is no"
        ],
        "/b/soft": ["/b/soft is a soft link to /lost, and /lost is an external link to /x in the file lost.h5"],
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_links_that_lead_nowhere(folder, capsys, command):
    others = {
        "/missing": ["there is no /missing (in / are "],
        "/a/rh": ["there is no /a/rh (in /a is rho)"],
        "/a/rho/x": ["/a/rho is not a group"],
        "/a": ["it is a group, name one in it, such as /a/rho"],
        "/type": ["it is a named type, which has no samples"],
    }
    for name, texts in (links(folder) | others).items():
        status, out, errors = run(capsys, COMMANDS[command], "x.h5", name)
        assert status == 1 and (out == "" or command == "info with") and errors.count("\n") == 1, errors
        assert f"{name} is not a dataset of x.h5: " in errors and "h5stz info --all x.h5 lists the datasets" in errors
        assert all(text in errors for text in texts), errors
        assert "synchronously" not in errors and "traversal" not in errors and "damaged" not in errors


@pytest.mark.parametrize("command", PATTERNS)
def test_patterns_that_are_links(folder, capsys, command):
    for name, texts in links(folder).items():
        status, _, errors = run(capsys, PATTERNS[command], "x.h5", name)
        assert status == 1 and errors.count("\n") == 1 and all(text in errors for text in texts), errors
    with h5py.File("x.h5", "a") as file:
        file["soft"] = h5py.SoftLink("/a/rho")
        file["far"] = h5py.ExternalLink("other.h5", "/rho")
    for name, text in (
        ("/soft", "But /soft is a link to /a/rho: name that"),
        ("/far", "other.h5, to which a link leads: name it there"),
        ("/a", "But /a is a group: /a/* means all that is in it"),
    ):
        assert text in run(capsys, PATTERNS[command], "x.h5", name)[2]


def test_an_estimate_of_a_dataset_that_a_link_leads_to(folder, capsys):
    links(folder)
    with h5py.File("x.h5", "a") as file:
        file["soft"] = h5py.SoftLink("/a/rho")
    assert run(capsys, COMMANDS["estimate"], "x.h5", "/soft")[0] == 0


def test_links_that_lead_nowhere_in_python(folder):
    found = links(folder)
    with h5stz.open("x.h5") as file:
        for name, texts in found.items():
            with pytest.raises((KeyError, RuntimeError, OSError)) as caught:
                file[name]
            assert texts[0] in str(caught.value)
        with pytest.raises(KeyError, match=r"there is no /a/rh \(in /a is rho\)"):
            file["a"]["rh"]


@pytest.mark.parametrize("command", [name for name in COMMANDS if "info" not in name])
def test_datasets_without_samples(folder, capsys, command):
    with h5py.File("x.h5", "w") as file:
        file["null"] = h5py.Empty("f4")
    status, out, errors = run(capsys, COMMANDS[command], "x.h5", "/null")
    assert (status, out) == (1, "") and errors.count("\n") == 1
    assert "/null of x.h5 has a type, float32, but no samples (its dataspace is null): name a dataset" in errors


@pytest.mark.parametrize(
    "region, text",
    [
        ("99", "index 99 is out of range for axis 0, which has 20 samples"),
        ("0,0,0,0", "too many indices: 4 for 3 axes"),
        ("...,...", "one ellipsis"),
        ("a,1", "'a' is not an index"),
        ("1:2:3:4", "'1:2:3:4' is not an index"),
    ],
)
def test_regions_that_are_not_there(folder, capsys, region, text):
    (folder / "there.npy").write_bytes(b"kept")
    words = ["extract", "FILE::NAME", "-o", "there.npy", "--region", region]
    status, out, errors = run(capsys, words, "other.h5", "/rho")
    assert status == 1 + ("not an index" in text) and out == "" and errors.count("\n") == 1 and "h5py" not in errors
    assert text in errors and "/rho has the shape 20x30x40: a region is an integer, a slice or ... for each axis" in errors
    if "not an index" not in text:
        with h5py.File("other.h5") as file, pytest.raises(IndexError, match="has the shape"):
            h5stz.extract(file["rho"], "new.npy", region=(99,) if region == "99" else (0, 0, 0, 0))


def test_types_in_words(folder, capsys):
    members = [("id", "i4"), ("name", h5py.string_dtype()), ("tag", "S7"), ("at", "f8", (3,)), ("in", [("b", ">f2")])]
    with h5py.File("x.h5", "w") as file:
        file.create_dataset("table", (2000,), np.dtype(members))
        file.create_dataset("lists", (3,), h5py.vlen_dtype("f4"))
        file["many"] = np.zeros(2, [(f"m{number}", "u1") for number in range(20)])
    words = "compound of id (int32), name (text), tag (text of 7 bytes), at (float64 array of 3), "
    words += "in (compound of b (float16 of the other byte order))"
    out = run(capsys, ["info", "FILE", "--all"], "x.h5", "")[1]
    assert f"/table: {words} 2000" in out and "/lists: object 3" in out and "m7 (uint8), and 12 more" in out
    for command in ("extract", "compare", "args"):
        status, _, errors = run(capsys, COMMANDS[command], "x.h5", "/table")
        assert status == 1 and "{'" not in errors and "[('" not in errors and errors.count("\n") == 1
    assert f".npy cannot store {words}: choose .h5" in run(capsys, COMMANDS["extract"], "x.h5", "/table")[2]
    assert json.loads(run(capsys, ["extract", "FILE::/table", "-o", "t.h5", "--json"], "x.h5", "")[1])["dtype"] == words


def test_info_of_datasets_that_are_not_compressed(folder, capsys):
    with h5py.File("x.h5", "w") as file:
        file["plain"] = FIELD
        file.create_dataset("packed", data=FIELD, compression="gzip", shuffle=True)
    for name, text in (
        ("/plain", "it is not compressed with h5stz (/plain has no compression); --all shows"),
        ("packed", "it is not compressed with h5stz (/packed has the filters shuffle, gzip); --all shows"),
        ("p*", "they are not compressed with h5stz (/"),
        ("q", "no dataset has a path like q: h5stz info --all x.h5 lists the datasets"),
    ):
        status, out, errors = run(capsys, ["info", "FILE", "--dataset", "NAME"], "x.h5", name)
        assert (status, out) == (1, "") and errors.count("\n") == 1 and text in errors and "damaged" not in errors, errors

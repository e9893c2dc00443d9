"""Files whose structures of HDF5 are damaged: every command says in plain words what is wrong with which file and object.

Commands that say something of each dataset go on with the others.
"""

import re

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support.fields import random_field

FIELD = random_field((64, 64), 4, 1).astype("f4")
#: Where a byte is changed, of a file in the old format and of one in the new format: a pattern that ends before it.
OLD = {
    "superblock": rb"^\x89HDF\r\n\x1a\n.{12}",
    "B-tree of a group": rb"TREE",
    "local heap": rb"HEAP(?=.{27}\0)",
    "symbol table node": rb"SNOD",
    "B-tree of chunks": rb"TREE\x01",
    "global heap": rb"GCOL",
}
NEW = {"superblock": rb"^\x89HDF\r\n\x1a\n", "header of the root group": rb"OHDR", "header of a dataset": rb"OHDR(?=.*?GCOL)"}
COMMANDS = {
    "info": ["info", "--all", "bad.h5"],
    "verify": ["verify", "bad.h5"],
    "compare": ["compare", "good.h5", "bad.h5"],
    "compare with": ["compare", "bad.h5", "good.h5"],
    "compare datasets": ["compare", "good.h5::/group/ours", "bad.h5::/group/ours"],
    "estimate": ["estimate", "bad.h5", "--absolute", "1e-3"],
    "plan": ["compress", "bad.h5", "--lossless", "--again", "--dry-run"],
    "compress": ["compress", "bad.h5", "out.h5", "--lossless", "--again"],
    "decompress": ["decompress", "bad.h5", "out.h5"],
    "salvage": ["salvage", "bad.h5", "out.h5"],
    "extract": ["extract", "bad.h5::/group/ours", "-o", "part.npy"],
}
CURES = ("get the file again", "copy it again", "copy or download it again", "install a newer h5py", "has all else", "lost: ")


def written(name, libver):
    with h5py.File(name, "w", libver=libver) as file:
        file["a"] = FIELD
        file.create_dataset("group/ours", data=FIELD, chunks=(32, 64), **h5stz.STZ(absolute=1e-3))
        file.create_dataset("group/other", data=FIELD, chunks=(32, 64), compression="gzip")
        file["plain"] = FIELD
        file["words"] = np.array(["a", "word"], dtype=h5py.string_dtype())
        file.attrs["title"] = "a file"


def damaged(libver, pattern, number=0):
    """Writes good.h5, and bad.h5 with one byte changed behind a place that a pattern finds; False if there is none."""
    written("good.h5", libver)
    with open("good.h5", "rb") as file:
        content = bytearray(file.read())
    places = [found.end() for found in re.finditer(pattern, content, re.DOTALL)]
    if number >= len(places):
        return False
    content[places[number]] ^= 0x51
    with open("bad.h5", "wb") as file:
        file.write(content)
    return True


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("libver", "structure"), [("earliest", each) for each in OLD] + [("latest", each) for each in NEW])
def test_what_is_said(tmp_path, monkeypatch, capsys, libver, structure, command):
    monkeypatch.chdir(tmp_path)
    for number in range(4):
        if not damaged(libver, (OLD if libver == "earliest" else NEW)[structure], number):
            assert number
            break
        status = cli.main([*COMMANDS[command], *(["--overwrite"] if "out.h5" in COMMANDS[command] else [])])
        errors = capsys.readouterr().err.splitlines()
        assert (status == 1) == bool(errors), errors
        for line in errors:
            plain = re.sub(r" \(HDF5 says: .*\)", "", line)
            assert "bad.h5" in plain or line.startswith("h5stz: lost: /"), line
            assert any(cure in plain for cure in CURES), line
            assert "good.h5" not in plain, line
            assert not re.search(r"\((bad|wrong|incorrect|unable|unknown)|synchronously|deprecated|iteration failed", plain), (
                line
            )
        assert len(set(errors)) == len(errors)


@pytest.mark.parametrize("command", ["info", "verify", "compare", "compare with", "estimate"])
def test_it_goes_on_with_the_others(tmp_path, monkeypatch, capsys, command):
    """Objects before and behind the one that HDF5 cannot open, in its group and in others."""
    monkeypatch.chdir(tmp_path)
    written("good.h5", "earliest")
    with h5py.File("good.h5") as file:
        places = [h5py.h5o.get_info(file[name].id).addr for name in ("group/other", "plain")]
    with open("good.h5", "rb") as file:
        content = bytearray(file.read())
    for place in places:
        content[place] ^= 0x55  # the version of the header
    with open("bad.h5", "wb") as file:
        file.write(content)
    status = cli.main(COMMANDS[command])
    printed = capsys.readouterr()
    assert status == 1
    assert [line.partition(" cannot be read: ")[0] for line in printed.err.splitlines()] == [
        "h5stz: /plain of bad.h5",
        "h5stz: /group/other of bad.h5",
    ]
    expected = {"verify": ["/group/ours"], "estimate": ["/a"]}.get(command, ["/a", "/group/ours"])
    assert all(path in printed.out for path in expected), printed.out
    assert "/group/other" not in printed.out and "/plain" not in printed.out


def test_what_is_in_a_group_that_cannot_be_read_is_not_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    written("good.h5", "earliest")
    with h5py.File("good.h5") as file:
        place = h5py.h5o.get_info(file["group"].id).addr
    with open("good.h5", "rb") as file:
        content = bytearray(file.read())
    content[place] ^= 0x55
    with open("bad.h5", "wb") as file:
        file.write(content)
    for command in ("compare", "compare with"):
        assert cli.main(COMMANDS[command]) == 1
        printed = capsys.readouterr()
        assert printed.err.startswith("h5stz: /group of bad.h5 cannot be read: ") and printed.err.count("\n") == 1
        assert "/plain: float32" in printed.out and "/group" not in printed.out


@pytest.mark.parametrize("size", [8, 20, 47, 60, 95])
@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("command", COMMANDS)
def test_files_that_end_in_their_first_structure(tmp_path, monkeypatch, capsys, size, libver, command):
    monkeypatch.chdir(tmp_path)
    written("good.h5", libver)
    with open("good.h5", "rb") as file, open("bad.h5", "wb") as made:
        made.write(file.read(size))
    assert cli.main(COMMANDS[command]) == 1
    errors = capsys.readouterr().err
    assert "bad.h5: it is an HDF5 file that was cut short" in errors and f"{size} " in errors and errors.count("\n") == 1, (
        errors
    )
    assert "copy or download it again" in errors and "HDF5 says" not in errors and "salvage" not in errors

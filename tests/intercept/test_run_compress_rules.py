"""The rules of `h5stz run --compress`: what they may say, what is refused and why, and what the command reports."""

import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import _core, cli, compress_rules, run
from support import host_tools
from support.created_files import FIELD, SIMPLE, python
from support.paths import ROOT


@pytest.mark.parametrize(
    "text", ["nonsense", "101,1 /x", "101,0;101,0 /*", "101,0;101,0;101,0;101,0 /*", "101,0;101,0;101,0 x", " "]
)
def test_damaged_rules_are_no_rules(text, tmp_path):
    target = tmp_path / "x.h5"
    code = FIELD + SIMPLE
    variables = run.environment(os.environ) | {compress_rules.VARIABLE: f"101,0;101,0;101,0 /x\n{text}"}
    subprocess.run([*python(code), str(target)], env=variables, check=True)
    with h5py.File(target) as file:
        assert file["x"].chunks is None


def test_the_command_line(tmp_path, capfd):
    code = FIELD + SIMPLE + "    file.create_dataset('s', data=1.0)\n"
    words = ["--", *python(code), str(tmp_path / "x.h5")]
    rules = ["--chunks", "auto", "--compress", "/*=absolute:1e-3", "--compress", "/y=lossless"]
    assert cli.main(["run", "--stats", *rules, *words]) == 0
    shown = capfd.readouterr().err
    assert "datasets compressed: 1 (/x)" in shown
    assert "'/*=absolute:1e-3': not compressed as a scalar: 1 (/s)" in shown
    assert "'/y=lossless': the program created no dataset that it matches" in shown
    assert cli.main(["run", "--compress", "/x=absolute:1e-3", *words]) == 0
    assert capfd.readouterr().err == ""
    assert cli.main(["run", "--compress", "/s=lossless", *words]) == 0
    assert "/s=lossless': not compressed as a scalar: 1 (/s)" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("/x=relative:1e-3", "a program writes it piece by piece"),
        ("/x=psnr:60,block=region", "Give the bound itself, absolute:B"),
        ("x=lossless", "begin it with /"),
        ("/x", "give PATTERN=absolute:B"),
        ("/x=absolute", "give PATTERN=absolute:B"),
        ("/x=lossless:1", "give PATTERN=absolute:B"),
        ("/x=absolute:-1", "zero or more"),
        ("/x=absolute:one", "'one' is no number"),
        ("/x=pointwise_relative:2", "must be below 1"),
        ("/x=absolute:1,block=small", "block='small' must be one of"),
        ("/x=absolute:1,threads=2", "the options are block= and fill="),
        ("/x=absolute:1,fill=none", "'none' is no number"),
        ("/x\n=lossless", "begin it with /"),
    ],
)
def test_rules_that_are_refused(rule, message, capfd):
    assert cli.main(["run", "--compress", rule, "--", sys.executable, "-c", "print('ran')"]) == 1
    shown = capfd.readouterr()
    assert message in shown.err and not shown.out


def test_rules_name_paths_with_any_characters():
    assert compress_rules.parse("/a=lossless,b=absolute:1e-3").pattern == "/a=lossless,b"
    rule = compress_rules.parse("/x y;z=absolute:1e-3,fill=1e30,block=region")
    assert rule.line().endswith(" /x y;z")
    bits = [host_tools.bits(np.dtype(dtype).type(1e30)) for dtype in ("f4", "f8")]
    assert [_core.parse(words)["fill"] for words in rule.words] == [None, *bits]
    assert h5stz.STZ(absolute=1e-3).filter_options == compress_rules.parse("/x=absolute:1e-3").words[0]


def test_every_outcome_of_the_library_has_its_explanation():
    source = (ROOT / "filter/intercept/compressed_creation.cpp").read_text()
    names = re.findall(r'"([^"]+)"', re.search(r"names\[\] = \{(.*?)\}", source, re.DOTALL)[1])
    assert names == ["compressed", *compress_rules.REASONS]

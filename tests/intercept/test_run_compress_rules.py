"""The rules of `h5stz run --compress`: what they may say, what is refused and why, and what the command reports."""

import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

from h5stz import _core, cli
from h5stz.programs import compress_rules, run
from support import host_tools
from support.created_files import FIELD, SIMPLE, client_data, python
from support.paths import ROOT


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "/y",
        "/y=",
        "/y=lossles",
        "/y=block=region,lossless",
        "/y=absolute=x",
        "/y=lossless,fill_value=1e400",
        "y=lossless",
        " ",
    ],
)
def test_damaged_rules_are_no_rules(text, tmp_path):
    target = tmp_path / "x.h5"
    code = FIELD + SIMPLE
    variables = run.environment(os.environ) | {compress_rules.VARIABLE: f"/x=lossless\n{text}"}
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
    ("names", "rule", "named"),
    [
        (["T [K]", "T K"], "/T [K]=lossless", ["T [K]"]),
        (["T K"], "/T [K]=lossless", []),
        (["p [hPa]", "p P"], "/p [hPa]=lossless", ["p [hPa]"]),
        (["x1", "x2", "x*"], "/x[12]=lossless", ["x1", "x2"]),
        (["x1", "x*"], "/x[*]=lossless", ["x*"]),
    ],
    ids=str,
)
def test_a_rule_that_is_a_path_means_that_dataset(names, rule, named, tmp_path):
    lines = "".join(f"    file.create_dataset({name!r}, data=data)\n" for name in names)
    code = FIELD + "import h5py\ndata = field((40, 50, 60))\nwith h5py.File(path, 'w') as file:\n" + lines
    rules = {compress_rules.VARIABLE: compress_rules.parse(rule).line()}
    subprocess.run([*python(code), str(tmp_path / "x.h5")], env=run.environment(os.environ) | rules, check=True)
    with h5py.File(tmp_path / "x.h5") as file:
        assert [name for name in names if file[name].chunks] == named


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("/x=relative:1e-3", "a program writes it piece by piece"),
        ("/x=psnr:60,block=region", "Give the bound itself, absolute:B"),
        ("x=lossless", "begin it with /"),
        ("/x", "give PATTERN=absolute:B"),
        ("/x=absolute", "absolute=: it must be a finite number"),
        ("/x=lossless:0", "write lossless alone"),
        ("/x=absolute:-1", "zero or more"),
        ("/x=absolute:one", "absolute=one: it must be a finite number"),
        ("/x=absolute=one", "absolute=one: it must be a finite number"),
        ("/x=pointwise_relative:2", "must be below 1"),
        ("/x=absolute:1,block=small", "block=small: it must be default, region or throughput"),
        ("/x=absolute:1,colour=2", "'colour' is not an option"),
        ("/x=absolute:1,fill_value=none", "fill_value=none: it is not a number"),
        ("/x=absolute:1,dtype=f4", "the dataset has another type; leave dtype= out"),
        ("/x\n=lossless", "begin it with /"),
    ],
)
def test_rules_that_are_refused(rule, message, capfd):
    assert cli.main(["run", "--compress", rule, "--", sys.executable, "-c", "print('ran')"]) == 1
    shown = capfd.readouterr()
    assert message in shown.err and not shown.out


@pytest.mark.parametrize(
    ("text", "pattern", "options"),
    [
        ("/a=lossless,b=absolute:1e-3", "/a=lossless,b", "absolute:1e-3"),
        ("/a=lossless,b=absolute=1e-3", "/a=lossless,b", "absolute=1e-3"),
        ("/x y;z=absolute:1e-3,fill_value=1e30,block=region", "/x y;z", "absolute:1e-3,fill_value=1e30,block=region"),
        ("/*=lossless,threads=2", "/*", "lossless,threads=2"),
        ("/absolute=1=lossless", "/absolute=1", "lossless"),
    ],
)
def test_rules_name_paths_with_any_characters(text, pattern, options):
    rule = compress_rules.parse(text)
    assert (rule.pattern, rule.options, rule.line()) == (pattern, options, text)


def test_the_library_reads_rules_as_the_command_does(tmp_path):
    """A path with equals signs, options in the text form, and a fill value that float16 does not hold."""
    code = (
        FIELD
        + """
import h5py
with h5py.File(path, "w") as file:
    for dtype in ("f2", "f4", "f8"):
        file.create_dataset("a=lossless,b/" + dtype, data=field((200, 200), dtype))
"""
    )
    rules = [compress_rules.parse("/a=lossless,b/*=absolute=0.5,block=region,threads=2,fill_value=1e30")]
    assert run.run([*python(code), str(tmp_path / "x.h5")], compress=rules)[1]["datasets_compressed"] == 3
    with h5py.File(tmp_path / "x.h5") as file:
        for dtype in ("f2", "f4", "f8"):
            found = _core.parse(client_data(file[f"a=lossless,b/{dtype}"]))
            assert (found["bound"], found["block"], found["threads"]) == (0.5, 1, 2)
            assert found["fill"] == (None if dtype == "f2" else host_tools.bits(np.dtype(dtype).type(1e30)))


def test_every_outcome_of_the_library_has_its_explanation():
    source = (ROOT / "filter/intercept/compressed_creation.cpp").read_text()
    names = re.findall(r'"([^"]+)"', re.search(r"names\[\] = \{(.*?)\}", source, re.DOTALL)[1])
    assert names == ["compressed", *compress_rules.REASONS]

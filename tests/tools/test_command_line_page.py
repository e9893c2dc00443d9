"""docs/command_line.md: its blocks run one after another in one directory, and print what stands below them."""

import os
import re
import shutil
import subprocess

import pytest

from support import warm_python
from support.paths import ROOT

PAGE = ROOT / "docs" / "command_line.md"
BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def printed(programs, language, code, directory):
    """What a block prints, on both channels; it must end well."""
    words = ["python", "-c", code] if language == "python" else ["bash", "-euo", "pipefail", "-c", code]
    variables = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(
        [shutil.which(words[0], path=variables["PATH"]), *words[1:]], cwd=directory, env=variables, text=True, **pipes
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def comparable(text):
    """The text without sizes of files, which differ between versions of HDF5."""
    return re.sub(r"^(file: ).*|(?<=: )\d+(?= bytes, \d+ datasets)", r"\1", text, flags=re.MULTILINE)


@pytest.mark.slow
def test_the_blocks_print_what_stands_below_them(tmp_path):
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) > 10
    with warm_python.commands() as programs:
        for language, code, below in blocks:
            assert comparable(printed(programs, language, code, tmp_path)) == comparable(below)

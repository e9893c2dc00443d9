"""Type checkers: the package is clean, and they notice a misspelt or positional option in a program that uses it."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import h5stz
from support.paths import ROOT

PACKAGE = Path(h5stz.__file__).parent

PROGRAM = """\
import h5py
import numpy as np

import h5stz

array = np.zeros((4, 5), "f4")
options = h5stz.STZ(absolute=1e-3, block="region")
bound: float = options.bound
same: h5stz.STZ = h5stz.STZ.from_filter_options(options.filter_options)
text: h5stz.STZ = h5stz.STZ("absolute=1e-3,append_axis=0")
also: h5stz.STZ = h5stz.STZ.from_string("lossless", dtype="f4")
growing = h5stz.STZ(absolute=2, append_axis=0, integers="lossy")
stream: bytes = h5stz.compress(array, relative=np.float32(1e-3), data=[[1.0, 2.0]], threads=2)
decoded = h5stz.decompress(stream, out=array)
shape: tuple[int, ...] = h5stz.info(stream).shape
words: tuple[int, ...] = h5stz.cd_values(lossless=True)
chunks: tuple[int, ...] = h5stz.suggest_chunks((40, 50), "f4", target_bytes=1 << 20)
with h5py.File("x.h5", "w") as file:
    dataset = file.create_dataset("x", data=array, chunks=chunks, compression=options)
    view = h5stz.view(dataset, cache_bytes=1 << 20)
    level: h5stz.View = view.level(1)
    with h5stz.partial_reads(threads=2) as stats:
        blocks: int = stats.blocks_decoded
prepared: h5stz.Options = {"absolute": 1e-3, "threads": 2}
h5stz.STZ(**prepared)
"""
MISTAKES = [
    "h5stz.STZ(absolut=1e-3)",
    "h5stz.STZ(1e-3)",
    "h5stz.STZ(absolute='1e-3')",
    "h5stz.STZ(absolute=1e-3, block='small')",
    "h5stz.STZ(absolute=1e-3, integers='bounded')",
    "h5stz.STZ(absolute=1e-3, append_axis='t')",
    "h5stz.STZ.from_string(1e-3)",
    "h5stz.compress(array, absolut=1e-3)",
    "h5stz.compress(array, 1e-3)",
    "h5stz.cd_values(treads=2, lossless=True)",
    "h5stz.decompress(stream, array)",
    "h5stz.view(dataset, 1 << 20)",
    "h5stz.partial_reads(thread=2)",
    "level.read(..., maxbytes=1)",
    "wrong: h5stz.Options = {'absolut': 1e-3}",
]
CHECKERS = {
    "mypy": ["mypy", "--strict", "--python-version", "3.10", "--python-executable", sys.executable],
    "basedpyright": ["basedpyright", "--pythonpath", sys.executable],
}


@pytest.fixture(params=["mypy", pytest.param("basedpyright", marks=pytest.mark.slow)])
def checker(request):
    """Runs a type checker with arguments in a directory: (exit status, output)."""
    module, *options = CHECKERS[request.param]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"the Python package {module} is not installed")

    def run(*arguments, directory):
        words = [sys.executable, "-m", module, *options, *map(str, arguments)]
        done = subprocess.run(words, cwd=directory, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    run.name = request.param
    return run


def test_the_package_is_clean(checker):
    arguments = ["-p", ROOT] if checker.name == "basedpyright" else []
    status, output = checker(*arguments, directory=ROOT)
    assert status == 0, output


@pytest.mark.slow
def test_what_a_program_does_wrong_is_flagged(checker, tmp_path):
    """Every wrong line and no other one."""
    (tmp_path / "program.py").write_text(PROGRAM + "\n".join(MISTAKES) + "\n")
    # The checkers know no import hooks, as editable installs may have; mypy refuses directories that it looks into anyway.
    installed = PACKAGE.parent.name in ("site-packages", "dist-packages")
    path = "" if installed else f"mypy_path = {PACKAGE.parent}\n"
    (tmp_path / "mypy.ini").write_text(f"[mypy]\n{path}[mypy-h5py.*]\nignore_missing_imports = True\n")
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"extraPaths": ["{PACKAGE.parent}"], "typeCheckingMode": "standard", "pythonVersion": "3.10"}}'
    )
    status, output = checker("program.py", directory=tmp_path)
    assert status == 1
    flagged = {int(found) for found in re.findall(r"program\.py:(\d+):(?:\d+ -)? error", output)}
    first = PROGRAM.count("\n") + 1
    assert flagged == set(range(first, first + len(MISTAKES))), output


def test_types_ship_with_the_package():
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_core.pyi").exists()


def test_the_types_of_the_binding_are_those_of_what_it_has():
    described = set(re.findall(r"^(?:def |class )?(\w+)(?=[:(])", (PACKAGE / "_core.pyi").read_text(), re.MULTILINE))
    described = {name for name in described if not name.startswith("_")}
    from h5stz import _core

    there = {name for name in vars(_core) if not name.startswith("_")} - {"prod", "StzError", "StzMemoryError", "StzReadError"}
    assert described == there

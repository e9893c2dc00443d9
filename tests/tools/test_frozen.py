"""Programs that PyInstaller freezes read and write with h5stz, outside of any environment of Python."""

import importlib.metadata
import runpy
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import h5stz
from support.requirements import needs_packages

PROGRAM = """
import h5py, numpy as np
import h5stz

with h5py.File("given.h5") as file:
    given = file["x"][...]
    level = h5stz.view(file["x"]).level(1)[...]
with h5py.File("made.h5", "w") as file:
    file.create_dataset("x", data=2 * given, chunks=given.shape, **h5stz.STZ(absolute=1e-3))
assert level.shape == (16, 16, 16), level.shape
try:
    h5stz.decompress(b"no stream")
except h5stz.StzError as error:
    print("an error of the core:", error)
print("plug-in:", h5stz.plugin_path())
"""
COMMANDS = """
import sys
from h5stz import cli
sys.exit(cli.main())
"""
#: What h5py and others import where it is there, which takes minutes.
ABSENT = ("IPython", "matplotlib", "scipy", "pandas", "setuptools", "mpi4py", "tkinter")


def test_pyinstaller_finds_the_hooks():
    (found,) = (each for each in importlib.metadata.distribution("h5stz").entry_points if each.group == "pyinstaller40")
    (directory,) = found.load()()
    assert {path.name for path in Path(directory).glob("hook-*.py")} == {"hook-h5stz.py", "hook-h5stz.cli.py"}


@needs_packages("PyInstaller")
def test_names_that_load_late_are_frozen():
    hook = runpy.run_path(str(Path(h5stz.__file__).parent / "_pyinstaller/hook-h5stz.py"))
    late = {getattr(h5stz, name).__module__ for name in ("view", "open", "repack", "estimate", "to_hdf5", "xarray_encoding")}
    assert late <= set(hook["hiddenimports"])


@pytest.mark.slow
@needs_packages("PyInstaller")
def test_a_frozen_program_reads_and_writes(tmp_path):
    frozen = freeze(tmp_path, "program", PROGRAM)
    given = np.random.default_rng(1).normal(size=(32, 32, 32)).cumsum(0).astype("f4")
    with h5py.File(tmp_path / "given.h5", "w") as file:
        file.create_dataset("x", data=given, chunks=given.shape, **h5stz.STZ(absolute=1e-2, block="region"))
    done = run(frozen, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "an error of the core:" in done.stdout
    plugin = Path(done.stdout.rpartition("plug-in: ")[2].strip())
    assert plugin.is_relative_to(frozen.parent), "its own, not the one that is installed"
    assert sorted(path.name for path in plugin.iterdir()) == ["libh5stz.so"]
    with h5py.File(tmp_path / "given.h5") as before, h5py.File(tmp_path / "made.h5") as after:
        assert abs(after["x"][...].astype("f8") - 2 * before["x"][...].astype("f8")).max() <= 1e-3
    assert not (frozen.parent / "_internal/dask").exists() and not (frozen.parent / "_internal/xarray").exists()
    plugin.joinpath("libh5stz.so").rename(tmp_path / "moved.so")
    done = run(frozen, tmp_path)
    assert done.returncode != 0 and "libh5stz.so is missing: this program was frozen without it; freeze it again" in done.stderr


@pytest.mark.slow
@needs_packages("PyInstaller")
def test_a_frozen_command_line(tmp_path):
    frozen = freeze(tmp_path, "commands", COMMANDS)
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["x"] = np.random.default_rng(1).normal(size=(32, 32, 32)).cumsum(0).astype("f4")
    for words in (("compress", "plain.h5", "small.h5", "--relative", "1e-3"), ("verify", "small.h5"), ("info", "small.h5")):
        done = run(frozen, tmp_path, *words)
        assert done.returncode == 0, done.stderr
    assert "/x: float32 32x32x32" in done.stdout


def freeze(directory, name, text):
    """The program of a text, frozen."""
    (directory / f"{name}.py").write_text(text)
    words = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "ERROR"]
    for module in ABSENT:
        words += ["--exclude-module", module]
    done = subprocess.run([*words, f"{name}.py"], cwd=directory, capture_output=True, text=True, timeout=1000)
    assert done.returncode == 0, done.stderr
    return directory / "dist" / name / name


def run(program, directory, *words):
    """A frozen program, with nothing in its environment that leads to Python or to the plug-in."""
    environment = {"HOME": str(directory), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [program, *words], cwd=directory, env=environment, capture_output=True, text=True, timeout=100, check=False
    )

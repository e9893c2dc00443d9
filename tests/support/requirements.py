"""What tests need of the host beside the package: programs, Python packages, instruction sets, data.

A test that needs something carries a mark of this module and is skipped, with a reason that begins with "needs", where it is
absent. With `pytest --require-all` a skip is a failure (conftest.py), unless all that it needs is in MAY_BE_ABSENT.
"""

import importlib.util
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

#: What a complete host may lack, with why.
MAY_BE_ABSENT = {
    "instruction set avx512": "few processors have all of it",
    "x86-64 with glibc": "the control register of floating point is changed through glibc's structure",
    "program meep": "a simulation code that pulls in a hundred packages",
    "CDO 2.5 or newer": "Debian 12 has 2.1",
    "CDO from 2.1 to 2.3": "a host has one version",
    "directory H5STZ_DATA": "the development fields are not part of the project",
}

_REASON = "needs "


def needs(what, is_there):
    """A mark: the test needs `what`, which the host has or has not."""
    return pytest.mark.skipif(not is_there, reason=_REASON + what)


def _needs_all(names, is_there):
    absent = [name for name in names if not is_there(name)]
    return needs(", ".join(absent), not absent)


def needs_programs(*names):
    """A mark: programs that must be on the PATH."""
    return _needs_all([f"program {name}" for name in names], lambda name: shutil.which(name.split()[-1]))


def needs_libfuzzer():
    """A mark: clang++ with the libraries of its sanitizers and of libFuzzer (Debian: libclang-rt-dev)."""
    found = shutil.which("clang++")
    folder = subprocess.run([found, "-print-runtime-dir"], capture_output=True, text=True).stdout.strip() if found else "none"
    return needs("program clang++ with libFuzzer", any(Path(folder).glob("libclang_rt.fuzzer*.a")))


def has_package(name):
    """Whether a Python package can be imported."""
    return importlib.util.find_spec(name) is not None


def needs_packages(*names):
    """A mark: Python packages that must be importable."""
    return _needs_all([f"Python package {name}" for name in names], lambda name: has_package(name.split()[-1]))


def each_package(names):
    """Parameters for a test of each of these Python packages."""
    return [pytest.param(name, marks=needs_packages(name)) for name in names]


def needs_data():
    """A mark: H5STZ_DATA must name the directory of the development fields."""
    return needs("directory H5STZ_DATA", os.environ.get("H5STZ_DATA"))


# What of /proc/cpuinfo each instruction set of the kernels needs.
_CPU_FLAGS = {
    "baseline": set(),
    "avx2": {"avx2", "bmi1", "bmi2", "popcnt", "abm"},
    "avx512": {"avx2", "bmi2", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd", "avx512vbmi", "avx512_vbmi2"},
}


def instruction_sets():
    """The instruction sets of the kernels that this machine has."""
    about = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    flags = {flag for line in about.splitlines() if line.startswith("flags") for flag in line.split()}
    return [name for name, needed in _CPU_FLAGS.items() if flags >= needed]


def each_instruction_set():
    """Parameters for a test with each instruction set of the kernels."""
    of_this_machine = instruction_sets()
    return [pytest.param(name, marks=needs(f"instruction set {name}", name in of_this_machine)) for name in _CPU_FLAGS]


#: The control register of floating point can be read and written through glibc.
HAS_CONTROL_REGISTER = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"


def absent(reason):
    """What the reason of a skip says that the host lacks; none if it is not one of this module."""
    reason = reason.removeprefix("Skipped: ")
    return reason.removeprefix(_REASON).split(", ") if reason.startswith(_REASON) else []


def is_excused(reason):
    """Whether a test with this reason may be skipped even with --require-all."""
    lacks = absent(reason)
    return bool(lacks) and all(what in MAY_BE_ABSENT for what in lacks)


def require(mark):
    """For fixtures: skips the tests that use it where the host lacks what a mark of this module says."""
    if mark.args[0]:
        pytest.skip(mark.kwargs["reason"])

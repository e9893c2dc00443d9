"""Kernels are run only on machines that have all that they were compiled for."""

import platform
import subprocess
from pathlib import Path

import pytest

from support.native import native_program
from support.paths import ROOT
from support.requirements import needs, needs_programs

pytestmark = needs_programs("g++")
X86 = platform.machine().lower() in ("x86_64", "amd64")

#: Names of features in /proc/cpuinfo where they are others than the compiler's.
CPUINFO = {"sse3": "pni", "bmi": "bmi1", "lzcnt": "abm", "avx512vbmi2": "avx512_vbmi2", "pclmul": "pclmulqdq"}


def sets():
    """The lines of instruction_sets.txt: a name and flags."""
    lines = (ROOT / "filter/simd/instruction_sets.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def program():
    return native_program("test_dispatch")


def test_no_kernels_without_a_feature_that_they_are_compiled_for(program):
    result = subprocess.run([program, *(sets() if X86 else [])], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@needs("x86-64 with /proc/cpuinfo", X86 and Path("/proc/cpuinfo").exists())
def test_the_machine_is_asked_for_the_right_features(program):
    (flags,) = {line.split(":")[1] for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")}
    asked = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    listed = [name for name in feature_macros() if CPUINFO.get(name, name) in flags.split()]
    assert asked == listed


def feature_macros():
    """{name: macro} of the table in cpu_features.h."""
    rows = (line.strip() for line in (ROOT / "filter/simd/cpu_features.h").read_text().splitlines())
    cells = (row.removeprefix("X(").split(", ") for row in rows if row.startswith("X("))
    return {name: macro for name, macro, *_ in cells}


@needs("x86-64", X86)
@pytest.mark.parametrize("line", sets()[1:], ids=lambda line: line.split()[0])
def test_the_table_has_all_that_the_flags_imply(line):
    def macros(*flags):
        command = ["g++", "-dM", "-E", "-x", "c++", *flags, "/dev/null"]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows = map(str.split, output.splitlines())
        return {name for _, name, *value in rows if value == ["1"] and not name.startswith("__FP_FAST_")}

    implied = macros(*line.split()[1:]) - macros()
    # __builtin_cpu_supports asks for AVX and whether the system saves its registers; CRC32 is a part of SSE 4.2.
    assert implied - {"__XSAVE__", "__CRC32__"} <= set(feature_macros().values())

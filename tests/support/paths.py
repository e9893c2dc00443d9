"""Where things are in a checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
EXAMPLES = ROOT / "examples"
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
NATIVE = TESTS / "native"
#: Programs in C, C++, Fortran and Python that tests build and run.
PROGRAMS = TESTS / "programs"

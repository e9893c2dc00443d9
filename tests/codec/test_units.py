"""Parts of the codec by themselves: tests/native/unit, a file for each part, built and run."""

import re
import subprocess

import pytest

from support.native import native_program
from support.paths import NATIVE
from support.requirements import needs_programs

pytestmark = needs_programs("g++")

PARTS = sorted(path.stem.removeprefix("test_") for path in (NATIVE / "unit").glob("test_*.cpp"))


def run(part, preset):
    command = [native_program("unit_tests", preset), part]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(rf"{part}: \d+ passed\n", result.stdout)


@pytest.mark.parametrize("part", PARTS)
def test_part(part):
    run(part, "tests")


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_part_with_sanitizers(part):
    run(part, "sanitizers")

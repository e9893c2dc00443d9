"""A round trip and reads of parts under valgrind's memcheck, which then has nothing to report."""

import os
import subprocess

import pytest

from support.native import native_program
from support.requirements import needs_programs


@needs_programs("g++", "valgrind")
@pytest.mark.slow
def test_memcheck_has_nothing_to_report():
    environment = {**os.environ, "H5STZ_ISA": "baseline"}  # valgrind does not know all instructions of the others
    command = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", native_program("memcheck_roundtrip")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.endswith(" checks\n") and not result.stderr

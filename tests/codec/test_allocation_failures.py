"""Memory that cannot be had and threads that cannot be started: tests/native/allocation_failures.cpp."""

import os
import subprocess

import pytest

from support.native import native_program
from support.requirements import needs_programs


@needs_programs("g++")
@pytest.mark.slow
def test_every_allocation_and_every_thread_may_fail():
    environment = os.environ | {"H5STZ_LEARN": "0"}  # what chunks teach is kept, and would count as a leak
    result = subprocess.run([native_program("allocation_failures")], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    failures, word = result.stdout.split()
    assert word == "failures" and int(failures) > 10000

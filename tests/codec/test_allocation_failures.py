"""Memory that cannot be had and threads that cannot be started: tests/native/allocation_failures.cpp."""

import datetime
import os
import subprocess

import pytest

from support.native import native_program
from support.requirements import needs_programs


def failures(*words):
    """How many failures were made, none of which broke a promise."""
    environment = os.environ | {"H5STZ_LEARN": "0"}  # what chunks teach is kept, and would count as a leak
    result = subprocess.run([native_program("allocation_failures"), *words], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    number, word = result.stdout.split()
    assert word == "failures"
    return int(number)


@needs_programs("g++")
@pytest.mark.slow
def test_a_fifth_of_all_allocations_and_threads_fail():
    """Each day another fifth."""
    assert failures(str(datetime.date.today().toordinal())) > 2000


@needs_programs("g++")
@pytest.mark.night
def test_every_allocation_and_every_thread_may_fail():
    assert failures() > 10000

"""Processes that may have little memory (RLIMIT_AS): every operation ends with a right result or with an exception."""

import re

import pytest

from support.host_tools import run_python

#: What runs out of memory may say, in Python, in h5stz and in HDF5.
EXCEPTIONS = {"MemoryError", "StzMemoryError", "StzError", "OSError", "RuntimeError", "ValueError", "KeyError"}


@pytest.fixture(autouse=True)
def no_reserves(monkeypatch):
    """The C library (glibc) has no arenas for threads and keeps little of what is freed: what is large is asked for anew."""
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "65536")


def check(directory, limits):
    printed = run_python("limited_memory.py", directory, limits).splitlines()
    lines = [re.fullmatch(r"(.*): (\d+) ?(.*)", line) for line in printed]
    assert len(lines) == 9
    assert sum(int(line[2]) for line in lines) > limits
    for line in lines:
        assert set(line[3].split()) <= EXCEPTIONS, line[0]


@pytest.mark.slow
def test_little_memory(tmp_path):
    check(tmp_path, 20)


@pytest.mark.night
def test_little_memory_in_small_steps(tmp_path):
    check(tmp_path, 100)

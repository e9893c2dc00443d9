"""A chunk that was decoded and changed in part is recognised by what it holds: in small programs, and under every allocator.

The programs are those of programs/rewriting_cases.py, each in a process of its own.
"""

import subprocess
import sys

import pytest

from support import allocators
from support.paths import PROGRAMS

PROGRAM = PROGRAMS / "rewriting_cases.py"


def answer(directory, *words, allocator="glibc", **variables):
    """The number that a program of the file prints."""
    environment = {**allocators.environment(allocator), **variables}
    words = [sys.executable, str(PROGRAM), *map(str, words)]
    done = subprocess.run(words, cwd=directory, env=environment, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return float(done.stdout.split()[-1])


def test_a_copy_within_hdf5_of_a_chunk_that_is_not_flushed(tmp_path):
    assert answer(tmp_path, "object_copy") <= 1


@pytest.mark.parametrize("allocator", allocators.each())
def test_a_forgotten_stream(allocator, tmp_path):
    assert answer(tmp_path, "forgotten", allocator=allocator, H5STZ_REWRITE_MEMORY="0") <= 1


@pytest.mark.parametrize("allocator", allocators.each())
def test_flushes_between_chunks_that_take_the_place_of_others(allocator, tmp_path):
    assert answer(tmp_path, "flushes", allocator=allocator) <= 1


def test_two_copies_of_the_plugin_in_one_process(tmp_path):
    answer(tmp_path, "two_plugins_create")
    for _ in range(3):
        assert answer(tmp_path, "two_plugins", HDF5_PLUGIN_PATH=str(tmp_path / "copy")) <= 1


def test_a_chunk_beside_nine_thousand_that_were_read(tmp_path):
    assert answer(tmp_path, "many_read") == 0


@pytest.mark.parametrize("program", ["flush_small", "read_equal", "flush_large"])
def test_time_grows_with_the_number_of_chunks(program, tmp_path):
    """Processor time of four times as many chunks; five times as much leaves room for a busy machine."""
    assert answer(tmp_path, "growth", program) <= 5


@pytest.mark.parametrize("bound", [5e-5, 1e-4, 2e-4, 1e-3])
def test_the_same_data_again_take_no_more_bytes(bound, tmp_path):
    assert answer(tmp_path, "again", bound) <= 1.01

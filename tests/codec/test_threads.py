"""Threads of a call: how many it starts, and that its result does not depend on them (tests/native/thread_starts.cpp).

tests/native/threads.cpp under ThreadSanitizer reports memory that two threads use with nothing in between. All that the
filter may do at the same time is in that program: the codec, the filter's callback, readers, kept readers. whole_datasets.cpp
has the threads of `h5stz run`.
"""

import subprocess

import numpy as np
import pytest

import h5stz
from support import fields
from support.native import native_program
from support.requirements import needs_programs

pytestmark = needs_programs("g++")


def test_a_call_starts_its_threads_once():
    done = subprocess.run([native_program("thread_starts")], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith(" checks\n"), done.stdout + done.stderr


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("block", ["default", "region", "throughput"])
def test_bytes_do_not_depend_on_threads(dtype, block):
    array = fields.random_field((128, 130, 132), 4, 1).astype(dtype)
    options = {"absolute": 1e-3, "block": block, "effort": 3}
    stream = h5stz.compress(array, threads=1, **options)
    decoded = h5stz.decompress(stream, threads=1)
    for threads in (2, 3, 8):
        assert h5stz.compress(array, threads=threads, **options) == stream
        assert np.array_equal(h5stz.decompress(stream, threads=threads), decoded)


def sanitizer_works(directory):
    """Whether a program with it runs here: it wants certain places in memory for itself."""
    source = directory / "empty.cpp"
    source.write_text("int main() {}\n")
    built = subprocess.run(["g++", "-fsanitize=thread", source, "-o", directory / "empty"], capture_output=True)
    return built.returncode == 0 and subprocess.run([directory / "empty"], capture_output=True).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["threads", "whole_datasets"])
def test_no_two_threads_use_memory_unordered(name, tmp_path):
    if not sanitizer_works(tmp_path):
        pytest.fail("g++ has no ThreadSanitizer that works here: install libtsan, or run with `setarch -R`")
    program = native_program(name, "tsan")
    done = subprocess.run([program], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith(" checks\n"), done.stdout + done.stderr

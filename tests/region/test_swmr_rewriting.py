"""Readers beside a writer that rewrites chunks in part (SWMR): each chunk is as a flush left it, not older than the last one.

The writer is this process and waits for nobody; tests/programs/swmr_reader.py reads in others, at the same time.
"""

import contextlib
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.programs import run
from support import host_tools, swmr_steps
from support.paths import PROGRAMS

WAYS = ["h5py", "view", "partial", "h5stz run"]


def reader(path, way, steps):
    """A reading process."""
    variables = host_tools.environment() if way != "h5stz run" else run.environment(os.environ)
    command = [sys.executable, PROGRAMS / "swmr_reader.py", path, "h5py" if way == "h5stz run" else way, str(steps)]
    return subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def write_steps(file, readers, steps):
    """Writes step by step, and tells the readers of each."""
    for step in range(1, steps + 1):
        swmr_steps.write(file["x"], step)
        file["x"].flush()
        for each in readers:
            # A reader that has found the last step ends, whether it was told of it or not.
            with contextlib.suppress(*[BrokenPipeError] if step == steps else []):
                each.stdin.write(b"\n")
                each.stdin.flush()


def write_beside(path, ways, steps, cache):
    """Rewrites the dataset step by step; returns what the readers say of their reads."""
    swmr_steps.create(path)
    with contextlib.ExitStack() as running, h5py.File(path, "r+", libver=("v110", "v110"), rdcc_nbytes=cache) as file:
        file.swmr_mode = True
        readers = [reader(path, way, steps) for way in ways]
        for each in readers:
            running.callback(each.kill)  # whatever happens: they would read for ever
        for each in readers:
            assert each.stdout.readline() == b"ready\n", each.communicate()
        write_steps(file, readers, steps)
        said = [each.communicate(timeout=300) for each in readers]
    for each, (_, errors) in zip(readers, said, strict=True):
        assert each.returncode == 0, errors.decode()
    return [[int(word) for word in printed.split()] for printed, _ in said], b"".join(errors for _, errors in said)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_each_chunk_is_as_a_step_left_it(tmp_path, way):
    said, errors = write_beside(tmp_path / "x.h5", [way], 40, 1 << 20)
    assert said[0][0] > 1 and said[0][2] == 0, errors.decode()


@pytest.mark.slow
@pytest.mark.parametrize("cache", [0, 1 << 20])
def test_four_readers_at_once(tmp_path, cache):
    said, errors = write_beside(tmp_path / "x.h5", WAYS, 300, cache)
    assert all(reads > 1 and refused == 0 for reads, _, refused in said), errors.decode()


def test_bytes_of_two_streams_of_one_length_are_refused():
    """What a reader may get while HDF5 overwrites a chunk in place."""
    arrays = [np.random.default_rng(seed).integers(0, 255, (40, 50), "u1") for seed in (1, 2)]
    first, second = (h5stz.compress(array, lossless=True) for array in arrays)
    assert len(first) == len(second)
    for cut in range(0, len(first), 7):
        mixed = first[:cut] + second[cut:]
        if mixed not in (first, second):
            with pytest.raises(h5stz.StzError, match="damaged"):
                h5stz.decompress(mixed)

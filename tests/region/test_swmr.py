"""A reader beside a writer (SWMR), in C: never by ranges of the file, and after H5Drefresh what the writer has flushed.

The writer is this process; tests/programs/swmr.c reads in another one, step by step over pipes.
"""

import os
import subprocess

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.programs import run
from support import host_tools
from support.host_tools import pkg_config
from support.paths import PROGRAMS
from support.requirements import needs_programs, require

BOUND = 1e-2
CHUNK = (64, 64, 80)  # 1.3 MB, more than HDF5's chunk cache, so that programs under `h5stz run` read parts of it


def samples(seed):
    """A chunk with noise: of its stream ranges would be read."""
    return (20 * np.random.default_rng(seed).normal(size=CHUNK)).astype("f4")


class Reader:
    """The reading process and what it answers."""

    def __init__(self, words, variables):
        words = [str(word) for word in words]
        self.process = subprocess.Popen(words, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line):
        """The words of the answer to a line."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer and not answer.startswith("failed"), answer
        return answer.split()

    def read(self, slices):
        """(counts or None, samples) of a box."""
        start, count = (",".join(str(number) for number in numbers) for numbers in zip(*slices, strict=True))
        words = self.ask(f"read {start} {count}")
        counts = {words[i]: int(words.pop(i + 1)) for i in range(3)} if words[0] == "through" else None
        values = np.array(words[3 if counts else 0 :], "f4")
        return counts, values.reshape([length for _, length in slices])

    def refresh(self):
        """H5Drefresh."""
        assert self.ask("refresh") == ["refreshed"]

    def end(self):
        """Waits for the end of the process, which must be a good one."""
        self.process.stdin.close()
        assert self.process.wait(60) == 0


def cut(array, slices):
    return array[tuple(slice(start, start + count) for start, count in slices)]


def near(found, original):
    return np.abs(found.astype("f8") - original).max() <= BOUND


INSIDE, ACROSS = ((3, 2), (4, 3), (5, 4)), ((62, 4), (4, 3), (5, 4))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    require(needs_programs("h5cc", "pkg-config"))
    directory = tmp_path_factory.mktemp("swmr")
    flags = [*pkg_config("--cflags", "--libs"), "-o", directory / "program"]
    host_tools.run("h5cc", "-shlib", "-Wall", "-Wextra", "-Werror", PROGRAMS / "swmr.c", *flags, directory=directory)
    return directory / "program"


def write_beside(path, words, variables):
    """Writes a file that another process reads; returns what its reads did."""
    done = []

    def look(slices, *originals):
        counts, found = reader.read(slices)
        done.append(counts)
        assert any(near(found, cut(original, slices)) for original in originals)

    first, second, third = samples(1), samples(2), samples(3)
    settings = h5stz.STZ(absolute=BOUND, block="region")
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        stored = file.create_dataset("x", CHUNK, "f4", maxshape=(None, *CHUNK[1:]), chunks=CHUNK, **settings)
        stored[...] = first
        file.swmr_mode = True
        reader = Reader(words, variables)
        look(INSIDE, first)
        look(INSIDE, first)

        stored[...] = second  # the chunk moves to another place, or is overwritten where it is
        stored.flush()
        look(INSIDE, first, second)
        reader.refresh()
        look(INSIDE, second)

        stored.resize(2 * CHUNK[0], axis=0)
        stored[CHUNK[0] :] = third
        stored.flush()
        reader.refresh()
        look(ACROSS, np.concatenate([second, third]))
        reader.end()
    return done


def test_the_library_for_c(program, tmp_path):
    done = write_beside(tmp_path / "x.h5", [program, tmp_path / "x.h5"], host_tools.environment())
    assert done == [{"through": 0, "direct": direct, "ranges": 0} for direct in (1, 1, 1, 1, 2)]
    # Of the same chunks ranges are read as soon as there is no writer.
    reader = Reader([program, tmp_path / "x.h5", "alone"], host_tools.environment())
    counts, found = reader.read(ACROSS)
    reader.end()
    assert counts == {"through": 0, "direct": 2, "ranges": 2}
    assert near(found, cut(np.concatenate([samples(2), samples(3)]), ACROSS))


def test_a_program_under_h5stz_run(program, tmp_path):
    record = tmp_path / "stats"
    variables = run.environment(os.environ) | {"H5STZ_RUN_STATS": str(record)}
    assert write_beside(tmp_path / "x.h5", [program, tmp_path / "x.h5", "plain"], variables) == [None] * 5
    assert '"reads": 5, "reads_through_hdf5": 0, "chunks_direct": 6' in record.read_text()

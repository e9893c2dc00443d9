"""Writers that are interrupted: by SIGKILL at a write that is chosen by its number, or by a disk that is full.

`Steps` is what they write, a dataset that grows and is rewritten in part; its state after each step is known, so that what is
in the file after an interruption can be judged. The interruptions are those of tests/programs/faulty_writes.c, which is
compiled and preloaded; tests/programs/interrupted_writers.py is the program that forks a writer for each of them.
"""

import os
import subprocess
import sys
from dataclasses import dataclass

import h5py
import numpy as np

from support import exact, host_tools
from support.paths import PROGRAMS

NAME = "x"
BOUND = 2.0**-7


@dataclass(frozen=True)
class Steps:
    """A frame is appended and a box of older frames is rewritten in each step."""

    steps: int = 14
    frame: tuple[int, int] = (20, 24)
    chunk: tuple[int, int, int] = (4, 10, 12)
    append_axis: bool = False

    def box(self, step):
        """What a step rewrites."""
        rng = np.random.default_rng(step)
        first, row, column = (int(rng.integers(0, most)) for most in (step, 12, 14))
        return slice(first, min(step, first + 5)), slice(row, row + 7), slice(column, column + 10)

    def values(self, step, shape):
        """What a step writes into such a box: told from that of other steps by more than the bound."""
        rng = np.random.default_rng(1000 + step)
        return (10 * step + np.sin(np.arange(self.frame[1])[: shape[-1]] / 5) + rng.normal(0, 0.1, shape)).astype("f4")

    def state(self, steps):
        """The dataset after so many steps."""
        array = np.empty((steps, *self.frame), "f4")
        for step in range(1, steps + 1):
            array[step - 1] = self.values(step, self.frame)
            if step > 1:
                box = self.box(step)
                array[box] = self.values(100 + step, [part.stop - part.start for part in box])
        return array

    def create(self, path, **file):
        """The file without frames."""
        import h5stz

        axis = {"append_axis": 0} if self.append_axis else {}
        with h5py.File(path, "w", **file) as new:
            new.create_dataset(
                NAME,
                (0, *self.frame),
                "f4",
                maxshape=(None, *self.frame),
                chunks=self.chunk,
                **h5stz.STZ(absolute=BOUND, **axis),
            )

    def calls(self, dataset, step):
        """The calls of HDF5 that make up a step."""
        yield lambda: dataset.resize(step, axis=0)
        yield lambda: dataset.__setitem__(step - 1, self.values(step, self.frame))
        if step > 1:
            box = self.box(step)
            yield lambda: dataset.__setitem__(box, self.values(100 + step, [part.stop - part.start for part in box]))

    def judge(self, found, flushed, exactly=False):
        """What a reader found after `flushed` steps were flushed: each sample is that of these steps, or of the one after.

        `exactly`: of these steps alone.
        """
        if exactly:
            assert exact.error_over_bound(self.state(flushed), found, BOUND) <= 1
            return
        assert found.shape[0] in (flushed, flushed + 1), f"{found.shape[0]} frames, {flushed} were flushed"
        later = self.state(min(flushed + 1, self.steps))[: len(found)]
        before = self.state(flushed)
        if len(found) > flushed:  # a frame that was not there is fill
            before = np.concatenate([before, np.zeros((1, *self.frame), "f4")])
        wrong = ~(self.is_near(before, found) | self.is_near(later, found))
        assert not wrong.any(), f"{wrong.sum()} samples are of no state, after {flushed} steps"

    def is_near(self, expected, found):
        """Which samples are within the bound."""
        return np.abs(expected.astype("f8") - found) <= BOUND


def preload_library(directory):
    """tests/programs/faulty_writes.c, compiled."""
    library = directory / "faulty_writes.so"
    words = ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", library, PROGRAMS / "faulty_writes.c"]
    host_tools.run(*words, directory=directory)
    return library


def environment(library, **variables):
    """Variables for a program whose writes are counted."""
    return {**host_tools.environment(), "LD_PRELOAD": str(library), **{name: str(value) for name, value in variables.items()}}


def run_writers(library, *words):
    """The lines that interrupted_writers.py prints."""
    command = [sys.executable, PROGRAMS / "interrupted_writers.py", *words]
    done = subprocess.run([str(word) for word in command], env=environment(library), text=True, capture_output=True)
    assert done.returncode == 0, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout.splitlines()


def files_in(directory):
    """{name: bytes} of all files, hidden ones too."""
    return {name: (directory / name).read_bytes() for name in sorted(os.listdir(directory))}

"""Writers that append and rewrite and are interrupted, by SIGKILL or a full disk: what was flushed is there, within the bound.

tests/programs/interrupted_writers.py forks a writer for each moment and judges its file. Under SWMR the moment is any write
to the file; without it HDF5 promises nothing of a flush that is interrupted: the writer is killed between calls of HDF5.
"""

import pytest

from support import interrupted
from support.requirements import needs_programs

pytestmark = needs_programs("gcc", "h5clear")
CACHES = [1 << 20, 0]  # bytes: chunks are written when they are flushed, or by each call


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return interrupted.preload_library(tmp_path_factory.mktemp("library"))


def moments(lines):
    """The steps that were flushed at each moment, and what the writers were told."""
    words = [line.split(maxsplit=2) for line in lines]
    return [int(flushed) for _, flushed, *_ in words], [" ".join(told) for _, _, *told in words]


def check(library, directory, mode, cache, append, count):
    flushed, told = moments(interrupted.run_writers(library, mode, f"{directory}/", cache, append, count))
    assert len(flushed) == count and flushed == sorted(flushed)
    assert flushed[0] <= 1 and flushed[-1] >= interrupted.Steps.steps * 2 // 3
    return told


@pytest.mark.slow
@pytest.mark.parametrize("append", [0, 1])
@pytest.mark.parametrize("cache", CACHES)
def test_killed_within_a_write_under_swmr(library, tmp_path, cache, append):
    check(library, tmp_path, "kill", cache, append, 6)


def test_killed_between_calls_without_swmr(library, tmp_path):
    check(library, tmp_path, "stop", CACHES[0], 0, 6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "cache", "append", "count"),
    [("kill", 0, 0, 60), ("kill", 1 << 20, 0, 60), ("kill", 0, 1, 50), ("stop", 1 << 20, 0, 30)],
)
def test_killed_at_200_moments(library, tmp_path, mode, cache, append, count):
    check(library, tmp_path, mode, cache, append, count)


@pytest.mark.slow
@pytest.mark.parametrize("cache", CACHES)
def test_a_disk_that_is_full(library, tmp_path, cache):
    told = check(library, tmp_path, "full", cache, 0, 6)
    assert all(line.startswith("error ") for line in told)


@pytest.mark.slow
@pytest.mark.parametrize("append", [0, 1])
@pytest.mark.parametrize("cache", CACHES)
def test_a_disk_that_is_full_at_many_moments(library, tmp_path, cache, append):
    check(library, tmp_path, "full", cache, append, 25)

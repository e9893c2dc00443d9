"""The memory that `repack` and `unpack` take: a few pieces and chunks, whatever the size of a dataset and its chunks."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support.memory import grows_less_than

MIB = 1 << 20


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((200, 1000, 1000), (100, 100, 1)),
        ((400, 1000, 500), (200, 1, 100)),
        ((100, 100, 200, 100), (50, 50, 20, 1)),
        ((64, 2000, 1600), (64, 20, 20)),
    ],
)
@pytest.mark.parametrize("options", [{"absolute": 1e-3}, {"rules": [h5stz.Rule("/T", {"lossless": True})]}])
def test_few_pieces_are_in_memory(shape, chunks, options, tmp_path):
    """Of datasets that take 800 MB in memory, and of which a chunk is written."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["T"] = np.random.default_rng(0).random((64, 64)).astype("f4")
        file.create_dataset("x", shape, "f4", chunks=chunks, compression="gzip")[(5,) * len(shape)] = 1
    with grows_less_than(600 * MIB):
        h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", **options)
        h5stz.unpack(tmp_path / "b.h5", tmp_path / "c.h5", deflate=1)
    with h5py.File(tmp_path / "c.h5") as file:
        assert abs(file["x"][(5,) * len(shape)] - 1) <= 1e-3 and file["x"].shape == shape


COMMAND = """
import resource, sys
import h5py, numpy
from h5stz import cli
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + (int(sys.argv[1]) << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
sys.exit(cli.main(sys.argv[2:]))
"""


def test_want_of_memory_names_the_dataset(tmp_path):
    """Chunks that are larger than the memory are told with file, dataset, and what to do."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", (8192, 8192), "f4", chunks=(8192, 8192), compression="gzip", compression_opts=1)[0, 0] = 1
    words = ["compress", "a.h5", "b.h5", "--lossless"]
    done = subprocess.run([sys.executable, "-c", COMMAND, "300", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and not (tmp_path / "b.h5").exists()
    for part in ("/x in a.h5", "not enough memory", "256 MiB", "--jobs 1"):
        assert part in done.stderr, done.stderr

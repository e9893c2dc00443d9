"""The memory that `repack` and `unpack` take: a few pieces and chunks, whatever the size of a dataset and its chunks."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support.memory import grows_less_than

MIB = 1 << 20


@pytest.mark.slow
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


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A directory with a.h5, whose dataset x is one chunk of 128 MiB, compressed by gzip; b.h5, compressed by h5stz."""
    directory = tmp_path_factory.mktemp("large")
    for name, options in (("a", {"compression": "gzip", "compression_opts": 1}), ("b", h5stz.STZ(lossless=True))):
        with h5py.File(directory / f"{name}.h5", "w") as file:
            file.create_dataset("x", (4096, 8192), "f4", chunks=(4096, 8192), **options)[0, 0] = 1
    return directory


@pytest.mark.parametrize(
    ("words", "proposed"),
    [
        ("compress a.h5 new.h5 --lossless", ""),
        ("compress a.h5 new.h5 --lossless --jobs 2", "use --jobs 1, "),
        ("compress a.h5 new.h5 --relative 1e-3 --dry-run", ""),
        ("decompress b.h5 new.h5", ""),
        ("estimate a.h5 --relative 1e-3 --jobs 2", ""),
        ("compare a.h5 b.h5", ""),
        ("extract a.h5::/x --region 0:9 -o new.npy", "read a smaller region, "),
    ],
)
def test_want_of_memory_names_the_dataset(words, proposed, large):
    """Chunks that are larger than the memory are told with file, dataset, and what helps: options that this command has."""
    command = [sys.executable, "-c", COMMAND, "100", *words.split()]
    done = subprocess.run(command, cwd=large, capture_output=True, text=True)
    assert done.returncode == 1 and not list(large.glob("new.*")), done.stdout
    said = "there is not enough memory: several chunks of 128 MiB are needed at once: free memory, "
    assert f"{said}{proposed}or write the dataset with smaller chunks" in done.stderr, done.stderr
    assert done.stderr.count("/x in") == 1 and done.stderr.count("\n") == 1

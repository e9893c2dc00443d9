"""A stream of other extents than the dataset's chunks have is an error that names both, whichever way it is read.

Axes of length 1 do not count: with more or fewer of them the samples lie in the same order.
"""

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.programs import run
from support import host_tools
from support.host_tools import field, pkg_config
from support.paths import PROGRAMS
from support.requirements import needs_programs, require

CHUNK, OTHER = (32, 48, 40), (40, 48, 32)
NAMED = (str(OTHER), str(CHUNK))


def write(path, stream_shape, chunk=CHUNK):
    """A dataset of two chunks; the first, whose samples are returned, holds a stream of this shape, written directly."""
    samples = field(stream_shape)
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("d", (2 * chunk[0], *chunk[1:]), "f4", chunks=chunk, **h5stz.STZ(absolute=1e-2))
        dataset[...] = 0
        file.flush()
        dataset.id.write_direct_chunk((0,) * len(chunk), h5stz.compress(samples, absolute=1e-2))
    return samples.reshape(chunk) if samples.size == np.prod(chunk) else None


@pytest.fixture(scope="module")
def transposed(tmp_path_factory):
    path = tmp_path_factory.mktemp("shapes") / "transposed.h5"
    write(path, OTHER)
    return path


@pytest.fixture(scope="module")
def region_reader(tmp_path_factory):
    """tests/programs/region.c, which reads through H5Dread and through stz_h5_read."""
    require(needs_programs("h5cc", "pkg-config"))
    directory = tmp_path_factory.mktemp("region")
    flags = pkg_config("--cflags", "--libs")
    host_tools.run("h5cc", "-shlib", PROGRAMS / "region.c", *flags, "-o", directory / "region", directory=directory)
    return directory / "region"


def names_both_shapes(text):
    return all(shape in text for shape in NAMED)


def test_h5py(transposed):
    with h5py.File(transposed) as file, pytest.raises(OSError) as raised:
        file["d"][()]
    assert names_both_shapes(str(raised.value))


def test_view(transposed):
    with h5py.File(transposed) as file, pytest.raises(h5stz.StzError) as raised:
        h5stz.view(file["d"])[1:3, 4:9, 5]
    assert names_both_shapes(str(raised.value))


@needs_programs("h5dump")
def test_h5dump(transposed):
    assert names_both_shapes(host_tools.run("h5dump", "--enable-error-stack", transposed, succeed=False))


@pytest.mark.parametrize("route", run.ROUTES)
def test_program_under_h5stz_run(transposed, route):
    """Without a chunk cache, so that the reads are those of h5stz run and not HDF5's."""
    code = f"import h5py; h5py.File({str(transposed)!r}, rdcc_nbytes=0)['d'][1:3, 4:9, 5]"
    done = subprocess.run([sys.executable, "-c", code], env=run.environment(os.environ, route), capture_output=True, text=True)
    assert done.returncode == 1 and "OSError" in done.stderr and names_both_shapes(done.stderr), done.stderr


def test_c_region_reads(transposed, region_reader):
    printed = host_tools.run(region_reader, transposed, "d", "file", "1,4,5", "1,1,1", "2,5,1", "1,1,1", "broken")
    assert any(names_both_shapes(line) for line in printed.splitlines() if line.startswith("message ")), printed


@pytest.mark.parametrize(
    "shape, chunk",
    [
        ((48, 40), (1, 48, 40)),
        ((1, 32, 48, 40), CHUNK),
        ((32, 48, 1, 1, 40, 1), CHUNK),
        ((32, 40), (32, 1, 40)),
        ((40,), (1, 40, 1)),
        ((), (1, 1)),
        ((1, 1), (1,)),
    ],
)
def test_axes_of_length_1_do_not_count(tmp_path, region_reader, shape, chunk):
    samples = write(tmp_path / "f.h5", shape, chunk)
    with h5py.File(tmp_path / "f.h5") as file:
        read = file["d"][tuple(slice(extent) for extent in chunk)]
        viewed = h5stz.view(file["d"])[tuple(slice(extent) for extent in chunk)]
    assert np.abs(read - samples).max() <= 1e-2
    assert np.array_equal(viewed, read)
    start, ones = ",".join("0" * len(chunk)), ",".join("1" * len(chunk))
    host_tools.run(region_reader, tmp_path / "f.h5", "d", "file", start, ones, ",".join(map(str, chunk)), ones)


@pytest.mark.parametrize("shape", [(32, 1920), (61440,), (48, 32, 40), (64, 24, 40), (32, 48, 40, 2)])
def test_other_extents_are_refused(tmp_path, shape):
    write(tmp_path / "f.h5", shape)
    with h5py.File(tmp_path / "f.h5") as file, pytest.raises(OSError, match="another dataset"):
        file["d"][()]

"""The files that the tests of reads in Python and in C share, and the program in C."""

import io

import h5py
import pytest

from support import region_program
from support.host_tools import pkg_config, run
from support.paths import PROGRAMS
from support.range_servers import written
from support.region_files import CHUNKS, SHAPE, smooth, write
from support.requirements import require


@pytest.fixture(scope="module")
def original():
    """What is in the dataset."""
    return smooth(SHAPE)


@pytest.fixture
def path(tmp_path, original):
    """A file with the dataset "x" under an absolute bound."""
    return write(tmp_path / "x.h5", original, CHUNKS, {"absolute": 1e-3})


@pytest.fixture(scope="module")
def content():
    """The bytes of range_servers.written()."""
    return written()


@pytest.fixture(scope="module")
def full(content):
    """What its datasets hold."""
    with h5py.File(io.BytesIO(content)) as file:
        return {name: file[name][...] for name in file}


@pytest.fixture(scope="session")
def region_file(tmp_path_factory):
    """See region_program.write_datasets."""
    path = tmp_path_factory.mktemp("region") / "region.h5"
    region_program.write_datasets(path)
    return path


@pytest.fixture(scope="session")
def large_chunks(tmp_path_factory):
    """The directory of region_program.write_large_chunks."""
    directory = tmp_path_factory.mktemp("large_chunks")
    region_program.write_large_chunks(directory)
    return directory


@pytest.fixture(scope="session", params=["shared", pytest.param("static", marks=pytest.mark.slow)])
def region_reader(request, tmp_path_factory):
    """tests/programs/region.c with HDF5 as a shared library and linked in."""
    require(region_program.needs_hdf5_for_c)
    directory = tmp_path_factory.mktemp("region")
    link = "-shlib" if request.param == "shared" else "-noshlib"
    flags = pkg_config("--cflags", "--libs")
    command = ["h5cc", link, "-Wall", "-Wextra", "-Werror", PROGRAMS / "region.c", *flags, "-o", directory / "program"]
    run(*command, directory=directory)
    return directory / "program"

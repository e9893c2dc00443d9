"""Structures that grow: programs compiled with an earlier or a later header than the library's work, or get an error."""

from pathlib import Path

import h5py

import h5stz
from support.host_tools import field, pkg_config, run
from support.native import native_program
from support.paths import PROGRAMS, ROOT
from support.requirements import needs_programs

LIBRARIES = Path(h5stz.__file__).parent / "lib"
INCLUDES = [f"-I{ROOT / 'filter' / 'include'}", f"-I{PROGRAMS}"]


@needs_programs("g++")
def test_callers_of_earlier_versions():
    run(native_program("test_struct_size"))


@needs_programs("cc")
def test_callers_of_later_versions_and_failures(tmp_path):
    program = tmp_path / "struct_sizes"
    link = [f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-lh5stz_read"]
    run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", *INCLUDES, PROGRAMS / "struct_sizes.c", *link, "-o", program)
    run(program)


@needs_programs("h5cc", "pkg-config")
def test_statistics_of_region_reads(tmp_path):
    program = tmp_path / "region_stats"
    sources = [f"-I{PROGRAMS}", PROGRAMS / "region_stats.c"]
    run("h5cc", "-shlib", *sources, *pkg_config("--cflags", "--libs"), "-o", program, directory=tmp_path)
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file.create_dataset("field", data=field((20, 20, 20)), chunks=(20, 20, 20), **h5stz.STZ(absolute=0.1))
    run(program, tmp_path / "data.h5", "field")


def test_python_knows_the_version_of_the_library():
    header = (ROOT / "filter" / "include" / "stz.h").read_text()
    numbers = [header.split(f"#define STZ_VERSION_{part} ")[1].split()[0] for part in ("MAJOR", "MINOR", "PATCH")]
    assert h5stz.__version__ == ".".join(numbers)

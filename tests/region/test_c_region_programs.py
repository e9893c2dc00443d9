"""The library of region reads in programs: several copies of HDF5, the examples in C and Fortran, what it is linked against."""

import ctypes
import re
import shlex
import sys
from pathlib import Path

import h5py

import h5stz
from h5stz import cli
from support import host_tools
from support.host_tools import pkg_config, run
from support.paths import EXAMPLES, PROGRAMS
from support.region_program import SLABS, box, needs_hdf5_for_c, printed
from support.requirements import needs_programs

PACKAGE = Path(h5stz.__file__).parent


def test_pkg_config_path_of_the_command_line(capsys):
    assert cli.main(["pkg-config-path"]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "h5stz.pc").exists()


def test_hdf5_of_the_program_beside_another(region_reader, region_file):
    command = ["env", f"LD_PRELOAD={host_tools.mapped_library('libhdf5', 'h5py')}", region_reader]
    if "libhdf5_serial" not in run("ldd", region_reader):  # it is linked in: the other one is not meant
        assert printed(run(*command, region_file, "d", *box((3, 4, 5), (1, 10, 8))))["direct"] == 1


def build_with_newer_hdf5(*options):
    """The test program with the library of h5py's wheel: the same interface, other functions for stored chunks."""
    library = Path(host_tools.mapped_library("libhdf5", "h5py"))
    includes = [word for word in shlex.split(run("h5cc", "-shlib", "-show")) if word.startswith("-I")]
    flags = [*pkg_config("--cflags", "--libs"), library, f"-Wl,-rpath,{library.parent}"]
    run("gcc", *includes, PROGRAMS / "region.c", *flags, *options)


UNCHECKED = ("env", "HDF5_DISABLE_VERSION_CHECK=2")  # the headers are of another version


@needs_hdf5_for_c
def test_newer_hdf5(tmp_path, region_file, large_chunks):
    build_with_newer_hdf5("-o", tmp_path / "program")
    command = [*UNCHECKED, tmp_path / "program"]
    for dataset, words in [
        ("d", SLABS["few blocks with gaps"]),
        ("sparse", box((1, 2), (40, 60))),
        ("masked", box((10, 20), (10, 10))),
        ("d", ["level", 2, "0,0,0", "38,33,35"]),
    ]:
        assert printed(run(*command, region_file, dataset, *words))["through"] == 0
    assert printed(run(*command, large_chunks / "plain.h5", "d", *box((3, 4, 5), (1, 10, 8))))["ranges"] == 1
    assert printed(run(*command, large_chunks / "block.h5", "d", *box((3, 4, 5), (1, 10, 8))))["ranges"] == 0
    assert printed(run(*command, region_file, "virtual", *box((3, 4), (5, 6))))["reason"] == "LAYOUT"


@needs_hdf5_for_c
def test_two_hdf5_in_one_process(tmp_path, region_file):
    """Two shared libraries with their own HDF5 share this library; each is served by its own."""
    shared = ["-shared", "-fPIC", "-Dmain=run_program"]
    build_with_newer_hdf5(*shared, "-o", tmp_path / "newer.so")
    flags = [*shared, PROGRAMS / "region.c", *pkg_config("--cflags", "--libs"), "-o", tmp_path / "older.so"]
    run("h5cc", "-shlib", *flags, directory=tmp_path)
    script = (
        "import ctypes, sys\n"
        "words = [word.encode() for word in sys.argv[3:]]\n"
        "for name in sys.argv[1:3] * 2:\n"
        "    run = ctypes.CDLL(name).run_program\n"
        "    assert run(len(words) + 1, (ctypes.c_char_p * (len(words) + 2))(b'', *words)) == 0, name\n"
    )
    words = [region_file, "d", *box((3, 4, 5), (1, 10, 8))]
    shown = run(*UNCHECKED, sys.executable, "-c", script, tmp_path / "newer.so", tmp_path / "older.so", *words)
    assert shown.count("direct 1\n") == 4


def check_example(program, path, output):
    text = run(program, path, "d", 70, 2, output)
    with h5py.File(path) as file:
        expected = [file["d"][70:71], file["d"][::4, ::4, ::4]]
    assert output.read_bytes() == b"".join(part.tobytes() for part in expected)
    decoded = [tuple(map(int, pair)) for pair in re.findall(r"blocks decoded: (\d+) of (\d+)", text)]
    assert len(decoded) == 2 and all(0 < few < all_of_them / 2 for few, all_of_them in decoded), text


@needs_hdf5_for_c
def test_c_example(tmp_path, region_file):
    source, flags = EXAMPLES / "simulation_codes/read_slab.c", pkg_config("--cflags", "--libs")
    for link in ("-shlib", "-noshlib"):
        run("h5cc", link, "-Wall", "-Wextra", "-Werror", source, *flags, "-o", tmp_path / "slab", directory=tmp_path)
        check_example(tmp_path / "slab", region_file, tmp_path / "slab.raw")


@needs_hdf5_for_c
@needs_programs("h5fc", "gfortran")
def test_fortran_example(tmp_path, region_file):
    for link in ("-shlib", "-noshlib"):
        flags = [EXAMPLES / "simulation_codes/read_slab.f90", *pkg_config("--libs"), "-o", tmp_path / "slab"]
        run("h5fc", link, *flags, directory=tmp_path)
        check_example(tmp_path / "slab", region_file, tmp_path / "slab.raw")


def test_a_caller_without_hdf5_gets_an_error():
    library = ctypes.CDLL(str(PACKAGE / "lib" / "libh5stz_read.so"))
    identifier = ctypes.c_int64(1)
    assert library.stz_h5_read(*[identifier] * 5, None) == -1


@needs_programs("readelf")
def test_library_is_linked_against_libc_alone():
    library = PACKAGE / "lib" / "libh5stz_read.so"
    needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", run("readelf", "-dW", library)))
    assert not [name for name in needed if not re.match(r"(libc|libm|ld-linux.*|libc\.musl.*)\.so", name)], needed
    symbols = run("readelf", "--dyn-syms", "-W", library).splitlines()
    strong = [line for line in symbols if " UND " in line and "H5" in line and "WEAK" not in line]
    assert not strong, strong
    defined = {line.split()[7].split("@")[0] for line in symbols if re.search(r"(GLOBAL|WEAK) +DEFAULT +\d+ ", line)}
    assert {"stz_h5_read", "stz_h5_read_level", "stz_reader_open"} <= defined
    assert not [name for name in defined if not name.startswith("stz_")], defined

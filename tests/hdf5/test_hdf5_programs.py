"""The plug-in in compiled programs: C and Fortran; HDF5 shared, linked in and hidden, linked in with other names."""

import re
import shlex
import subprocess
from typing import NamedTuple

import pytest

from support import host_tools
from support.host_tools import ABSOLUTE, full_form, run
from support.paths import PROGRAMS
from support.requirements import needs, needs_programs, require

BOUND = 0.01
STORED = full_form(2, False, (16, 24), ABSOLUTE, BOUND)


def output(text):
    """The "key value..." lines of a test program; a repeated key's last line counts."""
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line}


def check(text, stored=STORED):
    printed = output(text)
    assert tuple(map(int, printed["cd_values"])) == stored
    assert 0 < float(printed["max_error"][0]) <= BOUND


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return tmp_path_factory.mktemp("programs")


def link_words(wrapper, *options):
    """The compiler's command that HDF5's wrapper would run, without the sources."""
    shown = subprocess.run([wrapper, *options, "-show"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return shlex.split(shown)


@pytest.fixture(scope="module")
def shared(build):
    require(needs_programs("h5cc"))
    run("h5cc", "-shlib", "-o", build / "shared", PROGRAMS / "filter.c", directory=build)
    return build / "shared"


def test_c_program(tmp_path, shared):
    check(run(shared, tmp_path / "f.h5", BOUND))


def test_c_program_with_unfiltered_edge_chunks(tmp_path, shared):
    check(run(shared, tmp_path / "f.h5", BOUND, "rawedges"))


@needs_programs("h5cc")
@pytest.mark.parametrize("options", [["-fPIE", "-pie"], ["-fno-pic", "-no-pie"]], ids=["pie", "no-pie"])
def test_error_stack_of_a_program_that_copies_hdf5s_variables(tmp_path, options):
    """H5E_PLINE in the program makes the linker move that variable of libhdf5 into the program."""
    command = link_words("h5cc", "-shlib")
    run(command[0], *options, PROGRAMS / "filter.c", "-o", tmp_path / "program", *command[1:])
    printed = run(tmp_path / "program", tmp_path / "f.h5", BOUND, "refuse")
    assert "message pipeline h5stz: cannot compress a fixed-length string" in printed


class StaticHdf5(NamedTuple):
    """HDF5 as an archive, and the other libraries that it needs."""

    archive: str
    libraries: list[str]


@pytest.fixture(scope="module")
def static():
    require(needs_programs("h5cc"))
    words = link_words("h5cc", "-noshlib")[1:]
    archive = next((word for word in words if word.endswith("libhdf5.a")), None)
    require(needs("HDF5 as a static library", archive))
    return StaticHdf5(archive, [word for word in words if not word.endswith(".a")])


@pytest.fixture(scope="module")
def hidden(build, static):
    """A program with HDF5's symbols in it, seen by nobody: the plug-in can ask nothing."""
    run("gcc", PROGRAMS / "filter.c", "-o", build / "hidden", static.archive, *static.libraries)
    return build / "hidden"


def test_hidden_hdf5_with_the_full_form(tmp_path, hidden):
    check(run(hidden, tmp_path / "f.h5", BOUND, "full"))


def test_hidden_hdf5_with_the_short_form_is_an_error(tmp_path, hidden):
    assert "failed" in run(hidden, tmp_path / "f.h5", BOUND, succeed=False)


def test_hdf5_of_the_program_itself(tmp_path, build, static):
    run(
        "gcc",
        "-rdynamic",
        PROGRAMS / "filter.c",
        "-o",
        build / "exported",
        "-Wl,--whole-archive",
        static.archive,
        "-Wl,--no-whole-archive",
        *static.libraries,
    )
    check(run(build / "exported", tmp_path / "f.h5", BOUND))


def test_hidden_hdf5_beside_a_global_one(tmp_path, shared, hidden):
    """The ids of the hidden copy must not be shown to the other: the short form fails, as without the other."""
    shared_copy = next(word for word in run("ldd", shared).split() if re.match(r"/.*libhdf5.*\.so", word))
    command = ["env", f"LD_PRELOAD={shared_copy}", hidden, tmp_path / "f.h5", BOUND]
    check(run(*command, "full"))
    assert "failed" in run(*command, succeed=False)


@needs_programs("nm", "objcopy")
def test_hdf5_with_renamed_symbols(tmp_path, build, static):
    """As VTK carries it: every symbol with the prefix vtkhdf5_."""
    symbols = set(re.findall(r" [A-TV-Z] (H5\w+)$", run("nm", "-g", static.archive), re.M))
    (build / "symbols").write_text("".join(f"{name} vtkhdf5_{name}\n" for name in sorted(symbols)))
    run("gcc", "-c", *static.libraries, PROGRAMS / "filter.c", "-o", build / "program.o")
    for name, source in [("renamed.o", build / "program.o"), ("librenamed.a", static.archive)]:
        run("objcopy", f"--redefine-syms={build / 'symbols'}", source, build / name)
    run(
        "gcc",
        "-rdynamic",
        build / "renamed.o",
        "-o",
        build / "renamed",
        "-Wl,--whole-archive",
        build / "librenamed.a",
        "-Wl,--no-whole-archive",
        *static.libraries,
    )
    printed = run(build / "renamed", tmp_path / "f.h5", BOUND, "refuse")
    assert "message pipeline h5stz: cannot compress a fixed-length string" in printed
    check(printed)


@needs_programs("h5fc", "gfortran")
def test_fortran_program(tmp_path, build):
    run("h5fc", "-shlib", "-o", build / "fortran", PROGRAMS / "filter.f90", directory=build)
    check(run(build / "fortran", tmp_path / "f.h5", BOUND), full_form(3, False, (16, 16), ABSOLUTE, BOUND))


@needs_programs("readelf")
def test_plugin_depends_on_the_c_library_alone():
    dynamic = run("readelf", "-dW", host_tools.plugin_file())
    needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic))
    assert not [name for name in needed if not re.match(r"(libc|libm|ld-linux.*|libc\.musl.*)\.so", name)], needed
    assert "NODELETE" in dynamic
    symbols = run("readelf", "--dyn-syms", "-W", host_tools.plugin_file())
    undefined = [line.split()[-1] for line in symbols.splitlines() if " UND " in line]
    assert not [name for name in undefined if "H5" in name], undefined
    defined = {
        line.split()[7].split("@")[0] for line in symbols.splitlines() if re.search(r"(GLOBAL|WEAK) +DEFAULT +\d+ ", line)
    }
    assert {"H5PLget_plugin_type", "H5PLget_plugin_info", "stz_cd_values_parse", "stz_cd_values_pack"} <= defined
    assert not [name for name in defined if not re.match(r"stz_|H5PLget_plugin_", name)], defined

"""The installed C libraries, without Python: built as README says, used by C projects and by HDF5's programs."""

import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support import host_tools
from support.paths import PROGRAMS, ROOT
from support.requirements import needs_programs, require

sys.path.insert(0, str(ROOT / "filter/tools"))
import build_filter

USER = PROGRAMS / "installed"
pytestmark = pytest.mark.slow


def run(*words, **variables):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, env=os.environ | variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """Where `cmake -S filter -B build; cmake --build build; cmake --install build --prefix PREFIX` puts everything."""
    require(needs_programs("make", "c++"))
    cmake, build, target = build_filter.program("cmake"), ROOT / "build/release", tmp_path_factory.mktemp("prefix")
    run(cmake, "-S", ROOT / "filter", "-B", build)
    run(cmake, "--build", build, "-j", build_filter.jobs())
    run(cmake, "--install", build, "--prefix", target)
    return target


def check_output(printed):
    version, ratio = re.fullmatch(r"ok (\S+) (\S+)\n", printed).groups()
    assert version == h5stz.__version__ and float(ratio) > 10


def test_a_project_that_uses_find_package(prefix, tmp_path):
    cmake = build_filter.program("cmake")
    run(cmake, "-S", USER, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(cmake, "--build", tmp_path)
    for program in ("with_shared", "with_static"):
        check_output(run(tmp_path / program))


@needs_programs("pkg-config")
def test_a_project_that_uses_pkg_config(prefix, tmp_path):
    (description,) = prefix.rglob("stz.pc")
    flags = run("pkg-config", "--cflags", "--libs", "stz", PKG_CONFIG_PATH=str(description.parent)).split()
    run("cc", USER / "main.c", USER / "codec.c", "-o", tmp_path / "program", *flags, "-lm")
    check_output(run(tmp_path / "program", LD_LIBRARY_PATH=str(description.parents[1])))


@needs_programs("readelf")
def test_libraries_have_versioned_names_and_need_libc_alone(prefix):
    for name in ("libstz.so", "libh5stz_read.so"):
        (library,) = prefix.rglob(name)
        dynamic = run("readelf", "-d", library)
        assert re.search(r"SONAME.*\[" + re.escape(name) + r"\.\d+\]", dynamic)
        needed = re.findall(r"NEEDED.*\[(.+?)\]", dynamic)
        assert all(re.match(r"(libc|libm|libdl|libpthread|ld-linux.*)\.so", library) for library in needed), needed


@needs_programs("h5dump")
def test_h5dump_reads_a_compressed_file(prefix, tmp_path):
    field = np.sin(np.arange(4096, dtype="f4") / 100).reshape(16, 16, 16)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file.create_dataset("x", data=field, chunks=field.shape, **h5stz.STZ(absolute=1e-3))
    (plugin,) = (path for path in prefix.rglob("libh5stz.so") if path.parent.name == "plugins")
    printed = run("h5dump", "-y", "-w", "1", "-m", "%.9g", "-d", "/x", tmp_path / "f.h5", HDF5_PLUGIN_PATH=str(plugin.parent))
    values = np.array(re.search(r"DATA \{(.*?)\}", printed, re.DOTALL)[1].replace(",", " ").split(), "f8")
    assert np.all(np.abs(values - field.ravel()) <= 1e-3)


def test_without_a_compiler_two_lines_say_what_to_install(tmp_path):
    words = [sys.executable, ROOT / "setup.py", "build_ext", "--build-lib", tmp_path, "--build-temp", tmp_path]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"CXX": "no-such-compiler"})
    assert done.returncode != 0
    message = done.stderr.strip().splitlines()[-2:]
    assert "C++20 compiler" in message[0] and "no-such-compiler" in message[0] and message[1].startswith("Install")


@pytest.fixture(scope="session")
def clang():
    """The directory of the build by clang; a warning would have been an error."""
    return build_filter.build(ROOT / "build/clang", ["all"], {"CMAKE_CXX_COMPILER": "clang++"}, preset="clang")


@needs_programs("clang++")
@pytest.mark.parametrize("program", ["check_kernels", "unit_tests"])
def test_native_tests_compiled_by_clang_pass(clang, program):
    run(clang / "tests" / program)


@needs_programs("clang++")
@pytest.mark.parametrize("isa", ["baseline", "avx2", "avx512"])
def test_clang_and_gcc_make_the_same_bytes_and_bits(clang, isa):
    """An instruction set that the machine lacks falls back to the one before it."""
    printed = run(sys.executable, PROGRAMS / "compare_cores.py", clang / "libstz.so", host_tools.plugin_file(), H5STZ_ISA=isa)
    assert printed.endswith(" streams\n")

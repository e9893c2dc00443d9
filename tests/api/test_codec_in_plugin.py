"""The package holds one copy of the codec, in the plug-in: the other libraries find it there, and only there."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import h5stz
from support.requirements import needs_programs

PACKAGE = Path(h5stz.__file__).parent
OTHERS = [*PACKAGE.glob("_core.*.so"), *PACKAGE.glob("lib/*.so"), *PACKAGE.glob("connector/*.so")]
ERROR_LIBRARY = -11
#: A library with the plug-in's soname and functions of the codec, which answer for no other.
OTHER_VERSION = """
int stz_version_number(void) { return VERSION; }
int stz_compress(void) { return -77; }
int stz_info(void) { return -77; }
const char* stz_error_text(int code) { return "of the wrong library"; }
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package's folders with libraries."""
    for folder in ("plugins", "lib"):
        shutil.copytree(PACKAGE / folder, tmp_path / "h5stz" / folder)
    return tmp_path / "h5stz"


def compile_library(path, *options):
    subprocess.run(["cc", "-shared", "-fPIC", "-o", path, *options, "-xc", "-"], input=OTHER_VERSION, text=True, check=True)
    return path


def python(program, *arguments, **options):
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, **options)
    return done.stdout.strip() or done.stderr


def test_the_libraries_are_small():
    """The codec has 4 MB. Bytecode comes on top, where pip compiles it."""
    assert len(OTHERS) == 4
    assert all(path.stat().st_size < 700_000 for path in OTHERS)
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in files) < 8_000_000


@needs_programs("cc")
def test_a_library_of_the_same_name_takes_no_calls(tmp_path):
    """Neither one that was loaded first, with the same soname, nor functions of the program."""
    other = compile_library(tmp_path / "libh5stz.so", "-DVERSION=1", "-Wl,-soname,libh5stz.so")
    program = (
        "import ctypes, sys; ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL); import numpy as np, h5stz;"
        "print(h5stz.info(h5stz.compress(np.arange(9.0), absolute=0.1)).shape)"
    )
    assert python(program, other) == "(9,)"
    assert python(program, other, env={"LD_PRELOAD": str(other)}) == "(9,)"


def test_a_library_without_the_plugin_says_where_it_should_be(package):
    (package / "plugins/libh5stz.so").unlink()
    library = ctypes.CDLL(str(package / "lib/libh5stz_read.so"))
    library.stz_error_text.restype = ctypes.c_char_p
    message, size = ctypes.create_string_buffer(512), ctypes.c_size_t(7)
    assert library.stz_version_number() == 0
    assert library.stz_compress(None, None, None, None, size, ctypes.byref(size)) == ERROR_LIBRARY and size.value == 0
    assert library.stz_options_parse_text(b"lossless", None, None, message, ctypes.c_size_t(512)) == ERROR_LIBRARY
    expected = f"the HDF5 plug-in {package}/lib/../plugins/libh5stz.so is missing; install h5stz again"
    assert message.value.decode() == library.stz_error_text(0).decode() == expected


def test_an_import_without_the_plugin_says_so(tmp_path):
    """A plug-in outside of the package does not stand in for it."""
    shutil.copytree(PACKAGE / "plugins", tmp_path / "plugins")
    copy = shutil.copytree(PACKAGE, tmp_path / "h5stz", ignore=shutil.ignore_patterns("libh5stz.so", "__pycache__"))
    error = python("import h5stz", cwd=tmp_path).splitlines()[-1]
    assert error.startswith(f"ImportError: the HDF5 plug-in {copy}/plugins/libh5stz.so is missing: ")
    assert error.endswith("repeat `pip install h5stz`") and "install h5stz again" not in error


@needs_programs("cc")
def test_a_plugin_of_another_version_is_not_used(package):
    (package / "plugins/libh5stz.so").unlink()
    compile_library(package / "plugins/libh5stz.so", "-DVERSION=1")
    library = ctypes.CDLL(str(package / "lib/libh5stz_read.so"))
    library.stz_error_text.restype = ctypes.c_char_p
    assert library.stz_info(None, 0, None) == ERROR_LIBRARY
    assert f"does not have version {h5stz.__version__}" in library.stz_error_text(0).decode()


@pytest.mark.parametrize("kind", ["text", "truncated", "no file", "a library that forwards"])
def test_a_plugin_that_cannot_be_loaded(package, kind):
    plugin = package / "plugins/libh5stz.so"
    whole = plugin.read_bytes()
    plugin.unlink()
    if kind == "text":
        plugin.write_bytes(b"not a library")
    elif kind == "truncated":
        plugin.write_bytes(whole[: len(whole) // 2])
    elif kind == "no file":
        os.mkfifo(plugin)
    else:
        shutil.copy(package / "lib/libh5stz_read.so", plugin)
    program = (
        "import ctypes, os, sys; library = ctypes.CDLL(sys.argv[1]); library.stz_error_text.restype = ctypes.c_char_p;"
        "print(library.stz_info(None, 0, None), library.stz_error_text(0).decode())"
    )
    said = {
        "text": "cannot be loaded (",
        "truncated": "is truncated",
        "no file": "or not a file",
        "a library that forwards": "does not have version",
    }
    printed = python(program, package / "lib/libh5stz_read.so")
    assert printed.startswith(f"{ERROR_LIBRARY} the HDF5 plug-in ") and said[kind] in printed
    assert printed.endswith("; install h5stz again")


def test_a_plugin_that_comes_back_is_used(package):
    plugin = package / "plugins/libh5stz.so"
    library = ctypes.CDLL(str(package / "lib/libh5stz_read.so"))
    plugin.rename(package / "moved.so")
    assert library.stz_version_number() == 0
    (package / "moved.so").rename(plugin)
    assert library.stz_version_number() != 0


def test_a_package_of_links_to_files_elsewhere(tmp_path):
    """As package managers with a store lay it out."""
    for number, path in enumerate(path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        link = tmp_path / "site/h5stz" / path.relative_to(PACKAGE)
        link.parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "store").mkdir(exist_ok=True)
        link.symlink_to(shutil.copy(path, tmp_path / f"store/{number}{path.suffix}"))
    assert python("import h5stz; print(h5stz.FILTER_ID)", cwd=tmp_path / "site") == str(h5stz.FILTER_ID)


def test_a_library_with_a_relative_path_in_a_program_that_changes_its_directory(package):
    program = (
        "import ctypes, os; library = ctypes.CDLL('./lib/libh5stz_read.so'); os.chdir('/');print(library.stz_version_number())"
    )
    number = ctypes.CDLL(str(PACKAGE / "plugins/libh5stz.so")).stz_version_number()
    assert python(program, cwd=package) == str(number) != "0"


def test_the_plugin_alone_can_be_sent_along(tmp_path):
    """Without the package beside it."""
    shutil.copy(PACKAGE / "plugins/libh5stz.so", tmp_path)
    field = np.sin(np.arange(4096.0)).reshape(16, 16, 16)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=field, chunks=(8, 8, 8), **h5stz.STZ(absolute=1e-3))
    program = "import h5py; print(h5py.File('x.h5')['x'][...].sum())"
    printed = python(program, cwd=tmp_path, env={"HDF5_PLUGIN_PATH": str(tmp_path)})
    assert abs(float(printed) - field.sum()) < 1e-3 * field.size

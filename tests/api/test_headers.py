"""Each public header compiles alone, as C and as C++, without a warning; structures can be initialised by their macros."""

import re
import shlex
import subprocess

import pytest

from support import abi
from support.paths import ROOT
from support.requirements import needs_programs

STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-pedantic", "-Werror", "-fsyntax-only"]
LANGUAGES = [("cc", "c99"), ("cc", "c11"), ("c++", "c++11"), ("c++", "c++20")]


@pytest.fixture(scope="module")
def hdf5():
    """Flags for HDF5's headers, whose own warnings do not count."""
    words = shlex.split(subprocess.run(["h5cc", "-show"], check=True, text=True, stdout=subprocess.PIPE).stdout)
    return [word.replace("-I", "-isystem", 1) for word in words if word.startswith("-I")]


def check(tmp_path, compiler, standard, text, *flags):
    source = tmp_path / ("header.c" if compiler == "cc" else "header.cpp")
    source.write_text(text)
    command = [compiler, f"-std={standard}", *STRICT, f"-I{abi.INCLUDE}", *flags, source]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout


def initialisers():
    texts = "".join(header.read_text() for header in abi.headers())
    names = re.findall(r"^#define STZ_(\w+)_INIT", texts, re.MULTILINE)
    assert {f"stz_{name.lower()}" for name in names} == set(abi.structures()) - {"stz_layout"}
    types = {name: f"stz_{name.lower()}" for name in names}
    return "".join(
        f"{types[name]} make_{name}(void) {{ {types[name]} made = STZ_{name}_INIT; return made; }}\n" for name in names
    )


@needs_programs("cc", "c++", "h5cc")
@pytest.mark.parametrize("header", [header.name for header in abi.headers()])
@pytest.mark.parametrize("compiler, standard", LANGUAGES)
def test_header_alone(tmp_path, hdf5, compiler, standard, header):
    check(tmp_path, compiler, standard, f'#include "{header}"\n#include "{header}"\nint unused;\n', *hdf5)


@needs_programs("cc", "c++", "h5cc")
@pytest.mark.parametrize("compiler, standard", LANGUAGES)
def test_initialisers(tmp_path, hdf5, compiler, standard):
    includes = "".join(f'#include "{header.name}"\n' for header in abi.headers())
    check(tmp_path, compiler, standard, includes + initialisers(), *hdf5)


@needs_programs("cc")
def test_version_macros(tmp_path):
    """Numeric, and the number that can be compared is made of them."""
    check(
        tmp_path,
        "cc",
        "c99",
        '#include "stz.h"\n'
        "#if STZ_VERSION_NUMBER != STZ_VERSION_MAJOR * 10000 + STZ_VERSION_MINOR * 100 + STZ_VERSION_PATCH\n"
        "#error the number is another version\n"
        "#endif\n"
        'const char* version = "h5stz " STZ_VERSION_STRING;\n',
    )


def test_what_is_provisional_is_marked_in_headers_and_listed():
    """The table of docs/compatibility.md and the comments name the same functions and fields."""
    page = (ROOT / "docs/compatibility.md").read_text()
    listed = dict(re.findall(r"^\| (C [^|]+|programs) \| (.+) \|$", page, re.MULTILINE))
    names = {kind: set(re.findall(r"`(\w[\w.]*)`", text)) for kind, text in listed.items()}
    core = (abi.INCLUDE / "stz.h").read_text()
    functions = re.findall(r"/\* Provisional\.[^/]*?\*/\nSTZ_API [\w ]+?(?: \*)?(\w+)\(", core)
    fields = re.findall(r"(\w+)(?:\[[^]]*\])?; +/\* stz_\w+\. Provisional \*/", core) + re.findall(
        r"Provisional \*/\n  double (\w+)\[", core
    )
    headers = {header.name for header in abi.headers() if "Provisional:" in header.read_text().split("*/")[0]}
    assert names["C functions"] == set(functions)
    assert names["C options, and their names in Python, in text and on the command line"] == set(fields)
    assert names["C headers"] == headers

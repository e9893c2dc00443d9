"""The folders of filter/ depend on each other in one direction only: the table says which may include which."""

import os
import re
import subprocess

import pytest

from support.paths import ROOT

FILTER = ROOT / "filter"
CODEC = {"include", "base", "simd", "grid", "coding", "format", "predict", "masks"}  # what encoder and decoder share
ENCODER = ["encoder/plan", "encoder/represent", "encoder/block", "encoder/fit", "encoder/write", "encoder/fields"]
#: Folder -> folders whose headers it may include, beside its own. `include` holds the public headers.
ALLOWED = {
    "include": set(),
    "base": {"include"},
    "simd": {"base"},
    "grid": {"include", "base", "simd"},
    "coding": {"include", "base", "simd"},
    "format": {"include", "base", "simd", "grid", "coding"},
    "predict": {"include", "base", "simd", "grid", "coding", "format"},
    "masks": {"include", "base", "simd", "grid", "coding", "format", "predict"},
    "options": {"include", "base"},
    **{folder: CODEC | set(ENCODER[:place]) for place, folder in enumerate(ENCODER)},
    "encoder": {*CODEC, "options", *ENCODER},
    "decoder": CODEC,
    "reader": {*CODEC, "decoder"},
    "precision": {*CODEC, "options", "encoder", "encoder/plan", "decoder"},
    "rewrite": {*CODEC, "encoder", "encoder/plan", "decoder", "precision"},
    "api": {*CODEC, "options", "encoder", "decoder", "reader", "precision", "rewrite"},
    "recognition": {"include", "base", "options"},
    "hdf5": {"include", "base", "recognition"},
    "forward": {"include", "base"},
    "region": {"include", "base", "hdf5"},
    "intercept": {"include", "base", "hdf5", "region"},
    "preload": {"include", "base", "hdf5", "region", "intercept"},
    "connector": {"include", "base", "hdf5", "region", "intercept"},
}
SOURCES = [path for path in sorted(FILTER.rglob("*")) if path.suffix in {".h", ".cpp", ".inc"}]


def folder_of(source):
    return source.parent.relative_to(FILTER).as_posix()


def included(source):
    """The files of filter/ that a source names in #include "...", as paths in filter/."""
    for name in re.findall(r'^#include "([^"]+)"', source.read_text(), re.MULTILINE):
        path = (
            FILTER / name if "/" in name else next(p for p in (FILTER / "include" / name, source.parent / name) if p.exists())
        )
        assert path.exists(), f"{source}: {name} is not a path in filter/"
        yield path


def test_every_folder_has_a_row():
    assert {folder_of(source) for source in SOURCES} == ALLOWED.keys()


def test_the_table_has_no_circle():
    order = list(ALLOWED)
    assert all(order.index(below) < order.index(folder) for folder, lower in ALLOWED.items() for below in lower)


@pytest.mark.parametrize("folder", ALLOWED)
def test_includes_follow_the_table(folder):
    allowed = ALLOWED[folder] | {folder}
    wrong = [
        f"{source.relative_to(FILTER)} includes {path.relative_to(FILTER)}"
        for source in SOURCES
        if folder_of(source) == folder
        for path in included(source)
        if folder_of(path) not in allowed
    ]
    assert not wrong


def test_structures_of_one_library_have_different_names():
    """Two of one name in one namespace are undefined behaviour that no compiler reports."""
    named = {}
    for source in SOURCES:
        if source.suffix == ".h" and (spaces := re.findall(r"^namespace ([\w:]+) \{", source.read_text(), re.MULTILINE)):
            for name in re.findall(
                r"^(?:struct|class|enum class|enum) (\w+)(?: final)?(?: :[^{;]*)? \{", source.read_text(), re.MULTILINE
            ):
                named.setdefault((spaces[0], name), set()).add(folder_of(source) + "/" + source.name)
    twice = {name: files for name, files in named.items() if len(files) > 1}
    assert len(named) > 100 and not twice


def test_the_binding_uses_public_headers_only():
    headers = re.findall(r'extern from "([^"]+)"', "".join(p.read_text() for p in sorted((ROOT / "cython").glob("*.px*"))))
    assert headers and all((FILTER / "include" / header).exists() for header in headers)


@pytest.mark.slow
def test_sources_of_the_codec_can_be_compiled_together(tmp_path):
    """H5STZ_UNITY compiles eight sources at a time, and a new source changes which: names at file scope have to differ."""
    alone = re.search(r"set\(fuzzed_otherwise (.*)\)", (FILTER / "cmake/core.cmake").read_text())[1].split()
    folders = re.search(r"foreach\(folder ([^)]*)\)", (FILTER / "cmake/core.cmake").read_text())[1].split()
    sources = [source for folder in folders for source in sorted((FILTER / folder).glob("*.cpp"))]
    together = [source for source in sources if source.relative_to(FILTER).as_posix() not in alone]
    assert len(together) > 50
    unit = tmp_path / "all.cpp"
    unit.write_text("".join(f'#include "{source}"\n' for source in together))
    options = ["-std=c++20", "-fsyntax-only", f"-I{FILTER}", f"-I{FILTER / 'include'}", "-Wno-subobject-linkage", "-Wno-psabi"]
    done = subprocess.run([os.environ.get("CXX", "c++"), *options, unit], capture_output=True, text=True)
    assert done.returncode == 0, "\n".join(line for line in done.stderr.splitlines() if "error" in line)

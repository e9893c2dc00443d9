"""The packages of pyfilter/h5stz depend on each other in one direction only: the table says which may import which."""

import ast
import functools
import re
from graphlib import TopologicalSorter

import pytest

from support.paths import ROOT

PACKAGE = ROOT / "pyfilter/h5stz"
#: Modules that every package may import, and of each other those that stand before them; "_core" is cython/.
COMMON = (
    "_core",
    "counts",
    "loading",
    "errors",
    "new_files",
    "signatures",
    "progress",
    "type_words",
    "elements",
    "stream_info",
    "limits",
    "unreadable",
    "slabs",
    "validity",
    "damage",
    "patterns",
    "waiting",
    "thread_team",
)
#: Package or module -> those it may import, beside itself and COMMON. Each names only what stands before it.
ALLOWED: dict[str, set[str]] = {
    "options": set(),
    "codec": {"options"},
    "estimating": {"options"},
    "tuning": {"options", "codec"},
    "hdf5": {"options"},
    "sources": {"hdf5"},
    "reading": {"options", "hdf5", "sources"},
    "files": {"options", "hdf5", "sources", "reading"},
    "analysis": {"hdf5", "sources", "files", "reading"},
    "dask": {"options", "hdf5", "reading", "files"},
    "writing": {"options", "hdf5", "reading", "files", "dask"},
    "xarray": {"options", "hdf5", "sources", "reading", "files"},
    "zarr": {"options", "codec", "sources", "reading", "hdf5"},
    "programs": {"options", "hdf5"},
}
WITHOUT_ROW = {"__init__", "__main__", "cli", "_pyinstaller"}  # the surface, made of all others; hooks for PyInstaller


@functools.cache
def modules():
    """(package or module, path, names of h5stz.… that it imports) of everything."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).with_suffix("").parts[0]
        imported = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "h5stz":
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("h5stz."):
                imported.add(node.module.split(".")[1])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("h5stz.")}
            assert not isinstance(node, ast.ImportFrom) or node.level == 0, f"{path}: imports are absolute"
        found.append((name, path.relative_to(PACKAGE), imported))
    return found


def test_every_package_has_a_row():
    assert {name for name, _, _ in modules()} == ALLOWED.keys() | set(COMMON) - {"_core"} | WITHOUT_ROW


def test_the_table_has_no_circle():
    order = list(ALLOWED)
    assert all(order.index(below) < order.index(name) for name, lower in ALLOWED.items() for below in lower)


def test_modules_import_each_other_in_no_circle():
    """Imports for type checkers count too. Commands import `cli`, which loads them by name."""
    places = {".".join(("h5stz", *path.relative_to(PACKAGE).with_suffix("").parts)): path for path in PACKAGE.rglob("*.py")}
    needed = {}
    for module, path in places.items():
        found = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        names = {name for node in found for name in (node.module, *(f"{node.module}.{each.name}" for each in node.names))}
        needed[module] = names & places.keys() - {module}
    TopologicalSorter(needed).prepare()


@pytest.mark.parametrize("package", [*COMMON[1:], *ALLOWED])
def test_imports_follow_the_table(package):
    allowed = {*COMMON, package} | ALLOWED[package] if package in ALLOWED else set(COMMON[: COMMON.index(package)])
    wrong = [f"{path} imports {each}" for name, path, imported in modules() if name == package for each in imported - allowed]
    assert not wrong


def test_the_map_names_every_package_and_module():
    text = (ROOT / "pyfilter/README.md").read_text()
    named = set(re.findall(r"`(\w+)(?:/|\.py)`", text))
    assert named == (ALLOWED.keys() | set(COMMON) | {"cli"}) - {"_core"}

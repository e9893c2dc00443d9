"""Names of the package load when they are used: what `import h5stz` loads and costs, and that every name is there.

tests/python/test_forks.py has what forks and threads meet meanwhile.
"""

import ast
import importlib
import pickle
import pydoc
import re
import subprocess
import sys

import pytest

import h5stz
from support.paths import BENCHMARKS, ROOT

#: Beside what h5py imports; those that start with h5stz: with the modules inside of them.
NOT_AT_IMPORT = [
    *(f"h5stz.{name}" for name in ("analysis", "cli", "dask", "estimating", "files", "new_files", "programs", "reading")),
    *(
        "h5stz.sources",
        "h5stz.tuning",
        "h5stz.writing",
        "h5stz.xarray",
        "h5stz.zarr",
        "h5stz.hdf5.file_kinds",
        "h5stz.hdf5.named_datasets",
    ),
    *("numpy.fft", "numpy.ma", "numpy.random", "concurrent.futures", "pathlib", "shutil", "tempfile", "urllib", "uuid", "xml"),
    *("click", "dask", "fsspec", "matplotlib", "netCDF4", "xarray", "zarr"),
]


def run(program, *arguments):
    """The words that a program prints."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def of_type_checkers():
    """{name: module} of the names that type checkers see as lazy: the imports of h5stz/__init__.py for them."""
    tree = ast.parse((ROOT / "pyfilter/h5stz/__init__.py").read_text())
    (block,) = (node.body for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = [node for node in block if node.module.startswith("h5stz.")]
    return {alias.name: node.module for node in imports for alias in node.names}


def test_an_import_does_not_load_the_rest():
    before = set(run("import sys, h5py; print(*sys.modules)"))
    loaded = set(run("import sys, h5py, h5stz; print(*sys.modules)")) - before
    assert "h5stz.codec" in loaded
    assert [
        name for name in sorted(loaded) if name in NOT_AT_IMPORT or name.startswith(tuple(f"{n}." for n in NOT_AT_IMPORT))
    ] == []


@pytest.mark.slow
def test_an_import_costs_little_more_than_h5py():
    done = subprocess.run([sys.executable, BENCHMARKS / "timing.py"], check=True, capture_output=True, text=True)
    ratio = float(re.search(r"([\d.]+) of minima", done.stdout)[1])
    assert ratio <= 1.4, done.stdout


@pytest.mark.parametrize("name", [*h5stz.__all__, "open"])
def test_every_name_is_that_of_its_module(name):
    lazy = of_type_checkers().get(name)
    found = getattr(h5stz, name)
    assert found is getattr(h5stz, name), "the same each time"
    if lazy is not None:
        assert found is getattr(importlib.import_module(lazy), name)
    if getattr(found, "__module__", "").startswith("h5stz."):
        assert found is getattr(sys.modules[found.__module__], name)


def test_type_checkers_see_the_names_that_load():
    table = {name: f"h5stz.{module}" for module, names in h5stz._LAZY.items() for name in names}
    assert of_type_checkers() == table
    assert table.keys() - {"open"} <= set(h5stz.__all__)


def test_all_names_are_listed_and_imported_by_a_star():
    listed = run("import h5stz; print(*dir(h5stz))")
    assert set(listed) >= {*h5stz.__all__, "open", "reading", "files", "xarray", "codec"}
    assert listed == sorted(listed)
    assert set(run("from h5stz import *; print(*dir())")) >= set(h5stz.__all__) - {"__version__"}
    assert run("from h5stz import *; import builtins; print(open is builtins.open)") == ["True"]


FIRST_USES = """
import operator, os, sys
import h5py
for path in sys.argv[1:]:  # each is the first that a process uses
    child = os.fork()
    if not child:
        import h5stz
        operator.attrgetter(path)(h5stz)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, path
"""


def test_modules_are_attributes():
    paths = "reading.view.View", "files.repacking.repack", "hdf5.named_datasets", "xarray.writing", "validity"
    run(FIRST_USES, *paths, "sources.remote_files")


def test_names_that_do_not_exist():
    for package in (h5stz, h5stz.reading):
        for name in ("viw", "_viw", "__wrapped__"):
            with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute '{name}'"):
                getattr(package, name)


def test_a_module_without_its_package_is_no_attribute():
    run("import sys; sys.modules['click'] = None; import h5stz; assert not hasattr(h5stz, 'cli')")


def test_help_describes_names_that_have_not_been_used():
    program = "import sys, h5stz, pydoc; sys.stdout.write(pydoc.render_doc(h5stz, renderer=pydoc.plaintext))"
    text = " ".join(run(program))
    assert "class View(" in text and "repack(" in text and "xarray_encoding(" in text
    assert pydoc.locate("h5stz.view") is h5stz.view


def test_a_pickle_loads_what_it_needs():
    rule = h5stz.Rule("t*", {"absolute": 1e-3})
    again = "import pickle, sys; print(pickle.loads(bytes.fromhex(sys.argv[1])) is None)"
    assert run(again, pickle.dumps(rule).hex()) == ["False"]
    for name in ("repack", "View", "estimate"):
        assert pickle.loads(pickle.dumps(getattr(h5stz, name))) is getattr(h5stz, name)

"""No file and no function is too long to be read at once."""

import ast

import pytest

from support.paths import ROOT
from support.requirements import needs_packages

MOST_LINES = 400  # of a file
MOST_CPP_LINES = 60  # of a function in filter/, without comments and empty lines
MOST_PYTHON_LINES = 50  # of a function in pyfilter/, without its docstring
#: Folder -> suffixes of what is written by hand there; the build puts other files beside them.
WRITTEN = {"filter": {".h", ".cpp", ".inc", ".py", ".cmake"}, "pyfilter": {".py", ".pyi"}, "cython": {".pyx", ".pxd"}}


def sources(folder):
    return [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in WRITTEN[folder]]


def python_lengths(source):
    """(name, lines without the docstring) of each function in a Python source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node, clean=False) is not None:
                lines -= node.body[0].end_lineno - node.body[0].lineno + 1
            yield node.name, lines


def test_lengths_of_python_functions_do_not_count_docstrings():
    source = 'def f():\n    """One.\n\n    Two.\n    """\n    def g():\n        pass\n    return g\n'
    assert dict(python_lengths(source)) == {"f": 4, "g": 2}


@pytest.mark.parametrize("folder", WRITTEN)
def test_files_are_short(folder):
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources(folder)}
    too_long = {name: lines for name, lines in lengths.items() if lines > MOST_LINES}
    assert lengths and too_long == {}


def test_python_functions_are_short():
    files = {path.relative_to(ROOT): path.read_text() for path in sources("pyfilter")}
    lengths = [(lines, name, str(path)) for path, text in files.items() for name, lines in python_lengths(text)]
    too_long = [one for one in lengths if one[0] > MOST_PYTHON_LINES]
    assert len(lengths) > 500 and too_long == []


@needs_packages("lizard")
def test_cpp_functions_are_short():
    import lizard

    files = [lizard.analyze_file(str(path)) for path in sources("filter") if path.suffix in {".h", ".cpp"}]
    lengths = [(one.nloc, one.name, file.filename) for file in files for one in file.function_list]
    too_long = [one for one in lengths if one[0] > MOST_CPP_LINES]
    assert len(lengths) > 1000 and too_long == []

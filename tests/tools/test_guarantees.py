"""Every promise of docs/guarantees.md names tests, and these are there: functions that pytest collects."""

import ast
import re

import pytest

from support.paths import ROOT

PAGE = (ROOT / "docs/guarantees.md").read_text()
BEGIN, END = "<!-- promises", "<!-- end of promises -->"


def rows():
    """(promise, tests as they are named, what is not promised) of the table."""
    table = PAGE[PAGE.index(BEGIN) : PAGE.index(END)]
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def functions(path):
    """The tests that pytest collects from a file: functions at its top, and methods of classes of tests."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        members = node.body if isinstance(node, ast.ClassDef) and node.name.startswith("Test") else [node]
        found |= {one.name for one in members if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")}
    return found


def test_there_are_promises():
    assert len(rows()) > 20


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:60])
def test_the_tests_of_a_promise_are_there(row):
    promise, tests = row[0], re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row[1])
    assert promise and tests, "a promise without a test"
    assert len(tests) == row[1].count("::"), "a name that is not understood"
    for path, name in tests:
        assert re.fullmatch(r"test_\w+\.py", path.rpartition("/")[2]), f"pytest does not collect {path}"
        assert name in functions(ROOT / path), f"{path} has no {name}"

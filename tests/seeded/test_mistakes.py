"""The list of seeded mistakes fits the source: each line is there once, and so are the tests that notice it."""

import pytest

from seeded.mistakes import MISTAKES
from support.paths import ROOT


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.what)
def test_it_can_be_made(mistake):
    assert (ROOT / mistake.file).read_text().count(mistake.before) == 1
    assert mistake.before != mistake.after and (ROOT / "tests" / mistake.test.split("::")[0]).exists()


def test_there_are_some_of_each_kind():
    folders = [mistake.file.split("/") for mistake in MISTAKES]
    for folder, fewest in (("encoder", 4), ("decoder", 4), ("reader", 2), ("hdf5", 2)):
        assert sum(parts[:2] == ["filter", folder] for parts in folders) >= fewest
    assert sum(parts[0] == "pyfilter" for parts in folders) >= 6

"""A file for datasets."""

import h5py
import pytest


@pytest.fixture
def file(tmp_path):
    """A new HDF5 file, open for writing."""
    with h5py.File(tmp_path / "f.h5", "w") as opened:
        yield opened

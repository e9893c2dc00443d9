"""`repack` and `unpack` of files with everything that HDF5 can hold."""

import h5py
import numpy as np
import pytest
from repack.test_copy_tree import CONTENTS, described

import h5stz
from support import exact


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_lossless_and_back(content, tmp_path):
    """What was compressed without loss and unpacked again describes itself as before, but for layouts and chunks."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        content(file)
        file["large"] = np.arange(6000.0).reshape(60, 100)
    report = h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", lossless=True)
    assert {each.path: each.reason for each in report.outcomes}["/large"] is None and not report.notes
    h5stz.unpack(tmp_path / "b.h5", tmp_path / "c.h5")
    with h5py.File(tmp_path / "a.h5") as a, h5py.File(tmp_path / "c.h5") as c:
        before, after = described(a), described(c)
        assert list(before) == list(after)
        for name, one in before.items():
            if one[0] == "dataset":
                assert (one[1], one[2], one[5:]) == (after[name][1], after[name][2], after[name][5:]), name
            else:
                assert one == after[name], name


def test_gigabytes_that_were_never_written(tmp_path):
    """Sparse datasets stay sparse: only chunks that there are take time."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        sparse = file.create_dataset("x", (1 << 16, 1 << 14), "f4", chunks=(512, 512))
        sparse[1000:1100, 5000:5100] = 3
    h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", absolute=0.1)
    with h5py.File(tmp_path / "b.h5") as file:
        assert exact.same_bits(file["x"][900:1200, 4900:5200] > 2.5, np.pad(np.ones((100, 100), bool), 100))
        assert file["x"].id.get_num_chunks() < 10

"""`repack` and `unpack` of files with everything that HDF5 can hold."""

import h5py
import numpy as np
import pytest
from h5py import h5a, h5d, h5s, h5t
from repack.test_copy_tree import CONTENTS, described

import h5stz
from support import exact, host_tools
from support.requirements import needs_programs


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


def strings_that_fill_their_bytes(file):
    """Of the type NULLTERM, which h5py cuts, beside values of variable length and references."""
    full, text = h5t.C_S1.copy(), h5t.py_create(h5py.string_dtype("ascii"), logical=True)
    full.set_size(6)
    full.set_strpad(h5t.STR_NULLTERM)
    for name, beside in (("text", text), ("reference", h5t.STD_REF_OBJ), ("list", h5t.vlen_create(h5t.STD_I16LE))):
        size = beside.get_size()
        pair = h5t.create(h5t.COMPOUND, 6 + size)
        pair.insert(b"name", 0, full)
        pair.insert(b"beside", 6, beside)
        alone = h5t.create(h5t.COMPOUND, 6)
        alone.insert(b"name", 0, full)
        words = np.array([(b"Hello!",), (b"World!",)], [("name", "S6")])
        h5d.create(file.id, name.encode(), pair, h5s.create_simple((2,))).write(h5s.ALL, h5s.ALL, words, alone)
    file["text"].attrs["whole"] = 1


def types_that_numpy_has_not(file):
    """Datasets and attributes, with the values that HDF5 gives by itself or written as bytes."""
    bits, bias, tag = h5t.STD_U16LE.copy(), h5t.IEEE_F32LE.copy(), h5t.create(h5t.OPAQUE, 4)
    bits.set_precision(14)
    bias.set_ebias(100)
    tag.set_tag(b"packet")
    kinds = {"bits": bits, "tag": tag, "time": h5t.UNIX_D32LE, "bitfield": h5t.STD_B16LE}
    kinds["nested"] = h5t.vlen_create(h5t.vlen_create(h5t.STD_I32LE))
    for name, kind in kinds.items():
        dataset = h5d.create(file.id, name.encode(), kind, h5s.create_simple((5,)))
        attribute = h5a.create(file.id, name.encode(), kind, h5s.create_simple((5,)))
        if name != "nested":
            raw = np.arange(5 * kind.get_size(), dtype="u1").view(f"V{kind.get_size()}")
            dataset.write(h5s.ALL, h5s.ALL, raw, kind)
            attribute.write(raw, kind)


@needs_programs("h5dump")
@pytest.mark.parametrize("content", [strings_that_fill_their_bytes, types_that_numpy_has_not])
@pytest.mark.parametrize("copy", ["repack", "unpack", "salvage"])
def test_what_is_not_compressed_is_not_converted(content, copy, tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        content(file)
    (tmp_path / "b").mkdir()
    options = {"lossless": True} if copy == "repack" else {}
    getattr(h5stz, copy)(tmp_path / "a.h5", tmp_path / "b" / "a.h5", **options)
    before, after = (host_tools.run("h5dump", "a.h5", directory=each) for each in (tmp_path, tmp_path / "b"))
    assert before == after


@pytest.mark.parametrize("names", [(b"a\xff", b"g\xfe"), (b"\xe4", b"\xff\xff")])
def test_names_that_are_no_utf_8(names, tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for place in (file, file.create_group(names[1])):
            place[names[0]] = np.arange(6000.0).reshape(60, 100)
    assert all(each.reason is None for each in h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", lossless=True).outcomes)
    assert h5stz.salvage(tmp_path / "b.h5", tmp_path / "c.h5").sound
    assert len(h5stz.unpack(tmp_path / "c.h5", tmp_path / "d.h5")[0]) == 2
    with h5py.File(tmp_path / "d.h5") as file:
        assert file[names[1]][names[0]][59, 99] == file[names[0]][59, 99] == 5999

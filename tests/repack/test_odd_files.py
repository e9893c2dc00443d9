"""`repack` and `unpack` of files with everything that HDF5 can hold."""

import contextlib
import ctypes
import os
import subprocess

import h5py
import numpy as np
import pytest
from h5py import h5a, h5d, h5p, h5s, h5t, h5z
from repack.test_copy_tree import CONTENTS, described

import h5stz
from h5stz import cli
from h5stz.hdf5 import calls, file_kinds, unknown_links
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


def raw_values(file, name, kind, count=5):
    """A dataset and an attribute of a type with bytes that differ."""
    raw = (np.arange(count * kind.get_size()) % 7).astype("u1").view(f"V{kind.get_size()}")
    dataset = h5d.create(file.id, name, kind, h5s.create_simple((count,)))
    dataset.write(h5s.ALL, h5s.ALL, raw, kind)
    h5a.create(dataset, b"attribute", kind, h5s.create_simple((count,))).write(raw, kind)


def compound(size, *members):
    made = h5t.create(h5t.COMPOUND, size)
    for name, offset, kind in members:
        made.insert(name, offset, kind)
    return made


def floats_of_other_sizes(file):
    """Of 128 bits, of the 80 bits of x86 in either order, with another bias, of VAX."""
    quad, extended, bias, vax = (h5t.IEEE_F64LE.copy() for _ in range(4))
    for kind, bits in ((quad, 128), (extended, 80)):
        kind.set_size(16)
        kind.set_precision(bits)
        kind.set_fields(bits - 1, bits - 16, 15, 0, bits - 16)
        kind.set_ebias(16383)
    backwards = extended.copy()
    backwards.set_order(h5t.ORDER_BE)
    bias.set_ebias(1000)
    for name, kind in (("quad", quad), ("extended", extended), ("backwards", backwards), ("bias", bias)):
        raw_values(file, name.encode(), kind)
    if hasattr(h5t, "ORDER_VAX"):
        vax.set_order(h5t.ORDER_VAX)
        raw_values(file, b"vax", vax)
    file["longdouble"] = np.arange(4096, dtype=np.longdouble)


def odd_enumerations(file):
    """Of other integers, of 12 bits, and with names that are no UTF-8."""
    bits = h5t.STD_I16LE.copy()
    bits.set_precision(12)
    for number, base in enumerate((h5t.STD_I8BE, h5t.STD_U64BE, h5t.STD_I16BE, bits)):
        kind = h5t.enum_create(base)
        for value, name in enumerate((b"A", b"B\xc3\xa9", b"odd\xff")):
            kind.enum_insert(name, value)
        raw_values(file, b"%d" % number, kind)
    file.create_dataset("large", data=np.eye(90, dtype="i1"), dtype=h5py.enum_dtype({"no": 0, "yes": 1}, "i1"))
    file["bool"] = np.eye(90, dtype=bool)


def padded_compounds(file):
    """Room between the members, complex numbers of half precision, padded, swapped; members of types that NumPy has not."""
    bits = h5t.STD_I32LE.copy()
    bits.set_precision(14)
    pair = h5t.array_create(h5t.STD_I16LE, (2, 2))
    half, single = h5t.IEEE_F16LE, h5t.IEEE_F32LE
    kinds = {
        "padded": compound(24, (b"a", 1, h5t.STD_I16LE), (b"b", 9, h5t.IEEE_F32BE)),
        "complex": compound(16, (b"r", 0, single), (b"i", 8, single)),
        "swapped": compound(8, (b"i", 0, single), (b"r", 4, single)),
        "half": compound(4, (b"r", 0, half), (b"i", 2, half)),
        "half_be": compound(4, (b"r", 0, h5t.IEEE_F16BE), (b"i", 2, h5t.IEEE_F16BE)),
        "odd": compound(24, (b"n\xff", 0, bits), (b"o", 8, pair)),
    }
    for name, kind in kinds.items():
        raw_values(file, name.encode(), kind, 2500)


def arrays_of_strings(file):
    """Fixed and of variable length, with bytes that are no UTF-8, chunked and hardly written, and empty."""
    fixed = h5t.C_S1.copy()
    fixed.set_size(5)
    fixed.set_strpad(h5t.STR_SPACEPAD)
    raw_values(file, b"fixed", h5t.array_create(fixed, (3,)))
    text = h5t.py_create(h5py.string_dtype(), logical=True)
    h5d.create(file.id, b"arrays", h5t.array_create(text, (2,)), h5s.create_simple((4,)))
    file.create_dataset("sparse", (64, 64), h5py.string_dtype(), chunks=(8, 8))[3, 3] = "\u00e9"
    file.create_dataset("none", (0,), h5py.string_dtype())
    file["latin"] = np.array([b"\xff\xfe", b"a"])
    file["latin"].attrs.create("fixed", b"\xe9", dtype="S3")
    file.attrs["empty"] = h5py.Empty("S4")


def odd_attributes(file):
    """Names that are no UTF-8, and attributes whose names mean something with values that mean nothing."""
    file["d"] = np.arange(8192.0).reshape(64, 128)
    for item in (file["/"], file["d"], file.create_group("g")):
        for name, kind in ((b"odd\xff", h5t.STD_I32LE), (b"text\xe9", h5t.py_create(h5py.string_dtype(), logical=True))):
            h5a.create(item.id, name, kind, h5s.create(h5s.SCALAR))
    h5a.create(file["d"].id, b"coordinates", h5t.array_create(h5t.STD_I32LE, (2,)), h5s.create(h5s.SCALAR))
    h5a.create(file["d"].id, b"_FillValue", h5t.STD_I32LE, h5s.create(h5s.NULL))
    h5a.create(file["d"].id, b"missing_value", h5t.create(h5t.OPAQUE, 3), h5s.create(h5s.SCALAR))
    h5a.create(file["g"].id, b"axes", h5t.create(h5t.OPAQUE, 3), h5s.create(h5s.SCALAR))


def odd_named_types(file):
    """Named types with members that are not compressed, datasets and attributes of them, and attributes on them."""
    bits, tag = h5t.STD_I32LE.copy(), h5t.create(h5t.OPAQUE, 7)
    bits.set_precision(14)
    tag.set_tag(b"tag")
    lists = h5t.vlen_create(h5t.vlen_create(h5t.STD_I16LE))
    kinds = {"members": compound(24, (b"x", 0, bits), (b"v", 8, lists)), "time": h5t.UNIX_D32LE.copy()}
    for name, kind in (kinds | {"references": h5t.vlen_create(h5t.STD_REF_OBJ), "tag": tag}).items():
        kind.commit(file.id, name.encode())
        h5d.create(file.id, b"of " + name.encode(), kind, h5s.create_simple((5,)))
        h5a.create(file["/"].id, b"of " + name.encode(), kind, h5s.create(h5s.SCALAR))
        h5a.create(kind, b"on", h5t.STD_I32LE, h5s.create(h5s.SCALAR)).write(np.array(4, "i4"))


ODD = (
    floats_of_other_sizes,
    odd_enumerations,
    padded_compounds,
    arrays_of_strings,
    odd_attributes,
    odd_named_types,
    strings_that_fill_their_bytes,
    types_that_numpy_has_not,
)


@needs_programs("h5dump")
@pytest.mark.parametrize("libver", ["earliest", "v110"])
@pytest.mark.parametrize("content", ODD)
def test_every_command_takes_odd_files(content, libver, tmp_path, monkeypatch, capsys):
    """What none of them compresses is kept as it is, and what they compress comes back."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "back").mkdir()
    with h5py.File("a.h5", "w", libver=libver) as file:
        content(file)
        file["z/field"] = np.random.default_rng(1).normal(size=(64, 128)).astype("f4")
    for words in (
        ["compress", "a.h5", "--dry-run", "--relative", "1e-3"],
        ["compress", "a.h5", "b.h5", "--lossless"],
        ["decompress", "b.h5", "back/a.h5"],
        ["verify", "a.h5", "b.h5"],
        ["info", "a.h5", "b.h5", "--all"],
        ["estimate", "a.h5", "--absolute", "1e-3"],
        ["salvage", "b.h5", "c.h5"],
        ["compare", "a.h5", "b.h5", "--within", "0"],
    ):
        assert cli.main(words) == 0, (words, capsys.readouterr())
        said = capsys.readouterr()
        assert not said.err and "note: " not in said.out, words
    before, after = (subprocess.run(["h5dump", "a.h5"], cwd=each, capture_output=True) for each in (tmp_path, "back"))
    assert before.stdout and before.stdout == after.stdout


def test_complex_numbers_of_either_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with h5py.File("a.h5", "w") as file:
        for order in "<>":
            numbers = np.random.default_rng(2).normal(size=(64, 64, 2)).astype(f"{order}f8")
            file["little" if order == "<" else "big"] = numbers.view(f"{order}c16")[..., 0]
    assert cli.main(["compress", "a.h5", "b.h5", "--absolute", "1e-3"]) == 0
    assert cli.main(["compare", "a.h5", "b.h5", "--within", "1e-3"]) == 0
    assert capsys.readouterr().out.count("largest error") == 4


def test_numbers_of_few_bits(tmp_path):
    """HDF5 takes 3 bits of 32 for damage since 1.14, unless it is told otherwise."""
    kind, creation = h5t.STD_U32LE.copy(), h5p.create(h5p.DATASET_CREATE)
    kind.set_precision(3)
    creation.set_chunk((20,))
    creation.set_filter(h5z.FILTER_NBIT, 0)
    access = h5p.create(h5p.FILE_ACCESS)
    calls.allow_odd_numbers(access)
    numbers = np.arange(40, dtype="u4") % 8
    with h5py.File(h5py.h5f.create(os.fsencode(tmp_path / "a.h5"), fapl=access)) as file:
        h5d.create(file.id, b"x", kind, h5s.create_simple((40,)), creation).write(h5s.ALL, h5s.ALL, numbers, kind)
    report = h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", lossless=True)
    assert [each.reason for each in report.outcomes] == ["type"] and not report.notes
    h5stz.unpack(tmp_path / "b.h5", tmp_path / "c.h5")
    assert h5stz.salvage(tmp_path / "c.h5", tmp_path / "d.h5").sound
    assert cli.main(["verify", str(tmp_path / "d.h5")]) == cli.main(["info", str(tmp_path / "d.h5"), "--all"]) == 0
    with file_kinds.opened_file(tmp_path / "d.h5") as file:
        found = np.empty(40, "u4")
        file["x"].id.read(h5s.ALL, h5s.ALL, found, kind)
        assert np.array_equal(found, numbers) and file["x"].id.get_create_plist().get_filter(0)[0] == h5z.FILTER_NBIT


@pytest.mark.parametrize("tracked", [False, True])
def test_links_of_unknown_kinds(tracked, tmp_path, capsys):
    """Which only one program can follow: their bytes, and their place among the others."""
    kind, content = 200, b"where\0it leads"
    said = []
    with registered(kind, said.append), h5py.File(tmp_path / "a.h5", "w", track_order=tracked) as file:
        file["b"], file["group/x"] = np.zeros((64, 64)), 1.0
        for place, name in ((file, b"a"), (file["group"], b"odd\xff")):
            assert unknown_links._created(place.id, name, kind, content, h5p.create(h5p.LINK_CREATE))
        file["c"] = 1.0
    for words in (["compress", "a.h5", "b.h5", "--lossless"], ["decompress", "b.h5", "c.h5"], ["salvage", "c.h5", "d.h5"]):
        assert cli.main([str(tmp_path / word) if word.endswith(".h5") else word for word in words]) == 0
        assert "kind" not in capsys.readouterr().out
    for words in (["verify", "d.h5"], ["info", "d.h5", "--all"], ["estimate", "d.h5"]):
        assert cli.main([words[0], str(tmp_path / words[1]), *words[2:]]) == 0
    with registered(kind, said.append), h5py.File(tmp_path / "d.h5") as file:
        assert list(file) == (["b", "group", "a", "c"] if tracked else ["a", "b", "c", "group"])
        said.clear()
        for place, name in ((file, b"a"), (file["group"], b"odd\xff")):
            assert place.id.links.get_info(name).type == kind
            assert said.pop() == content


@contextlib.contextmanager
def registered(kind, say):
    """A kind of links, known to HDF5 for the time; `say` is told what they say."""

    def query(_, address, size, *__):
        say(ctypes.string_at(address, size))
        return size

    follow = unknown_links._Follow(lambda *_: -1)
    made = unknown_links._Class(1, kind, b"test", None, None, None, follow, None, unknown_links._Query(query))
    assert calls.function("H5Lregister", ctypes.c_int, ctypes.POINTER(unknown_links._Class))(ctypes.byref(made)) >= 0
    try:
        yield
    finally:
        calls.function("H5Lunregister", ctypes.c_int, ctypes.c_int)(kind)


def test_chunks_that_hdf5_cannot_read(tmp_path, capsys):
    """Those of a dataset that stays as it is are copied with a note; in one that would be compressed they are an error."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name, shape in (("small", (20, 20)), ("large", (200, 200))):
            made = file.create_dataset(name, shape, "f4", chunks=(20, 20), compression="gzip")
            made.id.write_direct_chunk((0, 0), b"no deflate")
    report = h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", [h5stz.Rule("large", None)], lossless=True)
    assert [each.reason for each in report.outcomes] == ["not chosen", "small"]
    assert sorted(note.split(":")[0] for note in report.notes) == ["/large", "/small"]
    with h5py.File(tmp_path / "b.h5") as file:
        assert file["small"].id.read_direct_chunk((0, 0)) == (0, b"no deflate")
    assert cli.main(["compress", str(tmp_path / "a.h5"), str(tmp_path / "c.h5"), "--lossless"]) == 1
    assert str(tmp_path / "a.h5") in capsys.readouterr().err and not (tmp_path / "c.h5").exists()

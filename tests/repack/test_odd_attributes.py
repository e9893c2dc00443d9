"""Attributes with a meaning, and values that have none: no command fails, and all of them are kept."""

import re

import h5py
import numpy as np
import pytest
from h5py import h5a, h5s, h5t

import h5stz
from h5stz import cli
from support import host_tools
from support.requirements import needs_programs

NAMES = (
    *("coordinates", "bounds", "grid_mapping", "formula_terms", "units", "flag_meanings", "flag_values", "_FillValue"),
    *("missing_value", "axes", "NAME", "CLASS", "DIMENSION_LIST", "DIMENSION_LABELS", "_Netcdf4Dimid", "_Netcdf4Coordinates"),
)
TEXT = h5t.py_create(h5py.string_dtype(), logical=True)
FIXED = h5t.C_S1.copy()
FIXED.set_size(9)
FIXED.set_cset(h5t.CSET_UTF8)
FIXED.set_strpad(h5t.STR_SPACEPAD)


def raw(kind, space=None, content=None):
    """An attribute of any type of HDF5, and without a value if there is no content."""

    def create(item, name):
        made = h5a.create(item.id, name.encode(), kind.copy(), space or h5s.create(h5s.SCALAR))
        if content is not None:
            made.write(np.array(content, f"V{kind.get_size()}"), kind)

    return create


def of(value, dtype=None):
    return lambda item, name: item.attrs.create(name, value, dtype=dtype)


VALUES = {
    "latin 1": of(b"l\xe4nge /U", h5py.string_dtype()),
    "array of latin 1": of(np.array([b"U \xff\xfe"] * 3, object), h5py.string_dtype()),
    "latin 1 of a fixed length": of(np.bytes_(b"l\xe4nge U")),
    "array of latin 1 of a fixed length": of(np.array([[b"\xff U"] * 2], "S")),
    "latin 1 that says UTF-8": raw(FIXED, None, b"l\xe4nge U  "),
    "text with NUL": of(np.bytes_(b"a\0b U")),
    "control characters": of("\x1b[31mU\x07\n"),
    "strange paths": of("/ // . .. ./U ../U /type ~ : /U/U"),
    "text without a value": raw(TEXT),
    "null text": raw(TEXT, h5s.create(h5s.NULL)),
    "null text of a fixed length": of(h5py.Empty("S3")),
    "null number": raw(h5t.IEEE_F32LE, h5s.create(h5s.NULL)),
    "no number": of(np.zeros(0, "f4")),
    "no text": of(np.zeros(0, object), h5py.string_dtype()),
    "reference": lambda item, name: item.attrs.create(name, item.file["type"].ref, dtype=h5py.ref_dtype),
    "references": lambda item, name: item.attrs.create(name, np.array([item.ref] * 2, object), dtype=h5py.ref_dtype),
    "null reference": raw(h5t.STD_REF_OBJ),
    "region": lambda item, name: item.attrs.create(name, item.file["T"].regionref[:2], dtype=h5py.regionref_dtype),
    "lists of references": raw(h5t.vlen_create(h5t.STD_REF_OBJ)),
    "lists": raw(h5t.vlen_create(h5t.STD_I32LE)),
    "compound": of(np.array((1, b"\xff"), [("a", "i4"), ("b", "S2")])),
    "enumeration": of(np.int8(1), h5py.enum_dtype({"a": 1})),
    "complex": of(1j),
    "numbers": of(np.arange(6).reshape(2, 3)),
    "large": of(np.uint64(2**64 - 1)),
    "array of texts": raw(h5t.array_create(TEXT, (2,))),
    "half": of(np.float16(3)),
    "long double": of(np.longdouble(3)),
    "opaque": raw(h5t.create(h5t.OPAQUE, 3)),
}


@pytest.mark.slow
@needs_programs("h5dump")
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_no_command_fails(value, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    field = np.random.default_rng(0).random((64, 64)).astype("f4")
    with h5py.File("a.h5", "w") as file:
        file["type"], file["x"] = np.dtype("f4"), np.arange(64.0)
        file["x"].make_scale("x")
        for path in ("T", "U", "g/T"):
            file[path] = field
            file[path].dims[0].attach_scale(file["x"])
        file["field"] = field  # that nothing names
        for item in map(file.get, ("/", "T", "g", "g/T", "x", "type")):
            for name in NAMES:
                if name in item.attrs:
                    del item.attrs[name]
                value(item, name)
    (tmp_path / "back").mkdir()
    for words in (
        "compress a.h5 --relative 1e-3 --dry-run",
        "compress a.h5 b.h5 --dataset /U=lossless --dataset /g/T=lossless",
        "decompress b.h5 back/a.h5",
        "verify b.h5",
        "info b.h5 --all",
        "estimate a.h5 --absolute 1e-3",
        "salvage b.h5 c.h5",
        "compare a.h5 b.h5 --within 0",
        "extract b.h5::/g/T -o part.h5",
        "extract b.h5::/T -o part.nc",
        "extract b.h5::/T -o part.npy",
    ):
        assert cli.main(words.split()) == 0, (words, capsys.readouterr())
    before, after = (host_tools.run("h5dump", "-A", "a.h5", directory=each) for each in (tmp_path, tmp_path / "back"))
    assert without_addresses(before) == without_addresses(after)


def without_addresses(dump):
    return re.sub(r'(DATASET|GROUP|DATATYPE) \d+ "', r'\1 "', dump)


def test_texts_that_are_no_utf_8_name_what_they_name(tmp_path):
    """Latin 1 is no reason to take a coordinate for a field."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name in (b"l\xe4nge", b"breite", b"T", b"g\xff/T"):
            file[name] = np.random.default_rng(0).random((64, 64))
        file[b"T"].attrs.create("coordinates", b"l\xe4nge", dtype=h5py.string_dtype())
        file[b"g\xff/T"].attrs.create("bounds", np.bytes_(b"\xfc breite"))
    planned = h5stz.plan_repack(tmp_path / "a.h5", relative=1e-3)
    assert sorted(each.path.encode(errors="surrogateescape") for each in planned if each.reason is None) == [b"/T", b"/g\xff/T"]
    assert {each.reason for each in planned} == {None, "coordinate"}


def test_extract_keeps_the_bytes_of_texts(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["T"] = np.zeros((4, 4))
        file["T"].attrs.create("units", b"\xb0C", dtype=h5py.string_dtype())
        file["T"].attrs["fixed"] = np.bytes_(b"\xb0F")
    assert cli.main(["extract", f"{tmp_path / 'a.h5'}::/T", "-o", str(tmp_path / "part.h5")]) == 0
    with h5py.File(tmp_path / "part.h5") as file:
        for name, content in (("units", b"\xb0C"), ("fixed", b"\xb0F")):
            assert file["T"].attrs[name].encode(errors="surrogateescape") == content

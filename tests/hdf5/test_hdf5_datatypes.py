"""Which HDF5 datatypes the plug-in compresses and as what, and that it refuses the others by name when a dataset is created."""

import ctypes

import h5py
import numpy as np
import pytest

from support import host_tools
from support.filtered_datasets import DTYPES, MANDATORY, OPTIONAL, create, create_typed, stored_words
from support.host_tools import ABSOLUTE, CODES, LOSSLESS, POINTWISE, field, full_form, largest_error, short_form
from support.requirements import needs, require

BOUNDED_INTEGERS = 1 << 20  # in the word for packed options

h5py.h5pl.prepend(host_tools.plugin_directory().encode())


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_type_and_byte_order(tmp_path, dtype):
    bound = 0.5
    name = dtype[1:]
    data = np.abs(field((20, 33))).astype(dtype) if name[0] == "u" else field((20, 33), dtype)
    words = (*short_form(ABSOLUTE, bound), BOUNDED_INTEGERS)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        dataset = create(file, data, words, chunks=(8, 16))
        expected = full_form(CODES[name], dtype[0] == ">", (8, 16), ABSOLUTE, bound)
        assert stored_words(dataset) == (*expected[:4], BOUNDED_INTEGERS, *expected[5:])
    with h5py.File(tmp_path / "f.h5") as file:
        assert file["d"].dtype == data.dtype
        assert largest_error(data, file["d"][()]) <= bound


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype[1] in "iu"])
@pytest.mark.parametrize("mode", [ABSOLUTE, POINTWISE])
def test_integers_are_lossless_unless_asked_by_name(tmp_path, dtype, mode):
    """A bound for a whole file leaves indices, flags and times alone, and the file says that it does."""
    data = (np.arange(700).reshape(20, 35) * 37 % 101).astype(dtype)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        dataset = create(file, data, short_form(mode, 0.9 if mode == POINTWISE else 40.0), chunks=(8, 16))
        assert stored_words(dataset) == full_form(CODES[dtype[1:]], dtype[0] == ">", (8, 16), LOSSLESS)
    with h5py.File(tmp_path / "f.h5") as file:
        assert np.array_equal(file["d"][()], data)


def test_bool_and_enumerations_are_their_integers_and_lossless(tmp_path):
    flags = np.arange(100) % 3 == 0
    colours = h5py.enum_dtype({"red": 0, "green": 7, "blue": 300}, basetype=">i2")
    with h5py.File(tmp_path / "f.h5", "w") as file:
        stored = stored_words(create(file, flags, short_form(ABSOLUTE, 5.0), chunks=(30,)))
        assert stored == full_form(4, False, (30,), LOSSLESS)
        dataset = create(file, np.array([0, 7, 300] * 9, ">i2"), short_form(POINTWISE, 0.1), "e", dtype=colours, chunks=(10,))
        assert stored_words(dataset) == full_form(6, True, (10,), LOSSLESS)
    with h5py.File(tmp_path / "f.h5") as file:
        assert np.array_equal(file["d"][()], flags)
        assert np.array_equal(file["e"][()], [0, 7, 300] * 9)


@pytest.mark.parametrize(
    "type_id, code, big",
    [(h5py.h5t.STD_B8LE, 5, False), (h5py.h5t.STD_B16BE, 7, True), (h5py.h5t.STD_B64LE, 11, False)],
)
def test_bit_fields_are_unsigned_and_lossless(file, type_id, code, big):
    dataset = create_typed(file, type_id, short_form(ABSOLUTE, 3.0))
    assert stored_words(dataset) == full_form(code, big, (4,), LOSSLESS)


def complex_compound(names, parts=(h5py.h5t.IEEE_F32LE,) * 2, offsets=(0, 4), size=8):
    compound = h5py.h5t.create(h5py.h5t.COMPOUND, size)
    for name, part, offset in zip(names, parts, offsets, strict=True):
        compound.insert(name, offset, part)
    return compound


@pytest.mark.parametrize("names", [(b"r", b"i"), (b"real", b"imag")])
def test_complex_compounds(file, names):
    dataset = create_typed(file, complex_compound(names), short_form(ABSOLUTE, 1e-3))
    assert stored_words(dataset) == full_form(12, False, (4,), ABSOLUTE, 1e-3)


@needs("h5py with complex types of HDF5 2", hasattr(h5py.h5t, "COMPLEX_IEEE_F64BE"))
def test_native_complex_class(file):
    dataset = create_typed(file, h5py.h5t.COMPLEX_IEEE_F64BE, short_form(ABSOLUTE, 1e-3))
    assert stored_words(dataset) == full_form(13, True, (4,), ABSOLUTE, 1e-3)


def partial_integer():
    twelve_bits = h5py.h5t.STD_I16LE.copy()
    twelve_bits.set_precision(12)
    return twelve_bits


def float_type(size, fields, bias):
    kind = h5py.h5t.IEEE_F64LE.copy()
    kind.set_fields(*fields)
    kind.set_precision(size * 8)
    kind.set_size(size)
    kind.set_ebias(bias)
    return kind


bfloat16 = float_type(2, (15, 7, 8, 0, 7), 127)
other_bias = float_type(4, (31, 23, 8, 0, 23), 126)
f16, f32, f64, f32_be = h5py.h5t.IEEE_F16LE, h5py.h5t.IEEE_F32LE, h5py.h5t.IEEE_F64LE, h5py.h5t.IEEE_F32BE

UNSUITABLE = [
    ("fixed-length string", h5py.h5t.py_create(np.dtype("S5"))),
    ("reference", h5py.h5t.STD_REF_OBJ),
    ("reference", h5py.h5t.STD_REF_DSETREG),
    ("opaque", h5py.h5t.create(h5py.h5t.OPAQUE, 4)),
    ("array type", h5py.h5t.array_create(f32, (3,))),
    ("record", complex_compound((b"x", b"y"))),
    ("record", complex_compound((b"r", b"i", b"k"), (f32,) * 3, (0, 4, 8), 12)),
    ("record", complex_compound((b"i", b"r"))),
    ("record", complex_compound((b"r", b"i"), (h5py.h5t.STD_I32LE,) * 2)),
    ("two parts differ", complex_compound((b"r", b"i"), (f32, f32_be))),
    ("two parts differ", complex_compound((b"r", b"i"), (f32, f64), (0, 4), 12)),
    ("side by side", complex_compound((b"r", b"i"), offsets=(0, 8), size=12)),
    ("side by side", complex_compound((b"r", b"i"), offsets=(4, 0))),
    ("side by side", complex_compound((b"r", b"i"), size=16)),
    ("floats of 8 or 16 bits", complex_compound((b"r", b"i"), (f16, f16), (0, 2), 4)),
    ("floats of 8 or 16 bits", complex_compound((b"r", b"i"), (bfloat16, bfloat16), (0, 2), 4)),
    ("12 bits in 2 bytes", partial_integer()),
    ("FP8", float_type(1, (7, 4, 3, 0, 4), 3)),
    ("FP8", float_type(1, (7, 3, 4, 0, 3), 8)),
    ("FP8", float_type(1, (7, 2, 5, 0, 2), 16)),
    ("8 exponent and 7 mantissa", float_type(2, (15, 7, 8, 0, 7), 126)),
    ("8 exponent and 23 mantissa", other_bias),
    ("long double", complex_compound((b"r", b"i"), (h5py.h5t.NATIVE_LDOUBLE,) * 2, (0, 16), 32)),
]
SHORT_FLOATS = {
    14: ("H5T_FLOAT_BFLOAT16LE_g", bfloat16),
    15: ("H5T_FLOAT_F8E4M3_g", float_type(1, (7, 3, 4, 0, 3), 7)),
    16: ("H5T_FLOAT_F8E5M2_g", float_type(1, (7, 2, 5, 0, 2), 15)),
}


@pytest.mark.parametrize("code", SHORT_FLOATS)
def test_short_floats(file, code):
    """bfloat16 and FP8, by their fields, in any version of HDF5."""
    dataset = create_typed(file, SHORT_FLOATS[code][1], short_form(ABSOLUTE, 0.5))
    assert stored_words(dataset) == full_form(code, False, (4,), ABSOLUTE, 0.5)


@pytest.mark.parametrize("code", SHORT_FLOATS)
def test_short_floats_of_hdf5_2(file, code):
    dataset = create_typed(file, type_of_hdf5_2(SHORT_FLOATS[code][0]), short_form(ABSOLUTE, 0.5))
    assert stored_words(dataset) == full_form(code, False, (4,), ABSOLUTE, 0.5)


def test_long_doubles_are_pairs_of_integers_without_loss(file):
    dataset = create_typed(file, h5py.h5t.NATIVE_LDOUBLE)
    assert stored_words(dataset) == full_form(11, False, (4, 2), LOSSLESS)
    with pytest.raises((ValueError, OSError, RuntimeError), match=r"h5stz: cannot compress .*long double.* with a bound"):
        create_typed(file, h5py.h5t.NATIVE_LDOUBLE, short_form(ABSOLUTE, 0.5), name="e")


@pytest.mark.parametrize("flags", [OPTIONAL, MANDATORY])
@pytest.mark.parametrize("what, type_id", UNSUITABLE)
def test_unsuitable_types_are_refused_by_name(file, what, type_id, flags):
    with pytest.raises((ValueError, OSError, RuntimeError), match=f"h5stz: cannot compress .*{what}"):
        create_typed(file, type_id, flags=flags)


def type_of_hdf5_2(name, kind=h5py.h5t.TypeFloatID):
    """A predefined type of h5py's own library, which h5py may not wrap; skips where that library does not have it."""
    library = ctypes.CDLL(host_tools.mapped_library("libhdf5", "h5py"))
    require(needs("HDF5 2.0 or newer in h5py", hasattr(library, name)))
    return kind(ctypes.c_int64.in_dll(library, name).value).copy()


@pytest.mark.parametrize("flags", [OPTIONAL, MANDATORY])
@pytest.mark.parametrize(
    "name, what",
    [
        ("H5T_COMPLEX_IEEE_F16LE_g", "floats of 8 or 16 bits"),
        ("H5T_NATIVE_LDOUBLE_COMPLEX_g", "long double"),
    ],
)
def test_unsuitable_types_of_hdf5_2_are_refused_by_name(file, name, what, flags):
    type_id = type_of_hdf5_2(name, h5py.h5t.TypeID)
    with pytest.raises((ValueError, OSError, RuntimeError), match=f"h5stz: cannot compress .*{what}"):
        create_typed(file, type_id, flags=flags)


@pytest.mark.parametrize(
    "name, dtype",
    [
        ("H5T_COMPLEX_IEEE_F32LE_g", "<c8"),
        ("H5T_COMPLEX_IEEE_F32BE_g", ">c8"),
        ("H5T_COMPLEX_IEEE_F64LE_g", "<c16"),
        ("H5T_COMPLEX_IEEE_F64BE_g", ">c16"),
    ],
)
def test_complex_types_of_hdf5_2_are_complex(tmp_path, name, dtype):
    data = field((16, 24), dtype)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        type_id = type_of_hdf5_2(name, h5py.h5t.TypeID)
        dataset = create_typed(file, type_id, short_form(ABSOLUTE, 0.25), chunk=(16, 24))
        assert stored_words(dataset) == full_form(CODES[dtype[1:]], dtype[0] == ">", (16, 24), ABSOLUTE, 0.25)
        dataset.id.write(h5py.h5s.create_simple((16, 24)), select_first(dataset), data, type_id)
    with h5py.File(tmp_path / "f.h5") as file:
        decoded = np.empty_like(data)
        dataset = file["d"]
        dataset.id.read(h5py.h5s.create_simple((16, 24)), select_first(dataset), decoded, dataset.id.get_type())
        assert 0 < largest_error(data, decoded) <= 0.25


def select_first(dataset):
    """The dataspace of a dataset with its first chunk selected."""
    space = dataset.id.get_space()
    space.select_hyperslab((0,) * len(dataset.chunks), dataset.chunks)
    return space


def test_variable_length_data_never_reach_the_codec(tmp_path):
    """HDF5 2.0 leaves optional filters of such datasets out without asking them; 1.14 asks and is refused."""
    with h5py.File(tmp_path / "f.h5", "w") as file:
        for name, dtype, values in [("s", h5py.string_dtype(), ["one", "two"]), ("v", h5py.vlen_dtype("f4"), None)]:
            with pytest.raises((ValueError, OSError), match=r"filters|h5stz: cannot compress a variable-length"):
                create_typed(file, h5py.h5t.py_create(dtype, logical=True), flags=MANDATORY, name=name)
            try:
                dataset = create_typed(file, h5py.h5t.py_create(dtype, logical=True), name=name)
            except (ValueError, OSError) as refused:
                assert "cannot compress a variable-length" in str(refused)
                continue
            dataset[0] = np.array([1.5, 2.5], "f4") if values is None else values[0]
            file.flush()
            assert all(dataset.id.get_chunk_info(i).filter_mask for i in range(dataset.id.get_num_chunks()))

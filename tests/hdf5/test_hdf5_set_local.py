"""What the plug-in makes of a dataset when it is created: datatypes, fill values, other filters, repeated runs.

All through h5py's libhdf5. compression=<int> there registers the filter as optional, which is the hard case: HDF5 then
ignores can_apply, and an unsuitable dataset must still be refused.
"""

import ctypes

import h5py
import numpy as np
import pytest

from support import host_tools
from support.host_tools import (
    ABSOLUTE,
    CODES,
    FILTER_ID,
    LOSSLESS,
    POINTWISE,
    double_words,
    field,
    full_form,
    largest_error,
    short_form,
)
from support.requirements import needs, require

h5py.h5pl.prepend(host_tools.plugin_directory().encode())

MANDATORY, OPTIONAL = 0, 1
HALF = short_form(ABSOLUTE, 0.5)

DTYPES = [order + name for name in CODES for order in "<>" if not (order == ">" and name in ("i1", "u1"))]


@pytest.fixture
def file(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as opened:
        yield opened


def create(file, data=None, words=HALF, name="d", **more):
    if data is not None:
        more["data"] = data
    more.setdefault("chunks", True)
    return file.create_dataset(name, compression=FILTER_ID, compression_opts=words, **more)


def create_typed(file, type_id, words=(101, 0), flags=OPTIONAL, name="d", chunk=(4,)):
    """A dataset of any HDF5 type, also of those that numpy has no word for."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk(chunk)
    properties.set_filter(FILTER_ID, flags, words)
    space = h5py.h5s.create_simple(tuple(2 * n for n in chunk))
    return h5py.Dataset(h5py.h5d.create(file.id, name.encode(), type_id, space, properties))


def stored_words(dataset):
    return dataset._filters[str(FILTER_ID)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_element_type_and_byte_order(tmp_path, dtype):
    bound = 0.5
    name = dtype[1:]
    data = np.abs(field((20, 33))).astype(dtype) if name[0] == "u" else field((20, 33), dtype)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        dataset = create(file, data, short_form(ABSOLUTE, bound), chunks=(8, 16))
        assert stored_words(dataset) == full_form(CODES[name], dtype[0] == ">", (8, 16), ABSOLUTE, bound)
    with h5py.File(tmp_path / "f.h5") as file:
        assert file["d"].dtype == data.dtype
        assert largest_error(data, file["d"][()]) <= bound


@pytest.mark.parametrize("words", [None, (), (101, 0), (102, 0), short_form(ABSOLUTE, 0.0)])
@pytest.mark.parametrize("dtype", ["<f4", ">i8", "<c16", ">f2"])
def test_lossless_forms(tmp_path, words, dtype):
    data = field((30, 7), dtype)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        stored = stored_words(create(file, data, words, chunks=(8, 7)))
        assert stored[0] == 103 and stored[2:4] == (0, 0)
    with h5py.File(tmp_path / "f.h5") as file:
        assert file["d"][()].tobytes() == data.tobytes()


def test_integer_form_becomes_the_full_one(file):
    stored = stored_words(create(file, field((40,)), (102, ABSOLUTE, 25, 3, 1), chunks=(16,)))
    assert stored == (*full_form(2, False, (16,), ABSOLUTE, 0.025)[:4], 1, *full_form(2, False, (16,))[5:])


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
    ("half-precision", complex_compound((b"r", b"i"), (f16, f16), (0, 2), 4)),
    ("12 bits in 2 bytes", partial_integer()),
    ("bfloat16", bfloat16),
    ("FP8", float_type(1, (7, 3, 4, 0, 3), 7)),
    ("FP8", float_type(1, (7, 2, 5, 0, 2), 15)),
    ("8 exponent and 23 mantissa", other_bias),
    ("long double", h5py.h5t.NATIVE_LDOUBLE),
]


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
        ("H5T_FLOAT_BFLOAT16LE_g", "bfloat16"),
        ("H5T_FLOAT_BFLOAT16BE_g", "bfloat16"),
        ("H5T_FLOAT_F8E4M3_g", "FP8"),
        ("H5T_FLOAT_F8E5M2_g", "FP8"),
        ("H5T_COMPLEX_IEEE_F16LE_g", "half-precision"),
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


@pytest.mark.parametrize("flags", [OPTIONAL, MANDATORY])
def test_chunks_that_could_outgrow_4_gib_are_refused(file, flags):
    """HDF5 would refuse a chunk of samples without structure only when it is written, which may be while the file is closed."""
    largest = (2**32 - 1 - 64) // 4
    create_typed(file, f32, short_form(ABSOLUTE, 1.0), flags, "accepted", (largest,))
    with pytest.raises((ValueError, OSError, RuntimeError), match="h5stz: the chunk has"):
        create_typed(file, f32, short_form(ABSOLUTE, 1.0), flags, "refused", (largest + 1,))


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_accepted_can_be_written(tmp_path, dtype):
    """A filter that fails while a file is closed crashes some versions of HDF5: all refusals come at creation."""
    rng = np.random.default_rng(3)
    kind = np.dtype(dtype)
    noise = np.frombuffer(rng.bytes(200 * kind.itemsize), kind)
    accepted = 0
    with h5py.File(tmp_path / "f.h5", "w") as file:
        for mode in (LOSSLESS, ABSOLUTE, POINTWISE):
            for bound in (0.0, 5e-324, 0.5, 1.7e308):
                for rest in ((), (1 | 255 << 8 | 9 << 16 | 1 << 24,), (0, 1, 0xFFFFFFFF, 0xFFFFFFFF)):
                    words = (101, mode, *double_words(bound), *rest)
                    try:
                        dataset = create(file, noise, words, f"{mode} {bound} {len(rest)}", chunks=(64,))
                    except (ValueError, OSError) as error:
                        assert "h5stz: " in str(error)
                        assert (mode == POINTWISE and kind.kind in "iu") or bound == 5e-324, error
                    else:
                        accepted += 1
                        file.flush()  # a failing filter would fail here
                        assert all(dataset.id.get_chunk_info(i).filter_mask == 0 for i in range(4))
    assert accepted >= 18


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


@pytest.mark.parametrize(
    "in_front, said",
    [({"shuffle": True}, r"filter 2 \(shuffle\).*shuffle=False"), ({"scaleoffset": 3}, r"filter 6 \(scaleoffset\)")],
)
def test_a_filter_in_front_is_refused_by_name(file, in_front, said):
    with pytest.raises(ValueError, match=f"h5stz: {said}"):
        create(file, field((64, 64)), **in_front)


def test_gzip_in_front_is_refused(file):
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_chunk((4,))
    properties.set_deflate(1)
    properties.set_filter(FILTER_ID, OPTIONAL, (101, 0))
    with pytest.raises(ValueError, match=r"deflate.* is in front of h5stz"):
        h5py.h5d.create(file.id, b"d", f32, h5py.h5s.create_simple((8,)), properties)


def test_fletcher32_behind_works(tmp_path):
    data = field((50, 60))
    with h5py.File(tmp_path / "f.h5", "w") as file:
        assert list(create(file, data, short_form(ABSOLUTE, 0.01), fletcher32=True, chunks=(16, 16))._filters) == [
            str(FILTER_ID),
            "fletcher32",
        ]
    with h5py.File(tmp_path / "f.h5") as file:
        assert largest_error(data, file["d"][()]) <= 0.01


@pytest.mark.parametrize(
    "dtype, fill",
    [
        ("<f4", -9.75),
        (">f4", -9.75),
        ("<f8", 1e20),
        (">f8", 1e20),
        ("<f2", -1.0),
        ("<i2", -32768),
        (">i2", -2),
        ("u1", 255),
        (">u8", 2**64 - 2),
        ("<f4", np.nan),
    ],
)
def test_the_datasets_fill_value_is_taken(file, dtype, fill):
    stored = stored_words(create(file, shape=(10,), dtype=dtype, fillvalue=fill, words=short_form(ABSOLUTE, 1e-3)))
    assert stored[5:8] == (1, *divmod(host_tools.bits(np.array(fill, dtype)[()]), 2**32)[::-1])


def test_a_fill_value_given_in_the_words_is_kept(file):
    words = (*short_form(ABSOLUTE, 0.1), 0, 1, host_tools.bits(np.float32(-1)), 0)
    assert stored_words(create(file, field((9,)), words, fillvalue=-2.0))[5:8] == (
        1,
        host_tools.bits(np.float32(-1)),
        0,
    )


def test_no_fill_value_unless_the_user_defined_one(file):
    assert stored_words(create(file, field((9,))))[5:8] == (0, 0, 0)
    assert stored_words(create(file, field((9,), "c8"), name="c", fillvalue=1 + 1j))[5:8] == (0, 0, 0)


def test_fill_samples_come_back_bit_for_bit(tmp_path):
    data = field((64, 64))
    data[10:30, 5:50] = -9999.25
    with h5py.File(tmp_path / "f.h5", "w") as file:
        create(file, data, short_form(ABSOLUTE, 1.0), chunks=(32, 32), fillvalue=-9999.25)
    with h5py.File(tmp_path / "f.h5") as file:
        assert np.all(file["d"][10:30, 5:50] == -9999.25)
        assert largest_error(data, file["d"][()]) <= 1.0


def test_properties_copied_from_another_dataset(file):
    """h5repack and nccopy hand over the source's full form: type and chunk are the new dataset's, the rest stays."""
    source = create(file, field((64, 64)), (102, ABSOLUTE, 5, 1, 1), chunks=(16, 16), fillvalue=-1.0)
    properties = source.id.get_create_plist()
    space = source.id.get_space()
    same = h5py.Dataset(h5py.h5d.create(file.id, b"same", f32, space, properties))
    assert stored_words(same) == stored_words(source)
    properties.set_chunk((8, 64))
    other_type = h5py.Dataset(h5py.h5d.create(file.id, b"other", h5py.h5t.IEEE_F64BE, space, properties))
    expected = list(full_form(3, True, (8, 64), ABSOLUTE, 0.5, fill=host_tools.bits(np.float64(-1))))
    expected[4] = 1
    assert stored_words(other_type) == tuple(expected)


@pytest.mark.parametrize(
    "words, said",
    [
        ((101, 9, 0, 0), "word 1 .mode. is 9"),
        ((101, 1), "2 words"),
        ((5, 1, 2), "word 0"),
        ((*short_form(ABSOLUTE, 1.0), 0, 0, 0, 0, *range(60)), "68 words"),
        (short_form(ABSOLUTE, float("nan")), "words 2 and 3"),
    ],
)
def test_malformed_words_reach_the_user(file, words, said):
    with pytest.raises(ValueError, match=f"h5stz: cd_values .*{said}"):
        create(file, field((9,)), words)


@pytest.mark.parametrize("dtype", ["i4", "u1"])
def test_pointwise_relative_is_for_floats(file, dtype):
    with pytest.raises(ValueError, match="h5stz: a point-wise relative bound is for floating-point"):
        create(file, np.arange(9, dtype=dtype), short_form(POINTWISE, 0.1))


def test_chunk_of_32_axes(tmp_path):
    shape = (2,) * 6 + (1,) * 26
    data = field((64,)).reshape(shape)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        assert len(stored_words(create(file, data, short_form(ABSOLUTE, 0.1), chunks=shape))) == 41
    with h5py.File(tmp_path / "f.h5") as file:
        assert largest_error(data, file["d"][()]) <= 0.1

"""What the plug-in makes of a dataset when it is created: client data, chunks, other filters, fill values, repeated runs."""

import h5py
import numpy as np
import pytest

from support import host_tools
from support.filtered_datasets import DTYPES, MANDATORY, OPTIONAL, create, create_typed, stored_words
from support.host_tools import (
    ABSOLUTE,
    FILTER_ID,
    LOSSLESS,
    POINTWISE,
    double_words,
    field,
    full_form,
    largest_error,
    short_form,
)

h5py.h5pl.prepend(host_tools.plugin_directory().encode())


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


@pytest.mark.parametrize("flags", [OPTIONAL, MANDATORY])
def test_chunks_that_could_outgrow_4_gib_are_refused(file, flags):
    """HDF5 would refuse a chunk of samples without structure only when it is written, which may be while the file is closed."""
    largest = (2**32 - 1 - 64) // 4
    create_typed(file, h5py.h5t.IEEE_F32LE, short_form(ABSOLUTE, 1.0), flags, "accepted", (largest,))
    with pytest.raises((ValueError, OSError, RuntimeError), match="h5stz: the chunk has"):
        create_typed(file, h5py.h5t.IEEE_F32LE, short_form(ABSOLUTE, 1.0), flags, "refused", (largest + 1,))


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
                for rest in ((), (1 | 255 << 8 | 9 << 16 | 1 << 20 | 1 << 24 | 1 << 27,), (0, 1, 0xFFFFFFFF, 0xFFFFFFFF)):
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
        h5py.h5d.create(file.id, b"d", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((8,)), properties)


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


def test_properties_copied_from_another_dataset(file):
    """h5repack and nccopy hand over the source's full form: type and chunk are the new dataset's, the rest stays."""
    source = create(file, field((64, 64)), (102, ABSOLUTE, 5, 1, 1), chunks=(16, 16), fillvalue=-1.0)
    properties = source.id.get_create_plist()
    space = source.id.get_space()
    same = h5py.Dataset(h5py.h5d.create(file.id, b"same", h5py.h5t.IEEE_F32LE, space, properties))
    assert stored_words(same) == stored_words(source)
    properties.set_chunk((8, 64))
    other_type = h5py.Dataset(h5py.h5d.create(file.id, b"other", h5py.h5t.IEEE_F64BE, space, properties))
    expected = list(full_form(3, True, (8, 64), ABSOLUTE, 0.5, fill=host_tools.bits(np.float64(-1))))
    expected[4] = 1
    assert stored_words(other_type) == tuple(expected)


@pytest.mark.parametrize("dtype", ["i4", "u1"])
def test_pointwise_relative_is_for_floats(file, dtype):
    with pytest.raises(ValueError, match="h5stz: a point-wise relative bound is only for floating-point"):
        create(file, np.arange(9, dtype=dtype), (*short_form(POINTWISE, 0.1), 1 << 20))


def test_the_append_axis_is_one_of_the_chunk(file):
    data = field((24, 20))
    for axis in (0, 1):
        words = stored_words(create(file, data, (*short_form(ABSOLUTE, 0.1), axis + 1 << 27), f"axis {axis}", chunks=(8, 8)))
        assert words[4] == axis + 1 << 27
    with pytest.raises(ValueError, match=r"h5stz: append_axis is axis 2, but the axes of the chunk are 0 to 1"):
        create(file, data, (*short_form(ABSOLUTE, 0.1), 3 << 27), "beyond", chunks=(8, 8))


def test_the_append_axis_is_not_that_of_a_dataset_with_other_axes(file):
    """As with h5repack and nccopy, the properties of another dataset may come along."""
    source = create(file, field((24, 20)), (*short_form(ABSOLUTE, 0.1), 2 << 27), chunks=(8, 8))
    properties = source.id.get_create_plist()
    properties.set_chunk((8,))
    space = h5py.h5s.create_simple((24,))
    line = h5py.Dataset(h5py.h5d.create(file.id, b"line", h5py.h5t.IEEE_F32LE, space, properties))
    assert stored_words(line) == full_form(2, False, (8,), ABSOLUTE, 0.1)


def test_chunk_of_32_axes(tmp_path):
    shape = (2,) * 6 + (1,) * 26
    data = field((64,)).reshape(shape)
    with h5py.File(tmp_path / "f.h5", "w") as file:
        assert len(stored_words(create(file, data, short_form(ABSOLUTE, 0.1), chunks=shape))) == 41
    with h5py.File(tmp_path / "f.h5") as file:
        assert largest_error(data, file["d"][()]) <= 0.1

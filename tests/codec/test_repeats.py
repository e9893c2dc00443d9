"""Arrays whose boxes nearly repeat others, mirrored or not: bits, sizes, parts, damage, and streams composed by hand."""

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
import reference_decoder
from golden import arrays
from h5stz import _core
from support import boxes, exact
from support.host_tools import run
from support.patched_streams import Patch, compose, random_repeats, repeats_record
from support.requirements import needs_programs

CASES = arrays.repeat_cases()
FLOATS = ["<f2", "<f4", ">f4", "<f8", ">f8"]


def rough(shape, dtype="f4", seed=1):
    """A field whose neighbours predict a part of each number."""
    rng = np.random.default_rng(seed)
    return (np.cumsum(rng.standard_normal(shape), axis=-1) + rng.standard_normal(shape)).astype(dtype)


def nearly(array, seed=2, most=20):
    """The array with errors of some units in the last place."""
    word = np.dtype(f"{array.dtype.str[0]}u{array.dtype.itemsize}")
    off = np.random.default_rng(seed).integers(-most, most + 1, array.shape).astype(f"i{array.dtype.itemsize}")
    return (array.view(word) + off.astype(word)).astype(word).view(array.dtype)


def parts(stream, array, many=12, seed=1):
    """Reads of parts give the bits of the array; as many bytes are read as were planned."""
    rng = np.random.default_rng(seed)
    for cache in (0, 1 << 22):
        reader = _core.Reader.of_bytes(stream, cache)
        for _ in range(many):
            request = boxes.random_request(rng, array.shape)
            assert boxes.read(reader, array.dtype, *request).tobytes() == boxes.cut(array, *request).tobytes()


def share(array, **options):
    """The bytes of a lossless stream over those of the array, and its repeats. Two decoders must give the array back."""
    stream = h5stz.compress(array, lossless=True, **options)
    assert h5stz.decompress(stream).tobytes() == array.tobytes()
    assert reference_decoder.decode(stream).tobytes() == array.tobytes()
    parts(stream, array, 4)
    return len(stream) / array.nbytes, reference_decoder.read_header(stream).repeats


SYMMETRIC = {
    "halves of a line": lambda half: np.concatenate([half.reshape(-1), half.reshape(-1)]),
    "a line and back": lambda half: np.concatenate([half.reshape(-1), half.reshape(-1)[::-1]]),
    "a mirror plane": lambda half: np.concatenate([half, half[::-1]]),
    "a two-fold axis": lambda half: np.concatenate([half, half[::-1, ::-1]]),
    "a centre": lambda half: np.concatenate([half, half[::-1, ::-1, ::-1]]),
    "an antisymmetric field": lambda half: np.concatenate([half, -half[:, ::-1, ::-1]]),
    "planes that come again": lambda half: np.concatenate([half, half[:9], half]),
    "shifted in two directions": lambda half: np.concatenate([half, np.roll(half, 11, 1)]),
}


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8"])
@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_half_of_a_symmetric_array_is_enough(name, near, dtype):
    array = SYMMETRIC[name](rough((14, 24, 30), dtype))
    alone = len(h5stz.compress(rough((14, 24, 30), dtype), lossless=True)) / array.nbytes
    array = nearly(array) if near else array
    found, repeats = share(array)
    assert repeats
    spent = 6 / (8 * array.itemsize) if near else 0  # errors of 20 units take 5.4 bits
    assert found < 1.15 * (alone + spent * 0.55)


def test_every_quarter_of_a_field_with_two_mirrors_is_one():
    quarter = rough((16, 20, 30))
    half = np.concatenate([quarter, quarter[::-1]])
    whole = np.concatenate([half, half[:, ::-1]], axis=1)
    found, repeats = share(whole)
    assert len(repeats) >= 2
    assert found < 0.3 * len(h5stz.compress(rough(whole.shape, seed=5), lossless=True)) / whole.nbytes


@pytest.mark.parametrize("name", ["rough", "noise", "constant rows", "few values"])
def test_other_arrays_have_none(name):
    rng = np.random.default_rng(3)
    array = {
        "rough": rough((14, 20, 30)),
        "noise": rng.standard_normal((14, 20, 30)).astype("f4"),
        "constant rows": np.repeat(rng.standard_normal((280, 1)).astype("f4"), 30, axis=1),
        "few values": rng.integers(0, 40, (14, 20, 30)).astype("f4") / 7,
    }[name]
    assert not share(array)[1]


def test_special_values_and_fill_values_stay():
    array = SYMMETRIC["a two-fold axis"](rough((14, 24, 30)))
    array[3, 4:9] = np.nan
    array[7, 1, 2:4] = np.inf, -np.inf
    array[8, 8, 8:12] = -0.0, 0.0, 1e-42, -1e-42
    array[30:, 20:28] = -9999.0
    array.view("u4")[12, 2, 5:9] = 0x7FC57A00, 0xFFC57A01, 0x7F800001, 0x7FC57A01
    assert share(array)[1]
    assert share(array, fill_value=-9999.0)[1]


@pytest.mark.parametrize("name", CASES)
def test_every_part_has_the_bits_of_the_array(name, tmp_path):
    array, options = CASES[name]
    stream = arrays.compress(array, options)
    assert reference_decoder.read_header(stream).repeats
    parts(stream, array, 30)
    rng = np.random.default_rng(4)
    boxes.read_through_all_sources(tmp_path, stream, array, [boxes.random_request(rng, array.shape) for _ in range(5)])


@pytest.mark.parametrize(
    "options",
    [
        {"block": "region", "keep_zeros": True},
        {"effort": 1, "append_axis": 0},
        {"effort": 9},
        {"check": True, "content_check": True, "fill_value": -9999.0},
        {"keep_range": True, "favour": "size", "check": True},
        {"valid_range": (-1e3, 1e3), "enhance": "strict"},
    ],
    ids=str,
)
def test_with_other_options(options):
    array = nearly(SYMMETRIC["a two-fold axis"](rough((14, 24, 30))))
    assert share(array, **options)[1]
    stream = h5stz.compress(array, lossless=True, **options)
    assert stream == h5stz.compress(array, lossless=True, threads=3, **options)
    assert h5stz.decompress(stream, threads=3, verify=True).tobytes() == array.tobytes()


def test_info_says_so():
    info = h5stz.info(h5stz.compress(SYMMETRIC["a mirror plane"](rough((14, 24, 30))), lossless=True))
    assert info.form.startswith("repeats: blocks of ")
    assert (info.patches, info.bound_used, info.levels, info.preview_error) == (0, False, 1, None)


def test_what_is_lost_with_a_box_is_lost_where_it_comes_again():
    half = rough((64, 66, 60))
    array = np.concatenate([half, half[::-1]])
    stream = bytearray(h5stz.compress(array, lossless=True, block="region", content_check=False))
    header = reference_decoder.read_header(bytes(stream))
    (patch,) = header.patches
    stream[-3000] ^= 1  # in the base
    with pytest.raises(h5stz.StzError):
        h5stz.decompress(bytes(stream))
    with pytest.warns(h5stz.DamageWarning) as told:
        found = h5stz.decompress(bytes(stream), on_error="nan")
    lost = np.isnan(found)
    assert 0 < lost.sum() == sum(each.lost for each in told[0].message.damage)
    assert found[~lost].tobytes() == array[~lost].tobytes()
    here = slice(patch.origin[0], patch.origin[0] + patch.extent[0])
    assert lost[here].all() and not lost.all()


@pytest.mark.parametrize("wide", [4, 12, 30])
def test_patches_of_a_symmetric_array_have_no_repeats(wide):
    """What was kept of an array with a bound is a patch without loss, which must not be a patched stream itself."""
    array = SYMMETRIC["a mirror plane"](rough((14, 24, 30)))
    stream = h5stz.compress(array, absolute=1e-3)
    kept = h5stz.decompress(stream)
    changed = rough(array.shape, seed=9)
    changed[:, :wide] = kept[:, :wide]
    again = h5stz.rewrite(changed, stream, absolute=1e-3)
    back = h5stz.decompress(again)
    assert back[:, :wide].tobytes() == kept[:, :wide].tobytes()
    assert exact.error_over_bound(changed, back, 1e-3) <= 1
    assert not reference_decoder.read_header(again).repeats


def test_an_array_with_too_many_nans_has_none():
    """The array has every NaN that could stand in place of a box, so its stream has no repeats."""
    array = SYMMETRIC["halves of a line"](rough((14, 24, 30)))
    array.view("u4")[:4096] = 0x7FC57000 + np.arange(4096, dtype="u4")
    array[len(array) // 2 :][:4096] = array[:4096]
    assert not share(array)[1]


def test_a_chunk_that_is_changed_in_part_is_written_anew():
    array = SYMMETRIC["a mirror plane"](rough((14, 24, 30)))
    stream = h5stz.compress(array, lossless=True)
    changed = array.copy()
    changed[3, 4] = array[3, 5]
    for options in ({"lossless": True}, {"absolute": 1e-3}):
        again = h5stz.decompress(h5stz.rewrite(changed, stream, **options))
        assert exact.error_over_bound(changed, again, options.get("absolute", 0)) <= 1


@needs_programs("h5dump")
def test_through_h5py_and_h5dump(tmp_path):
    """Written, read in parts, changed in part, and read by a program of HDF5."""
    array = nearly(SYMMETRIC["a two-fold axis"](rough((20, 32, 30))))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=array, chunks=(40, 32, 30), **h5stz.STZ(lossless=True))
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["x"][...].tobytes() == array.tobytes()
        view = h5stz.view(file["x"])
        assert exact.same_bits(view[3:30:2, ::3, 7], array[3:30:2, ::3, 7])
        assert exact.same_bits(view.level(1)[...], array[::2, ::2, ::2])
        assert exact.same_bits(view.at_error(1.0)[...], array)
        chunk = file["x"].id.read_direct_chunk((0, 0, 0))[1]
    assert reference_decoder.read_header(chunk).repeats
    with h5py.File(tmp_path / "a.h5", "a") as file:
        for step in range(3):  # where sources lie, again and again
            array[2 + step : 9, 5 : 20 + step] = file["x"][2 + step : 9, 5 : 20 + step] = step
            file.flush()
    run("h5dump", "-d", "/x", "-b", "LE", "-o", tmp_path / "x.bin", tmp_path / "a.h5")
    assert (tmp_path / "x.bin").read_bytes() == array.tobytes()


# ---------------------------------------------------------------- composed by hand


@given(st.integers(0, 2**32), st.lists(st.integers(2, 9), min_size=1, max_size=4), st.sampled_from(FLOATS), st.integers(1, 8))
def test_both_decoders_add_differences(seed, shape, dtype, count):
    rng = np.random.default_rng(seed)
    made = random_repeats(rng, tuple(shape), dtype, count)
    if made is None:
        return
    stream, array = made
    assert h5stz.decompress(stream).tobytes() == array.tobytes()
    assert reference_decoder.decode(stream).tobytes() == array.tobytes()
    parts(stream, array, 4, seed)


BASE = rough((6, 8))
DIFFERENCES = np.arange(12, dtype="i4").reshape(3, 4)


def stream_with(source=(3, 0), mirrored=(True, False), *, base=None, patches=None, repeats=1, **options):
    """A stream whose first three rows come from the last three, in the first four columns."""
    patches = patches or [Patch((0, 0), (3, 4), h5stz.compress(DIFFERENCES, lossless=True))]
    base = h5stz.compress(BASE, lossless=True) if base is None else base
    return compose(base, patches, records=repeats_record([(source, mirrored, False)] * repeats), **options)


def test_the_stream_that_others_change_is_right():
    expected = BASE.copy()
    expected[:3, :4] = (BASE[:2:-1, :4].view("i4") + np.where(BASE[:2:-1, :4] < 0, -DIFFERENCES, DIFFERENCES)).view("f4")
    assert h5stz.decompress(stream_with()).tobytes() == expected.tobytes()


def of_floats():
    return [Patch((0, 0), (3, 4), h5stz.compress(BASE[:3, :4], lossless=True))]


def with_a_bound():
    return [Patch((0, 0), (3, 4), h5stz.compress(DIFFERENCES, absolute=1, integers="lossy"))]


def over_each_other():
    one = h5stz.compress(DIFFERENCES, lossless=True)
    return [Patch((0, 0), (3, 4), one), Patch((0, 3), (3, 4), one)]


def transparent():
    return [Patch((0, 0), (3, 4), h5stz.compress(DIFFERENCES, lossless=True), 0)]


@pytest.mark.parametrize(
    "changes",
    [
        {"source": (4, 0)},
        {"source": (3, 5)},
        {"source": (2, 3)},
        {"source": (2**63, 0)},
        {"mirrored": (True, False, True)},
        {"repeats": 2},
        {"repeats": 9},
        {"patches": of_floats()},
        {"patches": with_a_bound()},
        {"patches": over_each_other(), "repeats": 2},
        {"patches": transparent()},
        {"base": h5stz.compress(BASE, absolute=0.5)},
        {"base": h5stz.compress(BASE.astype("c8"), lossless=True)},
        {"base": h5stz.compress(DIFFERENCES.repeat(4).reshape(6, 8), lossless=True)},
    ],
    ids=str,
)
def test_what_does_not_fit_is_damage(changes):
    stream = stream_with(**changes)
    with pytest.raises(h5stz.StzError, match="damaged"):
        h5stz.decompress(stream)
    with pytest.raises(reference_decoder.Damaged):
        reference_decoder.decode(stream)
    with pytest.raises(h5stz.StzError, match="damaged"):
        reader = _core.Reader.of_bytes(stream, 0)
        boxes.read(reader, np.dtype("f4"), (0, 0), (6, 8))

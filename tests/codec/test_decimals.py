"""Numbers next to decimals of few digits: bits, sizes, parts, and what is no such decimal."""

import h5py
import numpy as np
import pytest

import h5stz
import reference_decoder
from golden import arrays
from h5stz import _core
from support import boxes, exact, written_in_parts
from support.host_tools import run
from support.requirements import needs_programs
from support.stream_bytes import header_size, with_crc

DECIMALS = "blocks of decimals"


def smooth(seed=1, shape=(24, 25, 26)):
    """Numbers from about -2 to 2."""
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.standard_normal(shape), axis=-1) / 4


def whole(array):
    """The form of a lossless stream and its share of the bytes, once two decoders have given the array back."""
    stream = h5stz.compress(array, lossless=True)
    assert h5stz.decompress(stream).tobytes() == array.tobytes()
    assert reference_decoder.decode(stream).tobytes() == array.tobytes()
    return h5stz.info(stream).form, len(stream) / array.nbytes


@pytest.mark.parametrize("places", range(3, 11))
@pytest.mark.parametrize("shift", [0, 280])
def test_numbers_rounded_by_numpy(places, shift):
    form, share = whole(np.round(smooth(places) + shift, places))
    assert form == DECIMALS
    assert share < 0.62


@pytest.mark.parametrize("places", [3, 4, 5])
def test_rounded_float32(places):
    assert whole(np.round(smooth(places), places).astype("f4"))[0] in (DECIMALS, "blocks of fixed-point numbers")


@pytest.mark.parametrize("digits", [5, 6, 9, 12])
@pytest.mark.parametrize("lowest", [-18, -3])
def test_significant_digits_of_text(digits, lowest):
    rng = np.random.default_rng(digits)
    numbers = [float(f"{v:.{digits - 1}e}") for v in 10.0 ** rng.uniform(lowest, lowest + 6, 3000)]
    form, share = whole(np.array(numbers).reshape(50, 60))
    assert form == DECIMALS
    assert share < 0.75


@pytest.mark.parametrize("power", [-31, -30, -23, -22, 23, 31])
def test_the_outermost_powers_of_ten(power):
    """They are not exact as doubles: products and quotients are rounded once all the same."""
    mantissas = np.random.default_rng(power + 40).integers(10**5, 10**6, 2000)
    form, share = whole(np.array([float(f"{m}e{power}") for m in mantissas]))
    assert form == DECIMALS
    assert share < 0.4


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<c16"])
def test_few_other_numbers_are_stored_beside(dtype):
    array = np.round(smooth(), 5).astype(dtype)
    array[0, 1, 2] = np.pi
    array[3, 4, 5:7] = -0.0
    array[7] = np.nan
    array[8, 9, 1:3] = np.inf, -np.inf
    assert whole(array)[0] == DECIMALS


def test_many_other_numbers_are_no_decimals():
    array = np.round(smooth(), 7)
    array[::5, ::3] *= np.pi
    assert whole(array)[0] != DECIMALS


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_ordinary_numbers_are_none(dtype):
    assert whole(smooth().astype(dtype))[0] != DECIMALS
    assert whole(np.random.default_rng(1).random((60, 70)).astype(dtype))[0] != DECIMALS


def test_fill_values_and_zeros():
    array = np.round(smooth(), 6)
    array[2:5] = -9999.0
    array[:, 3] = 0
    stream = h5stz.compress(array, lossless=True, fill_value=-9999.0)
    assert h5stz.info(stream).form == DECIMALS
    assert h5stz.decompress(stream).tobytes() == array.tobytes()


@pytest.mark.parametrize("name", arrays.decimal_cases())
def test_every_part_has_the_bits_of_the_array(name):
    array, options = arrays.decimal_cases()[name]
    reader, rng = _core.Reader.of_bytes(arrays.compress(array, options), 0), np.random.default_rng(1)
    for _ in range(12):
        start, count, step = boxes.random_request(rng, array.shape)
        part = array[tuple(slice(at, at + n * by, by) for at, n, by in zip(start, count, step, strict=True))]
        assert boxes.read(reader, array.dtype, start, count, step).tobytes() == part.tobytes()


@pytest.mark.parametrize("options", [{"absolute": 1e-3}, {"pointwise_relative": 1e-4}])
def test_other_modes_have_no_decimals(options):
    array = np.round(smooth(), 6)
    stream = h5stz.compress(array, **options)
    assert h5stz.info(stream).form != DECIMALS
    if "absolute" in options:
        assert np.abs(h5stz.decompress(stream) - array).max() <= options["absolute"]


def test_rewriting_keeps_them():
    array = np.round(smooth(), 6)
    stream = h5stz.compress(array, lossless=True)
    changed = array.copy()
    changed[3, 4] = np.round(changed[3, 4] * 2, 6)
    assert h5stz.decompress(h5stz.rewrite(changed, stream, lossless=True)).tobytes() == changed.tobytes()


@pytest.mark.parametrize("payload", [b"\1\x17", b"\2\0\0", b"\2\x10\0", b"\2\6\xe0", b"\2\6\x2f", b"\0\6", b"\3\6"])
def test_records_out_of_range_are_refused(payload):
    name = "decimals_1d" if len(payload) == 2 else "decimals_significant"
    stream = bytearray(arrays.compress(*arrays.decimal_cases()[name]))
    size = header_size(stream)
    at = stream.index(bytes([15, len(payload)])) + 2
    stream[at : at + len(payload)] = payload
    stream[: size + 4] = with_crc(stream[:size])
    with pytest.raises(h5stz.StzError, match=r"damaged|newer version"):
        h5stz.decompress(bytes(stream))
    with pytest.raises((reference_decoder.Damaged, reference_decoder.NewerVersion)):
        reference_decoder.decode(bytes(stream))


@needs_programs("h5dump")
def test_through_h5py_and_h5dump(tmp_path):
    """Written, changed in part, grown; read as a whole, in views and by a program of HDF5."""
    array = written_in_parts.write(tmp_path / "a.h5", np.round(smooth(4, (40, 50, 30)), 6), h5stz.STZ(lossless=True))
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["x"][...].tobytes() == array.tobytes()
        view = h5stz.view(file["x"])
        assert exact.same_bits(view[3:30:2, ::3, 7], array[3:30:2, ::3, 7])
        assert exact.same_bits(view.level(1)[...], array[::2, ::2, ::2])
        form = h5stz.info(file["x"].id.read_direct_chunk((0, 0, 0))[1]).form
    assert "decimals" in form
    run("h5dump", "-d", "/x", "-b", "LE", "-o", tmp_path / "x.bin", tmp_path / "a.h5")
    assert (tmp_path / "x.bin").read_bytes() == array.astype("<f8").tobytes()

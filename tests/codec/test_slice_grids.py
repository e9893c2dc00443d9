"""Numbers of packed files, with a grid for each slice: bits, sizes, parts, and what is on no grid."""

import struct

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

CASES = arrays.slice_cases()


def levels(shape=(9, 48, 50), seed=1):
    """Smooth fields, one for each level."""
    rng = np.random.default_rng(seed)
    waves = np.cumsum(np.cumsum(rng.standard_normal(shape), axis=1), axis=2)
    return (waves - waves.mean((1, 2), keepdims=True)) / waves.std((1, 2), keepdims=True)


def packed(fields, dtype, binary=False, bits=16):
    """Fields as files with 16 bits, a scale and an offset for each level give them back."""
    low, high = fields.min((1, 2), keepdims=True), fields.max((1, 2), keepdims=True)
    scale = (high - low) / (2**bits - 2)
    if binary:
        low, scale = low.astype("f4").astype("f8"), 2.0 ** np.ceil(np.log2(scale))
    return (np.round((fields - low) / scale) * scale + low).astype(dtype)


def sliced(array, **options):
    """The share of the bytes of a lossless stream, once two decoders gave the array back; and whether there are grids."""
    stream = h5stz.compress(array, lossless=True, **options)
    assert h5stz.decompress(stream).tobytes() == array.tobytes()
    assert reference_decoder.decode(stream).tobytes() == array.tobytes()
    return len(stream) / array.nbytes, reference_decoder.read_header(stream).slices is not None


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8"])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("scale", ["wind", "temperature", "humidity"])
def test_levels_of_packed_files(dtype, binary, scale):
    height = np.linspace(0, 1, 9).reshape(-1, 1, 1)
    fields = {
        "wind": levels() * (5 + 40 * height),
        "temperature": 290 - 80 * height + levels() * (3 + 8 * height),
        "humidity": np.exp(levels() / 2 - 8 * height),
    }[scale]
    array = packed(fields, dtype, binary)
    share, has_grids = sliced(array)
    assert has_grids or binary  # binary ones may be on one grid
    smooth = packed(fields + 1e-4 * np.random.default_rng(2).standard_normal(fields.shape), dtype)
    assert share < 0.55
    assert share < sliced(smooth)[0] + 0.1


@pytest.mark.parametrize("name", CASES)
def test_every_part_has_the_bits_of_the_array(name):
    array, options = CASES[name]
    stream = arrays.compress(array, options)
    assert reference_decoder.read_header(stream).slices is not None
    rng = np.random.default_rng(1)
    for cache in (0, 1 << 20):
        reader = _core.Reader.of_bytes(stream, cache)
        for _ in range(12):
            start, count, step = boxes.random_request(rng, array.shape)
            part = array[tuple(slice(at, at + n * by, by) for at, n, by in zip(start, count, step, strict=True))]
            assert boxes.read(reader, array.dtype, start, count, step).tobytes() == part.tobytes()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads(threads):
    array = packed(levels((5, 200, 210)), "f4")
    stream = h5stz.compress(array, lossless=True, threads=threads)
    assert stream == h5stz.compress(array, lossless=True)
    assert h5stz.decompress(stream, threads=threads).tobytes() == array.tobytes()


def test_constant_slices_and_special_values():
    array = packed(levels(), "f4")
    array[3] = 7.25
    array[4, 5:9] = np.nan
    array[5, 1, 2:4] = np.inf, -np.inf
    array[7, 8:20] = -9999.0
    assert sliced(array, fill_value=-9999.0)[1]


def test_a_slice_without_a_grid_leaves_none():
    array = packed(levels(), "f4")
    array[4] = levels()[4]
    assert not sliced(array)[1]


def test_a_fill_value_among_the_integers_leaves_none():
    array = packed(levels(), "f4")
    array[2, 3, 4] = 0.0
    assert not sliced(array, fill_value=0.0)[1]


def test_damage_in_a_block_leaves_others_alone():
    array = packed(levels((5, 120, 130)), "f4")
    stream = bytearray(h5stz.compress(array, lossless=True, block="region", content_check=False))
    stream[-20] ^= 1
    with pytest.warns(h5stz.DamageWarning) as told:
        found = h5stz.decompress(bytes(stream), on_error="nan")
    lost = np.isnan(found)
    assert 0 < lost.sum() == told[0].message.damage[0].lost
    assert found[~lost].tobytes() == array[~lost].tobytes()


def test_rewriting_keeps_the_bits():
    array = packed(levels(), "f4")
    stream = h5stz.compress(array, lossless=True)
    changed = array.copy()
    changed[3, 4] = array[3, 5]
    changed[5, 6, 7] = np.e
    assert h5stz.decompress(h5stz.rewrite(changed, stream, lossless=True)).tobytes() == changed.tobytes()


@pytest.mark.parametrize(("at", "byte"), [(0, 3), (0, 255), (8, 0x7F), (8, 0xFF)])
def test_records_out_of_range_are_damage(at, byte):
    stream = bytearray(arrays.compress(*CASES["slices_f4"]))
    size = header_size(stream)
    origin = reference_decoder.read_header(stream).slices.grids[0][0]
    record = stream.index(struct.pack("<d", origin)) - 1
    stream[record + at] = byte
    stream[: size + 4] = with_crc(stream[:size])
    with pytest.raises(h5stz.StzError, match="damaged"):
        h5stz.decompress(bytes(stream))
    with pytest.raises(reference_decoder.Damaged):
        reference_decoder.decode(bytes(stream))


@needs_programs("h5dump")
def test_through_h5py_and_h5dump(tmp_path):
    """Written, changed in part, grown; read as a whole, in views and by a program of HDF5."""
    fields = levels((40, 50, 30)) * np.geomspace(1, 900, 40).reshape(-1, 1, 1)
    array = written_in_parts.write(tmp_path / "a.h5", packed(fields, "f4", bits=11), h5stz.STZ(lossless=True))
    with h5py.File(tmp_path / "a.h5") as file:
        assert file["x"][...].tobytes() == array.tobytes()
        view = h5stz.view(file["x"])
        assert exact.same_bits(view[3:30:2, ::3, 7], array[3:30:2, ::3, 7])
        assert exact.same_bits(view.level(1)[...], array[::2, ::2, ::2])
        chunk = file["x"].id.read_direct_chunk((16, 0, 0))[1]
    assert reference_decoder.read_header(chunk).slices is not None
    run("h5dump", "-d", "/x", "-b", "LE", "-o", tmp_path / "x.bin", tmp_path / "a.h5")
    assert (tmp_path / "x.bin").read_bytes() == array.astype("<f4").tobytes()


def test_the_content_check_is_of_what_it_was_made_of():
    stream = h5stz.compress(packed(levels(), "f4"), lossless=True, content_check=True)
    assert reference_decoder.read_header(stream).slices is not None
    assert h5stz.verify(stream) > 0
    h5stz.decompress(stream, verify=True)
    reference_decoder.decode(stream, verify=True)

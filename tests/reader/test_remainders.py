"""Partial reads of streams with remainders: every selection has the bits of the array, previews are near."""

from functools import partial

import numpy as np
import pytest

import h5stz
import reference_decoder
from golden import arrays
from h5stz import _core
from support import boxes, exact
from support.stream_bytes import varint, with_crc

CASES = {name: case for name, case in arrays.remainder_cases().items() if case[0].dtype.kind == "f"}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("cache", [0, 1 << 20])
def test_every_part_has_the_bits_of_the_array(name, cache):
    array, options = CASES[name]
    stream = arrays.compress(array, options)
    assert "with remainders" in h5stz.info(stream).form
    reader, rng = _core.Reader.of_bytes(stream, cache), np.random.default_rng(1)
    for _ in range(12):
        start, count, step = boxes.random_request(rng, array.shape)
        part = array[tuple(slice(at, at + n * by, by) for at, n, by in zip(start, count, step, strict=True))]
        assert boxes.read(reader, array.dtype, start, count, step).tobytes() == part.tobytes()


def test_a_preview_is_within_one_and_a_half_steps():
    array, options = CASES["remainders_3d"]
    stream = arrays.compress(array, options)
    accepted = 1.5 * reference_decoder.read_header(stream).remainders.step
    reader = _core.Reader.of_bytes(stream, 0)
    reader.max_error(accepted)
    preview = boxes.read(reader, array.dtype, (0,) * 3, array.shape)
    assert 0 < np.abs(preview - array).max() <= accepted
    assert preview.tobytes() == reference_decoder.decode(stream, max_error=accepted).tobytes()
    reader.max_error(accepted / 2)
    assert boxes.read(reader, array.dtype, (0,) * 3, array.shape).tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", ["<f4", ">f8"])
def test_numbers_far_below_the_step_take_few_bits_more_than_their_mantissa(dtype):
    """A field that fades over many orders of magnitude: sign, mantissa, and 7 bits or less for the gap."""
    rng = np.random.default_rng(4)
    fading = 2.0 ** -np.maximum(np.arange(90) - 45, 0)[:, None] * (1 + rng.random((90, 64)))
    fading = (fading * rng.choice([-1, 1], fading.shape)).astype(dtype)
    fading[:45] = np.cumsum(rng.standard_normal((45, 64)) * 0.01 + 1, axis=1)
    stream = h5stz.compress(fading, lossless=True)
    remainders = reference_decoder.read_header(stream).remainders
    assert remainders.gap_bits >= 2
    small = (np.abs(fading) < remainders.step).sum()
    assert small > 2000
    mantissa = 23 if fading.itemsize == 4 else 52
    longest = small * (1 + mantissa + 7) / 8 + (fading.size - small) * fading.itemsize
    assert len(stream) < longest
    for decode in (h5stz.decompress, reference_decoder.decode):
        assert decode(stream).tobytes() == fading.tobytes()


def test_coarse_reads_plan_few_bytes():
    array, options = CASES["remainders_regions"]
    stream = arrays.compress(array, options)
    coarse = _core.Reader.of_bytes(stream, 0).plan((0,) * 3, tuple(-(-extent // 4) for extent in array.shape), (4,) * 3)
    assert sum(size for _, size in coarse) < len(stream) / 8


def test_damage_in_a_slab_leaves_other_slabs_alone():
    array, options = CASES["remainders_1d"]
    stream = bytearray(arrays.compress(array, {**options, "content_check": False}))
    stream[-20] ^= 1  # in the last slab of level 0
    with pytest.raises(h5stz.StzError, match="checksum"):
        h5stz.decompress(bytes(stream))
    with pytest.warns(h5stz.DamageWarning) as told:
        found = h5stz.decompress(bytes(stream), on_error="nan")
    lost = np.isnan(found)
    assert 0 < lost.sum() == told[0].message.damage[0].lost
    assert not lost[::2].any() and found[~lost].tobytes() == array[~lost].tobytes()


def test_a_header_that_claims_a_huge_array_ends_at_once():
    array, options = CASES["remainders_of_few"]
    header = reference_decoder.read_header(stream := arrays.compress(array, {**options, "content_check": False}))
    front = bytearray(stream[: header.size - 4])
    at = 7  # the varint of the only extent
    assert front[at : at + 2] == varint(len(array))
    claimed = with_crc(bytes(front[:at]) + varint(2**50) + bytes(front[at + 2 :])) + stream[header.size :]
    with pytest.raises(h5stz.StzError):
        boxes.read(_core.Reader.of_bytes(claimed, 0), array.dtype, (2**49,), (3,))


def outcomes(stream, array, tmp_path):
    """What each reader says of a damaged stream: None if it gives the array, else the error."""
    (tmp_path / "stream").write_bytes(stream)
    start, plane = (0,) * array.ndim, (array.shape[0] // 2,) + (0,) * (array.ndim - 1)

    def whole(reader):
        return boxes.read(reader, array.dtype, start, array.shape), array

    def part(reader):
        count = (1, *array.shape[1:])
        return boxes.read(reader, array.dtype, plane, count), boxes.cut(array, plane, count, (1,) * array.ndim)

    def coarse(reader):
        count, step = tuple(-(-extent // 2) for extent in array.shape), (2,) * array.ndim
        return boxes.read(reader, array.dtype, start, count, step), boxes.cut(array, start, count, step)

    def in_file(read):
        with (tmp_path / "stream").open("rb") as file:
            return read(_core.Reader.of_file(file.fileno(), 0, len(stream), 0))

    def in_memory(read):
        return read(_core.Reader.of_bytes(bytes(stream), 0))

    readers = [lambda: (h5stz.decompress(bytes(stream)), array), lambda: (h5stz.decompress(bytes(stream), threads=3), array)]
    readers += [partial(source, read) for source in (in_memory, in_file) for read in (whole, part, coarse)]
    for one in readers:
        try:
            found, expected = one()
        except h5stz.StzError as error:
            assert error.code != _core.ERROR_CODES["STZ_ERROR_INTERNAL"]
            yield error
        else:
            assert exact.same_bits(found, expected)
            yield None


@pytest.mark.parametrize("name", ["remainders_1d", "remainders_3d", "remainders_of_small_numbers", "remainders_with_zero_bits"])
def test_damage_in_slabs_is_an_error_or_does_not_matter(name, tmp_path):
    """Flipped bits in all sections of remainders, and streams that end there; without a content check, which would notice."""
    array, options = CASES[name]
    stream, rng = arrays.compress(array, {**options, "content_check": False}), np.random.default_rng(5)
    begin = h5stz.info(stream).preview_bytes
    assert begin < len(stream) and list(outcomes(stream, array, tmp_path)) == [None] * 8
    for place in sorted({begin, begin + 1, len(stream) - 1, *rng.integers(begin, len(stream), 25).tolist()}):
        damaged = bytearray(stream)
        damaged[place] ^= 1 << int(rng.integers(8))
        found = list(outcomes(damaged, array, tmp_path))
        assert found[0] and found[1] and found[2] and found[5], "whole arrays need every slab"
        found = list(outcomes(stream[:place], array, tmp_path))
        assert found[0] and found[1] and found[2] and found[5]

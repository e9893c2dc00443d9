"""Axis maps: which axes of an array are the codec's, which are its batch, and which are merged."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import h5stz
import reference_decoder
from h5stz import _core
from support import axis_maps, boxes, cases, exact
from support.fields import random_field
from support.requirements import needs_programs
from support.stream_bytes import header_size, varint, with_crc

CODES = _core.ERROR_CODES


def map_of(stream):
    """The axis map in a stream's header, None if there is none."""
    return reference_decoder.read_header(stream).axis_map


@st.composite
def cases_of_maps(draw):
    """(array, map, mode, bound): up to six axes, short and long ones, every dtype, masked samples, padding."""
    shape, left = [], 4000
    for _ in range(draw(st.integers(1, 6))):
        shape.append(draw(st.integers(1, min(left, draw(st.sampled_from([3, 9, 40, 300]))))))
        left //= shape[-1]
    shape = draw(st.permutations(shape))
    assume(np.prod(shape) > 16)
    array = cases.make(draw(st.sampled_from(["smooth", "rough", "walk"])), shape, draw(st.sampled_from(cases.ONCE)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if array.dtype.kind in "fc" and draw(st.booleans()):
        array[rng.random(array.shape) < 0.2] = np.nan
        array[rng.random(array.shape) < 0.05] = np.inf
        numbers = array.view(f"{array.dtype.str[0]}u{cases.number_type(array.dtype).itemsize}").reshape(-1)
        numbers[rng.random(numbers.size) < 0.02] += 3  # NaN with payloads, and a little noise
    if draw(st.booleans()):  # an edge chunk
        padded = np.full_like(array, array.flat[0])
        inside = tuple(slice(draw(st.integers(max(1, extent // 2), extent))) for extent in array.shape)
        padded[inside] = array[inside]
        array = padded
    mode = draw(st.sampled_from([axis_maps.LOSSLESS, axis_maps.ABSOLUTE]))
    return array, draw(axis_maps.maps(array)), mode, 0.5 if mode else 0.0


@needs_programs("g++")
@given(cases_of_maps(), st.data())
def test_any_map(case, data):
    array, axis_map, mode, bound = case
    stream = axis_maps.mapped(array, axis_map, mode, bound)
    assume(stream)
    assert map_of(stream) == axis_map
    whole = h5stz.decompress(stream)
    exact.largest_error(array, whole, bound)
    assert exact.same_bits(whole, reference_decoder.decode(stream))
    reader = _core.Reader.of_bytes(stream, data.draw(st.sampled_from([0, 10_000, 1 << 30])))
    requests = [data.draw(boxes.requests(array.shape)) for _ in range(4)]
    for level in range(h5stz.info(stream).levels):
        step = [2**level] * array.ndim
        requests.append(([0] * array.ndim, [-(-extent // 2**level) for extent in array.shape], step))
    for request in requests:
        assert boxes.read(reader, whole.dtype, *request).tobytes() == boxes.cut(whole, *request).tobytes(), request


def smooth(*shape, seed=1):
    """A smooth field with a little noise."""
    return (random_field(shape, 4, seed) + 1e-3 * np.random.default_rng(seed).standard_normal(shape)).astype("f4")


def tensor(*shape, components=(3, 3)):
    """A field of tensors on the last axes, with components that have nothing to do with each other."""
    each = [smooth(*shape, seed=seed) for seed in range(int(np.prod(components)))]
    return np.ascontiguousarray(np.moveaxis(np.array(each), 0, -1)).reshape(*shape, *components)


def size(array, share=1e-3):
    """Bytes of the array at a relative bound."""
    stream = h5stz.compress(array, absolute=share * float(np.ptp(array)))
    assert h5stz.decompress(stream).shape == array.shape
    return len(stream)


def test_components_may_stand_anywhere():
    last = tensor(40, 40, 40)
    first = np.ascontiguousarray(np.moveaxis(last, (3, 4), (0, 1)))
    assert size(last) <= 1.02 * size(first)
    colours = np.stack([smooth(150, 160) + 0.1 * smooth(150, 160, seed=seed) for seed in (2, 3, 4)])
    assert size(np.ascontiguousarray(np.moveaxis(colours, 0, 2))) <= 1.02 * size(colours), "related components"


def test_short_axes_are_as_good_as_one():
    plane = smooth(2000, 90)
    assert size(plane.reshape(2000, 2, 3, 3, 5)) <= 1.05 * size(plane)
    noise = cases.make("rough", (2,) * 13, "f4")
    assert size(noise) <= 1.05 * size(noise.reshape(-1))


@pytest.mark.parametrize(
    "shape", [(5000,), (70, 80), (9, 70, 80), (30, 31, 32), (9, 20, 21, 22), (10, 11, 12, 13, 14), (40, 3)], ids=str
)
def test_ordinary_arrays_have_no_map(shape):
    assert map_of(h5stz.compress(smooth(*shape), absolute=1e-2)) is None


@pytest.mark.parametrize(
    "shape", [(40, 41, 3), (17, 18, 19, 3, 3), (3, 3, 26, 26, 26), (130, 140, 4), (2000, 2, 2, 5), (500, 3, 3, 3, 2)], ids=str
)
@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8", "u1", "i4", "u8", "c16"])
def test_short_axes_of_every_type(shape, dtype):
    array = cases.make("walk", shape, dtype)
    stream = cases.keeps(array, absolute=cases.width(array) * 1e-2)
    assert map_of(stream) or shape[0] == 3  # of some types the components are alike: all zeros
    part, whole = tuple(extent // 2 for extent in shape), h5stz.decompress(stream)
    reader = _core.Reader.of_bytes(stream, 1 << 30)
    request = part, [extent - begin for extent, begin in zip(shape, part, strict=True)], [1] * len(shape)
    assert boxes.read(reader, whole.dtype, *request).tobytes() == boxes.cut(whole, *request).tobytes()
    if array.size < 20_000:
        assert exact.same_bits(whole, reference_decoder.decode(stream))
        cases.keeps(array, lossless=True)


def with_map(stream, axis_map, rank):
    """A stream without records (extents below 128, a bound, no fill value) with this map in its header."""
    end, front = header_size(stream), bytearray(stream[: 4 + 3 + rank + 8])
    front[4] |= 64
    record = varint(5) + varint(len(axis_map)) + bytes(axis_map)
    return with_crc(front + varint(len(record)) + record + stream[len(front) : end]) + stream[end + 4 :]


# for an array of 20 x 1 x 12 x 30
GOOD = [[1, 4, 2, 3], [5, 1, 2, 3], [1, 0, 2, 3]]
DAMAGED = {
    "an axis of the codec twice": [3, 4, 2, 3],
    "the last axis merged": [1, 4, 2, 5],
    "an axis too few": [1, 4, 2],
    "an axis too many": [1, 4, 2, 3, 4],
    "nothing": [],
    "extent 1 behind another": [1, 3, 2, 4],
    "an axis of the codec left out": [0, 4, 1, 3],
    "the last axes left out": [0, 4, 4, 4],
}


@pytest.mark.parametrize("axis_map", GOOD, ids=str)
def test_a_map_may_say_what_the_default_says(axis_map):
    stream = h5stz.compress(smooth(20, 1, 12, 30), absolute=1e-2, fill_value=False, content_check=False)
    assert map_of(stream) is None
    changed = with_map(stream, axis_map, 4)
    assert map_of(changed) == axis_map
    assert exact.same_bits(h5stz.decompress(changed), h5stz.decompress(stream))
    assert exact.same_bits(reference_decoder.decode(changed), h5stz.decompress(stream))


@pytest.mark.parametrize("axis_map", DAMAGED.values(), ids=DAMAGED)
def test_maps_that_no_encoder_writes(axis_map):
    stream = with_map(h5stz.compress(smooth(20, 1, 12, 30), absolute=1e-2, fill_value=False, content_check=False), axis_map, 4)
    with pytest.raises(h5stz.StzError) as error:
        h5stz.decompress(stream)
    assert error.value.code == CODES["STZ_ERROR_CORRUPT"]
    with pytest.raises(reference_decoder.Damaged):
        reference_decoder.decode(stream)


def test_roles_of_later_versions():
    stream = with_map(
        h5stz.compress(smooth(20, 1, 12, 30), absolute=1e-2, fill_value=False, content_check=False), [1, 4, 2, 6], 4
    )
    with pytest.raises(h5stz.StzError) as error:
        h5stz.info(stream)
    assert error.value.code == CODES["STZ_ERROR_VERSION"]


def test_a_map_is_for_blocks_alone():
    constant = h5stz.compress(np.full((5, 6), 1.5), absolute=0.1, fill_value=False)
    front = bytearray(constant[: 4 + 3 + 2 + 8])
    front[4] |= 64
    stream = with_crc(front + bytes([4, 5, 2, 2, 3]) + constant[len(front) : -4])
    with pytest.raises(h5stz.StzError) as error:
        h5stz.info(stream)
    assert error.value.code == CODES["STZ_ERROR_CORRUPT"]

"""Floating-point numbers without neighbours are coded by their fields: bit for bit, whatever type, order, values they have."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
from support import cases, exact

FIELDS = "floating-point fields"
IN_BLOCK = 1 << 17  # numbers of a block
MANTISSA = {2: 10, 4: 23, 8: 52}


def noise(count, dtype, seed=1):
    """Normally distributed numbers, flat."""
    numbers = np.random.default_rng(seed).standard_normal(count * (2 if np.dtype(dtype).kind == "c" else 1))
    return cases.from_numbers(numbers, (count,), dtype)


def bits(array):
    """The numbers of a flat array as unsigned integers in its memory."""
    width = cases.number_type(array.dtype).itemsize
    order = np.dtype(array.dtype).str[0]
    return array.view(f"{order}u{width}")


def special(count, dtype, seed=1):
    """Noise with zeros of both signs, infinities, NaN with payloads, subnormal and largest numbers in it."""
    array = noise(count, dtype, seed)
    rng, width = np.random.default_rng(seed + 1), cases.number_type(dtype).itemsize
    mantissa, sign = MANTISSA[width], 1 << 8 * width - 1
    infinity = ((1 << 8 * width - 1 - mantissa) - 1) << mantissa
    chosen = [
        0,
        sign,
        infinity,
        infinity | sign,
        infinity | 1,
        infinity | sign | 5,
        infinity | 1 << mantissa - 1,
        1,
        sign | 3,
        infinity - 1,
    ]
    numbers = bits(array)
    at = rng.random(numbers.size) < 0.2
    numbers[at] = np.array(chosen, "u8")[rng.integers(0, len(chosen), at.sum())].astype(numbers.dtype)
    return array


def mixed(count, dtype, seed=1):
    """Zeros, one other number that occurs often, numbers of fewer mantissa bits, numbers of any exponent."""
    array = noise(count, dtype, seed)
    numbers, rng = bits(array), np.random.default_rng(seed + 2)
    mantissa = MANTISSA[cases.number_type(dtype).itemsize]
    kind = rng.integers(0, 10, numbers.size)
    numbers[kind < 2] = 0
    numbers[kind == 3] = numbers[0]
    narrow = kind > 7
    numbers[narrow] = numbers[narrow] >> numbers.dtype.type(mantissa // 2) << numbers.dtype.type(mantissa // 2)
    any_exponent = rng.random(numbers.size) < 0.03
    numbers[any_exponent] = rng.integers(0, 2**64, any_exponent.sum(), np.uint64).astype(numbers.dtype.newbyteorder("="))
    return array


KINDS = {"noise": noise, "special": special, "mixed": mixed}


def coded(array, **options):
    """(stream, form) of an array, which comes back."""
    stream = h5stz.compress(array, fill_value=False, **{"lossless": True, **options})
    assert exact.same_bits(array, h5stz.decompress(stream))
    return stream, h5stz.info(stream).form


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", cases.FLOATING, ids=str)
def test_every_type(dtype, kind):
    for count in (256, 511, 512, 4095, 4096, 20001):
        array = KINDS[kind](count, dtype)
        stream, form = coded(array)
        assert len(stream) <= array.nbytes + cases.OVERHEAD
        assert form == FIELDS or (dtype.kind == "f" and dtype.itemsize == 2) or kind != "noise"


@given(
    st.sampled_from(cases.FLOATING),
    st.sampled_from(sorted(KINDS)),
    st.integers(256, 6000),
    st.integers(0, 2**32),
    st.sampled_from([1, 5, 7, 9]),
)
def test_any_numbers_come_back(dtype, kind, count, seed, effort):
    array = KINDS[kind](count, dtype, seed)
    first = h5stz.compress(array, lossless=True, effort=effort, threads=1)
    assert first == h5stz.compress(array, lossless=True, effort=effort, threads=3)
    assert exact.same_bits(array, h5stz.decompress(first, threads=2))


@pytest.mark.parametrize("shape", [(40, 7, 3), (2, 2, 2, 2, 2, 2, 2, 2, 2), (1, 700, 1), (3, 1, 300)], ids=str)
def test_any_shape_has_the_numbers_in_its_order(shape):
    array = noise(int(np.prod(shape)), "f4").reshape(shape)
    flat, form = coded(array.reshape(-1))
    stream, _ = coded(array)
    assert form == FIELDS and stream[-500:] == flat[-500:]


@pytest.mark.parametrize("dtype", ["<f4", ">c16"])
@pytest.mark.parametrize("count", [IN_BLOCK - 1, IN_BLOCK, IN_BLOCK + 1, 3 * IN_BLOCK + 7])
def test_blocks_and_threads(dtype, count):
    array = mixed(count, dtype)
    streams = [h5stz.compress(array, lossless=True, fill_value=False, threads=threads) for threads in (1, 2, 3)]
    assert len(set(streams)) == 1 and h5stz.info(streams[0]).form == FIELDS
    for threads in (1, 2, 3):
        assert exact.same_bits(array, h5stz.decompress(streams[0], threads=threads))


@pytest.mark.parametrize("dtype", ["<f2", ">f4", "<f8", "<c8"])
def test_any_alignment_of_input_and_output(dtype):
    array = special(3000, dtype)
    stream, form = coded(array)
    assert form == FIELDS
    for offset in (0, 1, 2, 3, 5, 8):
        memory = np.full(array.nbytes + 32, 0xA5, "u1")
        place = memory[offset : offset + array.nbytes]
        place[:] = array.view("u1")
        assert h5stz.compress(place.view(dtype), lossless=True, fill_value=False) == stream
        place[:] = 0xA5
        h5stz.decompress(stream, out=place.view(dtype))
        assert place.tobytes() == array.tobytes()
        assert (memory[:offset] == 0xA5).all() and (memory[offset + array.nbytes :] == 0xA5).all()


def test_what_they_save():
    """Normally distributed numbers have 2.6 bits of exponent in place of 8 or 11, and their signs and mantissas."""
    for dtype, least, most in (("f4", 0.82, 0.835), ("f8", 0.85, 0.87), ("c8", 0.82, 0.835)):
        array = noise(100_000, dtype)
        assert least < len(coded(array)[0]) / array.nbytes < most
    narrow = noise(50_000, "f4").astype("f8")
    assert len(coded(narrow)[0]) < 0.44 * narrow.nbytes
    pruned = np.where(np.random.default_rng(4).random(50_000) < 0.6, np.float32(0), noise(50_000, "f4"))
    assert len(coded(pruned)[0]) < 0.38 * pruned.nbytes


@pytest.mark.parametrize("smoothness", [0, 1, 2, 4, 8, 16, 40, 200])
@pytest.mark.parametrize(("dtype", "shape"), [("f4", (60, 70)), ("f8", (5000,)), ("f4", (16, 17, 18))], ids=str)
def test_the_sample_chooses_no_longer_form(dtype, shape, smoothness):
    """What effort 5 takes is hardly longer than what effort 7 finds, which tries all forms. Fields may be 0.5 % longer than
    blocks of effort 5, because they are read in a fifth of the time."""
    rng = np.random.default_rng(smoothness)
    smooth = np.add.outer(np.sin(np.arange(shape[0]) / 9), np.ones(int(np.prod(shape[1:])))).reshape(shape)
    array = (smooth * smoothness / 8 + rng.standard_normal(shape)).astype(dtype)
    quick, thorough = (h5stz.compress(array, lossless=True, effort=effort) for effort in (5, 7))
    forms = [h5stz.info(stream).form for stream in (quick, thorough)]
    if forms[0] == FIELDS != forms[1]:
        assert len(quick) <= 1.006 * len(thorough)
    assert len(quick) <= array.nbytes + cases.OVERHEAD


@pytest.mark.parametrize("options", [{"absolute": 1e-3}, {"pointwise_relative": 1e-3}], ids=str)
def test_only_without_loss(options):
    assert h5stz.info(h5stz.compress(noise(5000, "f4"), **options)).form != FIELDS


def test_ordinary_data_have_none():
    for dtype, kind in itertools.product(
        ("f4", "f8"), ("smooth", "walk", "few values", "lattice", "layers", "ramp", "constant")
    ):
        assert coded(cases.make(kind, (60, 100), dtype))[1] != FIELDS, (dtype, kind)


def test_no_option_of_other_forms_changes_them():
    array = noise(3000, "f8").reshape(50, 60)
    plain, form = coded(array)
    assert form == FIELDS
    for options in ({"block": "region"}, {"content_check": True}, {"check": True}):
        assert coded(array, **options)[1] == FIELDS
    assert h5stz.info(plain).levels == 1 and not h5stz.info(plain).bound_used


def test_estimates():
    for count in (3000, 5 * IN_BLOCK + 100):
        array = noise(count, "f4")
        estimated = h5stz.estimate(array, lossless=True)
        assert estimated.bytes == pytest.approx(len(h5stz.compress(array, lossless=True)), rel=0.01)


def test_a_patch_over_fields():
    """A bound on data that lost nothing before: the changed samples are stored over them, the others keep their bits."""
    array = noise(20_000, "f4").reshape(100, 200)
    stream, form = coded(array)
    assert form == FIELDS
    changed = array.copy()
    changed[10:20, 30:50] += 1
    again = h5stz.rewrite(changed, stream, lossless=True)
    assert exact.same_bits(changed, h5stz.decompress(again))


def test_memory_that_is_not_its_own():
    """A view of every second number is coded as its copy is."""
    array = noise(4000, "f8")[::2]
    assert coded(array)[0] == coded(array.copy())[0]

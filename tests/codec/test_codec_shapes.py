"""The codec over shapes: every small one, thin, odd and prime axes, axes of length 1, all ranks, several blocks per level."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
from support import cases

SIDES = range(1, 18)
PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]


def check(shape, dtype, pattern, share=1e-2, **options):
    """Bound and lossless mode on the array of one shape."""
    array = cases.make(pattern, shape, dtype, seed=sum(shape))
    cases.keeps(array, absolute=cases.width(array) * share, **options)
    cases.keeps(array, lossless=True, **options)


@pytest.mark.parametrize("dtype", cases.KINDS)
def test_every_short_axis(dtype):
    for side in itertools.chain(SIDES, (31, 32, 33, 63, 64, 65, 127, 129, 255, 257)):
        for shape in ((side,), (side, 1), (1, side), (1, side, 1)):
            check(shape, dtype, "smooth")
            check(shape, dtype, "rough", 1e-4)


@pytest.mark.parametrize("rows", SIDES)
def test_every_small_plane(rows):
    for columns in SIDES:
        check((rows, columns), "f4", "rough")
        check((rows, columns), ("f8", "i2", "c8")[columns % 3], "walk")


@pytest.mark.parametrize("first", [1, 2, 3, 4, 5, 8, 9, 16, 17])
def test_small_volumes(first):
    for second, third in itertools.product([1, 2, 3, 5, 6, 12, 17], repeat=2):
        check((first, second, third), ("f4", "f2", "i8")[(second + third) % 3], "rough")


@pytest.mark.parametrize("first", [1, 2, 3, 5, 8])
def test_small_arrays_of_four_axes(first):
    for second, third, fourth in itertools.product([1, 2, 3, 4, 7], repeat=3):
        check((first, second, third, fourth), ("f4", "f8")[(second + third + fourth) % 2], "rough", 1e-3)


@pytest.mark.parametrize("rank", range(33))
def test_every_rank(rank):
    long = [3, 4, 5] if rank >= 3 else [40] * rank
    for place in {0, rank // 2, rank - len(long)}:
        shape = [1] * rank
        shape[place : place + len(long)] = long
        check(tuple(shape[:rank]), "f4", "rough")
    check((2,) * min(rank, 12) + (1,) * (rank - min(rank, 12)), "f8", "walk")


@pytest.mark.parametrize(
    "shape",
    [(2, 3000), (3000, 2), (3, 2, 900), (900, 3, 2), (7, 1, 701), (4000, 1, 1), (2, 2, 2, 2, 300), (300, 2, 2, 2, 2)],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8", "u1", "i4", "u8", "c16"])
def test_thin_arrays(shape, dtype):
    for pattern in ("smooth", "rough", "sparse"):
        check(shape, dtype, pattern)


@pytest.mark.parametrize("block", ["default", "region"])
@pytest.mark.parametrize("pattern", ["smooth", "rough", "sparse", "random bits"])
@pytest.mark.parametrize(
    ("shape", "dtype"),
    list(
        zip(
            [(33_000,), (260, 262), (35, 34, 33), (9, 10, 33, 17), (2, 3, 9, 35, 34), (6, 40, 41)],
            ["f4", "f4", "f4", "f8", "i2", "c8"],
            strict=True,
        )
    ),
    ids=str,
)
def test_arrays_of_several_blocks(shape, dtype, pattern, block):
    array = cases.make(pattern, shape, dtype)
    stream = cases.keeps(array, absolute=cases.width(array) * 1e-3, block=block)
    assert h5stz.info(stream).block == block


@given(
    shape=st.lists(st.integers(1, 9) | st.sampled_from(PRIMES), max_size=6).filter(lambda shape: np.prod(shape) < 20_000),
    dtype=st.sampled_from(cases.DTYPES),
    pattern=st.sampled_from(sorted(cases.PATTERNS)),
    share=st.sampled_from([0.1, 1e-2, 1e-4, 1e-7]),
    block=st.sampled_from(["default", "region"]),
)
def test_any_shape(shape, dtype, pattern, share, block):
    check(tuple(shape), dtype, pattern, share, block=block)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", cases.KINDS)
def test_every_small_plane_of_every_dtype(dtype):
    for shape in itertools.product(SIDES, repeat=2):
        check(shape, dtype, "rough" if sum(shape) % 2 else "walk", 1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("first", SIDES)
def test_every_small_volume(first):
    for second, third in itertools.product(SIDES, repeat=2):
        check((first, second, third), ("f4", "f8", "i4", "f2")[(second + third) % 4], "rough", block="region")


@pytest.mark.slow
@pytest.mark.parametrize("block", ["default", "region"])
@pytest.mark.parametrize(
    ("shape", "dtype"),
    list(
        zip(
            [(140_001,), (700, 513), (515, 700), (67, 130, 66), (65, 65, 65), (18, 35, 17, 34), (3, 70, 71, 9)],
            ["f8", "f4", "u1", "f4", "i8", "f4", ">c8"],
            strict=True,
        )
    ),
    ids=str,
)
def test_large_arrays_of_several_blocks(shape, dtype, block):
    for pattern in ("smooth", "rough", "sparse"):
        array = cases.make(pattern, shape, dtype)
        for share in (0.1, 1e-3, 1e-6):
            cases.keeps(array, absolute=cases.width(array) * share, block=block)

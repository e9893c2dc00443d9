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
        place = side + cases.KINDS.index(dtype)
        check(((side,), (side, 1))[place % 2], dtype, "smooth")
        check(((1, side), (1, side, 1))[place % 2], dtype, "rough", 1e-4)


def test_every_small_plane():
    for rows, columns in itertools.product(SIDES, repeat=2):
        check((rows, columns), ("f4", "f8", "f4", "i2", "f4", "c8")[(3 * rows + columns) % 6], ("rough", "walk")[columns % 2])


def test_small_volumes():
    for shape in itertools.product([1, 2, 3, 4, 5, 8, 9, 16, 17], [1, 2, 3, 5, 6, 12, 17], [1, 2, 3, 5, 6, 12, 17]):
        check(shape, ("f4", "f2", "i8")[sum(shape[1:]) % 3], "rough")


def test_every_rank():
    for rank in range(33):
        long = [3, 4, 5] if rank >= 3 else [40] * rank
        for place in {0, rank // 2, rank - len(long)}:
            shape = [1] * rank
            shape[place : place + len(long)] = long
            check(tuple(shape[:rank]), "f4", "rough")
        check((2,) * min(rank, 12) + (1,) * (rank - min(rank, 12)), "f8", "walk")


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8", "u1", "i4", "u8", "c16"])
def test_thin_arrays(dtype):
    shapes = [(2, 3000), (3000, 2), (3, 2, 900), (900, 3, 2), (7, 1, 701), (4000, 1, 1), (2, 2, 2, 2, 300), (300, 2, 2, 2, 2)]
    for place, shape in enumerate(shapes):
        for pattern in ("rough", ("smooth", "sparse")[place % 2]):
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

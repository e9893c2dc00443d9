"""Suggested chunk shapes: large, of multiples of 32, and no larger than asked for."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz


@pytest.mark.parametrize(
    "shape, dtype, target, expected",
    [
        ((256, 256, 256), "f4", 64 << 20, (256, 256, 256)),
        ((256, 256, 256), "f4", 32 << 20, (128, 256, 256)),
        ((512, 512, 512), "f4", 32 << 20, (128, 256, 256)),
        ((100, 100), "f8", 1 << 20, (100, 100)),
        ((0, 721, 1440), "f4", 32 << 20, (32, 384, 384)),
        ((10_000_000,), "f8", 32 << 20, (2_500_000,)),
        ((3, 2000, 2000), "f8", 1, (3, 32, 32)),
    ],
)
def test_shapes(shape, dtype, target, expected):
    chunk = h5stz.suggest_chunks(shape, dtype, target)
    assert chunk == expected


@pytest.mark.parametrize(
    "shape, axis, target, expected",
    [
        ((24, 128, 128, 128), 0, 32 << 20, (8, 64, 128, 128)),
        ((0, 256, 256), 0, 32 << 20, (8, 256, 256)),
        ((0, 721, 1440), 0, 32 << 20, (8, 721, 1440)),
        ((256, 256, 0), 2, 32 << 20, (256, 256, 8)),
        ((0, 40, 40, 40, 40), 0, 1 << 20, (1, 32, 32, 32, 32)),
        ((0,), 0, 32 << 20, (8,)),
        ((500, 3), 0, 1, (1, 3)),
    ],
)
def test_shapes_that_grow(shape, axis, target, expected):
    chunk = h5stz.suggest_chunks(shape, "f4", target, append_axis=axis)
    assert chunk == expected


def test_chunks_that_are_too_small_are_warned_of():
    data = np.zeros((40, 50), "f4")
    with pytest.warns(UserWarning, match=r"chunks \(2, 2\) have 16 bytes: chunks of less than 4 KiB") as warned:
        h5stz.STZ(absolute=1, data=data, chunks=(2, 2))
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="4 KiB"):
        h5stz.STZ(absolute=1, dtype="f8", chunks=(511,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        h5stz.STZ(absolute=1, dtype="f8", chunks=(512,))
        h5stz.STZ(absolute=1, data=data[:3, :3], chunks=(3, 3))
        h5stz.compress(data[:3, :3], absolute=1)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=5), st.sampled_from(["u1", "f4", "c16"]), st.integers(1, 1 << 30))
def test_any_shape(shape, dtype, target):
    chunk = h5stz.suggest_chunks(shape, dtype, target)
    assert all(1 <= part <= extent for part, extent in zip(chunk, shape, strict=True))
    assert all(part == extent or part % 32 == 0 for part, extent in zip(chunk, shape, strict=True))
    bytes_of_chunk = math.prod(chunk) * np.dtype(dtype).itemsize
    assert bytes_of_chunk <= target or all(part <= 32 for part in chunk)
    # no axis could be whole, or nearly, without passing the target
    if any(part < extent for part, extent in zip(chunk, shape, strict=True)) and bytes_of_chunk <= target:
        assert bytes_of_chunk * 4 * 2 ** len(shape) > min(target, math.prod(shape) * np.dtype(dtype).itemsize)


def test_wrong_arguments():
    for arguments in [((), "f4"), ((4, -1), "f4"), ((4,), "f4", 0), ((4, 5), "f4", 1, 2), ((4, 5), "f4", 1, -1)]:
        with pytest.raises(h5stz.StzError):
            h5stz.suggest_chunks(*arguments)
    for arguments in [((4,), "no dtype"), (4, "f4"), ((4, None), "f4")]:
        with pytest.raises(h5stz.StzTypeError):
            h5stz.suggest_chunks(*arguments)

"""Arrays with a level of more than 2^20 samples: the encoder learns from a part of it, and reads its blocks from the array.

Each array ends where its memory ends, and what follows must not be touched.
"""

import ctypes
import mmap

import numpy as np
import pytest

import h5stz
from support import cases

GUARD = 64 << 20
SHAPES = [
    (1_100_003,),
    (1023, 1030),
    (70, 130, 133),
    (33, 40, 900),
    (200, 9, 601),
    (32, 24, 30, 60),
    (20, 40, 16, 96),
    (17, 65, 33, 40),
    (3, 99, 80, 50),
    (5, 2, 51, 50, 47),
]


def at_the_end_of_memory(array):
    """The same array, followed by memory that nobody may read."""
    size = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    memory = mmap.mmap(-1, size + GUARD)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(address + size), ctypes.c_size_t(GUARD), 0) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    copy = np.frombuffer(memory, array.dtype, array.size, offset=size - array.nbytes).reshape(array.shape)
    copy[...] = array
    return copy


def field(shape, dtype, noise):
    """Smooth along every axis, differently, with some noise."""
    axes = np.meshgrid(*(np.linspace(0, 3 + axis, extent) for axis, extent in enumerate(shape)), indexing="ij", sparse=True)
    waves = sum(np.sin((axis + 1) * place) for axis, place in enumerate(axes))
    return (1000 * (waves + noise * np.random.default_rng(1).standard_normal(shape))).astype(dtype)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0, 0.01])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bound_and_memory(shape, noise):
    array = at_the_end_of_memory(field(shape, "f4", noise))
    for bound in (0.3, 30):
        for options in ({}, {"effort": 3}, {"block": "throughput"}):
            stream = h5stz.compress(array, absolute=bound, threads=1, **options)
            assert h5stz.compress(array, absolute=bound, threads=3, **options) == stream
            assert np.abs(h5stz.decompress(stream) - array).max() <= bound
        assert len(stream) < array.nbytes / 3


@pytest.mark.parametrize("dtype", ["f8", ">f4", "i2", "i4"])
@pytest.mark.parametrize("shape", [(70, 130, 133), (32, 24, 30, 60)], ids=str)
def test_dtypes(shape, dtype):
    array = at_the_end_of_memory(field(shape, dtype, 0.01))
    cases.keeps(array, absolute=2)


@pytest.mark.parametrize("shape", [(70, 130, 133), (32, 24, 30, 60)], ids=str)
def test_missing_samples(shape):
    array = field(shape, "f4", 0.01)
    array[np.random.default_rng(2).random(shape) < 0.2] = np.nan
    array[..., 10:20, 7:] = np.nan
    cases.keeps(at_the_end_of_memory(array), absolute=1)

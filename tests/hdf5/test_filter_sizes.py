"""The sizes that the filter returns, which newer versions of HDF5 check: within the buffer, and decoded exactly one chunk."""

import ctypes

import numpy as np
import pytest

from support import host_tools
from support.host_tools import ABSOLUTE, CODES, LOSSLESS, POINTWISE, field, full_form

DECODE = 0x100  # H5Z_FLAG_REVERSE
SHAPES = [(1,), (7,), (64,), (1000,), (1, 1), (33, 65), (5, 6, 7), (40, 48, 32), (2, 3, 4, 5), (1, 128, 1), (2,) * 10]

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.malloc_usable_size.restype, libc.malloc_usable_size.argtypes = ctypes.c_size_t, [ctypes.c_void_p]


run_filter = host_tools.filter_class().filter


def call(flags, words, content, spare=0):
    """The bytes that the filter returns for these, in a buffer with `spare` bytes more; checks what HDF5 2.1 and 2.2 check."""
    buffer = ctypes.c_void_p(libc.malloc(len(content) + spare))
    ctypes.memmove(buffer, content, len(content))
    capacity = ctypes.c_size_t(len(content) + spare)
    values = (ctypes.c_uint * len(words))(*words)
    returned = run_filter(flags, len(words), values, len(content), ctypes.byref(capacity), ctypes.byref(buffer))
    assert 0 < returned <= capacity.value <= libc.malloc_usable_size(buffer)
    result = ctypes.string_at(buffer, returned)
    libc.free(buffer)
    return result


def samples(kind, shape, dtype):
    if kind == "constant":
        return np.full(shape, 3, dtype)
    if kind == "noise":
        return np.frombuffer(np.random.default_rng(1).bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(
            shape
        )
    return field(shape, dtype)


@pytest.mark.parametrize("kind", ["smooth", "constant", "noise"])
@pytest.mark.parametrize("dtype", CODES)
def test_sizes(dtype, kind):
    modes = [LOSSLESS, ABSOLUTE] + [POINTWISE] * (np.dtype(dtype).kind not in "iu")
    for shape in SHAPES:
        data = samples(kind, shape, dtype)
        for mode in modes:
            words = full_form(CODES[dtype], False, shape, mode, 0.5)
            stream = call(0, words, data.tobytes())
            assert len(stream) <= data.nbytes + 64
            for spare in (0, 100):
                decoded = call(DECODE, words, stream, spare)
                assert len(decoded) == data.nbytes
            if mode == LOSSLESS:
                assert decoded == data.tobytes()

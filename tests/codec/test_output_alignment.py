"""Arrays that are written past the caches come out alike wherever they lie in memory, and nothing around them is touched.

Rows of blocks share lines of memory at their ends, which are put together before they are written.
"""

import numpy as np
import pytest

import h5stz

SHAPES = [((64, 128, 256), "f4"), ((33, 70, 640), "f4"), ((3, 50, 90, 130), "f4"), ((1200, 1100), "f4")]
SHAPES += [((30, 90, 1026), "f4"), ((40, 128, 301), "f4"), ((2, 33, 65, 512), "f8")]


@pytest.mark.parametrize("block", ["default", pytest.param("throughput", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("shape", "dtype"), SHAPES, ids=str)
def test_any_alignment(shape, dtype, block):
    x = np.cumsum(np.random.default_rng(1).normal(size=shape), -1).astype(dtype)
    bound = 1e-3 * float(np.ptp(x))
    stream = h5stz.compress(x, absolute=bound, block=block)
    expected = None
    for offset in (0, x.itemsize, 16, 24, 40, 56):
        for threads in (1, 2):
            memory = np.full(x.nbytes + 192, 0xA5, "u1")
            start = -memory.ctypes.data % 64 + 64 + offset
            out = memory[start : start + x.nbytes].view(dtype).reshape(shape)
            h5stz.decompress(stream, out=out, threads=threads)
            assert (memory[:start] == 0xA5).all() and (memory[start + x.nbytes :] == 0xA5).all()
            expected = out.copy() if expected is None else expected
            assert (out == expected).all(), (offset, threads)
    assert np.abs(expected.astype("f8") - x).max() <= bound

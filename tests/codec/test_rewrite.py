"""Arrays that came out of a stream and were changed in part, in memory: h5stz.rewrite, over programs of writes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
from h5stz import _core
from support import cases, exact, fields

MODES = [{"absolute": 0.5}, {"absolute": 3.0}, {"pointwise_relative": 1e-2}]


def bits_of(array):
    """One row of bytes for each element."""
    return np.ascontiguousarray(array).view("u1").reshape(array.size, -1)


def selection(kind, shape, rng):
    """What one write of a program covers."""
    if kind == "box":
        return tuple(slice(*sorted(rng.integers(0, extent + 1, 2))) for extent in shape)
    if kind == "stride":
        return tuple(slice(int(rng.integers(0, 2)), None, int(rng.integers(1, 4))) for _ in shape)
    if kind == "column":
        return (..., int(rng.integers(0, shape[-1])))
    if kind == "all but one":
        mask = np.ones(shape, bool)
        mask.flat[rng.integers(0, mask.size)] = False
        return mask
    return rng.random(shape) < rng.choice([0.001, 0.05, 0.7])


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.sampled_from([dtype for dtype in cases.DTYPES if dtype.kind != "c"]),
    st.sampled_from(MODES),
    st.lists(st.sampled_from(["box", "stride", "column", "points", "all but one"]), min_size=1, max_size=6),
    st.sampled_from(sorted(cases.PATTERNS)),
)
def test_programs_of_writes(seed, shape, dtype, options, writes, pattern):
    """What is not written keeps its bits, what is written has its bound, after every step."""
    if dtype.kind in "iu":
        options = {"absolute": 3.0, "integers": "lossy"}
    rng = np.random.default_rng(seed)
    (bound,) = (value for value in options.values() if isinstance(value, float))
    written = cases.make(pattern, shape, dtype, seed % 1000)
    stream = h5stz.compress(written, **options)
    for number, kind in enumerate(writes):
        before = h5stz.decompress(stream)
        array = before.copy()
        where = selection(kind, tuple(shape), rng)
        array[where] = cases.make(pattern, shape, dtype, number + seed % 77)[where]
        written[where] = array[where]
        lossy = h5stz.info(stream).form not in ("raw", "constant") and h5stz.info(stream).mode != "lossless"
        stream = h5stz.rewrite(array, stream, **options)
        assert len(stream) <= array.nbytes + cases.OVERHEAD
        after = h5stz.decompress(stream)
        exact.largest_error(written, after, bound, pointwise="pointwise_relative" in options)
        if lossy:
            untouched = (bits_of(array) == bits_of(before)).all(1)
            assert np.array_equal(bits_of(after)[untouched], bits_of(before)[untouched])


def field(*shape, seed=1):
    return cases.make("smooth", shape, "f4", seed)


def test_frames_one_by_one_cost_little_more_than_one_stream_each():
    frames = [np.cumsum(np.random.default_rng(k).standard_normal((64, 64)), 1).astype("f4") for k in range(16)]
    array = np.zeros((16, 64, 64), "f4")
    array[0] = frames[0]
    stream = h5stz.compress(array, absolute=0.01)
    for k in range(1, 16):
        array = h5stz.decompress(stream)
        array[k] = frames[k]
        stream = h5stz.rewrite(array, stream, absolute=0.01)
    assert h5stz.info(stream).patches == 15
    assert len(stream) <= 1.05 * sum(len(h5stz.compress(frame[None], absolute=0.01)) for frame in frames)
    exact.largest_error(np.stack(frames), h5stz.decompress(stream), 0.01)


def test_never_larger_than_without_loss():
    rng = np.random.default_rng(3)
    written = field(32, 32, 32)
    stream = h5stz.compress(written, absolute=1e-3)
    for _ in range(120):
        array = h5stz.decompress(stream)
        where = selection("box", array.shape, rng)
        array[where] = written[where] = rng.standard_normal(array[where].shape)
        stream = h5stz.rewrite(array, stream, absolute=1e-3)
        assert len(stream) <= 1.01 * len(h5stz.compress(array, lossless=True)) + 100
    exact.largest_error(written, h5stz.decompress(stream), 1e-3)


@pytest.mark.parametrize("dtype, fill", [("<i4", -(2**31)), ("<f4", 1e20)])
def test_never_larger_than_without_loss_where_values_are_missing(dtype, fill):
    """Missing values that lie everywhere are cheap as a mask, and would be expensive as numbers."""
    rng = np.random.default_rng(3)
    array = (1000 * field(48, 64, 64)).astype(dtype)
    array[rng.random(array.shape) < 0.5] = fill
    options = {"absolute": 1.0, "fill_value": fill, "integers": "lossy"}
    stream = h5stz.compress(array, **options)
    for _ in range(8):
        array = h5stz.decompress(stream)
        part = array[selection("box", array.shape, rng)]
        part[part != fill] += rng.integers(-500, 500, np.count_nonzero(part != fill)).astype(dtype)
        stream = h5stz.rewrite(array, stream, **options)
        assert len(stream) <= 1.02 * len(h5stz.compress(array, lossless=True, fill_value=fill)) + 100


def test_what_has_not_changed_is_the_same_stream():
    stream = h5stz.compress(field(30, 40), absolute=0.1)
    array = h5stz.decompress(stream)
    assert h5stz.rewrite(array, stream, absolute=0.1) == stream
    array[3, 5:9] += 1
    patched = h5stz.rewrite(array, stream, absolute=0.1)
    assert patched != stream
    assert h5stz.rewrite(h5stz.decompress(patched), patched, absolute=0.1) == patched


def test_a_stream_without_loss_has_nothing_to_keep():
    array = field(30, 40)
    stream = h5stz.compress(array, lossless=True)
    array[:20] += 1
    assert h5stz.rewrite(array, stream, absolute=0.1) == h5stz.compress(array, absolute=0.1)


def test_special_values_stay():
    written = field(20, 30, 10)
    written[::3, 2] = np.nan
    written[4:6] = -999
    stream = h5stz.compress(written, absolute=0.1, fill_value=-999)
    for k in range(6):
        array = h5stz.decompress(stream)
        array[k : k + 9, ::2] = written[k : k + 9, ::2] = [np.nan, np.inf, -999, 1.5, -0.0, 7][k]
        stream = h5stz.rewrite(array, stream, absolute=0.1, fill_value=-999)
        after = h5stz.decompress(stream)
        exact.largest_error(written, after, 0.1)
        special = ~np.isfinite(written) | (written == -999)
        assert np.array_equal(bits_of(after)[special.ravel()], bits_of(written)[special.ravel()])


@pytest.mark.parametrize("dtype", ["i1", "<u2", ">i4", "<i8"])
def test_integers_with_missing_values(dtype):
    """Every other sample is written: patches need a value that stands for the others, beside the fill value."""
    rng = np.random.default_rng(2)
    steps = np.cumsum(np.cumsum(rng.integers(-3, 4, (40, 48, 20)), 0), 1)
    written = (steps % 100).astype(dtype)
    written[10:20, 5:30] = fill = 101
    options = {"absolute": 5, "integers": "lossy", "fill_value": fill}
    stream = h5stz.compress(written, **options)
    for k in range(3):
        array = h5stz.decompress(stream)
        valid = array[k::4, k::2] != fill
        array[k::4, k::2][valid] = written[k::4, k::2][valid] = 7 * k + 3
        stream = h5stz.rewrite(array, stream, **options)
        after = h5stz.decompress(stream)
        exact.largest_error(written, after, 5)
        assert np.array_equal(after == fill, written == fill)
        assert h5stz.info(stream).patches == k + 1
    array[::2] = written[::2] = fill  # now fill values are written, which patches have no place for
    stream = h5stz.rewrite(array, stream, **options)
    exact.largest_error(written, h5stz.decompress(stream), 5)
    assert np.array_equal(h5stz.decompress(stream) == fill, written == fill)


def test_complex_arrays():
    written = (field(20, 30) + 1j * field(20, 30, seed=2)).astype("c8")
    stream = h5stz.compress(written, absolute=0.1)
    array = h5stz.decompress(stream)
    array[2::3, 5:20] = written[2::3, 5:20] = 4 - 5j
    array[0, 0] = written[0, 0] = complex(np.nan, 1)
    exact.largest_error(written, h5stz.decompress(h5stz.rewrite(array, stream, absolute=0.1)), 0.1)


def test_bytes_do_not_depend_on_threads():
    written = field(40, 50, 60)
    stream = h5stz.compress(written, absolute=1e-3)
    array = h5stz.decompress(stream)
    array[3:17, ::2] += 1
    assert h5stz.rewrite(array, stream, absolute=1e-3) == h5stz.rewrite(array, stream, absolute=1e-3, threads=3)


@pytest.mark.parametrize("other", [field(30, 41), field(30, 40).astype("f8"), field(30, 40).astype(">f4"), field(1200)])
def test_streams_of_other_arrays_are_refused(other):
    stream = h5stz.compress(other, absolute=0.1)
    with pytest.raises(h5stz.StzError, match="previous stream"):
        h5stz.rewrite(field(30, 40), stream, absolute=0.1)
    array = field(30, 40).tobytes(), _core.DTYPES["f4"], 0, (30, 40)
    with pytest.raises(h5stz.StzError) as refused:
        _core.compress(*array, _core.Options(_core.MODES["absolute"], 0.1), stream)
    assert refused.value.code == _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]


def test_damaged_streams_are_refused():
    array = field(30, 40)
    stream = bytearray(h5stz.compress(array, absolute=0.1, content_check=False))
    stream[-5] ^= 1
    with pytest.raises(h5stz.StzError):
        h5stz.rewrite(array, stream, absolute=0.1)


@pytest.mark.parametrize("dtype", ["i1", ">i2", "<i4", "i8", "u1", "<u4", ">u8"])
@pytest.mark.parametrize("end", [0, 1])
def test_valid_integers_do_not_become_the_fill_value(dtype, end):
    """What is written lies next to the fill value, between samples that are kept."""
    rng = np.random.default_rng(8)
    fill = cases.limits(dtype)[end]

    def beside(steps):
        steps = steps.astype(dtype)
        return (np.array(fill, dtype) - steps if end else np.array(fill, dtype) + steps).astype(dtype)

    written = beside(20 + np.cumsum(rng.integers(0, 2, (12, 15, 40)), axis=2))
    options = {"absolute": 6.0, "integers": "lossy", "fill_value": fill}
    stream = h5stz.compress(written, **options)
    for k in range(3):
        array = h5stz.decompress(stream)
        array[k::3, ::2] = written[k::3, ::2] = beside(rng.integers(1, 9, array[k::3, ::2].shape))
        stream = h5stz.rewrite(array, stream, **options)
        after = h5stz.decompress(stream)
        exact.largest_error(written, after, 6.0)
        assert not (after == fill).any()


def test_scattered_lists_stay_readable():
    """An array that is written in many scattered lists never gets more than a few patches that span it."""
    values = 6 + fields.random_field((16, 64, 64), 4, 7).astype("f4")
    bound, apart = 1e-3 * float(np.ptp(values)), 97
    array, stream = np.zeros_like(values), None
    for first in range(apart):
        array = h5stz.decompress(stream) if stream else array
        array.flat[first::apart] = values.flat[first::apart]
        stream = h5stz.rewrite(array, stream, absolute=bound) if stream else h5stz.compress(array, absolute=bound)
        assert h5stz.info(stream).patches <= 8
    assert np.abs(h5stz.decompress(stream).astype("f8") - values).max() <= bound
    assert len(stream) <= 1.05 * len(h5stz.compress(array, lossless=True))

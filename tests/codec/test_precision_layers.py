"""Precision layers: all of them give what a stream without layers gives, fewer have errors as measured when it was written."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import h5stz
from h5stz import _core
from support import boxes, cases, exact, fields

KEPT = 1 << 30
LOOKED_AT = 4096  # bytes beyond a header or a directory that are fetched with it


def read(stream, max_error, request=None):
    """The array of a stream, or (start, count, step) of it, with errors up to max_error; and how many bytes were fetched."""
    info = h5stz.info(stream)
    reader = _core.Reader.of_bytes(stream, KEPT)
    reader.max_error(max_error)
    whole = (0,) * len(info.shape), info.shape, (1,) * len(info.shape)
    return boxes.read(reader, info.dtype, *(request or whole)), reader.stats()["bytes_read"]


def largest_distance(array, other):
    """max |x - x'| over finite x, in extended precision; what is not finite must have the same bits."""
    x, y = exact.components(array), exact.components(other)
    finite = np.isfinite(x) if x.dtype.kind == "f" else np.ones(x.shape, bool)
    assert np.array_equal(exact.bits(x[~finite]), exact.bits(y[~finite]))
    return np.max(np.abs(x[finite].astype(np.longdouble) - y[finite].astype(np.longdouble)), initial=0)


def check_layers(array, stream):
    """Every layer keeps what the header says of it, exactly; returns how many there are."""
    layers = h5stz.info(stream).layers
    falling = []  # the falling errors of the layers so far
    for layer in layers if len(layers) > 1 else ():
        decoded, fetched = read(stream, layer.max_error if layer.max_error is not None else math.inf)
        assert fetched <= layer.bytes + LOOKED_AT
        if layer.max_error is None:
            continue
        distance = largest_distance(array, decoded)
        assert distance <= layer.max_error
        if falling and falling[-1] <= layer.max_error:
            continue  # fewer layers are as good, and were read
        falling.append(layer.max_error)
        assert distance >= np.longdouble(layer.max_error) * (1 - 2.0**-40)
        assert layer.rmse is None or layer.rmse <= layer.max_error  # squares of huge errors overflow
    assert [layer.bytes for layer in layers] == sorted(layer.bytes for layer in layers)
    return len(layers)


@st.composite
def layered(draw):
    """(array, options of its compression)."""
    dtype = draw(st.sampled_from(cases.ONCE))
    shape = draw(st.sampled_from([(40000,), (150, 170), (31, 33, 29), (5, 9, 30, 21), (300,), (64, 64), (2000, 7)]))
    array = cases.make(draw(st.sampled_from(sorted(cases.PATTERNS))), shape, dtype, draw(st.integers(0, 99)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    options = {"layers": draw(st.integers(2, 7)), "block": draw(st.sampled_from(["default", "region", "throughput"]))}
    if dtype.kind == "f" and draw(st.booleans()):
        array[rng.random(shape) < draw(st.sampled_from([0.001, 0.3]))] = np.nan
        array[rng.random(shape) < 0.001] = np.inf
    mode = draw(st.sampled_from(["absolute", "absolute", "lossless", "pointwise_relative"]))
    if mode == "lossless" or (mode == "pointwise_relative" and dtype.kind not in "fc"):
        return array, {**options, "lossless": True}
    if mode == "pointwise_relative":
        return array, {**options, "pointwise_relative": draw(st.sampled_from([1e-2, 1e-5]))}
    numbers = exact.components(array).astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        span = float(np.ptp(numbers[np.isfinite(numbers)])) if np.isfinite(numbers).any() else 1.0
    bound = min(span if math.isfinite(span) else 1e300, 1e300) * draw(st.sampled_from([1e-2, 1e-4, 1e-6]))
    return array, {**options, "absolute": bound, "integers": "lossy"}


def check_bound(array, stream, options):
    """All layers together keep the bound of the options."""
    decoded = h5stz.decompress(stream)
    if "absolute" in options:
        assert exact.largest_error(array, decoded, options["absolute"]) <= 1
    elif "lossless" in options:
        assert exact.same_bits(array, decoded)
    else:
        assert exact.largest_error(array, decoded, options["pointwise_relative"], pointwise=True) <= 1


@settings(max_examples=60)
@given(layered())
def test_bounds_of_every_layer(case):
    array, options = case
    stream = h5stz.compress(array, fill_value=False, **options)
    check_bound(array, stream, options)
    if check_layers(array, stream) == 1:
        assert stream == h5stz.compress(array, fill_value=False, **{**options, "layers": 1})


@settings(max_examples=40)
@given(layered(), st.data())
def test_parts_are_those_of_the_whole(case, data):
    array, options = case
    stream = h5stz.compress(array, fill_value=False, **options)
    layers = h5stz.info(stream).layers
    error = data.draw(st.sampled_from(layers)).max_error
    whole, _ = read(stream, error or 0)
    request = data.draw(boxes.requests(array.shape))
    part, fetched = read(stream, error or 0, request)
    assert exact.same_bits(part, boxes.cut(whole, *request))
    assert fetched <= len(stream)


def smooth(shape=(48, 50, 52), dtype="f4", seed=3):
    return cases.make("walk", shape, np.dtype(dtype), seed)


def test_a_reader_changes_its_precision():
    array = smooth()
    stream = h5stz.compress(array, absolute=float(np.ptp(array)) * 1e-5, layers=4)
    reader = _core.Reader.of_bytes(stream, KEPT)
    layers = h5stz.info(stream).layers
    seen = []
    for layer in [*layers, *reversed(layers)]:
        reader.max_error(layer.max_error)
        out = boxes.read(reader, array.dtype, (0, 0, 0), array.shape, threads=2)
        assert exact.same_bits(out, read(stream, layer.max_error)[0])
        seen.append(out.tobytes())
    assert len(set(seen)) == 4
    reader.max_error(0)
    assert exact.same_bits(boxes.read(reader, array.dtype, (0, 0, 0), array.shape), h5stz.decompress(stream))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("options", [{"layers": 2}, {"layer_bounds": (6616.0,)}])
def test_numbers_that_few_bits_make_infinite(dtype, options):
    """Near the largest number of a type, a missing bit may mean an infinity or NaN: no layer is as rough as that."""
    array = cases.make("spike", (40000,), np.dtype(dtype), 0)
    array[np.argmin(array)] = -np.finfo(dtype).max
    stream = h5stz.compress(array, absolute=6.55, fill_value=False, **options)
    assert exact.largest_error(array, h5stz.decompress(stream), 6.55) <= 1
    check_layers(array, stream)
    for layer in h5stz.info(stream).layers:
        assert np.isfinite(read(stream, layer.max_error or 0)[0]).all()


@pytest.mark.parametrize("dtype", ["i2", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("wanted", [(1e12,), (3e9,), (1e15, 1e9), (1e15, 1e12, 1e5, 300.0)])
def test_errors_far_above_the_range(dtype, wanted):
    """More bits are unknown than the codes have."""
    array = (np.random.default_rng(1).random((29, 31, 33)) * 40 - 20).astype(dtype)
    stream = h5stz.compress(array, absolute=1.0, layer_bounds=wanted, integers="lossy")
    assert exact.largest_error(array, h5stz.decompress(stream), 1.0) <= 1
    check_layers(array, stream)


def test_layers_do_not_depend_on_threads():
    array = smooth((100, 110, 120))
    options = {"absolute": float(np.ptp(array)) * 1e-4, "layers": 3}
    assert h5stz.compress(array, threads=1, **options) == h5stz.compress(array, threads=4, **options)


def test_fill_values_are_exact_in_every_layer():
    array = smooth()
    hidden = np.random.default_rng(1).random(array.shape) < 0.2
    hidden[10:20] = True
    array[hidden] = -9999
    stream = h5stz.compress(array, absolute=1e-3, fill_value=-9999, layers=3)
    for layer in h5stz.info(stream).layers:
        decoded, _ = read(stream, layer.max_error)
        assert np.array_equal(decoded == -9999, hidden)


def test_a_prefix_gives_the_first_layers():
    array = smooth()
    stream = h5stz.compress(array, absolute=float(np.ptp(array)) * 1e-5, layers=3, content_check=False)
    for layer in h5stz.info(stream).layers:
        prefix = stream[: layer.bytes]
        reader = _core.Reader.of_callback(lambda offset, size, prefix=prefix: prefix[offset : offset + size], len(prefix), 0)
        reader.max_error(layer.max_error)
        assert largest_distance(array, boxes.read(reader, array.dtype, (0, 0, 0), array.shape)) <= layer.max_error
        if layer.bytes < len(stream):
            reader.max_error(0)
            with pytest.raises(h5stz.StzError):
                boxes.read(reader, array.dtype, (0, 0, 0), array.shape)


@settings(max_examples=40)
@given(layered(), st.lists(st.floats(-0.5, 4), min_size=1, max_size=6, unique=True))
def test_wanted_errors_of_layers(case, octaves):
    array, options = case
    options = {name: value for name, value in options.items() if name != "layers"}
    numbers = exact.components(array).astype(float)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(np.max(np.abs(numbers[np.isfinite(numbers)]), initial=1e-300))
    least = options.get("absolute", min(largest, 1e300) * 1e-6) * 1.01
    wanted = sorted({least * 10.0**octave for octave in octaves if least < least * 10.0**octave < 1e300}, reverse=True)
    if not wanted:
        return
    stream = h5stz.compress(array, fill_value=False, layer_bounds=wanted, **options)
    check_bound(array, stream, options)
    layers = h5stz.info(stream).layers
    assert len(layers) <= len(wanted) + 1
    check_layers(array, stream)
    kept = largest_distance(array, h5stz.decompress(stream))
    for error in wanted:
        decoded, _ = read(stream, error)
        assert largest_distance(array, decoded) <= max(error, kept)


def test_wanted_errors_are_nearly_used_up():
    array = smooth((64, 64, 64))
    span = float(np.ptp(array))
    stream = h5stz.compress(array, absolute=1e-6 * span, layer_bounds=[1e-2 * span, 1e-4 * span], fill_value=False)
    first, second, last = h5stz.info(stream).layers
    assert 2e-3 * span < first.max_error <= 1e-2 * span
    assert 2e-5 * span < second.max_error <= 1e-4 * span
    assert first.bytes < 0.7 * second.bytes < 0.7 * last.bytes


@pytest.mark.parametrize(
    "wrong",
    [(), (2**1024, 1), (1, 2), (1, 1), (1, 0), (1e-4,), (float("inf"),), (float("nan"),), "ab", (7, 6, 5, 4, 3, 2, 1), 1],
)
def test_impossible_layer_bounds(wrong):
    with pytest.raises(h5stz.StzError, match="layer"):
        h5stz.compress(smooth((9, 9, 9)), absolute=1e-3, layer_bounds=wrong)


def test_layer_bounds_beside_layers():
    assert h5stz.STZ(absolute=1e-3, layers=None, enhance="both") == h5stz.STZ(absolute=1e-3, enhance="both")
    assert h5stz.STZ(absolute=1e-3, layers=3, layer_bounds=(1, 0.1)) == h5stz.STZ(absolute=1e-3, layer_bounds=(1, 0.1))
    with pytest.raises(h5stz.StzError, match="omit layers="):
        h5stz.STZ(absolute=1e-3, layers=2, layer_bounds=(1, 0.1))


@settings(max_examples=60)
@given(layered(), st.integers(0, 6))
def test_layers_are_dropped(case, which):
    array, options = case
    stream = h5stz.compress(array, fill_value=False, **options)
    layers = h5stz.info(stream).layers
    error = layers[min(which, len(layers) - 1)].max_error
    if error is None or error < (h5stz.options.precision.best_error(_core.info(stream)) or 0):
        return
    shorter = h5stz.drop_layers(stream, error)
    assert exact.same_bits(h5stz.decompress(shorter), read(stream, error)[0])
    assert exact.same_bits(h5stz.decompress(shorter), h5stz.decompress(stream, max_error=error))
    info = h5stz.info(shorter)
    if len(shorter) == len(stream):
        assert shorter == stream
        return
    assert (info.mode, info.bound > 0, info.stream_bytes) == ("absolute", True, len(shorter))
    assert largest_distance(array, h5stz.decompress(shorter)) <= info.bound <= error
    assert len(info.layers) < len(layers)
    check_layers(array, shorter)
    assert h5stz.drop_layers(shorter, error) == shorter
    whole, request = h5stz.decompress(shorter), ((0,) * array.ndim, tuple(-(-n // 2) for n in array.shape), (2,) * array.ndim)
    assert exact.same_bits(read(shorter, 0, request)[0], boxes.cut(whole, *request))


def test_what_lies_beneath_patches_loses_layers():
    array = smooth()
    bound = float(np.ptp(array)) * 1e-6
    stream = h5stz.compress(array, absolute=bound, layers=3)
    changed = h5stz.decompress(stream)
    changed[4:9, 5:20, 6:30] += 1
    patched = h5stz.rewrite(changed, stream, absolute=bound, layers=3)
    assert h5stz.info(patched).patches
    error = h5stz.info(stream).layers[0].max_error
    shorter = h5stz.drop_layers(patched, error)
    assert len(shorter) < 0.8 * len(patched)
    assert h5stz.info(shorter).bound == error
    decoded = h5stz.decompress(shorter)
    assert largest_distance(changed[4:9, 5:20, 6:30], decoded[4:9, 5:20, 6:30]) <= bound
    assert largest_distance(changed, decoded) <= error + bound


@pytest.mark.parametrize("wrong", [-1.0, float("nan")])
def test_impossible_errors(wrong):
    stream = h5stz.compress(smooth(), absolute=1e-3, layers=2)
    with pytest.raises(h5stz.StzError, match="max_error"):
        h5stz.drop_layers(stream, wrong)
    with pytest.raises(h5stz.StzError, match="max_error"):
        h5stz.decompress(stream, max_error=wrong)


def test_more_precision_than_there_is():
    stream = h5stz.compress(smooth(), absolute=1e-3, layers=2)
    for read_with in (h5stz.drop_layers, lambda stream, error: h5stz.decompress(stream, max_error=error)):
        with pytest.raises(h5stz.StzError, match="less than what was kept"):
            read_with(stream, 1e-5)
    with pytest.raises(h5stz.StzError, match="verify"):
        h5stz.decompress(stream, max_error=1, verify=True)


def test_useless_layers_are_left_out():
    signed = fields.random_field((40, 44, 48), 4, 1).astype("f4")
    for options in ({"lossless": True}, {"pointwise_relative": 1e-4}):
        assert len(h5stz.info(h5stz.compress(signed, layers=3, **options)).layers) == 1
        assert len(h5stz.info(h5stz.compress(signed + 99, layers=3, **options)).layers) == 3


def test_what_has_no_layers():
    ranks = np.random.default_rng(2).choice(np.array([0.1, 3.7, 9.2, 11.4], "f4"), (60, 60))
    for array in (np.zeros((30, 30), "f4"), np.arange(8, dtype="f4"), ranks):
        stream = h5stz.compress(array, absolute=1e-3, layers=3, fill_value=False)
        assert len(h5stz.info(stream).layers) == 1
        assert np.abs(h5stz.decompress(stream) - array).max() <= 1e-3

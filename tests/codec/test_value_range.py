"""Signs and ranges: what decodes keeps the sign that all valid samples have, and the range that was asked for, in every mode
and for every reader. No sample is farther from its original for it, and readers agree on the bits."""

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import h5stz
import reference_decoder
from h5stz import _core
from support import boxes, cases, exact, fields, written_in_parts

KINDS = ["<f2", "<f4", ">f4", "<f8", "<c8", "<i1", ">i2", "<i4", "<i8", "<u2", "<u8"]
INFINITE = (-np.inf, np.inf)


def ends_of(array, fill=None):
    """The smallest and the largest valid number, of both components."""
    numbers = exact.components(array)
    valid = np.isfinite(numbers) if numbers.dtype.kind == "f" else np.ones(numbers.shape, bool)
    if fill is not None:
        valid &= numbers != fill
    return numbers[valid].min(), numbers[valid].max()


def by_every_reader(stream, rng):
    """(how, what a reader gives, the step of its samples) for whole arrays, layers, levels and boxes."""
    info = h5stz.info(stream)
    start, ones = (0,) * len(info.shape), (1,) * len(info.shape)
    yield "whole", h5stz.decompress(stream, threads=2), ones
    yield "verified", h5stz.decompress(stream, verify=True), ones
    for number, layer in enumerate(info.layers[:-1]):
        if np.isfinite(layer.max_error):
            yield f"layer {number}", h5stz.decompress(stream, max_error=layer.max_error), ones
    reader = _core.Reader.of_bytes(stream, 1 << 20)
    for _ in range(3):
        box = boxes.random_request(rng, info.shape)
        part = boxes.read(reader, info.dtype, *box)
        assert exact.same_bits(part, boxes.cut(h5stz.decompress(stream), *box)), "readers agree"
        yield "box", part, None
    for level in range(1, info.levels):
        step = tuple(2**level for _ in info.shape)
        count = tuple(-(-extent // 2**level) for extent in info.shape)
        yield f"level {level}", boxes.read(reader, info.dtype, start, count, step), step
    reader.enhance(False)
    yield "plain", boxes.read(reader, info.dtype, start, info.shape), ones


def check(array, stream, rng, low, high, fill=None):
    """All readers give valid samples from low to high."""
    missing = np.zeros(exact.components(array).shape, bool) if fill is None else exact.components(array) == fill
    for how, part, step in by_every_reader(stream, rng):
        numbers = exact.components(part)
        valid = np.isfinite(numbers) if numbers.dtype.kind == "f" else np.ones(numbers.shape, bool)
        if fill is not None:
            valid &= numbers != fill
        assert not (numbers[valid] < low).any() and not (numbers[valid] > high).any(), how
        if step == (1,) * array.ndim and fill is not None:
            assert ((numbers == fill) == missing).all(), how
    assert reference_decoder.decode(stream).tobytes() == h5stz.decompress(stream).tobytes(), "the second decoder"


@st.composite
def requests(draw):
    """(array of one sign, options, fill value, generator)."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.sampled_from([(70,), (700,), (30, 40), (9, 10, 11), (17, 18, 19), (3, 20, 21)]))
    dtype = np.dtype(draw(st.sampled_from(KINDS)))
    numbers = np.abs(rng.standard_normal((*shape, 2))) ** draw(st.sampled_from([1, 2, 4])) * draw(st.sampled_from([20, 100]))
    if draw(st.booleans()):
        numbers = np.abs(np.cumsum(rng.standard_normal((*shape, 2)), len(shape) - 1)) * 20
    numbers[rng.random(numbers.shape) < draw(st.sampled_from([0, 0.3]))] = 0
    numbers += draw(st.sampled_from([0, 0, 0.5, 40]))
    if dtype.kind == "i":
        numbers = numbers.clip(0, np.iinfo(dtype).max)
    negative = dtype.kind != "u" and draw(st.booleans())
    numbers = -numbers if negative else numbers
    array = (numbers[..., 0] + 1j * numbers[..., 1] if dtype.kind == "c" else numbers[..., 0]).astype(dtype)
    options = {"fill_value": False, "integers": "lossy", "block": draw(st.sampled_from(["default", "region"]))}
    fill = None
    if dtype.kind != "c" and draw(st.integers(0, 3)) == 0:
        fill = draw(st.sampled_from([0, 1, 99] if not negative else [0, -1, -99]))
        array[rng.random(shape) < 0.2] = fill
        array.flat[-1] = -100 if negative else 100
        options["fill_value"] = fill
    elif dtype.kind == "f" and draw(st.booleans()):
        array[rng.random(shape) < 0.1] = np.nan
        array.flat[-1] = numbers.flat[-1]
    mode = draw(st.sampled_from(["absolute", "absolute", "absolute", "pointwise_relative", "lossless"]))
    if mode == "pointwise_relative" and dtype.kind in "iu":
        mode = "absolute"
    options[mode] = {
        "absolute": draw(st.sampled_from([0.3, 1, 7, 30, 300])),
        "pointwise_relative": draw(st.sampled_from([0.01, 0.9])),
        "lossless": True,
    }[mode]
    extra = draw(st.sampled_from([{}, {}, {"layers": 2}, {"layers": 5}, {"enhance": "relaxed"}, {"enhance": "both"}]))
    if "enhance" not in extra or mode == "absolute":
        options |= extra
    options["content_check"] = draw(st.sampled_from([None, True]))
    return array, options, fill, rng


@given(requests())
@settings(max_examples=25)
def test_signs_are_kept(request):
    array, options, fill, rng = request
    low, high = ends_of(array, fill)
    stream = h5stz.compress(array, **options)
    check(array, stream, rng, 0 if low >= 0 else -np.inf, 0 if high <= 0 else np.inf, fill)


@given(requests(), st.booleans())
@settings(max_examples=25)
def test_ranges_are_kept_that_were_asked_for(request, names_it):
    array, options, fill, rng = request
    low, high = ends_of(array, fill)
    if names_it:
        options["valid_range"] = (float(low) - 0.25, None) if low == high else (float(low), float(high) + 0.25)
    else:
        options["keep_range"] = True
    stream = h5stz.compress(array, **options)
    if names_it and array.dtype.kind in "iu":  # the nearest integers that are valid
        check(array, stream, rng, low, high if low != high else np.inf, fill)
    else:
        check(
            array,
            stream,
            rng,
            *(
                options["valid_range"][k] if names_it and options["valid_range"][k] is not None else end
                for k, end in enumerate((low, high if not names_it or low != high else np.inf))
            ),
            fill,
        )


@given(requests())
@settings(max_examples=25)
def test_a_rewritten_array_keeps_its_sign(request):
    array, options, fill, rng = request
    stream = h5stz.compress(array, **options)
    changed = h5stz.decompress(stream)
    rows = slice(0, max(1, len(array) // 3))
    changed[rows] = np.roll(array, 1, -1)[rows]
    low, high = ends_of(changed, fill)
    before = changed.copy()
    again = h5stz.rewrite(changed, stream, **options)
    check(changed, again, rng, 0 if low >= 0 else -np.inf, 0 if high <= 0 else np.inf, fill)
    kept = np.ones(array.shape, bool)
    kept[rows] = False
    assert exact.same_bits(before[kept], h5stz.decompress(again)[kept]), "what was not written keeps its bits"


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<f2", "<i2"])
@pytest.mark.parametrize(
    "options", [{"absolute": 20.0}, {"absolute": 20.0, "keep_range": True}, {"absolute": 2.0, "layers": 3}]
)
def test_through_h5py(dtype, options, tmp_path):
    """Written, changed in part, grown, read as a whole and in views."""
    rng = np.random.default_rng(5)
    array = (rng.standard_normal((40, 50, 30)) ** 2 * 20).astype(dtype)
    array = written_in_parts.write(tmp_path / "a.h5", array, h5stz.STZ(integers="lossy", **options))
    with h5py.File(tmp_path / "a.h5") as file:
        found = file["x"][...]
        view = h5stz.view(file["x"])
        assert found.min() >= 0 and view[3:30:2, ::3, 7].min() >= 0 and view.level(1)[...].min() >= 0
        assert found.max() <= array.max() or "keep_range" not in options
        assert np.abs(found.astype("f8") - array).max() <= options["absolute"]
        assert exact.same_bits(found[3:30:2, ::3, 7], view[3:30:2, ::3, 7])


@pytest.mark.parametrize("shape", [(256, 256, 24), (700, 900), (2_100_000,)])
@pytest.mark.parametrize("block", ["default", "region", "throughput"])
def test_large_arrays_and_threads(shape, block):
    """Arrays that are decoded where they are, past the caches."""
    array = (
        (fields.random_field(shape, 2.0, 3) ** 2 * 10).astype("f4")
        if len(shape) > 1
        else np.random.default_rng(1).random(shape, "f4")
    )
    stream = h5stz.compress(array, absolute=0.5, block=block)
    one, two = h5stz.decompress(stream), h5stz.decompress(stream, threads=2)
    assert one.min() == 0 and exact.same_bits(one, two)
    reader = _core.Reader.of_bytes(stream, 0)
    assert exact.same_bits(one, boxes.read(reader, one.dtype, (0,) * one.ndim, shape, threads=2))
    assert h5stz.verify(stream) > 0
    exact.largest_error(array, one, 0.5)


def test_the_smallest_case():
    """What made square roots of such data NaN."""
    array = (np.random.default_rng(0).normal(size=(64, 64)) ** 2 * 1e-6).astype("f4")
    assert h5stz.decompress(h5stz.compress(array, relative=1e-3)).min() >= 0


@pytest.mark.parametrize("sign", [1, -1])
def test_zeros_keep_their_sign_as_before(sign):
    array = np.where(np.arange(4000).reshape(50, 80) % 7 < 3, sign * 0.0, sign * 8.0 * (np.arange(80) % 5)).astype("f4")
    decoded = h5stz.decompress(h5stz.compress(array, pointwise_relative=0.5, keep_range=True))
    assert (np.signbit(decoded) == np.signbit(array)).all()


def record_bytes(array, **options):
    """Bytes that the option adds to a stream."""
    options = {"absolute": 1.0, "fill_value": False, **options}
    plain = {name: value for name, value in options.items() if name not in ("keep_range", "valid_range")}
    return len(h5stz.compress(array, **options)) - len(h5stz.compress(array, **plain))


def test_the_record_is_there_only_where_values_could_leave_the_range():
    far = cases.make("smooth", (50, 50), "f4") % 1000 + 5000
    assert record_bytes(far, keep_range=True) == 12
    assert record_bytes(far, valid_range=(0, 10000)) == 0, "no value comes near"
    assert record_bytes(far, valid_range=(float(far.max()), None)) == 0, "not all values are in it"
    assert record_bytes(far, lossless=True, absolute=None, keep_range=True) == 0
    assert record_bytes(far, pointwise_relative=0.1, absolute=None, valid_range=(0, None)) == 0
    assert record_bytes((far - 4000).astype("u2"), valid_range=(0, None), integers="lossy") == 0, "the type ends there"


@pytest.mark.parametrize("given_range", [(1,), (1, 2, 3), (2, 1), (0, 0), (1, "b"), 3, (np.nan, 1), (None, None, None)])
def test_wrong_ranges_are_refused(given_range):
    with pytest.raises(ValueError, match="valid_range"):
        h5stz.STZ(absolute=1, valid_range=given_range)


@pytest.mark.parametrize("given_range", [(0, 100), (None, 3.5), (-1e-300, None), (0.1, 0.3)])
def test_ranges_survive_every_way_to_write_them(given_range):
    options = h5stz.STZ(absolute=0.5, valid_range=given_range, keep_range=True)
    assert h5stz.STZ(**options.get_config()) == options
    assert h5stz.STZ(str(options)) == options
    assert h5stz.STZ.from_filter_options(options.filter_options) == options
    wanted = tuple(INFINITE[k] if end is None else end for k, end in enumerate(given_range))
    assert options.get_config()["valid_range"] == wanted

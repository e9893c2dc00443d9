"""Enhancement by a filter: errors within the stated bound, the same bits for every reader, plain streams where it does not pay.

That within the bound is in test_dead_zone.py; the same bits on every instruction set are in test_isa.py.
"""

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import h5stz
from h5stz import _core
from support import boxes, cases, exact, fields
from support.fields import random_field

RELAXED = {"enhance": "relaxed"}


def noisy(shape, dtype, seed=1):
    """A smooth field with noise: at loose bounds an enhancement pays."""
    rng = np.random.default_rng(seed)
    if len(shape) == 1:
        return np.cumsum(rng.standard_normal(shape)).astype(dtype)
    return (random_field(shape, 3.5, seed) + 0.1 * rng.standard_normal(shape)).astype(dtype)


def pair(array, **options):
    """(plain stream, enhanced stream)."""
    options = {"fill_value": False, **options}
    return h5stz.compress(array, **options), h5stz.compress(array, **options, **RELAXED)


def mean_square(array, stream):
    """Of the errors of finite samples."""
    x, y = exact.components(array), exact.components(h5stz.decompress(stream))
    finite = np.isfinite(x)
    return np.mean((x[finite].astype("f8") - y[finite]) ** 2)


def check(array, plain, enhanced):
    """The promises of an enhanced stream; whether it is one."""
    info = h5stz.info(enhanced)
    if not info.enhanced:
        assert enhanced == plain and info.relaxed_bound == info.bound
        return False
    assert info.bound <= info.relaxed_bound <= 2 * info.bound
    decoded = h5stz.decompress(enhanced)
    exact.largest_error(array, decoded, info.relaxed_bound)
    assert mean_square(array, enhanced) < mean_square(array, plain)
    reader = _core.Reader.of_bytes(enhanced, 0)
    reader.enhance(False)
    whole = boxes.read(reader, array.dtype, (0,) * array.ndim, array.shape)
    assert exact.same_bits(whole, h5stz.decompress(plain)), "without its enhancement a stream gives what the plain one gives"
    every_second = (slice(None, None, 2),) * array.ndim
    if array.ndim == 1 and info.levels > 1:
        assert exact.same_bits(decoded[every_second], whole[every_second]), "samples of coarser levels stay"
    return True


SHAPES = [(9000,), (90, 110), (31, 33, 29), (3, 60, 61), (5, 9, 30, 21), (2000, 7), (64, 64), (40, 50, 3), (300,), (7,)]


@st.composite
def enhanced_arrays(draw):
    """(array, options)."""
    dtype = np.dtype(draw(st.sampled_from(["f4", ">f4", "f8", ">f8", "c8", "c16"])))
    shape = draw(st.sampled_from(SHAPES))
    if draw(st.integers(0, 3)):
        array = noisy(shape, dtype, draw(st.integers(0, 9)))
        if dtype.kind == "c":
            array += 1j * noisy(shape, dtype, 11)
        bound = draw(st.sampled_from([0.5, 0.1, 0.02]))
    else:
        array = cases.make(draw(st.sampled_from(sorted(cases.PATTERNS))), shape, dtype, draw(st.integers(0, 9)))
        bound = draw(st.sampled_from([10.0, 1.0, 1e-3, 1e-12]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    if draw(st.booleans()):
        array[rng.random(shape) < draw(st.sampled_from([0.001, 0.3]))] = np.nan
        array[rng.random(shape) < 0.001] = np.inf
    if draw(st.booleans()):
        array[tuple(slice(2 * n // 3, None) for n in shape[:1])] = 0
    return array, {"absolute": bound, "block": draw(st.sampled_from(["default", "region", "throughput"]))}


@settings(max_examples=60, deadline=None)
@given(enhanced_arrays(), st.data())
def test_errors_keep_the_stated_bound_and_parts_are_slices(case, data):
    array, options = case
    plain, enhanced = pair(array, **options)
    check(array, plain, enhanced)
    decoded = h5stz.decompress(enhanced)
    reader = _core.Reader.of_bytes(enhanced, data.draw(st.sampled_from([0, 1 << 16, 1 << 28])))
    for _ in range(3):
        request = data.draw(boxes.requests(array.shape))
        part = boxes.read(reader, array.dtype, *request, threads=data.draw(st.integers(1, 3)))
        assert exact.same_bits(part, boxes.cut(decoded, *request))


ENHANCED = [
    ((90, 110), "f4", 0.5),
    ((40, 41, 42), "f8", 0.5),
    ((9000,), "f4", 1.5),
    ((40, 41, 42), "c8", 0.5),
    ((6, 20, 22, 24), "f4", 0.5),
]


@pytest.mark.parametrize(("shape", "dtype", "bound"), ENHANCED, ids=str)
def test_noise_on_a_smooth_field_is_enhanced_whatever_the_threads(shape, dtype, bound):
    array = noisy(shape, dtype)
    plain, enhanced = pair(array, absolute=bound)
    assert check(array, plain, enhanced)
    assert pair(array, absolute=bound, threads=3)[1] == enhanced
    assert exact.same_bits(h5stz.decompress(enhanced, threads=3), h5stz.decompress(enhanced, threads=1))
    assert h5stz.verify(enhanced) == h5stz.verify(plain)


def test_a_large_array_in_threads():
    array = noisy((70, 80, 90), "f4")
    enhanced = pair(array, absolute=0.5)[1]
    assert h5stz.info(enhanced).enhanced
    assert exact.same_bits(h5stz.decompress(enhanced, threads=4), h5stz.decompress(enhanced, threads=1))


def test_values_that_are_missing_change_nothing_but_their_neighbourhood():
    array = noisy((90, 110), "f8")
    array[30:50, 40:60] = -999.0
    _, enhanced = pair(array, absolute=0.5, fill_value=-999.0)
    assert h5stz.info(enhanced).enhanced
    decoded = h5stz.decompress(enhanced)
    assert np.array_equal(decoded == -999, array == -999)


@pytest.mark.parametrize(
    ("array", "options"),
    [
        (noisy((60, 60), "f2"), {"absolute": 0.5}),
        ((noisy((60, 60), "f4") * 9).astype("i4"), {"absolute": 5.0, "integers": "lossy"}),
        (noisy((60, 60), "f4"), {"lossless": True}),
        (np.round(noisy((60, 60), "f4")), {"absolute": 1e-9}),
        (np.zeros((60, 60)), {"absolute": 0.5}),
        (noisy((60, 60), "f4") * 0 + np.inf, {"absolute": 0.5}),
        (noisy((5, 5), "f4"), {"absolute": 0.5}),
    ],
    ids=["float16", "integers", "lossless", "palette", "constant", "infinite", "tiny"],
)
def test_what_has_no_enhancement_is_the_plain_stream(array, options):
    plain, enhanced = pair(array, **options)
    assert plain == enhanced


@pytest.mark.parametrize("psnr", [24, 35, 45, 90])
def test_a_psnr_takes_fewer_bytes_or_as_many(psnr):
    array = noisy((50, 51, 52), "f4")
    plain = h5stz.compress(array, psnr=psnr)
    enhanced = h5stz.compress(array, psnr=psnr, enhance=True)
    assert exact.psnr(array, h5stz.decompress(enhanced)) >= psnr
    assert len(enhanced) <= (0.97 if psnr < 40 else 1) * len(plain)


def test_real_fields_get_smaller_at_the_same_error():
    ratios = []
    for name in fields.names("f")[:6]:
        field = fields.load(name)
        array = field.array
        width = float(np.ptp(array[field.valid].astype("f8")))
        plain, enhanced = pair(array, absolute=1e-2 * width, fill_value=False)
        ratios.append(mean_square(array, enhanced) / mean_square(array, plain))
        assert len(enhanced) < 1.06 * len(plain)
    assert max(ratios, default=1) <= 1


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"absolute": 0.5, "enhance": True}, "enhance='strict', which keeps the bound"),
        ({"absolute": 0.5, "enhance": "loose"}, "enhance="),
        ({"absolute": 0.5, "enhance": "relaxed", "layers": 3}, "only enhance='strict'"),
        ({"absolute": 0.5, "enhance": "both", "layer_bounds": [1]}, "only enhance='strict'"),
        ({"pointwise_relative": 0.1, "enhance": "relaxed"}, "pointwise_relative"),
    ],
)
def test_options_that_do_not_go_together(options, part):
    with pytest.raises(h5stz.StzError, match=part):
        h5stz.STZ(**options)


@pytest.mark.parametrize("enhance", ["relaxed", "strict", "both"])
def test_options_survive_text_and_client_data(enhance):
    options = h5stz.STZ(absolute=0.5, enhance=enhance, block="region")
    assert str(options) == f"absolute=0.5,block=region,enhance={enhance}"
    again = h5stz.STZ.from_filter_options(options.filter_options)
    assert again.resolved.settings == options.resolved.settings == h5stz.STZ(str(options)).resolved.settings
    assert options.get_config()["enhance"] == enhance


def test_client_data_with_layers_and_a_filter():
    with pytest.raises(h5stz.StzError, match="exclude several layers"):
        h5stz.STZ.from_filter_options((101, 1, 0, 0x3FE00000, 1 << 6 | 3 << 24))


def test_a_part_that_is_written_again_keeps_the_rest():
    array = noisy((60, 61, 30), "f4")
    enhanced = pair(array, absolute=0.5)[1]
    relaxed = h5stz.info(enhanced).relaxed_bound
    decoded = h5stz.decompress(enhanced)
    changed = decoded.copy()
    changed[10:30, 5:40] = noisy((20, 35, 30), "f4", 5)
    stream = h5stz.rewrite(changed, enhanced, absolute=0.5, fill_value=False, **RELAXED)
    again = h5stz.decompress(stream)
    same = changed == decoded
    assert np.array_equal(again[same], decoded[same])
    assert np.max(np.abs(again.astype("f8") - changed)) <= relaxed
    assert h5stz.info(stream).relaxed_bound == relaxed
    reader = _core.Reader.of_bytes(stream, 0)
    assert exact.same_bits(boxes.read(reader, "f4", (8, 2, 3), (20, 30, 7)), again[8:28, 2:32, 3:10])


def test_a_dataset(tmp_path):
    array = noisy((60, 61, 30), "f4")
    plain = np.empty_like(array)
    with h5py.File(tmp_path / "enhanced.h5", "w") as file:
        file.create_dataset("d", data=array, chunks=(30, 40, 30), **h5stz.STZ(absolute=0.5, enhance="relaxed"))
        for low in ((0, 0), (0, 40), (30, 0), (30, 40)):
            chunk = np.s_[low[0] : low[0] + 30, low[1] : low[1] + 40]
            plain[chunk] = h5stz.decompress(h5stz.compress(array[chunk], absolute=0.5))
    with h5py.File(tmp_path / "enhanced.h5") as file:
        decoded = file["d"][()]
        view = h5stz.view(file["d"])
        region = np.s_[20:47, 33:50, 4:9]
        assert exact.same_bits(view[region], decoded[region])
        assert exact.same_bits(view[::3, 1::2, ::4], decoded[::3, 1::2, ::4])
        assert exact.same_bits(view.read(np.s_[0:30, 0:40], enhance=False), plain[0:30, 0:40])
    with h5py.File(tmp_path / "enhanced.h5", "r+") as file, pytest.raises(h5stz.StzError, match="open read-only"):
        h5stz.view(file["d"]).read(..., enhance=False)
    assert 0.5 < np.max(np.abs(decoded.astype("f8") - array)) <= 0.75
    assert np.mean((decoded - array) ** 2) < np.mean((plain - array) ** 2)


def test_damage_is_found():
    array = noisy((60, 61), "f4")
    enhanced = pair(array, absolute=0.5)[1]
    rng = np.random.default_rng(3)
    for place in rng.integers(0, 120, 200):
        stream = bytearray(enhanced)
        stream[place] ^= 1 << int(rng.integers(8))
        with pytest.raises(h5stz.StzError):
            h5stz.decompress(bytes(stream))

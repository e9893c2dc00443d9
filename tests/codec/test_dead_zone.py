"""enhance="strict": the bound holds, the mean error is lower for the bytes, decoders see an ordinary stream."""

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from test_enhancement import enhanced_arrays, noisy

import h5stz
from support import boxes, cases, exact, fields

STRICT = {"enhance": "strict"}


@settings(max_examples=60, deadline=None)
@given(enhanced_arrays())
def test_the_bound_holds_and_special_values_stay(case):
    array, options = case
    stream = h5stz.compress(array, fill_value=False, **options, **STRICT)
    info = h5stz.info(stream)
    assert not info.enhanced and info.relaxed_bound == info.bound
    exact.largest_error(array, h5stz.decompress(stream), options["absolute"])


@pytest.mark.parametrize("pattern", sorted(cases.PATTERNS))
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_bounds_near_the_last_bit_and_far_above_the_range(pattern, dtype):
    array = cases.make(pattern, (33, 40), dtype)
    numbers = array[np.isfinite(array)].astype("f8")
    largest = min(np.max(np.abs(numbers), initial=1e-30), 1e30)
    ulp = float(np.spacing(np.dtype(dtype).type(largest)))
    for bound in (0.6 * ulp, 3 * ulp, 40 * ulp, 2.0**20 * ulp, 1e-300, 1e30):
        stream = h5stz.compress(array, absolute=bound, fill_value=False, **STRICT)
        exact.largest_error(array, h5stz.decompress(stream), bound)


def test_fewer_bytes_for_the_same_mean_error():
    array = noisy((50, 51, 52), "f4")
    plain = h5stz.compress(array, psnr=26)
    strict = h5stz.compress(array, psnr=26, **STRICT)
    assert exact.psnr(array, h5stz.decompress(strict)) >= 26
    assert len(strict) < 0.95 * len(plain)


def test_errors_use_what_the_bound_allows():
    """Most of the dead zone lies beyond half a step, and nothing else does."""
    array = noisy((50, 51, 52), "f4")
    errors = {}
    for options in ({}, STRICT):
        decoded = h5stz.decompress(h5stz.compress(array, absolute=1.0, **options))
        errors[bool(options)] = np.abs(decoded.astype("f8") - array)
    assert errors[True].max() > 0.99 and errors[False].max() > 0.99
    assert np.mean(errors[True] > 1 / 1.3) < np.mean(errors[False] > 1 / 1.3)


@pytest.mark.parametrize("layers", [2, 3])
def test_layers(layers):
    array = noisy((50, 51, 52), "f4")
    whole = h5stz.compress(array, absolute=0.02, **STRICT)
    stream = h5stz.compress(array, absolute=0.02, layers=layers, **STRICT)
    assert exact.same_bits(h5stz.decompress(stream), h5stz.decompress(whole))
    stated = h5stz.info(stream).layers
    assert len(stated) == layers
    for layer in stated:
        decoded = h5stz.decompress(stream, max_error=layer.max_error)
        exact.largest_error(array, decoded, layer.max_error)


@pytest.mark.parametrize(
    ("array", "options"),
    [
        (noisy((60, 60), "f2"), {"absolute": 0.5}),
        ((noisy((60, 60), "f4") * 9).astype("i4"), {"absolute": 5.0, "integers": "lossy"}),
        ((noisy((60, 60), "f4") * 9).astype("i2"), {"absolute": 5.0, "integers": "lossy"}),
        (noisy((60, 60), "f4"), {"lossless": True}),
        (np.round(noisy((60, 60), "f4")), {"absolute": 1e-9}),
        (np.zeros((60, 60)), {"absolute": 0.5}),
    ],
    ids=["float16", "int32", "int16", "lossless", "palette", "constant"],
)
def test_others_have_the_plain_stream(array, options):
    assert h5stz.compress(array, **options) == h5stz.compress(array, **options, **STRICT)


def test_real_fields_keep_the_bound():
    for name in fields.names("f")[:6]:
        field = fields.load(name)
        bound = 1e-2 * float(np.ptp(field.array[field.valid].astype("f8")))
        stream = h5stz.compress(field.array, absolute=bound, fill_value=False, **STRICT)
        exact.largest_error(field.array, h5stz.decompress(stream), bound)


def test_a_dataset_that_is_written_again_in_part(tmp_path):
    array = noisy((60, 61, 30), "f4")
    with h5py.File(tmp_path / "strict.h5", "w") as file:
        dataset = file.create_dataset("d", data=array, chunks=(30, 40, 30), **h5stz.STZ(absolute=0.5, **STRICT))
    changed = array.copy()
    with h5py.File(tmp_path / "strict.h5", "r+") as file:
        dataset = file["d"]
        before = dataset[()]
        part = np.s_[10:25, 20:50, 4:9]
        changed[part] = noisy((15, 30, 5), "f4", 5)
        dataset[part] = changed[part]
    with h5py.File(tmp_path / "strict.h5") as file:
        after = file["d"][()]
        exact.largest_error(changed, after, 0.5)
        kept = np.ones(array.shape, bool)
        kept[part] = False
        assert exact.same_bits(after[kept], before[kept])
        region = np.s_[20:47, 33:50, 4:9]
        assert exact.same_bits(h5stz.view(file["d"])[region], after[region])


def test_parts_are_slices():
    stream = h5stz.compress(noisy((40, 41, 42), "f8"), absolute=0.3, **STRICT)
    decoded = h5stz.decompress(stream)
    reader = h5stz._core.Reader.of_bytes(stream, 0)
    rng = np.random.default_rng(5)
    for _ in range(20):
        request = boxes.random_request(rng, decoded.shape)
        assert exact.same_bits(boxes.read(reader, "f8", *request), boxes.cut(decoded, *request))

"""favour= and effort 9: fewer bytes under the same bound, and never where a mean error is asked for."""

import numpy as np
import pytest

import h5stz
from support import exact, fields
from support.fields import random_field

RELATIVE = (1e-2, 1e-3)


def psnr_of(array, stream):
    return exact.psnr(array, h5stz.decompress(stream))


@pytest.fixture(scope="module")
def rough():
    return (random_field((72, 80, 76), 4, 3) + 0.01 * np.random.default_rng(4).standard_normal((72, 80, 76))).astype("f4")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "i4"])
@pytest.mark.parametrize("effort", [1, 5, 7, 9])
def test_the_bound_holds(rough, dtype, effort):
    array = (1000 * rough[:40, :40, :40]).astype(dtype)
    for options in ({}, {"layers": 2}, {"block": "region"}, {"keep_range": True}):
        stream = h5stz.compress(array, absolute=20, integers="lossy", favour="size", effort=effort, **options)
        exact.largest_error(array, h5stz.decompress(stream), 20)


def test_pointwise_relative_bounds_hold(rough):
    array = np.exp(rough)
    stream = h5stz.compress(array, pointwise_relative=1e-2, favour="size")
    assert len(stream) < len(h5stz.compress(array, pointwise_relative=1e-2))
    exact.largest_error(array, h5stz.decompress(stream), 1e-2, pointwise=True)


@pytest.mark.parametrize("relative", RELATIVE)
def test_size_is_smaller_for_a_lower_psnr(rough, relative):
    bound = relative * float(np.ptp(rough))
    usual, small = (h5stz.compress(rough, absolute=bound, favour=favour) for favour in ("default", "size"))
    assert len(small) < 0.995 * len(usual)
    assert 0 < psnr_of(rough, usual) - psnr_of(rough, small) < 2
    assert h5stz.compress(rough, absolute=bound, favour="quality") == usual


@pytest.mark.parametrize("effort", [7, 9])
def test_high_efforts_take_the_smaller_one(rough, effort):
    bound = 1e-3 * float(np.ptp(rough))
    chosen, quality, size = (
        h5stz.compress(rough, absolute=bound, effort=effort, favour=favour) for favour in ("default", "quality", "size")
    )
    assert len(size) <= len(chosen) < len(quality)
    assert psnr_of(rough, chosen) < psnr_of(rough, quality) - 0.1


def test_psnr_and_ratio_never_use_it(rough):
    for bound in ({"psnr": 60}, {"ratio": 20}):
        options = h5stz.STZ(**bound, data=rough, chunks=rough.shape, effort=7)
        assert options.get_config()["favour"] == "quality"
        assert "favour" not in h5stz.STZ(**bound, data=rough, chunks=rough.shape).get_config()
    with pytest.raises(h5stz.StzError, match="favour='size' lowers the PSNR"):
        h5stz.STZ(psnr=60, data=rough, favour="size")


def test_a_ratio_with_the_fewest_bytes_has_a_smaller_bound(rough):
    usual, small = (h5stz.STZ(ratio=10, data=rough, chunks=rough.shape, favour=each) for each in ("default", "size"))
    assert small.get_config()["favour"] == "size" and small.bound < usual.bound
    stream = h5stz.compress(rough, ratio=10, favour="size")
    assert 10 <= rough.nbytes / len(stream) <= 10.3
    exact.largest_error(rough, h5stz.decompress(stream), small.bound)


def test_errors_name_the_remedy(rough):
    with pytest.raises(h5stz.StzError, match="favour='small' must be one of 'default', 'size', 'quality'"):
        h5stz.compress(rough, absolute=1, favour="small")
    with pytest.raises(h5stz.StzError, match="leave one of them out"):
        h5stz.compress(rough, absolute=1, favour="size", enhance="strict")
    with pytest.raises(h5stz.StzError, match="favour=size takes fewer bytes"):
        h5stz.STZ("absolute=1,favour=size,enhance=strict")


def test_estimates_know_it():
    array = random_field((144, 144, 144), 4, 5).astype("f4")
    bound = 1e-2 * float(np.ptp(array))
    for favour in ("default", "size"):
        expected = h5stz.estimate(array, absolute=bound, favour=favour)
        stream = h5stz.compress(array, absolute=bound, favour=favour)
        assert expected.bytes == pytest.approx(len(stream), rel=0.05)
        assert expected.psnr == pytest.approx(psnr_of(array, stream), abs=0.3)


@pytest.mark.parametrize("name", fields.names("f"))
def test_effort_9_is_never_larger_than_5(name):
    field = fields.load(name)
    part = field.array[tuple(slice(0, 40) for _ in field.array.shape)]
    bound = 1e-3 * float(np.ptp(field.array[field.valid]))
    fill = False if field.fill is None else field.fill
    least, usual = (len(h5stz.compress(part, absolute=bound, effort=effort, fill_value=fill)) for effort in (9, 5))
    assert least <= usual


@pytest.mark.parametrize("shape", [(1 << 18,), (512, 512), (64, 64, 64)], ids=str)
def test_noise_takes_little_more_than_its_entropy(shape):
    """Levels of numbers that nothing predicts have one bound: a finer one for coarser levels would only take bytes."""
    noise = np.random.default_rng(1).standard_normal(shape).astype("f4")
    bound = 1e-3 * float(np.ptp(noise))
    _, counts = np.unique(np.rint(noise / (2 * bound)), return_counts=True)
    shares = counts / noise.size
    entropy = -(shares * np.log2(shares)).sum()
    stream = h5stz.compress(noise, absolute=bound)
    exact.largest_error(noise, h5stz.decompress(stream), bound)
    assert 8 * len(stream) / noise.size < entropy + 0.2

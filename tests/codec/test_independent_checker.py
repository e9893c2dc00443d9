"""Bounds judged by another program: compression-requirement-checks computes with fractions, so no rounding hides an error."""

import numpy as np
import pytest

import h5stz
from support.requirements import needs_packages

pytestmark = needs_packages("compression_requirement_checks", "compression_recommendations")
DTYPES = ("f2", "f4", "f8", ">f4", "i2", "u1")


def kinds():
    from compression_recommendations.requirements.error_bounds import max as largest
    from compression_recommendations.requirements.lossless import LosslessRequirement

    return {
        "absolute": largest.MaxPointwiseAbsoluteErrorBoundRequirement,
        "pointwise_relative": largest.MaxPointwiseRelativeErrorBoundRequirement,
        "relative": largest.MaxPointwiseRangeRelativeErrorBoundRequirement,
        "lossless": lambda value: LosslessRequirement(),
    }


def holds(kind, value, before, after):
    from compression_requirement_checks import check_safety_requirement

    native = before.dtype.newbyteorder("=")
    requirement = kinds()[kind](value=value)
    return check_safety_requirement(original=before.astype(native), reconstructed=after.astype(native), requirement=requirement)


def field(dtype):
    """Waves and noise around zero, of the whole range of short types, with NaN, infinities and zeros where there are such."""
    rng = np.random.default_rng(1)
    z, y, x = np.meshgrid(*map(np.arange, (9, 17, 31)), indexing="ij")
    values = np.sin(z / 3) * np.cos(y / 5) + np.sin(x / 7) + 0.05 * rng.standard_normal(z.shape)
    if np.dtype(dtype).kind != "f":
        return np.round((values - values.min()) / np.ptp(values) * 250).astype(dtype)
    values[2, 3:5], values[4, 4, 4], values[5, 5, 5], values[6, 6] = np.nan, np.inf, -np.inf, 0
    return values.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_promises(dtype):
    before = field(dtype)
    assert holds("lossless", 0, before, h5stz.decompress(h5stz.compress(before, lossless=True)))
    for value in (1e-1, 1e-3, 1e-6):
        absolute = {"absolute": value} if before.dtype.kind == "f" else {"absolute": 1e3 * value, "integers": "lossy"}
        for options in (absolute, {"pointwise_relative": value}):
            kind, bound = next(iter(options.items()))
            assert holds(kind, bound, before, h5stz.decompress(h5stz.compress(before, **options))), options


@pytest.mark.parametrize("value", [1e-2, 1e-4])
def test_the_range(value):
    before = field("f4")
    before = before[6:]  # finite
    assert np.isfinite(before).all()
    assert holds("relative", value, before, h5stz.decompress(h5stz.compress(before, relative=value)))


def test_the_checker_sees_a_broken_bound():
    before = field("f4")
    after = h5stz.decompress(h5stz.compress(before, absolute=1e-3))
    assert not holds("absolute", 0.9e-3, before, after)
    assert not holds("lossless", 0, before, after)

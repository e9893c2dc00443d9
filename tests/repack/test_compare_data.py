"""Whether a new file keeps what its options promise is judged exactly, also where float64 is too coarse to tell."""

from fractions import Fraction

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.files import compare_data


def promise_is_kept(x, y, options, bound):
    """The judge: fractions, number by number."""
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if not np.isfinite(a) or a == options.get("fill_value"):
            if np.float64(a).tobytes() != np.float64(b).tobytes():
                return False
        elif not np.isfinite(b):
            return False
        else:
            error = abs(Fraction(a) - Fraction(b))
            allowed = Fraction(bound) * (abs(Fraction(a)) if "pointwise_relative" in options else 1)
            if error > allowed:
                return False
    return True


def moved(rng, x, options, bound):
    """Numbers near the limits of what is allowed for x; at most one of them beyond."""
    y, info = x.copy(), np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
    with np.errstate(all="ignore"):
        for k in rng.choice(len(x), 6, replace=False):
            allowed = bound * (abs(float(x[k])) if "pointwise_relative" in options else 1)
            place = float(x[k]) + rng.choice([-1, 1]) * allowed * rng.choice([0.3, 1 - 1e-15, 1, 1 + 1e-15])
            if np.isfinite(place) and info.min <= place <= info.max:
                y[k] = place
    return y


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "u4", "i8"])
def test_verdicts_are_those_of_exact_arithmetic(dtype):
    rng, verdicts = np.random.default_rng(len(dtype)), set()
    kinds = ["absolute", "pointwise_relative"] if dtype[0] == "f" else ["absolute"]
    for number in range(150):
        kind = kinds[number % len(kinds)]
        if dtype[0] == "f":
            scale = 10.0 ** rng.integers(-6 if dtype == "f2" else -300 if dtype == "f8" else -40, 3 if dtype == "f2" else 30)
            x = (scale * rng.standard_normal(40)).astype(dtype)
            bound = 1e-3 if kind != "absolute" else float(abs(x).max() or 1) * 1e-3
            x[rng.choice(40, 3)] = [np.nan, np.inf, -np.inf][: 3 * (number % 3 == 0)] or 0
        else:
            x, bound = rng.integers(0, 30000, 40).astype(dtype), float(rng.integers(1, 9))
            x = x + np.array(2**62 * (dtype == "i8" and number % 2), dtype)
        options = {kind: bound} | ({"fill_value": x[7].item()} if number % 4 == 1 and np.isfinite(x[7]) else {})
        y = moved(rng, x, options, bound)
        if number % 5 == 4:
            y[rng.integers(40)] = 0
        with h5py.File("x", "w", driver="core", backing_store=False) as file:
            before, after = file.create_dataset("before", data=x), file.create_dataset("after", data=y)
            settings = h5stz.STZ(**options, integers="lossy", dtype=dtype).resolved.settings
            try:
                largest = compare_data.within(before, after, settings, lambda _: None)
                kept = True
            except h5stz.StzError:
                kept = False
        assert kept == promise_is_kept(x, y, options, bound), (x, y, options)
        if kept:
            ordinary = np.isfinite(x) & (x != options.get("fill_value"))
            errors = [abs(Fraction(a) - Fraction(b)) for a, b in zip(x[ordinary].tolist(), y[ordinary].tolist(), strict=True)]
            assert largest == pytest.approx(float(max(errors)), rel=1e-12)
        verdicts.add(kept)
    assert verdicts == {True, False}


def stored_pair(file, x, y, chunks):
    """Datasets of an original and of what became of it, in chunks of h5stz."""
    before = file.create_dataset("before", data=x)
    return before, h5stz.write(file, "after", y, chunks=chunks, lossless=True)


@pytest.mark.parametrize("threads", [1, 3])
def test_every_chunk_is_compared(threads):
    """Also those at the edges. The error names the chunk with the wrong number."""
    x = np.random.default_rng(1).standard_normal((20, 33, 17)).astype("f4")
    chunks, settings = (8, 16, 8), h5stz.STZ(absolute=0.5).resolved.settings
    for place in np.ndindex(3, 3, 3):
        at = tuple(min(index * chunk + 1, size - 1) for index, chunk, size in zip(place, chunks, x.shape, strict=True))
        y, told = x.copy(), []
        y[at] += 0.25
        with h5py.File("x", "w", driver="core", backing_store=False) as file:
            assert compare_data.within(*stored_pair(file, x, y, chunks), settings, told.append, threads) == pytest.approx(0.25)
            assert sum(told) == x.nbytes
        y[at] += 0.5
        corner = [index * chunk for index, chunk in zip(place, chunks, strict=True)]
        with h5py.File("x", "w", driver="core", backing_store=False) as file:
            with pytest.raises(h5stz.StzError, match=rf"\[{corner[0]}:\d+,{corner[1]}:\d+,{corner[2]}:\d+\].*became"):
                compare_data.within(*stored_pair(file, x, y, chunks), settings, told.append, threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_chunks_that_are_absent_stored_without_the_filter_or_damaged(threads):
    x = np.ones((4, 8), "f4")
    settings = h5stz.STZ(absolute=0.5).resolved.settings

    def largest(change):
        with h5py.File("x", "w", driver="core", backing_store=False) as file:
            before = file.create_dataset("before", data=x)
            after = file.create_dataset("after", x.shape, "f4", chunks=(4, 4), fillvalue=0.75, **h5stz.STZ(absolute=0.5))
            after[:, :4] = 1
            change(after.id)
            return compare_data.within(before, after, settings, lambda _: None, threads)

    assert largest(lambda _: None) == 0.25
    plain = np.full((4, 4), 1.5, "f4").tobytes()
    assert largest(lambda identifier: identifier.write_direct_chunk((0, 4), plain, 1)) == 0.5
    with pytest.raises(h5stz.StzError, match=r"before\[0:4,4:8\]: its chunk cannot be decoded .* in the new file"):
        largest(lambda identifier: identifier.write_direct_chunk((0, 4), plain))

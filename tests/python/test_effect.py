"""h5stz.effect: the exact data first, the same seeds for every bound, and a table that says what is noticed."""

import math
import statistics

import numpy as np
import pytest

import h5stz

ARRAY = np.random.default_rng(0).standard_normal((50, 60)).astype("f4")
NUMBERS = np.arange(40)


def score(arrays, seed):
    """The mean error, and noise of about 0.01."""
    assert np.array_equal(arrays["n"], NUMBERS)
    return float(abs(arrays["x"] - ARRAY).mean()) + 0.01 * np.random.default_rng(seed).standard_normal()


def test_rows():
    found = h5stz.effect({"x": ARRAY, "n": NUMBERS}, score, relative=(0.1, 1e-5, 1e-2), seeds=4)
    exact, *rows = found
    assert len(found) == 4 and exact.relative == 0 and exact.ratio == 1 and exact.change == 0 and not exact.noticed
    assert exact.scores == tuple(score({"x": ARRAY, "n": NUMBERS}, seed) for seed in range(4))
    assert exact.spread == statistics.stdev(exact.scores)
    assert [row.relative for row in rows] == [1e-5, 1e-2, 0.1]
    for row in rows:
        stream = h5stz.compress(ARRAY, relative=row.relative)
        decoded = {"x": h5stz.decompress(stream), "n": NUMBERS}
        assert row.scores == tuple(score(decoded, seed) for seed in range(4))
        assert row.change == pytest.approx(row.score - exact.score)
        assert row.bytes == len(stream) + len(h5stz.compress(NUMBERS, lossless=True))
        assert row.ratio == (ARRAY.nbytes + NUMBERS.nbytes) / row.bytes
    assert [row.noticed for row in rows] == [False, True, True]


def test_one_seed_has_no_spread():
    found = h5stz.effect({"x": ARRAY, "n": NUMBERS}, score, (1e-3,), 1)
    assert math.isnan(found[0].spread) and not found[0].noticed and found[1].noticed
    assert " - " in str(found) and "1 seed;" in str(found)


def test_the_table():
    found = h5stz.effect({"x": ARRAY, "n": NUMBERS}, score, relative=(1e-5, 0.1))
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["exact", "relative=1e-05", "relative=0.1"]
    assert repr(found) == str(found) and lines[3].endswith("noticed") and not lines[2].endswith("noticed")
    assert found._repr_html_().count("<tr>") == 4 and found[1:][0] is found[1]


def test_masked_samples_stay_masked():
    array = np.ma.masked_greater(ARRAY, 1)

    def mean(arrays, seed):
        assert np.array_equal(np.ma.getmaskarray(arrays["x"]), array.mask)
        return arrays["x"].mean()

    _, row = h5stz.effect({"x": array, "gone": np.full(9, np.nan)}, mean, (1e-2,), 1)
    assert 0 < abs(row.change) < 0.1


def test_progress_and_its_end():
    steps = []
    h5stz.effect({"x": ARRAY, "n": NUMBERS}, score, (1e-3, 1e-2), progress=lambda *step: steps.append(step))
    assert list(dict.fromkeys(name for name, _, _ in steps)) == ["exact", "relative=0.001", "relative=0.01"]
    assert [done for _, done, _ in steps] == sorted(done for _, done, _ in steps)
    assert steps[-1][1] == steps[-1][2]

    def cancel(name, done, total):
        if name != "exact":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        h5stz.effect({"x": ARRAY, "n": NUMBERS}, score, progress=cancel)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_score_that_is_not_finite_names_bound_and_seed(number):
    def broken(arrays, seed):
        return number if seed == 1 and arrays["x"] is not ARRAY else 0.0

    with pytest.raises(h5stz.StzError, match=r"score of the arrays \(relative=0\.01, seed 1\) is (NaN|inf).*finite number"):
        h5stz.effect({"x": ARRAY}, broken, (1e-2,))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (({}, score), "arrays is empty"),
        (({"x": ARRAY}, None), "score is of type NoneType"),
        (({"x": ARRAY}, lambda arrays, seed: [1, 2], (1e-3,)), "is list, not a number"),
        (({"x": ARRAY}, score, ()), "relative= must have bounds above 0"),
        (({"x": ARRAY}, score, (0, 1e-3)), "relative= must have bounds above 0"),
        (({"x": ARRAY}, score, (-1,)), "relative=-1 must be a finite number"),
        (({"x": ARRAY}, score, (1e-3,), 0), "seeds=0 must be 1 to"),
        (({"x": ARRAY}, score, 1e-3), r"relative= must be several numbers: give a tuple, such as \(0\.001,\)"),
    ],
)
def test_what_cannot_be_measured_is_an_error(arguments, problem):
    with pytest.raises(h5stz.StzError, match=problem):
        h5stz.effect(*arguments)

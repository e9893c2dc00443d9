"""h5stz.choose_bounds: bounds fit the budget together, other data are judged too, and nothing fails silently."""

import itertools
import math
import pickle

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import h5stz
from h5stz.tuning.knapsack import fewest_bytes


def noise(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def arrays_of(**scales):
    return {name: scale * noise(60, 50, seed=seed) for seed, (name, scale) in enumerate(scales.items())}


def error(found, exact):
    return float(np.sqrt(np.mean((np.asarray(found, "f8") - exact) ** 2)))


def sum_of_errors(arrays, weights, power=1.0):
    """A metric: the sum of weighted errors, to a power."""
    return lambda found: sum(weight * error(found[name], arrays[name]) for name, weight in weights.items()) ** power


def test_bounds_fit_the_budget_and_hold_in_a_file(tmp_path):
    arrays = arrays_of(a=1, b=1000, c=0.01)
    metric = sum_of_errors(arrays, {"a": 1, "b": 0.01, "c": 1})
    chosen = h5stz.choose_bounds(arrays, metric, 0.1, verify=metric, aim=1)
    with h5py.File(tmp_path / "chosen.h5", "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, chunks=array.shape, **chosen[name])
        stored = {name: file[name][...] for name in chosen}
        sizes = {name: file[name].id.get_storage_size() for name in chosen}
    assert metric(stored) == chosen.search.chosen == chosen.verify.chosen <= 0.1
    assert {row.name: row.bytes for row in chosen.rows} == sizes
    assert chosen.bytes == sum(sizes.values()) and chosen.bits == pytest.approx(8 * chosen.bytes / 9000)
    assert chosen["b"].bound > 10 * chosen["a"].bound, "what matters less gets the coarser bound"


def test_fewer_bytes_than_one_bound_for_all_with_the_same_effect():
    arrays = arrays_of(a=1, b=1)
    metric = sum_of_errors(arrays, {"a": 1, "b": 0.01})
    chosen = h5stz.choose_bounds(arrays, metric, 0.05, aim=1)
    bound = 1.0
    while metric({n: h5stz.decompress(h5stz.compress(a, absolute=bound)) for n, a in arrays.items()}) > chosen.search.rise:
        bound /= 1.1
    assert chosen.bytes < 0.8 * sum(len(h5stz.compress(array, absolute=bound)) for array in arrays.values())


@pytest.mark.parametrize("power", [0.5, 2])
def test_effects_that_do_not_add_up(power):
    """Together they are four times what their sum is, or a half of it: the search lowers or raises what it plans."""
    arrays = arrays_of(a=1, b=1, c=1, d=1)
    chosen = h5stz.choose_bounds(arrays, sum_of_errors(arrays, dict.fromkeys(arrays, 1), power), 0.3, aim=0.9)
    assert 0.7 * 0.27 < chosen.search.rise <= 0.27


def test_a_bound_that_helps_by_luck_counts_as_finer_ones_do():
    arrays = arrays_of(a=1)

    def metric(found):
        of_a = error(found["a"], arrays["a"])
        return of_a if of_a < 0.01 else 0.0 if 0.06 < of_a < 0.08 else 9.0

    assert metric({"a": h5stz.decompress(h5stz.compress(arrays["a"], absolute=1 / 8))}) == 0, "which is tried first"
    chosen = h5stz.choose_bounds(arrays, metric, 0.25)
    assert 0.003 < chosen.search.rise < 0.01


def test_arrays_that_stay_lossless_say_why():
    values = noise(2000)
    arrays = {
        "used": values,
        "integers": np.arange(5000),
        "flags": values > 0,
        "small": values[:100],
        "number": np.float64(3.5),
        "empty": np.zeros((0, 3)),
        "nan": np.full(3000, np.nan),
        "missing": np.full(3000, 1e20),
        "equal": np.full(3000, 7.5),
        "unused": noise(2000, seed=5),
    }
    metric = sum_of_errors({"used": values}, {"used": 1})
    chosen = h5stz.choose_bounds(arrays, metric, 0.1, fill_value=1e20)
    assert {row.name: row.reason for row in chosen.rows} == {
        "used": "",
        "integers": "integers",
        "flags": "integers",
        "small": "fewer than 1024 samples",
        "number": "fewer than 1024 samples",
        "empty": "fewer than 1024 samples",
        "nan": "no finite numbers",
        "missing": "no finite numbers",
        "equal": "all numbers are equal",
        "unused": "the metric does not use it",
    }
    assert {name for name, options in chosen.items() if options.bound} == {"used"}
    assert all(str(chosen[row.name]) == "lossless" for row in chosen.rows if row.reason)
    assert h5stz.choose_bounds(arrays, metric, 0.1, fill_value=1e20, smallest=3000)["used"].bound == 0


def test_data_that_the_search_has_not_seen_are_judged():
    arrays = arrays_of(a=1)
    metric = sum_of_errors(arrays, {"a": 1})
    with pytest.raises(h5stz.StzBudgetError, match=r"verify rises by \S+, more than the budget of 0\.1.*aim=") as caught:
        h5stz.choose_bounds(arrays, metric, 0.1, verify=lambda found: 5 + 3 * metric(found))
    chosen = caught.value.chosen
    assert chosen.verify.exact == 5 and chosen.verify.rise > 0.1 > chosen.search.rise > 0
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and str(again.chosen) == str(chosen)
    assert isinstance(again, h5stz.StzError) and again.code == caught.value.code
    fits = h5stz.choose_bounds(arrays, metric, 0.1, verify=lambda found: 5 + 3 * metric(found), aim=0.3)
    assert fits.verify.rise <= 0.1


def test_the_search_leaves_a_part_of_the_budget():
    arrays = arrays_of(a=1, b=1)
    metric = sum_of_errors(arrays, {"a": 1, "b": 1})
    for aim in (0.3, 1):
        assert 0.4 * aim < h5stz.choose_bounds(arrays, metric, 1, aim=aim).search.rise <= aim
    assert h5stz.choose_bounds(arrays, metric, 1).search.rise <= 0.7


def test_nan_names_the_array_and_the_bound():
    arrays = arrays_of(a=1, nu=1)
    arrays["nu"] = arrays["nu"] ** 2

    def metric(found):
        with np.errstate(invalid="ignore"):
            return float((found["nu"] / np.sqrt(found["nu"])).mean()) + error(found["a"], arrays["a"])

    with pytest.raises(h5stz.StzError, match=r"metric of 'nu' at absolute=\S+ is NaN: .*pointwise="):
        h5stz.choose_bounds(arrays, metric, 0.1)
    chosen = h5stz.choose_bounds(arrays, metric, 0.1, pointwise=["nu"])
    assert str(chosen["nu"]).startswith("pointwise_relative=") and str(chosen["a"]).startswith("absolute=")
    with pytest.raises(h5stz.StzError, match="metric of the exact arrays is NaN"):
        h5stz.choose_bounds(arrays, lambda found: math.nan, 0.1)
    with pytest.raises(h5stz.StzError, match=r"verify of all arrays together \('a' at absolute=.*, 'nu' at .*\) is NaN"):
        exact = arrays["a"]
        h5stz.choose_bounds(
            arrays, metric, 0.1, pointwise=["nu"], verify=lambda found: 0.0 if found["a"] is exact else math.nan
        )


def test_infinity_refuses_a_bound():
    arrays = arrays_of(a=1)
    free = h5stz.choose_bounds(arrays, sum_of_errors(arrays, {"a": 1}), 0.5)
    refused = h5stz.choose_bounds(
        arrays, lambda found: math.inf if (error(found["a"], arrays["a"]) > 1e-3) else error(found["a"], arrays["a"]), 0.5
    )
    assert 0 < refused.search.rise <= 1e-3 < free.search.rise
    never = h5stz.choose_bounds(arrays, lambda found: 1.0 if found["a"] is arrays["a"] else math.inf, 0.5)
    assert str(never["a"]) == "lossless" and never.search.rise == 0


@pytest.mark.parametrize("kind", ["masked", "fill value", "nan"])
def test_missing_samples(kind):
    values, absent = noise(5000), noise(5000, seed=1) > 1
    array = {
        "masked": np.ma.masked_array(values, absent, fill_value=1e20),
        "fill value": np.where(absent, np.float32(1e20), values),
        "nan": np.where(absent, np.float32(np.nan), values),
    }[kind]

    def metric(found):
        a = found["a"]
        if kind == "masked":
            assert np.array_equal(np.ma.getmaskarray(a), absent) and a.fill_value == np.float32(1e20)
        else:
            assert np.array_equal(a[absent], array[absent], equal_nan=True)
        return error(np.asarray(a)[~absent], values[~absent])

    chosen = h5stz.choose_bounds({"a": array}, metric, 0.1)
    assert 0.01 < chosen.search.rise <= 0.1 and chosen["a"].bound < 1
    assert (chosen["a"].fill_value is None) == (kind == "nan")
    (row,) = chosen.rows
    assert row.fraction == pytest.approx(chosen["a"].bound / values[~absent].std(), rel=1e-5)


def test_a_fill_value_that_is_unclear_is_a_question():
    array = noise(5000)
    array[:3] = 60
    metric = sum_of_errors({"a": array}, {"a": 1})
    with pytest.raises(h5stz.StzError, match=r"^'a': is 60\.0 \(3 times\) a fill value"):
        h5stz.choose_bounds({"a": array}, metric, 0.1)
    without, given = (h5stz.choose_bounds({"a": array}, metric, 0.1, fill_value=fill) for fill in (False, 60))
    assert without["a"].fill_value is None and given["a"].fill_value == 60
    assert without.rows[0].fraction < 0.9 * given.rows[0].fraction, "the deviation is that of all numbers, or of the others"


@pytest.mark.parametrize("dtype", ["f2", ">f8", "c8"])
def test_other_types(dtype):
    array = (noise(5000) + (1j * noise(5000, seed=1) if dtype == "c8" else 0)).astype(dtype)

    def metric(found):
        assert found["a"].dtype == array.dtype
        return float(abs(found["a"] - array).mean())

    assert 0 < h5stz.choose_bounds({"a": array}, metric, 0.1).search.rise <= 0.1


def test_the_same_call_gives_the_same_bounds_and_tells_how_far_it_is():
    arrays = {**arrays_of(a=1, b=2), "n": np.arange(9)}
    metric = sum_of_errors(arrays, {"a": 1, "b": 1})
    steps = []
    one = h5stz.choose_bounds(arrays, metric, 0.2, progress=lambda *step: steps.append(step))
    other = h5stz.choose_bounds(arrays, metric, 0.2)
    assert str(one) == str(other) and [str(each) for each in one.values()] == [str(each) for each in other.values()]
    assert list(dict.fromkeys(name for name, _, _ in steps)) == ["a", "b", "n", ""]
    done = [done for _, done, _ in steps]
    assert done == sorted(done) and done[-1] == steps[-1][2] and len(set(done)) > 10

    def cancel(name, done, total):
        if name == "b":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        h5stz.choose_bounds(arrays, metric, 0.2, progress=cancel)


def test_the_table():
    arrays = {"<w>": noise(3000), "n": np.arange(9)}
    metric = sum_of_errors(arrays, {"<w>": 1})
    chosen = h5stz.choose_bounds(arrays, metric, 0.1, verify=metric)
    assert list(chosen) == ["<w>", "n"] and len(chosen) == 2 and "x" not in chosen
    lines = str(chosen).splitlines()
    assert repr(chosen) == str(chosen) and lines[1].startswith("<w>") and lines[2].endswith("integers")
    assert [line.split()[0] for line in lines if line.endswith(" 0.1")] == ["search", "verify"]
    page = chosen._repr_html_()
    assert "&lt;w&gt;" in page and "<w>" not in page and page.count("<table>") == page.count("</table>") == 2
    assert "verify= was" not in str(chosen)
    assert "No verify= was given" in str(h5stz.choose_bounds(arrays, metric, 0.1))


def unsteady():
    numbers = itertools.count()
    return lambda found: float(next(numbers))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (({}, lambda found: 0.0, 1), "arrays is empty"),
        (([noise(3)], lambda found: 0.0, 1), "arrays is of type list: give a mapping"),
        (({"t": np.array(["x"])}, lambda found: 0.0, 1), "'t': data of dtype"),
        (({"a": noise(2000)}, 3.0, 1), "metric is of type float: give a function"),
        (({"a": noise(2000)}, lambda found: "x", 1), "metric of the exact arrays is str, not a number"),
        (({"a": noise(2000)}, lambda found: math.inf, 1), "metric of the exact arrays is inf"),
        (({"a": noise(2000)}, unsteady(), 1), "is 0.0 in one call and 1.0 in the next"),
        (({"a": noise(2000)}, lambda found: 0.0, 0), "budget=0.0 must be above 0"),
        (({"a": noise(2000)}, lambda found: 0.0, math.nan), "budget=nan must be above 0"),
    ],
)
def test_what_cannot_be_searched_is_an_error(arguments, problem):
    with pytest.raises(h5stz.StzError, match=problem):
        h5stz.choose_bounds(*arguments)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"aim": 1.5}, "aim=1.5 must be above 0 and at most 1"),
        ({"ladder": ()}, "ladder= has no numbers"),
        ({"ladder": (0.1, -1)}, "ladder=-1.0 must be above 0"),
        ({"pointwise": ["b"]}, "pointwise= names 'b', which is not in arrays: these are a"),
        ({"pointwise": "a"}, r"pointwise='a' must be names of arrays, such as \['a'\]"),
        ({"verify": 1}, "verify is of type int"),
        ({"fill_value": "x"}, "'a': fill_value='x' must be a number"),
    ],
)
def test_options_out_of_range(options, problem):
    with pytest.raises(h5stz.StzError, match=problem):
        h5stz.choose_bounds({"a": noise(2000)}, lambda found: 0.0, 1, **options)


def test_a_misspelt_option_names_the_one_that_was_meant():
    with pytest.raises(TypeError, match="did you mean verify="):
        h5stz.choose_bounds({"a": noise(2000)}, lambda found: 0.0, 1, verfy=None)


def test_only_bounds_of_the_ladder_are_tried():
    array = noise(5000)
    metric = sum_of_errors({"a": array}, {"a": 1})
    chosen = h5stz.choose_bounds({"a": array}, metric, 0.1, ladder=(0.3, 0.01, 0.1))
    assert chosen.rows[0].fraction == 0.1 and chosen.evaluations <= 2 + 3 + 10


def test_numbers_near_the_end_of_float64():
    array = noise(5000).astype("f8") * 1e307
    chosen = h5stz.choose_bounds({"a": array}, lambda found: float(abs(found["a"] / 1e307 - array / 1e307).mean()), 0.1)
    assert math.isfinite(chosen["a"].bound) and 0.01 < chosen.search.rise <= 0.1


effects = st.lists(st.tuples(st.integers(1, 1000), st.floats(0, 2)), max_size=4)


@given(st.lists(effects, min_size=1, max_size=4), st.floats(0.01, 3))
def test_the_knapsack_is_as_good_as_trying_everything(candidates, budget):
    """Except that effects are rounded up, by less than a thousandth of the budget in all."""
    candidates = [[(2000, 0.0), *of_array] for of_array in candidates]
    picked = fewest_bytes(candidates, budget)

    def total(numbers, what):
        return sum(of_array[number][what] for of_array, number in zip(candidates, numbers, strict=True))

    assert total(picked, 1) <= budget * (1 + 1e-9)
    tight = budget * (1 - len(candidates) / 1000)
    everything = itertools.product(*(range(len(of_array)) for of_array in candidates))
    assert total(picked, 0) <= min(total(numbers, 0) for numbers in everything if total(numbers, 1) <= tight)

"""Levels of some axes: view.level(l, axes=...) is the dataset with step 2**l on these and 1 on the others, at its cost."""

import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import h5stz
from support.region_files import opened, same, smooth, write

SHAPE = (6, 40, 44, 52)
SPACE = (1, 2, 3)


def series(seed=1):
    """Steps of a volume that moves slowly."""
    return np.stack([smooth(SHAPE[1:], "f4", seed) + step for step in range(SHAPE[0])])


def thinned(array, step, axes):
    """What a level must be."""
    return array[tuple(slice(None, None, step if axis in axes else 1) for axis in range(array.ndim))]


@pytest.mark.parametrize("chunks", [(1, 40, 44, 52), (6, 40, 44, 52), (4, 33, 32, 52)], ids=str)
@pytest.mark.parametrize("axes", [(1, 2, 3), (0,), 2, (-1, 1), ()], ids=str)
def test_the_other_axes_keep_every_sample(tmp_path, chunks, axes):
    with opened(write(tmp_path / "x.h5", series(), chunks)) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        numbers = {axis % 4 for axis in ([axes] if axes == 2 else axes)}
        for level in range(4):
            part = view.level(level, axes)
            wanted = thinned(full, 1 << level, numbers)
            assert same(wanted, part[...]) and same(wanted, view.level(0, axes).level(level)[...])
            assert same(wanted, view.level(0, axes).read(..., level))
            assert part.shape == wanted.shape and part.size == wanted.size and part.axes == tuple(sorted(numbers))
            assert part.spacing == tuple(1 << level if axis in numbers else 1 for axis in range(4))
            assert part.chunks == tuple(-(-n >> level) if axis in numbers else n for axis, n in enumerate(chunks))
            assert same(wanted[::-1, 3, -1::-2], part[::-1, 3, -1::-2])
        assert view.axes == (0, 1, 2, 3) and view.stats.fallback_chunks == 0


@given(data=st.data())
def test_levels_of_levels(data):
    """Axes stay those of the view until others are named; any order, any index, any form of stream."""
    rank = data.draw(st.integers(1, 4))
    shape = tuple(data.draw(st.lists(st.integers(1, (200, 60, 20, 9)[rank - 1]), min_size=rank, max_size=rank)))
    chunks = tuple(data.draw(st.integers(-(-extent // 2), extent)) for extent in shape)
    with tempfile.TemporaryDirectory() as directory:
        array = smooth(shape, data.draw(st.sampled_from(["<f4", ">f8", "u1", "<c8"])))
        options = data.draw(st.sampled_from([{"absolute": 0.5}, {"lossless": True}]))
        with opened(write(Path(directory, "x.h5"), array, chunks, options)) as dataset:
            full, view, axes = dataset[...], h5stz.view(dataset), set(range(rank))
            wanted = full
            for _ in range(3):
                given_axes = data.draw(st.none() | st.sets(st.integers(0, rank - 1)))
                axes = axes if given_axes is None else given_axes
                level = data.draw(st.integers(0, 3))
                view, wanted = view.level(level, given_axes), thinned(wanted, 1 << level, axes)
                index = data.draw(npst.basic_indices(wanted.shape, allow_newaxis=False))
                expected = wanted[index]
                assert same(expected if expected.ndim else expected[()], view[index])
                assert same(thinned(wanted, 2, axes), view.read(..., 1))
            for level, found in view.refine():
                assert same(thinned(wanted, 1 << level, axes), found)
            assert level == 0


def test_refining_along_the_axes(tmp_path):
    with opened(write(tmp_path / "x.h5", series(), (1, 40, 44, 52))) as dataset:
        full, view = dataset[...], h5stz.view(dataset).level(0, SPACE)
        levels, cost = [], []
        for level, found in view.refine(np.s_[::-2, 5:30, 7]):
            step = 1 << level
            assert same(full[::-2, -(-5 // step) * step : 30 : step, 7 // step * step, ::step], found)
            levels.append(level)
            cost.append(view.stats.blocks_decoded)
        assert len(levels) > 2 and levels == list(range(levels[0], -1, -1)) and cost == sorted(cost)
        coarsest = [next(level for level, _ in part.refine()) for part in (view, view.level(1))]
        assert coarsest[0] == coarsest[1] + 1
        assert [level for level, _ in view.level(2, ()).refine()] == [0]
        with pytest.raises(h5stz.StzError, match="steps along an axis that the level thins"):
            view.refine(np.s_[:, ::2])


def test_one_sample_of_the_kept_axis_in_each_chunk_costs_the_level(tmp_path):
    """And so does an axis that the codec does not split: each step, or each component of a vector, is coded alike."""
    big = np.stack([smooth((96, 96, 96), "f4", 1), -3 * smooth((96, 96, 96), "f4", 2)])
    vectors = np.ascontiguousarray(np.moveaxis(big, 0, -1))
    for array, chunks, axes in [
        (big, (1, 96, 96, 96), (1, 2, 3)),
        (big, big.shape, (1, 2, 3)),
        (vectors, vectors.shape, (0, 1, 2)),
    ]:
        with opened(write(tmp_path / "x.h5", array, chunks, {"absolute": 1e-3, "block": "region"})) as dataset:
            view = h5stz.view(dataset)
            view.level(2, axes)[...]
            assert view.stats.blocks_decoded < view.stats.blocks_present / 4
            assert view.stats.bytes_read < view.stats.bytes_touched_chunks / 8


def test_an_axis_that_is_split_costs_the_parts_of_blocks_that_are_needed(tmp_path):
    with opened(write(tmp_path / "x.h5", smooth((96, 96, 96)), (96, 96, 96), {"absolute": 1e-3, "block": "region"})) as dataset:
        everything, some = h5stz.view(dataset), h5stz.view(dataset)
        everything[...]
        some.level(2, (1, 2))[...]
        assert some.stats.bytes_read < 0.6 * everything.stats.bytes_read


@pytest.mark.parametrize(
    "axes, error, said",
    [
        (2, ValueError, "2 axes"),
        ((0, -3), ValueError, "2 axes"),
        ((0, -2), ValueError, "twice"),
        (1.0, TypeError, "integer"),
        ("01", TypeError, "integer"),
        ((0, None), TypeError, "integer"),
    ],
)
def test_axes_that_are_not_possible(path, axes, error, said):
    with opened(path) as dataset, pytest.raises(error, match=said) as raised:
        h5stz.view(dataset).level(1, axes)
    assert isinstance(raised.value, h5stz.StzError)


def test_datasets_of_others(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = series()
    with opened(tmp_path / "x.h5") as dataset:
        view = h5stz.view(dataset).level(2, SPACE)
        assert same(dataset[:, ::4, ::4, ::4], view[...]) and view.stats.fallback_chunks == 1
        assert [level for level, _ in view.refine()] == [0]


def test_what_a_view_says_of_itself(path):
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        assert f"'/x' in {path}: float32, shape (150, 260), chunks (128, 128), absolute=0.001" in repr(view)
        assert "level" not in repr(view)
        assert repr(view.level(2)).endswith(", level 2, spacing (4, 4)>")
        assert repr(view.level(2, -1)).endswith(", level 2 along axes 1, spacing (1, 4)>")
        assert repr(view.level(2, 1).level(1, 0)).endswith(", spacing (2, 4)>")
        assert (view.name, view.filename, view.file) == ("/x", str(path), dataset.file)
        assert dict(view.attrs) == {}
    with h5py.File(path, "r+") as file:
        file["x"].attrs["units"] = "m"
        view = h5stz.view(file["x"])
        assert view.level(1).attrs["units"] == "m" and "through h5py as the file is writable" in repr(view)

"""The bound holds with respect to the values that were written last, however a program writes them with h5py.

The programs are those of support/piecewise.py, without a chunk cache, so that HDF5 decodes and encodes a chunk again for every
write. Random programs, of every type and with little memory, are those of exhaustive/rewriting.py, which test_night.py runs.
"""

from dataclasses import replace

import h5py
import numpy as np
import pytest

import h5stz
from support import exact, piecewise
from support.fields import random_field
from support.piecewise import Task

BOUND = 0.02
SHAPE = (12, 40, 48)

#: name -> option of STZ
BOUNDS = {"absolute": {"absolute": BOUND}, "point-wise": {"pointwise_relative": BOUND}}


def series(seed=1, shape=SHAPE):
    """A rough series of frames without zeros, of which no rewrite gives the same stream by chance."""
    return (5 + random_field(shape, 2.5, seed)).astype("f4")


def error(path, expected, option):
    """Largest error / bound of a file; two readers must find the same bits."""
    found = piecewise.read(path)
    assert exact.same_bits(found, piecewise.read(path)), "reading is deterministic"
    (bound,) = option.values()
    return exact.error_over_bound(expected, found, bound, "pointwise_relative" in option)


def keeps(program, task, option):
    """Asserts that a program's files keep the bound."""
    for path, expected in piecewise.run(program, task).items():
        assert error(path, expected, option) <= 1
    return task.path


def make_task(tmp_path, option, chunks, values=None, **more):
    values = series() if values is None else values
    return Task(tmp_path / "f.h5", values, chunks, h5stz.STZ(**option, **more), cache=0)


@pytest.mark.parametrize("option", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("program", piecewise.SERIES.values(), ids=piecewise.SERIES)
def test_series(program, option, tmp_path):
    """Six frames a chunk, and the last chunk of each axis is only partly inside."""
    keeps(program, make_task(tmp_path, option, (8, 32, 48)), option)


@pytest.mark.parametrize("option", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("program", piecewise.PARTS.values(), ids=piecewise.PARTS)
def test_parts_of_chunks(program, option, tmp_path):
    keeps(program, make_task(tmp_path, option, (6, 40, 48)), option)


def test_random_boxes_are_never_larger_than_lossless(tmp_path):
    values = series(shape=(48, 48, 48))
    task = make_task(tmp_path, BOUNDS["absolute"], values.shape, values)
    (expected,) = piecewise.run(piecewise.random_boxes(60), task).values()
    assert error(task.path, expected, BOUNDS["absolute"]) <= 1
    held = piecewise.read(task.path)
    lossless = Task(tmp_path / "lossless.h5", held, task.chunks, h5stz.STZ(lossless=True))
    piecewise.at_once(lossless)
    record = 32  # bytes: that the bound is used, and what it was
    assert piecewise.stored_bytes(task.path) <= piecewise.stored_bytes(lossless.path) + record


def test_fill_values_behind_a_shrunken_end_are_exact(tmp_path):
    fill = np.float32(1e20)
    task = make_task(tmp_path, BOUNDS["absolute"], (8, 32, 32), fill_value=fill, dtype="f4")
    with piecewise.created(task, maxshape=task.unlimited, fillvalue=fill) as dataset:
        dataset[...] = task.values
        dataset.resize(5, axis=0)
        dataset.resize(len(task.values), axis=0)
    found = piecewise.read(task.path)
    assert np.all(found[5:] == fill)
    assert exact.error_over_bound(task.values[:5], found[:5], BOUND) <= 1


def test_what_was_rewritten_is_not_quantized_again(tmp_path):
    """Each write changes one frame of a chunk: all other frames keep their bits for ever."""
    task = make_task(tmp_path, BOUNDS["absolute"], SHAPE)
    with piecewise.created(task) as dataset:
        dataset[...] = task.values
    before = piecewise.read(task.path)
    for index in range(1, len(before)):
        with piecewise.opened(task) as dataset:
            dataset[0] = task.values[index]
        assert exact.same_bits(piecewise.read(task.path)[1:], before[1:])


def test_parts_that_are_written_with_what_was_read_change_nothing(tmp_path):
    """Values that were read and written back unchanged keep their bits too, and the stream its bytes."""
    task = make_task(tmp_path, BOUNDS["absolute"], SHAPE)
    piecewise.at_once(task)
    before, size = piecewise.read(task.path), piecewise.stored_bytes(task.path)
    for part in (np.s_[2:5], np.s_[:, 7], np.s_[...]):
        with piecewise.opened(task) as dataset:
            dataset[part] = dataset[part]
    assert exact.same_bits(piecewise.read(task.path), before)
    assert piecewise.stored_bytes(task.path) == size


@pytest.mark.usefixtures("every_chunk_fitted")
@pytest.mark.parametrize("depth", [4, 12])
def test_growth_along_a_known_axis_costs_nothing(depth, tmp_path):
    task = make_task(tmp_path, BOUNDS["absolute"], (depth, 40, 48), append_axis=0)
    whole = replace(task, path=tmp_path / "whole.h5")
    piecewise.at_once(whole)
    for program in (piecewise.append_frames, piecewise.append_and_flush, piecewise.append_and_reopen):
        keeps(program, task, BOUNDS["absolute"])
        assert piecewise.stored_bytes(task.path) <= 1.02 * piecewise.stored_bytes(whole.path)


@pytest.mark.usefixtures("every_chunk_fitted")
def test_other_data_of_the_same_shape_pay_nothing(tmp_path):
    """A program that reads a dataset, computes, and writes another one: the bytes of a program that has read nothing."""
    task = make_task(tmp_path, BOUNDS["absolute"], (4, 40, 48))
    piecewise.at_once(task)
    original, other = piecewise.read(task.path), Task(tmp_path / "new.h5", series(seed=2), task.chunks, task.options)
    computed = replace(other, path=tmp_path / "computed.h5", values=(2 * original + 1).astype("f4"))
    for new in (other, computed):
        keeps(piecewise.at_once, new, BOUNDS["absolute"])
        for place in range(0, len(new.values), 4):
            alone = h5stz.compress(new.values[place : place + 4], **BOUNDS["absolute"])
            with h5py.File(new.path) as file:
                assert h5stz.info(file["x"].id.read_direct_chunk((place, 0, 0))[1]).mode == h5stz.info(alone).mode
                assert file["x"].id.get_chunk_info_by_coord((place, 0, 0)).size == len(alone)

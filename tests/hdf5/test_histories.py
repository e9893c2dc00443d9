"""Chunks that are copied or rewritten say what their samples have lost since the first time, or that nobody knows."""

import json
import math

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support import exact
from support.host_tools import forget

MODES = {
    "absolute": {"absolute": 2**-7},
    "finer": {"absolute": 2**-9},
    "pointwise": {"pointwise_relative": 2**-8},
    "lossless": {"lossless": True},
}
DTYPES = ("<f4", ">f8", "<f2")


@pytest.fixture(autouse=True)
def nothing_remembered():
    forget()
    yield
    forget()


def field(dtype, seed=1):
    return (1.5 + np.cumsum(np.random.default_rng(seed).standard_normal((30, 40)), 1) / 9).astype(dtype)


def write(path, name, array, options, chunks=(30, 40)):
    with h5py.File(path, "a") as file:
        file.create_dataset(name, data=array, chunks=chunks, **h5stz.STZ(**options))


def stated(dataset):
    """What the only chunk says of itself."""
    mask, stream = dataset.id.read_direct_chunk((0, 0))
    assert mask == 0
    return h5stz.info(stream)


def check_history(original, dataset):
    """No sample is farther from what was compressed first than the chunk says; returns its accumulated bound."""
    info, decoded = stated(dataset), dataset[...]
    bound = max(info.relaxed_bound, info.accumulated_bound or 0.0)
    if bound == 0:
        assert np.array_equal(exact.bits(original), exact.bits(decoded))
    elif bound < math.inf:
        pointwise = info.mode == "pointwise_relative"
        assert exact.largest_error(original, decoded, bound, pointwise=pointwise) <= 1
    return info.accumulated_bound


@pytest.mark.parametrize("memory", [None, "0"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("second", MODES)
@pytest.mark.parametrize("first", MODES)
def test_a_copy_of_a_copy(first, second, dtype, memory, tmp_path, monkeypatch):
    """Each is read back and written to a third one, of which a part is new."""
    if memory is not None:
        monkeypatch.setenv("H5STZ_REWRITE_MEMORY", memory)
        forget()
    path, original = tmp_path / "a.h5", field(dtype)
    write(path, "a", original, MODES[first])
    with h5py.File(path) as file:
        copy = file["a"][...]
    write(path, "b", copy, MODES[second])
    with h5py.File(path) as file:
        accumulated = check_history(original, file["b"])
        assert accumulated is not None or first == "lossless" or first == second
        again = file["b"][...]
    part = np.s_[5:12, 3:30]
    again[part] = original[part] = field(dtype, 2)[part]
    write(path, "c", again, {"absolute": 2**-8})
    with h5py.File(path) as file:
        assert check_history(original, file["c"]) is not None or {first, second} == {"lossless"}


@pytest.mark.parametrize("memory", [None, "0"])
@pytest.mark.parametrize("options", [{"absolute": 2**-7}, {"pointwise_relative": 2**-7}], ids=["absolute", "pointwise"])
def test_a_part_that_is_written_again(options, memory, tmp_path, monkeypatch):
    """Without a memory the chunk becomes exact, and says what was lost before."""
    if memory is not None:
        monkeypatch.setenv("H5STZ_REWRITE_MEMORY", memory)
        forget()
    path, original = tmp_path / "a.h5", field("<f4")
    write(path, "a", original, options)
    for row in (3, 17):
        with h5py.File(path, "r+") as file:
            file["a"][row, 5:9] = original[row, 5:9] = row
        with h5py.File(path) as file:
            accumulated = check_history(original, file["a"])
            assert accumulated is not None or stated(file["a"]).mode != "lossless"
    with h5py.File(path, "r+") as file:  # of which nothing is left
        file["a"][...] = original = field("<f4", 3)
    with h5py.File(path) as file:
        check_history(original, file["a"])


@pytest.mark.parametrize("chunks", [(120, 400), (60, 400)])
@pytest.mark.parametrize("second", MODES)
@pytest.mark.parametrize("first", [name for name in MODES if name != "lossless"])
def test_a_file_that_is_compressed_again(first, second, chunks, tmp_path):
    """h5stz.repack(again=True) knows the source, whatever the chunks are."""
    path, target, large = tmp_path / "a.h5", tmp_path / "b.h5", np.tile(field("<f4"), (4, 10))
    write(path, "a", large, MODES[first], (120, 400))
    report = h5stz.repack(path, target, again=True, rechunk=chunks, **MODES[second])
    if report.outcomes[0].reason == "larger":  # it was copied as it is
        return
    with h5py.File(target) as file:
        dataset = file["a"]
        for start in range(0, 120, dataset.chunks[0]):
            info = h5stz.info(dataset.id.read_direct_chunk((start, 0))[1])
            assert info.accumulated_bound
            if info.accumulated_bound < math.inf:
                rows = np.s_[start : start + dataset.chunks[0]]
                pointwise = info.mode == "pointwise_relative"
                assert exact.largest_error(large[rows], dataset[rows], info.accumulated_bound, pointwise=pointwise) <= 1


def test_what_nobody_knows_is_said(tmp_path, capsys):
    """An absolute bound and one relative to each sample have no common unit."""
    path = tmp_path / "a.h5"
    write(path, "a", field("<f4"), {"absolute": 0.01})
    with h5py.File(path) as file:
        copy = file["a"][...]
    write(path, "b", copy, {"pointwise_relative": 0.01})
    assert cli.main(["info", str(path), "--dataset", "/b"]) == 0
    assert "accumulated bound: unknown" in capsys.readouterr().out
    assert cli.main(["info", str(path), "--dataset", "/b", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["files"][0]["datasets"][0]
    assert facts["compression"]["first_chunks"]["accumulated_bound"] == "unknown"
    with h5py.File(path) as file:
        assert stated(file["b"]).accumulated_bound == math.inf
        view = h5stz.view(file["b"])
        assert view.layer_errors() == []
        with pytest.raises(h5stz.StzError, match="errors were not recorded"):
            view.read(..., max_error=1.0)


def test_new_samples_have_no_history(tmp_path):
    """Also where some of them are equal by chance."""
    path, original = tmp_path / "a.h5", field("<f4")
    write(path, "a", original, {"absolute": 0.01})
    with h5py.File(path) as file:
        new = field("<f4", 5)
        new[3, ::9] = file["a"][3, ::9]
    write(path, "b", new, {"absolute": 0.02})
    with h5py.File(path) as file:
        assert stated(file["b"]).accumulated_bound is None


def test_a_constant_copy_keeps_its_history(tmp_path):
    """Chunks that are exact by chance may be quantized again, but have lost something before."""
    path = tmp_path / "a.h5"
    original = field("<f4")
    write(path, "a", original, {"absolute": 0.25})
    with h5py.File(path) as file:
        copy = file["a"][...]
    write(path, "b", copy, {"lossless": True})
    for row in (2, 9):
        with h5py.File(path, "r+") as file:
            file["b"][row] = original[row] = row
        with h5py.File(path) as file:
            assert check_history(original, file["b"]) == 0.25

"""Chunks take predictions of the chunks before them that the process has written with the same options."""

import h5py
import numpy as np
import pytest

import h5stz

CHUNK = (24, 24, 24)


def waves(seed, shape=(96, 96, 96)):
    """A field of waves with a little noise."""
    axes = np.meshgrid(*(np.arange(extent, dtype="f4") for extent in shape), indexing="ij", sparse=True)
    phase = sum((0.05 + 0.03 * axis) * along for axis, along in enumerate(axes))
    noise = np.random.default_rng(seed).standard_normal(shape, dtype="f4")
    return np.sin(phase) + 0.3 * np.sin(2.3 * phase + seed) + 0.002 * noise


def written(path, data, **options):
    """The streams of the chunks of a dataset that is written to a new file."""
    with h5py.File(path, "w") as file:
        made = file.create_dataset("x", data=data, chunks=CHUNK, **h5stz.STZ(absolute=1e-3, **options))
        return [made.id.read_direct_chunk(made.id.get_chunk_info(k).chunk_offset)[1] for k in range(made.id.get_num_chunks())]


@pytest.fixture(autouse=True)
def learning(monkeypatch):
    monkeypatch.delenv("H5STZ_LEARN", raising=False)


@pytest.mark.parametrize(
    ("setting", "options"),
    [("0", {}), ("", {"learn": False}), ("1", {"learn": False}), ("1", {"effort": 7}), ("1", {"layers": 2})],
    ids=str,
)
def test_nothing_is_learned_where_it_is_not_wanted(tmp_path, monkeypatch, setting, options):
    monkeypatch.setenv("H5STZ_LEARN", setting)
    data = waves(1, (48, 48, 96))
    written(tmp_path / "before.h5", data, **options)
    first = written(tmp_path / "first.h5", data, **options)
    assert bytes(first[-1]) == h5stz.compress(data[-24:, -24:, -24:], absolute=1e-3, **options)


@pytest.mark.parametrize("options", [{"psnr": 60}, {"ratio": 8}], ids=str)
def test_what_is_measured_without_learning_is_written_without_it(options):
    data = waves(1, (48, 48, 96))
    assert h5stz.STZ(data=data, chunks=CHUNK, **options).get_config()["learn"] is False


def test_other_streams_with_the_same_bound_and_about_as_many_bytes(tmp_path, monkeypatch):
    data = waves(2)
    with_learning = written(tmp_path / "with.h5", data)
    monkeypatch.setenv("H5STZ_LEARN", "0")
    without = written(tmp_path / "without.h5", data)
    assert sum(a != b for a, b in zip(with_learning, without, strict=True)) > len(without) / 2
    assert sum(map(len, with_learning)) < 1.03 * sum(map(len, without))
    with h5py.File(tmp_path / "with.h5") as file:
        assert abs(file["x"][...] - data).max() <= 1e-3


def test_other_options_learn_by_themselves(tmp_path):
    """A chunk of a first dataset is fitted, whatever datasets with other options have taught."""
    data = waves(3, CHUNK)
    for bound in (1e-2, 2e-2):
        with h5py.File(tmp_path / "x.h5", "w") as file:
            for name in "abc":
                file.create_dataset(name, data=data, chunks=CHUNK, **h5stz.STZ(absolute=bound))
    with h5py.File(tmp_path / "x.h5", "w") as file:
        made = file.create_dataset("x", data=data, chunks=CHUNK, **h5stz.STZ(absolute=3e-2))
        assert made.id.read_direct_chunk((0, 0, 0))[1] == h5stz.compress(data, absolute=3e-2)


def test_rewriting_keeps_the_other_samples(tmp_path):
    data = waves(4)
    written(tmp_path / "x.h5", data)
    with h5py.File(tmp_path / "x.h5", "r+") as file:
        before = file["x"][...]
        file["x"][10:30, 5:90, 7] = 5
        after = file["x"][...]
    assert (after[10:30, 5:90, 7] == 5).all()
    after[10:30, 5:90, 7] = before[10:30, 5:90, 7]
    assert np.array_equal(after, before)

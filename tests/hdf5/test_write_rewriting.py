"""Chunks that h5stz.write stored keep the promises of docs/rewriting.md: no error adds up, unwritten samples keep their bits.

Each program is run twice: on a dataset that h5stz.write made, and on one that HDF5 wrote through the filter.
"""

import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.hdf5.registration import plugin

FIELD = np.random.default_rng(2).normal(size=(64, 60, 50)).cumsum(0).cumsum(1).astype("f4")
CHUNKS = (32, 32, 25)
BOUND = 0.05


def make(path, how, data=FIELD, **options):
    options = options or {"absolute": BOUND}
    with h5py.File(path, "w") as file:
        if how == "write":
            h5stz.write(file, "x", data, chunks=CHUNKS, threads=2, **options)
        else:
            file.create_dataset("x", data=data, chunks=CHUNKS, **h5stz.STZ(**options))


def chunks_of(dataset):
    infos = [dataset.id.get_chunk_info(number) for number in range(dataset.id.get_num_chunks())]
    return {info.chunk_offset: dataset.id.read_direct_chunk(info.chunk_offset)[1] for info in infos}


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    monkeypatch.setenv("H5STZ_LEARN", "0")
    plugin().stz_h5_forget()
    yield
    plugin().stz_h5_forget()


def overwritten(path, rounds, seed):
    """Parts are overwritten in several sessions. Returns what was written last, and a mask of all that was written."""
    rng = np.random.default_rng(seed)
    wanted, written = FIELD.copy(), np.zeros(FIELD.shape, bool)
    for _ in range(rounds):
        with h5py.File(path, "r+") as file:
            for _ in range(3):
                low = [rng.integers(0, extent) for extent in FIELD.shape]
                box = tuple(slice(at, at + rng.integers(1, 30)) for at in low)
                new = rng.normal(size=wanted[box].shape).astype("f4") * 10
                file["x"][box] = new
                wanted[box], written[box] = new, True
    return wanted, written


@pytest.mark.parametrize("seed", range(4))
def test_partial_overwrites_keep_the_bound_and_the_bits(tmp_path, seed):
    results = {}
    for how in ("write", "filter"):
        plugin().stz_h5_forget()
        make(tmp_path / how, how)
        with h5py.File(tmp_path / how) as file:
            before = file["x"][...]
        wanted, written = overwritten(tmp_path / how, 6, seed)
        with h5py.File(tmp_path / how) as file:
            after = file["x"][...]
            results[how] = after, chunks_of(file["x"])
        assert np.abs(after.astype("f8") - wanted).max() <= BOUND
        assert after[~written].tobytes() == before[~written].tobytes()
    assert results["write"][0].tobytes() == results["filter"][0].tobytes()
    assert results["write"][1] == results["filter"][1]


@pytest.mark.parametrize("cache", [0, 64 << 20])
def test_overwrites_in_the_same_session(tmp_path, cache):
    """The chunks are not in HDF5's cache after write(): a partial write decodes what was stored."""
    with h5py.File(tmp_path / "x.h5", "w", rdcc_nbytes=cache) as file:
        made = h5stz.write(file, "x", FIELD, chunks=CHUNKS, threads=2, absolute=BOUND)
        before = made[...]
        made[10:20, 3, 5:] = 7
    with h5py.File(tmp_path / "x.h5") as file:
        after = file["x"][...]
    mask = np.zeros(FIELD.shape, bool)
    mask[10:20, 3, 5:] = True
    assert after[~mask].tobytes() == before[~mask].tobytes()
    assert np.abs(after[mask] - 7).max() <= BOUND


PROGRAM = """
import sys, h5py, numpy as np, h5stz
with h5py.File(sys.argv[1], "r+") as file:
    for at in range(0, 60, 7):
        file["x"][at % 64, at, :] = at
"""


def test_another_process_overwrites(tmp_path):
    for how in ("write", "filter"):
        make(tmp_path / how, how)
        for _ in range(3):
            subprocess.run([sys.executable, "-c", PROGRAM, tmp_path / how], check=True)
    with h5py.File(tmp_path / "write") as one, h5py.File(tmp_path / "filter") as other:
        assert chunks_of(one["x"]) == chunks_of(other["x"])


@pytest.mark.parametrize("reads", ["read", "h5py"])
@pytest.mark.parametrize("how", ["write", "filter"])
@pytest.mark.parametrize(
    "options", [{"absolute": BOUND}, {"pointwise_relative": 1e-2}, {"absolute": BOUND, "layers": 2}], ids=str
)
def test_decoded_samples_give_the_same_streams_again(tmp_path, reads, how, options):
    """Copies within a process lose nothing, also if h5stz.read reads and h5stz.write writes."""
    make(tmp_path / "source", "filter", **options)
    with h5py.File(tmp_path / "source") as source, h5py.File(tmp_path / "copy", "w") as target:
        samples = h5stz.read(source["x"], threads=2) if reads == "read" else source["x"][...]
        if how == "write":
            copy = h5stz.write(target, "x", samples, chunks=CHUNKS, threads=2, **options)
        else:
            copy = target.create_dataset("x", data=samples, chunks=CHUNKS, **h5stz.STZ(**options))
        target.flush()
        assert chunks_of(copy) == chunks_of(source["x"])


@pytest.mark.parametrize("reads", ["read", "h5py"])
def test_a_changed_copy_keeps_the_bits_of_what_was_not_changed(tmp_path, reads):
    make(tmp_path / "source", "filter")
    for how in ("write", "filter"):
        plugin().stz_h5_forget()
        with h5py.File(tmp_path / "source") as source:
            samples = h5stz.read(source["x"], threads=1) if reads == "read" else source["x"][...]
        before = samples.copy()
        samples[::5, 3:50, 2:9] += 1
        make(tmp_path / how, how, samples)
        with h5py.File(tmp_path / how) as file:
            after = file["x"][...]
        kept = samples == before
        assert after[kept].tobytes() == before[kept].tobytes()
        assert np.abs(after - samples).max() <= BOUND
    with h5py.File(tmp_path / "write") as one, h5py.File(tmp_path / "filter") as other:
        assert chunks_of(one["x"]) == chunks_of(other["x"])


def test_accumulated_bounds_are_stated(tmp_path):
    """Samples that were lossy before: the streams say what was lost, as those of the filter do."""
    make(tmp_path / "source", "write")
    for how in ("write", "filter"):
        plugin().stz_h5_forget()
        with h5py.File(tmp_path / "source") as source:
            samples = h5stz.read(source["x"])
        make(tmp_path / how, how, samples, absolute=0.2)
        with h5py.File(tmp_path / how) as file:
            streams = chunks_of(file["x"])
        assert {h5stz.info(stream).accumulated_bound for stream in streams.values()} == {0.25}


def test_appending(tmp_path):
    """Chunks that are not full are stored losslessly, and compressed when they are."""
    options = {"absolute": BOUND, "append_axis": 0}
    results = {}
    for how in ("write", "filter"):
        with h5py.File(tmp_path / how, "w") as file:
            arguments = {"chunks": CHUNKS, "maxshape": (None, 60, 50)}
            if how == "write":
                made = h5stz.write(file, "x", FIELD[:40], **arguments, **options)
            else:
                made = file.create_dataset("x", data=FIELD[:40], **arguments, **h5stz.STZ(**options))
            for end in range(44, 65, 4):
                made.resize(end, axis=0)
                made[end - 4 :] = FIELD[end - 4 : end]
                made.flush()
        with h5py.File(tmp_path / how) as file:
            results[how] = chunks_of(file["x"])
            assert np.abs(file["x"][...] - FIELD).max() <= BOUND
    assert results["write"] == results["filter"]

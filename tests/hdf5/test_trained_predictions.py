"""Predictions in client data: trained on the data, they and a chunk determine its bytes, in every program that writes it."""

import json
import os
import pickle
import subprocess

import h5py
import numpy as np
import pytest
from hdf5.test_learning import waves

import h5stz
from h5stz import _core, elements
from h5stz.options.stz import client_data
from support import commands
from support.host_tools import forget
from support.requirements import needs_packages, needs_programs

CHUNK = (16, 16, 16)
DATA = waves(7, (96, 80, 96))
OPTIONS = h5stz.STZ(absolute=1e-3, data=DATA, chunks=CHUNK)


def boxes(shape=DATA.shape, chunk=CHUNK):
    for index in np.ndindex(*(size // extent for size, extent in zip(shape, chunk, strict=True))):
        yield tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, chunk, strict=True))


def streams(dataset):
    return [dataset.id.read_direct_chunk(tuple(cut.start for cut in box))[1] for box in boxes(dataset.shape, dataset.chunks)]


@pytest.fixture(autouse=True)
def nothing_decoded():
    forget()


def create(file, name="x", options=OPTIONS, data=DATA):
    return file.create_dataset(name, data=data, chunks=CHUNK, **options)


def test_training_writes_predictions_into_the_client_data(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        made = create(file)
        words = client_data(made)
        assert words[0] == 105 and len(words) <= _core.CD_MAX_WORDS
        assert h5stz.STZ.from_dataset(made).resolved.settings == OPTIONS.resolved.settings
        assert OPTIONS.resolved.settings.learned is not None
    with h5py.File(tmp_path / "x.h5") as file:
        assert abs(file["x"][...] - DATA).max() <= 1e-3


@pytest.mark.parametrize("learn", ["0", "1"])
def test_chunk_and_client_data_determine_the_bytes(tmp_path, monkeypatch, learn):
    monkeypatch.setenv("H5STZ_LEARN", learn)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        create(file, "before", data=waves(8, DATA.shape))  # what the process wrote before changes nothing
        found = streams(create(file))
        settings = h5stz.STZ.from_dataset(file["x"]).resolved.settings
    assert found == [settings.encode(np.ascontiguousarray(DATA[box])) for box in boxes()]
    fitted = [h5stz.compress(DATA[box], absolute=1e-3) for box in boxes()]
    assert sum(a != b for a, b in zip(found, fitted, strict=True)) > len(found) / 2
    assert sum(map(len, found)) < 1.03 * sum(map(len, fitted))


def test_every_number_of_threads_writes_the_same(tmp_path, monkeypatch):
    written = []
    for threads in "13":
        monkeypatch.setenv("H5STZ_THREADS", threads)
        with h5py.File(tmp_path / f"{threads}.h5", "w") as file:
            written.append(streams(create(file)))
    assert written[0] == written[1]


def test_every_number_of_threads_trains_the_same():
    trained = [h5stz.STZ(absolute=1e-3).trained(DATA, CHUNK, threads=threads) for threads in (1, 2, 3, 16)]
    assert trained[0].resolved.settings.learned is not None
    assert len({tuple(each.filter_options) for each in trained}) == 1


def test_predictions_survive_copies_and_pickling(tmp_path):
    settings = OPTIONS.resolved.settings
    copy = pickle.loads(pickle.dumps(settings))
    assert copy == settings and hash(copy) == hash(settings) and copy != settings.replace(learned=None)
    assert copy.encode(DATA[:16, :16, :16].copy()) == settings.encode(DATA[:16, :16, :16].copy())
    assert h5stz.STZ.from_filter_options(OPTIONS.filter_options) == OPTIONS


def test_a_type_or_shape_of_other_chunks_drops_them(tmp_path):
    """Programs copy creation properties to datasets with other chunks, of which predictions say nothing."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        properties = create(file).id.get_create_plist()
        space = h5py.h5s.create_simple(DATA.shape)
        for name, chunk, dtype, kept in (
            ("a", CHUNK, "<f4", True),
            ("b", (8, 16, 16), "<f4", False),
            ("c", CHUNK, "<f8", False),
        ):
            properties.set_chunk(chunk)
            h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(np.dtype(dtype)), space, properties.copy())
            assert (h5stz.STZ.from_dataset(file[name]).resolved.settings.learned is not None) == kept


def test_data_that_no_predictions_suit_are_fitted(tmp_path):
    """Other data under the same options: noise, zeros, and a field of another character."""
    noise = np.random.default_rng(1).standard_normal(DATA.shape, dtype="f4")
    sparse = np.where(noise > 2.5, noise, 0)
    for data in (noise, sparse, np.zeros_like(DATA), np.round(DATA * 8)):
        with h5py.File(tmp_path / "x.h5", "w") as file:
            size = sum(map(len, streams(create(file, data=data))))
        fitted = sum(len(h5stz.compress(data[box], absolute=1e-3)) for box in boxes())
        assert size <= 1.02 * fitted
        with h5py.File(tmp_path / "x.h5") as file:
            assert abs(file["x"][...] - data).max() <= 1e-3


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (DATA, {"learn": False}),
        (DATA, {"effort": 7}),
        (DATA, {"layers": 2}),
        (DATA[:32], {}),
        (np.zeros_like(DATA), {}),
        (DATA, {"psnr": 60, "absolute": None}),
    ],
    ids=["learn", "effort", "layers", "few chunks", "hardly any bytes", "psnr"],
)
def test_nothing_is_trained_where_that_does_not_pay(data, options):
    made = h5stz.STZ(data=data, chunks=CHUNK, **{"absolute": 1e-3} | options)
    assert made.resolved.settings.learned is None and OPTIONS.resolved.settings.learned is not None
    assert len(made.filter_options) < 20


def test_damaged_predictions_are_dropped_and_never_decide_what_is_stored():
    words = list(OPTIONS.filter_options)
    place = words.index(_core.CD_RECORD_LEARNED, _core.CD_FIXED_WORDS)
    sound = OPTIONS.resolved.settings.replace(learned=None)
    chunk = np.ascontiguousarray(DATA[:16, :16, :16])
    for word in range(place + 2, len(words)):
        for bit in (0, 13, 31):
            damaged = words.copy()
            damaged[word] ^= 1 << bit
            found = h5stz.STZ.from_filter_options(damaged).resolved.settings
            assert found == sound or word == len(words) - 1  # the last word has bytes that are not used
    assert found.encode(chunk)
    for length in range(place + 1, len(words)):
        with pytest.raises(h5stz.StzError, match="cut short"):
            h5stz.STZ.from_filter_options(words[:length])


@needs_packages("xarray", "h5netcdf")
def test_to_netcdf_and_repack_train(tmp_path):
    import xarray

    variable = xarray.Dataset({"x": (("a", "b", "c"), DATA)})
    h5stz.to_netcdf(variable, tmp_path / "x.nc", absolute=1e-3, chunks=dict(zip("abc", CHUNK, strict=True)))
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["x"] = DATA
    h5stz.repack(tmp_path / "plain.h5", tmp_path / "x.h5", [h5stz.Rule("*", {"absolute": 1e-3})], rechunk=CHUNK)
    with h5py.File(tmp_path / "x.nc") as one, h5py.File(tmp_path / "x.h5") as two:
        of_netcdf = h5stz.STZ.from_dataset(one["x"]).resolved.settings
        assert of_netcdf.replace(fill=None) == OPTIONS.resolved.settings  # xarray gives every variable a fill value
        assert h5stz.STZ.from_dataset(two["x"]).resolved.settings == OPTIONS.resolved.settings
        settings = OPTIONS.resolved.settings
        assert streams(two["x"])[5] == settings.encode(np.ascontiguousarray(list(map(DATA.__getitem__, boxes()))[5]))


@needs_programs("nccopy", "h5repack")
def test_printed_arguments_hand_them_to_other_programs(tmp_path):
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file.create_dataset("x", data=DATA, chunks=CHUNK)
    words = ["--absolute", "1e-3", "--data", tmp_path / "plain.h5", "x", "--chunks", "16,16,16"]
    lines = {line.split()[0]: line for line in commands.run("args", *words).out.splitlines() if line[0] != "#"}
    environment = os.environ | {"HDF5_PLUGIN_PATH": h5stz.plugin_path()}

    def run(line, source, target):
        line = line.replace(source, str(tmp_path / "plain.h5")).replace(target, str(tmp_path / "out.h5"))
        subprocess.run(line, shell=True, check=True, env=environment)
        with h5py.File(tmp_path / "out.h5") as file:
            assert abs(file["x"][...] - DATA).max() <= 1e-3
            return h5stz.STZ.from_dataset(file["x"]).resolved.settings

    run(lines["h5repack"], "IN.h5", "OUT.h5")  # which takes 20 numbers: without predictions
    assert run(lines["nccopy"].split("&&")[1], "plain.nc", "OUT.nc") == OPTIONS.resolved.settings


@pytest.mark.parametrize("chunks", [1000, True, None, [16, 16, 16], (16, 16), (0, 16, 16), (16.0, 16, 16)], ids=str)
def test_other_chunks_than_a_shape_train_nothing(chunks):
    assert h5stz.STZ("absolute=1e-3").trained(DATA, chunks).resolved.settings.learned is None


@needs_packages("xarray", "dask")
def test_lazy_arrays_train_nothing():
    import xarray

    lazy = xarray.DataArray(DATA).chunk(32)
    assert h5stz.STZ(absolute=1e-3, data=lazy, chunks=CHUNK).resolved.settings.learned is None
    assert h5stz.STZ(absolute=1e-3, data=lazy.data, chunks=CHUNK).resolved.settings.learned is None


def test_printed_arguments_need_a_shape_of_the_dataset(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = DATA
    done = commands.run("args", "--absolute", "1", "--data", tmp_path / "x.h5", "x", "--chunks", "16,16")
    assert done.status != 0 and "the dataset x has 3 axes" in done.err


def test_info_and_repr_tell_of_predictions(tmp_path):
    sets = OPTIONS.resolved.settings.learned.count
    none = _core.Learned.train([], *elements.element_type(DATA.dtype), CHUNK, OPTIONS.resolved.settings)
    untaught = h5stz.STZ.from_filter_options(OPTIONS.resolved.settings.replace(learned=none).pack())
    with h5py.File(tmp_path / "x.h5", "w") as file:
        create(file, "trained")
        create(file, "plain", h5stz.STZ(absolute=1e-3))
        create(file, "fitted", untaught)
        assert repr(h5stz.STZ.from_dataset(file["trained"])) == f"h5stz.STZ('absolute=0.001', trained={sets} sets)"
    assert repr(OPTIONS) == f"h5stz.STZ('absolute=0.001', trained={sets} sets)"
    assert repr(h5stz.STZ(absolute=1e-3)) == "h5stz.STZ('absolute=0.001')" and str(OPTIONS) == "absolute=0.001"
    assert OPTIONS.get_config() == {"absolute": 1e-3}
    printed = commands.run("info", tmp_path / "x.h5").out.splitlines()
    told = [line.split("  ")[-1].strip() for line in printed if "predictions:" in line]
    assert told == ["predictions: none, every chunk is fitted", f"predictions: {sets} sets, trained with data"]
    (facts,) = json.loads(commands.run("info", "--json", tmp_path / "x.h5").out)["files"]
    assert {each["path"]: each["compression"]["trained_sets"] for each in facts["datasets"]} == {
        "/trained": sets,
        "/plain": None,
        "/fitted": 0,
    }

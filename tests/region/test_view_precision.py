"""Reads with a largest error: views, programs under H5STZ_MAX_ERROR, xarray, zarr, repacked files; each keeps the error."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support import commands, exact, fields, region_files
from support.requirements import needs_packages, needs_programs

SHAPE, CHUNKS = (90, 100, 110), (64, 64, 110)
BOUND = 1e-4


@pytest.fixture(scope="module")
def field():
    return region_files.smooth(SHAPE, "f4", 5)


@pytest.fixture(scope="module")
def path(tmp_path_factory, field):
    """A file with the field in three layers ("x"), without ("plain"), and raw. One chunk of the first two is missing."""
    path = tmp_path_factory.mktemp("precision") / "layers.h5"
    with h5py.File(path, "w") as file:
        for name, layers in (("x", 3), ("plain", 1)):
            made = file.create_dataset(name, SHAPE, "f4", chunks=CHUNKS, **h5stz.STZ(absolute=BOUND, layers=layers))
            made[:64] = field[:64]
            made[64:, :64] = field[64:, :64]
        file["raw"] = field
    return path


@pytest.fixture(scope="module")
def written(field):
    """The field with zeros where nothing was written."""
    written = field.copy()
    written[64:, 64:] = 0
    return written


def distance(one, other):
    return np.abs(np.asarray(one, "f8") - np.asarray(other, "f8")).max(initial=0)


@pytest.fixture
def view(path):
    with h5py.File(path) as file:
        yield h5stz.view(file["x"], cache_bytes=0)


INDICES = [..., np.s_[40:70, 60:64, ::7], np.s_[3], np.s_[::-5, 10, 100:20:-3], np.s_[70, 70, 70], np.s_[5:5]]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_errors_are_kept_in_every_part(view, written, index):
    errors = view.layer_errors(index) or [BOUND]
    assert errors[-1] <= BOUND and errors == sorted(errors, reverse=True)
    for layers, error in enumerate(errors, 1):
        by_layers, by_error = view.level(0, layers=layers)[index], view.at_error(error)[index]
        assert exact.same_bits(np.asarray(by_layers), np.asarray(view.level(0, layers=layers)[...][index]))
        assert distance(by_layers, written[index]) <= error
        assert distance(by_error, written[index]) <= error
        assert exact.same_bits(np.asarray(view.read(index, max_error=error)), np.asarray(by_error))


def test_errors_are_kept_on_levels(view, written):
    first = view.layer_errors()[0]
    coarse = view.at_error(first).level(2)
    assert coarse.shape == (23, 25, 28)
    assert distance(coarse[...], written[::4, ::4, ::4]) <= first
    assert exact.same_bits(coarse[3:9], view.level(2, layers=1)[3:9])
    assert exact.same_bits(coarse[3:9], view.at_error(first)[::4, ::4, ::4][3:9])


def test_fewer_bytes_are_read(view):
    read = []
    for layers in (1, 2, 3):
        view.stats.reset()
        view.read(np.s_[:64, :64], layers=layers)
        read.append(view.stats.bytes_read)
        assert view.stats.bytes_saved == view.stats.bytes_touched_chunks - read[-1]
    assert read[0] < 0.75 * read[1] < 0.75 * read[2]


def test_a_part_becomes_more_precise(view, written):
    part = np.s_[10:80, 20:40]
    steps = list(view.refine(part, by="error"))
    assert [error for error, _ in steps] == view.layer_errors(part)
    for error, array in steps:
        assert distance(array, written[part]) <= error
    assert exact.same_bits(steps[-1][1], view[part])


def test_layers_with_wanted_errors(tmp_path, field):
    options = h5stz.STZ(absolute=BOUND, layer_bounds=(0.3, 0.01), fill_value=False)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=field, chunks=CHUNKS, **options)
    with h5py.File(tmp_path / "x.h5") as file:
        stored = h5stz.STZ.from_dataset(file["x"])
        assert str(stored) == "absolute=1e-04,layer_bounds=0.3/0.01"
        assert h5stz.STZ(str(stored)) == h5stz.STZ(absolute=BOUND, layer_bounds=(0.3, 0.01))
        first, second, last = h5stz.view(file["x"]).layer_errors()
        assert 0.03 < first <= 0.3 and 0.001 < second <= 0.01 and last <= BOUND
        assert distance(h5stz.view(file["x"]).at_error(0.01)[...], field) <= 0.01
    h5stz.repack(tmp_path / "x.h5", tmp_path / "y.h5", max_error=0.02)
    with h5py.File(tmp_path / "y.h5") as file:
        assert str(h5stz.STZ.from_dataset(file["x"])) == "absolute=0.02,layer_bounds=0.3"
        assert distance(file["x"][...], field) <= 0.01


def test_without_layers(path, written):
    with h5py.File(path) as file:
        plain, raw = h5stz.view(file["plain"]), h5stz.view(file["raw"])
        assert len(plain.layer_errors()) == 1 and raw.layer_errors() == []
        assert exact.same_bits(plain.at_error(1)[...], plain[...])
        assert exact.same_bits(raw.at_error(1)[...], raw[...])
        assert [array.shape for _, array in raw.refine(..., by="error")] == [SHAPE]


def test_a_preview_of_lossless_data(tmp_path):
    field = fields.random_field((64, 64, 64), 5, 1).astype("f4")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=field, chunks=(32, 64, 64), **h5stz.STZ(lossless=True))
    with h5py.File(tmp_path / "x.h5") as file:
        infos = [h5stz.info(file["x"].id.read_direct_chunk((z, 0, 0))[1]) for z in (0, 32)]
        accepted, view = max(info.preview_error for info in infos), h5stz.view(file["x"], cache_bytes=0)
        for index in (..., np.s_[20], np.s_[3:50:2, 7:9]):
            exactly, all_of_it = view[index], view.stats.bytes_read
            view.stats.reset()
            preview = view.at_error(accepted)[index]
            assert exact.same_bits(np.asarray(exactly), field[index])
            assert 0 < distance(preview, field[index]) <= accepted
            assert view.stats.bytes_read < 0.6 * all_of_it
            view.stats.reset()
        assert view.at_error(accepted)[...].nbytes and view.stats.bytes_read == sum(info.preview_bytes for info in infos)
        assert exact.same_bits(view.at_error(min(info.preview_error for info in infos) / 1.01)[...], field)
        with h5stz.partial_reads(max_error=accepted) as stats:
            assert exact.same_bits(file["x"][...], view.at_error(accepted)[...]) and stats.bytes_saved > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_error": -1}, "0 or more"),
        ({"max_error": float("nan")}, "0 or more"),
        ({"max_error": "small"}, "must be a number"),
        ({"layers": 0}, "layers=0"),
        ({"layers": 8}, "layers=8"),
        ({"layers": 1, "max_error": 1}, "one of them"),
        ({"max_error": 1e-7}, "less than what was kept.*1e-07|max_error=1e-07 is less than what was kept"),
    ],
)
def test_wrong_requests(view, arguments, message):
    with pytest.raises(h5stz.StzError, match=message):
        view.read(np.s_[0], **arguments)


def test_rewriting_in_part_keeps_the_bound_and_the_layers(tmp_path, field):
    path = tmp_path / "x.h5"
    whole = field[:64, :64]
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=whole, chunks=whole.shape, **h5stz.STZ(absolute=BOUND, layers=2))
    with h5py.File(path) as file:
        before = file["x"][...]
    expected = whole.astype("f8")
    for turn in range(3):
        with h5py.File(path, "r+") as file:
            file["x"][5 : 20 + turn, 7:30, 9:] += 1
            expected[5 : 20 + turn, 7:30, 9:] += 1
    with h5py.File(path) as file:
        untouched = np.ones(whole.shape, bool)
        untouched[5:23, 7:30, 9:] = False
        assert exact.same_bits(file["x"][...][untouched], before[untouched])
        assert distance(file["x"][...], expected) <= 4.01 * BOUND  # each turn read what it changed
        view = h5stz.view(file["x"])
        for error, array in view.refine(..., by="error"):
            assert distance(array, expected) <= error + 4.01 * BOUND
        assert distance(view.at_error(view.layer_errors()[0])[...], view[...]) > BOUND


def test_h5py_under_partial_reads(path, written, monkeypatch):
    with h5py.File(path) as file:
        full, error = file["x"][...], h5stz.view(file["x"]).layer_errors()[0]
        with h5stz.partial_reads(max_error=error) as stats:
            found = file["x"][10:60]
            assert distance(found, written[10:60]) <= error
            assert not exact.same_bits(found, full[10:60])
        assert stats.bytes_saved > 0
        with h5stz.partial_reads():
            assert exact.same_bits(file["x"][...], full)
            monkeypatch.setenv("H5STZ_MAX_ERROR", repr(error))
            assert exact.same_bits(file["x"][10:60], found)
            monkeypatch.setenv("H5STZ_MAX_ERROR", "1e-9")  # more than there is: all there is
            assert exact.same_bits(file["x"][...], full)
            monkeypatch.setenv("H5STZ_MAX_ERROR", "nonsense")
            assert exact.same_bits(file["x"][...], full)
        monkeypatch.setenv("H5STZ_MAX_ERROR", repr(error))
        assert exact.same_bits(file["x"][...], full)  # the filter obeys nothing of the kind


PROGRAM = """
import h5py, numpy, sys
for name in sys.argv[2:]:
    with h5py.File(sys.argv[1]) as file:
        numpy.save(name, file["x"][eval(name.removesuffix(".npy"))])
"""


@pytest.mark.parametrize("through", ["preload", "connector"])
def test_a_program_under_run(path, written, tmp_path, through):
    with h5py.File(path) as file:
        full, error = file["x"][...], h5stz.view(file["x"]).layer_errors()[0]
    for options, exactly in (([], True), (["--max-error", repr(error)], False), (["--max-error", "1e-9"], True)):
        command = [sys.executable, "-m", "h5stz", "run", "--through", through, *options, "--", sys.executable]
        parts = {"slice(10,60).npy": np.s_[10:60], "Ellipsis.npy": ...}
        subprocess.run([*command, "-c", PROGRAM, path, *parts], check=True, cwd=tmp_path)
        for name, part in parts.items():
            found = np.load(tmp_path / name)
            assert distance(found, written[part]) <= (BOUND if exactly else error)
            assert exact.same_bits(found, full[part]) == exactly


@needs_programs("h5dump")
def test_h5dump_under_run(path, written, tmp_path):
    with h5py.File(path) as file:
        error = h5stz.view(file["x"]).layer_errors()[0]
    command = [sys.executable, "-m", "h5stz", "run", "--max-error", repr(error), "--"]
    command += ["h5dump", "-d", "/x", "-s", "3,4,0", "-c", "1,1,110", "-b", "NATIVE", "-o", tmp_path / "row", path]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    found = np.fromfile(tmp_path / "row", "f4")
    assert distance(found, written[3, 4]) <= error
    assert distance(found, written[3, 4]) > BOUND


def test_a_file_without_its_last_layers(path, written, tmp_path):
    with h5py.File(path) as file:
        error = h5stz.view(file["x"]).layer_errors()[0]
        preview = h5stz.view(file["x"]).at_error(error)[...]
    report = h5stz.repack(path, tmp_path / "small.h5", max_error=error)
    outcomes = {outcome.path: outcome for outcome in report.outcomes}
    assert outcomes["/x"].reason is None and outcomes["/x"].after < 0.8 * outcomes["/x"].before
    assert outcomes["/x"].largest_error == error
    assert outcomes["/plain"].reason == "not chosen"
    with h5py.File(tmp_path / "small.h5") as file:
        assert exact.same_bits(file["x"][...], preview)
        assert h5stz.STZ.from_dataset(file["x"]).bound == error
        assert distance(file["x"][...], written) <= error
        view = h5stz.view(file["x"])
        assert view.layer_errors() == [error]
    # Written again in part, it keeps the bound that it states.
    with h5py.File(tmp_path / "small.h5", "r+") as file:
        file["x"][3:9, 3:9, 3:9] = 7
    with h5py.File(tmp_path / "small.h5") as file:
        again = file["x"][...]
        assert distance(again[3:9, 3:9, 3:9], np.full((6, 6, 6), 7)) <= error
        preview[3:9, 3:9, 3:9] = again[3:9, 3:9, 3:9]
        assert exact.same_bits(again, preview)


def test_a_chunk_without_the_filter_stays_exact_in_a_file_without_its_last_layers(tmp_path, field):
    field = np.ascontiguousarray(field[:64, :64])
    with h5py.File(tmp_path / "x.h5", "w") as file:
        options = h5stz.STZ(absolute=BOUND, layers=3)
        made = file.create_dataset("x", data=field, chunks=(32, *field.shape[1:]), **options)
        file.flush()
        made.id.write_direct_chunk((32, 0, 0), field[32:].tobytes(), 1)
    with h5py.File(tmp_path / "x.h5") as file:
        error = h5stz.view(file["x"]).layer_errors(np.s_[:32])[0]
    h5stz.repack(tmp_path / "x.h5", tmp_path / "small.h5", max_error=error)
    with h5py.File(tmp_path / "small.h5") as file:
        assert BOUND < distance(file["x"][:32], field[:32]) <= error
        assert exact.same_bits(file["x"][32:], field[32:])


def test_repack_on_the_command_line(path, tmp_path):
    with h5py.File(path) as file:
        first, _, last = h5stz.view(file["x"]).layer_errors()

    def run(*options):
        return commands.run("repack", "--json", path, tmp_path / "small.h5", *options)

    assert "error of 0 or more" in run("--max-error", "-1").err
    planned = json.loads(run("--max-error", repr(first), "--dry-run").out)["datasets"]
    assert {each["path"]: each["reason"] for each in planned} == {"/x": None, "/plain": "not chosen", "/raw": "not chosen"}
    report = json.loads(run("--max-error", repr(last / 2)).out)
    assert {each["path"]: each["reason"] for each in report["outcomes"]}["/x"] == "less precise"
    assert "give a bound" in run().err


@needs_packages("xarray", "h5netcdf", "netCDF4")
def test_xarray(tmp_path, field):
    import xarray

    data = xarray.Dataset({"t": (("z", "y", "x"), field), "u": (("z", "y", "x"), field + 1)}, {"z": np.arange(90.0)})
    encoding = h5stz.xarray_encoding(data, absolute=BOUND, layers=2)
    data.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", encoding=encoding)
    full = xarray.open_dataset(tmp_path / "a.nc", engine="h5stz").load()
    with h5py.File(tmp_path / "a.nc") as file:
        error = max(h5stz.view(file[name]).layer_errors()[0] for name in "tu")
    rough = xarray.open_dataset(tmp_path / "a.nc", engine="h5stz", max_error=error)
    assert BOUND < distance(rough.t, field) <= error and BOUND < distance(rough.u, field + 1) <= error
    assert exact.same_bits(rough.z.values, full.z.values)
    one = xarray.open_dataset(tmp_path / "a.nc", engine="h5stz", max_error={"t": error}, level=1)
    assert BOUND < distance(one.t, field[::2, ::2, ::2]) <= error
    assert distance(one.u, field[::2, ::2, ::2] + 1) <= BOUND * 1.001
    with pytest.raises(h5stz.StzError, match="no variable 'v'"):
        xarray.open_dataset(tmp_path / "a.nc", engine="h5stz", max_error={"v": 1})
    with pytest.raises(h5stz.StzError, match="less than what was kept"):
        xarray.open_dataset(tmp_path / "a.nc", engine="h5stz", max_error=1e-9).t.load()


@needs_packages("zarr")
def test_zarr(tmp_path, field, path):
    import zarr

    from h5stz.zarr import StzCodec

    codec = StzCodec(absolute=BOUND, layers=2)
    store = zarr.create_array(tmp_path / "a.zarr", data=field, chunks=(64, 64, 110), serializer=codec, compressors=None)
    full = store[...]
    error = h5stz.info((tmp_path / "a.zarr/c/0/0/0").read_bytes()).layers[0].max_error * 1.5
    metadata = tmp_path / "a.zarr/zarr.json"
    content = json.loads(metadata.read_text())
    content["codecs"][0]["configuration"]["max_error"] = error
    metadata.write_text(json.dumps(content))
    rough = zarr.open_array(tmp_path / "a.zarr", mode="r+")
    for index in (np.s_[...], np.s_[3:60, 10:20], np.s_[:64, :64, :]):
        assert BOUND < distance(rough[index], field[index]) <= error
    rough[0, 0, :50] = 5  # what is written again in part came with all its layers
    content["codecs"][0]["configuration"].pop("max_error")
    metadata.write_text(json.dumps(content))
    again = zarr.open_array(tmp_path / "a.zarr")[...]
    full[0, 0, :50] = again[0, 0, :50]
    assert exact.same_bits(again, full)

"""What could do harm: numbers that only look like samples, coordinates by other names, files that others use."""

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import Rule
from support import exact
from support.fields import random_field
from support.requirements import needs_packages

FIELD = 280 + random_field((100, 100), 4, 1).astype("f4")
MARKED = np.where(np.random.default_rng(1).random(FIELD.shape) < 0.01, np.float32(1e20), FIELD)


def outcomes(path, *rules, **options):
    """{path: reason}, and the new file."""
    report = h5stz.repack(path, path.with_name("new.h5"), rules, overwrite=True, **options)
    return {each.path: each.reason for each in report.outcomes}, report


@pytest.mark.parametrize("fill", [None, np.nan, np.float32(-999), np.float32(9.969209968386869e36)], ids=str)
@pytest.mark.parametrize("where", ["_FillValue", "missing_value", "fillvalue"])
def test_marks_that_nobody_named_do_not_stretch_the_bound(where, fill, tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        options = {"fillvalue": fill} if where == "fillvalue" and fill is not None else {}
        made = file.create_dataset("x", data=MARKED, chunks=MARKED.shape, **options)
        if fill is not None and where != "fillvalue":
            made.attrs[where] = np.float32(fill)
    reasons, _ = outcomes(tmp_path / "a.h5", relative=1e-3)
    with h5py.File(tmp_path / "new.h5") as file:
        found, marked = file["x"][...], MARKED > 1e19
        assert exact.same_bits(found[marked], MARKED[marked])
        assert np.abs(found - MARKED)[~marked].max() <= 1e-3 * np.ptp(MARKED[~marked].astype("f8"))
    assert reasons == {"/x": None if fill is None or np.isnan(fill) else "missing values"}


@pytest.mark.parametrize("fill", [0.0, 7.5, -999.0])
@pytest.mark.parametrize("before", [{"lossless": True}, {"absolute": 1e-4}], ids=str)
@pytest.mark.parametrize("options", [{"absolute": 0.5}, {"relative": 1e-2}, {"psnr": 50}], ids=str)
def test_a_fill_value_among_the_options_of_h5stz_is_kept(fill, before, options, tmp_path):
    array = FIELD.copy()
    array[::7, ::3] = fill
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=array, chunks=array.shape, **h5stz.STZ(fill_value=fill, dtype=array.dtype, **before))
    assert outcomes(tmp_path / "a.h5", again=True, **options)[0] == {"/x": None}
    with h5py.File(tmp_path / "new.h5") as file:
        assert exact.same_bits(file["x"][::7, ::3], array[::7, ::3])
        assert h5stz.STZ.from_dataset(file["x"]).get_config()["fill_value"] == fill


def test_missing_values_that_the_type_cannot_hold(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["i"] = np.arange(10000, dtype="i2").reshape(100, 100) % 5
        file["i"].attrs["missing_value"] = 1e20
        file["c"] = FIELD.astype("c8")
        file["c"].attrs["_FillValue"] = np.float32(280)
        file["b"] = FIELD > 280
        file["b"].attrs["_FillValue"] = np.int8(-1)
    assert outcomes(tmp_path / "a.h5", absolute=0.4, integers="lossy")[0] == {"/i": None, "/c": None, "/b": None}
    with h5py.File(tmp_path / "a.h5") as before, h5py.File(tmp_path / "new.h5") as after:
        assert exact.same_bits(before["b"][...], after["b"][...]) and exact.same_bits(before["i"][...], after["i"][...])


def test_enumerations_are_exact_even_if_integers_are_not(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        kind = h5py.enum_dtype({"rain": 0, "snow": 1, "hail": 2, "sun": 3, "fog": 4}, "i4")
        file.create_dataset("x", data=np.random.default_rng(1).integers(0, 5, (100, 100)), dtype=kind)
        file["i"] = np.random.default_rng(2).integers(0, 1000, (100, 100), dtype="i4")
    outcomes(tmp_path / "a.h5", absolute=2, integers="lossy")
    with h5py.File(tmp_path / "a.h5") as before, h5py.File(tmp_path / "new.h5") as after:
        assert exact.same_bits(before["x"][...], after["x"][...]) and h5py.check_enum_dtype(after["x"].dtype)
        assert 0 < np.abs(before["i"][...] - after["i"][...]).max() <= 2


def test_coordinates_are_found_by_every_name(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        group = file.create_group("a/b")
        for name in ("first", "second", "third", "fourth", "fifth", "sixth"):
            file[name] = FIELD
        file["flags"] = np.round(FIELD)
        file["flags"].attrs["flag_values"] = [279.0, 280.0]
        for name, dataset in (("T", group), ("U", file), ("V", file)):
            dataset[name] = FIELD
        group["lat"], group["lon"] = file["first"], h5py.SoftLink("/second")
        group["T"].attrs["coordinates"] = "lat lon third"
        file["U"].attrs["coordinates"] = np.array(["/fourth"], object)
        file.attrs["coordinates"] = np.bytes_("fifth")
        file.attrs["axes"] = ["sixth", "."]
    reasons, _ = outcomes(tmp_path / "a.h5", relative=1e-3)
    assert {path for path, reason in reasons.items() if reason is None} == {"/a/b/T", "/U", "/V"}


def test_rules_are_about_every_name_of_a_dataset(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = FIELD
        file["res/mask"] = file["x"]
    reasons, _ = outcomes(tmp_path / "a.h5", Rule("/res/mask", None), absolute=1)
    assert list(reasons.values()) == ["not chosen"]
    with pytest.raises(h5stz.StzError, match="no dataset has a path like '/res/msk'"):
        outcomes(tmp_path / "a.h5", Rule("/res/msk", None), absolute=1)


def test_external_data_are_never_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # from where HDF5 seeks them
    raw = tmp_path / "raw"
    raw.write_bytes(FIELD.tobytes())
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["type"] = np.dtype("f4")
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_external(b"raw", 0, FIELD.nbytes)
        h5py.h5d.create(file.id, b"x", file["type"].id, h5py.h5s.create_simple(FIELD.shape), properties)
    before = raw.stat().st_mtime_ns
    assert outcomes(tmp_path / "a.h5", absolute=1)[0] == {"/x": "layout"}
    assert (raw.read_bytes(), raw.stat().st_mtime_ns) == (FIELD.tobytes(), before)
    (tmp_path / "elsewhere").mkdir()
    report = h5stz.repack(tmp_path / "a.h5", tmp_path / "elsewhere/b.h5", absolute=1)
    assert len(report.notes) == 1 and "raw" in report.notes[0]


@needs_packages("netCDF4")
def test_named_types_stay_named(tmp_path):
    import netCDF4

    with netCDF4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("y", 100), file.createDimension("x", 100)
        kind = file.createEnumType(np.uint8, "cloud", {"clear": 0, "cb": 1, "missing": 255})
        file.createVariable("c", kind, ("y", "x"), fill_value=255)[:] = np.random.default_rng(1).integers(0, 2, (100, 100))
    outcomes(tmp_path / "a.nc", relative=1e-3)
    with netCDF4.Dataset(tmp_path / "new.h5") as file:
        assert file["c"].datatype.enum_dict == {"clear": 0, "cb": 1, "missing": 255} and list(file.enumtypes) == ["cloud"]


def test_other_filters_stay_when_this_one_goes(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=FIELD, chunks=FIELD.shape, fletcher32=True, **h5stz.STZ(lossless=True))
    h5stz.unpack(tmp_path / "a.h5", tmp_path / "b.h5")
    with h5py.File(tmp_path / "b.h5") as file:
        assert exact.same_bits(file["x"][...], FIELD) and file["x"].fletcher32


@pytest.fixture
def path(tmp_path):
    """A file to be replaced."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["x"] = FIELD
    return path


def test_links_and_permissions(path, tmp_path):
    path.chmod(0o640)
    (tmp_path / "link.h5").symlink_to("a.h5")
    h5stz.repack(tmp_path / "link.h5", tmp_path / "link.h5", absolute=1, overwrite=True)
    assert (tmp_path / "link.h5").is_symlink() and path.stat().st_mode & 0o777 == 0o640
    h5stz.repack(path, tmp_path / "b.h5", lossless=True)
    assert (tmp_path / "b.h5").stat().st_mode & 0o777 == 0o640
    os.link(path, tmp_path / "hard.h5")
    with pytest.raises(h5stz.StzError, match="hard links"):
        h5stz.repack(path, path, lossless=True, overwrite=True)


def test_what_is_no_file(path, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(h5stz.StzError, match="regular"):
        h5stz.repack(path, tmp_path / "pipe", absolute=1, overwrite=True)


def test_files_that_are_written(path):
    with h5py.File(path, "r+"), pytest.raises(h5stz.StzError, match="open for writing"):
        h5stz.repack(path, path, absolute=1, overwrite=True)


def test_files_that_change_meanwhile(path, tmp_path):
    def change(*_):
        os.utime(path, (1, 1))

    with pytest.raises(h5stz.StzError, match="was changed"):
        h5stz.repack(path, path, absolute=1, overwrite=True, progress=change)

    def make(*_):
        (tmp_path / "b.h5").write_bytes(b"precious")

    with pytest.raises(FileExistsError, match="created meanwhile"):
        h5stz.repack(path, tmp_path / "b.h5", absolute=1, progress=make)
    assert (tmp_path / "b.h5").read_bytes() == b"precious"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.h5", "b.h5"]


def test_a_process_that_is_killed(path, tmp_path):
    before = path.read_bytes()
    script = "import h5stz, os, signal, sys\nkill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
    script += "h5stz.repack(sys.argv[1], sys.argv[1], absolute=1, overwrite=True, progress=kill)"
    done = subprocess.run([sys.executable, "-c", script, path])
    assert done.returncode < 0 and path.read_bytes() == before


@needs_packages("hdf5plugin")
def test_filters_of_hdf5plugin_are_read(tmp_path):
    """In a process that has not imported it."""
    import hdf5plugin

    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=FIELD, **hdf5plugin.Zstd())
    command = [sys.executable, "-m", "h5stz", "compress", tmp_path / "a.h5", tmp_path / "b.h5", "--absolute", "0.5"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.startswith("/x: 40000 ->")
    with h5py.File(tmp_path / "b.h5") as file:
        assert exact.largest_error(FIELD, file["x"][...], 0.5) <= 1


def test_what_h5py_cannot_copy_is_an_error_in_one_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        odd = h5py.h5t.IEEE_F32LE.copy()
        odd.set_fields(30, 22, 8, 0, 22)
        h5py.h5d.create(file.id, b"odd", odd, h5py.h5s.create_simple((4,)))
        file.create_dataset("nested", (2,), h5py.vlen_dtype(h5py.vlen_dtype("i4")))
    command = [sys.executable, "-m", "h5stz", "compress", tmp_path / "a.h5", tmp_path / "b.h5", "--absolute", "0.5"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:  # h5py may learn to do it
        assert done.returncode == 1 and done.stderr.startswith("h5stz: ") and done.stderr.count("\n") == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.h5"] + ["b.h5"] * (done.returncode == 0)


def test_files_of_the_user_beside_the_new_one_stay(path, tmp_path):
    (tmp_path / "b.h5.part").write_bytes(b"mine")
    h5stz.repack(path, tmp_path / "b.h5", absolute=1)
    assert (tmp_path / "b.h5.part").read_bytes() == b"mine"


@pytest.mark.parametrize("filters", [{"fletcher32": True}, {"fletcher32": True, "shuffle": True}], ids=str)
def test_what_was_read_and_stays_as_it_is(filters, tmp_path):
    """H5Ocopy of HDF5 2.0 wrote past a buffer where a chunk with gzip and fletcher32 was still in HDF5's cache."""
    noise = np.resize(np.random.default_rng(0).integers(0, 2**32, 4099, "u4"), (64, 64, 64)).view("f4")  # gzip finds repeats
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("a", data=noise, chunks=(32, 64, 64), compression="gzip", **filters)
    code = f"import h5stz\nprint(h5stz.repack({str(tmp_path / 'x.h5')!r}, 'y.h5', lossless=True).outcomes[0].reason)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "larger\n"), done.stderr
    with h5py.File(tmp_path / "y.h5") as file:
        assert file["a"][...].tobytes() == noise.tobytes()


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        ({"valid_range": np.array([0, 1], "f4")}, (0, 1)),
        ({"valid_min": 0.0}, (0, np.inf)),
        ({"valid_max": np.int16(1)}, (-np.inf, 1)),
        ({"valid_range": [1.0, 0.0]}, None),
        ({"valid_range": [0.0]}, None),
        ({"valid_min": "0"}, None),
    ],
    ids=str,
)
def test_what_cf_calls_valid_stays_valid(attributes, wanted, tmp_path):
    share = np.clip(random_field((100, 100), 4, 1) / 3, 0, 1).astype("f4")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=share, chunks=share.shape).attrs.update(attributes)
        file.create_dataset("y", data=share - 2, chunks=share.shape).attrs.update(attributes)
    outcomes(tmp_path / "a.h5", absolute=0.1)
    with h5py.File(tmp_path / "new.h5") as file:
        assert h5stz.STZ.from_dataset(file["x"]).get_config().get("valid_range") == wanted
        if wanted:
            assert file["x"][...].min() >= wanted[0] and file["x"][...].max() <= wanted[1]
        assert file["y"][...].max() <= 0 and np.abs(file["y"][...] - (share - 2)).max() <= 0.1

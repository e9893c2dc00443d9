"""`repack` through its users: xarray, netCDF4, ncdump, anndata, h5py. It keeps every bound, and leaves alone what it must."""

import json
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import Rule, cli
from h5stz.files import repack_plan
from h5stz.options import settings
from support import exact, host_tools
from support.fields import load, names, random_field
from support.requirements import needs_packages, needs_programs, require

H5STZ = (sys.executable, "-m", "h5stz")
SMOOTH = random_field((40, 50, 60), 4, 1).astype("f4")


def make(path, **datasets):
    """A file with these datasets, arrays or the arguments of create_dataset."""
    with h5py.File(path, "w") as file:
        for name, given in datasets.items():
            file.create_dataset(name, **(given if isinstance(given, dict) else {"data": given}))
    return path


def reasons(report):
    return {outcome.path: outcome.reason for outcome in report.outcomes}


@needs_packages("xarray", "netCDF4")
@needs_programs("ncdump")
def test_a_climate_file(tmp_path):
    import xarray as xr

    t = 280 + 10 * random_field((10, 60, 80), 4, 1).astype("f4")
    t[:, :5, :5] = 1e20
    station = (("y", "x"), np.linspace(0, 1, 4800).reshape(60, 80))
    flag = (("y", "x"), np.arange(4800, dtype="i4").reshape(60, 80) // 100)
    attributes = {"missing_value": np.float32(1e20), "units": "K", "coordinates": "station"}
    data = xr.Dataset(
        {"t": (("time", "y", "x"), t, attributes), "flag": flag, "station": station},
        {"time": np.arange(10.0), "y": np.arange(60.0), "x": np.arange(80.0)},
    )
    data.to_netcdf(tmp_path / "a.nc", unlimited_dims=["time"])
    report = h5stz.repack(tmp_path / "a.nc", tmp_path / "b.nc", relative=1e-3, jobs=2)
    assert reasons(report) == {
        "/t": None,
        "/flag": None,
        "/station": "coordinate",
        "/time": "small",
        "/y": "small",
        "/x": "small",
    }
    assert report.after < report.before and not report.notes
    before, after = (host_tools.run("ncdump", "-h", tmp_path / f"{name}.nc").partition("\n")[2] for name in "ab")
    assert before == after
    bound = 1e-3 * (float(t[t < 1e19].max()) - float(t[t < 1e19].min()))
    for engine in ("netcdf4", "h5netcdf"):
        with xr.open_dataset(tmp_path / "b.nc", engine=engine, mask_and_scale=False) as made:
            missing = t == np.float32(1e20)
            assert exact.same_bits(made.t.values[missing], t[missing])
            assert exact.largest_error(t[~missing], made.t.values[~missing], bound) <= 1
            for name in ("flag", "station", "time", "y", "x"):
                assert exact.same_bits(made[name].values, data[name].values)


@pytest.mark.parametrize(
    "options", [{"absolute": 0.01}, {"pointwise_relative": 1e-3}, {"psnr": 60}, {"lossless": True}], ids=str
)
@pytest.mark.usefixtures("every_chunk_fitted")
def test_bounds_hold_and_streams_are_those_of_the_filter(options, tmp_path):
    chunks = (32, 32, 64)  # the last ones reach beyond the end
    data = {"data": SMOOTH, "maxshape": (None,) * 3, "fillvalue": 7, "chunks": (5, 50, 60), "compression": "gzip"}
    report = h5stz.repack(make(tmp_path / "a.h5", x=data), tmp_path / "b.h5", rechunk=chunks, jobs=3, **options)
    assert reasons(report) == {"/x": None}
    with h5py.File(tmp_path / "b.h5") as made, h5py.File(tmp_path / "c.h5", "w") as plain:
        filtered = h5stz.STZ(**options, data=SMOOTH, chunks=chunks, fill_value=False)
        plain.create_dataset("x", data=SMOOTH, chunks=chunks, maxshape=(None,) * 3, fillvalue=7, **filtered)
        bound = filtered.resolved.settings.bound
        assert exact.largest_error(SMOOTH, made["x"][...], bound, "pointwise_relative" in options) <= 1
        assert report.outcomes[0].largest_error == np.abs(SMOOTH.astype("f8") - made["x"][...]).max()
        for index in range(made["x"].id.get_num_chunks()):
            offset = made["x"].id.get_chunk_info(index).chunk_offset
            assert made["x"].id.read_direct_chunk(offset) == plain["x"].id.read_direct_chunk(offset)


@pytest.mark.parametrize("dtype", "<f2 >f4 <f8 >f8 <c8 >c16 >i2 u1 bool".split())
def test_types(dtype, tmp_path):
    data = (100 * SMOOTH[:8]).astype(dtype) if dtype != "bool" else SMOOTH[:8] > 0
    report = h5stz.repack(make(tmp_path / "a.h5", x=data), tmp_path / "b.h5", absolute=0.5)
    with h5py.File(tmp_path / "b.h5") as made:
        found = made["x"][...]
        assert reasons(report) == {"/x": None} and found.dtype == data.dtype
        if data.dtype.kind in "iub":
            assert exact.same_bits(found, data)
        else:
            assert exact.largest_error(data, found, 0.5) <= 1


@pytest.mark.parametrize("name", names())
def test_fields(name, tmp_path):
    field = load(name)
    path = make(tmp_path / "a.h5", x=field.array)
    if field.fill is not None:
        with h5py.File(path, "a") as file:
            file["x"].attrs["_FillValue"] = field.array.dtype.type(field.fill)
    h5stz.repack(path, tmp_path / "b.h5", [Rule("x", {"relative": 1e-3})])
    bound = 1e-3 * (float(field.array[field.valid].max()) - float(field.array[field.valid].min()))
    with h5py.File(tmp_path / "b.h5") as made:
        found = made["x"][...]
        assert exact.same_bits(found[~field.valid], field.array[~field.valid])
        if field.array.dtype.kind == "f":
            assert exact.largest_error(field.array[field.valid], found[field.valid], bound) <= 1


def test_what_is_left_alone(tmp_path):
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 4), "u1").view("f4")[..., 0]
    path = make(
        tmp_path / "a.h5",
        field=SMOOTH,
        line=np.arange(5000.0),
        scale=SMOOTH[0],
        short=SMOOTH[0, :3],
        noise=np.where(np.isfinite(noise), noise, 1).astype("f4"),
        text=np.array([b"abc"] * 5000),
        again={"data": SMOOTH, **h5stz.STZ(absolute=0.1)},
        two=SMOOTH,
        empty=np.zeros((0, 5)),
        nothing=np.full((40, 50), np.nan),
    )
    with h5py.File(path, "a") as file:
        file["scale"].make_scale("s")
        file["two"].attrs["_FillValue"], file["two"].attrs["missing_value"] = np.float32(1), np.float32(2)
        file["two"][0, 0, :4] = 1, 2, 1, 2
        layout = h5py.VirtualLayout(SMOOTH.shape, "f4")
        layout[...] = h5py.VirtualSource(file["field"])
        file.create_virtual_dataset("virtual", layout)
    expected = {
        "/field": None,
        "/line": "one axis",
        "/scale": "coordinate",
        "/short": "small",
        "/noise": "larger",
        "/text": "type",
        "/again": "compressed with loss",
        "/two": "missing values",
        "/empty": "small",
        "/nothing": "nothing valid",
        "/virtual": "layout",
    }
    report = h5stz.repack(path, tmp_path / "b.h5", [Rule("noise", {"absolute": 0.0})], relative=1e-3)
    assert reasons(report) == expected and set(filter(None, expected.values())) < set(repack_plan.REASONS)
    with h5py.File(path) as before, h5py.File(tmp_path / "b.h5") as after:
        for name, reason in expected.items():
            assert before[name].attrs.keys() == after[name].attrs.keys()
            if reason not in (None, "layout"):  # the virtual dataset shows a compressed one now
                assert exact.same_bits(before[name][...], after[name][...])
    named = [Rule("line", {"lossless": True}), Rule("/scale", {"absolute": 1.0}), Rule("*", None)]
    assert {path for path, reason in reasons(h5stz.repack(path, tmp_path / "c.h5", named)).items() if not reason} == {
        "/line",
        "/scale",
    }


def test_a_file_is_replaced_when_the_new_one_is_right(tmp_path, monkeypatch):
    path = make(tmp_path / "a.h5", x=SMOOTH)
    with pytest.raises(FileExistsError, match="overwrite"):
        h5stz.repack(path, path, absolute=0.01)
    before = path.read_bytes()
    encode = settings.Settings.encode
    with monkeypatch.context() as broken, pytest.raises(h5stz.StzError, match=r"/x\[.*bound"):
        broken.setattr(settings.Settings, "encode", lambda self, array, *others: encode(self, array + 1, *others))
        h5stz.repack(path, path, absolute=0.01, overwrite=True)
    assert path.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == ["a.h5"]
    h5stz.repack(path, path, absolute=0.01, overwrite=True)
    assert path.stat().st_size < len(before) and [each.name for each in tmp_path.iterdir()] == ["a.h5"]


def test_progress_ends_with_everything(tmp_path):
    told = []
    path = make(tmp_path / "a.h5", x=SMOOTH, y=np.arange(3), z=SMOOTH[:8])
    h5stz.repack(path, tmp_path / "b.h5", absolute=0.01, progress=lambda *each: told.append(each))
    done = [each[1] for each in told]
    assert done == sorted(done) and told[-1][1] == told[-1][2] > 0 and {each[0] for each in told} == {"/x", "/y", "/z"}


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({}, "bound"),
        ({"absolut": 1}, "absolute"),
        ({"absolute": -1}, "absolute"),
        ({"absolute": 1, "jobs": 0}, "jobs"),
        ({"absolute": 1, "chunks": (8, 8, 8)}, "rechunk"),
        ({"absolute": 1, "rechunk": (3,)}, "axes of /x"),
        ({"absolute": 1, "psnr": 3}, "exactly one|one bound"),
    ],
    ids=str,
)
def test_wrong_calls(arguments, message, tmp_path):
    path = make(tmp_path / "a.h5", x=SMOOTH)
    with pytest.raises((h5stz.StzError, TypeError), match=message):
        h5stz.repack(path, tmp_path / "b.h5", **arguments)
    assert [each.name for each in tmp_path.iterdir()] == ["a.h5"]


@needs_packages("anndata", "scipy")
def test_sparse_matrices_of_anndata(tmp_path):
    import anndata
    import scipy.sparse

    matrix = scipy.sparse.random(400, 300, 0.2, "csr", np.float32, np.random.default_rng(1))
    anndata.AnnData(matrix, layers={"dense": SMOOTH.reshape(400, 300)}).write_h5ad(tmp_path / "a.h5ad")
    h5stz.repack(tmp_path / "a.h5ad", tmp_path / "b.h5ad", absolute=2)
    made = anndata.read_h5ad(tmp_path / "b.h5ad")
    assert (made.X != matrix).nnz == 0 and np.abs(made.layers["dense"] - SMOOTH.reshape(400, 300)).max() <= 2


@needs_packages("anndata", "scipy")
def test_records_of_anndata_stay_as_they_are(tmp_path):
    """What the recipe says: options for all arrays are refused for records, a finished file is compressed."""
    import anndata

    cells = anndata.AnnData(SMOOTH.reshape(400, 300))
    cells.uns["ranks"] = np.ones(50, [("gene", "i4"), ("score", "f4")])
    with pytest.raises(Exception, match="cannot compress a compound type"):
        cells.write_h5ad(tmp_path / "no.h5ad", **h5stz.STZ(absolute=1e-3))
    cells.write_h5ad(tmp_path / "a.h5ad")
    h5stz.repack(tmp_path / "a.h5ad", tmp_path / "b.h5ad", absolute=2)
    made = anndata.read_h5ad(tmp_path / "b.h5ad")
    assert np.array_equal(made.uns["ranks"], cells.uns["ranks"]) and 0 < np.abs(made.X - cells.X).max() <= 2


def test_the_command(tmp_path):
    path = make(tmp_path / "a.h5", t=SMOOTH, u=SMOOTH, keep=SMOOTH)
    rules = ["--dataset", "keep=none", "--dataset", "/u*=absolute:0.5"]
    printed = host_tools.run(*H5STZ, "compress", path, tmp_path / "b.h5", *rules, "--relative", "1e-3", "--jobs", "2")
    lines = dict(line.split(": ", 1) for line in printed.splitlines())
    assert "absolute=0.5" in lines["/u"] and "ratio" in lines["file"]
    assert lines["/keep"] == "copied unchanged (no rule matches it)"
    with h5py.File(tmp_path / "b.h5") as made:
        assert exact.largest_error(SMOOTH, made["u"][...], 0.5) <= 1
        assert exact.same_bits(SMOOTH, made["keep"][...])
    shown = json.loads(host_tools.run(*H5STZ, "repack", path, tmp_path / "c.h5", "--lossless", "--json"))
    assert [each["reason"] for each in shown["outcomes"]] == [None] * 3 and shown["before"] == path.stat().st_size


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "give a bound"),
        (["--relative", "1e-3", "--absolute", "1"], "one"),
        (["--dataset", "t"], "GLOB=absolute"),
        (["--dataset", "t=absolute:x"], "not a number"),
        (["--relative", "1e-3", "--chunks", "x"], "8,256,256"),
        (["--absolute", "1", "--effort", "10"], "effort"),
    ],
    ids=str,
)
def test_wrong_commands(words, message, tmp_path):
    path = make(tmp_path / "a.h5", t=SMOOTH)
    assert message in host_tools.run(*H5STZ, "compress", path, tmp_path / "b.h5", *words, succeed=False)
    assert not (tmp_path / "b.h5").exists()


@pytest.mark.parametrize("command", ["compress", "decompress"])
@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("/run/sst_mean", "there are /run/sst, /run/t, /run/plain and 1 more"),
        ("nothing", "there are /n, /run/plain, /run/sst, /run/t"),
        ("/x*", "there are /n, /run/plain, /run/sst, /run/t"),
        ("/run", ". But /run is a group"),
        ("/link", ". But /link is a link to /run/sst: name that"),
    ],
)
def test_a_pattern_that_means_nothing(tmp_path, capsys, command, pattern, said):
    """It is an error, and no file is made."""
    path = make(tmp_path / "a.h5", n=np.arange(5), **{f"run/{name}": SMOOTH for name in ("plain", "sst", "t")})
    with h5py.File(path, "a") as file:
        file["link"] = h5py.SoftLink("/run/sst")
    h5stz.repack(path, tmp_path / "b.h5", [h5stz.Rule("/run/plain", None)], absolute=0.01)
    given = f"{pattern}=lossless" if command == "compress" else pattern
    assert cli.main([command, str(tmp_path / "b.h5"), str(tmp_path / "c.h5"), "--dataset", given]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith(f"h5stz: no dataset has a path like {pattern!r}: there are ") and said in printed.err
    assert printed.err.count("\n") == 1 and not printed.out and not (tmp_path / "c.h5").exists()


def test_a_pattern_that_means_nothing_compressed(tmp_path, capsys):
    path = make(tmp_path / "a.h5", n=np.arange(5), x=SMOOTH)
    for words, said in (
        ([], "nothing was compressed with h5stz\n"),
        (["x"], "nothing of what x names was compressed with h5stz\n"),
    ):
        words = ["--dataset", *words] if words else []
        assert cli.main(["decompress", str(path), str(tmp_path / "b.h5"), "--overwrite", *words]) == 0
        assert capsys.readouterr().out == said


@pytest.mark.parametrize("deflate", [[], ["--deflate", "4"]], ids=str)
def test_without_the_filter(deflate, tmp_path):
    """What `decompress` writes is read by an h5dump that has no plug-in, and has the bits of the compressed file."""
    require(needs_programs("h5dump"))
    path = make(tmp_path / "a.h5", t=SMOOTH, n=np.arange(5), other={"data": SMOOTH, "compression": "gzip"})
    h5stz.repack(path, tmp_path / "b.h5", absolute=0.01)
    printed = host_tools.run(*H5STZ, "decompress", tmp_path / "b.h5", tmp_path / "c.h5", *deflate)
    assert printed.splitlines() == ["/other: stored without h5stz", "/t: stored without h5stz"]
    with h5py.File(tmp_path / "b.h5") as before, h5py.File(tmp_path / "c.h5") as after:
        for name in before:
            assert exact.same_bits(before[name][...], after[name][...])
        assert after["t"].compression == ("gzip" if deflate else None) and after["t"].chunks == before["t"].chunks
    dumped = subprocess.run(
        ["h5dump", "-d", "t", tmp_path / "c.h5"], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True
    )
    assert "(39,49,59)" in dumped.stdout or "(39,49,5" in dumped.stdout
    with pytest.raises(FileExistsError):
        h5stz.unpack(tmp_path / "b.h5", tmp_path / "c.h5")
    assert h5stz.unpack(tmp_path / "b.h5", tmp_path / "c.h5", dataset="/n*", overwrite=True) == ([], [])
    with pytest.raises(h5stz.StzError, match="deflate"):
        h5stz.unpack(tmp_path / "b.h5", tmp_path / "d.h5", deflate=10)


@pytest.mark.parametrize("bound", [{"absolute": 1e-3}, {"relative": 1e-3}, {"psnr": 60}], ids=str)
def test_options_beside_the_bound_are_kept(tmp_path, bound):
    field = random_field((40, 50, 60), 4, 1).astype("f4")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = field
    options = {"layers": 2, "block": "region", "effort": 2}
    h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", **bound, **options)
    with h5py.File(tmp_path / "b.h5") as file:
        found = h5stz.STZ.from_dataset(file["x"]).get_config()
        assert {name: found[name] for name in options} == options
        assert len(h5stz.view(file["x"]).layer_errors()) == 2

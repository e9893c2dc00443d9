"""Enhancement through its clients: command line, h5repack, xarray, zarr, files whose layers are left out."""

import shlex
import subprocess

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support import exact, host_tools
from support.requirements import needs_packages, needs_programs

EDGE = 40
BOUND = 0.1


def noisy(seed=1):
    """A smooth field with noise of half a bound, whose filter pays."""
    x = np.linspace(0, 9, EDGE)
    noise = np.random.default_rng(seed).standard_normal((EDGE, EDGE, EDGE))
    return (np.sin(x)[:, None, None] * np.sin(x)[:, None] * np.sin(x) + 0.05 * noise).astype("f4")


@pytest.fixture
def file(tmp_path):
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["rho"] = noisy()
    return tmp_path / "in.h5"


def chunk_info(dataset):
    return h5stz.info(dataset.id.read_direct_chunk((0,) * dataset.ndim)[1])


@pytest.mark.parametrize(("kind", "relaxed"), [("strict", False), ("relaxed", True), ("both", True)])
def test_compress_and_info(capsys, file, kind, relaxed):
    out = file.with_name("out.h5")
    assert cli.main(["compress", str(file), str(out), "--absolute", str(BOUND), "--enhance", kind]) == 0
    with h5py.File(out) as made:
        assert h5stz.STZ.from_dataset(made["rho"]) == h5stz.STZ(absolute=BOUND, enhance=kind)
        info = chunk_info(made["rho"])
        errors = np.abs(made["rho"][...].astype("f8") - noisy())
    assert info.enhanced == relaxed
    assert errors.max() <= info.relaxed_bound <= 1.5 * BOUND
    assert (errors.max() > BOUND) == relaxed
    capsys.readouterr()
    assert cli.main(["info", str(out)]) == 0
    assert (f"enhanced: errors up to {info.relaxed_bound:.6g}" in capsys.readouterr().out) == relaxed


def test_a_wanted_psnr(capsys, file):
    for name, words in (("plain", ()), ("enhanced", ("--enhance", "auto"))):
        assert cli.main(["compress", str(file), str(file.with_name(name)), "--psnr", "36", *words]) == 0
    with h5py.File(file.with_name("plain")) as plain, h5py.File(file.with_name("enhanced")) as enhanced:
        assert exact.psnr(noisy(), enhanced["rho"][...]) >= 36
        assert enhanced["rho"].id.get_storage_size() < 0.95 * plain["rho"].id.get_storage_size()
    assert cli.main(["estimate", str(file), "--psnr", "36", "--enhance", "auto"]) == 0
    assert "psnr=36" in capsys.readouterr().out


def test_auto_needs_a_psnr_or_a_ratio(capsys, file):
    assert cli.main(["compress", str(file), str(file.with_name("out.h5")), "--absolute", "1", "--enhance", "auto"]) != 0
    message = capsys.readouterr().err
    assert "strict" in message and "relaxed" in message
    assert not file.with_name("out.h5").exists()


@needs_programs("h5repack", "h5dump")
@pytest.mark.parametrize("kind", ["strict", "both"])
def test_tools_of_hdf5(capsys, file, kind):
    assert cli.main(["args", f"absolute={BOUND},enhance={kind}"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("h5repack")]
    words = shlex.split(line.replace("IN.h5", str(file)).replace("OUT.h5", str(file.with_name("out.h5"))))
    environment = host_tools.environment()
    subprocess.run([*words[:-2], "-l", f"rho:CHUNK={EDGE}x{EDGE}x{EDGE}", *words[-2:]], env=environment, check=True)
    with h5py.File(file.with_name("out.h5")) as made:
        decoded = made["rho"][...]
        assert chunk_info(made["rho"]).enhanced == (kind == "both")
    assert np.abs(decoded.astype("f8") - noisy()).max() <= BOUND * (1 if kind == "strict" else 1.5)
    dumped = file.with_name("dumped.bin")
    subprocess.run(
        ["h5dump", "-d", "/rho", "-b", "LE", "-o", dumped, file.with_name("out.h5")],
        env=environment,
        check=True,
        capture_output=True,
    )
    assert exact.same_bits(np.fromfile(dumped, "<f4").reshape(decoded.shape), decoded)


@needs_packages("xarray", "h5netcdf")
def test_xarray(tmp_path):
    import xarray

    dataset = xarray.Dataset({"rho": (("z", "y", "x"), noisy())})
    encoding = h5stz.xarray_encoding(dataset, absolute=BOUND, enhance="both")
    dataset.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", encoding=encoding)
    with h5py.File(tmp_path / "a.nc") as file:
        assert h5stz.STZ.from_dataset(file["rho"]).resolved.settings.largest_error == 1.5 * BOUND
        decoded = file["rho"][...]
    assert BOUND < np.abs(decoded.astype("f8") - noisy()).max() <= 1.5 * BOUND
    with xarray.open_dataset(tmp_path / "a.nc", engine="h5stz") as read:
        assert exact.same_bits(read["rho"][3:20, ::3, 7].values, decoded[3:20, ::3, 7])


@needs_packages("zarr", "numcodecs")
def test_zarr():
    import zarr

    from h5stz.zarr import StzCodec

    codec, store = StzCodec(absolute=BOUND, enhance="relaxed"), {}
    array = zarr.create_array(store, data=noisy(), chunks=(EDGE, EDGE, EDGE), serializer=codec, compressors=None)
    assert zarr.open_array(store, mode="r").serializer.to_dict() == codec.to_dict()
    decoded = array[...]
    assert h5stz.info(store["c/0/0/0"].to_bytes()).enhanced
    assert BOUND < np.abs(decoded.astype("f8") - noisy()).max() <= 1.5 * BOUND
    assert exact.same_bits(zarr.open_array(store, mode="r")[5:9, 30, ::7], decoded[5:9, 30, ::7])


def test_layers_are_left_out_of_strict_streams(file):
    layered, preview, bound = file.with_name("layered.h5"), file.with_name("preview.h5"), BOUND / 100
    h5stz.repack(file, layered, absolute=bound, layers=3, enhance="strict")
    with h5py.File(layered) as made:
        assert np.abs(made["rho"][...].astype("f8") - noisy()).max() <= bound
        error = h5stz.view(made["rho"]).layer_errors()[0]
    h5stz.repack(layered, preview, max_error=error)
    with h5py.File(preview) as made:
        assert np.abs(made["rho"][...].astype("f8") - noisy()).max() <= error
        assert chunk_info(made["rho"]).layers[-1].max_error <= error

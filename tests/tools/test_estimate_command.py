"""`h5stz estimate` and `compress --ratio`: what they expect is what compressing gives."""

import json

import h5py
import numpy as np
import pytest

import h5stz
from support.commands import run
from support.fields import random_field


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("estimate") / "fields.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("run/rho", data=random_field((48, 40, 44), 5, 1).astype("f4"), chunks=(48, 40, 44))
        file["counts"] = np.arange(9000, dtype="i4").reshape(90, 100)
        file["time"] = np.arange(30.0)
    return path


def test_the_grid_of_all_datasets(path):
    done = run("estimate", path)
    assert done.status == 0, done.err
    lines = done.out.splitlines()
    said = [line for line in lines if line.startswith("/")]
    assert [line.split()[0] for line in said if "not estimated" not in line] == ["/counts", "/run/rho"]
    assert "/time: not estimated, as compress copies it unchanged (less than 4096 bytes)" in said
    rows = [line for line in lines if "may change the sign" not in line]
    assert all(sum(f"relative={bound}" in line for line in rows) == 2 for bound in (0.1, 0.01, 0.001, 0.0001, 1e-05))


@pytest.mark.parametrize("words", [("--relative", 1e-3), ("--absolute", 0.01), ("--ratio", 20), ("--psnr", 70)], ids=str)
def test_it_is_what_compress_makes(path, tmp_path, words):
    (found,) = json.loads(run("estimate", f"{path}::/run/rho", *words, "--json").out)["datasets"]
    assert found["path"] == "/run/rho"
    assert found["seconds"] > 0
    if words[0] != "--psnr":  # whose bound compress finds with the codec, within 0.7 dB
        assert run("compress", path, tmp_path / "made.h5", "--dataset", f"/run/rho={words[0][2:]}:{words[1]}").status == 0
        with h5py.File(tmp_path / "made.h5") as file:
            stored = file["run/rho"].id.get_storage_size()
            bound = h5stz.STZ.from_dataset(file["run/rho"]).bound
        assert stored == pytest.approx(found["bytes"], rel=0.04 if words[0] == "--ratio" else 0)
        assert bound == pytest.approx(found["bound"], rel=0.2 if words[0] == "--ratio" else 0)
        assert words[0] != "--ratio" or 20 <= found["array_bytes"] / stored <= 20.6


@pytest.fixture
def odd(tmp_path):
    """Datasets between two good ones that have no bound of every kind, and one with a damaged chunk."""
    path, field = tmp_path / "odd.h5", random_field((64, 64), 5, 1).astype("f4")
    with h5py.File(path, "w") as file:
        file["a"] = file["z"] = field
        file["huge"] = np.where(field > 0, 1.7e308, -1.7e308) * (1 - 1e-3 * np.abs(field))
        file["nan"] = np.full_like(field, np.nan)
        damaged = file.create_dataset("gz", data=field, chunks=(32, 64), compression="gzip")
        damaged.id.write_direct_chunk((32, 0), b"no gzip")
    return path


@pytest.mark.parametrize(
    ("words", "estimated", "skipped", "failed"),
    [
        (("--absolute", 1e-3), ["/a", "/huge", "/nan", "/z"], {}, ["/gz"]),
        (("--lossless",), ["/a", "/huge", "/nan", "/z"], {}, ["/gz"]),
        (("--pointwise-relative", 1e-3), ["/a", "/huge", "/nan", "/z"], {}, ["/gz"]),
        (("--relative", 1e-3), ["/a", "/z"], {"/huge": "range", "/nan": "nothing valid"}, ["/gz"]),
        ((), ["/a", "/z"], {"/huge": "range", "/nan": "nothing valid"}, ["/gz"]),
        (("--psnr", 60), ["/a", "/nan", "/z"], {"/huge": "range"}, ["/gz"]),
        (("--ratio", 2), ["/a", "/nan", "/z"], {"/huge": "range"}, ["/gz"]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_it_goes_on_after_a_dataset_that_cannot_be_estimated(odd, words, estimated, skipped, failed):
    done = run("estimate", odd, *words, "--json")
    told = json.loads(done.out)
    assert {each["path"] for each in told["datasets"]} == set(estimated)
    assert {each["path"]: each["reason"] for each in told["skipped"]} == skipped
    assert {each["path"] for each in told["failed"]} == set(failed)
    assert done.status == 1 and len(done.err.splitlines()) == len(failed)
    assert all(any(f"{path} " in line and str(odd) in line for line in done.err.splitlines()) for path in failed)
    assert f"or h5stz extract {odd}::/gz --region INDICES reads what is in other chunks" in done.err
    said = run("estimate", odd, *words)
    assert said.status == 1 and said.err == done.err
    assert {line.split()[0].rstrip(":") for line in said.out.splitlines() if line.startswith("/")} == {*estimated, *skipped}


def test_a_range_that_exceeds_float64(odd, tmp_path):
    """Bounds that do not refer to it hold, with the PSNR that follows; compress says why it keeps what it keeps."""
    array = random_field((64, 64), 5, 1)
    array[3, 4], array[20, 50] = 1.7e308, -1.7e308  # their chunk is stored exactly, the other one is not
    found = h5stz.estimate(array, absolute=1e-3, chunks=(32, 64))
    decoded = np.concatenate([h5stz.decompress(h5stz.compress(part, absolute=1e-3)) for part in np.split(array, 2)])
    square = np.mean((decoded - array) ** 2)
    assert square > 0 and found.rmse == pytest.approx(np.sqrt(square))
    assert found.psnr == pytest.approx(20 * (np.log10(1.7) + np.log10(2) + 308) - 10 * np.log10(square))
    assert h5stz.estimate(array, lossless=True).psnr == np.inf
    found = h5stz.estimate(array, pointwise_relative=1e-3)
    assert np.isnan(found.psnr) and found.rmse == np.inf, "float64 does not hold the square of such an error"
    done = run("compress", odd, tmp_path / "out.h5", "--relative", 1e-3, "--dataset", "/gz=none")
    assert done.status == 0, done.err
    reason = "its range, or its range times relative, exceeds float64: compress it with absolute or lossless"
    assert f"/huge: copied unchanged ({reason})" in done.out

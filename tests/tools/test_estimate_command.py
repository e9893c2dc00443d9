"""`h5stz estimate` and `compress --ratio`: what they expect is what compressing gives."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support.fields import random_field


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("estimate") / "fields.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("run/rho", data=random_field((48, 40, 44), 5, 1).astype("f4"), chunks=(48, 40, 44))
        file["counts"] = np.arange(9000, dtype="i4").reshape(90, 100)
        file["time"] = np.arange(30.0)
    return path


def call(*words):
    return subprocess.run([sys.executable, "-m", "h5stz", *map(str, words)], capture_output=True, text=True, timeout=120)


def test_the_grid_of_all_datasets(path):
    done = call("estimate", path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    said = [line for line in lines if line.startswith("/")]
    assert [line.split()[0] for line in said if "not estimated" not in line] == ["/counts", "/run/rho"]
    assert "/time: not estimated, as compress leaves it as it is (less than 4096 bytes)" in said
    assert all(sum(f"relative={bound}" in line for line in lines) == 2 for bound in (0.1, 0.01, 0.001, 0.0001, 1e-05))


@pytest.mark.parametrize("words", [("--relative", 1e-3), ("--absolute", 0.01), ("--ratio", 20), ("--psnr", 70)], ids=str)
def test_it_is_what_compress_makes(path, tmp_path, words):
    (found,) = json.loads(call("estimate", f"{path}::/run/rho", *words, "--json").stdout)["datasets"]
    assert found["path"] == "/run/rho"
    assert found["seconds"] > 0
    if words[0] != "--psnr":  # whose bound compress finds with the codec, within 0.7 dB
        assert call("compress", path, tmp_path / "made.h5", "--dataset", f"/run/rho={words[0][2:]}:{words[1]}").returncode == 0
        with h5py.File(tmp_path / "made.h5") as file:
            stored = file["run/rho"].id.get_storage_size()
            bound = h5stz.STZ.from_dataset(file["run/rho"]).bound
        assert stored == pytest.approx(found["bytes"], rel=0.04 if words[0] == "--ratio" else 0)
        assert bound == pytest.approx(found["bound"], rel=0.2 if words[0] == "--ratio" else 0)
        assert words[0] != "--ratio" or 20 <= found["array_bytes"] / stored <= 20.6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("::/time",), "less than"),
        (("::/none",), "no dataset"),
        (("", "--ratio", "0.5"), "above 1"),
        (("", "--sample", "0"), "sample"),
    ],
    ids=str,
)
def test_errors_are_one_line(path, words, message):
    done = call("estimate", f"{path}{words[0]}", *words[1:])
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1

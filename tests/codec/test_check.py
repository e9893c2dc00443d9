"""check=True: the same bytes, wherever it is asked for; that it finds what goes wrong is tests/codec/test_faults.py."""

import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import _core
from support import cases, exact

SHAPE = (20, 24, 28)


def with_gaps(array):
    array = array.copy()
    array[3:9, :, ::3] = np.nan
    array[0, :4] = np.array(0x7FC01234, "u4").view("f4")
    array[12, 3, 4:9] = [np.inf, -np.inf, 0.0, -0.0, np.finfo("f4").tiny / 8]
    return array


SMOOTH, ROUGH = cases.make("smooth", SHAPE, "f4"), cases.make("rough", SHAPE, "f8")
INTEGERS = (SMOOTH * 100).astype("i4")
LARGEST = np.array([np.finfo("f8").max, -np.finfo("f8").max, 0, 1e-320] * 900).reshape(40, 90)
KINDS = {
    "absolute": (SMOOTH, {"absolute": 1e-3}),
    "big endian": (ROUGH.astype(">f8"), {"absolute": 1e-6}),
    "float16": (SMOOTH.astype("f2"), {"absolute": 0.1}),
    "complex": (ROUGH + 1j * ROUGH[::-1], {"absolute": 1e-3}),
    "gaps": (with_gaps(SMOOTH), {"absolute": 1e-2, "fill_value": 0.0}),
    "relative to each sample": (np.exp(ROUGH), {"pointwise_relative": 1e-5}),
    "relative, both signs": (with_gaps(SMOOTH), {"pointwise_relative": 1e-2}),
    "relative, as much as half of a sample": (ROUGH, {"pointwise_relative": 0.5}),
    "relative, subnormal": (ROUGH * 1e-320, {"pointwise_relative": 0.3}),
    "the largest numbers": (LARGEST, {"absolute": 1e300}),
    "lossless": (ROUGH, {"lossless": True}),
    "integers": (INTEGERS, {"absolute": 5.5}),
    "lossy integers": (INTEGERS, {"absolute": 5.5, "integers": "lossy", "fill_value": int(INTEGERS[0, 0, 0])}),
    "lossy unsigned": (INTEGERS.astype("u8") << np.uint64(33), {"absolute": 1e10, "integers": "lossy"}),
    "a bound above all integers": (INTEGERS.astype("i8"), {"absolute": 1e30, "integers": "lossy"}),
    "palette": (np.round(SMOOTH), {"absolute": 1e-3}),
    "layers": (SMOOTH, {"absolute": 1e-5, "layers": 3}),
    "layers without loss": (SMOOTH, {"lossless": True, "layers": 2}),
    "layer bounds": (SMOOTH, {"absolute": 1e-5, "layer_bounds": (1e-2, 1e-3)}),
    "strict": (SMOOTH, {"absolute": 1e-2, "enhance": "strict"}),
    "enhanced": (cases.make("rough", (64, 64, 64), "f4"), {"relative": 1e-2, "enhance": "both"}),
    "growing": (np.concatenate([SMOOTH, 0 * SMOOTH]), {"absolute": 1e-3, "append_axis": 0}),
    "content check": (INTEGERS, {"lossless": True, "content_check": True}),
    "threads": (cases.make("smooth", (64, 65, 66), "f4"), {"absolute": 1e-3, "threads": 3}),
    "constant": (np.full(SHAPE, 2.5), {"absolute": 1e-3}),
    "raw": (SMOOTH[0, 0, :5], {"absolute": 1e-3}),
    "scalar": (np.float32(3.25), {"absolute": 1e-3}),
    "empty": (SMOOTH[:0], {"absolute": 1e-3}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_check_does_not_change_bytes(kind):
    array, options = KINDS[kind]
    stream = h5stz.compress(array, check=True, **options)
    assert stream == h5stz.compress(array, **options)
    info = h5stz.info(stream)
    exact.largest_error(
        np.asarray(array), h5stz.decompress(stream), info.relaxed_bound or info.bound, info.mode == "pointwise_relative"
    )


@pytest.mark.parametrize("changed", [slice(0, 0), slice(2, 4), slice(1, 19)], ids=["nothing", "a part", "most"])
@pytest.mark.parametrize("kind", ["absolute", "gaps", "complex", "lossy integers", "layers", "lossless"])
def test_rewrites_are_checked_and_stay_as_they_are(kind, changed):
    array, options = KINDS[kind]
    stream = h5stz.compress(array, **options)
    for _ in range(3):
        array = h5stz.decompress(stream)
        array[changed] = np.roll(array[changed], 1, axis=-1)
        again = h5stz.rewrite(array, stream, check=True, **options)
        assert again == h5stz.rewrite(array, stream, **options)
        stream = again


def test_datasets_keep_it_for_whoever_writes_them(tmp_path):
    path = tmp_path / "checked.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=SMOOTH, chunks=SHAPE, **h5stz.STZ(absolute=1e-3, check=True))
    with h5py.File(path, "r+") as file:
        options = h5stz.STZ.from_dataset(file["x"])
        assert options.get_config() == {"absolute": 1e-3, "check": True}
        assert str(options) == "absolute=0.001,check=yes"
        assert h5stz.STZ(str(options)) == options
        file["x"][2:5] = 7
        assert np.abs(file["x"][:2] - SMOOTH[:2]).max() <= 1e-3


def test_the_command_line_asks_for_it(tmp_path):
    source, target = tmp_path / "plain.h5", tmp_path / "small.h5"
    with h5py.File(source, "w") as file:
        file["x"] = SMOOTH
    words = [sys.executable, "-m", "h5stz", "compress", source, target, "--absolute", "1e-3", "--check"]
    subprocess.run(words, check=True, capture_output=True)
    with h5py.File(target) as file:
        assert h5stz.STZ.from_dataset(file["x"]).get_config()["check"] is True


def test_the_environment_asks_for_it(monkeypatch):
    settings = h5stz.STZ(absolute=1).resolved.settings
    for text, wanted in {"1": 1, "0": 0, "": 0, "yes": 0, "11": 0}.items():
        monkeypatch.setenv("H5STZ_CHECK", text)
        assert settings.to_store().check == wanted == _core.check_of_environment()
    assert h5stz.STZ(absolute=1, check=True).resolved.settings.to_store().check == 1


def test_what_is_no_switch_is_refused():
    with pytest.raises(TypeError, match="check='yes' must be True"):
        h5stz.STZ(absolute=1, check="yes")

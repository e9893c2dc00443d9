"""Golden streams: today's decoder reads those of every format version to the same bits, today's encoder writes the same bytes.

tests/golden/make.py writes them. A change of bytes without a change of the format version is for unreleased versions only.
"""

import importlib.util
import json

import numpy as np
import pytest

import h5stz
from support import cases, exact
from support.paths import GOLDEN

specification = importlib.util.spec_from_file_location("golden_make", GOLDEN / "make.py")
make = importlib.util.module_from_spec(specification)
specification.loader.exec_module(make)

ARRAYS = {
    (folder.name, name): expected
    for folder in sorted(GOLDEN.glob("version_*"))
    for name, expected in json.loads((folder / "arrays.json").read_text()).items()
}
CASES = make.cases()
CURRENT = f"version_{h5stz.FORMAT_VERSION}"


@pytest.mark.parametrize(("version", "name"), ARRAYS)
def test_golden_streams_decode_to_the_same_bits(version, name):
    expected = ARRAYS[version, name]
    decoded = h5stz.decompress((GOLDEN / version / f"{name}.stz").read_bytes())
    assert (decoded.dtype.str, list(decoded.shape)) == (expected["dtype"], expected["shape"])
    assert make.digest(decoded) == expected["sha256"]


@pytest.mark.parametrize(("version", "name"), [key for key, expected in ARRAYS.items() if "layers" in expected])
def test_golden_streams_in_fewer_layers(version, name):
    stream, expected = (GOLDEN / version / f"{name}.stz").read_bytes(), ARRAYS[version, name]["layers"]
    assert [make.digest(make.with_layers(stream, number)) for number in range(1, len(expected) + 1)] == expected
    assert len(set(expected)) == len(expected) == len(h5stz.info(stream).layers) > 1


def test_every_golden_stream_has_its_array():
    for folder in GOLDEN.glob("version_*"):
        assert {path.stem for path in folder.glob("*.stz")} == {name for version, name in ARRAYS if version == folder.name}
    assert {name for version, name in ARRAYS if version == CURRENT} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_encoder_writes_the_same_bytes(name):
    array, options = CASES[name]
    assert make.compress(array, options) == (GOLDEN / CURRENT / f"{name}.stz").read_bytes()


@pytest.mark.parametrize("name", CASES)
def test_the_golden_arrays_keep_their_bound(name):
    array, options = CASES[name]
    cases.keeps(np.asarray(array), **options)


def test_the_golden_streams_are_of_every_form():
    infos = [h5stz.info((GOLDEN / CURRENT / f"{name}.stz").read_bytes()) for name in CASES]
    assert {info.form for info in infos} >= {
        "raw",
        "constant",
        "blocks of fixed-point numbers",
        "blocks of ULP-space numbers",
    } | {"blocks of ranks in a palette"}
    assert {info.dtype.str[1:] for info in infos} == set(make.KINDS)
    assert {info.dtype.str[0] for info in infos} >= {"<", ">"}
    assert {info.mode for info in infos} == {"absolute", "lossless", "pointwise_relative"}
    assert {info.block for info in infos} == {"default", "region"}
    assert max(info.levels for info in infos) > 3


def test_the_arrays_of_golden_streams_are_decoded_as_they_were_made():
    lossless = [name for name in CASES if CASES[name][1].get("lossless")]
    for name in lossless:
        assert exact.same_bits(CASES[name][0], h5stz.decompress((GOLDEN / CURRENT / f"{name}.stz").read_bytes()))

"""Golden streams: written once, and read by every later release to the same bits; what today's encoder writes is known, too.

tests/golden/make.py adds streams. A stream that is there never changes (its hash is in arrays.json of its folder, which git
keeps).
"""

import hashlib
import json

import numpy as np
import pytest

import h5stz
from golden import arrays
from support import cases, exact
from support.paths import GOLDEN

ARRAYS = {
    (folder.name, name): expected
    for folder in sorted(GOLDEN.glob("version_*"))
    for name, expected in json.loads((folder / "arrays.json").read_text()).items()
}
CASES = arrays.cases()
CURRENT = f"version_{h5stz.FORMAT_VERSION}"
ENCODER = json.loads((GOLDEN / "encoder.json").read_text())


def stream_of(version, name):
    return (GOLDEN / version / f"{name}.stz").read_bytes()


@pytest.mark.parametrize(("version", "name"), ARRAYS)
def test_golden_streams_decode_to_the_same_bits(version, name):
    expected = ARRAYS[version, name]
    decoded = h5stz.decompress(stream_of(version, name))
    assert (arrays.dtype_text(decoded.dtype), list(decoded.shape)) == (expected["dtype"], expected["shape"])
    assert arrays.digest(decoded) == expected["sha256"]


@pytest.mark.parametrize(("version", "name"), [key for key, expected in ARRAYS.items() if "layers" in expected])
def test_golden_streams_in_fewer_layers(version, name):
    stream, expected = stream_of(version, name), ARRAYS[version, name]["layers"]
    assert [arrays.digest(arrays.with_layers(stream, number)) for number in range(1, len(expected) + 1)] == expected
    assert len(set(expected)) == len(expected) == len(h5stz.info(stream).layers) > 1


def test_every_golden_stream_has_its_array():
    for folder in GOLDEN.glob("version_*"):
        assert {path.stem for path in folder.glob("*.stz")} == {name for version, name in ARRAYS if version == folder.name}
    assert {name for version, name in ARRAYS if version == CURRENT} >= set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_encoder_writes_the_bytes_that_are_known(name):
    """On every machine. Where the encoder was meant to change, `python tests/golden/make.py --encoder` takes the new ones."""
    assert hashlib.sha256(arrays.compress(*CASES[name])).hexdigest() == ENCODER[name]


def test_every_case_of_the_encoder_is_known():
    assert set(ENCODER) == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_the_golden_arrays_keep_their_bound(name):
    array, options = CASES[name]
    cases.keeps(np.asarray(array), **options)


def test_the_arrays_of_golden_streams_are_decoded_as_they_were_made():
    lossless = [name for name in CASES if CASES[name][1].get("lossless")]
    for name in lossless:
        assert exact.same_bits(CASES[name][0], h5stz.decompress(stream_of(CURRENT, name)))

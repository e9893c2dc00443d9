"""Streams with any offsets, blocks, bounds of levels and lanes: the two decoders and reads of parts give the same bits."""

import subprocess

import numpy as np
import pytest

import h5stz
import reference_decoder
from h5stz import _core
from support import boxes, exact
from support.native import native_program
from support.relaned import relaned
from support.requirements import needs_programs
from support.two_decoders import decoded

pytestmark = needs_programs("g++")


def written(folder, count):
    """So many streams of arrays of random walks, written by the encoder's own parts (tests/native/axis_offsets.cpp)."""
    subprocess.run([native_program("axis_offsets"), str(count), str(folder)], check=True, stdout=subprocess.DEVNULL)
    return [(folder / f"{number}.stz").read_bytes() for number in range(count)]


def compare(streams):
    rng = np.random.default_rng(1)
    for number, stream in enumerate(streams):
        array = decoded(stream)
        with_lanes = relaned(stream, number % 7)
        assert exact.same_bits(decoded(with_lanes), array)
        reader = _core.Reader.of_bytes(with_lanes, 0)
        for _ in range(3):
            request = boxes.random_request(rng, array.shape)
            assert exact.same_bits(boxes.cut(array, *request), boxes.read(reader, array.dtype, *request))


def test_the_streams_have_what_they_should(tmp_path):
    headers = [reference_decoder.read_header(stream) for stream in written(tmp_path, 200)]
    flags = {header.flags for header in headers}
    assert {0, 8, 16, 32, 8 | 16 | 32} <= flags
    assert {len(header.shape) for header in headers} == {1, 2, 3, 4}
    assert max(len(h5stz.info(stream).level_bytes) for stream in written(tmp_path, 20)) > 2


def test_some_streams(tmp_path):
    compare(written(tmp_path, 28))


@pytest.mark.slow
def test_many_streams(tmp_path):
    compare(written(tmp_path, 300))

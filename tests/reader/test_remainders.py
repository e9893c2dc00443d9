"""Partial reads of streams with remainders: every selection has the bits of the array, previews are near."""

import numpy as np
import pytest

import h5stz
import reference_decoder
from golden import arrays
from h5stz import _core
from support import boxes

CASES = {name: case for name, case in arrays.remainder_cases().items() if case[0].dtype.kind == "f"}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("cache", [0, 1 << 20])
def test_every_part_has_the_bits_of_the_array(name, cache):
    array, options = CASES[name]
    stream = arrays.compress(array, options)
    assert "with remainders" in h5stz.info(stream).form
    reader, rng = _core.Reader.of_bytes(stream, cache), np.random.default_rng(1)
    for _ in range(12):
        start, count, step = boxes.random_request(rng, array.shape)
        part = array[tuple(slice(at, at + n * by, by) for at, n, by in zip(start, count, step, strict=True))]
        assert boxes.read(reader, array.dtype, start, count, step).tobytes() == part.tobytes()


def test_a_preview_is_within_one_and_a_half_steps():
    array, options = CASES["remainders_3d"]
    stream = arrays.compress(array, options)
    accepted = 1.5 * reference_decoder.read_header(stream).remainders.step
    preview = reference_decoder.decode(stream, max_error=accepted)
    assert 0 < np.abs(preview - array).max() <= accepted

"""Axis offsets: streams with any of them decode within the bound, the encoder's or not; what the choice is for."""

import subprocess

import numpy as np
import pytest

import h5stz
from support.fields import random_field
from support.native import native_program
from support.requirements import needs_programs


@needs_programs("g++")
@pytest.mark.slow
def test_streams_with_every_axis_offset():
    result = subprocess.run([native_program("axis_offsets")], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    assert result.stdout == "600 streams\n"


@pytest.mark.parametrize("bound", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("shape", [(3, 51, 201), (5, 64, 96), (24, 48, 60)], ids=str)
def test_unrelated_slices_are_no_larger_together_than_apart(shape, bound):
    slices = np.stack([random_field(shape[1:], 6, seed) for seed in range(shape[0])]).astype("f4")
    together = h5stz.compress(slices, absolute=bound)
    assert np.abs(h5stz.decompress(together) - slices.astype("f8")).max() <= bound
    assert len(together) < sum(len(h5stz.compress(one, absolute=bound)) for one in slices)

"""Efforts: what they may change is the size of a stream."""

import h5py
import numpy as np
import pytest

import h5stz
from support.fields import random_field

EFFORTS = range(1, 10)


@pytest.fixture(scope="module")
def field():
    rough = np.random.default_rng(4).standard_normal((48, 50, 52))
    return (random_field(rough.shape, 6, 3) + 0.02 * rough).astype("f4")


@pytest.mark.parametrize("options", [{"absolute": 0.02}, {"lossless": True}, {"pointwise_relative": 0.01}], ids=str)
@pytest.mark.parametrize("effort", EFFORTS)
def test_every_effort_keeps_what_was_asked_for(field, effort, options):
    decoded = h5stz.decompress(h5stz.compress(field, effort=effort, **options))
    allowed = options.get("absolute", options.get("pointwise_relative", 0) * np.abs(field.astype("f8")))
    assert np.all(np.abs(decoded.astype("f8") - field.astype("f8")) <= allowed)


def test_more_effort_is_smaller(field):
    sizes = {effort: len(h5stz.compress(field, absolute=0.02, effort=effort)) for effort in EFFORTS}
    assert sizes[9] < sizes[5] < sizes[3] < sizes[1] < 1.3 * sizes[9]
    assert len(h5stz.compress(field, absolute=0.02)) == sizes[5]


def test_through_hdf5(field, tmp_path):
    """The effort is in the client data, and a stream is the same whoever makes it."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for effort in (1, 9):
            options = h5stz.STZ(absolute=0.02, effort=effort)
            stored = file.create_dataset(f"x{effort}", data=field, chunks=field.shape, **options)
            assert f"effort={effort}" in repr(h5stz.STZ.from_dataset(stored))
            stream = stored.id.read_direct_chunk((0, 0, 0))[1]
            assert bytes(stream) == bytes(h5stz.compress(field, absolute=0.02, effort=effort, fill_value=False))

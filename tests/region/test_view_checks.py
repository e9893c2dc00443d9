"""Content checks in h5stz.view and h5stz.partial_reads: compared if `verify` says so, or else H5STZ_VERIFY at each read."""

from contextlib import contextmanager

import h5py
import numpy as np
import pytest

import h5stz
from support import boxes
from support.patched_streams import with_wrong_check
from support.region_files import opened, same

SHAPE = (96, 90, 100)
FIRST, LAST = np.s_[:30, :30, :30], np.s_[40:, 40:, 40:]  # without and with all of the last block, the one with the wrong check
DIFFERS = "not those that the writer saw"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(path, array) of a dataset of one chunk whose last block has a wrong check."""
    stream, whole = boxes.volume(SHAPE, "region")
    path = tmp_path_factory.mktemp("checks") / "x.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", SHAPE, "f4", chunks=SHAPE, **h5stz.STZ(absolute=1.0))
        dataset.id.write_direct_chunk((0, 0, 0), with_wrong_check(stream))
    return path, whole


@contextmanager
def viewed(dataset, **options):
    yield h5stz.view(dataset, **options)


@contextmanager
def indexed(dataset, **options):
    with h5stz.partial_reads(**options):
        yield dataset


CASES = [("1", None, True), ("1", True, True), ("0", True, True), ("1", False, False), ("0", None, False), ("yes", None, False)]


@pytest.mark.parametrize("how", [{}, {"driver": "core"}, {"mode": "r+", "rdcc_nbytes": 0}], ids=str)
@pytest.mark.parametrize("way", [viewed, indexed])
@pytest.mark.parametrize(("said", "verify", "compared"), CASES)
def test_who_says_whether_they_are_compared(made, monkeypatch, way, how, said, verify, compared):
    path, whole = made
    monkeypatch.setenv("H5STZ_VERIFY", said)
    for cache_bytes in (0, 1 << 26):
        with opened(path, **how) as dataset, way(dataset, verify=verify, cache_bytes=cache_bytes) as array:
            assert same(whole[FIRST], array[FIRST])
            for index in (LAST, ...):
                if compared:
                    with pytest.raises(h5stz.StzError, match=DIFFERS):
                        array[index]
                else:
                    assert same(whole[index], array[index])


@pytest.mark.parametrize("way", [viewed, indexed])
def test_the_environment_is_asked_at_each_read(made, monkeypatch, way):
    path, whole = made
    monkeypatch.delenv("H5STZ_VERIFY", raising=False)
    with opened(path) as dataset, way(dataset) as array:
        array[FIRST]
        monkeypatch.setenv("H5STZ_VERIFY", "1")
        with pytest.raises(h5stz.StzError, match=DIFFERS):
            array[LAST]
        monkeypatch.delenv("H5STZ_VERIFY")
        assert same(whole[LAST], array[LAST])
        monkeypatch.setenv("H5STZ_VERIFY", "1")
        assert same(whole[LAST], array[LAST]), "what was kept is not compared"


def test_verify_of_another_type(made):
    with opened(made[0]) as dataset:
        for call in (lambda: h5stz.view(dataset, verify="yes"), lambda: h5stz.partial_reads(verify=2).__enter__()):
            with pytest.raises(h5stz.StzTypeError, match="verify="):
                call()

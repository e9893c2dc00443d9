"""Floating-point fields in HDF5 files: through h5py, h5dump and the commands, whole, in parts and damaged."""

import subprocess

import h5py
import numpy as np
import pytest

import h5stz
from support import exact
from support.commands import run
from support.host_tools import environment
from support.requirements import needs_programs

SHAPE, CHUNKS = (700, 500), (400, 500)  # two blocks in the first chunk
ARRAY = np.random.default_rng(6).standard_normal(SHAPE).astype("f4")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "noise.h5"
    with h5py.File(path, "w") as made:
        made.create_dataset("x", data=ARRAY, chunks=CHUNKS, **h5stz.STZ(lossless=True))
    return path


def chunk_of(path, number):
    """(address, size) of a chunk."""
    with h5py.File(path) as opened:
        info = opened["x"].id.get_chunk_info(number)
    return info.byte_offset, info.size


def test_h5py_and_views(file):
    with h5py.File(file) as opened:
        assert exact.same_bits(opened["x"][...], ARRAY)
        assert opened["x"].id.get_storage_size() < 0.84 * ARRAY.nbytes
        view = h5stz.view(opened["x"])
        for part in (np.s_[:], np.s_[3:700:9, 77], np.s_[390:410, 1:3], np.s_[5, 5]):
            assert exact.same_bits(np.asarray(view[part]), ARRAY[part])


def test_a_view_decodes_the_blocks_that_it_needs(file):
    with h5py.File(file) as opened:
        view = h5stz.view(opened["x"])
        view[3:5, 100:300]
        assert 0 < view.stats.bytes_read < 0.75 * chunk_of(file, 0)[1]


@needs_programs("h5dump")
def test_h5dump(file, tmp_path):
    words = ["h5dump", "-d", "x", "-b", "LE", "-o", tmp_path / "box", file]
    subprocess.run(words, env=environment(), check=True, capture_output=True)
    assert (tmp_path / "box").read_bytes() == ARRAY.tobytes()


def test_parts_that_are_written_again_without_loss(file):
    changed = ARRAY.copy()
    with h5py.File(file, "r+") as opened:
        opened["x"][10:30, 40:90] = changed[10:30, 40:90] = 7
    with h5py.File(file) as opened:
        assert exact.same_bits(opened["x"][...], changed)


def test_commands(file):
    said = run("info", file)
    assert said.status == 0 and "lossless" in said.out
    assert run("verify", file).status == 0
    address, size = chunk_of(file, 0)
    content = bytearray(file.read_bytes())
    content[address + size - 99] ^= 8
    file.write_bytes(content)
    assert run("verify", file).status != 0
    target = file.with_name("found.h5")
    assert run("salvage", file, target).status != 0
    with h5py.File(target) as opened:
        array = opened["x"][...]
    lost = np.zeros(SHAPE, bool)
    lost.reshape(-1)[1 << 17 : CHUNKS[0] * CHUNKS[1]] = True
    assert np.isnan(array[lost]).all() and exact.same_bits(array[~lost], ARRAY[~lost])


def test_streams_say_their_form():
    info = h5stz.info(h5stz.compress(ARRAY, lossless=True))
    assert info.form == "floating-point fields" and (info.mode, info.levels, info.bound_used) == ("lossless", 1, False)

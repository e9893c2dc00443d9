"""By which route h5stz.view reads a chunk: ranges of the file, the whole stored chunk, or h5py of a file that is writable."""

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support.region_files import CHUNKS, SHAPE, USERBLOCK, opened, overwrite, route, same, smooth, write


def test_ranges_of_a_file_opened_for_reading(path):
    with opened(path) as dataset:
        assert route(dataset) == "ranges"


@pytest.mark.parametrize("userblock", [512, 65536])
def test_ranges_with_a_userblock(tmp_path, original, userblock):
    path = write(tmp_path / "x.h5", original, CHUNKS, {"absolute": 1e-3}, userblock_size=userblock)
    with opened(path) as dataset:
        assert route(dataset) == "ranges"


def test_a_userblock_that_looks_like_streams(tmp_path):
    """Where a stream is at both addresses that the chunk may have, HDF5 has to say which one it is."""
    noise = np.random.default_rng(1).integers(0, 1 << 32, (256, 256), "u4")  # chunks that take the same number of bytes
    path = write(tmp_path / "x.h5", noise, CHUNKS, {"lossless": True}, userblock_size=USERBLOCK)
    content = path.read_bytes()
    with opened(path) as dataset:
        first, second = (dataset.id.get_chunk_info_by_coord(start) for start in ((0, 0), (0, 128)))
        assert first.size == second.size
        assert h5stz.view(dataset)[:2, :2].shape == (2, 2)
    # Whichever convention HDF5 has, the other address gets another chunk's stream.
    here, there = (0, USERBLOCK) if content[first.byte_offset :].startswith(b"STZ") else (USERBLOCK, 0)
    overwrite(path, first.byte_offset + there, content[second.byte_offset + here :][: second.size])
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        assert same(noise[:2, :2], view[:2, :2])
        assert view._reader._readers.get((0, 0)).stored is not None, "read whole, through HDF5"
        assert same(noise, view[...])


def test_ranges_through_links_and_mounted_files(path, tmp_path):
    with opened(path) as dataset:
        full = dataset[...]
    with h5py.File(tmp_path / "links.h5", "w") as file:
        file["x"] = h5py.ExternalLink(path, "/x")
        file.create_group("mount")
    with opened(tmp_path / "links.h5") as dataset:
        assert route(dataset, full) == "ranges"
    with h5py.File(tmp_path / "links.h5", "r+") as file, h5py.File(path) as other:
        h5py.h5f.mount(file.id, b"mount", other.id)
        assert route(file["mount/x"], full) == "ranges"
        h5py.h5f.unmount(file.id, b"mount")


@pytest.mark.parametrize("driver", ["core", "stdio"])
def test_whole_chunks_with_other_drivers(path, driver):
    with opened(path, driver=driver) as dataset:
        assert route(dataset) == "chunk"


@pytest.mark.parametrize("driver", ["split", "family"])
def test_whole_chunks_of_files_in_several_parts(tmp_path, original, driver):
    path = tmp_path / ("x%d.h5" if driver == "family" else "x")
    options = {"driver": driver} | ({"memb_size": 16 << 10} if driver == "family" else {})
    with h5py.File(path, "w", **options) as file:
        file.create_dataset("x", data=original, chunks=CHUNKS, **h5stz.STZ(absolute=1e-3))
    with opened(path, **options) as dataset:
        assert route(dataset) == "chunk"


WRITER = """
import sys, h5py, h5stz, numpy as np
original = np.load(sys.argv[2])
with h5py.File(sys.argv[1], "w", libver="latest") as file:
    grown = file.create_dataset("x", (128, 260), "f4", maxshape=(None, 260), chunks=(128, 128), **h5stz.STZ(absolute=1e-3))
    grown[...] = original[:128]
    file.flush()
    file.swmr_mode = True
    print("written", flush=True)
    sys.stdin.readline()
    grown.resize(150, axis=0)
    grown[128:] = original[128:]
    grown[:, 128:256] = 7
    file.flush()
    print("grown", flush=True)
    sys.stdin.readline()
"""


def test_whole_chunks_beside_a_writer(tmp_path, original):
    path = tmp_path / "x.h5"
    np.save(tmp_path / "original.npy", original)
    command = [sys.executable, "-c", WRITER, path, tmp_path / "original.npy"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout.readline() == "written\n"
        with opened(path, swmr=True, libver="latest") as dataset:
            view = h5stz.view(dataset)
            assert view.shape == (128, 260)
            assert route(dataset) == "chunk"
            assert same(dataset[...], view[...])
            print(file=writer.stdin, flush=True)
            assert writer.stdout.readline() == "grown\n"
            dataset.refresh()
            assert view.shape == SHAPE
            full = dataset[...]
            assert abs(full[:128, 130:200] - 7).max() <= 2e-3
            for _ in range(2):
                assert same(full, view[...])
            assert view.stats.fallback_chunks == 0
        writer.communicate("\n", timeout=60)


def test_writable_files_are_read_in_part_if_hdf5_cannot_hold_a_chunk_back(path, original):
    with opened(path, "r+", rdcc_nbytes=1 << 15) as dataset:
        view = h5stz.view(dataset)
        assert route(dataset) == "chunk"
        before = view[:20, :20].copy()
        decoded = view.stats.blocks_decoded
        assert same(before, view[:20, :20])
        assert view.stats.blocks_decoded == decoded, "the chunk is the same as before: nothing to decode"
        dataset[:10, :10] = 5
        assert same(dataset[:20, :20], view[:20, :20]) and abs(view[3, 4] - 5) <= 1e-3
        assert view.stats.fallback_chunks == 0
    with opened(path, "r+", rdcc_nbytes=0) as dataset, opened(path) as same_file:
        assert route(dataset) == route(same_file) == "chunk", "the same file, opened twice, is writable both times"


def test_writable_files_otherwise_through_h5py(path):
    """HDF5 keeps what was written until the chunk leaves its cache; a read apart would code it once more."""
    with opened(path, "r+") as dataset:
        view = h5stz.view(dataset)
        assert "writable" in view.fallback_reason
        assert route(dataset) == "h5py"
        dataset[3, 4] = 1 / 3
        assert view[3, 4] == np.float32(1 / 3), "not coded yet"
        dataset[3, 5] = 1 / 7
        assert same(dataset[:9, :9], view[:9, :9]) and view[3, 4] == np.float32(1 / 3)


def test_new_chunks_of_a_writable_file(tmp_path, original):
    with h5py.File(tmp_path / "x.h5", "w", rdcc_nbytes=0) as file:
        dataset = file.create_dataset("x", SHAPE, "f4", chunks=CHUNKS, fillvalue=3, **h5stz.STZ(absolute=1e-3))
        view = h5stz.view(dataset)
        assert same(dataset[...], view[...]) and view[0, 0] == 3
        for rows in (slice(0, 20), slice(100, 150)):
            dataset[rows] = original[rows]
            for box in (np.s_[...], np.s_[:30, 7]):
                assert same(dataset[box], view[box])
        assert view.stats.fallback_chunks == 0


def test_a_dataset_of_many_chunks(tmp_path):
    array = smooth((100, 120))
    with opened(write(tmp_path / "x.h5", array, (4, 5), {"absolute": 0.1})) as dataset:
        for threads in (1, 4):
            assert same(dataset[...], h5stz.view(dataset, threads=threads)[...])


def test_without_proc_whole_chunks_are_read(path, monkeypatch):
    def refuse(*_):
        raise FileNotFoundError

    with opened(path) as dataset:
        monkeypatch.setattr(os, "open", refuse)
        assert route(dataset) == "chunk"


def test_a_reader_of_an_hdf5_without_chunk_iter(path, monkeypatch):
    """Each chunk is looked up on its own then, as it is for a few chunks of a file that may change."""
    monkeypatch.setattr("h5stz.reading.chunk_index._iterator", lambda _: None)
    with opened(path) as dataset:
        assert route(dataset) == "ranges"


def test_a_chunk_iter_that_counts_in_chunks_is_not_believed(path, monkeypatch):
    def iterator(identifier):
        def iterate(callback):
            for number in range(identifier.get_num_chunks()):
                info = identifier.get_chunk_info(number)
                callback(info._replace(chunk_offset=tuple(np.floor_divide(info.chunk_offset, CHUNKS).tolist())))

        return iterate

    monkeypatch.setattr("h5stz.reading.chunk_index._iterator", iterator)
    with opened(path) as dataset:
        assert route(dataset) == "ranges"


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("maxshape", [(None, 40, 48), (32, None, 48), (32, 40, None), (32, 80, 96), (None, 40, None)])
def test_datasets_that_can_grow(tmp_path, maxshape, libver):
    """HDF5 takes chunks for others where one axis grows that is not the first, in files of format 1.10 and newer."""
    path = write(tmp_path / "x.h5", smooth((32, 40, 48), "f8", 5), (16, 20, 12), maxshape=maxshape, libver=libver)
    with opened(path) as dataset:
        expected, view = dataset[...], h5stz.view(dataset)
        for index in np.s_[...], np.s_[3:20, 18:22, 30:], np.s_[5, 6, 7::12]:
            assert same(expected[index], view[index])
        confused = libver == "latest" and maxshape in [(32, None, 48), (32, 40, None)]
        assert (view.fallback_reason is not None) == confused

"""h5stz.view of files whose index of chunks is damaged: what HDF5 gives, or an error that says what is wrong."""

import io
import re
import struct

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import _core
from support.damaged_files import INDEXES, structures, written
from support.region_files import opened, same, smooth, write

SHAPE, CHUNKS = (96, 128), (64, 64)
UNDEFINED = (1 << 64) - 1  # HADDR_UNDEF
MASK = 4  # bytes of the filter mask, which follows the size
OPENED = {"file": lambda path: path, "object": lambda path: io.BytesIO(path.read_bytes())}


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "x.h5", smooth(SHAPE), CHUNKS, {"absolute": 1e-3}, fillvalue=-7)


def damage(path, chunk, size=None, address=None):
    """Overwrites size or address in the entry of a chunk: size, mask, offsets of its axes and of the sample, address."""
    with opened(path) as dataset:
        info = dataset.id.get_chunk_info_by_coord(chunk)
        number = dataset.id.get_num_chunks()
    content = bytearray(path.read_bytes())
    offsets = struct.pack("<4x3Q", *chunk, 0)
    begin = content.index(struct.pack("<I", info.size) + offsets + struct.pack("<Q", info.byte_offset), content.index(b"TREE"))
    assert number == 4
    if size is not None:
        content[begin : begin + MASK] = struct.pack("<I", size)
    if address is not None:
        content[begin + MASK + len(offsets) : begin + MASK + len(offsets) + 8] = struct.pack("<Q", address)
    path.write_bytes(content)


@pytest.mark.parametrize("how", OPENED)
@pytest.mark.parametrize("chunk", [(0, 0), (64, 64)], ids=str)
def test_a_chunk_without_an_address_is_one_that_is_not_stored(path, chunk, how):
    damage(path, chunk, address=UNDEFINED)
    with opened(OPENED[how](path)) as dataset:
        wanted = dataset[...]
        assert wanted[chunk] == -7, "so HDF5 reads it"
        assert same(wanted, h5stz.view(dataset)[...])
        assert same(wanted[::4, ::4], h5stz.view(dataset).level(2)[...])
        assert list(h5stz.view(dataset).refine(np.s_[:70, :70]))
        with h5stz.partial_reads():
            assert same(wanted[5:90, 60:70], dataset[5:90, 60:70])


@pytest.mark.parametrize("how", OPENED)
@pytest.mark.parametrize("size", [2**31, 2**32 - 1, 64 * 64 * 4 + 65])
def test_a_chunk_that_is_too_large_to_be_one_is_an_error(path, size, how):
    with opened(path) as dataset:
        full = dataset[...]
    damage(path, (0, 64), size=size)
    with opened(OPENED[how](path)) as dataset:
        view = h5stz.view(dataset)
        with pytest.raises(
            h5stz.StzError, match=rf"the chunk at \(0, 64\) of /x in .* has a stated size of {size} bytes"
        ) as raised:
            view[3, 70:80]
        assert raised.value.code == _core.ERROR_CODES["STZ_ERROR_CORRUPT"]
        with h5stz.partial_reads(), pytest.raises(h5stz.StzError, match="damaged"):
            dataset[3, 70:80]
        assert same(full[:, :64], view[:, :64]), "other chunks are read"


def test_the_largest_stream_is_read(tmp_path):
    """Noise is stored as it is, with a header."""
    noise = np.random.default_rng(1).integers(0, 1 << 32, CHUNKS, "u4")
    with opened(write(tmp_path / "x.h5", noise, CHUNKS, {"lossless": True})) as dataset:
        assert dataset.id.get_storage_size() > noise.nbytes
        assert same(noise, h5stz.view(dataset)[...])


@pytest.mark.parametrize("sign", ["i", "u"])
def test_integers_of_the_other_sign(tmp_path, sign):
    """HDF5 takes them for those of the dataset."""
    array = smooth(CHUNKS, f"{sign}2")
    path = write(tmp_path / "x.h5", array, CHUNKS, {"lossless": True})
    with opened(path, "r+") as dataset:
        dataset.id.write_direct_chunk((0, 0), h5stz.compress(array.view("u2" if sign == "i" else "i2"), lossless=True))
    with opened(path) as dataset:
        try:
            wanted = dataset[...]
        except OSError as error:
            assert "h5stz" in str(error) or "filter" in str(error)
            return  # a refusal is right as well
        assert same(wanted, h5stz.view(dataset)[...])


READS = (
    lambda view: view[...],
    lambda view: view.level(1)[...],
    lambda view: list(view.refine(...)),
    lambda view: view.layer_errors(),
)


@pytest.mark.slow
@pytest.mark.parametrize("how", [*OPENED, "h5stz.open"])
@pytest.mark.parametrize("index", [index for index in INDEXES if index != "single chunk"])  # which has none
def test_errors_of_a_damaged_index_say_what_to_do(tmp_path, index, how):
    """Of its first structure, and of the place of a chunk: in the words of the commands, HDF5's own in parentheses."""
    path = tmp_path / "a.h5"
    written(path, index)
    content = path.read_bytes()
    with opened(path) as dataset:
        place = dataset.id.get_chunk_info(1).byte_offset.to_bytes(8, "little")
    cases = [content[: structures(content)[0].begin] + b"?" + content[structures(content)[0].begin + 1 :]]
    if index.startswith("B-tree 1") and how != "object":  # others have checksums; objects have errors of their own
        cases.append(content.replace(place, (1 << 40).to_bytes(8, "little")))
    for case in cases:
        path.write_bytes(case)
        given = h5stz.open(path) if how == "h5stz.open" else h5py.File(OPENED[how](path))
        with given as file:
            view = file["x"] if how == "h5stz.open" else h5stz.view(file["x"])
            for read in READS:
                with pytest.raises(h5stz.StzError) as raised:
                    read(view)
                said, _, of_hdf5 = str(raised.value).partition(" (HDF5 says: ")
                assert "/x" in said and "get the file again, or h5stz salvage" in said and of_hdf5, said
                assert said.count("/x") == 1 and not re.search("synchronously|iterating|signature|addr", said), said

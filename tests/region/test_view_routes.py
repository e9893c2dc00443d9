"""By which route h5stz.view reads a chunk: ranges of the file, the whole stored chunk, or h5py; and what each route refuses."""

import os
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support.host_tools import store_edge_chunks_unfiltered
from support.region_files import agrees, opened, same, smooth, write

SHAPE, CHUNKS = (150, 260), (128, 128)


@pytest.fixture(scope="module")
def original():
    return smooth(SHAPE)


@pytest.fixture
def path(tmp_path, original):
    return write(tmp_path / "x.h5", original, CHUNKS, {"absolute": 1e-3})


def route(dataset, full=None, **options):
    """Reads in many ways through a view; says how, having made sure that nothing differs from h5py."""
    full = dataset[...] if full is None else full
    part = h5stz.view(dataset, **options)
    assert same(full[::4, ::4], part.level(2)[...])
    stats = part.stats
    if stats.fallback_chunks:
        assert stats.blocks_decoded == 0
        found = "h5py"
    elif stats.bytes_read == stats.bytes_touched_chunks:
        found = "chunk"
    else:
        assert 0 < stats.bytes_read < stats.bytes_touched_chunks
        found = "ranges"
    view = h5stz.view(dataset, **options)
    stats = agrees(view, full)
    assert (stats.fallback_chunks > 0) == (found == "h5py")
    assert not view.fallback_reason or found == "h5py"
    return found


def test_ranges_of_a_file_opened_for_reading(path):
    with opened(path) as dataset:
        assert route(dataset) == "ranges"


@pytest.mark.parametrize("userblock", [512, 65536])
def test_ranges_with_a_userblock(tmp_path, original, userblock):
    path = write(tmp_path / "x.h5", original, CHUNKS, {"absolute": 1e-3}, userblock_size=userblock)
    with opened(path) as dataset:
        assert route(dataset) == "ranges"


USERBLOCK = 1 << 19  # longer than the rest of the file


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


def plain(path, **options):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=smooth(SHAPE), **options)
    return path


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"chunks": CHUNKS},
        {"chunks": CHUNKS, "compression": "gzip"},
        {"chunks": CHUNKS, "fletcher32": True, "shuffle": True},
    ],
    ids=["contiguous", "chunked", "gzip", "shuffle and checksum"],
)
def test_h5py_for_datasets_of_others(tmp_path, options):
    with opened(plain(tmp_path / "x.h5", **options)) as dataset:
        assert route(dataset) == "h5py"
        assert h5stz.view(dataset).level(2)[...].shape == (38, 65)
        assert [level for level, _ in h5stz.view(dataset).refine()] == [0]
        out = np.empty((10, 5), "f4")
        assert same(dataset[:10, :5][:, ::-1].copy(), h5stz.view(dataset).read(np.s_[:10, 4::-1], out=out))


def test_h5py_where_a_checksum_is_behind_the_filter(tmp_path, original):
    path = write(tmp_path / "x.h5", original, CHUNKS, {"absolute": 1e-3}, fletcher32=True)
    with opened(path) as dataset:
        assert "only filter" in h5stz.view(dataset).fallback_reason
        assert route(dataset) == "h5py"


def test_h5py_for_virtual_and_external_storage(path, tmp_path, original):
    with h5py.File(tmp_path / "others.h5", "w") as file:
        layout = h5py.VirtualLayout(SHAPE, "f4")
        layout[...] = h5py.VirtualSource(path, "x", SHAPE)
        file.create_virtual_dataset("x", layout)
        file.create_dataset("outside", SHAPE, "f4", external=[(tmp_path / "raw", 0, original.nbytes)])[...] = original
    with h5py.File(tmp_path / "others.h5") as file:
        assert route(file["x"]) == route(file["outside"], original) == "h5py"


def test_h5py_for_types_that_cannot_be_compressed(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["text"] = ["one", "two", "three"]
        file["records"] = np.arange(10).astype([("a", "i4"), ("b", "f8")])
        file["vectors"] = np.zeros((4, 5), np.dtype(("f4", 3)))
        file["number"] = 5.5
        file["nothing"] = h5py.Empty("f4")
    with h5py.File(tmp_path / "x.h5") as file:
        for name in ("text", "records"):
            view = h5stz.view(file[name])
            assert np.array_equal(file[name][...][::-2], view[::-2]) and view[1] == file[name][1]
            assert view.stats.fallback_chunks == 1
        assert h5stz.view(file["vectors"])[1:3].shape == file["vectors"][1:3].shape
        assert h5stz.view(file["number"])[()] == 5.5 and h5stz.view(file["number"])[...].shape == ()
        with pytest.raises(TypeError, match="no length"):
            len(h5stz.view(file["number"]))
        with pytest.raises(TypeError, match="empty"):
            h5stz.view(file["nothing"])


def test_h5py_for_a_chunk_without_the_filter(path, original):
    """A filter mask says that the chunk was stored as it is."""
    raw = np.ascontiguousarray(original[:128, 128:256])
    with opened(path, "r+") as dataset:
        dataset.id.write_direct_chunk((0, 128), raw.tobytes(), 1)
    with opened(path) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        assert same(raw[:9, :9], view[:9, 128:137])
        assert (view.stats.fallback_chunks, view.stats.blocks_decoded) == (1, 0)
        assert view.stats.bytes_read == raw.nbytes
        assert same(full, view[...]) and view.stats.fallback_chunks == 1 and view.stats.blocks_decoded > 0


@pytest.mark.parametrize("first", [None, "stream"])
def test_h5py_for_edge_chunks_that_were_not_filtered(tmp_path, original, first):
    """With H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS they are raw although their mask is 0: even where they begin like a stream."""
    data = np.array(original)
    if first:
        data[128, :3] = np.frombuffer(h5stz.compress(original[:128, :128], absolute=1e-3)[:12], "f4")
    with h5py.File(tmp_path / "x.h5", "w", libver="latest") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk(CHUNKS)
        store_edge_chunks_unfiltered(properties)
        properties.set_filter(h5stz.FILTER_ID, 0, h5stz.cd_values(absolute=1e-3))
        space = h5py.h5s.create_simple(SHAPE)
        h5py.Dataset(h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F32LE, space, properties))[...] = data
    with opened(tmp_path / "x.h5") as dataset:
        view = h5stz.view(dataset)
        agrees(view, dataset[...])
        assert same(data[128:], view[128:])
        assert view.stats.fallback_chunks == 4 and view.stats.blocks_decoded > 0


def test_h5py_where_hdf5_does_not_say_how_edges_are_stored(path, monkeypatch):
    """A HDF5 without these functions leaves the chunks at the edge to h5py, and no others."""
    monkeypatch.setattr("h5stz.hdf5_calls.function", lambda *_: None)
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        agrees(view, dataset[...])
        assert view.stats.fallback_chunks == 4 and view.stats.blocks_decoded > 0


@pytest.mark.parametrize("fill", ["default", "user", "never"])
@pytest.mark.parametrize("dtype", ["f4", ">i2", "?", "c8"])
def test_chunks_that_are_not_stored_hold_the_fill_value(tmp_path, fill, dtype):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        options = {"fillvalue": np.ones((), dtype)[()]} if fill == "user" else {}
        for name in ("empty", "x"):
            properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER if fill == "never" else h5py.h5d.FILL_TIME_IFSET)
            options |= {"chunks": CHUNKS, "dcpl": properties, **h5stz.STZ(absolute=1e-3)}
            dataset = file.create_dataset(name, SHAPE, dtype, **options)
        dataset[:100, :100] = smooth((100, 100), dtype)
    with h5py.File(tmp_path / "x.h5") as file:
        view = h5stz.view(file["x"])
        stats = agrees(view, file["x"][...])
        never = file["x"].id.get_create_plist().get_fill_time() == h5py.h5d.FILL_TIME_NEVER  # older h5py sets another one
        assert (stats.fallback_chunks > 0) == never
        empty = h5stz.view(file["empty"])
        stats = agrees(empty, file["empty"][...])
        assert stats.bytes_read == 0
        assert [level for level, _ in empty.refine()] == [0]


def test_a_dataset_of_many_chunks(tmp_path):
    array = smooth((100, 120))
    with opened(write(tmp_path / "x.h5", array, (4, 5), {"absolute": 0.1})) as dataset:
        for threads in (1, 4):
            assert same(dataset[...], h5stz.view(dataset, threads=threads)[...])


def overwrite(path, start, content):
    with open(path, "r+b") as file:
        file.seek(start)
        file.write(content)


def test_a_file_cut_short_is_an_error(path):
    with opened(path) as dataset:
        view, info = h5stz.view(dataset), dataset.id.get_chunk_info_by_coord((0, 128))
        view[0, 0]
        os.truncate(path, info.byte_offset + 100)
        for _ in range(2):
            with pytest.raises(h5stz.StzError, match="open it again"):
                view[100:, 200:]
        with pytest.raises((h5stz.StzError, OSError)):
            h5stz.view(dataset)[:, 129:200]


def test_a_file_replaced_in_place_is_an_error(path, tmp_path, original):
    other = write(tmp_path / "other.h5", original + 1, CHUNKS, {"absolute": 2e-3})
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        view[0, 0]
        shutil.copyfile(other, path)
        with pytest.raises(h5stz.StzError, match="open it again"):
            view[10:20, 10:20]


def test_a_file_replaced_by_another_one_is_read_as_it_was(path, tmp_path, original):
    other = write(tmp_path / "other.h5", original + 1, CHUNKS)
    with opened(path) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        os.replace(other, path)
        assert same(full, view[...])


def test_damage_is_an_error_that_names_the_chunk(path):
    with opened(path) as dataset:
        info = dataset.id.get_chunk_info_by_coord((0, 128))
    for place in range(0, info.size, 997):
        byte = path.read_bytes()[info.byte_offset + place]
        overwrite(path, info.byte_offset + place, bytes([byte ^ 0x55]))
        for options in ({}, {"driver": "core"}):
            with opened(path, **options) as dataset, pytest.raises((h5stz.StzError, OSError)) as raised:
                h5stz.view(dataset)[:128, 128:256]
            if raised.type is h5stz.StzError:
                assert "the chunk at (0, 128) of /x in" in str(raised.value) and raised.value.code < 0
        overwrite(path, info.byte_offset + place, bytes([byte]))


@pytest.mark.parametrize("driver", [None, "core"])
@pytest.mark.parametrize(
    "other",
    [smooth((128, 127)), smooth((128, 128), "f8"), smooth((128, 128), ">f4"), smooth((128,))],
    ids=lambda a: f"{a.shape}{a.dtype.str}",
)
def test_a_stream_of_another_array_is_an_error(path, other, driver):
    with opened(path, "r+") as dataset:
        dataset.id.write_direct_chunk((0, 0), h5stz.compress(other, absolute=1e-3))
    with opened(path, driver=driver) as dataset:
        with pytest.raises(h5stz.StzError, match="as the dataset says"):
            h5stz.view(dataset)[3, 4]


@pytest.mark.parametrize("driver", [None, "core"])
def test_what_is_no_stream_is_an_error_of_hdf5(path, driver):
    with opened(path, "r+") as dataset:
        dataset.id.write_direct_chunk((0, 0), b"no stream at all, just some text")
    with opened(path, driver=driver) as dataset, pytest.raises(OSError, match="h5stz"):
        h5stz.view(dataset)[3, 4]


def test_a_view_holds_no_lock_on_the_file(path):
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        view[3, 4]
    write_there = "import sys, h5py\nwith h5py.File(sys.argv[1], 'r+') as file: file.attrs['written'] = 1"
    subprocess.run([sys.executable, "-c", write_there, path], check=True, timeout=60)
    del view


def test_views_leave_no_files_open(path):
    def count():
        return len(os.listdir("/proc/self/fd"))

    before = count()
    for _ in range(5):
        with opened(path) as dataset:
            view = h5stz.view(dataset, threads=2)
            view[...]
        del view
    assert count() <= before


def test_without_proc_whole_chunks_are_read(path, monkeypatch):
    def refuse(*_):
        raise FileNotFoundError

    with opened(path) as dataset:
        monkeypatch.setattr(os, "open", refuse)
        assert route(dataset) == "chunk"


def test_a_reader_of_an_hdf5_without_chunk_iter(path, monkeypatch):
    """Each chunk is looked up on its own then, as it is for a few chunks of a file that may change."""
    monkeypatch.setattr("h5stz.chunk_index._iterator", lambda _: None)
    with opened(path) as dataset:
        assert route(dataset) == "ranges"


def test_a_chunk_iter_that_counts_in_chunks_is_not_believed(path, monkeypatch):
    def iterator(identifier):
        def iterate(callback):
            for number in range(identifier.get_num_chunks()):
                info = identifier.get_chunk_info(number)
                callback(info._replace(chunk_offset=tuple(np.floor_divide(info.chunk_offset, CHUNKS).tolist())))

        return iterate

    monkeypatch.setattr("h5stz.chunk_index._iterator", iterator)
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
        assert ("grows along another axis" in str(view.fallback_reason)) == confused

"""What h5stz.view leaves to h5py, and chunks that are not stored."""

import h5py
import numpy as np
import pytest

import h5stz
from support.host_tools import store_edge_chunks_unfiltered
from support.region_files import CHUNKS, SHAPE, agrees, opened, route, same, smooth


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


@pytest.mark.parametrize("looks", ["raw", "like a stream"])
def test_h5py_for_a_chunk_without_the_filter(path, original, looks):
    """A filter mask says that the chunk was stored as it is, whatever its bytes look like."""
    raw = np.ascontiguousarray(original[:128, 128:256])
    if looks == "like a stream":
        raw = np.frombuffer(h5stz.compress(raw, absolute=1e-3).ljust(raw.nbytes, b"\0"), "f4").reshape(raw.shape)
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
    monkeypatch.setattr("h5stz.hdf5.calls.function", lambda *_: None)
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

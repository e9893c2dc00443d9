"""h5stz.read: the values of dataset[selection], from any kind of dataset and with any number of threads."""

import io
import os

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import h5stz

FIELD = np.random.default_rng(1).normal(size=(70, 60, 50)).cumsum(0).astype("f4")
CHUNKS = (32, 17, 50)
SELECTIONS = [
    ...,
    (),
    np.s_[:],
    np.s_[3],
    np.s_[-1, :, 7],
    np.s_[10:40, ::3],
    np.s_[::-1, 5:50:7, ::-2],
    np.s_[32:64, 17:34],
    np.s_[64:, 51:],
    np.s_[5, 6, 7],
    np.s_[8:8],
    np.s_[..., 3],
]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("read") / "x.h5"
    with h5py.File(path, "w") as file:
        stz = h5stz.STZ(absolute=1e-2)
        for dtype in ("<f2", ">f4", "<f8", "<c8", ">c16", "?", "i1", ">u2", "<i8"):
            data = np.abs(FIELD).astype(dtype)
            file.create_dataset(f"type {dtype}", data=data, chunks=CHUNKS, **stz)
        for name, options in {
            "layers": {"absolute": 1e-2, "layers": 3},
            "enhanced": {"absolute": 0.1, "enhance": "relaxed"},
            "pointwise": {"pointwise_relative": 1e-2},
            "lossless": {"lossless": True},
        }.items():
            file.create_dataset(name, data=FIELD, chunks=CHUNKS, **h5stz.STZ(**options))
        sparse = file.create_dataset("sparse", FIELD.shape, "f4", chunks=CHUNKS, fillvalue=7, **stz)
        sparse[40:50, 20:30] = FIELD[40:50, 20:30]
        patched = file.create_dataset("patched", data=FIELD, chunks=CHUNKS, **stz)
        patched.flush()
        patched.id.refresh()
        patched[5:50, 20:30, ::3] = 1
        file.create_dataset("two filters", data=FIELD, chunks=CHUNKS, fletcher32=True, **stz)
        file.create_dataset("gzip", data=FIELD, chunks=CHUNKS, compression="gzip")
        file.create_dataset("contiguous", data=FIELD)
        file.create_dataset("grown", data=FIELD, chunks=CHUNKS, maxshape=(None, None, 50), **stz).resize(80, axis=0)
        layout = h5py.VirtualLayout(FIELD.shape, "f4")
        layout[:] = h5py.VirtualSource(path, "layers", FIELD.shape)
        file.create_virtual_dataset("virtual", layout)
        records = np.stack([FIELD, -FIELD], -1).view([("a", "f4"), ("b", "f4")])[..., 0]
        file.create_dataset("records", data=records, chunks=CHUNKS)
        file["link"] = h5py.ExternalLink(path, "layers")
    with h5py.File(path) as file:
        yield file


NAMES = [
    *(f"type {dtype}" for dtype in ("<f2", ">f4", "<f8", "<c8", ">c16", "?", "i1", ">u2", "<i8")),
    *("layers", "enhanced", "pointwise", "lossless", "sparse", "patched", "two filters", "gzip", "contiguous", "grown"),
    *("virtual", "records", "link"),
]


def same(one, other):
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", NAMES)
def test_values(file, name, threads):
    dataset = file[name]
    whole = dataset[...]
    for selection in SELECTIONS:
        wanted = whole[selection]
        got = h5stz.read(dataset, selection, threads=threads)
        assert same(got, wanted), selection
        assert isinstance(got, np.ndarray) == isinstance(wanted, np.ndarray)
        if wanted.ndim:
            for out in np.empty(wanted.shape, wanted.dtype), np.empty((*wanted.shape, 2), wanted.dtype)[..., 0]:
                assert h5stz.read(dataset, selection, threads=threads, out=out) is out
                assert same(out, wanted)


def test_what_h5py_selects(file):
    mask = FIELD > 5
    for selection in ([1, 4, 9], np.s_[:, [2, 3]], mask):
        wanted = file["layers"][selection]
        assert same(h5stz.read(file["layers"], selection), wanted)
        assert same(h5stz.read(file["layers"], selection, out=np.empty_like(wanted)), wanted)
    assert same(h5stz.read(file["records"], "a"), file["records"]["a"])


def test_scalars_and_empty_datasets():
    with h5py.File(io.BytesIO(), "w") as file:
        file["scalar"], file["text"], file["null"] = 3.5, "abc", h5py.Empty("f4")
        assert h5stz.read(file["scalar"]) == 3.5 and h5stz.read(file["text"]) == b"abc"
        assert isinstance(h5stz.read(file["null"]), h5py.Empty)


@pytest.mark.parametrize("kind", ["r+", "r+ without cache", "core", "BytesIO", "swmr", "userblock", "latest", "stdio"])
def test_kinds_of_files(tmp_path, kind):
    path = tmp_path / "x.h5"
    making = {"userblock": {"userblock_size": 1024}, "latest": {"libver": "latest"}, "swmr": {"libver": "latest"}}.get(kind, {})
    with h5py.File(path, "w", **making) as file:
        h5stz.write(file, "x", FIELD, chunks=CHUNKS, absolute=1e-2, threads=2)
    arguments = {
        "r+": {"mode": "r+"},
        "r+ without cache": {"mode": "r+", "rdcc_nbytes": 0},
        "core": {"driver": "core", "backing_store": False},
        "swmr": {"swmr": True},
        "stdio": {"driver": "stdio"},
    }.get(kind, {})
    given = io.BytesIO(path.read_bytes()) if kind == "BytesIO" else path
    with h5py.File(given, **{"mode": "r", **arguments}) as file:
        if kind.startswith("r+"):
            file["x"][3:9] = 1
        assert same(h5stz.read(file["x"], threads=2), file["x"][...])
        assert same(h5stz.read(file["x"], np.s_[5:40, ::2], threads=2), file["x"][5:40, ::2])


def test_wrong_arguments(file, tmp_path):
    dataset = file["layers"]
    for out, message in [
        (np.empty(FIELD.shape, "f8"), "out is of dtype <f8, the dataset of <f4: give numpy.empty"),
        (np.empty((3, 4), "f4"), "out has the shape"),
        ([1], "out is of type list, it must be an ndarray"),
        (np.broadcast_to(np.float32(0), FIELD.shape), "out is read-only"),
    ]:
        with pytest.raises(h5stz.StzError, match=message):
            h5stz.read(dataset, out=out)
    with pytest.raises(h5stz.StzTypeError, match=r"give an h5py\.Dataset, such as file"):
        h5stz.read(FIELD)
    with pytest.raises(IndexError):
        h5stz.read(dataset, 70)
    with pytest.raises(h5stz.StzError, match="threads=0 must be 1 to 255"):
        h5stz.read(dataset, threads=0)
    with pytest.raises(TypeError, match="did you mean threads="):
        h5stz.read(dataset, nthreads=2)
    with h5py.File(tmp_path / "x.h5", "w") as other:
        words = other.create_dataset("words", data=["a", "b"], dtype=h5py.string_dtype())
        with pytest.raises(IndexError, match=r"beyond its shape \(2,\)"):
            h5stz.read(words, np.array([1, 2]))
        closed = h5stz.write(other, "x", FIELD, absolute=1)
    with pytest.raises(h5stz.StzError, match="was closed: open it again"):
        h5stz.read(closed)


def test_the_limit_of_the_environment(file, monkeypatch):
    monkeypatch.setenv("H5STZ_MAX_BYTES", "1000")
    with pytest.raises(h5stz.StzError, match="more than H5STZ_MAX_BYTES=1000"):
        h5stz.read(file["layers"])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("damage", ["flipped", "cut", "swapped"])
def test_damaged_chunks_are_named(tmp_path, damage, threads):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        made = h5stz.write(file, "group/x", FIELD, chunks=CHUNKS, absolute=1e-2)
        h5stz.write(file, "other", FIELD.astype("f8"), chunks=CHUNKS, absolute=1e-2)
        stream = made.id.read_direct_chunk((32, 17, 0))[1]
        place = made.id.get_chunk_info_by_coord((32, 17, 0))
        others = file["other"].id.read_direct_chunk((32, 17, 0))[1]
        if damage == "swapped":
            made.id.write_direct_chunk((32, 17, 0), others)
        elif damage == "cut":
            made.id.write_direct_chunk((32, 17, 0), stream[: len(stream) // 2])
    if damage == "flipped":
        content = bytearray(path.read_bytes())
        content[place.byte_offset + len(stream) // 2] ^= 8
        path.write_bytes(content)
    with h5py.File(path) as file:
        with pytest.raises(h5stz.StzError) as error:
            h5stz.read(file["group/x"], threads=threads)
        said = str(error.value)
        assert "the chunk at (32, 17, 0) of /group/x in " in said and str(path) in said and "salvage" in said
        assert same(h5stz.read(file["group/x"], np.s_[:32], threads=threads), file["group/x"][:32])


def test_a_changed_file_is_noticed(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        h5stz.write(file, "x", FIELD, chunks=CHUNKS, absolute=1e-2)
    with h5py.File(path) as file:
        reader = file["x"]
        os.truncate(path, os.path.getsize(path) // 2)
        with pytest.raises(h5stz.StzError):
            h5stz.read(reader, threads=2)


@pytest.mark.parametrize("verify", ["0", "1"])
def test_content_checks(tmp_path, monkeypatch, verify):
    monkeypatch.setenv("H5STZ_VERIFY", verify)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        h5stz.write(file, "x", FIELD, chunks=CHUNKS, absolute=1e-2, content_check=True)
    with h5py.File(tmp_path / "x.h5") as file:
        assert same(h5stz.read(file["x"], threads=2), file["x"][...])


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_selection(data, tmp_path_factory):
    rank = data.draw(st.integers(1, 4))
    shape = tuple(data.draw(st.integers(1, 24 if rank < 4 else 7)) for _ in range(rank))
    chunks = tuple(data.draw(st.integers(1, extent)) for extent in shape)
    values = np.random.default_rng(3).normal(size=shape).astype(data.draw(st.sampled_from(["f4", ">f8", "i2"])))
    path = tmp_path_factory.mktemp("any") / "x.h5"
    with h5py.File(path, "w") as file:
        h5stz.write(file, "x", values, chunks=chunks, absolute=0.1, threads=2)
    index = tuple(
        data.draw(
            st.one_of(
                st.integers(-extent, extent - 1),
                st.builds(slice, *[st.none() | st.integers(-extent, extent)] * 2, st.sampled_from([None, 1, 2, 3, -1, -2])),
            )
        )
        for extent in shape
    )
    with h5py.File(path) as file:
        whole = file["x"][...]
        for selection in (..., index):
            got = h5stz.read(file["x"], selection, threads=data.draw(st.integers(1, 3)))
            assert same(got, whole[selection])

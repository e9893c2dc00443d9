"""h5stz.open of files behind a web server: views, requests and bytes, what is repeated, and what is an error.

Every answer goes through HTTP. No test waits: `retry_wait` is 0.
"""

import gc
import io
import pickle

import h5py
import numpy as np
import pytest

import h5stz
from support.range_servers import Server, cut_off, written
from support.region_files import same

fsspec = pytest.importorskip("fsspec", reason="needs Python package fsspec")
pytest.importorskip("aiohttp", reason="needs Python package aiohttp")

CUBE = np.s_[40:56, 40:56, 40:56]
NEAR = np.s_[62:66, 62:66, 62:66]  # in all chunks of "chunks"


@pytest.fixture
def server(content):
    with Server({"x.h5": content}) as server:
        yield server


def opened(server, name="x.h5", **options):
    return h5stz.open(f"{server.url}/{name}", **{"retry_wait": 0, **options})


def test_what_is_counted_is_what_the_server_sent(server, full):
    with opened(server) as file:
        assert (file.stats.requests, file.stats.bytes_fetched) == (len(server.requests), server.bytes_sent)
        view = file["chunks"]
        assert same(full["chunks"][NEAR], view[NEAR])
        assert same(full["chunks"][::4, ::4, ::4], view.level(2)[...])
        assert (file.stats.requests, file.stats.bytes_fetched) == (len(server.requests), server.bytes_sent)
        assert view.stats.bytes_read <= file.stats.bytes_fetched and view.stats.fallback_chunks == 0
        assert file.stats.seconds > 0 and not file.stats.retries
        file.stats.reset()
        assert same(full["chunks"][NEAR], file["chunks"][NEAR]) and not file.stats.requests, "a view is kept with its cache"


def test_fewer_requests_and_bytes_than_h5py_and_fsspec(server, full):
    with fsspec.filesystem("http", skip_instance_cache=True).open(f"{server.url}/x.h5") as remote, h5py.File(remote) as file:
        assert same(full["one"][CUBE], file["one"][CUBE])
    theirs = server.bytes_sent
    server.reset()
    with opened(server, block_bytes=1 << 13) as file:
        assert same(full["one"][CUBE], file["one"][CUBE])
    assert server.bytes_sent < theirs / 8
    assert len(server.requests) < 20


def test_metadata_are_fetched_in_blocks_once(server):
    with opened(server, block_bytes=1 << 12) as file:
        file.datasets()
        small = server.bytes_sent
        sent = [request[1:] for request in server.requests if request[0] == "GET"]
        assert len(sent) == len(set(sent)) > 0
        assert all(last - first < 1 << 12 or last - first + 1 > 1 << 12 for first, last in sent)
        file.datasets()
        assert server.bytes_sent == small, "blocks are kept"
    server.reset()
    with opened(server, block_bytes=1 << 20) as file:
        file.datasets()
        assert len([request for request in server.requests if request[0] == "GET"]) < len(sent)


@pytest.mark.slow
@pytest.mark.parametrize("metadata_bytes", [0, 1 << 14])
def test_little_room_for_metadata(server, full, metadata_bytes):
    with opened(server, block_bytes=4096, metadata_bytes=metadata_bytes) as file:
        assert same(full["chunks"][NEAR], file["chunks"][NEAR])
        assert len(file._source._blocks) <= max(1, metadata_bytes // 4096)


def test_ranges_that_are_near_are_one_request(server):
    with opened(server) as file:
        server.reset()
        pieces = file._source.h5stz_bytes.read_all([(100_000, 10), (5000, 20), (5000, 0), (5030, 1000), (5010, 30)])
        content = server.files["x.h5"]
        assert [bytes(piece) for piece in pieces] == [
            content[100_000:100_010], content[5000:5020], b"", content[5030:6030], content[5010:5040]
        ]  # fmt: skip
        assert sorted(server.requests) == [("GET", 5000, 6029), ("GET", 100_000, 100_009)]


def test_what_is_long_comes_in_parts(server):
    server.files["long"] = server.files["x.h5"] + bytes(20 << 20) + b"end"
    with opened(server, "long") as file:
        server.reset()
        size = len(server.files["long"])
        assert bytes(file._source.h5stz_bytes.read(0, size)) == server.files["long"]
        assert len(server.requests) == 3 + (size > 24 << 20) and server.bytes_sent == size


def test_listing(server, content, tmp_path):
    path = tmp_path / "tree.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("a/b/c", data=np.arange(6.0))
        file["a"].attrs["unit"] = "K"
        file["empty"] = h5py.Empty("f4")
        file["number"] = 3
    server.files["tree.h5"] = path.read_bytes()
    for where in (f"{server.url}/tree.h5", path, str(path), f"file://{path}"):
        with h5stz.open(where) as file:
            assert list(file) == ["a", "empty", "number"] and len(file) == 3 and "a/b" in file and "b" not in file
            assert sorted(file.datasets()) == ["a/b/c", "empty", "number"]
            assert isinstance(file["a"], h5stz.Group) and file["a"].attrs["unit"] == "K"
            assert file["a"]["b/c"] is file["/a/b/c"] and isinstance(file["a/b/c"], h5stz.View)
            assert file["a/b"].name == "/a/b" and file["a/b"].file is file and file["/"] is file
            assert same(np.arange(6.0), file["a/b/c"][...]) and file["number"][()] == 3
            assert isinstance(file["empty"], h5py.Dataset)
            assert file["a"] == file["a"] != file["a/b"]
            with pytest.raises(KeyError):
                file["no"]
            assert "tree.h5" in repr(file) and file.filename.endswith("tree.h5")
        assert file.closed
        with pytest.raises(h5stz.StzError, match="was closed"):
            file["a"]


def test_userblock_and_fallbacks(server):
    plain = np.random.default_rng(1).normal(size=(300, 300))
    stream = io.BytesIO()
    with h5py.File(stream, "w", userblock_size=4096) as file:
        file.create_dataset("gzip", data=plain, compression="gzip")
        file.create_dataset("plain", data=plain)
        file.create_dataset("ours", data=plain, chunks=(100, 100), **h5stz.STZ(lossless=True))
    server.files["x.h5"] = stream.getvalue()
    with opened(server, block_bytes=1 << 17) as file:
        for name in file:
            assert same(plain[3:200, 5:7], file[name][3:200, 5:7])
        assert file["gzip"].stats.fallback_chunks and not file["ours"].stats.fallback_chunks


def test_pickles(server, full):
    with opened(server, threads=2) as file:
        copies = pickle.loads(pickle.dumps((file, file["one"], file["one"].level(2))))
    other, view, level = copies
    assert same(full["one"][CUBE], view[CUBE]) and same(full["one"][::4, ::4, ::4], level[...])
    assert view.filename == f"{server.url}/x.h5"
    with other:
        assert same(full["chunks"][NEAR], other["chunks"][NEAR])
    h5stz.close_files()
    assert same(full["one"][CUBE], view[CUBE]), "it opens the file again"
    h5stz.close_files()
    server.files["x.h5"] = written(offset=1)
    with pytest.raises(h5stz.StzReadError, match="has changed since it was first opened"):
        view[CUBE]
    with pytest.raises(h5stz.StzReadError, match="has changed since it was first opened"):
        pickle.loads(pickle.dumps(other))


def test_dask_arrays(server, full):
    pytest.importorskip("dask.array", reason="needs Python package dask")
    with opened(server) as file:
        lazy = h5stz.dask_array(file["chunks"], level=1)
        assert lazy.name == h5stz.dask_array(pickle.loads(pickle.dumps(file["chunks"])), level=1).name
        assert same(full["chunks"][::2, ::2, ::2], lazy.compute(scheduler="threads"))
    assert same(full["chunks"][2, ::2, ::2], lazy[1].compute(scheduler="synchronous")), "it opens the file again"
    h5stz.close_files()
    server.files["x.h5"] = written(offset=1)
    with opened(server) as file:
        assert h5stz.dask_array(file["chunks"], level=1).name != lazy.name


def test_xarray(server, tmp_path):
    xarray = pytest.importorskip("xarray", reason="needs Python package xarray")
    pytest.importorskip("h5netcdf", reason="needs Python package h5netcdf")
    field = np.random.default_rng(2).normal(size=(800, 800)).astype("f4")
    h5stz.to_netcdf(xarray.Dataset({"t": (("y", "x"), field)}), tmp_path / "t.nc", absolute=1e-2)
    server.files["t.nc"] = (tmp_path / "t.nc").read_bytes()
    with xarray.open_dataset(tmp_path / "t.nc", engine="h5stz") as local:
        wanted = local.t.values
    with xarray.open_dataset(f"{server.url}/t.nc", engine="h5stz", chunks={}, storage_options={"block_size": 1 << 16}) as lazy:
        assert same(wanted[3:9, 5:8], lazy.t[3:9, 5:8].values)
        assert same(wanted[3:9, 5:8], pickle.loads(pickle.dumps(lazy)).t[3:9, 5:8].values)
    server.reset()
    with xarray.open_dataset(f"{server.url}/t.nc", engine="h5stz", level=2) as coarse:
        assert same(wanted[::4, ::4], coarse.t.values)
    assert server.bytes_sent < len(server.files["t.nc"])


class Failing:
    """Fails the requests for which `when(number)` holds, counted from 0 since it was made, then answers again."""

    def __init__(self, how, when):
        self.how, self.when, self.seen, self.failed = how, when, 0, 0

    def __call__(self, handler, *answer):
        """As `fault` of a server."""
        number, self.seen = self.seen, self.seen + 1
        if not self.when(number):
            return answer
        self.failed += 1
        return self.how(handler, *answer)


PASSING = {
    "busy": lambda _, status, content, about: (503, b"", about),
    "too many requests": lambda _, status, content, about: (429, b"", about),
    "cut off": lambda h, *answer: answer if h.command == "HEAD" else cut_off(h, *answer),
    "fewer bytes": lambda h, status, content, about: (status, content[:-1] if h.command == "GET" else content, about),
}


@pytest.mark.parametrize("how", [pytest.param(how, marks=() if how == "busy" else pytest.mark.slow) for how in PASSING])
def test_what_may_pass_is_tried_again(server, full, how):
    server.fault = Failing(PASSING[how], lambda number: number % 3 == 1)
    with opened(server, retries=8) as file:
        assert same(full["chunks"][NEAR], file["chunks"][NEAR])
        assert server.fault.failed and 0 < file.stats.retries <= server.fault.failed
        assert file.stats.bytes_fetched <= server.bytes_sent + 1


def test_so_many_times_and_no_more(server):
    for retries in (0, 3):
        with opened(server, retries=retries) as file:
            view = file["one"]
            view.stats.reset()
            server.fault = Failing(PASSING["busy"], lambda number: True)
            with pytest.raises(h5stz.StzReadError, match="503.*" if not retries else "after 4 requests.*503") as raised:
                view[CUBE]
            assert "x.h5" in str(raised.value) and isinstance(raised.value, OSError)
            server.fault = None
            assert view[CUBE].shape == (16, 16, 16), "it works again once the server does"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 416])
def test_what_will_not_pass_is_not_tried_again(server, status):
    with opened(server) as file:
        server.fault = Failing(lambda _, s, content, about: (status, b"", about), lambda number: True)
        file.stats.reset()
        with pytest.raises(h5stz.StzReadError, match=str(status) if status not in (404, 416) else "did not give|come"):
            file["one"][CUBE]
        assert file.stats.retries == (0 if status != 416 else file.stats.retries)


def test_answers_that_are_not_what_was_asked_for(server):
    with opened(server, retries=1) as file:
        view = file["one"]
        server.fault = lambda h, status, content, about: (status, h.server.files["x.h5"], about)
        with pytest.raises(h5stz.StzReadError, match="bytes received instead of"):
            view[CUBE]


def test_what_cannot_be_opened(server, tmp_path):
    server.files |= {"bad": b"nothing" * 99, "none": b"", "half.h5": server.files["x.h5"][:-5000]}
    for name, text in [
        ("no.h5", "404"),
        ("bad", "it is text"),
        ("none", "it is empty"),
        ("half.h5", "cut short, .* bytes are there"),
    ]:
        with pytest.raises(h5stz.StzReadError, match=text) as raised:
            opened(server, name)
        assert f"{server.url}/{name}" in str(raised.value)
    with pytest.raises(h5stz.StzReadError, match="Protocol not known"):
        h5stz.open("nowhere://x.h5")
    with pytest.raises(FileNotFoundError):
        h5stz.open(tmp_path / "no.h5")


@pytest.mark.parametrize("moment", ["between reads", "during a read", "while metadata are read"])
@pytest.mark.parametrize("kind", ["the same size", pytest.param("another size", marks=pytest.mark.slow)])
def test_a_file_that_changes_is_an_error(server, content, full, moment, kind):
    """Nothing of the new one is ever taken for a part of the old one."""
    other = bytearray(content)
    other[-1] ^= 1
    new = bytes(other) if kind == "the same size" else written(offset=1)

    def swap(handler, *answer):
        handler.server.files["x.h5"] = new
        return answer

    with opened(server, block_bytes=4096) as file:
        if moment == "while metadata are read":
            server.fault = Failing(swap, lambda number: number == 0)
            with pytest.raises((OSError, KeyError, RuntimeError, ValueError)) as raised:
                file["one"][CUBE]
            assert "changed while it was open" in str(raised.value) + str(raised.value.__context__)
        else:
            view = file["chunks"]
            kept = view[:20, :20, :20].copy()
            server.fault = Failing(swap, lambda number: number == (0 if moment == "between reads" else 3))
            if moment == "between reads":
                server.files["x.h5"] = new
            with pytest.raises(h5stz.StzReadError, match="changed while it was open for reading: close it and open it again"):
                view[100:, 100:, 100:]
            assert same(full["chunks"][:20, :20, :20], kept)
        server.fault = None
        server.files["x.h5"] = content
        with pytest.raises(h5stz.StzError, match="changed while it was open"):
            file["chunks"][30:, 30:, 30:]
    with opened(server) as file:
        assert same(full["chunks"][NEAR], file["chunks"][NEAR]), "opened again it is read"


OPTIONS = [
    ({"mode": "r+"}, h5stz.StzError, r"h5py.File\(path, 'r\+'\)"),
    ({"block_bytes": 0}, h5stz.StzError, "block_bytes=0 must be 1 or more"),
    ({"block_bytes": 1.5}, h5stz.StzTypeError, "must be an integer"),
    ({"metadata_bytes": -1}, h5stz.StzError, "must be 0 or more"),
    ({"cache_bytes": -1}, h5stz.StzError, "cache_bytes=-1 is negative"),
    ({"retries": -1}, h5stz.StzError, "retries=-1 must be"),
    ({"retry_wait": float("nan")}, h5stz.StzError, "retry_wait=nan must be"),
    ({"retry_wait": "1"}, h5stz.StzTypeError, "number of seconds"),
    ({"storage_options": 3}, h5stz.StzTypeError, "storage_options is of type int"),
    ({"storage": {}}, TypeError, "did you mean storage_options=?"),
]


@pytest.mark.parametrize(("options", "error", "text"), OPTIONS)
def test_options_that_mean_nothing(options, error, text):
    with pytest.raises(error, match=text):
        h5stz.open("https://127.0.0.1:1/x.h5", **options)


def test_garbage_is_collected_again(server):
    assert gc.isenabled()
    with opened(server, block_bytes=4096) as file:
        file.datasets()
        assert gc.isenabled()
        server.fault = lambda _, status, content, about: (404, b"", about)
        with pytest.raises(h5stz.StzError):
            file["one"][CUBE]
    assert gc.isenabled()


def test_damaged_chunks_of_a_remote_file(content, full):
    """Other samples have their bits; a server that fails is no damage."""
    with h5py.File(io.BytesIO(content)) as file:
        info = file["chunks"].id.get_chunk_info(1)
    broken = bytearray(content)
    broken[info.byte_offset + info.size // 2] ^= 1
    wanted = full["chunks"]
    with Server({"x.h5": bytes(broken)}) as server, opened(server) as file:
        view = h5stz.view(file["chunks"].dataset, on_error="nan")
        with pytest.warns(h5stz.DamageWarning):
            array = view[...]
        lost = np.isnan(array)
        assert 0 < lost.sum() == sum(damage.lost for damage in view.damage) < lost.size / 4
        assert np.array_equal(array[~lost], wanted[~lost])
        assert {damage.chunk for damage in view.damage} == {tuple(info.chunk_offset)}
    with Server({"x.h5": content}) as server, opened(server, retries=0) as file:
        view = h5stz.view(file["chunks"].dataset, on_error="nan", cache_bytes=0)
        server.files.clear()
        with pytest.raises(h5stz.StzError):
            view[...]
        assert view.damage == []

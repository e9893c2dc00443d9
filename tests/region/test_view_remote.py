"""h5stz.view of files behind a web server that are opened through fsspec: what is sent, and what goes wrong on the way.

Errors leave cycles behind that hold objects of h5py, and freeing those needs h5py's lock. If another thread of this process,
that of the server or of fsspec, collected them while h5py waits for its bytes, both would wait forever. So nothing is collected
during a test.
"""

import gc
import io
import threading
from contextlib import contextmanager

import h5py
import numpy as np
import pytest
from h5py._objects import phil

import h5stz
from h5stz.sources.file_objects import ObjectBytes
from support.range_servers import Server, cut_off, written
from support.region_files import agrees, same

fsspec = pytest.importorskip("fsspec", reason="needs Python package fsspec")
pytest.importorskip("aiohttp", reason="needs Python package aiohttp")

CUBE = np.s_[40:56, 40:56, 40:56]
NEAR = np.s_[62:66, 62:66, 62:66]  # in all chunks of "chunks"


@pytest.fixture(autouse=True)
def no_garbage_collection():
    """See above; what the test before has left is freed here, by the thread that may."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
    gc.collect()


@pytest.fixture(scope="module")
def full(full):
    """Of one dataset."""
    return full["one"]


@pytest.fixture
def server(content):
    with Server({"x.h5": content}) as server:
        yield server


CACHES = {
    "default": {},
    "none": {"cache_type": "none"},
    "small blocks": {"block_size": 1 << 12},
    "read ahead": {"cache_type": "readahead", "block_size": 1 << 16},
    "blocks": {"cache_type": "blockcache", "block_size": 1 << 16},
}


@contextmanager
def opened(server, name="one", **options):
    """A dataset of the file behind the server; all that h5py itself needs of the file has been sent when it begins."""
    with fsspec.filesystem("http", skip_instance_cache=True).open(f"{server.url}/x.h5", **options) as remote:
        with h5py.File(remote) as file:
            h5stz.view(file[name])._reader.index.find([(0, 0, 0)])
            server.reset()
            yield file[name]


def looked_up(dataset, **options):
    """A view that has looked its chunks up."""
    view = h5stz.view(dataset, **options)
    view._reader.index.find([(0, 0, 0)])
    return view


@pytest.mark.parametrize(
    "cache", ["default", *(pytest.param(name, marks=pytest.mark.slow) for name in CACHES if name != "default")]
)
def test_a_box_of_one_large_chunk(server, full, cache):
    with opened(server, **CACHES[cache]) as dataset:
        stored = dataset.id.get_storage_size()
        view = looked_up(dataset)
        server.reset()
        assert same(full[CUBE], view[CUBE])
        assert view.stats.bytes_read == server.bytes_sent < stored / 8
        assert view.stats.bytes_touched_chunks == stored
        assert 3 <= len([request for request in server.requests if request[0] == "GET"]) < 20
        sent = server.bytes_sent
        assert same(full[CUBE], view[CUBE])
        assert server.bytes_sent == sent == view.stats.bytes_read, "it was kept"
        assert server.requests.count(("HEAD", None, None)) == 1, "of what is not fetched the version is not asked"


def test_a_level_is_the_beginning_of_a_chunk(server, full):
    with opened(server) as dataset:
        needed = h5stz.info(dataset.id.read_direct_chunk((0, 0, 0))[1]).level_bytes
        for level in (1, 2):
            view = looked_up(dataset)
            server.reset()
            assert same(full[:: 1 << level, :: 1 << level, :: 1 << level], view.level(level)[...])
            assert server.bytes_sent == needed[level], "nothing of finer levels"


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 4])
@pytest.mark.parametrize("name", ["one", "chunks"])
def test_all_that_a_view_does(server, full, name, threads):
    with opened(server, name) as dataset:
        view = looked_up(dataset, threads=threads)
        server.reset()
        if name == "chunks":
            with h5py.File(io.BytesIO(server.files["x.h5"])) as file:
                full = file[name][...]
        assert same(full[::4, ::4, ::4], view.level(2)[...])
        assert view.stats.bytes_read == server.bytes_sent < dataset.id.get_storage_size() / 8
        steps = list(h5stz.view(dataset, threads=threads).refine(CUBE))
        assert len(steps) > 3 and same(full[CUBE], steps[-1][1]) and same(full[40:56:2, 40:56:2, 40:56:2], steps[-2][1])
        with h5stz.partial_reads(threads=threads) as stats:
            assert same(full[CUBE], dataset[CUBE])
        assert 0 < stats.bytes_read < stats.bytes_touched_chunks
        for cache_bytes in (0, 128 << 20):
            view = looked_up(dataset, threads=threads, cache_bytes=cache_bytes)
            server.reset()
            assert agrees(view, full).bytes_read == server.bytes_sent
            assert view.stats.fallback_chunks == 0


def test_chunks_are_fetched_together(server, content):
    """The requests of a round reach the server before any of them is answered, with one thread too."""
    with h5py.File(io.BytesIO(content)) as file:
        full = file["chunks"][...]
    with opened(server, "chunks") as dataset:
        view = looked_up(dataset)
        together, waiting = threading.Barrier(8, timeout=60), iter(range(8))

        def fault(handler, *answer):
            if handler.command == "GET" and next(waiting, None) is not None:
                together.wait()
            return answer

        server.reset()
        server.fault = fault
        assert same(full[NEAR], view[NEAR])
        assert not together.broken and next(waiting, None) is None
        assert len(server.requests) <= 8 + 8 * 3 + 1 + 8 * 4


@pytest.mark.parametrize("name", ["one", "chunks"])
def test_a_first_read_takes_three_rounds(server, monkeypatch, name):
    rounds, read_all = [], ObjectBytes.read_all

    def counted(self, ranges):
        rounds.extend([len(ranges)] if ranges else [])
        return read_all(self, ranges)

    with opened(server, name) as dataset:
        view = looked_up(dataset)
        server.reset()
        monkeypatch.setattr(ObjectBytes, "read_all", counted)
        view[NEAR]
        assert len(rounds) == 3
        assert sum(rounds) == [request[0] for request in server.requests].count("GET"), "nothing was asked for by itself"


def test_a_caller_may_hold_the_lock_of_h5py(server, full):
    with opened(server) as dataset, phil:
        assert same(full[CUBE], h5stz.view(dataset, threads=4)[CUBE])


def test_a_cache_that_keeps_everything_is_used(server, full, tmp_path):
    with opened(server, cache_type="all") as dataset:
        view = looked_up(dataset)
        assert same(full[CUBE], view[CUBE]) and not server.requests
        assert 0 < view.stats.bytes_read < view.stats.bytes_touched_chunks
    cached = fsspec.filesystem("blockcache", target_protocol="http", cache_storage=str(tmp_path), skip_instance_cache=True)
    with cached.open(f"{server.url}/x.h5", block_size=1 << 14) as remote, h5py.File(remote) as file:
        assert same(full[CUBE], h5stz.view(file["one"])[CUBE])
        server.reset()
        assert same(full[CUBE], h5stz.view(file["one"])[CUBE]) and not server.bytes_sent, "its blocks are on this machine"


class OneAtATime(fsspec.spec.AbstractFileSystem):
    """A file system that is not made for several threads; its files read ahead."""

    def __init__(self, content):
        super().__init__()
        self.content, self.threads, self.sent = content, set(), 0

    def info(self, path, **_):
        """Its size is all that is known of a file."""
        return {"name": path, "size": len(self.content), "type": "file"}

    def _open(self, path, mode="rb", **options):
        return OneAtATimeFile(self, path, mode, **options)


class OneAtATimeFile(fsspec.spec.AbstractBufferedFile):
    """Its files."""

    def _fetch_range(self, start, end):
        self.fs.threads.add(threading.get_ident())
        self.fs.sent += end - start
        return self.fs.content[start:end]


def test_a_file_system_for_one_thread(content, full):
    source = OneAtATime(content)
    with source.open("x.h5", block_size=1 << 20) as remote, h5py.File(remote) as file:
        view = looked_up(file["one"], threads=4)
        source.sent = 0
        assert same(full[CUBE], view[CUBE])
        assert source.threads == {threading.get_ident()}
        assert source.sent == view.stats.bytes_read < view.stats.bytes_touched_chunks / 8, "nothing is read ahead"
        source.content += b"more"
        with pytest.raises(h5stz.StzError, match="changed while it was open"):
            view[:9, :9]


FAULTS = {
    "an error of the server": (lambda _, status, content, about: (500, b"", about), "500"),
    "fewer bytes": (lambda _, status, content, about: (status, content[:-1], about), "bytes as bytes"),
    "no bytes": (lambda _, status, content, about: (416, b"", about), "gave 0 bytes"),
    "another range": (
        lambda h, status, content, about: (status, content[:0] + h.server.files["x.h5"], about),
        "bytes as bytes",
    ),
    "half an answer": (cut_off, "ClientPayloadError"),
    "no ranges": (lambda h, status, content, about: (200, h.server.files["x.h5"], {}), "support range requests"),
}


@pytest.mark.parametrize(
    "fault", [pytest.param(each, marks=() if each in ("fewer bytes", "no ranges") else pytest.mark.slow) for each in FAULTS]
)
@pytest.mark.parametrize("name", [pytest.param("one", marks=pytest.mark.slow), "chunks"])
def test_faults_on_the_way_are_errors(server, content, name, fault):
    change, text = FAULTS[fault]
    with h5py.File(io.BytesIO(content)) as file:
        wanted = file[name][NEAR]
    with opened(server, name) as dataset:
        for before in {"one": (0, 4), "chunks": (9,)}[name]:  # so many ranges come before it, in several rounds
            left = iter(range(before))

            def then(handler, *answer, left=left):
                return answer if handler.command == "HEAD" or next(left, None) is not None else change(handler, *answer)

            view = looked_up(dataset, threads=2)
            server.fault = then
            with pytest.raises(h5stz.StzError) as raised:
                view[NEAR]
            server.fault = None
            assert text in str(raised.value) and "open it again" in str(raised.value)
            assert f"/{name} in" in str(raised.value) and "x.h5" in str(raised.value)
            assert same(wanted, view[NEAR]), "it works again once the server does"


def test_a_server_that_is_gone_is_an_error(server):
    with opened(server) as dataset:
        view = looked_up(dataset)
        server.fault = lambda *_: 1 / 0
        with pytest.raises(h5stz.StzError, match="open it again") as raised:
            view[CUBE]
        assert isinstance(raised.value.__cause__.__cause__, Exception)


def test_a_file_replaced_on_the_server_is_an_error(server, content):
    """Also by one of the same size; nothing of it is ever taken for a part of the other one."""
    other = bytearray(content)
    other[-1] ^= 1
    with opened(server, "chunks") as dataset:
        view = looked_up(dataset)
        wanted = view[:20, :20, :20].copy()
        server.files["x.h5"] = bytes(other)
        assert same(wanted, view[:20, :20, :20]), "that is as it was"
        for _ in range(2):
            with pytest.raises(h5stz.StzError, match="changed while it was open for reading: close it and open it again"):
                view[100:, 100:, 100:]
        server.files["x.h5"] = content
        with pytest.raises(h5stz.StzError, match="changed while it was open"):
            view[100:, 100:, 100:]
    with opened(server, "chunks") as dataset:
        view = looked_up(dataset)
        server.files["x.h5"] = written(offset=1)
        with pytest.raises(h5stz.StzError, match="changed while it was open"):
            view[NEAR]


def test_a_version_that_cannot_be_told_any_more_is_an_error(server):
    with opened(server) as dataset:
        view = looked_up(dataset)
        gone = {"HEAD"}

        def fault(handler, status, content, about):
            unanswered = handler.command in gone or "Range" not in handler.headers
            return (404, b"", {}) if unanswered else (status, content, about)

        server.fault = fault
        with pytest.raises(h5stz.StzError, match="it is unknown whether the file has changed, FileNotFoundError"):
            view[CUBE]


def test_whole_chunks_where_the_version_cannot_be_told(server, full):
    with opened(server, size=len(server.files["x.h5"]), block_size=1 << 16):
        server.fault = lambda h, *answer: answer if "Range" in h.headers else (404, b"", {})
        fresh = fsspec.filesystem("http", skip_instance_cache=True)
        with fresh.open(f"{server.url}/x.h5", size=len(server.files["x.h5"])) as remote, h5py.File(remote) as file:
            view = h5stz.view(file["one"])
            assert same(full[CUBE], view[CUBE])
            assert view.stats.bytes_read == view.stats.bytes_touched_chunks


def test_nothing_is_left_of_a_view(server):
    before = set(threading.enumerate())
    with opened(server) as dataset:
        view = looked_up(dataset, threads=2)
        view[CUBE]
        reader = next(iter(view._reader._readers._held.values()))[0]
        assert reader._part.held == 0, "what was fetched is let go of when it has been decoded"
    del view, reader
    gc.collect()
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name.startswith("ThreadPoolExecutor")]

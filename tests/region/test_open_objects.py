"""h5stz.open of file objects that the caller has opened: of Python, fsspec over HTTP and in memory, obstore, and poor ones."""

import io
import pickle
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support import region_files
from support.range_servers import Server
from support.region_files import same
from support.requirements import needs_packages

CUBE = np.s_[40:56, 40:56, 40:56]
NEAR = np.s_[62:66, 62:66, 62:66]  # in all chunks of "chunks"


@pytest.fixture
def path(content, tmp_path):
    path = tmp_path / "x.h5"
    path.write_bytes(content)
    return path


def agree(file, full):
    """Whether what is read of a File, in parts and as levels, is that of h5py."""
    return (
        file.datasets() == ["chunks", "one"]
        and same(full["one"][CUBE], file["one"][CUBE])
        and same(full["chunks"][NEAR], file["chunks"][NEAR])
        and same(full["chunks"][::4, ::4, ::4], file["chunks"].level(2)[...])
    )


class Poor:
    """An object that has read() and seek() alone, whose seek() returns the position, and which gives little at a time."""

    def __init__(self, content, most=1000):
        file = io.BytesIO(content)
        self.seek = file.seek
        self.read = lambda size: file.read(min(size, most))


class Buffers(Poor):
    """Likewise, whose bytes come in another class with a buffer, and whose seek() returns nothing."""

    def __init__(self, content):
        super().__init__(content)
        file = io.BytesIO(content)
        self.tell = file.tell
        self.read = lambda size: memoryview(bytearray(file.read(size)))

        def seek(offset, whence=0):
            file.seek(offset, whence)

        self.seek = seek


OBJECTS = region_files.OBJECTS | {
    "read and write": lambda path: open(path, "r+b"),
    "few bytes at a time": lambda path: Poor(path.read_bytes()),
    "another class of bytes": lambda path: Buffers(path.read_bytes()),
}


@pytest.mark.parametrize("make", OBJECTS.values(), ids=OBJECTS)
def test_every_binary_object_is_read(make, path, full):
    given = make(path)
    with h5stz.open(given) as file:
        assert agree(file, full)
        assert file["one"].fallback_reason is None and file["one"].stats.fallback_chunks == 0
    assert file.closed and not getattr(given, "closed", False), "it stays the caller's"
    given.seek(0)
    assert bytes(given.read(4)) == b"\x89HDF"
    getattr(given, "close", int)()


@needs_packages("fsspec", "aiohttp")
def test_ranges_of_a_file_of_fsspec_over_http(content, full):
    import fsspec

    with Server({"x.h5": content}) as server:
        with fsspec.filesystem("http").open(f"{server.url}/x.h5", block_size=1 << 14) as given, h5stz.open(given) as file:
            server.reset()
            assert same(full["one"][CUBE], file["one"][CUBE])
            assert server.bytes_sent < len(content) / 8
            assert agree(file, full)
            assert file.filename == f"{server.url}/x.h5"


@needs_packages("obstore")
def test_files_of_obstore(path, content, full):
    import obstore
    from obstore.store import HTTPStore, LocalStore, MemoryStore

    memory = MemoryStore()
    memory.put("x.h5", content)
    stores = [memory, LocalStore(path.parent)]
    with Server({"x.h5": content}) as server:
        for store in [*stores, HTTPStore(server.url, client_options={"allow_http": True})]:
            with h5stz.open(obstore.open_reader(store, "x.h5")) as file:
                assert agree(file, full), store
                assert file.filename == "the ReadableFile object", "they do not say what they read"


@needs_packages("obstore")
@pytest.mark.parametrize("given", ["address", "file"])
def test_obstore_as_a_file_system_of_fsspec(path, content, full, given):
    """Its FsspecStore takes the place of fsspec's own file systems: for addresses, and as files."""
    from obstore.fsspec import FsspecStore

    system = FsspecStore("file")
    if given == "file":
        with system.open(str(path)) as remote, h5stz.open(remote) as file:
            assert agree(file, full)
        return
    import fsspec

    fsspec.register_implementation("obstore-file", type("Store", (FsspecStore,), {"protocol": "file"}))
    with h5stz.open(f"obstore-file://{path}") as file:
        assert agree(file, full)


def test_what_is_no_open_binary_file(path):
    with open(path, "rb") as closed:
        pass
    with pytest.raises(h5stz.StzError, match=r"x\.h5 is closed: open it"):
        h5stz.open(closed)
    with (
        open(path, encoding="latin-1") as text,
        pytest.raises(h5stz.StzTypeError, match=r"x\.h5 is open as text: .* mode 'rb'"),
    ):
        h5stz.open(text)
    with pytest.raises(h5stz.StzReadError, match=r"the BytesIO object: it is "):
        h5stz.open(io.BytesIO(b"no HDF5 file" * 9))
    with pytest.raises(h5stz.StzTypeError, match="an address, a path or an open file object is needed, not a int"):
        h5stz.open(7)
    with pytest.raises(h5stz.StzError, match="storage_options are for remote files"):
        h5stz.open(io.BytesIO(), storage_options={"anon": True})


def test_a_pipe_cannot_be_read_at_any_position():
    class Pipe(io.BytesIO):
        def seek(self, *_):
            raise io.UnsupportedOperation("seek")

    with pytest.raises(
        h5stz.StzReadError, match=r"the Pipe object cannot be read at arbitrary positions, .*: read it into io\.BytesIO"
    ):
        h5stz.open(Pipe(b""))


@needs_packages("fsspec")
def test_a_file_of_fsspec_that_is_not_open_yet(path):
    import fsspec

    with pytest.raises(h5stz.StzTypeError, match=r"this OpenFile is not open yet: write `with fsspec\.open"):
        h5stz.open(fsspec.open(f"file://{path}"))


def test_an_object_that_fails_says_so(content):
    class Failing(io.BytesIO):
        broken = False

        def read(self, size=-1):
            if self.broken:
                raise ConnectionResetError("gone")
            return super().read(size)

    given = Failing(content)
    given.broken = True
    with pytest.raises(h5stz.StzReadError, match=r"the Failing object did not give bytes 0 to 8, ConnectionResetError: gone"):
        h5stz.open(given)
    given.broken = False
    with h5stz.open(given) as file:
        view = file["one"]
        given.broken = True
        with pytest.raises(h5stz.StzReadError, match="ConnectionResetError: gone"):
            view[CUBE]
        given.broken = False
        assert view[CUBE].shape == (16, 16, 16)


ENDS = {
    "an error that nobody catches": "given.broken = True; h5stz.open(given)",
    "an error that is kept": "given.broken = True\ntry: h5stz.open(given)\nexcept ValueError as error: builtins.kept = error",
    "a file that is kept": "builtins.kept = h5stz.open(given)",
    "a file of a daemon thread": """
opened = threading.Event()
def keep():
    kept = h5stz.open(given)
    opened.set()
    threading.Event().wait()
threading.Thread(target=keep, daemon=True).start()
opened.wait()
""",
}


@pytest.mark.parametrize("end", ENDS)
def test_a_process_ends_in_order(end, path):
    """HDF5 ends after Python: what it has to ask an object of Python for must be over by then."""
    program = f"""
import builtins, io, sys, threading, h5stz
class Given(io.BytesIO):
    broken = False
    def read(self, size=-1):
        if self.broken:
            raise ConnectionResetError("gone")
        return super().read(size)
given = Given(open(sys.argv[1], "rb").read())
{ENDS[end]}
"""
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert done.returncode == (1 if "nobody" in end else 0), done
    assert ("ConnectionResetError" in done.stderr) == ("nobody" in end), done.stderr


def test_it_cannot_be_pickled(path):
    with open(path, "rb") as given, h5stz.open(given) as file:
        with pytest.raises(h5stz.StzError, match=r"which other processes cannot open again: give h5stz.open its address"):
            pickle.dumps(file)
        with pytest.raises(h5stz.StzError, match="cannot be pickled: h5py reads its file from a Python object"):
            pickle.dumps(file["one"])


def test_samples_in_other_files_are_not_looked_for(tmp_path):
    """HDF5 would look for them in the working directory, and give fill values."""
    layout = h5py.VirtualLayout((4,), "f4")
    layout[:] = h5py.VirtualSource("other.h5", "x", (4,))
    given = io.BytesIO()
    with h5py.File(given, "w") as file:
        file.create_virtual_dataset("v", layout)
    with h5stz.open(given) as file, pytest.raises(h5stz.StzError, match=r"are in other files, other\.h5"):
        file["v"]


@pytest.mark.parametrize("target", ["/T", "/none"])
def test_external_links_are_not_looked_up_in_the_same_file(tmp_path, monkeypatch, target):
    """HDF5 opens the other file with the driver of the first, which knows one file only."""
    monkeypatch.chdir(tmp_path)
    for name, value in (("main.h5", 1), ("other.h5", 2)):
        with h5py.File(name, "w") as file:
            file["T"] = np.full((4, 4), value, "f4")
    with h5py.File("main.h5", "r+") as file:
        file["link"] = h5py.ExternalLink("other.h5", target)
    content = (tmp_path / "main.h5").read_bytes()
    with Server({"main.h5": content}) as server, open("main.h5", "rb") as given:
        for source in (given, io.BytesIO(content), f"{server.url}/main.h5"):
            with h5stz.open(source) as file:
                with pytest.raises(h5stz.StzReadError, match=r"an external link leads to another file: open that file by"):
                    file["link"]
                assert file["T"][0, 0] == 1 and file.datasets() == ["T"]

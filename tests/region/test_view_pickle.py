"""Views that are pickled and copied: the same samples in another process, or an error that says what to do."""

import copy
import io
import os
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.reading import view_sources
from support.region_files import CHUNKS, opened, same, smooth, write


@pytest.fixture(autouse=True)
def no_files_left_open():
    yield
    h5stz.close_files()


def revived(view):
    return pickle.loads(pickle.dumps(view))


def test_a_view_and_its_levels_after_their_file_was_closed(path):
    with opened(path) as dataset:
        full = dataset[...]
        view = h5stz.view(dataset, cache_bytes=1 << 20, threads=2, verify=True)
        kept = [pickle.dumps(one) for one in (view, view.level(1), view.level(1, axes=1), view.level(2, (0,)).level(0, (1,)))]
    views = [pickle.loads(one) for one in kept]
    for found, wanted in zip(views, [full, full[::2, ::2], full[:, ::2], full[::4]], strict=True):
        assert "not open yet" in repr(found)
        assert same(wanted, found[...]) and same(wanted, revived(found)[...]) and same(wanted[3, ::-1], found[3, ::-1])
        assert f"in {path}" in repr(found) and found.stats.fallback_chunks == 0
        assert found.shape == wanted.shape and found.dtype == wanted.dtype and found.name == "/x"
    assert [one.axes for one in views] == [(0, 1), (0, 1), (1,), (1,)]
    assert (views[0]._threads, views[0]._reader._verify, views[0]._reader._readers.cache_bytes) == (2, True, 1 << 20)
    assert len({id(one._reader) for one in views}) == 1, "the process opens a dataset once"


PROGRAM = """
import pickle, sys
import numpy as np
view = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(np.ascontiguousarray(view[...]).tobytes())
"""


def test_another_process_in_another_directory(path, tmp_path, monkeypatch):
    """By a name that was relative, and with nothing imported but what the pickle names."""
    monkeypatch.chdir(path.parent)
    with h5py.File(path.name) as file:
        view = h5stz.view(file["x"]).level(1)
        sent, wanted = pickle.dumps(view), view[...]
    done = subprocess.run([sys.executable, "-c", PROGRAM], input=sent, cwd="/", stdout=subprocess.PIPE, check=True)
    assert done.stdout == wanted.tobytes()


def test_copies_share_the_dataset(path):
    with h5py.File(io.BytesIO(path.read_bytes())) as file:
        view = h5stz.view(file["x"]).level(1, 0)
        for one in (copy.copy(view), copy.deepcopy(view)):
            assert same(view[...], one[...]) and one.stats is view.stats and one.axes == (0,)


def refused(dataset, said):
    view = h5stz.view(dataset)
    with pytest.raises(h5stz.StzError, match=said):
        pickle.dumps(view)
    assert same(view[:9], copy.copy(view)[:9])


def test_files_that_others_cannot_open(path, tmp_path):
    with h5py.File(io.BytesIO(path.read_bytes())) as file:
        refused(file["x"], "Python object: open the file by its name")
    with opened(path, driver="core") as dataset:
        refused(dataset, "in memory .driver core.: save it")
    with opened(path, "r+") as dataset:
        refused(dataset, "close it and open it with mode 'r'")
    family = tmp_path / "f%d.h5"
    with h5py.File(family, "w", driver="family") as file:
        file.create_dataset("x", data=smooth((50, 50)), chunks=(50, 50), **h5stz.STZ(absolute=1e-2))
    with opened(family, driver="family") as dataset:
        refused(dataset, "HDF5 driver")
    with opened(path) as dataset:
        moved = path.rename(tmp_path / "moved.h5")
        refused(dataset, "was it moved")
    with opened(moved) as dataset:
        view = h5stz.view(dataset)
    with pytest.raises(h5stz.StzError, match="closed file"):
        pickle.dumps(view)


def test_a_dataset_without_a_name(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset(None, data=smooth((50, 50)))
        with pytest.raises(h5stz.StzError, match="no name"):
            pickle.dumps(h5stz.view(dataset))


def test_a_file_that_is_not_there_or_is_another_one(path, tmp_path):
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        sent = pickle.dumps(view)
    moved = path.rename(tmp_path / "moved.h5")
    with pytest.raises(h5stz.StzReadError, match="under the same name") as raised:
        pickle.loads(sent)[...]
    assert isinstance(raised.value, OSError)
    for other in (smooth((20, 20), "f8"), smooth((20, 20, 2))):
        with h5py.File(path, "w") as file:
            file["x"] = other
        with pytest.raises(h5stz.StzReadError, match="2 axes and dtype <f4"):
            pickle.loads(sent)[...]
    with h5py.File(path, "w") as file:
        file["y"] = 1
    with pytest.raises(h5stz.StzReadError, match="no dataset /x"):
        pickle.loads(sent)[...]
    os.replace(moved, path)
    assert pickle.loads(sent)[...].any()


def test_a_file_that_was_written_anew_is_opened_anew(path):
    with opened(path) as dataset:
        sent = pickle.dumps(h5stz.view(dataset))
    view = pickle.loads(sent)
    before = view[...]
    h5stz.close_files()
    with opened(path, "r+") as dataset:
        dataset[...] = before + 50
    assert abs(view[...] - before - 50).max() <= 2e-3, "files are opened again after close_files()"
    other = write(path.with_name("y.h5"), before, CHUNKS)
    os.replace(other, path)
    assert abs(view[...] - before).max() <= 2e-2, "and if another file has taken their place"


def test_nothing_is_left_open_with_the_last_view(path, tmp_path):
    """Files that were used last are kept, so many and no more."""
    with opened(path) as dataset:
        sent = pickle.dumps(h5stz.view(dataset))
    view = pickle.loads(sent)
    view[3]
    for i in range(16):
        with opened(write(tmp_path / f"{i}.h5", smooth((8, 8)), (8, 8))) as dataset:
            revived(h5stz.view(dataset))[...]
    assert view[4].any(), "it has a view"
    del view
    for i in range(16):
        with h5py.File(tmp_path / f"{i}.h5") as file:
            revived(h5stz.view(file["x"]))[...]
    with h5py.File(path, "r+") as file:
        file["x"][3, 4] = 5


def test_threads_open_a_file_together(path):
    with opened(path) as dataset:
        full, sent = dataset[...], pickle.dumps(h5stz.view(dataset).level(1))
    together = threading.Barrier(6)

    def read(_):
        view = pickle.loads(sent)
        together.wait()
        return same(full[::2, ::2], view[...])

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(read, range(6)))


def test_after_a_fork(path):
    """Also while another thread of the parent, which the child does not have, opens files or reads."""
    with opened(path) as dataset:
        full, view = dataset[...], revived(h5stz.view(dataset))
    view[3]
    held, done = threading.Event(), threading.Event()

    def hold():
        with view_sources._lock, view._reader._readers._lock:
            held.set()
            done.wait()

    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if same(full, revived(view)[...]) else 1)
    status = os.waitpid(child, 0)[1]
    done.set()
    other.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert same(full, view[...])


def test_virtual_datasets(path, tmp_path):
    with opened(path) as dataset, h5py.File(tmp_path / "virtual.h5", "w") as file:
        full, layout = dataset[...], h5py.VirtualLayout((2, *dataset.shape), "f4")
        layout[1] = h5py.VirtualSource(path.name, "x", dataset.shape)
        file.create_virtual_dataset("x", layout)
    with opened(tmp_path / "virtual.h5") as dataset:
        view = revived(h5stz.view(dataset).level(1, (1, 2)))
    assert same(np.stack([0 * full, full])[:, ::2, ::2], view[...]) and view.stats.fallback_chunks == 0


def test_a_dataset_behind_an_external_link(path, tmp_path):
    with h5py.File(tmp_path / "links.h5", "w") as file:
        file["here"] = h5py.ExternalLink(path.name, "/x")
    with h5py.File(tmp_path / "links.h5") as file:
        full, view = file["here"][...], revived(h5stz.view(file["here"]))
    assert same(full, view[...]) and view.filename == str(path)

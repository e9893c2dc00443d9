"""h5stz.read(progress=): it is told of every chunk, in the calling thread, ends with everything, and can stop the call."""

import itertools
import threading

import h5py
import numpy as np
import pytest

import h5stz
from support.written import FIELD

MANY = (8, 8, 8)
COUNT = 9 * 8 * 7  # chunks of FIELD
ROWS = 9  # of chunks
SOURCES = 2  # of the virtual dataset


class Stop(Exception):
    """Of a callback that has enough."""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("progress") / "x.h5"
    with h5py.File(path, "w") as file:
        whole = h5stz.write(file, "group/whole", FIELD, chunks=MANY, absolute=1e-2)
        h5stz.write(file, "one", FIELD, chunks=FIELD.shape, absolute=1e-2)
        sparse = file.create_dataset("sparse", FIELD.shape, "f4", chunks=MANY, fillvalue=7, **h5stz.STZ(absolute=1e-2))
        sparse[40:50] = FIELD[40:50]
        file.create_dataset("gzip", data=FIELD, chunks=MANY, compression="gzip")
        file["contiguous"] = FIELD
        layout = h5py.VirtualLayout((100, *FIELD.shape[1:]), "f4")
        layout[:70] = h5py.VirtualSource(path, "group/whole", FIELD.shape)
        layout[80:] = h5py.VirtualSource(path, "gzip", FIELD.shape)[:20]
        file.create_virtual_dataset("virtual", layout)
        assert whole.id.get_num_chunks() == COUNT
    return path


#: Dataset, mode of its file, selection, and the least number of calls.
READS = [
    ("group/whole", "r", ..., COUNT),
    ("group/whole", "r", np.s_[5:40, ::-2, 3], 5 * 8),
    ("group/whole", "r+", ..., ROWS),
    ("group/whole", "r+", np.s_[60:3:-7, 5, ::3], 7),
    ("group/whole", "r", [2, 5], 1),
    ("group/whole", "r", np.s_[3, 4, 5], 1),
    ("group/whole", "r+", np.s_[3, 4, 5], 1),
    ("group/whole", "r", np.s_[3:3], 1),
    ("one", "r", ..., 1),
    ("sparse", "r", ..., COUNT),
    ("gzip", "r", ..., ROWS),
    ("gzip", "r", np.s_[..., 7], ROWS),
    ("contiguous", "r", np.s_[::-1, 3], 1),
    ("virtual", "r", ..., COUNT + 1),
    ("virtual", "r+", ..., 1),
]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("name", "mode", "selection", "least"), READS, ids=str)
def test_progress_ends_with_everything(path, name, mode, selection, least, threads):
    told, tellers = [], set()

    def progress(*call):
        told.append(call)
        tellers.add(threading.get_ident())

    with h5py.File(path, mode) as file:
        wanted = file[name][...][selection]
        got = h5stz.read(file[name], selection, threads=threads, progress=progress)
        assert type(got) is type(wanted) and got.tobytes() == wanted.tobytes() and got.shape == wanted.shape
        if wanted.ndim:
            out = np.empty((*wanted.shape, 2), wanted.dtype)[..., 0]
            assert h5stz.read(file[name], selection, threads=threads, out=out, progress=lambda *_: None) is out
            assert out.tobytes() == wanted.tobytes()
    assert len(told) >= least and tellers == {threading.get_ident()}
    assert {(place, total) for place, _, total in told} == {(f"/{name}", wanted.nbytes)}
    assert told[-1][1] == wanted.nbytes
    assert all(one[1] <= other[1] for one, other in itertools.pairwise(told))


def test_a_contiguous_dataset_is_read_in_pieces(path, monkeypatch):
    monkeypatch.setattr("h5stz.reading.through_hdf5._ROW", 10 * FIELD[0].nbytes)
    told = []
    with h5py.File(path) as file:
        read = h5stz.read(file["contiguous"], progress=lambda *call: told.append(call[1]))
    assert read.tobytes() == FIELD.tobytes()
    assert told[:-1] == [10 * FIELD[0].nbytes * (number + 1) for number in range(7)]


@pytest.mark.parametrize("given", [False, True], ids=["new", "out"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("name", "mode", "after"),
    [("group/whole", "r", 100), ("group/whole", "r+", 4), ("sparse", "r", 100), ("gzip", "r", 4), ("virtual", "r", 100)],
)
def test_progress_can_stop_the_call(path, name, mode, after, threads, given):
    calls = []

    def progress(*call):
        calls.append(call)
        if len(calls) == after:
            raise Stop

    with h5py.File(path, mode) as file:
        dataset = file[name]
        out = np.zeros(dataset.shape, "f4") if given else None
        with pytest.raises(Stop):
            h5stz.read(dataset, threads=threads, out=out, progress=progress)
        assert len(calls) == after and calls[-1][1] < dataset.nbytes
        assert not [thread for thread in threading.enumerate() if thread.name == "h5stz"]
        again = h5stz.read(dataset, threads=threads, out=out)
        assert again.tobytes() == dataset[...].tobytes() and (out is None or again is out)


def test_an_error_of_the_callback_keeps_its_message(path):
    """Errors of h5stz get the place of the chunk added; those of the callback do not."""

    def progress(*call):
        raise h5stz.StzError("enough", 1)

    with h5py.File(path) as file, pytest.raises(h5stz.StzError, match=r"^enough$"):
        h5stz.read(file["group/whole"], threads=2, progress=progress)

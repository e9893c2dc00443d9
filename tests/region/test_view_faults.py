"""Files that change under h5stz.view, and chunks that are no streams of their dataset; what a view holds open."""

import io
import os
import shutil
import subprocess
import sys

import pytest

import h5stz
from support.region_files import CHUNKS, opened, overwrite, same, smooth, write

SOURCES = {
    "file": opened,
    "core": lambda path: opened(path, driver="core"),
    "object": lambda path: opened(io.BytesIO(path.read_bytes())),
}


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


def test_a_file_changed_in_place_that_has_the_same_size_is_an_error(path):
    with opened(path) as dataset:
        view = h5stz.view(dataset)
        view[0, 0]
        overwrite(path, path.stat().st_size - 1, b"\1")
        os.utime(path, ns=(1, 1))
        with pytest.raises(h5stz.StzError, match="open it again"):
            view[100:, 200:]


def test_a_file_replaced_by_another_one_is_read_as_it_was(path, tmp_path, original):
    other = write(tmp_path / "other.h5", original + 1, CHUNKS)
    with opened(path) as dataset:
        full, view = dataset[...], h5stz.view(dataset)
        os.replace(other, path)
        assert same(full, view[...])


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize(
    "other",
    [smooth((128, 127)), smooth((128, 128), "f8"), smooth((128, 128), ">f4"), smooth((128,))],
    ids=lambda a: f"{a.shape}{a.dtype.str}",
)
def test_a_stream_of_another_array_is_an_error(path, other, source):
    with opened(path, "r+") as dataset:
        dataset.id.write_direct_chunk((0, 0), h5stz.compress(other, absolute=1e-3))
    with source(path) as dataset:
        with pytest.raises(h5stz.StzError, match="as the dataset says"):
            h5stz.view(dataset)[3, 4]


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_what_is_no_stream_is_an_error_of_hdf5(path, source):
    with opened(path, "r+") as dataset:
        dataset.id.write_direct_chunk((0, 0), b"no stream at all, just some text")
    with source(path) as dataset, pytest.raises(OSError, match="h5stz"):
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

"""`h5stz verify`, H5STZ_VERIFY and `h5stz info`: content checks of the chunks in HDF5 files."""

import os
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from support import cases
from support.patched_streams import without_trailer
from support.stream_bytes import with_crc


def command(*words, **environment):
    words = [sys.executable, "-m", "h5stz", *map(str, words)]
    return subprocess.run(words, capture_output=True, text=True, env=os.environ | environment, timeout=100)


@pytest.fixture
def file(tmp_path):
    """A file with chunks of every kind; the second chunk of /x decodes to something else than its writer saw."""
    path = tmp_path / "file.h5"
    array = cases.make("rough", (40, 50), "f4")
    with h5py.File(path, "w") as made:
        x = made.create_dataset("x", data=array, chunks=(20, 25), **h5stz.STZ(absolute=2.0, fill_value=False))
        made.create_dataset("group/plain", data=array, chunks=(20, 25), **h5stz.STZ(absolute=2.0, content_check=False))
        constant = made.create_dataset("constant", data=np.ones((40, 50)), chunks=(20, 25), **h5stz.STZ(lossless=True))
        constant.id.write_direct_chunk((0, 0), bytes(20 * 25 * 8), filter_mask=1)  # raw, without the filter
        made.create_dataset("empty", shape=(40,), chunks=(20,), dtype="f4", **h5stz.STZ(lossless=True))
        made.create_dataset("other", data=array)
        x.id.flush()
        _, stream = x.id.read_direct_chunk((0, 25))
        trailer = stream[len(without_trailer(stream)) : -4]
        x.id.write_direct_chunk((0, 25), without_trailer(stream) + with_crc(trailer[:-4] + b"\1\2\3\4"))
    return path


def sound(path):
    """The file with the damaged chunk written again."""
    with h5py.File(path, "r+") as made:
        made["x"][:20, 25:] = cases.make("smooth", (20, 25), "f4")
    return path


def test_what_is_found(file):
    done = command("verify", file)
    assert done.returncode == 1 and not done.stderr
    lines = dict(
        line.removeprefix(f"{file}: ").split(": ", 1) for line in done.stdout.splitlines() if line.startswith(str(file))
    )
    assert lines == {
        "/constant": "0 chunks checked, 4 without a content check, 0 damaged",
        "/empty": "0 chunks checked, 0 without a content check, 0 damaged",
        "/group/plain": "0 chunks checked, 4 without a content check, 0 damaged",
        "/x": "3 chunks checked, 0 without a content check, 1 damaged",
    }
    with h5py.File(file) as opened:
        place = opened["x"].id.get_chunk_info_by_coord((0, 25))
    (damaged,) = (line for line in done.stdout.splitlines() if line.startswith("  damaged"))
    assert f"the chunk at (0, 25), {place.size} bytes from byte {place.byte_offset} on: the decoded values are not" in damaged


def test_a_sound_file(file):
    done = command("verify", "--threads", 2, sound(file))
    assert done.returncode == 0 and "4 chunks checked, 0 without a content check, 0 damaged" in done.stdout


def test_chunks_that_are_no_streams_or_of_another_array(file):
    with h5py.File(sound(file), "r+") as made:
        made["x"].id.write_direct_chunk((20, 0), b"junk")
        made["x"].id.write_direct_chunk((20, 25), h5stz.compress(np.zeros((2, 2**20), "f4"), lossless=True))
    done = command("verify", file)
    assert done.returncode == 1
    assert "the chunk at (20, 0)" in done.stdout and "no h5stz stream" in done.stdout
    assert "the chunk at (20, 25)" in done.stdout and "holds an array of shape (2, 1048576)" in done.stdout


def test_files_that_cannot_be_read(tmp_path, file):
    (tmp_path / "text").write_text("no HDF5")
    done = command("verify", tmp_path / "missing", tmp_path / "text", sound(file))
    assert done.returncode == 1
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == [str(tmp_path / "missing"), str(tmp_path / "text")]
    assert "/x: 4 chunks checked" in done.stdout


def test_a_file_without_compressed_datasets(tmp_path):
    with h5py.File(tmp_path / "plain.h5", "w") as made:
        made["x"] = np.zeros(3)
    done = command("verify", tmp_path / "plain.h5")
    assert (done.returncode, done.stdout.split(": ")[1]) == (0, "1 datasets, none compressed with h5stz\n")


def test_info_says_whether_there_are_checks(file):
    said = command("info", file).stdout
    assert said.count("content checks: in 4 of 4 chunks") == 1  # /x
    assert said.count("content checks: in 0 of 4 chunks") == 2 and said.count("content checks: in 0 of 0 chunks") == 1


READ = "import h5py, sys, h5stz\nwith h5py.File(sys.argv[1]) as file:\n    print(file['x'][...].shape)\n"


@pytest.mark.parametrize(("value", "fails"), [("1", True), ("0", False), ("", False), ("yes", False)])
def test_the_filter_checks_if_it_is_told_to(file, value, fails):
    words = [sys.executable, "-c", READ, str(file)]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"H5STZ_VERIFY": value}, timeout=100)
    assert (done.returncode != 0) == fails, done.stderr
    assert ("the decoded values are not those that the writer saw" in done.stderr) == fails


def test_views(file):
    with h5py.File(file) as opened:
        assert h5stz.view(opened["x"])[...].shape == (40, 50)
        for cache_bytes in (0, 1 << 20):
            view = h5stz.view(opened["x"], verify=True, cache_bytes=cache_bytes)
            assert view[20:].shape == (20, 50)
            for index in (np.s_[...], np.s_[:20, 25:]):
                with pytest.raises(h5stz.StzError, match=r"the chunk at \(0, 25\).*not those that the writer saw"):
                    view[index]

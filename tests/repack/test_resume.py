"""`repack(resume=True)`: what a killed run has compressed is not compressed again, and the result is that of one run."""

import os
import signal
import struct
import subprocess
import sys

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.files.spool import spool_beside
from h5stz.options.settings import Settings
from support.fields import random_field

FIELD = random_field((40, 50, 60), 4, 1).astype("f4")
OPTIONS = {"relative": 1e-3, "rechunk": (5, 50, 60)}  # 8 chunks of each dataset
KILLED = """
import os, signal, sys, h5stz
source, target, most = sys.argv[1:]
told = 0
def tell(path, done, everything):
    global told
    told += 1
    if told == int(most):
        os.kill(os.getpid(), signal.SIGKILL)
h5stz.repack(source, target, relative=1e-3, rechunk=(5, 50, 60), resume=True, progress=tell)
"""


@pytest.fixture
def source(tmp_path):
    """A file with two datasets to compress, and one that becomes larger."""
    noise = np.random.default_rng(1).integers(0, 255, (40, 50, 60), "u1")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"], file["group/y"] = FIELD, FIELD[::-1] ** 2
        file.create_dataset("noise", data=noise, chunks=noise.shape)
    return tmp_path / "a.h5"


def killed(source, target, most):
    """The spool of a run that SIGKILL ends when it has told its progress so often."""
    done = subprocess.run([sys.executable, "-c", KILLED, source, target, str(most)])
    assert done.returncode == -signal.SIGKILL and not target.exists()
    return spool_of(target)


def spool_of(target):
    return target.with_name(f".{target.name}.unfinished")


def contents(path):
    """All streams of a file."""
    found = {}
    with h5py.File(path) as file:
        for name in ("x", "group/y", "noise"):
            for index in range(file[name].id.get_num_chunks()):
                offset = file[name].id.get_chunk_info(index).chunk_offset
                found[name, offset] = file[name].id.read_direct_chunk(offset)
    return found


@pytest.fixture
def encoded(monkeypatch):
    """How many chunks were compressed: a list to which each is added."""
    counted, encode = [], Settings.encode
    monkeypatch.setattr(Settings, "encode", lambda self, *words: counted.append(1) or encode(self, *words))
    return counted


@pytest.mark.parametrize("most", [1, 11])
def test_a_run_that_was_killed(source, tmp_path, most, encoded):
    assert killed(source, tmp_path / "b.h5", most).exists()
    report = h5stz.repack(source, tmp_path / "b.h5", **OPTIONS, resume=True, jobs=2)
    assert report.resumed >= 1 and report.resumed + len(encoded) == 24 and not report.notes  # 8 of each dataset
    encoded.clear()
    plain = h5stz.repack(source, tmp_path / "c.h5", **OPTIONS)
    assert len(encoded) == 24 and plain.outcomes == report.outcomes
    assert contents(tmp_path / "b.h5") == contents(tmp_path / "c.h5")
    assert sorted(os.listdir(tmp_path)) == ["a.h5", "b.h5", "c.h5"], "neither the spool nor the killed run's part is left"


def test_it_may_be_killed_again_and_again(source, tmp_path):
    sizes = [killed(source, tmp_path / "b.h5", most).stat().st_size for most in (3, 6, 9)]
    assert sizes == sorted(set(sizes))
    assert h5stz.repack(source, tmp_path / "b.h5", **OPTIONS, resume=True).resumed >= 8


@pytest.mark.parametrize("dtype", ["?", ">f4", "f2", "c16", "i2", "enum"])
def test_types(tmp_path, dtype, encoded):
    data = (100 * FIELD).astype("i2" if dtype == "enum" else dtype)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        given = h5py.enum_dtype({"a": 1, "b": 2}, "i2") if dtype == "enum" else data.dtype
        file.create_dataset("x", data=data, dtype=given)

    def stop(path, done, everything):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", **OPTIONS, resume=True, progress=stop)
    encoded.clear()
    report = h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", **OPTIONS, resume=True)
    assert report.resumed == 8 - len(encoded) > 0
    assert h5stz.repack(tmp_path / "a.h5", tmp_path / "c.h5", **OPTIONS).outcomes == report.outcomes


@pytest.mark.parametrize("bound", [{"psnr": 60}, {"ratio": 20}], ids=str)
def test_bounds_that_were_searched_for_are_kept(tmp_path, bound, encoded):
    """The search compresses all of a dataset, several times."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = FIELD
        file["x"].attrs["_FillValue"] = np.float32(7)
        file["x"][0, 0, :9] = 7

    def stop(path, done, everything):
        raise KeyboardInterrupt

    options = {**bound, "rechunk": (5, 50, 60), "resume": True}
    with pytest.raises(KeyboardInterrupt):
        h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", **options, progress=stop)
    encoded.clear()
    report = h5stz.repack(tmp_path / "a.h5", tmp_path / "b.h5", **options)
    assert len(encoded) == 8 - report.resumed <= 7
    plain = h5stz.repack(tmp_path / "a.h5", tmp_path / "c.h5", **bound, rechunk=(5, 50, 60))
    assert plain.outcomes == report.outcomes and len(encoded) > 15
    with h5py.File(tmp_path / "b.h5") as made, h5py.File(tmp_path / "c.h5") as other:
        assert made["x"][...].tobytes() == other["x"][...].tobytes()


@pytest.mark.parametrize("damage", ["cut", "flipped", "header"])
def test_a_torn_tail_is_dropped(source, tmp_path, damage, encoded):
    spool = killed(source, tmp_path / "b.h5", 14)  # within /x, after /noise, which is not compressed in the end
    content = spool.read_bytes()
    if damage == "cut":
        spool.write_bytes(content[:-7])
    elif damage == "flipped":
        spool.write_bytes(content[:-7] + bytes([content[-7] ^ 1]) + content[-6:])
    else:
        spool.write_bytes(content + struct.pack("<IHHQ", 1, 1, 3, 1 << 60))
    report = h5stz.repack(source, tmp_path / "b.h5", **OPTIONS, resume=True)
    assert report.resumed + len(encoded) == 24 and report.resumed >= 11
    h5stz.repack(source, tmp_path / "c.h5", **OPTIONS)
    assert contents(tmp_path / "b.h5") == contents(tmp_path / "c.h5")


@pytest.mark.parametrize("what", ["options", "chunks", "source"])
def test_what_was_of_another_run_is_not_taken(source, tmp_path, what):
    spool, options = killed(source, tmp_path / "b.h5", 8), dict(OPTIONS)
    if what == "options":
        options["relative"] = 1e-4
    elif what == "chunks":
        options["rechunk"] = (10, 50, 60)
    else:
        with h5py.File(source, "a") as file:
            file["x"][0] = 0
    report = h5stz.repack(source, tmp_path / "b.h5", **options, resume=True)
    assert report.resumed == 0 and [note for note in report.notes if "anew" in note]
    h5stz.repack(source, tmp_path / "c.h5", **options)
    assert contents(tmp_path / "b.h5") == contents(tmp_path / "c.h5") and not spool.exists()


def test_a_file_of_somebody_else_with_the_name_of_a_spool(source, tmp_path):
    spool_of(tmp_path / "b.h5").write_bytes(b"mine")
    with pytest.raises(h5stz.StzError, match="is no file of an unfinished run"):
        h5stz.repack(source, tmp_path / "b.h5", **OPTIONS, resume=True)
    assert spool_of(tmp_path / "b.h5").read_bytes() == b"mine"


def test_errors_leave_what_is_done(source, tmp_path):
    """One that ends a run in the middle; and those before anything is done, which leave no file."""
    target = tmp_path / "b.h5"

    def stop(path, done, everything):
        if done > FIELD.nbytes:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        h5stz.repack(source, target, **OPTIONS, resume=True, progress=stop)
    (note,) = raised.value.__notes__
    assert note.startswith(f"{spool_of(target)} keeps what was compressed: run the same with resume=True to go on")
    assert sorted(os.listdir(tmp_path)) == [spool_of(target).name, "a.h5"]
    with pytest.raises(h5stz.StzError, match="another run is making"), spool_beside(target, "key"):
        h5stz.repack(source, target, **OPTIONS, resume=True)
    spool_of(target).unlink(missing_ok=True)
    target.write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        h5stz.repack(source, target, **OPTIONS, resume=True)
    assert sorted(os.listdir(tmp_path)) == ["a.h5", "b.h5"]


def test_streams_that_break_the_bound_are_not_kept(source, tmp_path, monkeypatch):
    encode = Settings.encode
    monkeypatch.setattr(Settings, "encode", lambda self, array, *others: encode(self, array + 1, *others))
    with pytest.raises(h5stz.StzError, match="bound"):
        h5stz.repack(source, tmp_path / "b.h5", **OPTIONS, resume=True)
    assert os.listdir(tmp_path) == ["a.h5"]


def test_the_command(source, tmp_path):
    killed(source, tmp_path / "b.h5", 8)
    words = ["compress", source, tmp_path / "b.h5", "--relative", "1e-3", "--chunks", "5,50,60", "--resume"]
    done = subprocess.run([sys.executable, "-m", "h5stz", *words], capture_output=True, text=True)
    assert done.returncode == 0 and "chunks had been compressed by an unfinished run\n" in done.stdout

"""`h5stz verify`, H5STZ_VERIFY and `h5stz info`: content checks of the chunks in HDF5 files."""

import json

import h5py
import numpy as np
import pytest

import h5stz
from support import cases
from support.commands import run
from support.damaged_files import with_bytes_changed
from support.patched_streams import without_trailer
from support.stream_bytes import with_crc


@pytest.fixture
def file(tmp_path):
    """A file with chunks of every kind; the second chunk of /x decodes to something else than its writer saw."""
    path = tmp_path / "file.h5"
    array = cases.make("rough", (40, 50), "f4")
    with h5py.File(path, "w") as made:
        x = made.create_dataset(
            "x", data=array, chunks=(20, 25), **h5stz.STZ(absolute=2.0, fill_value=False, content_check=True)
        )
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
    done = run("verify", file)
    cure = f"get the file again, or h5stz salvage {file} OUT copies the readable parts"
    assert (done.status, done.err) == (1, f"h5stz: {file}: 1 damaged chunk in 1 dataset: {cure}\n")
    assert run("verify", file, "--json").err == done.err
    lines = dict(line.removeprefix(f"{file}: ").split(": ", 1) for line in done.out.splitlines() if line.startswith(str(file)))
    assert lines == {
        "/constant": "3 chunks decoded, 3 compared with content checks, 1 not decoded (stored without h5stz)",
        "/empty": "0 chunks decoded, 0 compared with content checks: no chunk is stored",
        "/group/plain": "4 chunks decoded, 0 compared with content checks (written without checks: 4)",
        "/x": "3 chunks decoded, 3 compared with content checks, 1 damaged",
    }
    with h5py.File(file) as opened:
        place = opened["x"].id.get_chunk_info_by_coord((0, 25))
    (damaged,) = (line for line in done.out.splitlines() if line.startswith("  damaged"))
    assert f"the chunk at (0, 25), {place.size} bytes from byte {place.byte_offset} on: the decoded values are not" in damaged


def test_a_sound_file(file):
    done = run("verify", "--threads", 2, sound(file))
    assert done.status == 0 and "/x: 4 chunks decoded, 4 compared with content checks\n" in done.out


def test_chunks_that_are_no_streams_or_of_another_array(file):
    with h5py.File(sound(file), "r+") as made:
        made["x"].id.write_direct_chunk((20, 0), b"junk")
        made["x"].id.write_direct_chunk((20, 25), h5stz.compress(np.zeros((2, 2**20), "f4"), lossless=True))
    done = run("verify", file)
    assert done.status == 1
    assert "the chunk at (20, 0)" in done.out and "not an h5stz stream" in done.out
    assert "the chunk at (20, 25)" in done.out and "holds an array of shape (2, 1048576)" in done.out


def test_files_that_cannot_be_read(tmp_path, file):
    (tmp_path / "text").write_text("no HDF5")
    done = run("verify", tmp_path / "missing", tmp_path / "text", sound(file))
    assert done.status == 1
    assert [line.split(": ")[1] for line in done.err.splitlines()] == [str(tmp_path / "missing"), str(tmp_path / "text")]
    assert "/x: 4 chunks decoded" in done.out


@pytest.mark.parametrize("damage", [None, "bytes", "values"])
def test_chunks_with_another_filter_behind(tmp_path, damage):
    """`values`: the checksums of both filters are right, and only the content check is not."""
    path, array = tmp_path / "file.h5", cases.make("rough", (40, 50), "f4")
    with h5py.File(path, "w") as made:
        x = made.create_dataset(
            "x", data=array, chunks=(20, 30), fletcher32=True, **h5stz.STZ(absolute=2.0, content_check=True)
        )
        x.id.flush()
        place = x.id.get_chunk_info_by_coord((0, 30))
        if damage == "values":
            stream = x.id.read_direct_chunk((0, 30))[1][:-4]
            trailer = stream[len(without_trailer(stream)) : -4]
            forged = without_trailer(stream) + with_crc(trailer[:-4] + b"\1\2\3\4")
            x.id.write_direct_chunk((0, 30), forged, filter_mask=2)  # without that checksum
    if damage == "bytes":
        content = bytearray(path.read_bytes())
        content[place.byte_offset + place.size // 2] ^= 0xFF
        path.write_bytes(content)
    done = run("verify", path, H5STZ_VERIFY="0")
    assert done.status == (damage is not None) == ("1 damaged chunk in 1 dataset" in done.err)
    decoded = 3 if damage else 4
    assert f"/x: {decoded} chunks decoded by HDF5, as other filters follow" in done.out
    assert ("the chunk at (0, 30)" in done.out) == (damage is not None)
    said = run("info", path)
    assert said.status == 0 and "content checks: not known, as other filters follow h5stz" in said.out


def test_info_finds_damaged_headers_of_chunks(tmp_path):
    """Whichever of its first bytes is damaged, and chunks behind the end of the file; it tells of the others too."""
    path, field = tmp_path / "a.h5", cases.make("smooth", (96, 32), "f4")
    with h5py.File(path, "w") as made:
        for name in ("x", "y"):
            made.create_dataset(name, data=field, chunks=(16, 32), **h5stz.STZ(absolute=1e-3, layers=2))
        made.flush()
        places = [made["x"].id.get_chunk_info(number).byte_offset for number in range(6)]
    content = path.read_bytes()
    for byte in range(12):
        path.write_bytes(content)
        with_bytes_changed(path, [places[1] + byte])
        status, out, err = run("info", path)
        told = f"damaged: the chunk at (16, 0) of /x in {path}: "
        cure = f"get the file again, or h5stz salvage {path} OUT copies the readable parts"
        assert (status, err) == (1, f"h5stz: {path}: 1 damaged chunk in 1 dataset: {cure}\n")
        (line,) = (line for line in out.splitlines() if " damaged: " in line)
        assert told in line and line.endswith(cure)
        assert out.count("precision layers: 2") == 2
    with_bytes_changed(path, [place + 1 for place in places[2:]])
    status, out, err = run("info", path)
    assert status == 1 and "5 damaged chunks in 1 dataset" in err
    assert out.count("damaged: the chunk at") == 3 and "damaged: 2 more chunks" in out
    (found,) = json.loads(run("info", path, "--json", "--dataset", "x").out)["files"]
    facts = found["datasets"][0]["compression"]["first_chunks"]
    assert len(facts["damaged_chunks"]) == 5 and facts["damaged"] == facts["damaged_chunks"][0] and facts["looked_at"] == 6
    path.write_bytes(content[: places[5]])
    entry = content.index(places[1].to_bytes(8, "little"))
    path.write_bytes(content[:entry] + (len(content) + 999).to_bytes(8, "little") + content[entry + 8 :])
    status, out, err = run("info", path)
    assert status == 1 and f"the chunk at (16, 0) of /x in {path} cannot be read: it lies beyond the end" in out


def test_links_and_virtual_datasets_are_named(tmp_path, file):
    path = tmp_path / "links.h5"
    layout = h5py.VirtualLayout((40, 50), "f4")
    layout[:] = h5py.VirtualSource("file.h5", "x", (40, 50))
    with h5py.File(path, "w") as made:
        made.create_virtual_dataset("virtual", layout)
        made["group/out"] = h5py.ExternalLink("file.h5", "/x")
        made["out"] = h5py.ExternalLink("file.h5", "/x")
    done = run("verify", path)
    assert done.status == 0 and not done.err
    assert done.out.splitlines() == [
        f"{path}: /virtual: virtual: verify its source files: file.h5",
        f"{path}: /out: a link to another file: verify file.h5",
        f"{path}: /group/out: a link to another file: verify file.h5",
    ]


def test_a_file_without_compressed_datasets(tmp_path):
    with h5py.File(tmp_path / "plain.h5", "w") as made:
        made["x"] = np.zeros(3)
    done = run("verify", tmp_path / "plain.h5")
    assert (done.status, done.out.split(": ")[1]) == (0, "1 dataset, none compressed with h5stz\n")


def test_info_says_whether_there_are_checks(file):
    said = run("info", file).out
    assert said.count("content checks: in 3 of 3 first chunks") == 1  # /x
    assert said.count("content checks: in 0 of 3 first chunks") == 2 and said.count("content checks: in 0 of 0 chunks") == 1


@pytest.mark.parametrize(("value", "fails"), [("1", True), ("0", False), ("", False), ("yes", False)])
def test_the_filter_checks_if_it_is_told_to(file, value, fails, monkeypatch):
    monkeypatch.setenv("H5STZ_VERIFY", value)
    with h5py.File(file) as opened:
        if not fails:
            assert opened["x"][...].shape == (40, 50)
            return
        with pytest.raises(OSError):
            opened["x"][...]
        assert "the decoded values are not those that the writer saw" in h5stz.last_error()


def test_views(file):
    with h5py.File(file) as opened:
        assert h5stz.view(opened["x"])[...].shape == (40, 50)
        for cache_bytes in (0, 1 << 20):
            view = h5stz.view(opened["x"], verify=True, cache_bytes=cache_bytes)
            assert view[20:].shape == (20, 50)
            for index in (np.s_[...], np.s_[:20, 25:]):
                with pytest.raises(h5stz.StzError, match=r"the chunk at \(0, 25\).*not those that the writer saw"):
                    view[index]

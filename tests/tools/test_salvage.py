"""`h5stz salvage` and `h5stz verify` of damaged files: what is whole is copied with its bits, and everything else is listed."""

import json
import re

import h5py
import numpy as np
import pytest

import h5stz
from support import boxes, cases
from support.commands import run
from support.patched_streams import with_wrong_check
from support.requirements import needs_packages


@pytest.fixture
def file(tmp_path):
    """A file with datasets of several kinds."""
    path = tmp_path / "run.h5"
    with h5py.File(path, "w") as made:
        flow = made.create_group("flow")
        flow.attrs["units"] = "m/s"
        array = cases.make("rough", (70, 64, 66), "f4")
        flow.create_dataset("u", data=array, chunks=(40, 64, 66), **h5stz.STZ(absolute=5.0, block="region"))
        flow["u"].attrs["long_name"] = "velocity"
        made.create_dataset(
            "counts", data=cases.make("rough", (3000,), "i4"), chunks=(1000,), fillvalue=-1, **h5stz.STZ(lossless=True)
        )
        made.create_dataset("checked", data=np.arange(5000.0), chunks=(1000,), fletcher32=True, **h5stz.STZ(absolute=0.1))
        made["plain"] = np.arange(10)
        made["link"] = h5py.SoftLink("/flow/u")
    return path


def read(path):
    """{path of a dataset: its samples}."""
    found = {}
    with h5py.File(path) as opened:
        opened.visititems(lambda name, item: found.update({name: item[...]}) if isinstance(item, h5py.Dataset) else None)
    return found


def places(path, name):
    """(offset, address, size) of the chunks of a dataset."""
    with h5py.File(path) as opened:
        infos = [opened[name].id.get_chunk_info(k) for k in range(opened[name].id.get_num_chunks())]
    return [(info.chunk_offset, info.byte_offset, info.size) for info in infos]


def flipped(path, *at):
    content = bytearray(path.read_bytes())
    for place in at:
        content[place] ^= 0x10
    path.write_bytes(content)


def end_of_level_0(path, name, number):
    """The place of a byte of the last block of a chunk."""
    offset, address, _ = places(path, name)[number]
    with h5py.File(path) as opened:
        info = h5stz.info(opened[name].id.read_direct_chunk(offset)[1])
    return address + info.level_bytes[0] - (9 if not info.content_check else 300)


def test_a_whole_file(file, tmp_path):
    before = read(file)
    done = run("salvage", file, tmp_path / "copy.h5")
    assert (done.status, done.err) == (0, ""), done.err
    assert done.out.splitlines() == [
        "/checked: whole",
        "/counts: whole",
        "/flow/u: whole",
        "not checked: 1 dataset not compressed with h5stz, copied as stored: /plain",
        "nothing that was checked is damaged",
    ]
    after = read(tmp_path / "copy.h5")
    assert all(before[name].tobytes() == after[name].tobytes() for name in before) and before.keys() == after.keys()
    with h5py.File(file) as one, h5py.File(tmp_path / "copy.h5") as other:
        assert other["link"].attrs["long_name"] == "velocity" and other["flow"].attrs["units"] == "m/s"
        chunk = one["flow/u"].id.read_direct_chunk((0, 0, 0))
        assert other["flow/u"].id.read_direct_chunk((0, 0, 0)) == chunk, "stored as it was"
        assert not other["flow/u"].attrs.get("h5stz_damage")


def test_what_is_whole_is_copied(file, tmp_path):
    before = read(file)
    _, counts, _ = places(file, "counts")[1]
    _, checked, size = places(file, "checked")[2]
    flipped(file, end_of_level_0(file, "flow/u", 0), counts + 2, checked + size // 2)
    done = run("salvage", file, tmp_path / "copy.h5", "--json")
    copy = tmp_path / "copy.h5"
    told = json.loads(done.out)
    lost = sum(one["lost"] for found in told["damaged"].values() for one in found)
    assert (done.status, done.err) == (1, f"h5stz: {file}: {lost} samples of 3 datasets lost: {copy} has all else\n")
    assert not told["sound"] and not told["whole"] and not told["lost"] and told["copied"] == ["/plain"]
    assert {path: [one["chunk"] for one in found] for path, found in told["damaged"].items()} == {
        "/checked": [[2000]],
        "/counts": [[1000]],
        "/flow/u": [[0, 0, 0]],
    }
    after = read(tmp_path / "copy.h5")
    box = told["damaged"]["/flow/u"][0]
    region = tuple(map(slice, box["start"], box["stop"]))
    is_lost = np.isnan(after["flow/u"])
    assert is_lost.sum() == box["lost"] == is_lost[region].sum() < is_lost.size / 4
    assert np.array_equal(after["flow/u"][~is_lost], before["flow/u"][~is_lost])
    assert (after["counts"][1000:2000] == -1).all() and np.isnan(after["checked"][2000:3000]).all()
    for name, cut in (("counts", slice(1000, 2000)), ("checked", slice(2000, 3000))):
        assert np.array_equal(np.delete(after[name], cut), np.delete(before[name], cut))
    with h5py.File(tmp_path / "copy.h5") as copy:
        assert copy["flow/u"].attrs["h5stz_damage"].startswith("the chunk at (0, 0, 0): level 0, block")
        stream = copy["flow/u"].id.read_direct_chunk((0, 0, 0))[1]
        assert h5stz.info(stream).mode == "lossless" and h5stz.info(stream).bound_used
    assert run("verify", tmp_path / "copy.h5").status == 0
    said = run("salvage", file, tmp_path / "copy.h5", "--overwrite", "--on-error", "-7")
    assert said.status == 1 and "/flow/u: " in said.out and "samples lost, 1 damaged part\n" in said.out
    assert (read(tmp_path / "copy.h5")["flow/u"][is_lost] == -7).all()


def test_a_file_that_was_cut_short(file, tmp_path):
    before, size = read(file), file.stat().st_size
    last = max(address + size for name in ("flow/u", "counts", "checked") for _, address, size in places(file, name))
    (_, address, length), *_ = places(file, "flow/u")[1:]
    with h5py.File(tmp_path / "late.h5", "w") as made:  # of which the largest chunk comes last
        made["small"] = np.arange(100)
        made.create_dataset("x", data=before["flow/u"], chunks=(70, 64, 66), **h5stz.STZ(absolute=5.0, block="region"))
    late = tmp_path / "late.h5"
    whole = read(late)["x"]
    (_, address, length), *_ = places(late, "x")
    content = late.read_bytes()
    (tmp_path / "cut.h5").write_bytes(content[: address + length // 2])
    with pytest.raises(OSError):
        h5py.File(tmp_path / "cut.h5")
    done = run("salvage", tmp_path / "cut.h5", tmp_path / "copy.h5")
    assert done.status == 1 and "bytes missing at the end" in done.out, done.err
    after = read(tmp_path / "copy.h5")
    is_lost = np.isnan(after["x"])
    assert np.array_equal(after["small"], np.arange(100)) and 0 < is_lost.sum() < is_lost.size
    assert np.array_equal(after["x"][~is_lost], whole[~is_lost])
    assert last <= size


def test_damaged_structures_of_hdf5(tmp_path):
    """What can be reached is copied, what cannot is named."""
    path, array = tmp_path / "x.h5", cases.make("smooth", (40000,), "f4")
    with h5py.File(path, "w") as made:
        made.create_dataset("a", data=array, chunks=(100,), **h5stz.STZ(absolute=1.0))
        made.create_dataset("b/c", data=array, chunks=(5000,), **h5stz.STZ(absolute=1.0))
        made["d"] = np.arange(10)
    before, content = read(path), path.read_bytes()
    nodes = [at for at in range(len(content)) if content.startswith(b"TREE\x01\x00", at)]
    with h5py.File(path) as opened:
        header = h5py.h5o.get_info(opened["b/c"].id).addr
    flipped(path, nodes[2], header)
    done = run("salvage", path, tmp_path / "copy.h5")
    assert done.status == 1
    assert any(line.startswith("h5stz: lost: /b/c: all of it: ") for line in done.err.splitlines()), done.err
    after = read(tmp_path / "copy.h5")
    assert np.array_equal(after["d"], before["d"])
    is_lost = np.isnan(after["a"])
    assert 0 < is_lost.sum() < is_lost.size / 2 and np.array_equal(after["a"][~is_lost], before["a"][~is_lost])
    with h5py.File(tmp_path / "copy.h5") as copy:
        assert "/b/c: all of it" in copy.attrs["h5stz_damage"]
    said = run("verify", path)
    assert said.status == 1 and "/a: " in said.out and "damaged: the chunk at (" in said.out


def test_verify_names_blocks_and_elements(file):
    flipped(file, end_of_level_0(file, "flow/u", 1))
    done = run("verify", file)
    cure = f"get the file again, or h5stz salvage {file} OUT copies the readable parts"
    assert (done.status, done.err) == (1, f"h5stz: {file}: 1 damaged chunk in 1 dataset: {cure}\n")
    lines = done.out.splitlines()
    at = next(number for number, line in enumerate(lines) if "damaged: the chunk at (40, 0, 0)" in line)
    assert lines[at + 1].startswith("    level 0, block ") and ": elements [" in lines[at + 1] and "checksum" in lines[at + 1]
    assert f"{file}: /counts: 3 chunks decoded" in done.out, "it goes on to the end"
    (told,) = json.loads(run("verify", "--json", file).out)["files"]
    (chunk,) = next(one for one in told["datasets"] if one["path"] == "/flow/u")["damaged"]
    (block,) = chunk["blocks"]
    assert chunk["chunk"] == [40, 0, 0] and block["level"] == 0 and block["patch"] is None
    assert block["stop"][0] <= 70, "of the dataset, not of the chunk, which goes on beyond it"
    with h5py.File(file) as opened, pytest.warns(h5stz.DamageWarning):
        array = h5stz.view(opened["flow/u"], on_error="nan")[...]
    lost = np.argwhere(np.isnan(array))
    assert (lost.min(axis=0) >= block["start"]).all() and (lost.max(axis=0) < block["stop"]).all()


def test_arguments(file, tmp_path):
    (tmp_path / "copy.h5").write_text("mine")
    done = run("salvage", file, tmp_path / "copy.h5")
    assert done.status == 1 and "exists" in done.err and (tmp_path / "copy.h5").read_text() == "mine"
    assert run("salvage", file, tmp_path / "other.h5", "--on-error", "what").status == 2
    assert run("salvage", tmp_path / "copy.h5", tmp_path / "other.h5").status == 1
    with pytest.raises(h5stz.StzError, match="on_error='raise' is not for salvage"):
        h5stz.salvage(file, tmp_path / "other.h5", on_error="raise")
    assert not (tmp_path / "other.h5").exists()


@needs_packages("netCDF4")
def test_netcdf(tmp_path):
    import netCDF4

    path, array = tmp_path / "x.nc", cases.make("rough", (60, 80), "f4")
    with netCDF4.Dataset(path, "w") as made:
        for name, extent in zip("yx", array.shape, strict=True):
            made.createDimension(name, extent)
        made.createVariable("plain", "f4", ("y", "x"))[:] = array
    with h5py.File(path, "r+") as made:
        scales = [made["y"], made["x"]]
        dataset = made.create_dataset("t", data=array, chunks=(30, 80), **h5stz.STZ(absolute=5.0))
        for axis, scale in enumerate(scales):
            dataset.dims[axis].attach_scale(scale)
    before = read(path)
    _, address, size = places(path, "t")[1]
    flipped(path, address + size // 2)
    assert run("salvage", path, tmp_path / "copy.nc").status == 1
    with netCDF4.Dataset(tmp_path / "copy.nc") as copy:
        assert copy["t"].dimensions == ("y", "x") and "the chunk at (30, 0)" in copy["t"].h5stz_damage
        t = np.ma.getdata(copy["t"][:])
    assert np.array_equal(t[:30], before["t"][:30]) and np.isnan(t[30:]).any()


def test_values_that_differ_from_their_check(tmp_path):
    """They are there: they are copied as they are stored, and told apart from what is lost."""
    path, whole = tmp_path / "x.h5", {}
    with h5py.File(path, "w") as made:
        for name, shape in (("blocks", (96, 90, 100)), ("one", (20, 24, 30))):
            stream, whole[name] = boxes.volume(shape, "region")
            dataset = made.create_dataset(name, shape, "f4", chunks=shape, **h5stz.STZ(absolute=1.0))
            dataset.id.write_direct_chunk((0, 0, 0), with_wrong_check(stream))
    done = run("salvage", path, tmp_path / "copy.h5")
    said = f"h5stz: {path}: values of 2 datasets differ from their content checks: {tmp_path / 'copy.h5'} has all else\n"
    assert (done.status, done.err) == (1, said)
    assert "lost" not in done.out and "nothing is damaged" not in done.out
    for name in whole:
        said = f"/{name}: the values were read, but differ from the recorded check in 1 part\n  the chunk at (0, 0, 0): "
        assert said in done.out, done.out
    told = json.loads(run("salvage", path, tmp_path / "copy.h5", "--overwrite", "--json").out)
    assert not told["sound"] and not told["whole"] and sorted(told["damaged"]) == ["/blocks", "/one"]
    assert all(part["lost"] == 0 and "differ from" in part["reason"] for found in told["damaged"].values() for part in found)
    with h5py.File(path) as one, h5py.File(tmp_path / "copy.h5") as other:
        for name, values in whole.items():
            assert np.array_equal(other[name][...], values)
            assert other[name].id.read_direct_chunk((0, 0, 0)) == one[name].id.read_direct_chunk((0, 0, 0))
            assert "differ from the recorded check" in other[name].attrs["h5stz_damage"]


def test_a_chunk_that_is_damaged_and_differs(tmp_path):
    """What is lost is lost, and no more."""
    path, shape = tmp_path / "x.h5", (96, 90, 100)
    stream, whole = boxes.volume(shape, "region")
    with h5py.File(path, "w") as made:
        dataset = made.create_dataset("x", shape, "f4", chunks=shape, **h5stz.STZ(absolute=1.0))
        dataset.id.write_direct_chunk((0, 0, 0), with_wrong_check(stream))
    info = h5stz.info(stream)
    _, address, _ = places(path, "x")[0]
    flipped(path, address + (info.level_bytes[0] + info.level_bytes[1]) // 2)
    done = h5stz.salvage(path, tmp_path / "copy.h5")
    lost, differing = done.damaged["/x"]
    array = read(tmp_path / "copy.h5")["x"]
    assert np.isnan(array).sum() == lost.lost > 0 == differing.lost and lost.block != differing.block and not done.sound
    assert np.array_equal(array[~np.isnan(array)], whole[~np.isnan(array)])


def test_reasons_are_sentences(tmp_path):
    """Whatever structure of HDF5 is damaged, none of HDF5's own texts is printed."""
    path, array = tmp_path / "x.h5", cases.make("smooth", (40000,), "f4")
    with h5py.File(path, "w") as made:
        made.create_dataset("a/b", data=array, chunks=(5000,), **h5stz.STZ(absolute=1.0))
        made.create_dataset("c", data=array, chunks=(5000,), fletcher32=True, **h5stz.STZ(absolute=1.0))
        made["d"] = np.arange(10)
        made["d"].attrs["unit"] = "K"
    content = path.read_bytes()
    with h5py.File(path) as opened:
        headers = [h5py.h5o.get_info(opened[name].id).addr for name in ("a/b", "c", "d")]
    marks = [at for mark in (b"TREE", b"SNOD", b"HEAP", b"unit") for at in range(len(content)) if content.startswith(mark, at)]
    _, address, size = places(path, "c")[2]
    cuts = [content[: len(content) * share // 8] for share in (5, 6, 7)]
    flips = [content[:at] + b"\x1f\x2f\x3f\x4f" + content[at + 4 :] for at in (*headers, *marks, address + size // 2)]
    for number, damaged in enumerate((*cuts, *flips)):
        path.write_bytes(damaged)
        done = run("salvage", path, tmp_path / f"{number}.h5")
        for line in done.out.splitlines() + done.err.splitlines():
            assert not re.search("synchronously|Can't|Unable|signature|iteration|version|cache", line), line
            if line.startswith("h5stz: lost: "):
                assert line.split(": ")[-1] in (
                    "a structure of HDF5 that leads there is damaged",
                    "it lies beyond the end of the file",
                    "HDF5 cannot read it",
                ), line


@pytest.mark.parametrize("kind", ["nothing", "other filters", "raw chunks", "all"])
def test_it_says_what_was_checked_and_what_was_not(tmp_path, kind):
    path, array = tmp_path / "x.h5", cases.make("smooth", (40, 50), "f4")
    with h5py.File(path, "w") as made:
        if kind == "other filters":
            for number in range(7):
                made.create_dataset(f"d{number}", data=array, chunks=(20, 50), compression="gzip")
            made["none"] = h5py.Empty("f4")
        if kind in ("raw chunks", "all"):
            made.create_dataset("x", data=array, chunks=(20, 50), **h5stz.STZ(absolute=1.0))
        if kind == "raw chunks":
            made["x"].id.write_direct_chunk((0, 0), array[:20].tobytes(), filter_mask=1)
    if kind == "other filters":  # damage that nobody looks for
        flipped(path, places(path, "d3")[0][1] + 40)
    done = run("salvage", path, tmp_path / "copy.h5")
    assert (done.status, done.err) == (0, "")
    assert (
        done.out.splitlines()
        == {
            "nothing": ["nothing was checked: no dataset is compressed with h5stz"],
            "other filters": [
                "not checked: 7 datasets not compressed with h5stz, copied as stored: /d0, /d1, /d2, /d3, /d4, ...",
                "nothing was checked: no dataset is compressed with h5stz",
            ],
            "raw chunks": ["/x: whole; not checked: 1 chunk stored without h5stz", "nothing that was checked is damaged"],
            "all": ["/x: whole", "nothing is damaged"],
        }[kind]
    )


def test_a_file_of_which_nothing_can_be_kept(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w", libver="latest") as made:
        made["x"] = np.arange(10)
    content = path.read_bytes()
    flipped(path, content.index(b"OHDR") + 4)
    done = run("salvage", path, tmp_path / "copy.h5")
    assert done.status == 1 and not (tmp_path / "copy.h5").exists()
    assert "HDF5 cannot read any part of this HDF5 file: copy or download it again" in done.err

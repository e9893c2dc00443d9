"""Reads of a damaged chunk name the file, the dataset, the chunk and what to do: Python, commands, xarray, dask."""

import io
import pickle
import re

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support.range_servers import Server
from support.requirements import needs_packages

SHAPE, CHUNKS = (48, 40, 40), (16, 40, 40)
FIELD = np.random.default_rng(4).normal(size=SHAPE).astype("f4")
#: How the datasets of a file are stored.
KINDS = {
    "ours": {**h5stz.STZ(absolute=1e-3)},
    "exact": {**h5stz.STZ(lossless=True)},
    "checked": {**h5stz.STZ(absolute=1e-3), "fletcher32": True},
    "gzip": {"compression": "gzip", "fletcher32": True},
}
#: What is changed of a chunk: bytes in the middle, or its first ones.
DAMAGE = {"middle": lambda place: place.byte_offset + place.size // 2, "begin": lambda place: place.byte_offset}


@pytest.fixture(params=[(kind, where) for kind in KINDS for where in DAMAGE], ids=lambda given: "-".join(given))
def damaged(request, tmp_path, monkeypatch):
    """The name of a file whose dataset /a/rho has a damaged second chunk, and a pattern of what errors say."""
    kind, where = request.param
    monkeypatch.chdir(tmp_path)
    for name in ("whole.h5", "bad.h5"):
        with h5py.File(name, "w") as file:
            file.create_dataset("a/rho", data=FIELD, chunks=CHUNKS, **KINDS[kind])
            place = file["a/rho"].id.get_chunk_info_by_coord((16, 0, 0))
    content = bytearray((tmp_path / "bad.h5").read_bytes())
    for byte in range(6):
        content[DAMAGE[where](place) + byte] ^= 0x55
    (tmp_path / "bad.h5").write_bytes(content)
    salvage = (
        r"h5stz salvage \S*bad\.h5 OUT copies the readable parts" if kind != "gzip" else r"h5stz\.view\(dataset, on_error="
    )
    return "bad.h5", rf"the chunk at \(16, 0, 0\) of /a/rho in \S*bad\.h5: .*: get the file again, or {salvage}", kind


COMMANDS = {
    "compress": ["compress", "IN", "out.h5", "--absolute", "1e-2", "--again"],
    "repack": ["repack", "IN", "out.h5", "--lossless", "--again"],
    "plan": ["compress", "IN", "--dry-run", "--relative", "1e-2", "--again"],
    "decompress": ["decompress", "IN", "out.h5"],
    "compare": ["compare", "whole.h5", "IN"],
    "compare datasets": ["compare", "IN::/a/rho", "whole.h5::/a/rho"],
    "estimate": ["estimate", "IN::/a/rho", "--relative", "1e-2"],
    "extract": ["extract", "IN::/a/rho", "-o", "part.npy"],
    "args": ["args", "--relative", "1e-2", "--data", "IN", "/a/rho"],
}
#: What helps against a damaged chunk of another filter, by command.
CURES = {
    "compress": "--dataset /a/rho=none copies the dataset as it is stored",
    "extract": "--region INDICES reads what is in other chunks",
    "": r"h5stz extract \S*bad\.h5::/a/rho --region INDICES reads what is in other chunks",
}
CURES["repack"] = CURES["compress"]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands(damaged, capsys, command):
    name, said, kind = damaged
    if (command, kind) in (("decompress", "gzip"), ("repack", "exact")) or (command == "estimate" and kind != "gzip"):
        return  # it reads no sample of such a dataset
    status = cli.main([word.replace("IN", name) for word in COMMANDS[command]])
    printed = capsys.readouterr().err
    assert status == 1 and printed.count("\n") == 1, printed
    if kind == "gzip":  # what helps is a command here
        said = said.partition(", or ")[0] + rf", or ({CURES.get(COMMANDS[command][0], CURES[''])})\n"
    assert re.search(said, printed) and "synchronously" not in printed, printed


def test_what_commands_propose_for_other_filters(damaged, capsys):
    name, _, kind = damaged
    if kind == "gzip":
        assert cli.main(["extract", f"{name}::/a/rho", "-o", "part.npy", "--region", "0:16"]) == 0
        assert np.array_equal(np.load("part.npy"), FIELD[:16])
        assert cli.main(["compress", name, "out.h5", "--lossless", "--dataset", "/a/rho=none"]) == 0
        assert "/a/rho: copied unchanged" in capsys.readouterr().out


def test_python(damaged):
    name, said, _ = damaged
    with h5py.File(name) as file, h5stz.open(name) as opened, h5stz.partial_reads():
        stored = file["a/rho"]
        for read in (
            lambda: h5stz.view(stored)[...],
            lambda: h5stz.view(stored)[16:32],
            lambda: h5stz.view(stored, threads=2).read(np.s_[15:17], out=np.empty((2, 40, 40), "f4")),
            lambda: opened["/a/rho"][...],
            lambda: pickle.loads(pickle.dumps(h5stz.view(stored)))[17:],
            lambda: h5stz.STZ(relative=1e-3, data=stored),
            lambda: h5stz.estimate(stored, relative=1e-3),
            lambda: h5stz.compare(stored, FIELD),
            lambda: h5stz.extract(stored, "part.npy"),
        ):
            with pytest.raises(h5stz.StzError, match=said) as raised:
                read()
            assert "synchronously" not in str(raised.value)
        assert np.allclose(opened["/a/rho"][:16], FIELD[:16], atol=2e-3)


def test_partial_reads(damaged):
    name, said, kind = damaged
    with h5py.File(name) as file, h5stz.partial_reads():
        with pytest.raises(OSError if kind in ("gzip", "checked") else h5stz.StzError, match=said if kind == "ours" else None):
            file["a/rho"][20]


def test_objects_and_addresses(damaged, tmp_path):
    """There is no path for salvage."""
    pytest.importorskip("aiohttp", reason="needs Python package aiohttp")
    content = (tmp_path / damaged[0]).read_bytes()
    with Server({"x.h5": content}) as server:
        for given, name in ((io.BytesIO(content), "the BytesIO object"), (f"{server.url}/x.h5", f"{server.url}/x.h5")):
            with h5stz.open(given, retries=0) as file, pytest.raises(h5stz.StzError) as raised:
                file["/a/rho"][...]
            assert f"the chunk at (16, 0, 0) of /a/rho in {name}: " in str(raised.value), raised.value
            assert "get the file again, or h5stz" in str(raised.value)


@needs_packages("xarray", "h5netcdf", "dask.array")
def test_xarray_and_dask(damaged):
    import xarray

    name, said, kind = damaged
    for level in (0, 1):
        for chunks in (None, {}):
            with xarray.open_dataset(name, engine="h5stz", group="a", level=level, chunks=chunks) as dataset:
                part = dataset["rho"]
                if level and kind != "gzip":
                    continue  # a coarse level may be whole
                with pytest.raises(h5stz.StzError, match=said):
                    part.compute()
    with h5stz.open(name) as file, pytest.raises(h5stz.StzError, match=said):
        h5stz.dask_array(file["a/rho"]).compute(scheduler="synchronous")


def test_filters_that_are_not_here(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((8,))
        properties.set_filter(32099, h5py.h5z.FLAG_OPTIONAL, ())
        made = h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((8,)), properties)
        made.write_direct_chunk((0,), bytes(32))
    with (
        h5stz.open(path) as file,
        pytest.raises(h5stz.StzReadError, match=r"has the HDF5 filter 32099.*, which is not installed"),
    ):
        file["x"][...]

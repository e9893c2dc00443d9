"""`h5stz info`: options of the filter, forms of chunks and previews, as `h5stz.info` and `STZ` have them."""

import json

import h5py
import numpy as np
import pytest

import h5stz
from h5stz.cli import info
from support.commands import run

RNG = np.random.default_rng(1)
WALK = RNG.standard_normal((64, 64, 64)).cumsum(0).cumsum(1).cumsum(2).astype("f4")
DECIMALS = np.round(RNG.random((64, 64)), 2)
DECIMALS[48:] = RNG.random((16, 64))
OPTIONS = {
    "keep_zeros": True,
    "keep_range": True,
    "valid_range": (0.0, None),
    "favour": "size",
    "block": "region",
    "effort": 3,
    "threads": 2,
    "layer_bounds": (30.0, 10.0),
    "check": True,
    "learn": False,
    "content_check": False,
    "enhance": "strict",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("info") / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("walk", data=WALK, chunks=(32, 64, 64), **h5stz.STZ(lossless=True))
        file.create_dataset("decimals", data=DECIMALS, chunks=(16, 64), **h5stz.STZ(lossless=True))
        file.create_dataset("fill", (64, 64), "f4", chunks=(64, 64), **h5stz.STZ(absolute=1, keep_zeros=True))
        for name, value in OPTIONS.items():
            file.create_dataset(name, data=WALK[:2], chunks=(2, 64, 64), **h5stz.STZ(absolute=1, **{name: value}))
    return path


def lines(path, name):
    """The lines below the name of a dataset, by what they are about."""
    shown = [line.strip("│└─├ ") for line in run("info", path, f"/{name}").out.splitlines()]
    return dict(line.split(": ", 1) for line in shown if ": " in line)


def facts(path, name):
    (file,) = json.loads(run("info", path, f"/{name}", "--json").out)["files"]
    return file["datasets"][0]["compression"]


def streams(path, name):
    with h5py.File(path) as file:
        chunks = file[name].chunks
        starts = range(0, file[name].shape[0], chunks[0])
        return [file[name].id.read_direct_chunk((start, *[0] * (len(chunks) - 1)))[1] for start in starts]


def test_forms_are_counted(path):
    found = [h5stz.info(stream).form for stream in streams(path, "decimals")]
    assert len(set(found[:3])) == 1 and found[3] != found[0]
    assert lines(path, "decimals")["stored as"] == f"{found[0]} in 3 chunks; {found[3]} in 1 chunk"
    assert facts(path, "decimals")["first_chunks"]["forms"] == [
        {"form": found[0], "chunks": 3},
        {"form": found[3], "chunks": 1},
    ]
    assert "stored as" not in lines(path, "fill"), "no chunk is stored"


def test_only_the_chunks_that_were_looked_at_count(path, monkeypatch):
    monkeypatch.setattr(info, "_HEADERS", 2)
    monkeypatch.setattr(info, "_FEWEST", 2)
    assert lines(path, "decimals")["stored as"].endswith(" in 2 chunks of the first 2")


def test_previews(path):
    found = [h5stz.info(stream) for stream in streams(path, "walk")]
    error, size = max(each.preview_error for each in found), sum(each.preview_bytes for each in found)
    everything = sum(each.layers[-1].bytes for each in found)
    said = f"errors up to {error:.2g} from {size / everything:.0%} of the bytes: 2 chunks"
    assert lines(path, "walk")["preview"] == said
    preview = facts(path, "walk")["first_chunks"]["preview"]
    assert preview == {"chunks": 2, "max_error": error, "bytes": size, "stream_bytes": everything}
    assert "preview" not in lines(path, "decimals") and facts(path, "decimals")["first_chunks"]["preview"] is None


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_the_filter(path, name):
    assert lines(path, name)["options"] == f"{name}={OPTIONS[name]!r}"
    value = json.loads(json.dumps(OPTIONS[name]))
    assert facts(path, name)["options"] == {name: value}


def test_defaults_are_not_shown(path):
    assert "options" not in lines(path, "walk") and facts(path, "walk")["options"] == {}

"""`max_bytes` limits what is made because a stream or a file claims it: one name, one meaning, everywhere."""

import pickle
import re
from itertools import islice

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import _core, cli
from h5stz.reading.selection import pieces
from support.hostile_streams import constant
from support.memory import grows_less_than
from support.requirements import needs_packages

CAPACITY = _core.ERROR_CODES["STZ_ERROR_CAPACITY"]
TERABYTES = (1 << 40,)
LIMIT = 1000


def claims(path, shape=TERABYTES):
    """Writes a file of a few kilobytes with a dataset x that is said to have any shape, and one chunk of it."""
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("x", shape, "f8", chunks=(1024,) * len(shape), fillvalue=3, **h5stz.STZ(absolute=1e-3))
        dataset[(slice(0, 1024),) * len(shape)] = np.sin(np.arange(1024))
    return path


def refused(call, *, limit=LIMIT):
    """Asserts that a call fails with the error that names the limit and says how to raise it."""
    with pytest.raises(
        h5stz.StzError, match=rf"bytes, more than (max_bytes|H5STZ_MAX_BYTES)={limit}\b.*greater max_bytes="
    ) as raised:
        call()
    assert raised.value.code == CAPACITY


def reads(path, **limit):
    """What reads 8000 bytes of a dataset, by name."""

    def whole(call):
        with h5py.File(path) as file:
            return call(file["x"])

    def partial():
        with h5py.File(path) as file, h5stz.partial_reads(**limit):
            return file["x"][:1000]

    def opened():
        with h5stz.open(path, **limit) as file:
            return file["x"][:1000]

    return {
        "index": lambda: whole(lambda x: h5stz.view(x, **limit)[:1000]),
        "read": lambda: whole(lambda x: h5stz.view(x).read(np.s_[:1000], **limit)),
        "level": lambda: whole(lambda x: h5stz.view(x, **limit).level(1)[:1000]),
        "error": lambda: whole(lambda x: h5stz.view(x, **limit).at_error(1.0)[:1000]),
        "pickle": lambda: whole(lambda x: pickle.loads(pickle.dumps(h5stz.view(x, **limit)))[:1000]),
        "partial_reads": partial,
        "open": opened,
    }


STREAM = h5stz.compress(np.zeros(1000), absolute=1.0)
DECODERS = {
    "decompress": lambda **limit: h5stz.decompress(STREAM, **limit),
    "verify": lambda **limit: h5stz.verify(h5stz.compress(np.sin(np.arange(1000.0)), absolute=1e-2), **limit),
}


def test_everything_that_allocates_has_a_limit(tmp_path, monkeypatch):
    path = claims(tmp_path / "x.h5")
    for call in [*reads(path, max_bytes=LIMIT).values(), *[lambda f=f: f(max_bytes=LIMIT) for f in DECODERS.values()]]:
        refused(call)
    for call in [*reads(path, max_bytes=8000).values(), *[lambda f=f: f(max_bytes=8000) for f in DECODERS.values()]]:
        call()
    monkeypatch.setenv("H5STZ_MAX_BYTES", str(LIMIT))
    names = set(reads(path)) - {"read"}
    for call in [*[reads(path)[name] for name in names], *DECODERS.values()]:
        refused(call)
    for call in [*reads(path, max_bytes=8000).values(), *[lambda f=f: f(max_bytes=8000) for f in DECODERS.values()]]:
        call()  # what a call says comes first


@needs_packages("xarray", "dask")
def test_lazy_arrays_have_a_limit(tmp_path, monkeypatch):
    import xarray

    path = claims(tmp_path / "x.h5", (1 << 20,))

    def of_dask(**limit):
        with h5py.File(path) as file:
            return h5stz.dask_array(h5stz.view(file["x"], **limit))[:1000].compute()

    def of_xarray(**limit):
        with xarray.open_dataset(path, engine="h5stz", phony_dims="sort", **limit) as opened:
            return opened["x"][:1000].values

    for read in (of_dask, of_xarray):
        refused(lambda read=read: read(max_bytes=LIMIT))
        assert len(read(max_bytes=8192)) == 1000
        monkeypatch.setenv("H5STZ_MAX_BYTES", str(LIMIT))
        refused(read)
        monkeypatch.delenv("H5STZ_MAX_BYTES")
        assert len(read()) == 1000


def test_commands_that_check_files_obey_the_environment(tmp_path, monkeypatch, capsys):
    path, copy = str(claims(tmp_path / "x.h5")), str(tmp_path / "copy.h5")
    monkeypatch.setenv("H5STZ_MAX_BYTES", str(LIMIT))
    for words in (["verify", path], ["salvage", path, copy]):
        assert cli.main(words) == 1
        said = "".join(capsys.readouterr())
        assert "a chunk holds 8192 bytes, more than H5STZ_MAX_BYTES=1000" in said and "damaged" not in said
    monkeypatch.setenv("H5STZ_MAX_BYTES", "8192")
    assert [cli.main(words) for words in (["verify", path], ["salvage", path, copy])] == [0, 0]


@needs_packages("numcodecs", "zarr")
def test_codecs_of_zarr_obey_the_environment(monkeypatch):
    from h5stz.zarr import Stz

    stream = Stz(absolute=1.0).encode(np.zeros(1000))
    monkeypatch.setenv("H5STZ_MAX_BYTES", str(LIMIT))
    refused(lambda: Stz(absolute=1.0).decode(stream))
    monkeypatch.delenv("H5STZ_MAX_BYTES")
    assert Stz(absolute=1.0).decode(stream).shape == (1000,)
    refused(lambda: Stz(absolute=1.0).decode(constant((2**52,))), limit=2**32)


def test_a_stream_of_27_bytes_that_claims_terabytes():
    stream = constant((2**52,))
    assert len(stream) == 27 and h5stz.info(stream).array_bytes == 2**55
    refused(lambda: h5stz.decompress(stream), limit=2**32)
    assert h5stz.verify(stream) == 0, "nothing is allocated for it"
    with pytest.raises(MemoryError) as raised:
        h5stz.decompress(stream, max_bytes=2**60)
    assert isinstance(raised.value, h5stz.StzError)


def test_terabytes_that_nobody_limits(tmp_path):
    """An error that says what does not fit, and parts and levels are read."""
    with h5py.File(claims(tmp_path / "x.h5")) as file:
        view = h5stz.view(file["x"])
        with pytest.raises(MemoryError, match=re.escape("1099511627776")) as raised:
            view[...]
        assert isinstance(raised.value, h5stz.StzError)
        assert np.abs(view[:1024] - np.sin(np.arange(1024))).max() <= 1e-3
        assert view[2**39] == 3
        assert view.level(33)[...].shape == (128,)


@pytest.mark.parametrize("value", ["8000", "0", "", "-1", "8k", "99999999999999999999"])
def test_the_filter_obeys_the_environment(tmp_path, monkeypatch, value):
    path = claims(tmp_path / "x.h5", (1024,))
    monkeypatch.setenv("H5STZ_MAX_BYTES", value)
    with h5py.File(path) as file:
        if value == "8000":
            with pytest.raises(OSError):
                file["x"][...]
            assert re.search("claims to decode to 8192 bytes, more than H5STZ_MAX_BYTES=8000", h5stz.last_error())
        else:
            assert file["x"][5] == pytest.approx(np.sin(5), abs=1e-3), "anything else means nothing"


@pytest.mark.parametrize("value", [-1, 1.5, "9", None])
def test_what_a_limit_can_be(value):
    if value is None:
        assert h5stz.decompress(STREAM, max_bytes=value).size == 1000
    else:
        with pytest.raises(h5stz.StzError, match=r"max_bytes=.* (is negative|is not an integer)"):
            h5stz.decompress(STREAM, max_bytes=value)


def test_what_is_asked_of_a_dataset_that_claims_terabytes_takes_no_memory(tmp_path):
    """Its chunks are looked at one after the other: there are 2**30 of them, of which one is stored."""
    with h5py.File(claims(tmp_path / "x.h5")) as file:
        view = h5stz.view(file["x"])
        with grows_less_than(100 << 20):
            level, coarse = next(view.refine(np.s_[:2000]))
        assert level > 0 and coarse.size < 2000
        assert len(list(islice(pieces([(0, 2**40, 1)] * 3, (1024,) * 3), 5))) == 5

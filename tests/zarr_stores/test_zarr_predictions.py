"""Predictions in the metadata of zarr arrays: trained on the data, they and a chunk determine its bytes, in any order of writes
and in any number of threads.
"""

import base64
import functools
import json
import pickle
import threading

import numpy as np
import pytest
from hdf5.test_learning import waves

import h5stz
from h5stz import _core
from support import cases, exact
from support.requirements import needs_packages

pytestmark = needs_packages("zarr", "numcodecs")

CHUNK = (16, 16, 16)
DATA = waves(7, (96, 80, 96))
BOUND = 1e-3


@functools.cache
def trained():
    from h5stz.zarr import StzCodec

    return StzCodec(absolute=BOUND).trained(DATA, CHUNK)


@pytest.fixture
def workers():
    """A function that sets the number of zarr's threads."""
    import zarr
    from zarr.core.sync import cleanup_resources

    def set_number(number):
        cleanup_resources()
        zarr.config.set({"threading.max_workers": number, "async.concurrency": 4 * number})

    before = {name: zarr.config.get(name) for name in ("threading.max_workers", "async.concurrency")}
    yield set_number
    zarr.config.set(before)
    cleanup_resources()


def create(store, codec, data=DATA, **options):
    import zarr

    options = {"chunks": CHUNK, "shape": data.shape, "dtype": data.dtype, **options}
    return zarr.create_array(store, serializer=codec, compressors=None, **options)


def chunks_of(store):
    return {key: value.to_bytes() for key, value in store.items() if key != "zarr.json"}


def configuration(store):
    return json.loads(store["zarr.json"].to_bytes())["codecs"][0]["configuration"]


def test_an_stz_that_was_trained_makes_a_trained_codec():
    from h5stz.zarr import Stz, StzCodec

    stz = h5stz.STZ(absolute=BOUND, data=DATA, chunks=CHUNK)
    assert StzCodec.of(stz) == trained() and Stz.of(stz).predictions == trained().predictions
    assert StzCodec.of(h5stz.STZ(absolute=BOUND)) == StzCodec(absolute=BOUND)
    assert repr(trained()) == f"StzCodec(absolute=0.001, trained={stz.resolved.settings.learned.count} sets)"
    assert pickle.loads(pickle.dumps(trained())) == trained()
    with_fill = StzCodec(absolute=BOUND, fill_value="array").trained(DATA, CHUNK)
    assert with_fill.predictions == trained().predictions and with_fill.fill_value == "array"


def test_chunk_and_metadata_determine_the_bytes(workers):
    import zarr

    stz = h5stz.STZ(absolute=BOUND, data=DATA, chunks=CHUNK)
    written = []
    for number, reverse in ((1, False), (3, False), (2, True)):
        workers(number)
        store = {}
        create(store, trained())
        array = zarr.open_array(store)  # the codec from the metadata
        places = list(range(0, len(DATA), CHUNK[0]))
        for place in reversed(places) if reverse else places:
            array[place : place + CHUNK[0]] = DATA[place : place + CHUNK[0]]
        exact.largest_error(DATA, zarr.open_array(store, mode="r")[...], BOUND)
        written.append(chunks_of(store))
    assert written[0] == written[1] == written[2]
    assert written[0]["c/1/2/3"] == stz.resolved.settings.encode(np.ascontiguousarray(DATA[16:32, 32:48, 48:64]))
    plain = {}
    create(plain, h5stz.zarr.StzCodec(absolute=BOUND))[...] = DATA
    assert sum(plain[key].to_bytes() != written[0][key] for key in written[0]) > len(written[0]) / 2
    assert sum(map(len, written[0].values())) < 1.03 * sum(map(len, chunks_of(plain).values()))


def test_without_predictions_chunks_do_not_learn_from_each_other(workers):
    written = []
    for number in (1, 3):
        workers(number)
        store = {}
        create(store, h5stz.zarr.StzCodec(absolute=BOUND))[...] = DATA
        written.append(chunks_of(store))
    assert written[0] == written[1]
    assert written[0]["c/1/2/3"] == h5stz.compress(DATA[16:32, 32:48, 48:64], absolute=BOUND)


def test_inside_shards_and_in_format_2():
    import zarr

    store = {}
    create(store, trained(), shards=(48, 80, 96))[...] = DATA
    exact.largest_error(DATA, zarr.open_array(store, mode="r")[...], BOUND)
    plain = {}
    create(plain, h5stz.zarr.StzCodec(absolute=BOUND), shards=(48, 80, 96))[...] = DATA
    assert chunks_of(store) != chunks_of(plain)
    codec = h5stz.zarr.Stz(absolute=BOUND).trained(DATA, CHUNK)
    old = {}
    array = zarr.create_array(old, shape=DATA.shape, chunks=CHUNK, dtype="f4", zarr_format=2, compressors=codec)
    array[...] = DATA
    settings = h5stz.STZ(absolute=BOUND, data=DATA, chunks=CHUNK).resolved.settings
    assert old["1.2.3"].to_bytes() == settings.encode(np.ascontiguousarray(DATA[16:32, 32:48, 48:64]))
    assert zarr.open_array(old, mode="r").compressors == (codec,)


def test_parts_that_are_written_keep_the_bound_and_the_bits():
    store = {}
    array = create(store, trained())
    array[...] = DATA
    before = array[...]
    array[3:40, 5:9, 10:] = DATA[3:40, 5:9, 10:] + 1
    changed = np.zeros(DATA.shape, bool)
    changed[3:40, 5:9, 10:] = True
    assert np.array_equal(array[...][~changed], before[~changed])
    exact.largest_error((DATA + np.float32(1))[changed], array[...][changed], BOUND)


def test_through_xarray(tmp_path):
    import xarray

    encoding = {"x": {"chunks": CHUNK, "serializer": trained(), "compressors": None}}
    dataset = xarray.Dataset({"x": (("a", "b", "c"), DATA)})
    dataset.to_zarr(tmp_path / "x.zarr", encoding=encoding, zarr_format=3, consolidated=False)
    metadata = json.loads((tmp_path / "x.zarr/x/zarr.json").read_text())
    assert metadata["codecs"][0]["configuration"]["predictions"] == trained().predictions
    exact.largest_error(DATA, xarray.open_zarr(tmp_path / "x.zarr", consolidated=False)["x"].values, BOUND)


@pytest.mark.parametrize(("data", "options"), [(DATA[:32], {}), (DATA, {"layers": 2}), (DATA, {"effort": 7})], ids=str)
def test_nothing_is_trained_where_that_does_not_pay(data, options):
    from h5stz.zarr import StzCodec

    codec = StzCodec(absolute=BOUND, **options)
    assert trained().predictions is not None and codec.trained(data, CHUNK) == codec
    assert trained().trained(data[:32], CHUNK) == StzCodec(absolute=BOUND), "those of other data are dropped"
    store = {}
    create(store, codec)
    assert configuration(store) == {"absolute": BOUND, **options}


@pytest.mark.parametrize("options", [{"psnr": 60}, {"ratio": 20}, {"absolute": BOUND, "learn": False}], ids=str)
def test_options_that_turn_learning_off_make_codecs(options):
    from h5stz.zarr import StzCodec

    stz = h5stz.STZ(data=DATA, chunks=CHUNK, **options)
    assert StzCodec.of(stz) == StzCodec(absolute=stz.bound)


def damaged_texts():
    text = trained().predictions
    raw = bytearray(base64.b64decode(text))
    for place in (*range(0, 44, 4), 50, len(raw) // 2, len(raw) - 8):
        yield base64.b64encode(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]).decode()
    words = [np.array(h5stz.STZ(absolute=1).filter_options, "<u4"), np.array(h5stz.STZ("absolute=1").filter_options, "<u4")]
    words.append(np.array(h5stz.STZ(absolute=BOUND, data=DATA, chunks=CHUNK).filter_options, "<u4"))  # with a bound, too
    yield from (base64.b64encode(each.tobytes()).decode() for each in words)
    yield from (text[:-4], text[:-1], text + "AAAA", " " + text, text[1:], "", "é", "a" * 100_000)
    yield from (7, [1, 2], {"a": 1}, True)


def test_edited_metadata_are_an_error_that_says_what_to_do():
    import zarr

    store = {}
    create(store, trained())
    whole = json.loads(store["zarr.json"].to_bytes())
    for text in damaged_texts():
        whole["codecs"][0]["configuration"]["predictions"] = text
        edited = {"zarr.json": zarr.core.buffer.cpu.Buffer.from_bytes(json.dumps(whole).encode())}
        with pytest.raises(h5stz.StzError, match="remove `predictions` from the metadata"):
            zarr.open_array(edited, mode="r")
    del whole["codecs"][0]["configuration"]["predictions"]
    edited["zarr.json"] = zarr.core.buffer.cpu.Buffer.from_bytes(json.dumps(whole).encode())
    assert zarr.open_array(edited, mode="r").shape == DATA.shape


@pytest.mark.parametrize("what", ["encode", "decode"])
def test_zarr_codes_several_chunks_at_a_time(workers, monkeypatch, what):
    """Two threads wait for each other inside the codec."""
    from h5stz.zarr import StzCodec

    met, name = threading.Barrier(2), {"encode": "_stream", "decode": "_chunk"}[what]
    original = getattr(StzCodec, name)

    def waiting(self, *args):
        met.wait(60)
        return original(self, *args)

    workers(2)
    data = cases.make("walk", (32, 16, 16), "f4")
    store = {}
    array = create(store, StzCodec(absolute=BOUND), data)
    if what == "decode":
        array[...] = data
    monkeypatch.setattr(StzCodec, name, waiting)
    if what == "encode":
        array[...] = data
    else:
        exact.largest_error(data, array[...], BOUND)


@pytest.mark.parametrize(
    ("fill", "value", "is_stored"), [(0.0, -0.0, True), (0.0, 0.0, False), (7, 7, False), (np.nan, np.nan, False)], ids=str
)
def test_chunks_of_the_fill_value_alone_are_not_stored(fill, value, is_stored):
    store = {}
    array = create(store, h5stz.zarr.StzCodec(lossless=True), DATA, fill_value=fill)
    array[...] = value
    assert bool(chunks_of(store)) == is_stored
    array[:16, :16, 1:16] = 3  # of the first chunk, the first samples stay
    assert chunks_of(store) and np.all(array[:16, :16, 1:16] == 3) and array[0, 0, 0].tobytes() == np.float32(value).tobytes()


def test_the_text_has_what_the_client_data_have():
    words = np.frombuffer(base64.b64decode(trained().predictions), "<u4").tolist()
    assert len(words) <= _core.CD_MAX_WORDS and _core.Learned.of_words(words).words() == tuple(words)

"""The codec of zarr format 3: the bound for every dtype and layout, metadata, missing values, chunks that are written again."""

import json

import numpy as np
import pytest

import h5stz
from support import cases, exact
from support.requirements import needs_packages

pytestmark = needs_packages("zarr", "numcodecs")
BOUND = 0.5


def created(shape, chunks, dtype, store=None, codec=None, **options):
    """A new zarr array with the codec; `codec`: its options."""
    import zarr

    from h5stz.zarr import StzCodec

    serializer = StzCodec(**codec or {"absolute": BOUND, "integers": "lossy"})
    store = {} if store is None else store
    return zarr.create_array(store, shape=shape, chunks=chunks, dtype=dtype, serializer=serializer, compressors=None, **options)


@pytest.mark.parametrize("shards", [None, (16, 16)], ids=["chunks", "shards"])
@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_the_bound_holds_for_every_dtype_after_reopening(dtype, shards):
    import zarr

    original, store = cases.make("smooth", (21, 27), dtype), {}
    array = created((21, 27), (8, 16), dtype, store, shards=shards)
    array[...] = original
    exact.largest_error(original, array[...].astype(dtype), BOUND)
    if shards is None:
        assert h5stz.info(store["c/0/0"].to_bytes()).dtype == original.dtype.newbyteorder("<")
    read = zarr.open_array(store, mode="r")
    assert read.dtype == original.dtype.newbyteorder("=")  # format 3 knows no byte order
    exact.largest_error(original.astype(read.dtype), read[...], BOUND)
    exact.largest_error(original.astype(read.dtype)[3:17:2, 5], read[3:17:2, 5], BOUND)


def test_bool_is_exact():
    original = np.arange(200).reshape(10, 20) % 3 == 0
    array = created((10, 20), (4, 8), bool, codec={"absolute": 1, "integers": "lossy"})
    array[...] = original
    array[2:5, 3] = ~original[2:5, 3]
    original[2:5, 3] ^= True
    assert array[...].dtype == bool and np.array_equal(array[...], original)
    assert np.array_equal(array[1:9:3, 2], original[1:9:3, 2])


@pytest.mark.parametrize("arrange", [np.asfortranarray, lambda a: a.T.copy().T, lambda a: np.repeat(a, 2, 0)[::2], np.flip])
def test_values_of_every_layout(arrange):
    """Chunks that reach the codec are no contiguous memory either: (2, 1) of (2, 2)."""
    for chunks in ((8, 2), (1, 12), (8, 12)):
        original = arrange(cases.make("walk", (8, 12), "f4"))
        array = created((8, 12), chunks, "f4")
        array[...] = original
        exact.largest_error(np.ascontiguousarray(original), array[...], BOUND)


@pytest.mark.parametrize("shape", [(), (1,), (0, 4), (3, 1, 1, 1, 2)], ids=str)
def test_small_shapes(shape):
    array = created(shape, tuple(max(extent, 1) for extent in shape), "f8")
    array[...] = 3.25
    assert np.array_equal(array[...], np.full(shape, 3.25))
    array.resize(shape)


def test_metadata_keep_their_meaning():
    """What is stored today has to be read by every later version."""
    import zarr

    from h5stz.zarr import StzCodec

    options = {"absolute": 0.25, "fill_value": "array", "block": "region", "effort": 3, "threads": 2, "content_check": False}
    store = {}
    created((30, 40), (16, 16), "f4", store, options, fill_value=-999.0)
    metadata = json.loads(store["zarr.json"].to_bytes())
    assert metadata["codecs"] == [{"name": "h5stz", "configuration": options}]
    (codec,) = zarr.open_array(store).metadata.codecs
    assert codec == StzCodec(**options) and eval(repr(codec), {"StzCodec": StzCodec}) == codec
    assert StzCodec.from_dict({"name": "h5stz", "configuration": {"lossless": True}}).to_dict() == {
        "name": "h5stz",
        "configuration": {"lossless": True},
    }
    other = {"name": "numcodecs.h5stz", "configuration": {"lossless": True}}  # of VirtualiZarr, from format 2
    assert zarr.registry.get_codec_class(other["name"]).from_dict(other) == StzCodec(lossless=True)
    for wrong in ({"absolute": -1}, {"absolute": 1, "lossless": True}, {}):
        with pytest.raises(h5stz.StzError):
            StzCodec.from_dict({"name": "h5stz", "configuration": wrong})
    with pytest.raises(TypeError, match="tolerance"):
        StzCodec.from_dict({"name": "h5stz", "configuration": {"tolerance": 1}})


@pytest.mark.parametrize("dtype", ["M8[s]", "S4", "U4"])
def test_data_types_that_cannot_be_compressed_are_refused_at_creation(dtype):
    with pytest.raises(TypeError, match=r"cannot be compressed: "):
        created((4,), (4,), dtype)


def test_a_fill_value_that_does_not_fit_is_refused_at_creation():
    with pytest.raises(h5stz.StzError, match="cannot be stored"):
        created((4,), (4,), "i2", codec={"absolute": 1, "fill_value": 1e9})
    with pytest.raises(h5stz.StzError, match="NaN"):
        created((4,), (4,), "c8", codec={"absolute": 1, "fill_value": "array"})


def test_integers_are_exact_unless_asked_otherwise():
    original = cases.make("walk", (30, 30), "i4")
    array = created((30, 30), (16, 16), "i4", codec={"absolute": 10})
    array[...] = original
    assert np.array_equal(array[...], original)


@pytest.mark.parametrize("fill_value", ["array", -999.0])
def test_missing_samples_come_back_bit_for_bit(fill_value):
    original = cases.make("walk", (30, 40), "f4")
    original[5:9, 10:] = -999
    array = created((30, 40), (16, 16), "f4", codec={"absolute": 5, "fill_value": fill_value}, fill_value=-999.0)
    array[...] = original
    read = array[...]
    assert np.array_equal(read == -999, original == -999)
    exact.largest_error(original, read, 5)
    nothing = created((30, 40), (16, 16), "f4", codec={"absolute": 5}, fill_value=-999.0)
    nothing[...] = original
    assert (nothing[5:9, 10:] != -999).any(), "without the option, the number is one like others"


def test_chunks_that_are_not_stored_are_the_fill_value():
    store = {}
    array = created((20, 20), (8, 8), "f4", store, fill_value=7)
    array[:3, :3] = 1
    assert len(store) == 2
    assert np.array_equal(array[9:, 2], np.full(11, 7, "f4")) and array[4, 4] == 7
    array[:3, :3] = 7
    assert len(store) == 1, "a chunk of fill values alone is not stored"


def test_damaged_and_foreign_chunks_are_errors(tmp_path):
    import zarr

    array = created((64, 64), (64, 64), "f4", str(tmp_path / "a.zarr"))
    array[...] = cases.make("rough", (64, 64), "f4")
    path = tmp_path / "a.zarr/c/0/0"
    content = path.read_bytes()
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 64
    others = h5stz.compress(np.zeros((64, 64)), lossless=True), h5stz.compress(np.ones((32, 32), "f4"), lossless=True)
    for wrong in (bytes(damaged), content[: len(content) // 2], b"no stream", b"", *others):
        path.write_bytes(wrong)
        for index in (..., np.s_[3:60, 7]):
            with pytest.raises((h5stz.StzError, ValueError)):
                zarr.open_array(tmp_path / "a.zarr", mode="r")[index]


@pytest.mark.parametrize("shards", [None, (64, 64)], ids=str)
def test_errors_name_the_chunk(tmp_path, shards):
    """By its store and key, of a shard by its place there: reads of all and of parts, and writes that need what was there."""
    import zarr

    from h5stz.zarr import StzCodec

    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    codec = StzCodec(absolute=1e-3)
    array = group.create_array(
        "run/x", shape=(64, 64), chunks=(32, 32), shards=shards, dtype="f4", serializer=codec, compressors=None
    )
    array[...] = cases.make("rough", (64, 64), "f4")
    key = "run/x/c/0/0" if shards else "run/x/c/1/0"
    content = bytearray((tmp_path / "a.zarr" / key).read_bytes())
    content[3 * len(content) // 8] ^= 64  # in the second quarter of a shard, whose chunks lie there in Morton order
    (tmp_path / "a.zarr" / key).write_bytes(content)
    said = "^the chunk (1, 0) of a shard: the stream is damaged" if shards else f"{key}: the stream is damaged"
    said = said.replace("(", r"\(").replace(")", r"\)")
    for act in (
        lambda: array[...],
        lambda: array[33:40, 1:5],
        lambda: array[...][1],
        lambda: array.__setitem__((33, 2), 0),
    ):
        with pytest.raises(h5stz.StzError, match=said):
            act()
    array[3, 4] = 0
    assert array[3, 4] == 0, "other chunks are not concerned"


def random_write(rng, array, expected):
    """Writes some samples of both in one of zarr's ways; returns a mask of them."""
    written = np.zeros(expected.shape, bool)
    kinds = ["box", "steps", "points", "mask", "number", "orthogonal"]
    kind = rng.choice(
        kinds if array.shards is None else kinds[:-1]
    )  # zarr 3.1 itself fails where these cross chunks of a shard
    first = [int(rng.integers(0, extent - 1)) for extent in expected.shape]
    if kind in ("box", "steps", "number"):
        step = 3 if kind == "steps" else 1
        key = tuple(slice(begin, begin + int(rng.integers(1, 30)), step) for begin in first)
        values = rng.normal() * 9 if kind == "number" else rng.normal(size=expected[key].shape) * 9
        array[key] = expected[key] = values
        written[key] = True
    elif kind == "orthogonal":
        rows = np.unique(rng.integers(0, expected.shape[0], 4))
        key = np.ix_(rows, np.arange(first[1], expected.shape[1]))
        values = rng.normal(size=expected[key].shape)
        array.oindex[rows, slice(first[1], None)] = expected[key] = values
        written[key] = True
    else:
        mask = rng.random(expected.shape) < 0.01
        mask[0, 0] = mask[-1, -1] = True  # the box around them is everything
        values = rng.normal(size=mask.sum())
        array.vindex[mask if kind == "mask" else np.nonzero(mask)] = expected[mask] = values
        written[mask] = True
    return written


@pytest.mark.parametrize("shards", [None, (64, 64)], ids=["chunks", "shards"])
def test_writing_parts_again_and_again_adds_no_errors(shards):
    """What is not written keeps its bits; what is written is within the bound of the value written last."""
    rng = np.random.default_rng(5)
    array = created((50, 60), (32, 32), "f8", codec={"absolute": 0.01}, shards=shards)
    expected = rng.normal(size=(50, 60))
    array[...] = expected
    before = array[...]
    for _ in range(40):
        written = random_write(rng, array, expected)
        after = array[...]
        assert np.array_equal(after[~written], before[~written])
        exact.largest_error(expected, after, 0.01)
        before = after


@needs_packages("xarray", "dask")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_through_xarray_and_dask(tmp_path, zarr_format):
    import dask.array
    import xarray

    from h5stz.zarr import Stz, StzCodec

    original = cases.make("walk", (20, 30, 40), "f4")
    original[3, 4:9] = np.nan
    data = xarray.Dataset({"t": (("time", "y", "x"), dask.array.from_array(original, chunks=(10, 30, 40)))})
    format_2, format_3 = {"compressors": Stz(absolute=BOUND)}, {"serializer": StzCodec(absolute=BOUND), "compressors": None}
    encoding = {"t": format_2 if zarr_format == 2 else format_3}
    data.to_zarr(tmp_path / "x.zarr", encoding=encoding, zarr_format=zarr_format, consolidated=False)
    read = xarray.open_zarr(tmp_path / "x.zarr", consolidated=False)
    exact.largest_error(original, read.t.values, BOUND)
    assert np.array_equal(read.t[3:5, ::4, 7].values, read.t.values[3:5, ::4, 7], equal_nan=True)
    read.to_zarr(tmp_path / "again.zarr", zarr_format=zarr_format, consolidated=False)  # with the codec that it has
    exact.largest_error(read.t.values, xarray.open_zarr(tmp_path / "again.zarr", consolidated=False).t.values, BOUND)

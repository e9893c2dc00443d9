"""The codec of numcodecs: memory in every layout, the bound for every dtype, its configuration, and arrays of zarr format 2."""

import array
import json
import pickle

import numpy as np
import pytest

import h5stz
from support import cases, exact
from support.requirements import needs_packages

pytestmark = needs_packages("numcodecs")
BOUND = 0.5

LAYOUTS = {
    "C order": lambda a: a,
    "Fortran order": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.transpose(1, 2, 0)).transpose(2, 0, 1),
    "every second": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "backwards": lambda a: a[::-1, :, ::-1],
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
}


def codec(**options):
    from h5stz.zarr import Stz

    return Stz(**options)


def as_numcodecs_users_do(decoded, original):
    """Decoded memory with the axes of the original, as zarr gives them back."""
    order = "F" if original.flags.f_contiguous and not original.flags.c_contiguous else "C"
    return np.asarray(decoded).reshape(-1, order="A").reshape(original.shape, order=order)


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_the_bound_holds_for_every_dtype(dtype):
    original = cases.make("smooth", (5, 12, 7), dtype)
    one = codec(absolute=BOUND, integers="lossy")
    decoded = one.decode(one.encode(original))
    exact.largest_error(original, decoded, BOUND)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i2"])
def test_memory_of_every_layout(layout, dtype):
    original = LAYOUTS[layout](cases.make("walk", (6, 9, 11), dtype))
    one = codec(absolute=BOUND, integers="lossy")
    stream = one.encode(original)
    assert isinstance(stream, bytes)
    exact.largest_error(original, as_numcodecs_users_do(one.decode(stream), original), BOUND)
    for out in (np.empty_like(original), np.zeros(original.shape, original.dtype, order="C")):
        if out.flags.c_contiguous == original.flags.c_contiguous or not original.flags.f_contiguous:
            assert one.decode(stream, out=out) is out
            exact.largest_error(original, out, BOUND)
    plain = bytearray(original.nbytes)
    assert one.decode(stream, out=plain) is plain
    memory = np.frombuffer(plain, original.dtype)
    exact.largest_error(original, as_numcodecs_users_do(memory, original), BOUND)


@pytest.mark.parametrize("shape", [(), (1,), (0, 5), (1, 1, 1, 1, 1)], ids=str)
def test_small_shapes(shape):
    original = np.full(shape, 3.25)
    one = codec(lossless=True)
    assert exact.same_bits(original, one.decode(one.encode(original)))


def test_streams_may_be_any_buffer():
    original = cases.make("walk", (40, 30), "f4")
    one = codec(lossless=True)
    stream = one.encode(original)
    for given in (stream, bytearray(stream), memoryview(stream), array.array("b", stream), np.frombuffer(stream, "u1")):
        assert exact.same_bits(original, one.decode(given))
    assert stream == h5stz.compress(original, lossless=True, fill_value=False)


def test_bool_is_exact_and_decodes_into_bool():
    original = np.arange(50).reshape(5, 10) % 3 == 0
    one = codec(absolute=1, integers="lossy")
    out = np.empty_like(original)
    one.decode(one.encode(original), out=out)
    assert np.array_equal(out, original)


def test_bytes_without_a_type_are_refused_with_what_to_do():
    one = codec(absolute=BOUND)
    for given in (b"abcd", bytearray(8), memoryview(b"abcd"), array.array("b", b"abcd")):
        with pytest.raises(TypeError, match=r"numpy\.frombuffer\(data, dtype\)\.reshape\(shape\)"):
            one.encode(given)
    assert one.decode(one.encode(array.array("d", [1, 2]))).dtype == "f8"
    for wrong in (np.array(["text"], dtype=object), np.zeros(3, "M8[s]"), np.zeros(3, "U4")):
        with pytest.raises(TypeError, match=r"cannot be compressed: "):
            one.encode(wrong)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty(11, "f4"), "44 bytes"),
        (np.empty(12, "f8")[::2], "out is of dtype <f8"),
        (np.empty(6, ">f4"), "out is of dtype >f4"),
        (np.empty(6, object), "out is of dtype"),
        (bytes(24), "cannot be written to"),
        (np.empty(12, "f4")[::2].reshape(2, 3), "not contiguous"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_out_that_does_not_fit_is_refused(out, message):
    one = codec(absolute=BOUND)
    stream = one.encode(np.arange(6, dtype="f4"))
    with pytest.raises(ValueError, match=message):
        one.decode(stream, out=out)


ALL_OPTIONS = {
    "absolute": 0.25,
    "fill_value": -999,
    "block": "region",
    "effort": 3,
    "threads": 2,
    "integers": "lossy",
    "content_check": True,
}


def test_metadata_keep_their_meaning():
    """What is stored today has to be read by every later version."""
    import numcodecs

    one = numcodecs.get_codec({"id": "h5stz", **ALL_OPTIONS})
    assert one.get_config() == {"id": "h5stz", **ALL_OPTIONS}
    assert one == codec(**ALL_OPTIONS) and one != codec(absolute=0.25)
    original = np.where(np.arange(600).reshape(20, 30) % 7, cases.make("walk", (20, 30), "f4"), np.float32(-999))
    decoded = one.decode(one.encode(original))
    assert np.array_equal(decoded == -999, original == -999)
    exact.largest_error(original, decoded, 0.25)
    assert h5stz.info(one.encode(original)).block == "region"


@pytest.mark.parametrize(
    "options",
    [
        {"absolute": np.float32(0.5)},
        {"pointwise_relative": 1e-3},
        {"lossless": True},
        ALL_OPTIONS,
        {"absolute": 1, "fill_value": float("nan")},
    ],
    ids=lambda options: ",".join(options),
)
def test_configuration_goes_through_json_repr_and_pickle(options):
    import numcodecs

    from h5stz.zarr import Stz

    one = Stz(**options)
    assert numcodecs.get_codec(json.loads(json.dumps(one.get_config()))) == one
    assert eval(repr(one), {"Stz": Stz}) == one
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_measured_bound_is_taken_over():
    from h5stz.zarr import Stz

    data = cases.make("walk", (40, 50), "f4")
    options = h5stz.STZ(relative=1e-3, data=data, block="region")
    assert Stz.of(options) == Stz(absolute=options.bound, block="region")
    with pytest.raises(h5stz.StzError, match="append_axis"):
        Stz.of(h5stz.STZ(absolute=1, append_axis=0))


@needs_packages("zarr")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", ">i4", "bool"])
def test_arrays_of_format_2(order, dtype):
    import zarr

    original = cases.make("walk", (30, 26), "f4" if dtype == "bool" else dtype)
    original = original > 0 if dtype == "bool" else original
    store = {}
    options = {"absolute": BOUND, "integers": "lossy"}
    made = zarr.create_array(
        store, shape=(30, 26), chunks=(16, 10), dtype=dtype, zarr_format=2, order=order, compressors=codec(**options)
    )
    made[...] = original
    read = zarr.open_array(store, mode="r")
    assert read.dtype == original.dtype and read.compressors == (codec(**options),)
    if dtype == "bool":
        assert np.array_equal(read[...], original)
    else:
        exact.largest_error(original, np.ascontiguousarray(read[...]), BOUND)

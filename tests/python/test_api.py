"""h5stz.compress, decompress and info in memory: arguments, threads, masks, what is refused and why."""

import ctypes
import sys
import threading

import h5py
import numpy as np
import pytest

import h5stz
from h5stz import _core
from h5stz.options.option_checks import thread_count
from support import exact, fields
from support.host_tools import plugin_file

KINDS = ["f2", "f4", "f8", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "c8", "c16"]
DTYPES = [np.dtype(order + kind) for kind in KINDS for order in "<>"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_smooth_field_of_every_dtype_gets_smaller(dtype):
    field = fields.random_field((24, 25, 26), 6, 1)
    array = (field * 8 + 40).astype(dtype)
    stream = h5stz.compress(array, absolute=1, integers="lossy")
    assert exact.largest_error(array, h5stz.decompress(stream), 1) <= 1
    assert len(stream) < array.nbytes / 3


@pytest.mark.parametrize(
    ("value", "threads"),
    [
        *((value, 1) for value in ("", "0", "-1", "+2", " 2", "2 ", "2.0", "1e1", "two", "1")),
        *(("2", 2), ("0003", 3), ("255", 255), ("256", 255), ("99999999999999999999", 255)),
    ],
)
def test_what_the_environment_says_of_threads(value, threads, monkeypatch):
    monkeypatch.setenv("H5STZ_THREADS", value)
    assert thread_count(None) == threads
    assert thread_count(5) == 5, "what is asked for comes first"
    monkeypatch.delenv("H5STZ_THREADS")
    assert thread_count(None) == 1


@pytest.mark.parametrize("threads", [0, -1, 256, 1.5, True, "2"])
def test_threads_are_checked(threads):
    array = np.ones((4, 5), "f4")
    stream = h5stz.compress(array, lossless=True)
    with pytest.raises(h5stz.StzError, match="threads"):
        h5stz.compress(array, lossless=True, threads=threads)
    with pytest.raises(h5stz.StzError, match="threads"):
        h5stz.decompress(stream, threads=threads)


def test_the_core_checks_threads():
    array = np.arange(1000, dtype="f4")

    def compress(threads):
        mode = _core.MODES["absolute"]
        element_type = _core.DTYPES["f4"], _core.LITTLE
        return _core.compress(array.view("u1"), *element_type, array.shape, _core.Options(mode, 0.5, threads=threads))

    stream = compress(0)
    assert stream == compress(100_000)
    out = np.empty_like(array)
    for threads in (0, 1, 256, 257, 2**31 - 1):
        _core.decompress(stream, out.view("u1"), threads)
    for threads in (-1, -(2**31)):
        with pytest.raises(h5stz.StzError) as caught:
            _core.decompress(stream, out.view("u1"), threads)
        assert caught.value.code == _core.ERROR_CODES["STZ_ERROR_OPTION"]
        with pytest.raises(h5stz.StzError) as caught:
            compress(threads)
        assert caught.value.code == _core.ERROR_CODES["STZ_ERROR_OPTION"]


def test_the_c_functions_for_decompression():
    library = ctypes.CDLL(plugin_file())
    array = fields.random_field((20, 30, 40), 4, 1)
    stream = h5stz.compress(array, absolute=1e-3)
    size, decoded = ctypes.c_size_t(len(stream)), h5stz.decompress(stream)
    out = np.empty_like(array)
    target = ctypes.c_void_p(out.ctypes.data), ctypes.c_size_t(out.nbytes)
    assert library.stz_decompress(stream, size, *target) == 0
    assert exact.same_bits(out, decoded)
    for threads in (0, 1, 2, 300):
        out[...] = np.nan
        assert library.stz_decompress_threads(stream, size, *target, threads) == 0
        assert exact.same_bits(out, decoded)
    codes = _core.ERROR_CODES
    assert library.stz_decompress_threads(stream, size, *target, -1) == codes["STZ_ERROR_OPTION"]
    assert library.stz_decompress_threads(None, size, *target, 1) == codes["STZ_ERROR_ARGUMENT"]
    assert library.stz_decompress_threads(stream, size, None, target[1], 1) == codes["STZ_ERROR_ARGUMENT"]


def overtaken(work):
    """Did this thread run between start and end of `work` in another one?"""
    begun, ended = threading.Event(), threading.Event()

    def run():
        begun.set()
        work()
        ended.set()

    other = threading.Thread(target=run)
    other.start()
    begun.wait()
    seen = not ended.is_set()
    other.join()
    return seen


def test_other_threads_run_while_the_codec_works():
    array = fields.random_field((96, 96, 96), 3, 1).astype("f4")
    stream = h5stz.compress(array, absolute=1e-3)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # seconds: a thread gives way when it releases the GIL itself, and only then
    try:
        assert not any(overtaken(lambda: sum(range(10**5))) for _ in range(20)), "this holds the GIL"
        for work in (lambda: h5stz.compress(array, absolute=1e-3), lambda: h5stz.decompress(stream)):
            assert any(overtaken(work) for _ in range(20)), "the GIL is held"
    finally:
        sys.setswitchinterval(interval)


def test_strides_make_no_difference():
    array = fields.random_field((20, 30, 10), 4, 1)
    for view in (array.T, array[::2, ::-3], np.asfortranarray(array), array[:, :1], array[5]):
        assert h5stz.compress(view, absolute=1e-3) == h5stz.compress(np.ascontiguousarray(view), absolute=1e-3)


def test_plain_sequences_are_arrays():
    assert h5stz.decompress(h5stz.compress([1.0, 2.0, 3.0], lossless=True)).tolist() == [1.0, 2.0, 3.0]
    assert h5stz.decompress(h5stz.compress(2.5, lossless=True)).item() == 2.5


def test_bool_is_stored_as_uint8():
    array = np.arange(100).reshape(4, 25) % 3 == 0
    stream = h5stz.compress(array, lossless=True)
    assert h5stz.info(stream).dtype == np.uint8
    out = np.empty(array.shape, bool)
    assert h5stz.decompress(stream, out=out) is out
    assert np.array_equal(out, array)


def test_masked_samples_are_stored_as_the_fill_value():
    array = np.ma.masked_greater(fields.random_field((30, 40), 4, 1).astype("f4"), 0.5)
    array.fill_value = 1e20
    stream = h5stz.compress(array, relative=1e-3)
    assert h5stz.info(stream).fill_value == np.float32(1e20)
    decoded = h5stz.decompress(stream)
    assert np.array_equal(decoded == np.float32(1e20), array.mask)
    exact.largest_error(array.filled(), decoded, h5stz.info(stream).bound)
    assert h5stz.info(stream).bound == pytest.approx(1e-3 * (float(array.max()) - float(array.min())))


@pytest.mark.parametrize("dtype", ["f2", ">f4", "f8"])
@pytest.mark.parametrize("fill", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("given", [False, True])
def test_masked_samples_are_stored_as_a_fill_value_that_is_no_number(dtype, fill, given):
    """What lies beneath the mask must not come back."""
    array = np.ma.masked_greater(fields.random_field((30, 40), 4, 1).astype(dtype), 0.5)
    options = {"fill_value": fill} if given else {}
    if not given:
        array.fill_value = fill
    before = array.fill_value
    for bound in ({"relative": 1e-3}, {"absolute": 0.1}, {"lossless": True}, {"psnr": 40}):
        decoded = h5stz.decompress(h5stz.compress(array, **bound, **options))
        wanted = np.isnan(decoded) if np.isnan(fill) else decoded == fill
        assert np.array_equal(wanted, array.mask)
    assert array.fill_value == before or np.isnan(before)


def test_one_nan_for_masked_pieces(monkeypatch):
    """The fill values of pieces are different objects."""
    array = np.ma.masked_greater(fields.random_field((30, 40), 4, 1), 0.5)
    array.fill_value = np.nan
    monkeypatch.setattr("h5stz.slabs.LOADED_BYTES", 4000)
    options = h5stz.STZ(relative=1e-3, data=array)
    assert options.bound == pytest.approx(1e-3 * float(np.ma.MaskedArray.ptp(array)))


def test_part_of_a_dataset_with_the_bound_of_the_whole():
    array = fields.random_field((20, 30), 4, 1)
    stream = h5stz.compress(array[:2, :2], relative=1e-3, data=array)
    assert h5stz.info(stream).bound == h5stz.STZ(relative=1e-3, data=array).bound


def test_info():
    array = fields.random_field((20, 30, 40), 4, 1).astype(">f4")
    array[3] = -9999
    stream = h5stz.compress(array, relative=1e-3, block="region", content_check=True)
    found = h5stz.info(stream)
    assert (found.shape, found.dtype, found.mode, found.block) == ((20, 30, 40), np.dtype(">f4"), "absolute", "region")
    assert found.bound == h5stz.STZ(relative=1e-3, data=array).bound
    assert found.fill_value == -9999
    assert found.format_version == h5stz.FORMAT_VERSION
    assert (found.array_bytes, found.stream_bytes) == (array.nbytes, len(stream))
    assert found.ratio == array.nbytes / len(stream)
    assert len(found.level_bytes) == found.levels >= 1
    assert found.content_check and found.level_bytes[0] == len(stream) - 14  # a trailer with one CRC
    assert list(found.level_bytes) == sorted(found.level_bytes, reverse=True)
    with pytest.raises(AttributeError):
        found.bound = 0


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_decompress_into_an_array(dtype):
    array = np.arange(60).reshape(3, 4, 5).astype(dtype)
    stream = h5stz.compress(array, lossless=True)
    out = np.empty_like(array)
    assert h5stz.decompress(stream, out=out) is out
    assert exact.same_bits(array, out)
    for kind in (bytearray, memoryview, lambda data: np.frombuffer(data, "u1")):
        assert exact.same_bits(array, h5stz.decompress(kind(stream)))


@pytest.mark.parametrize(
    ("out", "error", "told"),
    [
        (np.empty((4, 5), "f8"), TypeError, "<f8.*<f4.*astype"),
        (np.empty((5, 4), "f4"), ValueError, r"\(5, 4\).*numpy.empty\(\(4, 5\), '<f4'\)"),
        (np.empty(20, "f4"), ValueError, r"\(20,\)"),
        (np.empty((4, 5), ">f4"), TypeError, ">f4"),
        (np.empty((4, 5), "i4"), TypeError, "<i4"),
        (np.empty((4, 5), object), TypeError, "O"),
        (np.empty((5, 4), "f4").T, ValueError, r"C-contiguous.*out\[...\] = "),
        (np.empty((4, 10), "f4")[:, ::2], ValueError, "C-contiguous"),
        (np.frombuffer(bytes(80), "f4").reshape(4, 5), ValueError, "read-only"),
        (bytearray(80), TypeError, r"out is of type bytearray.*numpy.empty\(\(4, 5\), '<f4'\)"),
    ],
    ids=["dtype", "shape", "rank", "byte order", "kind", "object", "order", "strides", "read-only", "no array"],
)
def test_an_array_that_does_not_fit_is_refused(out, error, told):
    stream = h5stz.compress(np.ones((4, 5), "<f4"), lossless=True)
    with pytest.raises(h5stz.StzError, match=told) as caught:
        h5stz.decompress(stream, out=out)
    assert isinstance(caught.value, error)


def test_out_of_bool_is_for_uint8_alone():
    flags = np.empty((4, 5), bool)
    with pytest.raises(h5stz.StzTypeError, match="i1"):
        h5stz.decompress(h5stz.compress(np.ones((4, 5), "i1"), lossless=True), out=flags)


def test_the_announced_size_is_checked_before_allocation():
    stream = h5stz.compress(np.zeros((100, 100)), lossless=True)
    with pytest.raises(h5stz.StzError, match="max_bytes"):
        h5stz.decompress(stream, max_bytes=79_999)
    assert h5stz.decompress(stream, max_bytes=80_000).shape == (100, 100)
    out = np.empty((100, 100))
    assert h5stz.decompress(stream, out=out, max_bytes=0) is out


@pytest.mark.parametrize(
    "garbage", [b"", b"S", b"no stream at all, but long enough to have a header" * 9], ids=["empty", "short", "text"]
)
def test_what_is_no_stream_is_refused(garbage):
    for function in (h5stz.decompress, h5stz.info):
        with pytest.raises(h5stz.StzError) as caught:
            function(garbage)
        assert -30 < caught.value.code <= -20


def test_what_was_given_is_described():
    for stream, told in (
        (b"no stream at all, but a text", r"28 bytes \(bytes\), beginning with b'no stream at all'"),
        (np.zeros((2, 3)), r"48 bytes \(ndarray\)"),
        (b"", r"0 bytes \(bytes\)"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "an HDF5 file: open it with h5py"),
    ):
        for function in (h5stz.decompress, h5stz.info):
            with pytest.raises(h5stz.StzError, match=told):
                function(stream)
    for stream, told in (
        ("x.stz", "type str.*read_bytes"),
        (None, "type NoneType"),
        (np.zeros((4, 4))[::2, ::2], "contiguous"),
    ):
        with pytest.raises(h5stz.StzTypeError, match=told):
            h5stz.info(stream)


def test_a_dataset_instead_of_a_stream(tmp_path):
    told = (
        r"stream is a dataset of HDF5: dataset\[...\] reads it, h5stz.STZ.from_dataset\(dataset\) has its options, `h5stz info"
    )
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", data=np.zeros((8, 8)), chunks=(8, 8), **h5stz.STZ(absolute=1))
        for function in (h5stz.info, h5stz.decompress, h5stz.verify, lambda stream: h5stz.drop_layers(stream, 1)):
            with pytest.raises(h5stz.StzTypeError, match=told):
                function(dataset)
        assert h5stz.info(dataset.id.read_direct_chunk((0, 0))[1]).shape == (8, 8)


def test_errors_have_the_classes_that_python_expects(tmp_path):
    stream = h5stz.compress(fields.random_field((20, 30), 4, 1), absolute=1e-3)
    (tmp_path / "x").write_bytes(stream[:-29])
    with open(tmp_path / "x", "rb") as file, pytest.raises(OSError) as caught:
        _core.Reader.of_file(file.fileno(), 0, len(stream), 0).read((0, 0), (20, 30), (1, 1), bytearray(4800), 1)
    assert type(caught.value) is h5stz.StzReadError and isinstance(caught.value, (h5stz.StzError, ValueError))
    assert caught.value.code == _core.ERROR_CODES["STZ_ERROR_READ"]
    with pytest.raises(OSError, match="the source gave 3 bytes"):
        _core.Reader.of_callback(lambda offset, size: b"abc", len(stream), 0)


def test_more_than_32_axes_are_refused():
    with pytest.raises(h5stz.StzError, match="32"):
        h5stz.compress(np.zeros((1,) * 33), lossless=True)


def test_options_are_checked_as_those_of_the_filter():
    with pytest.raises(h5stz.StzError, match="exactly one"):
        h5stz.compress(np.zeros(3))
    with pytest.raises(h5stz.StzError, match="astype"):
        h5stz.compress(np.array([object()]), lossless=True)
    with pytest.raises(h5stz.StzTypeError):
        h5stz.compress(["text"], lossless=True)

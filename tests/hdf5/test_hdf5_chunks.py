"""The filter callback: edge chunks, damaged and foreign chunks, and a host whose HDF5 functions cannot be reached."""

import ctypes
import threading

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import h5stz
from support import host_tools
from support.host_tools import ABSOLUTE, FILTER_ID, field, full_form, largest_error, short_form

h5py.h5pl.prepend(host_tools.plugin_directory().encode())

BOUND = 0.01
WORDS = short_form(ABSOLUTE, BOUND)
DECODE = 0x100  # H5Z_FLAG_REVERSE


def write(path, data, chunks, words=WORDS, **more):
    with h5py.File(path, "w") as file:
        file.create_dataset("d", data=data, chunks=chunks, compression=FILTER_ID, compression_opts=words, **more)


@pytest.mark.parametrize(
    "shape, chunks",
    [
        ((50, 70), (16, 24)),
        ((1000,), (999,)),
        ((5, 6, 7), (4, 4, 4)),
        ((3, 100), (3, 64)),
        ((7, 1, 9), (7, 1, 2)),
        ((1,), (1,)),
        ((9, 9, 9, 9), (4, 5, 6, 7)),
    ],
)
@pytest.mark.parametrize("dtype", ["<f4", ">f8"])
def test_edge_chunks(tmp_path, shape, chunks, dtype):
    data = field(shape, dtype)
    write(tmp_path / "f.h5", data, chunks)
    with h5py.File(tmp_path / "f.h5") as file:
        assert largest_error(data, file["d"][()]) <= BOUND
        assert all(file["d"].id.get_chunk_info(i).filter_mask == 0 for i in range(file["d"].id.get_num_chunks()))


def test_smooth_data_become_small(tmp_path):
    data = field((128, 128, 16))
    write(tmp_path / "f.h5", data, (64, 64, 16), short_form(ABSOLUTE, 1.0))
    with h5py.File(tmp_path / "f.h5") as file:
        assert file["d"].id.get_storage_size() < data.nbytes / 5
        assert 0 < largest_error(data, file["d"][()]) <= 1.0


def test_growing_dataset(tmp_path):
    data = field((100, 10))
    with h5py.File(tmp_path / "f.h5", "w") as file:
        dataset = file.create_dataset(
            "d",
            shape=(0, 10),
            maxshape=(None, 10),
            chunks=(32, 10),
            dtype="f4",
            compression=FILTER_ID,
            compression_opts=short_form(ABSOLUTE, 0.0),
        )
        for start in range(0, 100, 7):
            dataset.resize(min(start + 7, 100), axis=0)
            dataset[start:] = data[start : start + 7]
            file.flush()
    with h5py.File(tmp_path / "f.h5") as file:
        assert np.array_equal(file["d"][()], data)


def test_unfiltered_edge_chunks(tmp_path):
    """With H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS an edge chunk is raw although its filter mask is 0."""
    data = field((50, 70))
    with h5py.File(tmp_path / "f.h5", "w", libver="latest") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((16, 24))
        host_tools.store_edge_chunks_unfiltered(properties)
        properties.set_filter(FILTER_ID, 0, short_form(ABSOLUTE, BOUND))
        space = h5py.h5s.create_simple(data.shape)
        h5py.Dataset(h5py.h5d.create(file.id, b"d", h5py.h5t.IEEE_F32LE, space, properties))[...] = data
    with h5py.File(tmp_path / "f.h5") as file:
        assert largest_error(data, file["d"][()]) <= BOUND
        assert np.array_equal(file["d"][48:, :], data[48:, :])
        mask, edge = file["d"].id.read_direct_chunk((48, 48))
        assert (mask, len(edge)) == (0, 16 * 24 * 4)


def replace_chunk(path, chunk, mask=0):
    with h5py.File(path, "r+") as file:
        file["d"].id.write_direct_chunk((0, 0), bytes(chunk), mask)


def first_chunk(path):
    with h5py.File(path) as file:
        return file["d"].id.read_direct_chunk((0, 0))[1]


def read_error(path):
    with h5py.File(path) as file, pytest.raises(OSError) as raised:
        file["d"][()]
    return str(raised.value)


@pytest.mark.parametrize(
    "chunk, said",
    [
        (b"\0" * 100, "not an h5stz stream"),
        (b"not a stream at all, just some text", "not an h5stz stream"),
        (b"x", "cannot be read"),
        (np.arange(256, dtype="u1").tobytes() * 6, "not an h5stz stream"),
    ],
)
def test_foreign_chunk_is_an_error_that_says_so(tmp_path, chunk, said):
    write(tmp_path / "f.h5", field((16, 24)), (16, 24))
    replace_chunk(tmp_path / "f.h5", chunk)
    message = read_error(tmp_path / "f.h5")
    assert "h5stz: a chunk of" in message and said in message


def test_truncated_chunk_is_an_error(tmp_path):
    write(tmp_path / "f.h5", field((16, 24)), (16, 24))
    stream = first_chunk(tmp_path / "f.h5")
    for size in [len(stream) - 1, len(stream) // 2, 30, 5]:
        replace_chunk(tmp_path / "f.h5", stream[:size])
        assert f"h5stz: a chunk of {size} bytes cannot be" in read_error(tmp_path / "f.h5")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_damaged_chunk_is_an_error(tmp_path, where, flip):
    write(tmp_path / "f.h5", field((16, 24)), (16, 24))
    stream = bytearray(first_chunk(tmp_path / "f.h5"))
    stream[int(where * h5stz.info(stream).level_bytes[0])] ^= flip  # behind it is the content check, which reading skips
    replace_chunk(tmp_path / "f.h5", stream)
    assert "h5stz: " in read_error(tmp_path / "f.h5")


@pytest.mark.parametrize(
    "other, said",
    [
        (field((16, 25)), "decodes to 1600 bytes, but a chunk here has 1536"),
        (field((8, 24), "f8").reshape(8, 24)[:, :12], "decodes to 768 bytes"),
        (field((16, 24), ">f4"), "byte order"),
        (field((16, 24), "i4"), "element type"),
    ],
)
def test_chunk_of_another_dataset_is_an_error(tmp_path, other, said):
    write(tmp_path / "f.h5", field((16, 24)), (16, 24))
    write(tmp_path / "other.h5", other, other.shape)
    replace_chunk(tmp_path / "f.h5", first_chunk(tmp_path / "other.h5"))
    assert said in read_error(tmp_path / "f.h5")


def test_bool_chunk_may_be_called_either_sign(tmp_path):
    data = field((16, 24)) > 0
    write(tmp_path / "f.h5", data, (16, 24))
    write(tmp_path / "other.h5", data.view("u1"), (16, 24))
    replace_chunk(tmp_path / "f.h5", first_chunk(tmp_path / "other.h5"))
    with h5py.File(tmp_path / "f.h5") as file:
        assert np.array_equal(file["d"][()], data)


def test_chunk_stored_without_the_filter_is_read(tmp_path):
    data = field((16, 24))
    write(tmp_path / "f.h5", data, (16, 24))
    replace_chunk(tmp_path / "f.h5", data.tobytes(), mask=1)
    with h5py.File(tmp_path / "f.h5") as file:
        assert np.array_equal(file["d"][()], data)


# --- The callbacks called from here: nobody in the call chain has HDF5 functions. ---

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]


record = host_tools.filter_class()


def call_filter(flags, words, content: bytes):
    """(returned size, buffer size, the first `returned size` bytes of the buffer)"""
    buffer = ctypes.c_void_p(libc.malloc(ctypes.c_size_t(max(len(content), 1))))
    ctypes.memmove(buffer, content, len(content))
    before, size = buffer.value, ctypes.c_size_t(len(content))
    values = (ctypes.c_uint * max(len(words), 1))(*words)
    returned = record.filter(flags, len(words), values, len(content), ctypes.byref(size), ctypes.byref(buffer))
    if returned == 0:
        assert (buffer.value, size.value) == (before, len(content)), "a failed filter leaves its buffer alone"
    result = ctypes.string_at(buffer, returned)
    libc.free(buffer)
    return returned, size.value, result


def test_filter_record():
    assert ctypes.CDLL(host_tools.plugin_file()).H5PLget_plugin_type() == 0
    assert (record.version, record.id, record.encoder, record.decoder) == (1, FILTER_ID, 1, 1)
    assert record.name == b"h5stz"


def test_without_reachable_functions_nothing_is_checked():
    assert record.can_apply(1, 2, 3) == 1
    assert record.set_local(1, 2, 3) >= 0


def test_without_reachable_functions_the_full_form_suffices():
    data = field((20, 30))
    words = full_form(2, False, data.shape, ABSOLUTE, BOUND)
    size, capacity, stream = call_filter(0, words, data.tobytes())
    assert 0 < size <= capacity
    for decoding_words in [words, (), short_form(ABSOLUTE, 5.0), (1, 2, 3)]:
        size, capacity, decoded = call_filter(DECODE, decoding_words, stream)
        assert size == data.nbytes and capacity >= size
        assert largest_error(data, np.frombuffer(decoded, "f4").reshape(data.shape)) <= BOUND


@pytest.mark.parametrize(
    "words",
    [
        (),
        short_form(ABSOLUTE, BOUND),
        (1, 2, 3),
        full_form(2, False, (20, 31)),
        full_form(3, False, (20, 30)),
        full_form(4, False, (20, 30)),
    ],
)
def test_encoding_needs_words_that_fit_the_chunk(words):
    assert call_filter(0, words, field((20, 30)).tobytes())[0] == 0


def test_decoding_is_bounded_by_the_dataset_not_by_the_stream():
    zeros = np.zeros(1 << 20, "u1")
    stream = call_filter(0, full_form(5, False, zeros.shape), zeros.tobytes())[2]
    assert call_filter(DECODE, full_form(5, False, (1 << 20,)), stream)[0] == 1 << 20
    assert call_filter(DECODE, full_form(5, False, (4096,)), stream)[0] == 0


@settings(max_examples=300, deadline=None)
@given(content=st.binary(max_size=200))
def test_any_bytes_decode_to_an_error(content):
    assert call_filter(DECODE, (), content)[0] == 0


def test_threads_share_the_plugin():
    data = field((64, 64))
    words, wrong = full_form(2, False, data.shape, ABSOLUTE, BOUND), []

    def work():
        for _ in range(30):
            stream = call_filter(0, words, data.tobytes())[2]
            decoded = np.frombuffer(call_filter(DECODE, words, stream)[2], "f4").reshape(data.shape)
            if not largest_error(data, decoded) <= BOUND:
                wrong.append(decoded)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

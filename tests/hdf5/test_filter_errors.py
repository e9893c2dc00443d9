"""Errors of the filter reach the user: on the error stack of every HDF5, through last_error, and on request on stderr."""

import ctypes
import os
import subprocess
import sys
import threading

import h5py
import numpy as np
import pytest

import h5stz
from support.host_tools import FILTER_ID, environment, field, plugin_file
from support.patched_streams import extended, record
from support.paths import PROGRAMS
from support.requirements import each_package, needs_packages, needs_programs

SAID = {
    "damaged": "a chunk of 9 bytes cannot be read: not an h5stz stream",
    "mandatory_type": "cannot compress a fixed-length string",
    "mandatory_words": "cd_values word 1 (mode) is 9",
    "optional_type": "cannot compress a fixed-length string",
    "optional_words": "cd_values word 1 (mode) is 9",
}


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    path = tmp_path_factory.mktemp("errors") / "damaged.h5"
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("d", data=field((16, 24)), chunks=(16, 24), **h5stz.STZ(lossless=True))
        file.flush()
        dataset.id.write_direct_chunk((0, 0), b"no stream")
    return path


def run(*words, **variables):
    done = subprocess.run([str(word) for word in words], env=environment() | variables, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("package", each_package(["h5py", "netCDF4", "tables"]))
def test_libraries_of_python_packages(damaged, package):
    """Each brings an HDF5 of another version."""
    status, printed, errors = run(sys.executable, PROGRAMS / "errors.py", package, damaged)
    assert status == 0 and errors == "", errors
    lines = [line.split(" ", 1) for line in printed.splitlines()]
    assert lines[1] == ["last", "None"]
    for (name, message), (_, last) in zip(lines[2::2], lines[3::2], strict=True):
        assert SAID[name] in message and message == f"h5stz: {last}", name
    assert [name for name, _ in lines[2::2]] == list(SAID)


def test_a_chunk_of_a_later_version_is_named(tmp_path):
    array = field((16, 24))
    with h5py.File(tmp_path / "later.h5", "w") as file:
        dataset = file.create_dataset("d", data=array, chunks=(16, 24), **h5stz.STZ(lossless=True))
        file.flush()
        dataset.id.write_direct_chunk((0, 0), extended(h5stz.compress(array, lossless=True), record(3, b"abc")))
    with h5py.File(tmp_path / "later.h5") as file, pytest.raises(OSError):
        file["d"][()]
    assert "it needs a later syntax of sections (critical record 3)" in h5stz.last_error()


@needs_programs("h5dump")
def test_programs(damaged):
    status, printed, errors = run("h5dump", "--enable-error-stack", damaged)
    assert status > 0 and f"h5stz: {SAID['damaged']}" in printed + errors


@pytest.mark.parametrize("value, lines", [("1", 1), ("0", 0), ("", 0), ("yes", 0)])
def test_stderr_on_request(damaged, value, lines):
    code = f"import h5py, h5stz\ntry: h5py.File({str(damaged)!r})['d'][()]\nexcept OSError: pass"
    status, _, errors = run(sys.executable, "-c", code, H5STZ_STDERR=value)
    assert status == 0 and len(errors.splitlines()) == lines
    assert lines == 0 or errors.startswith(f"h5stz: filter: {SAID['damaged']}")


@needs_packages("netCDF4")
def test_netcdf4_which_drops_the_messages(damaged, tmp_path):
    """netCDF4 says "HDF error"; the message is there to be asked for."""
    code = (
        "import sys, netCDF4, h5stz\n"
        "try: netCDF4.Dataset(sys.argv[1])['d'][...]\n"
        "except (OSError, RuntimeError) as error: print(error)\n"
        "print(h5stz.last_error())"
    )
    status, printed, _ = run(sys.executable, "-c", code, damaged)
    shown, last = printed.splitlines()
    assert status == 0 and "h5stz" not in shown and last.startswith(SAID["damaged"])


def test_last_error_through_the_c_function():
    """As C programs use it; a buffer that is too small gets the begin, and the length is that of all."""
    function = ctypes.CDLL(plugin_file()).stz_h5_last_error
    function.restype, function.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]
    with h5py.File("x", "w", driver="core", backing_store=False) as file, pytest.raises((OSError, ValueError)):
        file.create_dataset("d", data=np.array([b"text"]), chunks=(1,), compression=FILTER_ID, compression_opts=(101, 0))
    whole, part = ctypes.create_string_buffer(2048), ctypes.create_string_buffer(b"x" * 8, 8)
    length = function(whole, len(whole))
    assert whole.value.decode() == h5stz.last_error() and length == len(whole.value)
    assert "fixed-length string" in h5stz.last_error()
    assert function(part, len(part)) == length and part.value == whole.value[:7]
    assert function(None, 0) == length


def test_messages_of_threads_do_not_mix():
    """One of them is the latest, whole, also in a child of fork. No HDF5 calls here: there is no error stack."""
    plugin = ctypes.CDLL(plugin_file())
    plugin.H5PLget_plugin_info.restype = ctypes.c_void_p
    ask = plugin.stz_h5_last_error
    ask.restype, ask.argtypes = ctypes.c_size_t, [ctypes.c_char_p, ctypes.c_size_t]
    # H5Z_class2_t: the filter's function is its last member, after a version, an id, two flags, the name and two functions.
    address = ctypes.cast(plugin.H5PLget_plugin_info() + 40, ctypes.POINTER(ctypes.c_void_p))[0]
    pointer = ctypes.POINTER
    kinds = ctypes.c_size_t, ctypes.c_uint, ctypes.c_size_t, pointer(ctypes.c_uint), ctypes.c_size_t
    callback = ctypes.CFUNCTYPE(*kinds, pointer(ctypes.c_size_t), pointer(ctypes.c_void_p))(address)
    possible = {f"a chunk of {9 * times} bytes cannot be read: not an h5stz stream (error -20)" for times in range(1, 9)}
    wrong = []

    def work(length):
        content = ctypes.create_string_buffer(b"no stream" * length)
        for _ in range(300):
            size, buffer = ctypes.c_size_t(9 * length), ctypes.c_void_p(ctypes.addressof(content))
            assert callback(0x100, 0, None, 9 * length, ctypes.byref(size), ctypes.byref(buffer)) == 0
            text = ctypes.create_string_buffer(2048)
            ask(text, len(text))
            if text.value.decode() not in possible:
                wrong.append(text.value)

    work(1)  # so that the child has an error, however early it is forked
    threads = [threading.Thread(target=work, args=(length,)) for length in range(1, 9)]
    for thread in threads:
        thread.start()
    child = os.fork()
    if child == 0:
        os._exit(0 if h5stz.last_error() else 1)
    for thread in threads:
        thread.join()
    assert not wrong and os.waitpid(child, 0)[1] == 0

"""Each operation of the package in processes of which each may have a little more memory than the one before (RLIMIT_AS).

    limited_memory.py DIRECTORY LIMITS

Forks a child for each operation and limit. It must end in an ordinary way: with a result that is right, or with an exception.
Files are opened before the limit and closed after it: without memory, HDF5 2.0 crashes in H5AC_create, where it opens a file.
Prints a line for each operation: its name, how many limits it failed under, and the names of the exceptions.
"""

import os
import resource
import sys
import threading
from functools import partial
from pathlib import Path

import h5py
import numpy as np

import h5stz

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import exact
from support.fields import random_field

directory, limits = Path(sys.argv[1]), int(sys.argv[2])
BOUND = 1e-2
NO_CACHE = {
    "rdcc_nbytes": 0
}  # so that the call fails that writes: where a filter fails in H5Dclose, HDF5 2.0 crashes in H5Fclose
MOST = 1 << 30  # bytes beyond what the process has, which suffice for everything: stacks and arenas of threads are large
FIELD = random_field((64, 96, 96), 4, 1).astype("f4")
OTHER = (FIELD[10:20] + 7).astype("f4")
STREAM = h5stz.compress(FIELD, absolute=BOUND, block="region")
DECODED = h5stz.decompress(STREAM)


def near(found, expected):
    return exact.error_over_bound(expected, found, BOUND) <= 1


def compress(threads, limit):
    limit()
    return near(h5stz.decompress(h5stz.compress(FIELD, absolute=BOUND, block="region", threads=threads)), FIELD)


def decompress(threads, limit):
    limit()
    return h5stz.decompress(STREAM, threads=threads).tobytes() == DECODED.tobytes()


def write_file(limit):
    with h5py.File(directory / "new.h5", "w", **NO_CACHE) as file:
        limit()
        file.create_dataset("x", data=FIELD, chunks=FIELD.shape, **h5stz.STZ(absolute=BOUND))
        lift()
    return read_file(lift, "new.h5")


def read_file(limit, name="x.h5"):
    with h5py.File(directory / name) as file:
        limit()
        return near(file["x"][...], FIELD)


def rewrite_file(limit):
    """What a rewrite leaves alone has the bits that it had."""
    with h5py.File(directory / "rewritten.h5", "w", **NO_CACHE) as file:
        file.create_dataset("x", data=FIELD, chunks=FIELD.shape, **h5stz.STZ(absolute=BOUND))
    with h5py.File(directory / "rewritten.h5", "r+", **NO_CACHE) as file:
        limit()
        before = file["x"][...]
        file["x"][10:20] = OTHER
        lift()
    with h5py.File(directory / "rewritten.h5") as file:
        after = file["x"][...]
    kept = np.delete(after, np.s_[10:20], 0).tobytes() == np.delete(before, np.s_[10:20], 0).tobytes()
    return kept and near(after[10:20], OTHER)


def view(limit):
    with h5py.File(directory / "x.h5") as file:
        limit()
        return near(h5stz.view(file["x"], threads=2)[5:9, ::2], FIELD[5:9, ::2])


def layers(limit):
    limit()
    return h5stz.compress(FIELD, absolute=BOUND, layers=3) != b""


OPERATIONS = {
    "compress": partial(compress, 1),
    "compress with threads": partial(compress, 3),
    "decompress": partial(decompress, 1),
    "decompress with threads": partial(decompress, 3),
    "write": write_file,
    "read": read_file,
    "rewrite": rewrite_file,
    "view": view,
    "layers": layers,
}


def address_space():
    """Bytes that this process has mapped."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")


def lift():
    """Ends the limit."""
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)


def work_within(operation, more, told):
    """Runs an operation, which may have so many bytes more from where it calls its argument.

    On a thread, whose stack is there: that of a process would have to grow, and the system ends who has no memory for that.
    """

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (address_space() + more, resource.RLIM_INFINITY))

    try:
        said = "right" if operation(limit) else "wrong"
    except Exception as error:
        lift()
        said = type(error).__name__
    os.write(told, said.encode())


def outcome(operation, more):
    """What became of an operation with so many bytes more: "right", or the name of an exception."""
    result, told = os.pipe()
    child = os.fork()
    if child == 0:
        worker = threading.Thread(target=work_within, args=(operation, more, told))
        worker.start()
        worker.join()
        os._exit(0)
    os.close(told)
    with os.fdopen(result) as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0 and said not in ("", "wrong"), f"{operation} with {more} bytes more: status {status}, {said!r}"
    return said


def main():
    with h5py.File(directory / "x.h5", "w") as file:
        file.create_dataset("x", data=FIELD, chunks=FIELD.shape, **h5stz.STZ(absolute=BOUND, block="region"))
    for name, operation in OPERATIONS.items():
        found = [outcome(operation, MOST * k**3 // limits**3) for k in range(limits + 1)]
        assert found[-1] == "right", f"{name}: {found[-1]} with {MOST} bytes"
        failures = [each for each in found if each != "right"]
        print(f"{name}: {len(failures)} {' '.join(sorted(set(failures)))}", flush=True)


main()

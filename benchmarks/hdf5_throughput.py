"""A large dataset through h5py: h5stz, SZ3 and ZFP of hdf5plugin, and h5stz in memory on the same chunks.

The file is in the directory for temporary files and in the page cache: the benchmark measures HDF5 and the filter,
not the disk. The dataset is read with read_direct into an array that has been written to before.
"""

import tempfile
from pathlib import Path

import h5py
import numpy as np

import fields
import h5stz
import peers
import speed_cases
import speed_peers
import timing

CASES = ((5, 128), (5, 64), (3, 32))  # effort; samples per axis of a chunk
PEERS = ("sz3", "zfp")


def dataset(arrays, megabytes):
    """The volumes repeated along axis 0 until the array has about this many MB (10^6)."""
    volumes = list(arrays.values())
    count = max(1, round(megabytes * 1e6 / volumes[0].nbytes))
    return np.concatenate([volumes[place % len(volumes)] for place in range(count)])


def write(path, array, chunks, options):
    with h5py.File(path, "w") as file:
        file.create_dataset("field", data=array, chunks=chunks, **options)


def read(path, out):
    with h5py.File(path, "r") as file:
        file["field"].read_direct(out)


def measure(arrays, megabytes, repeats, threads, with_peers):
    """Records of one dataset of three-dimensional volumes of one shape, for each of CASES: MB/s of writing and reading."""
    array = dataset(arrays, megabytes)
    wanted = [(case, threads if number == 0 else [1]) for number, case in enumerate(CASES)]
    return [r for case, counts in wanted for r in measure_case(array, *case, repeats, counts, with_peers)]


def cut(array, edge):
    """The chunks of an array, as HDF5 passes them to a filter where they divide it."""
    corners = np.ndindex(*(-(-extent // edge) for extent in array.shape))
    boxes = (tuple(slice(edge * at, edge * (at + 1)) for at in corner) for corner in corners)
    return [np.ascontiguousarray(array[box]) for box in boxes]


def measure_case(array, effort, edge, repeats, threads, with_peers):
    """Records of one effort and one edge of chunks."""
    bound = speed_cases.RELATIVE * fields.value_range(array)
    chunks = peers.chunk_shape(array, edge)
    options = {"h5stz": h5stz.STZ(absolute=bound, effort=effort)}
    options |= {name: peers.filter_options(name, array, bound) for name in PEERS if with_peers}
    memory_chunks, out = cut(array, edge), np.zeros_like(array)
    actions, errors = {}, {}
    with tempfile.TemporaryDirectory() as directory:
        for name, count in [("h5stz", count) for count in threads] + [(name, 1) for name in options if name != "h5stz"]:
            path = Path(directory) / f"{name}-{count}.h5"
            key = speed_peers.FILTERS[name], count
            with timing.filter_threads(count):
                write(path, array, chunks, options[name])
                read(path, out)
            errors[key] = speed_peers.largest_error(array, out) / bound
            actions[(*key, "write")] = with_threads(count, write, path, array, chunks, options[name])
            actions[(*key, "read")] = with_threads(count, read, path, out)
        streams = [h5stz.compress(chunk, absolute=bound, effort=effort) for chunk in memory_chunks]
        for count in threads:
            key = "h5stz in memory", count
            actions[(*key, "write")] = lambda count=count: [
                h5stz.compress(chunk, absolute=bound, effort=effort, threads=count) for chunk in memory_chunks
            ]
            actions[(*key, "read")] = lambda count=count: fresh_arrays(streams, count)
        seconds = timing.interleaved(actions, repeats)
    records = []
    for codec, count in dict.fromkeys(key[:2] for key in actions):
        speeds = {what: timing.megabytes_per_second(array.nbytes, seconds[codec, count, what]) for what in ("write", "read")}
        record = {"part": "hdf5", "effort": effort, "edge": edge, "codec": codec, "threads": count}
        record |= {"array_bytes": array.nbytes, "chunks": list(chunks)}
        records.append(record | speeds | {"error_over_bound": errors.get((codec, count))})
    return records


def with_threads(count, function, *arguments):
    """The call as a function without arguments, with this number of threads in the h5stz filter."""

    def run():
        with timing.filter_threads(count):
            return function(*arguments)

    return run


def fresh_arrays(streams, threads):
    """Decompresses every stream into a new array of its own, one at a time."""
    for stream in streams:
        h5stz.decompress(stream, threads=threads)

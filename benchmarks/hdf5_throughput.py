"""A large dataset through h5py: h5stz, the SZ3 of hdf5plugin, and h5stz in memory on the same chunks.

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

CHUNK = 128  # samples per axis


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


def measure(arrays, megabytes, repeats, threads, with_peer):
    """Records of one dataset of three-dimensional volumes of one shape: MB/s of writing and reading."""
    array = dataset(arrays, megabytes)
    bound = speed_cases.RELATIVE * fields.value_range(array)
    edge = min(CHUNK, *array.shape)
    chunks = peers.chunk_shape(array, edge)
    memory_chunks = [
        np.ascontiguousarray(array[z : z + edge, y : y + edge, x : x + edge])
        for z in range(0, array.shape[0], edge)
        for y in range(0, array.shape[1], edge)
        for x in range(0, array.shape[2], edge)
    ]
    out = np.zeros_like(array)
    actions, errors = {}, {}
    with tempfile.TemporaryDirectory() as directory:
        for name, count in [("h5stz", count) for count in threads] + ([("sz3", 1)] if with_peer else []):
            path, options = Path(directory) / f"{name}-{count}.h5", peers.filter_options(name, array, bound)
            key = speed_peers.FILTERS[name], count
            with timing.filter_threads(count):
                write(path, array, chunks, options)
                read(path, out)
            errors[key] = speed_peers.largest_error(array, out) / bound
            actions[(*key, "write")] = with_threads(count, write, path, array, chunks, options)
            actions[(*key, "read")] = with_threads(count, read, path, out)
        streams = [h5stz.compress(chunk, absolute=bound) for chunk in memory_chunks]
        for count in threads:
            key = "h5stz in memory", count
            actions[(*key, "write")] = lambda count=count: [
                h5stz.compress(chunk, absolute=bound, threads=count) for chunk in memory_chunks
            ]
            actions[(*key, "read")] = lambda count=count: fresh_arrays(streams, count)
        seconds = timing.interleaved(actions, repeats)
    records = []
    for codec, count in dict.fromkeys(key[:2] for key in actions):
        speeds = {what: timing.megabytes_per_second(array.nbytes, seconds[codec, count, what]) for what in ("write", "read")}
        record = {"part": "hdf5", "codec": codec, "threads": count, "array_bytes": array.nbytes, "chunks": list(chunks)}
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

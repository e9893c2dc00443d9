"""Programs that read and write whole datasets, alone and with threads, and whether both did the same."""

import json
import os
import subprocess

import h5py

import h5stz
from h5stz.programs import run


def environment(through, threads, record):
    """Environment variables for a program; `through` None: HDF5 alone, with the filter.

    Chunks do not learn from others: with threads they would take other predictions than without.
    """
    variables = {**os.environ, "HDF5_PLUGIN_PATH": h5stz.plugin_path(), "H5STZ_LEARN": "0"}
    if through is None:
        return variables
    return run.environment(variables, through) | {"H5STZ_RUN_STATS": str(record), run.THREADS: str(threads)}


def counts(record):
    """The sums of a report: for each way, such as "write/threads", the number of requests."""
    sums = {}
    for line in record.read_text().splitlines() if record.exists() else []:
        for name, value in json.loads(line).items():
            if name.endswith("/requests"):
                way = name.removesuffix("/requests")
                sums[way] = sums.get(way, 0) + value
    return sums


def outcome(words, path, through=None, threads=3, variables=None):
    """Runs a command that writes `path`: (what it printed, what it read, the counts of its requests). It must not crash."""
    record, read = path.with_suffix(".stats"), path.with_name(path.name + ".read")
    record.unlink(missing_ok=True)
    read.unlink(missing_ok=True)
    done = subprocess.run(
        [str(word) for word in words],
        env=environment(through, threads, record) | (variables or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, (words, done.returncode, done.stdout)
    return done.stdout, read.read_bytes() if read.exists() else b"", counts(record)


def stored(path, name="x"):
    """The chunks of a dataset as they are stored: filter mask and bytes by offset."""
    with h5py.File(path) as file:
        chunks = file[name].id
        places = [chunks.get_chunk_info(number).chunk_offset for number in range(chunks.get_num_chunks())]
        return {place: chunks.read_direct_chunk(place) for place in places}

"""A program that reads much and then writes: what it writes must not be taken for what it has read.

Each program is a process of its own, started by `measure`; `python rewriting_reading.py` is such a process. Times are those of
the processor: a difference of a hundredth would drown in the load of the machine. What is computed are other data than those of
the first two ways, so that its time is not compared.
"""

import json
import subprocess
import sys
import time

import h5py
import numpy as np

import fields
import h5stz
import report
import synthetic
import targets

EDGE = 64  # of the cubic chunks
RELATIVE = 1e-3
WAYS = ("nothing read", "all read before", "read, computed and written in turn")
SAMPLES = 16  # chunks whose streams are compared with those of h5stz.compress


def chunk_values(base, index):
    """Chunk `index` of a dataset: no two are alike."""
    return np.roll(base, 7 * index, axis=index % 3) * np.float32(1 + index % 97 / 50) + np.float32(index % 101)


def options(base):
    """The filter."""
    return h5stz.STZ(absolute=RELATIVE * fields.value_range(base))


def create(path, chunks, base):
    """A new file with an empty dataset of so many chunks."""
    file = h5py.File(path, "w")
    return file, file.create_dataset("x", (chunks * EDGE, EDGE, EDGE), "f4", chunks=(EDGE,) * 3, **options(base))


def part(index):
    """The samples of a chunk."""
    return np.s_[index * EDGE : (index + 1) * EDGE]


def write(path, chunks, base, source=None):
    """Writes all chunks; seconds of the processor that writing took. With a source: twice what its chunk holds."""
    file, dataset = create(path, chunks, base)
    seconds = 0.0
    for index in range(chunks):
        values = chunk_values(base, index) if source is None else 2 * source[part(index)]
        start = time.process_time()
        dataset[part(index)] = values
        seconds += time.process_time() - start
    start = time.process_time()
    file.close()
    return seconds + time.process_time() - start


def excess(path, chunks, base, values_of):
    """Bytes of some chunks over those of the same samples in memory."""
    stored = expected = 0
    with h5py.File(path) as file:
        for index in np.linspace(0, chunks - 1, min(chunks, SAMPLES)).astype(int):
            stored += file["x"].id.get_chunk_info_by_coord((int(index) * EDGE, 0, 0)).size
            expected += len(h5stz.compress(values_of(index), absolute=options(base).bound))
    return stored / expected


def program(way, source, goal, chunks):
    """What one process does; prints its record."""
    base, other = synthetic.gaussian_field(EDGE, 7, EDGE / 6), synthetic.gaussian_field(EDGE, 8, EDGE / 6)
    if way == "prepare":
        write(source, chunks, base)
        return
    with h5py.File(source) as file:
        if way == "all read before":
            for index in range(chunks):
                file["x"][part(index)]
        computed = file["x"] if way == WAYS[2] else None
        seconds = write(goal, chunks, other, computed)
        values_of = (lambda index: 2 * computed[part(index)]) if computed else (lambda index: chunk_values(other, int(index)))
        print(json.dumps({"seconds": seconds, "bytes_over_memory": excess(goal, chunks, other, values_of)}))


def measure(directory, gigabytes, checks):
    """Records of the three ways; prints them and checks them against targets."""
    chunks = max(2, round(gigabytes * 1e9 / (4 * EDGE**3)))
    source, goal = directory / "source.h5", directory / "goal.h5"

    def start(way):
        words = [sys.executable, __file__, way, source, goal, chunks]
        done = subprocess.run([str(word) for word in words], check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout

    start("prepare")
    records = []
    for way in WAYS:
        record = {"part": "reading", "way": way, "chunks": chunks, "array_bytes": chunks * 4 * EDGE**3}
        records.append(record | json.loads(start(way)))
    plain = records[0]["seconds"]
    header = ["program", "processor time of writing (s)", "over nothing read", "bytes over the same in memory"]
    rows = [[r["way"], f"{r['seconds']:.2f}", f"{r['seconds'] / plain:.3f}", f"{r['bytes_over_memory']:.4f}"] for r in records]
    rows[-1][2] = "-"
    print(f"\n{chunks} chunks of {EDGE}^3 samples, read and written\n\n{report.markdown(header, rows)}\n")
    for record in records:
        name = f"{chunks} chunks written, {record['way']}"
        checks.promise(f"{name}: bytes over the same in memory", record["bytes_over_memory"], 1)
    read_before = records[1]["seconds"] / plain
    checks.at_most(
        f"{chunks} chunks written, all read before: time over nothing read", read_before, targets.REWRITING["reading"]
    )
    return records


if __name__ == "__main__":
    program(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))

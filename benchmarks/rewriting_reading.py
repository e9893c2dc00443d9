"""A program that reads much and then writes: its writes must not be taken for what it has read.

Each program is a process of its own; `python rewriting_reading.py` is such a process. A third one reads, computes and writes
chunk by chunk: other data, so that only its bytes are judged.
"""

import sys
import time
from pathlib import Path

import h5py
import numpy as np

import h5stz
import memory
from shared import clock, fields, report, synthetic, targets

CHUNK = (64, 256, 256)
NOTHING, ALL, IN_TURN = WAYS = ("nothing read", "all read before", "read, computed and written in turn")
MOST_IN_TURN = 64  # chunks of the third program
SAMPLES = 16  # chunks whose streams are compared with those of h5stz.compress


def chunk_values(base, index):
    """Chunk `index` of a dataset: no two are alike."""
    plane = index * 7 % (len(base) - CHUNK[0])
    values = np.roll(base[plane : plane + CHUNK[0]], 7 * index, axis=1 + index % 2)
    return values * np.float32(1 + index % 97 / 5000) + np.float32(index % 101 / 100)


def options(base):
    """The filter."""
    return h5stz.STZ(absolute=fields.RELATIVE * fields.value_range(base), learn=False)


def part(index):
    """The samples of a chunk."""
    return np.s_[index * CHUNK[0] : (index + 1) * CHUNK[0]]


class Program:
    """What one process does."""

    def __init__(self, way, source, goal, chunks, at_a_time):
        seed = 7 if way == "prepare" else 8
        self.base = synthetic.gaussian_field(256, seed, 256 / 6)
        self.source = None if way == "prepare" else h5py.File(source)["x"]
        self.computes = way == IN_TURN
        self.goal = h5py.File(source if way == "prepare" else goal, "w")
        shape = (chunks * CHUNK[0], *CHUNK[1:])
        self.dataset = self.goal.create_dataset("x", shape, "f4", chunks=CHUNK, **options(self.base))
        self.chunks, self.next, self.at_a_time = chunks, 0, at_a_time
        Path("/proc/self/clear_refs").write_text("5")  # the peak of memory is that of what follows
        if way == ALL:
            for index in range(chunks):
                self.source[part(index)]

    def values(self, index):
        return 2 * self.source[part(index)] if self.computes else chunk_values(self.base, index)

    def turn(self):
        """Writes the next chunks; returns the record."""
        seconds = 0.0
        for index in range(self.next, min(self.next + self.at_a_time, self.chunks)):
            values = self.values(index)
            start = time.process_time()
            self.dataset[part(index)] = values
            seconds += time.process_time() - start
        self.next += self.at_a_time
        record = {"seconds": seconds, "peak_bytes": memory.kilobytes("VmHWM")}
        if self.next >= self.chunks:
            record |= {"bytes": self.dataset.id.get_storage_size(), "bytes_over_memory": self.excess()}
        return record

    def excess(self):
        """Bytes of some chunks over those of the same samples in memory."""
        stored = expected = 0
        for index in np.linspace(0, self.chunks - 1, min(self.chunks, SAMPLES)).astype(int).tolist():
            stored += self.dataset.id.get_chunk_info_by_coord((index * CHUNK[0], 0, 0)).size
            expected += len(h5stz.compress(self.values(index), absolute=options(self.base).bound))
        return stored / expected


def main():
    way, source, goal, *numbers = sys.argv[1:]
    programs = []  # made at the first turn

    def turn(_):
        if not programs:
            programs.append(Program(way, source, goal, *map(int, numbers)))
        return programs[0].turn()

    clock.serve(turn)


def start(directory, ways, chunks, at_a_time):
    """{way: records of all turns}."""
    programs = {}
    for way in ways:
        files = directory / "source.h5", directory / f"goal {way}.h5"
        programs[way] = [__file__, way, *files, chunks, at_a_time], {"H5STZ_THREADS": "1"}
    return clock.take(programs, -(-chunks // at_a_time), uncounted=0)


def measure(directory, gigabytes, checks):
    """Records of the three ways; prints them and checks them against targets."""
    chunk_bytes = 4 * int(np.prod(CHUNK))
    chunks = max(4, round(gigabytes * 1e9 / chunk_bytes))
    at_a_time = 4 if chunks >= 64 else 1
    start(directory, ("prepare",), chunks, at_a_time)
    found = start(directory, (NOTHING, ALL), chunks, at_a_time)
    found |= start(directory, (IN_TURN,), min(chunks, MOST_IN_TURN), at_a_time)
    seconds = {way: [turn["seconds"] for turn in entries] for way, entries in found.items()}
    median, low, high = clock.ratio(seconds[NOTHING], seconds[ALL])
    common = {"part": "reading", "chunks": chunks}
    records = [common | {"way": way, "turns": seconds[way]} | entries[-1] for way, entries in found.items()]
    columns = {
        "program": "{way}",
        "processor time of writing (s)": lambda record: f"{sum(record['turns']):.2f}",
        "over nothing read": lambda record: f"{median:.4f} ({low:.4f} to {high:.4f})" if record["way"] == ALL else "-",
        "bytes over the same in memory": "{bytes_over_memory:.4f}",
        "peak memory (MB)": lambda record: f"{record['peak_bytes'] / 1e6:.0f}",
    }
    report.table(records, columns, f"{chunks} chunks of {' x '.join(map(str, CHUNK))} samples, read and written")
    for record in records:
        name = f"{chunks} chunks written, {record['way']}"
        checks.promise(f"{name}: bytes over the same in memory", record["bytes_over_memory"], 1)
    checks.promise(f"{chunks} chunks written, {ALL}: bytes over {NOTHING}", records[1]["bytes"] / records[0]["bytes"], 1)
    checks.at_most(f"{chunks} chunks written, {ALL}: time over {NOTHING}", median, targets.REWRITING["reading"])
    return records


if __name__ == "__main__":
    main()

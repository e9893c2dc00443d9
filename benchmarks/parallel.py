"""h5stz.write and h5stz.read against h5py, which uses one processor, on a float32 dataset in chunks of several sizes.

The calls take turns, and the figures are medians. Files are in a temporary directory, so they are mostly in the page cache.

Another part measures the serial part of a call, which threads do not share. It replaces the codec by nothing, and subtracts
the time of copying samples and of reading bytes. Threads share the training of predictions, so it is left out. The speeds
with more processors are computed from the serial part. They were not measured.
"""

import itertools
import os
import statistics
import tempfile
from pathlib import Path

import h5py
import numpy as np

import h5stz
from h5stz.hdf5 import chunk_codec
from shared import clock, fields, report, synthetic, targets

COMPUTED = (4, 8, 16)  # processors
LARGE = (256, 256, 256)  # 64 MiB
CHUNKS = {"64^3": (64, 64, 64), "128^3": (128, 128, 128), "64 MiB": LARGE}
SMALL_CHUNKS = {"16^3": (16, 16, 16), "32^3": (32, 32, 32)}
SERIAL = {"64^3", "16^3"}  # chunks whose serial part is measured


def files(directory, field, chunks, bound, threads, learn=True):
    """{name: function} of all ways to write, each to a file of its own."""

    def write(name, count):
        with clock.filter_threads(1), h5py.File(directory / f"{name}.h5", "w") as file:
            if count is None:
                file.create_dataset("x", data=field, chunks=chunks, **h5stz.STZ(absolute=bound))
            else:
                h5stz.write(file, "x", field, chunks=chunks, threads=count, absolute=bound, learn=learn)

    counts = {"h5py": None} | {f"{count} threads": count for count in threads}
    return {name: lambda name=name, count=count: write(name, count) for name, count in counts.items()}


def reads(directory, out, threads):
    """{name: function} of all ways to read the file that h5py wrote."""

    def read(count):
        with clock.filter_threads(1), h5py.File(directory / "h5py.h5") as file:
            if count is None:
                file["x"].read_direct(out)
            else:
                h5stz.read(file["x"], out=out, threads=count)

    counts = {"h5py": None} | {f"{count} threads": count for count in threads}
    return {name: lambda count=count: read(count) for name, count in counts.items()}


def same_bytes(directory, field, name):
    """True if the filter, which learns nothing, writes as many bytes with the client data of the file `name`."""
    with h5py.File(directory / f"{name}.h5") as file, h5py.File("same", "w", driver="core", backing_store=False) as other:
        options = h5stz.STZ.from_dataset(file["x"])
        with clock.variable("H5STZ_LEARN", "0"):
            made = other.create_dataset("x", data=field, chunks=file["x"].chunks, **options)
            other.flush()
        return made.id.get_storage_size() == file["x"].id.get_storage_size()


class NoCodec:
    """A context in which compressing and decoding a chunk take no time. `size`: of each stream."""

    def __init__(self, size):
        self.size = size

    def __enter__(self):
        self.kept = chunk_codec.plugin_encode, chunk_codec.plugin_decode
        chunk_codec.plugin_encode, chunk_codec.plugin_decode = lambda *_: self.size, lambda *_: 1

    def __exit__(self, *_):
        chunk_codec.plugin_encode, chunk_codec.plugin_decode = self.kept


def copies(directory, field, chunks, out, size):
    """{operation: function} that only copies all chunks, as calls do while other threads may run."""
    buffer, stream = np.empty(chunks, field.dtype), np.empty(size, np.uint8)
    cuts = [[slice(at, at + length) for at in range(0, n, length)] for n, length in zip(field.shape, chunks, strict=True)]
    boxes = list(itertools.product(*cuts))

    def gather():
        for box in boxes:
            buffer[...] = field[box]

    def scatter():
        with open(directory / "h5py.h5", "rb") as file:
            for number, box in enumerate(boxes):
                os.preadv(file.fileno(), [stream], number * size)
                out[box] = buffer

    return {"write": gather, "read": scatter}


def serial_parts(directory, field, chunks, bound, out, repeats):
    """{operation: seconds for each chunk} that no other thread can take over."""
    count = int(np.prod([-(-n // length) for n, length in zip(field.shape, chunks, strict=True)]))
    with h5py.File(directory / "h5py.h5") as file:
        size = file["x"].id.get_storage_size() // count
    with NoCodec(size):
        actions = {
            "write": files(directory, field, chunks, bound, [1], learn=False)["1 threads"],
            "read": reads(directory, out, [1])["1 threads"],
        }
        whole = clock.times(actions, repeats)
    copied = clock.times(copies(directory, field, chunks, out, size), repeats)
    return {name: (statistics.median(whole[name]) - statistics.median(copied[name])) / count for name in actions}, count


def measure(directory, field, case, chunks, arguments):
    """The records of one chunk shape."""
    bound = fields.RELATIVE * fields.value_range(field)
    out = np.ones_like(field)  # whose pages are there
    seconds = {"write": clock.interleaved(files(directory, field, chunks, bound, arguments.threads), arguments.repeats)}
    # Before anything is read: a sample that equals a decoded one by chance keeps its bits, which may change the length.
    same = same_bytes(directory, field, f"{arguments.threads[-1]} threads")
    seconds["read"] = clock.interleaved(reads(directory, out, arguments.threads), arguments.repeats)
    with h5py.File(directory / "h5py.h5") as one:
        ratio = field.nbytes / one["x"].id.get_storage_size()
    serial, count = {}, 1
    if case in SERIAL:
        serial, count = serial_parts(directory, field, chunks, bound, out, arguments.repeats)
    records = []
    for operation, found in seconds.items():
        one = found["1 threads"]
        record = {"case": case, "operation": operation, "ratio": ratio, "same bytes": same, "h5py": found["h5py"]}
        record |= {name: field.nbytes / 1e6 / value for name, value in found.items()}
        record |= {"over h5py": found["h5py"] / one, "serial": serial.get(operation), "seconds": one}
        record |= {f"{n} over 1": one / found[f"{n} threads"] for n in arguments.threads if n > 1}
        if operation in serial:
            alone = serial[operation] * count
            record |= {f"computed {n}": field.nbytes / 1e6 / (alone + (one - alone) / n) for n in COMPUTED}
        records.append(record)
    return records


def print_tables(records, arguments):
    columns = {"chunks": "{case}", "": "{operation}", "ratio": "{ratio:.1f}", "h5py, MB/s": "{h5py:.0f}"}
    columns |= {f"{n} thread{'s' * (n > 1)}": report.item(f"{n} threads", ".0f") for n in arguments.threads}
    columns |= {"1 thread over h5py": report.item("over h5py", ".2f")}
    columns |= {f"{n} threads over 1": report.item(f"{n} over 1", ".2f") for n in arguments.threads if n > 1}
    report.table(records, columns, f"{os.cpu_count()} processors, {len(os.sched_getaffinity(0))} of them for this process")
    own = [record for record in records if record["serial"] is not None]
    columns = {"chunks": "{case}", "": "{operation}", "serial part of a chunk, us": lambda r: f"{r['serial'] * 1e6:.0f}"}
    columns |= {f"{n} processors, MB/s": report.item(f"computed {n}", ".0f") for n in COMPUTED}
    report.table(own, columns, "Computed, not measured: (time of one thread - serial part) / processors + serial part")


def compare(records, arguments, checks):
    for record in records:
        what = f"{record['operation']}, chunks of {record['case']}"
        least = targets.PARALLEL_OVER_H5PY[record["operation"]] if record["case"] == "64 MiB" else 1.0
        checks.at_least(f"{what}: one thread over h5py", record["over h5py"], least)
        if 2 in arguments.threads:
            checks.at_least(f"{what}: two threads over one", record["2 over 1"], targets.PARALLEL_TWO)
        if record["serial"] is not None:
            checks.at_most(f"{what}: serial part of a chunk, us", record["serial"] * 1e6, targets.PARALLEL_SERIAL)
    checks.promise("files whose size is not that of the filter", sum(not r["same bytes"] for r in records), 0)


def main():
    parser = report.parser(__doc__, directory=False, edge=512, repeats=5, threads=[1, 2])
    parser.add_argument("--small", action="store_true", help="a field of 64^3 samples, to see that this program works")
    arguments = parser.parse_args()
    cases = CHUNKS
    if arguments.small:
        arguments.edge, arguments.repeats, cases = 64, 1, SMALL_CHUNKS
    checks = report.Checks(have_targets=arguments.edge == 512)
    half = min(arguments.edge, synthetic.EDGE)
    field = np.tile(synthetic.gaussian_field(half, 7, half / 6), (-(-arguments.edge // half),) * 3)
    records = []
    with tempfile.TemporaryDirectory() as directory:
        for case, chunks in cases.items():
            if max(chunks) <= arguments.edge:
                records += measure(Path(directory), field, case, chunks, arguments)
    print_tables(records, arguments)
    compare(records, arguments, checks)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()

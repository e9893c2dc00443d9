"""Whole commands on a file of one float32 dataset: time, processor time, peak memory, beside h5stz.write or h5stz.read alone.

Each command runs in a process of its own, from the start of Python to its end. The calls of h5stz.write and h5stz.read are
timed within a process, and so is that of h5stz.to_netcdf. They use the same options, chunks and number of threads, and take
turns with the commands. Figures are medians. The quotient is that of times on the clock, within the same repeat. Files are in a
temporary directory, so they are mostly in the page cache.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import h5py
import numpy as np

import h5stz
from shared import fields, report, synthetic, targets

COMMAND = ("-m", "h5stz")
SMALL = (32, 32, 32)  # of the first call after the import


def seconds_of(action):
    """Prints the seconds of a call, for the process that started this one. What the call needs was imported before."""
    start = time.perf_counter()
    action()
    print(json.dumps(time.perf_counter() - start))


def write(directory, chunks, bound, threads):
    with h5py.File(directory / "plain.h5") as source, h5py.File(directory / "written.h5", "w") as file:
        seconds_of(partial(h5stz.write, file, "x", source["x"], chunks=chunks, threads=threads, absolute=bound))


def read(directory, chunks, bound, threads):
    with h5py.File(directory / "packed.h5") as file:
        out = np.ones(file["x"].shape, np.float32)  # whose pages are there
        seconds_of(partial(h5stz.read, file["x"], out=out, threads=threads))


def to_netcdf(directory, chunks, bound, threads):
    import xarray

    with h5py.File(directory / "plain.h5") as source:
        dataset = xarray.Dataset({"x": (("z", "y", "x"), source["x"][...])})
    lengths = dict(zip("zyx", chunks, strict=True))
    path = directory / "written.nc"
    seconds_of(partial(h5stz.to_netcdf, dataset, path, chunks=lengths, threads=threads, absolute=bound))


def first_call(directory, chunks, bound, threads):
    h5stz.compress(np.ones(SMALL, np.float32), absolute=bound, threads=threads)


CALLS = {"write": write, "read": read, "to_netcdf": to_netcdf, "first call": first_call}


def run(words, directory):
    """(seconds, processor seconds, peak memory in bytes, what it printed) of a process of Python."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(directory / "bytecode")
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([sys.executable, *map(str, words)], stdout=out, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        if process.returncode:
            raise RuntimeError(f"{' '.join(map(str, words))}: exit status {process.returncode}")
        out.seek(0)
        return seconds, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss, out.read()


def cases(directory, bound, threads):
    """{name: (words of the process, the call beside it, its number of threads)}."""
    plain, packed, new = directory / "plain.h5", directory / "packed.h5", directory / "new.h5"
    worker = {(name, n): (__file__, "--worker", name, directory, repr(bound), n) for name in CALLS for n in {1, *threads}}
    found = {}
    for n in threads:
        words = (*COMMAND, "compress", plain, new, "--absolute", repr(bound), "--jobs", n, "--overwrite")
        found[f"compress --jobs {n}"] = words, "write", n
    for n in threads:
        found[f"to_netcdf(threads={n})"] = worker["to_netcdf", n], "write", n
    found["estimate"] = (*COMMAND, "estimate", plain, "--absolute", repr(bound)), "write", 1
    found["decompress"] = (*COMMAND, "decompress", packed, new, "--overwrite"), "read", 1
    for n in threads:
        found[f"verify --threads {n}"] = (*COMMAND, "verify", packed, "--threads", n), "read", n
    found["compare plain packed"] = (*COMMAND, "compare", plain, packed), "read", 1
    found["compare packed plain"] = (*COMMAND, "compare", packed, plain), "read", 1
    found["import, first compress"] = worker["first call", 1], None, 1
    return found, {key: words for key, words in worker.items() if key[0] in ("write", "read")}


def measure(directory, bound, arguments):
    """The records of all commands."""
    commands, calls = cases(directory, bound, arguments.threads)
    turns = {name: [] for name in commands}
    for repeat in range(arguments.repeats + 1):
        alone = {key: run(words, directory) for key, words in calls.items()}
        for name, (words, beside, threads) in commands.items():
            seconds, processor, peak, out = run(words, directory)
            within = json.loads(out) if words[1] == "--worker" and out else seconds
            turn = {"seconds": within, "processor": processor, "peak": peak / 1e9}
            if beside:
                turn["over"] = within / json.loads(alone[beside, threads][3])
            if repeat:  # the first one compiles bytecode
                turns[name].append(turn)
    records = []
    for name, found in turns.items():
        medians = {key: statistics.median(turn[key] for turn in found) for key in found[0]}
        records.append({"command": name, "beside": commands[name][1], **medians})
    return records


def make_files(directory, edge):
    """Writes plain.h5 and packed.h5, and prints the bound.

    In a process of its own: the peak memory of a process counts as that of those that it starts.
    """
    field = synthetic.gaussian_field(edge, 7, edge / 6)
    bound = fields.RELATIVE * fields.value_range(field)
    with h5py.File(directory / "plain.h5", "w") as file:
        file["x"] = field
    h5stz.repack(directory / "plain.h5", directory / "packed.h5", absolute=bound)
    print(json.dumps(bound))


def compare(records, arguments, checks):
    found = {record["command"]: record for record in records}
    for n in arguments.threads:
        record = found[f"compress --jobs {n}"]
        checks.at_most(f"compress --jobs {n}: time over h5stz.write", record["over"], targets.COMMANDS["compress"])
        checks.at_most(f"compress --jobs {n}: peak memory, GB", record["peak"], targets.COMMANDS["peak"])


def worker(name, directory, bound, threads):
    directory = Path(directory)
    with h5py.File(directory / "packed.h5") as file:
        chunks = file["x"].chunks
    CALLS[name](directory, chunks, float(bound), int(threads))


def main():
    parser = report.parser(__doc__, directory=False, edge=512, repeats=5, threads=[1, 2])
    arguments = parser.parse_args()
    checks = report.Checks(have_targets=arguments.edge == 512)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        bound = json.loads(run((__file__, "--make", directory, arguments.edge), directory)[3])
        records = measure(directory, bound, arguments)
    columns = {"command": "{command}", "s": "{seconds:.2f}", "processor, s": "{processor:.2f}"}
    columns |= {
        "time over": report.item("over", ".2f"),
        "of": lambda record: f"h5stz.{record['beside']}" if record["beside"] else "-",
    }
    columns |= {"peak memory, GB": "{peak:.2f}"}
    report.table(records, columns, f"{arguments.edge}^3 samples of float32, {4e-6 * arguments.edge**3:.3g} MB")
    compare(records, arguments, checks)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
    elif sys.argv[1:2] == ["--make"]:
        make_files(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()

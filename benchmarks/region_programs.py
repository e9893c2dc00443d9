"""Blocks that unmodified programs decode under `h5stz run` for a small box of a volume, and the cost for other reads.

The volume is one chunk. The blocks that are needed are those that a reader of the same box decodes. The chunk is larger than
any chunk cache (float64); otherwise HDF5 would decode and keep it.
"""

import os
import shutil
import subprocess
import sys

import h5py
import numpy as np

import h5stz
import report
from h5stz.programs import run

LOW, EDGE = 72, 16  # the box: [LOW, LOW + EDGE) along each axis
PYTHON = {
    "h5py": "import h5py; h5py.File(path)['field'][box]",
    "netCDF4": "import netCDF4; netCDF4.Dataset(path)['field'][box]",
    "PyTables": "import tables; tables.open_file(path).root.field[box]",
}
MODULES = {"PyTables": "tables"}


def commands(path, rank):
    """{program: words} of the installed programs."""
    import importlib.util

    start, count = ",".join([str(LOW)] * rank), ",".join([str(EDGE)] * rank)
    found = {}
    if shutil.which("h5dump"):
        found["h5dump -s -c"] = ["h5dump", "-d", "field", "-s", start, "-c", count, "-b", "LE", "-o", "/dev/null", str(path)]
    for name, code in PYTHON.items():
        if importlib.util.find_spec(MODULES.get(name, name)):
            box = f"box = ({f'slice({LOW}, {LOW + EDGE}),' * rank})"
            found[name] = [sys.executable, "-c", f"path = {str(path)!r}\n{box}\n{code}"]
    return found


def routes(found):
    """(program, route, words). HDF5's tools may be too old for connectors."""
    for program, words in found.items():
        for through in run.ROUTES if program in PYTHON else run.ROUTES[:1]:
            yield program, through, words


def measure(directory, name, array, bound):
    """Records: blocks needed, decoded and present for every program."""
    records = []
    array = array.astype("f8")
    for block in ("default", "region"):
        path = directory / f"program-{block}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("field", data=array, chunks=array.shape, **h5stz.STZ(absolute=bound, block=block))
            for axis in range(array.ndim):  # netCDF wants dimensions
                file[f"axis{axis}"] = np.arange(array.shape[axis])
                file[f"axis{axis}"].make_scale(f"axis{axis}")
                file["field"].dims[axis].attach_scale(file[f"axis{axis}"])
        with h5py.File(path) as file:
            view = h5stz.view(file["field"], cache_bytes=0)
            view[(slice(LOW, LOW + EDGE),) * array.ndim]
            needed, present = view.stats.blocks_decoded, view.stats.blocks_present
        for program, through, words in routes(commands(path, array.ndim)):
            status, sums = run.run(words, stats=True, through=through)
            if status or not sums:
                raise RuntimeError(f"{program}: exit status {status}, {sums}")
            record = {"part": "programs", "field": name, "block": block, "program": program, "through": through}
            record |= {"needed": needed, "present": present}
            reads = sums["reads"] - sums["reads_through_hdf5"]
            records.append(record | {"decoded": sums["blocks_decoded"], "reads": reads})
    return [*records, *small_reads(path)]


SMALL = """
import time, h5py
line = h5py.File(path)["axis0"]
def once():
    begin = time.perf_counter()
    for k in range(20000):
        line[k % 8]
    return time.perf_counter() - begin
print(min(once() for _ in range(5)) / 20000)
"""


def small_reads(path):
    """Records: seconds of reading a single sample of a plain dataset with h5py, alone and under `h5stz run`."""
    code = f"path = {str(path)!r}\n{SMALL}"
    variables = {"alone": os.environ} | {through: run.environment(os.environ, through) for through in run.ROUTES}
    for name, environment in variables.items():
        printed = subprocess.run(
            [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
        ).stdout
        yield {"part": "small reads", "through": name, "seconds": float(printed)}


def table(records):
    """Prints the records."""
    small = [record for record in records if record["part"] == "small reads"]
    records = [record for record in records if record["part"] == "programs"]
    print(f"\n{records[0]['field']} as float64, a box of {EDGE}^3 at {LOW}: blocks under `h5stz run`\n")
    header = ["program", "through", "blocks", "calls of H5Dread that read the box", "decoded", "needed by one call", "present"]
    keys = ("program", "through", "block", "reads", "decoded", "needed", "present")
    print(report.markdown(header, [[str(r[key]) for key in keys] for r in records]))
    alone = small[0]["seconds"]
    print("\nReading one sample of a plain dataset with h5py, over the same alone\n")
    print(report.markdown(["through", "time"], [[r["through"], f"{r['seconds'] / alone:.2f}"] for r in small]))

"""What readers and writers of whole chunks pay for what the HDF5 plug-in remembers, against a plug-in that remembers nothing.

Both are built from this checkout (build/remembering). A process uses them in turn, on one processor: it reads the same file, or
writes the same samples, through h5py. Several processes do so one after the other, since where the memory of a process lies can
make a difference of some hundredths for as long as it runs. "Empty": the memory is emptied before each turn, as in a process
that has just begun to read: all that is kept goes to new memory. "Full": more than H5STZ_REWRITE_MEMORY was read before, so
that for each stream older ones are dropped. Writers have read nothing. Seconds are those of the processor, of one thread.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

import fields
import h5stz
import report
import synthetic
import targets
import turns

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "filter/tools"))
import build_filter  # noqa: E402

RELATIVE = 1e-3
WORKER = Path(__file__).resolve().with_name("remembering_worker.py")
DEFAULT_MEMORY = 128 << 20  # of H5STZ_REWRITE_MEMORY


def plugins():
    """{name: path} of the plug-in and of the one that remembers nothing; built if a source is newer."""
    names = {"forgetful": "h5stz_forgetful", "remembering": "h5stz"}
    directory = build_filter.build(ROOT / "build/remembering", list(names.values()), preset="release")
    return {name: directory / f"lib{target}.so" for name, target in names.items()}


def pieces(array, edge):
    """The cubes of an array."""
    for z, y, x in np.ndindex(*(extent // edge for extent in array.shape)):
        yield array[z * edge : (z + 1) * edge, y * edge : (y + 1) * edge, x * edge : (x + 1) * edge]


def options_of(array):
    """The filter, at the relative bound."""
    return h5stz.STZ(absolute=RELATIVE * fields.value_range(array))


def create(path, array, edge, least_bytes):
    """A file of all pieces of an array, times numbers near one until the streams have so many bytes. Returns how many."""
    with h5py.File(path, "w") as file:
        shape = (0, edge, edge)
        dataset = file.create_dataset("x", shape, "f4", maxshape=(None, edge, edge), chunks=(edge,) * 3, **options_of(array))
        count = factor = 0
        while not count or dataset.id.get_storage_size() < least_bytes:
            for piece in pieces(array * np.float32(1 + factor / 1000), edge):
                dataset.resize((count + 1) * edge, axis=0)
                dataset[count * edge :] = piece
                count += 1
            file.flush()
            factor += 1
    return count


class Measurement:
    """Compares both plug-ins, case by case."""

    def __init__(self, starts, repeats, checks):
        self.starts, self.repeats, self.checks, self.records = starts, repeats, checks, []
        self.plugins = plugins()

    def add(self, name, words, line="", uncounted=1):
        """One case: what the worker is told behind the plug-in."""
        environment = {"H5STZ_THREADS": "1", "H5STZ_REWRITE_MEMORY": str(DEFAULT_MEMORY >> 20)}
        program = [WORKER, *words, *self.plugins.values()], environment
        medians, seconds = [], {key: [] for key in self.plugins}
        for _ in range(self.starts):
            (record,) = turns.take({name: program}, 1, f"{self.repeats} {uncounted} {line}", uncounted=0)[name]
            times = dict(zip(self.plugins, zip(*record["seconds"], strict=True), strict=True))
            medians.append(turns.ratio(times["forgetful"], times["remembering"])[0])
            for key in seconds:
                seconds[key] += times[key]
        record = {"case": name, "ratio": statistics.median(medians), "low": min(medians), "high": max(medians)}
        self.records.append(record | {"seconds": seconds})
        self.checks.at_most(f"{name}: time over a plug-in that remembers nothing", record["ratio"], targets.REMEMBERING)

    def table(self):
        """Prints all cases."""
        header = ["program", "time of a turn (s)", "over nothing remembered", "of single processes", "least over least"]
        rows = []
        for record in self.records:
            seconds = record["seconds"]
            least = min(seconds["remembering"]) / min(seconds["forgetful"])
            row = [record["case"], f"{min(seconds['remembering']):.3f}", f"{record['ratio']:.4f}"]
            rows.append([*row, f"{record['low']:.4f} to {record['high']:.4f}", f"{least:.4f}"])
        print(f"\n{report.markdown(header, rows)}\n")


def measure_readers(measurement, directory, name, array, edges):
    """Reads of the field in chunks of each size."""
    for edge in edges:
        path = directory / "read.h5"
        chunks = create(path, array, edge, 0)
        if edge == array.shape[0]:
            chunks = 2
        label = f"{name} in chunks of {edge}^3"
        measurement.add(f"read {label}, memory empty", ["read", path, chunks], "forget")


def measure_full(measurement, directory, name, array, edges, memory):
    """Reads behind as many streams as are kept."""
    for edge in edges:
        path = directory / "read.h5"
        chunks = create(path, array, edge, 1.1 * memory)
        at_a_time = max(2, (array.shape[0] // edge) ** 3)
        before = -(-chunks // at_a_time)
        measurement.add(f"read {name} in chunks of {edge}^3, memory full", ["read", path, at_a_time], uncounted=before)


def measure_writers(measurement, directory, name, array, edges):
    """Writes of the field in chunks of each size."""
    options = options_of(array)
    words = json.dumps([options["compression"], options["compression_opts"]])
    for edge in edges:
        path = directory / "values.npy"
        np.save(path, np.concatenate([*pieces(array, edge)][:32]))
        measurement.add(f"write {name} in chunks of {edge}^3", ["write", path, edge, words])


def main():
    parser = report.parser(__doc__, directory=False)
    parser.add_argument(
        "--edge", type=int, default=synthetic.EDGE, help="of the fields; default %(default)s: others have no targets"
    )
    parser.add_argument("--chunks", type=int, nargs="+", metavar="EDGE", help="default: 64 and the edge of the fields")
    parser.add_argument("--fields", nargs="+", choices=synthetic.VOLUMES, default=synthetic.VOLUMES)
    parser.add_argument("--starts", type=int, default=5, metavar="N", help="processes; default %(default)s")
    parser.add_argument(
        "--repeats", type=int, default=8, metavar="TURNS", help="of each plug-in in each process; default %(default)s"
    )
    parser.add_argument("--only", choices=("read", "full", "write"), help="one part alone")
    arguments = parser.parse_args()
    edges = arguments.chunks or [64, arguments.edge]
    volumes = {name: array for name, array in synthetic.volumes(arguments.edge).items() if name in arguments.fields}
    rough = next(iter(volumes))
    checks = report.Checks(have_targets=arguments.edge == synthetic.EDGE)
    measurement = Measurement(arguments.starts, arguments.repeats, checks)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        if arguments.only in (None, "read"):
            for field, array in volumes.items():
                measure_readers(measurement, directory, field, array, edges)
        if arguments.only in (None, "full"):
            memory = DEFAULT_MEMORY if checks.have_targets else 0
            measure_full(measurement, directory, rough, volumes[rough], edges, memory)
        if arguments.only in (None, "write"):
            measure_writers(measurement, directory, rough, volumes[rough], edges)
    measurement.table()
    report.finish(arguments, measurement.records, checks)


if __name__ == "__main__":
    main()

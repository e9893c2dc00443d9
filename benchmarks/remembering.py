"""The price of the memory of the HDF5 plug-in: time of readers and writers of whole chunks, over a plug-in without memory.

Both plug-ins are built from this checkout (build/remembering). A process uses them in turn, on one processor.
"""

import json
import statistics
import tempfile
from pathlib import Path

import h5py
import numpy as np

import h5stz
from shared import builds, clock, fields, report, synthetic, targets

WORKER = Path(__file__).resolve().with_name("remembering_worker.py")
DEFAULT_MEMORY = 128 << 20  # of H5STZ_REWRITE_MEMORY


def options_of(array):
    """The filter, at the relative bound."""
    return h5stz.STZ(absolute=fields.RELATIVE * fields.value_range(array))


def create(path, array, edge, least_bytes):
    """A file of all chunks of an array, times numbers near one until the streams have so many bytes. Returns how many."""
    with h5py.File(path, "w") as file:
        shape = (0, edge, edge)
        dataset = file.create_dataset("x", shape, "f4", maxshape=(None, edge, edge), chunks=(edge,) * 3, **options_of(array))
        count = factor = 0
        while not count or dataset.id.get_storage_size() < least_bytes:
            for piece in fields.pieces(array * np.float32(1 + factor / 1000), edge):
                dataset.resize((count + 1) * edge, axis=0)
                dataset[count * edge :] = piece
                count += 1
            file.flush()
            factor += 1
    return count


class Measurement:
    """Compares both plug-ins, case by case; chunks have the edges of the list."""

    def __init__(self, arguments, directory, checks):
        self.arguments, self.checks, self.records = arguments, checks, []
        self.path, self.edges = directory / "x.h5", arguments.chunks or [64, arguments.edge]
        built = builds.build("remembering", ["h5stz_forgetful", "h5stz"], "release")
        self.plugins = {"forgetful": built["h5stz_forgetful"], "remembering": built["h5stz"]}

    def add(self, name, words, line="", uncounted=1):
        """One case: what the worker is told behind the plug-in."""
        environment = {"H5STZ_THREADS": "1", "H5STZ_REWRITE_MEMORY": str(DEFAULT_MEMORY >> 20)}
        program = [WORKER, *words, *self.plugins.values()], environment
        medians, seconds = [], {key: [] for key in self.plugins}
        for _ in range(self.arguments.starts):
            turns = f"{self.arguments.repeats} {uncounted} {line}"
            (record,) = clock.take({name: program}, 1, turns, uncounted=0)[name]
            times = dict(zip(self.plugins, zip(*record["seconds"], strict=True), strict=True))
            medians.append(clock.ratio(times["forgetful"], times["remembering"])[0])
            for key in seconds:
                seconds[key] += times[key]
        record = {"case": name, "ratio": statistics.median(medians), "low": min(medians), "high": max(medians)}
        least = min(seconds["remembering"])
        self.records.append(record | {"seconds": seconds, "least": least, "over": least / min(seconds["forgetful"])})
        self.checks.at_most(f"{name}: time over a plug-in that remembers nothing", record["ratio"], targets.REMEMBERING)

    def read(self, name, array):
        """Reads of a field with the memory empty."""
        for edge in self.edges:
            chunks = create(self.path, array, edge, 0)
            chunks = 2 if edge == array.shape[0] else chunks
            self.add(f"read {name} in chunks of {edge}^3, memory empty", ["read", self.path, chunks], "forget")

    def full(self, name, array, memory):
        """Reads behind as many streams as are kept."""
        for edge in self.edges:
            chunks = create(self.path, array, edge, 1.1 * memory)
            at_a_time = max(2, (array.shape[0] // edge) ** 3)
            before = -(-chunks // at_a_time)
            self.add(f"read {name} in chunks of {edge}^3, memory full", ["read", self.path, at_a_time], uncounted=before)

    def write(self, name, array):
        """Writes of a field."""
        options = options_of(array)
        words = json.dumps([options["compression"], options["compression_opts"]])
        for edge in self.edges:
            path = self.path.with_suffix(".npy")
            np.save(path, np.concatenate(fields.pieces(array, edge)[:32]))
            self.add(f"write {name} in chunks of {edge}^3", ["write", path, edge, words])


def main():
    only = ("read", "full", "write")
    parser = report.parser(__doc__, directory=False, only=only, edge=synthetic.EDGE, fields=None, repeats=8)
    parser.add_argument("--chunks", type=int, nargs="+", metavar="EDGE", help="default: 64 and the edge of the fields")
    parser.add_argument("--starts", type=int, default=5, metavar="N", help="processes; default %(default)s")
    arguments = parser.parse_args()
    volumes = fields.chosen(synthetic.volumes(arguments.edge), arguments.fields)
    rough = next(iter(volumes.items()))
    checks = report.Checks(have_targets=arguments.edge == synthetic.EDGE)
    with tempfile.TemporaryDirectory() as directory:
        measurement = Measurement(arguments, Path(directory), checks)
        if arguments.only in (None, "read"):
            for item in volumes.items():
                measurement.read(*item)
        if arguments.only in (None, "full"):
            measurement.full(*rough, DEFAULT_MEMORY if checks.have_targets else 0)
        if arguments.only in (None, "write"):
            measurement.write(*rough)
    columns = {"program": "{case}", "time of a turn (s)": "{least:.3f}", "over nothing remembered": "{ratio:.4f}"}
    columns |= {"of single processes": "{low:.4f} to {high:.4f}", "least over least": "{over:.4f}"}
    report.table(measurement.records, columns)
    report.finish(arguments, measurement.records, checks)


if __name__ == "__main__":
    main()

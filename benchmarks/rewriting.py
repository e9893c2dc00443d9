"""Programs that write piece by piece: largest error / bound, size and time, beside SZ3 and ZFP.

The error is that of a new reader with respect to the values that the program wrote last, judged in exact arithmetic. Times are
of the whole program, once. The last part reads a large dataset and then writes new data of the same shape.
"""

import hashlib
import tempfile
import time
from pathlib import Path

import h5stz
import rewriting_cases
import rewriting_reading
from rewriting_cases import ABSOLUTE_CODECS, POINTWISE
from shared import fields, report, targets
from support import exact, host_tools, piecewise
from support.piecewise import Task


class Sizes:
    """Bytes of files that hold the same values, each written once."""

    def __init__(self, directory):
        self.path = directory / "compared.h5"
        self.sizes = {}

    def of(self, values, chunks, options):
        """Bytes of the chunks under these options."""
        key = hashlib.sha256(values.tobytes()).digest(), chunks, repr(options)
        if key not in self.sizes:
            piecewise.at_once(Task(self.path, values, chunks, options))
            self.sizes[key] = piecewise.stored_bytes(self.path)
        return self.sizes[key]

    def relative(self, size, values, stored, case, plain):
        """A record of a size over each of the three; `plain`: the options without what is said of growth."""
        frames = (1, *case.chunks[1:])
        return {
            "over whole chunks": size / self.of(values, case.chunks, plain),
            "over one chunk per frame": size / self.of(values, frames, plain),
            "over lossless": size / self.of(stored, case.chunks, h5stz.STZ(lossless=True)),
        }


def codecs_of(case, wanted):
    """(codec, point-wise bound or not) that a case is run with."""
    for codec in wanted:
        if case.growing or "append_axis" not in codec:
            yield codec, False
    if case.pointwise and "h5stz" in wanted:
        yield "h5stz", True


def run_case(case, codec, pointwise, path, sizes):
    """The record of one program with one codec."""
    bound = POINTWISE if pointwise else fields.RELATIVE * fields.value_range(case.values)
    task = Task(path, case.values, case.chunks, rewriting_cases.options(codec, bound, pointwise), case.cache)
    record = {"part": "programs", "case": case.name, "chunks": list(case.chunks), "codec": codec, "pointwise": pointwise}
    start = time.perf_counter()
    try:
        expected = piecewise.run(case.program, task)
    except (AssertionError, OSError):
        if codec.startswith("h5stz"):
            raise
        return record | {"failed": True}  # the program ended with an error of this filter
    seconds = time.perf_counter() - start
    found = {file: piecewise.read(file) for file in expected}
    host_tools.forget()  # so that what is written for comparison is new
    error = max(exact.error_over_bound(values, found[file], bound, pointwise) for file, values in expected.items())
    size = piecewise.stored_bytes(path)
    plain = rewriting_cases.options(codec.split(",")[0], bound, pointwise)
    record |= {"error_over_bound": error, "bytes": size, "seconds": seconds}
    return record | sizes.relative(size, expected[path], found[path], case, plain)


def compare(record, case, checks):
    """Checks of one record of h5stz."""
    name = f"{case.name}, {case.chunks}, {record['codec']}, {'point-wise' if record['pointwise'] else 'absolute'}"
    checks.promise(f"{name}: largest error / bound", record["error_over_bound"], 1)
    limit = case.limits.get(record["codec"])
    if limit and not record["pointwise"]:
        relative = next(key for key in record if key.startswith("over") and limit.endswith(key))
        checks.at_most(f"{name}: bytes {relative}", record[relative], targets.REWRITING[limit])


def table(records):
    """Prints the records of the programs."""
    columns = {"program": "{case}", "chunks": lambda r: " x ".join(map(str, r["chunks"]))}
    columns |= {"bound": lambda r: "point-wise" if r["pointwise"] else "absolute", "codec": "{codec}"}
    columns |= {"error / bound": lambda r: "fails" if "failed" in r else f"{r['error_over_bound']:.3f}", "bytes": "{bytes}"}
    columns |= {f"over {what}": f"{{over {what}:.3f}}" for what in ("whole chunks", "one chunk per frame", "lossless")}
    report.table(records, columns | {"time (s)": "{seconds:.2f}"})


def main():
    parser = report.parser(__doc__, directory=False)
    parser.add_argument("--quick", action="store_true", help="small arrays, few steps: for continuous integration")
    parser.add_argument("--only", metavar="TEXT", help="programs whose name contains TEXT; `reading` for the last part alone")
    parser.add_argument("--codecs", default=",".join(ABSOLUTE_CODECS).replace(", ", ":"), help="default %(default)s")
    parser.add_argument(
        "--read", type=float, metavar="GB", help="GB (10^9 bytes) that the last part reads; default 10, or 0.03"
    )
    arguments = parser.parse_args()
    codecs = [codec.replace(":", ", ") for codec in arguments.codecs.split(",")]
    checks, records = report.Checks(have_targets=not arguments.quick), []
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        sizes = Sizes(directory)
        for case in rewriting_cases.all_cases(arguments.quick, directory):
            if arguments.only and arguments.only not in case.name:
                continue
            for codec, pointwise in codecs_of(case, codecs):
                record = run_case(case, codec, pointwise, directory / "f.h5", sizes)
                records.append(record)
                if codec.startswith("h5stz"):
                    compare(record, case, checks)
        if not arguments.only or arguments.only == "reading":
            gigabytes = arguments.read or (0.03 if arguments.quick else 10.0)
            records += rewriting_reading.measure(directory, gigabytes, checks)
    programs = [record for record in records if record["part"] == "programs"]
    if programs:
        table(programs)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()

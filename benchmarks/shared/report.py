"""Arguments, quality measures, tables, JSON and the check against targets.py."""

import argparse
import dataclasses
import json
import math
import sys
from importlib import metadata
from pathlib import Path

import numpy as np

from shared import fields


@dataclasses.dataclass
class Result:
    """One codec on one field: compression ratio, PSNR in dB (inf: exact), largest error in units of the bound."""

    ratio: float
    psnr: float
    error: float


def measure(original, decoded, size, bound, valid=None):
    """The `Result` of `size` stored bytes; errors and range over `valid` samples (all by default)."""
    before = (original if valid is None else original[valid]).astype(np.float64)
    after = (decoded if valid is None else decoded[valid]).astype(np.float64)
    error = np.abs(before - after)
    return Result(original.nbytes / size, psnr(fields.value_range(before), error), float(error.max()) / bound)


def psnr(value_range, error):
    """20 log10(range / root mean square error), dB."""
    rmse = math.sqrt(float(np.mean(np.square(error))))
    return 20 * math.log10(value_range / rmse) if rmse > 0 and value_range > 0 else math.inf


def geometric_mean(values):
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def mean_of(records, key, **where):
    """Geometric mean of `key` over the records that have these values."""
    return geometric_mean([r[key] for r in records if all(r.get(name) == value for name, value in where.items())])


def table(records, columns, title=None):
    """Prints markdown: a row for each record. A column is a format string for the record, or a function of it.

    A value that is absent or None makes "-".
    """
    if title:
        print(f"\n{title}\n")
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for record in records:
        print("| " + " | ".join(_cell(record, column) for column in columns.values()) + " |")
    print(flush=True)


def item(key, form, *path):
    """A column with a value of the record, or of a dictionary in it, whose key has signs that mean something to format()."""

    def cell(record):
        for name in (*path, key):
            record = record[name]
        return format(record, form)

    return cell


def _cell(record, column):
    try:
        return column(record) if callable(column) else column.format_map(record)
    except (KeyError, TypeError, AttributeError):
        return "-"


class Checks:
    """Prints figures beside their targets. They decide the exit status only with --check."""

    def __init__(self, have_targets=True):
        self.have_targets = have_targets
        self.entries = []

    def at_least(self, what, value, target):
        self._compare(what, value, ">=", target, value >= target)

    def at_most(self, what, value, target):
        self._compare(what, value, "<=", target, value <= target)

    def promise(self, what, value, limit):
        """A figure that must not exceed its limit on any data, such as error / bound."""
        self._add(what, value, "<=", limit, value <= limit)

    def _compare(self, what, value, relation, target, met):
        if self.have_targets:
            self._add(what, value, relation, target, met)
        else:
            print(f"{what}: {value:.4g}", flush=True)

    def _add(self, what, value, relation, target, met):
        self.entries.append({"what": what, "value": value, "relation": relation, "target": target, "met": bool(met)})
        print(f"{'met' if met else 'MISSED'}: {what}: {value:.4g} (target {relation} {target:g})", flush=True)


def names(text):
    return [name for name in text.split(",") if name]


def numbers(text):
    return [float(number) for number in names(text)]


#: Options that several programs have.
OPTIONS = {
    "edge": {"type": int, "metavar": "N", "help": "samples per axis of the generated fields; default %(default)s"},
    "repeats": {"type": int, "metavar": "N", "help": "counted repeats; default %(default)s"},
    "fields": {"type": names, "metavar": "NAMES", "help": "comma-separated, only these fields"},
    "codecs": {"type": names, "metavar": "NAMES", "help": "comma-separated; default: all"},
    "relative": {"type": numbers, "metavar": "BOUNDS", "help": "bounds over the range, comma-separated; default %(default)s"},
    "threads": {"type": int, "nargs": "+", "metavar": "N", "help": "numbers of threads of h5stz; default %(default)s"},
    "crop": {"type": int, "metavar": "N", "help": "first N^3 samples of each field only"},
}


def parser(description, directory=True, only=(), **defaults):
    """The arguments that every program has, those of `OPTIONS` that `defaults` names, and --only with these parts."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if directory:
        text = "directory of the development fields; default $H5STZ_DATA, else small generated fields"
        result.add_argument("directory", nargs="?", default=fields.default_directory(), metavar="DIR", help=text)
    for name, default in defaults.items():
        result.add_argument(f"--{name}", default=default, **OPTIONS[name])
    if only:
        result.add_argument("--only", choices=only, help="one part only")
    result.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    result.add_argument("--check", action="store_true", help="exit with status 1 if a target of targets.py is missed")
    return result


def finish(arguments, records, checks):
    """Writes the JSON file and ends the program with its exit status."""
    if arguments.json:
        packages = ("h5stz", "pysz", "hdf5plugin", "fpzip", "blosc2", "pcodec", "openzl", "zipnn", "h5py", "numpy")
        document = {
            "versions": {name: _version(name) for name in packages},
            "records": [_plain(record) for record in records],
            "checks": checks.entries,
        }
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    met = all(entry["met"] for entry in checks.entries)
    sys.exit(0 if met or not arguments.check else 1)


def _version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _plain(value):
    """Dataclasses as dictionaries, infinities (an exact result) as null: JSON has neither."""
    if dataclasses.is_dataclass(value):
        value = dataclasses.asdict(value)
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return None if isinstance(value, float) and math.isinf(value) else value

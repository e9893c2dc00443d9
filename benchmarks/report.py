"""Shared by the commands: arguments, quality measures, tables, JSON and the check against targets.py."""

import argparse
import dataclasses
import json
import math
import platform
import sys
from importlib import metadata
from pathlib import Path

import numpy as np

import fields


@dataclasses.dataclass
class Result:
    """One codec on one field: compression ratio, PSNR in dB (inf: exact), largest error in units of the bound."""

    ratio: float
    psnr: float
    error_over_bound: float

    def cells(self):
        return [f"{self.ratio:.2f}", f"{self.psnr:.1f}", f"{self.error_over_bound:.4f}"]


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
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def markdown(header, rows):
    """A markdown table; cells are text already."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


class Checks:
    """Prints figures beside their targets. They decide the exit status only with --check; generated fields have no
    targets.
    """

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

    @property
    def met(self):
        return all(entry["met"] for entry in self.entries)


def parser(description, directory=True):
    """The arguments that every command has."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if directory:
        text = "directory of the development fields; default $H5STZ_DATA, else small generated fields"
        result.add_argument("directory", nargs="?", default=fields.default_directory(), metavar="DIR", help=text)
    result.add_argument("--json", type=Path, metavar="FILE", help="write all figures to FILE")
    result.add_argument("--check", action="store_true", help="exit with status 1 if a target of targets.py is missed")
    return result


def finish(arguments, records, checks):
    """Writes the JSON file and ends the command with its exit status."""
    if arguments.json:
        names = ("h5stz", "pysz", "hdf5plugin", "fpzip", "blosc2", "pcodec", "h5py", "numpy")
        document = {
            "machine": {
                "processor": platform.machine(),
                "system": platform.system(),
                "python": platform.python_version(),
            },
            "versions": {name: _version(name) for name in names},
            "records": [_plain(record) for record in records],
            "checks": checks.entries,
        }
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    sys.exit(0 if checks.met or not arguments.check else 1)


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

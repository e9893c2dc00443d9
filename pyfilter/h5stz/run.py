"""Runs a program with the filter within reach: `h5stz run [--compress RULE] -- COMMAND ...`.

Where it reads HDF5 it decodes needed blocks only; datasets that it creates are compressed by the rules that are given.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from h5stz import _core, compress_rules, registration
from h5stz.errors import StzError

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
PRELOAD = Path(__file__).parent / "lib" / "libh5stz_preload.so"


CONNECTOR = "h5stz under_vol=0;under_info={}"  # what is below it: HDF5's own native connector
ROUTES = ("preload", "connector")


def environment(base, through="preload"):
    """`base`, a dict of environment variables, with those that bring filter and region reads into a program.

    HDF5_PLUGIN_PATH and LD_PRELOAD keep what they have.

    Args:
        base: the variables that there are.
        through: "preload": a library that takes the place of HDF5's functions, for every HDF5 from 1.10.3 on; a program that
            is linked statically, or set-uid, ignores it. "connector": a VOL connector, which HDF5 1.14 and newer load, and
            older ones do not know (1.12 knows of such, and cannot load this one: it says so and goes on without it).

    Raises:
        StzError: another VOL connector is in force.
    """
    found = dict(base)
    plugins = [path for path in found.get("HDF5_PLUGIN_PATH", "").split(os.pathsep) if path]
    found["HDF5_PLUGIN_PATH"] = os.pathsep.join([registration.plugin_path(through == "connector"), *plugins])
    if through == "preload":
        found["LD_PRELOAD"] = " ".join([str(PRELOAD), *found.get("LD_PRELOAD", "").replace(":", " ").split()])
    elif found.setdefault("HDF5_VOL_CONNECTOR", CONNECTOR).split()[:1] != CONNECTOR.split()[:1]:
        raise StzError(
            f"HDF5_VOL_CONNECTOR is set, to {found['HDF5_VOL_CONNECTOR']!r}: unset it, "
            "or run the program through the preload library",
            _ARGUMENT,
        )
    return found


def run(command, stats=False, compress=(), cache=None, through="auto"):
    """Runs `command` (a list of words) to its end.

    Args:
        command: the program and its arguments.
        stats: count what its reads decode.
        compress: rules (compress_rules.Rule) for the datasets that it creates; the first that matches counts.
        cache: MiB of the chunk cache of each dataset that is compressed, while the program has it open; None: 256.
        through: "preload" or "connector", see environment(); "auto" is the former where there is such a thing, on Linux.

    Returns:
        (exit status as shells have it, dict of sums over all processes of the command; None without `stats` and `compress`):
        reads (calls of H5Dread; through the connector, of whatever reads datasets), reads_through_hdf5 (of these, those that
        HDF5 did alone), chunks_direct, bytes_used, blocks_decoded, blocks_present, where anything was read;
        datasets_compressed and datasets, a list of (path, number of the rule, "compressed" or a key of compress_rules.REASONS)
        in the order of their creation, where there are rules; with them also rewrites, the number of writes into parts of
        chunks that were compressed with a bound already, and rewritten, a list of some of their paths.

    Raises:
        StzError: there is no command, or no program of that name, or another VOL connector is in force.
    """
    if not command:
        raise StzError("give a command after --, such as: h5stz run -- h5dump -d rho -s 0,0,0 -c 4,4,4 file.h5", _ARGUMENT)
    if through == "auto":
        through = "preload" if sys.platform == "linux" else "connector"
    variables = environment(os.environ, through) | compress_rules.variables(compress, cache)
    if shutil.which(command[0], path=variables.get("PATH")) is None:
        raise StzError(f"{command[0]}: no such program: check its name, or give its path", _READ)
    with tempfile.TemporaryDirectory() as directory:
        record = Path(directory) / "stats"
        if stats or compress:
            variables["H5STZ_RUN_STATS"] = str(record)
        status = subprocess.run(command, env=variables, check=False).returncode
        lines = []
        with contextlib.suppress(FileNotFoundError):
            lines = record.read_text(errors="surrogateescape").splitlines()
    sums = _sums(map(json.loads, lines), bool(compress)) if stats or compress else None
    return (status if status >= 0 else 128 - status), sums


def _sums(records, creations):
    """What the records of all processes add up to."""
    sums = {"datasets_compressed": 0, "datasets": [], "rewrites": 0, "rewritten": []} if creations else {}
    for record in records:
        if "dataset" in record:
            if creations:  # those of another command around this one are not of our rules
                sums["datasets"].append((record["dataset"], record["rule"], record["outcome"]))
                sums["datasets_compressed"] += record["outcome"] == "compressed"
            continue
        if "rewritten" in record:
            sums.setdefault("rewritten", []).append(record["rewritten"])
            continue
        for name, value in record.items():
            sums[name] = sums.get(name, 0) + value
    return sums

"""Runs a program with the filter: `h5stz run [--compress RULE] -- COMMAND ...`.

Its reads of HDF5 files decode only the needed blocks. Datasets that it creates are compressed according to the rules.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from h5stz import _core
from h5stz.errors import StzError, StzReadError
from h5stz.hdf5 import registration
from h5stz.programs import compress_rules

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
PRELOAD = Path(__file__).parents[1] / "lib" / "libh5stz_preload.so"
_PRELOAD_SEPARATORS = " :"  # of LD_PRELOAD, which has no way to write a path that holds one

CONNECTOR = "h5stz under_vol=0;under_info={}"  # what is below it: HDF5's own native connector
ROUTES = ("preload", "connector")
THREADS = "H5STZ_RUN_THREADS"  # read by the library inside the program


def environment(base: Mapping[str, str], through: str = "preload", links: Path | None = None) -> dict[str, str]:
    """The environment variables `base` with those added that give a program the filter and region reads.

    HDF5_PLUGIN_PATH and LD_PRELOAD are extended; their present values are kept.

    Args:
        base: dict of environment variables.
        through: "preload": a preloaded library replaces functions of HDF5, version 1.10.3 or newer; statically linked and
            set-uid programs ignore it. "connector": a VOL connector, for HDF5 1.14 and newer; HDF5 1.12 reports that it cannot
            load the connector and continues without it, older versions ignore it. Provisional (docs/compatibility.md).
        links: directory for a symbolic link to the preload library. The link is made if LD_PRELOAD cannot hold the library's
            path.

    Raises:
        StzError: another VOL connector is set, or LD_PRELOAD cannot hold the path of the library.
    """
    variables = dict(base)
    plugins = [path for path in variables.get("HDF5_PLUGIN_PATH", "").split(os.pathsep) if path]
    variables["HDF5_PLUGIN_PATH"] = os.pathsep.join([registration.plugin_path(through == "connector"), *plugins])
    if through == "preload":
        before = variables.get("LD_PRELOAD", "").replace(":", " ").split()
        variables["LD_PRELOAD"] = " ".join([_preload_path(links), *before])
    elif variables.setdefault("HDF5_VOL_CONNECTOR", CONNECTOR).split()[:1] != CONNECTOR.split()[:1]:
        raise StzError(
            f"HDF5_VOL_CONNECTOR is set, to {variables['HDF5_VOL_CONNECTOR']!r}: unset it, "
            "or run the program through the preload library",
            _ARGUMENT,
        )
    return variables


def _preload_path(links: Path | None) -> str:
    """A path of the preload library that LD_PRELOAD can hold."""
    path = PRELOAD if links is None or not _splits(PRELOAD) else links / PRELOAD.name
    if _splits(path):
        where = "" if path == PRELOAD else f", and so has the directory for temporary files, {links}"
        raise StzError(
            f"LD_PRELOAD is split at spaces and colons, and the path of {PRELOAD} has one{where}: set TMPDIR to a directory "
            "without, install h5stz in one, or use --through connector",
            _ARGUMENT,
        )
    if path != PRELOAD:
        path.symlink_to(PRELOAD)
    return str(path)


def _splits(path: Path) -> bool:
    return any(separator in str(path) for separator in _PRELOAD_SEPARATORS)


def run(
    command: Sequence[str],
    stats: bool = False,
    compress: Sequence[compress_rules.Rule] = (),
    cache: int | None = None,
    through: str = "auto",
    max_error: float | None = None,
    threads: int | None = None,
) -> tuple[int, dict[str, Any] | None]:
    """Runs `command` (a list of words) and waits for its end.

    Args:
        command: the program and its arguments.
        stats: True counts what its reads decode.
        compress: rules (compress_rules.Rule) for the datasets that it creates. The first matching rule applies.
        cache: size of the chunk cache for each open compressed dataset, in MiB; None: 256.
        through: "preload" or "connector", see environment(). "auto" is "preload" on Linux, "connector" elsewhere.
        max_error: largest permitted absolute error of reads from datasets with precision layers, in the units of the data.
            None: the value of H5STZ_MAX_ERROR, or 0.
        threads: number of threads that read and write whole datasets. 1 leaves these to HDF5. None: the value of
            H5STZ_RUN_THREADS, or as many as there are processors for each process, at most 16. Provisional.

    Returns:
        (exit status as shells report it, dict of sums over all processes of the command). The dict is None without `stats` and
        `compress`. If anything was read it has reads (calls of H5Dread; with the connector all reads of datasets),
        reads_through_hdf5 (those that HDF5 did alone), chunks_direct, bytes_used, blocks_decoded and blocks_present. If there
        are rules it has datasets_compressed, and datasets: a list of (path, number of the rule, "compressed" or a key of
        compress_rules.REASONS) in the order of creation. With `stats` it also has, for "threads" and each key of
        run_report.WAYS that occurred, read/KEY/requests, read/KEY/bytes (of the arrays), write/KEY/requests and
        write/KEY/bytes.

    Raises:
        StzError: the command is empty, its program was not found, or another VOL connector is set.
    """
    if not command:
        raise StzError("give a command after --, such as: h5stz run -- h5dump -d rho -s 0,0,0 -c 4,4,4 file.h5", _ARGUMENT)
    if through == "auto":
        through = "preload" if sys.platform == "linux" else "connector"
    if shutil.which(command[0]) is None:
        raise StzReadError(f"{command[0]}: no such program: check its name, or give its path", _READ)
    with tempfile.TemporaryDirectory() as directory:
        variables = environment(os.environ, through, Path(directory)) | compress_rules.variables(compress, cache)
        if max_error is not None:
            variables["H5STZ_MAX_ERROR"] = repr(max_error)
        if threads is not None or not variables.get(THREADS):
            variables[THREADS] = "auto" if threads is None else str(threads)
        record = Path(directory) / "stats"
        if stats or compress:
            variables["H5STZ_RUN_STATS"] = str(record)
        status = subprocess.run(command, env=variables, check=False).returncode
        lines = []
        with contextlib.suppress(FileNotFoundError):
            lines = record.read_text(errors="surrogateescape").splitlines()
    sums = _sums(map(json.loads, lines), bool(compress)) if stats or compress else None
    return (status if status >= 0 else 128 - status), sums


def _sums(records: Iterable[dict[str, Any]], creations: bool) -> dict[str, Any]:
    """Sums over the records of all processes."""
    sums: dict[str, Any] = {"datasets_compressed": 0, "datasets": []} if creations else {}
    for record in records:
        if "dataset" in record:
            if creations:  # those of another command around this one are not of our rules
                sums["datasets"].append((record["dataset"], record["rule"], record["outcome"]))
                sums["datasets_compressed"] += record["outcome"] == "compressed"
            continue
        for name, value in record.items():
            sums[name] = sums.get(name, 0) + value
    return sums

"""Runs a program with the filter within reach and, where it reads HDF5, with region reads: `h5stz run -- COMMAND ...`."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from h5stz import _core, registration
from h5stz.errors import StzError

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
PRELOAD = Path(__file__).parent / "lib" / "libh5stz_preload.so"


def environment(base):
    """`base`, a dict of environment variables, with those that bring filter and region reads into a program.

    HDF5_PLUGIN_PATH and LD_PRELOAD keep what they have; a program that is linked statically, or set-uid, ignores LD_PRELOAD.
    """
    found = dict(base)
    plugins = [path for path in found.get("HDF5_PLUGIN_PATH", "").split(os.pathsep) if path]
    found["HDF5_PLUGIN_PATH"] = os.pathsep.join([registration.plugin_path(), *plugins])
    found["LD_PRELOAD"] = " ".join([str(PRELOAD), *found.get("LD_PRELOAD", "").replace(":", " ").split()])
    return found


def run(command, stats=False):
    """Runs `command` (a list of words) to its end.

    Args:
        command: the program and its arguments.
        stats: count what its reads decode.

    Returns:
        (exit status as shells have it, dict of sums over all processes of the command or None): reads (calls of H5Dread),
        reads_through_hdf5 (of these, those that HDF5 did alone), chunks_direct, bytes_used, blocks_decoded, blocks_present.

    Raises:
        StzError: there is no command, or no program of that name.
    """
    if not command:
        raise StzError("give a command after --, such as: h5stz run -- h5dump -d rho -s 0,0,0 -c 4,4,4 file.h5", _ARGUMENT)
    variables = environment(os.environ)
    if shutil.which(command[0], path=variables.get("PATH")) is None:
        raise StzError(f"{command[0]}: no such program", _READ)
    with tempfile.TemporaryDirectory() as directory:
        record = Path(directory) / "stats"
        if stats:
            variables["H5STZ_RUN_STATS"] = str(record)
        status = subprocess.run(command, env=variables, check=False).returncode
        sums = {}
        with contextlib.suppress(FileNotFoundError):
            for line in record.read_text().splitlines():
                for name, value in json.loads(line).items():
                    sums[name] = sums.get(name, 0) + value
    return (status if status >= 0 else 128 - status), (sums if stats else None)

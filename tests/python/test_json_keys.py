"""Keys of `--json` stay until 2.0 (docs/compatibility.md), with the types of their values: every command that has it.

json_1.0.json is what 1.0.0 printed, without what 1.1 has withdrawn (test_compatibility.py). New keys may come.

    python tests/python/test_json_keys.py    # prints what this version has, for the file of another release
"""

import contextlib
import io
import json
import tempfile
from pathlib import Path

import click
import h5py
import numpy as np
import pytest

import h5stz
from h5stz import cli
from support.fields import random_field
from support.requirements import needs_programs

RECORD = Path(__file__).with_name("json_1.0.json")
FIELD = random_field((64, 48), 4, 1).astype("f4")
TYPES = {str: "text", bool: "truth", int: "number", float: "number"}


def paths(value, path=""):
    """{key path: type} of all that a JSON value has; null, which takes the place of any type, has none."""
    if isinstance(value, dict):
        return {key: kind for name, item in value.items() for key, kind in paths(item, f"{path}.{name}".lstrip(".")).items()}
    if isinstance(value, list):
        return {path: "list"} | {key: kind for item in value for key, kind in paths(item, f"{path}[]").items()}
    return {} if value is None else {path: TYPES[type(value)]}


def write_files(directory):
    """run.h5, whose datasets are not compressed; small.h5, which has layers, patches, enhancement and bounds; broken.h5."""
    with h5py.File(directory / "run.h5", "w") as file:
        file["flow/rho"] = FIELD
        file["short"] = np.arange(4)
    with h5py.File(directory / "small.h5", "w") as file:
        kinds = "absolute=1e-3,append_axis=0", "absolute=1e-3,layers=2", "absolute=1,enhance=both", "lossless"
        for number, text in enumerate(kinds):
            made = file.create_dataset(f"d{number}", FIELD.shape, "f4", chunks=(32, 48), **h5stz.STZ(text))
            made.attrs["units"] = "m"
            made[:] = FIELD
    with h5py.File(directory / "small.h5", "r+") as file:
        file["d0"][3:5, 7] = 1.0
    content = bytearray((directory / "small.h5").read_bytes())
    with h5py.File(directory / "small.h5") as file:
        chunk = file["d1"].id.get_chunk_info(1)
    content[chunk.byte_offset + chunk.size // 2] ^= 0xFF
    (directory / "broken.h5").write_bytes(content)


def command_lines(directory):
    """{command: words} of all that print for programs."""
    run, small, broken, other = (directory / f"{name}.h5" for name in ("run", "small", "broken", "other"))
    return {
        "compress": [run, other, "--relative", "1e-3"],
        "compress --dry-run": [run, "--relative", "1e-3"],
        "decompress": [small, directory / "plain.h5"],
        "info": [small, "--all"],
        "verify": [small, broken],
        "salvage": [broken, directory / "saved.h5"],
        "extract": [f"{small}::/d0", "--region", "3:9,5", "-o", directory / "part.npy"],
        "compare": [f"{run}::/flow/rho", f"{small}::/d0", "--within", "1"],
        "estimate": [run, "--relative", "1e-3"],
        "args": ["--absolute", "1e-3", "--variable", "rho"],
        "doctor": [],
    }


def printed():
    """{command: {key path: type}} of this version."""
    found = {}
    with tempfile.TemporaryDirectory() as directory:
        write_files(Path(directory))
        for name, words in command_lines(Path(directory)).items():
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                cli.main([*name.split(), *map(str, words), "--json"])
            found[name] = paths(json.loads(output.getvalue()))
    return found


@needs_programs("h5repack", "nccopy")  # which doctor lists
def test_keys_and_types_stay():
    now = printed()
    for command, recorded in json.loads(RECORD.read_text()).items():
        changed = {path: (kind, now[command].get(path)) for path, kind in recorded.items() if now[command].get(path) != kind}
        assert not changed, f"{command} --json: then and now"


def test_every_command_that_has_it_is_recorded():
    context = click.Context(cli.commands)
    found = {name: cli.commands.get_command(context, name) for name in cli.commands.list_commands(context)}
    having = {name for name, command in found.items() if any("--json" in option.opts for option in command.params)}
    assert {name.split()[0] for name in json.loads(RECORD.read_text())} == having


@pytest.mark.parametrize("command", ["verify", "salvage", "info", "compress"])
def test_what_the_record_is_about(command):
    """Keys that the documents name are in it."""
    named = {
        "verify": {"files[].sound", "files[].datasets[].damaged[].chunk[]", "files[].errors", "files[].notes"},
        "salvage": {"whole[]", "lost", "sound"},
        "info": {"files[].datasets[].ratio", "files[].datasets[].compression.bound"},
        "compress": {"outcomes[].path", "before", "after", "notes"},
    }
    assert named[command] <= set(json.loads(RECORD.read_text())[command])


if __name__ == "__main__":
    commands = (f" {json.dumps(name)}: {json.dumps(keys)}" for name, keys in printed().items())
    print("{\n" + ",\n".join(commands) + "\n}")

"""`h5stz verify FILE ...`: decodes every chunk and compares it with its content check."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import click

from h5stz import cli
from h5stz.cli.explained import damage_of_file
from h5stz.cli.output import say
from h5stz.cli.parameters import FILE
from h5stz.cli.progress import progress_bar
from h5stz.files import verify_files
from h5stz.options.option_checks import thread_count
from h5stz.sources.remote_files import shown_name


@click.command(short_help="Decode all chunks and check them.")
@click.option("--threads", type=int, help="Threads that decode a chunk. [default: H5STZ_THREADS, or 1]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
def verify(threads: int | None, as_json: bool, files: tuple[str, ...]) -> int:
    """Decode all chunks of files and compare them with their content checks.

    Every chunk that h5stz wrote is decoded, and its values are compared with the checksums that the writer stored. The exit
    status is 1 if a chunk is damaged.
    """
    count, sound, found = thread_count(threads), True, []
    with progress_bar() as bar:
        for name in files:
            lines: list[verify_files.Line] = []
            for line in verify_files.lines(name, count, bar.tell):
                sound = sound and line.sound
                lines.append(line)
                if line.unreadable or not as_json:
                    with bar.aside():
                        _print(line)
            if damaged := _summary(shown_name(name), lines):
                with bar.aside():
                    cli.complain(damaged)
            found.append(_as_json(name, lines))
    if as_json:
        print(json.dumps({"files": found}))
    return int(not sound)


def _print(line: verify_files.Line) -> None:
    if line.unreadable:
        cli.complain(line.text)
    else:
        say(line.text)


def _summary(name: str, lines: Sequence[verify_files.Line]) -> str:
    """Summary of the damaged chunks of a file, with the remedy; "" if there are none."""
    return damage_of_file(name, [len(line.facts["damaged"]) for line in lines if line.facts])


def _as_json(name: str, lines: Iterable[verify_files.Line]) -> dict[str, Any]:
    lines = list(lines)
    return {
        "file": shown_name(name),
        "sound": all(line.sound for line in lines),
        "datasets": [line.facts for line in lines if line.facts],
        "errors": [line.text for line in lines if line.unreadable],
        "notes": [line.text for line in lines if line.facts is None and not line.unreadable],
    }

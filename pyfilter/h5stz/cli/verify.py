"""`h5stz verify FILE ...`: decodes every chunk and compares it with what its writer saw."""

from __future__ import annotations

import click

from h5stz import cli, verify_files
from h5stz.cli.parameters import FILE
from h5stz.option_checks import thread_count


@click.command()
@click.option("--threads", type=int, help="For decoding each chunk; default: H5STZ_THREADS, or 1.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
def verify(threads: int | None, files: tuple[str, ...]) -> int:
    """Decode all chunks of files and compare them with their content checks.

    Decodes every chunk that h5stz wrote and compares the values with what the writer saw. Exit status 1 if one is damaged.
    """
    count, failed = thread_count(threads), False
    for name in files:
        for line in verify_files.lines(name, count):
            if line.unreadable:
                cli.complain(line.text)
            else:
                print(line.text)
            failed = failed or not line.sound
    return int(failed)

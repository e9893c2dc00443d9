"""`h5stz run -- COMMAND ...`: runs a program with the filter."""

from __future__ import annotations

import click

from h5stz import cli
from h5stz.cli.parameters import ERROR, Parsed
from h5stz.programs import compress_rules, run_report
from h5stz.programs import run as running


def _threads(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise ValueError(f"{text!r} is not a number of threads from 1 to 256")
    return int(text)


def _mebibytes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1 << 20:
        raise ValueError(f"{text!r} is not a number of MiB from 1 to {1 << 20}")
    return int(text)


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--stats", is_flag=True, help="Print on standard error what was decoded and compressed, and what was left to HDF5."
)
@click.option(
    "--compress",
    multiple=True,
    metavar="RULE",
    help="Compress new datasets: PATTERN=absolute:B, =pointwise_relative:R or =lossless, followed by options such as "
    ",block=region. The first rule that matches the path of a dataset applies.",
)
@click.option("--chunks", type=click.Choice(["auto"]), default="auto", help="For contiguous datasets; auto: at most 16 MiB.")
@click.option(
    "--cache", type=Parsed("mebibytes", _mebibytes), metavar="MIB", help="Chunk cache of each open dataset. [default: 256]"
)
@click.option(
    "--threads",
    type=Parsed("threads", _threads),
    metavar="N",
    help="Threads that read and write whole datasets; 1: none. [default: one for each processor, at most 16]",
)
@click.option(
    "--through",
    type=click.Choice(["auto", *running.ROUTES]),
    default="auto",
    help="preload: a preloaded library replaces functions of HDF5 (1.10.3 or newer); the default on Linux. connector: a VOL "
    "connector (HDF5 1.14 or newer).",
)
@click.option(
    "--max-error",
    type=ERROR,
    metavar="E",
    help="Read only the precision layers that this error needs. Not for programs that write back what they read.",
)
@click.argument("words", metavar="-- COMMAND ...", nargs=-1, type=click.UNPROCESSED)
def run(
    stats: bool,
    compress: tuple[str, ...],
    chunks: str,
    cache: int | None,
    threads: int | None,
    through: str,
    max_error: float | None,
    words: tuple[str, ...],
) -> int:
    """Run a program with the filter and with region reads.

    COMMAND finds the filter, and its reads of HDF5 files decode only the needed blocks. Several threads decode and compress the
    chunks of datasets that it reads or writes as a whole. With --compress, datasets that it creates are chunked and compressed.
    """
    rules = [compress_rules.parse(text) for text in compress]
    status, sums = running.run(words, stats, rules, cache, through, max_error, threads)
    for line in run_report.lines(sums or {}, stats, rules):
        cli.complain(line)
    return status

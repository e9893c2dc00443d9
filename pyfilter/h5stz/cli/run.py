"""`h5stz run -- COMMAND ...`: runs a program with the filter within reach."""

from __future__ import annotations

import click

from h5stz import cli
from h5stz.cli.parameters import ERROR, Parsed
from h5stz.programs import compress_rules, run_report
from h5stz.programs import run as running


def _mebibytes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1 << 20:
        raise ValueError(f"{text!r} is no number of MiB from 1 to {1 << 20}")
    return int(text)


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--stats", is_flag=True, help="Say on standard error what was decoded and compressed.")
@click.option(
    "--compress",
    multiple=True,
    metavar="RULE",
    help="Compress new datasets: PATTERN=absolute:B, =pointwise_relative:R or =lossless, then ,block=region or others; the "
    "first rule that matches a dataset's path counts.",
)
@click.option("--chunks", type=click.Choice(["auto"]), default="auto", help="Chunks of contiguous datasets: at most 16 MiB.")
@click.option(
    "--cache", type=Parsed("mebibytes", _mebibytes), metavar="MIB", help="Chunk cache of each open dataset. [default: 256]"
)
@click.option(
    "--through",
    type=click.Choice(["auto", *running.ROUTES]),
    default="auto",
    help="preload: a library in the place of HDF5's functions, for HDF5 from 1.10.3 on, the default on Linux; connector: a VOL "
    "connector, for HDF5 1.14 and newer.",
)
@click.option(
    "--max-error",
    type=ERROR,
    metavar="E",
    help="Of datasets with precision layers, read as few as keep errors up to E. Not for programs that write what they read.",
)
@click.argument("words", metavar="-- COMMAND ...", nargs=-1, type=click.UNPROCESSED)
def run(
    stats: bool,
    compress: tuple[str, ...],
    chunks: str,
    cache: int | None,
    through: str,
    max_error: float | None,
    words: tuple[str, ...],
) -> int:
    """Run a program with the filter and with region reads.

    Runs COMMAND so that it finds the filter, and so that what it reads of HDF5 files decodes needed blocks only. With
    --compress, datasets that it creates are chunked and compressed.
    """
    rules = [compress_rules.parse(text) for text in compress]
    status, sums = running.run(words, stats, rules, cache, through, max_error)
    for line in run_report.lines(sums or {}, stats, rules):
        cli.complain(line)
    return status

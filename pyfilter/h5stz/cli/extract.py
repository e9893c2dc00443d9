"""`h5stz extract FILE::/path -o OUT`: writes a region or a coarse level of a dataset to a separate file."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import Any

import click

from h5stz import cli
from h5stz.analysis import extracting
from h5stz.cli.datasets import opened
from h5stz.cli.explained import NOTHING_WRITTEN, explained
from h5stz.cli.output import print_json, say
from h5stz.cli.parameters import FILE, NEW_FILE, Parsed
from h5stz.counts import counted
from h5stz.damage import DamageWarning
from h5stz.reading.view import View


def _axes(text: str) -> tuple[int, ...]:
    """Parses axis numbers, such as 1,2."""
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r}: give numbers of axes, such as 1,2") from None


@click.command(short_help="Write a region or a level of a dataset to a file.")
@click.argument("name", metavar="FILE::/PATH", type=FILE)
@click.option("--region", metavar="0:10,:,5", help="Region, as a NumPy index.")
@click.option("--level", type=int, default=0, metavar="L", help="Resolution level: every 2^L-th sample.")
@click.option("--axes", type=Parsed("axes", _axes), metavar="N,N", help="The axes that the level thins. [default: all]")
@click.option("-o", "--output", required=True, metavar="OUT", type=NEW_FILE, help="A .npy, .h5 or .nc file.")
@click.option("--overwrite", is_flag=True, help="Replace an existing OUT.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def extract(
    name: str, region: str | None, level: int, axes: tuple[int, ...] | None, output: str, overwrite: bool, as_json: bool
) -> int:
    """Write a region or a coarse level of a dataset, decompressed.

    Only the needed blocks are read and decoded. .h5 and .nc files include the coordinates of the axes. FILE may be the
    address of a remote file.

    The exit status is also 1 if the coordinates of an axis are left out because their dimension scale is damaged.
    """
    with explained(name, NOTHING_WRITTEN, output), opened(name) as dataset:
        index = ... if region is None else _index(region, dataset)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamageWarning)  # it is told below
            done = extracting.extract(dataset, output, region=index, level=level, axes=axes, overwrite=overwrite)
    if as_json:
        print_json(asdict(done) | {"output": output})
    else:
        shape = "x".join(map(str, done.shape)) or "one number"
        say(f"{output}: {done.path}, {done.dtype} {shape}; {counted(done.bytes_read, 'stored byte')} read")
    for line in done.left_out:
        cli.complain(line)
    return int(bool(done.left_out))


def _index(text: str, dataset: View) -> Any:
    """Parses a NumPy basic index, such as 0:10,:,5. Errors tell the shape of the dataset."""
    try:
        return tuple(_item(part.strip()) for part in text.strip("[]() ").split(","))
    except ValueError as error:
        context = click.get_current_context()
        raise click.BadParameter(
            f"{error}. {extracting.shape_and_syntax(dataset)}.", context, param_hint="'--region'"
        ) from None


def _item(part: str) -> Any:
    if part == "...":
        return ...
    try:
        numbers = [int(number) if number.strip() else None for number in part.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) == 1 and numbers[0] is not None:
        return numbers[0]
    if len(numbers) in (2, 3):
        return slice(*numbers)
    raise ValueError(f"{part!r} is not an index")

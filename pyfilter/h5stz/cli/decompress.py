"""`h5stz decompress IN OUT`: writes a file that can be read without the filter."""

from __future__ import annotations

import json

import click

from h5stz.cli.explained import NOTHING_WRITTEN, explained
from h5stz.cli.output import say
from h5stz.cli.parameters import FILE, NEW_FILE, placed
from h5stz.cli.progress import progress_bar
from h5stz.files import unpacking


@click.command(short_help="Write a file without the filter.")
@click.argument("source", metavar="IN", type=FILE)
@click.argument("target", metavar="OUT", type=NEW_FILE)
@click.option("--dataset", default="*", metavar="GLOB", help="Only datasets whose path matches.")
@click.option(
    "--deflate",
    type=int,
    metavar="N",
    help="Compress them with HDF5's shuffle and deflate (gzip), level 0 to 9. [default: no compression]",
)
@click.option("--overwrite", is_flag=True, help="Replace an existing OUT, which may be IN.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def decompress(source: str, target: str, dataset: str, deflate: int | None, overwrite: bool, as_json: bool) -> None:
    """Write a file that can be read without the filter.

    OUT contains everything in IN. Datasets compressed with h5stz are decompressed.
    """
    target = placed(target, source)
    with explained(source, NOTHING_WRITTEN, target), progress_bar() as bar:
        unpacked, notes = unpacking.unpack(
            source, target, dataset=dataset, deflate=deflate, overwrite=overwrite, progress=bar.tell
        )
    if as_json:
        print(json.dumps({"datasets": unpacked, "notes": notes}))
        return
    for path in unpacked:
        say(f"{path}: stored without h5stz")
    for note in notes:
        say(f"note: {note}")
    if not unpacked:
        say(f"nothing{'' if dataset == '*' else f' of what {dataset} names'} was compressed with h5stz")

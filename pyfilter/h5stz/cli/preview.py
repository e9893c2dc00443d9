"""`h5stz preview FILE::/path`: a picture in the terminal, or a PNG file."""

from __future__ import annotations

import sys

import click

from h5stz.analysis import previewing
from h5stz.cli import regions
from h5stz.cli.datasets import opened
from h5stz.cli.explained import explained
from h5stz.cli.output import print_json, say
from h5stz.cli.parameters import FILE, NEW_FILE, Parsed

_SHADES = " .:-=+*#%@"
_MISSING = "?"


@click.command(short_help="Show a slice of a dataset as a picture.")
@click.argument("name", metavar="FILE::/PATH", type=FILE)
@click.option(
    "--slice", "cuts", multiple=True, type=Parsed("cut", regions.cut), metavar="AXIS=INDEX", help="Cut there; may be repeated."
)
@click.option("--level", type=int, metavar="L", help="Read every 2^L-th sample. [default: as the picture needs]")
@click.option("--range", "limits", type=float, nargs=2, metavar="LOW HIGH", help="Of the colours.")
@click.option("-o", "--output", metavar="OUT.png", type=NEW_FILE, help="Write a PNG file.")
@click.option("--width", type=click.IntRange(8, 1000), metavar="N", help="Of the picture in the terminal, in characters.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, and no picture.")
def preview(
    name: str,
    cuts: tuple[tuple[int, int], ...],
    level: int | None,
    limits: tuple[float, float] | None,
    output: str | None,
    width: int | None,
    as_json: bool,
) -> None:
    """Show a plane of a dataset, read from a level that is as coarse as the picture.

    In the terminal with colours, elsewhere with characters, and with -o as a PNG file. Without --slice, all axes but the last
    two are cut in the middle. FILE may be the address of a remote file.
    """
    most = previewing.MOST_SAMPLES if output else 2 * (width or 160)
    with explained(name, "no picture of it"), opened(name) as dataset:
        plane = previewing.plane(dataset, slices=dict(cuts), level=level, most=most)
    low, high = limits or (None, None)
    if output:
        previewing.write_png(plane, output, low, high)
    if as_json:
        print_json({"title": plane.title, "level": plane.level, "low": plane.low, "high": plane.high, "output": output})
        return
    if sys.stdout.isatty() or not output:
        _print(plane, width, low, high)
    say(f"{plane.title}: {plane.low:g} to {plane.high:g}" + (f", in {output}" if output else ""))


def _print(plane: previewing.Plane, width: int | None, low: float | None, high: float | None) -> None:
    """The picture: a character is two pixels, one above the other."""
    from rich.color import Color
    from rich.console import Console
    from rich.style import Style
    from rich.text import Text

    console = Console()
    columns = width or min(console.width, 160)
    lines = max(console.height - 3, 12) if console.is_terminal else columns
    if not console.is_terminal or console.color_system is None or console.options.ascii_only:
        values = previewing.shares(previewing.pixels(plane, columns, 2 * lines)[::2], plane, low, high)
        for row in values:
            print("".join(_MISSING if each != each else _SHADES[min(int(10 * each), 9)] for each in row))
        return
    found = previewing.colours(plane, columns, 2 * lines, low, high)
    for number in range(0, len(found) - 1, 2):
        text = Text(no_wrap=True, overflow="crop")
        for upper, lower in zip(found[number].tolist(), found[number + 1].tolist(), strict=True):
            text.append("▀", Style(color=Color.from_rgb(*upper), bgcolor=Color.from_rgb(*lower)))
        console.print(text)

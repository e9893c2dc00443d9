"""`h5stz compare A B`: the errors between two files, datasets or arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import click

from h5stz import _core, cli
from h5stz.analysis import compare_files
from h5stz.analysis.compare_files import Pair
from h5stz.analysis.comparing import Comparison, summary_lines
from h5stz.analysis.comparing import compare as compare_arrays
from h5stz.cli import wording
from h5stz.cli.datasets import opened, split
from h5stz.cli.explained import explained
from h5stz.cli.output import print_json, say
from h5stz.cli.parameters import FILE
from h5stz.cli.progress import progress_bar
from h5stz.errors import StzError
from h5stz.files.classic_netcdf import opened_source
from h5stz.progress import Progress
from h5stz.sources.remote_files import shown_name

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]


@click.command(short_help="Compare two files or arrays.")
@click.argument("original", metavar="A", type=FILE)
@click.argument("other", metavar="B", type=FILE)
@click.option("--dataset", default="*", metavar="GLOB", help="Compare only datasets whose path matches, in two files.")
@click.option("--within", type=float, metavar="B", help="The largest permitted error.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare(original: str, other: str, dataset: str, within: float | None, as_json: bool) -> int:
    """Print the errors and the PSNR of B against the original A.

    In two files, all datasets with the same path are compared. A and B may also be two arrays: FILE::/path or a .npy file.
    The exit status is 1 if an error exceeds --within, if a sample is missing or not finite in only one of them, or if a
    dataset cannot be read.
    """
    found: list[Pair] = []
    with explained(f"{original}, {other}", "not compared"), progress_bar() as bar:
        for pair in _pairs(original, other, dataset, bar.tell):
            found.append(_in_words(pair))
            if not as_json or pair.failed:
                with bar.aside():
                    _print(found[-1])
    failed = any(pair.failed for pair in found)
    compared = [(pair.path, pair.found) for pair in found if pair.found is not None]
    if not compared and not failed:
        why = f": {found[0].path}: {found[0].note}" if found else ""
        names = f"{shown_name(original)} and {shown_name(other)}"
        raise StzError(f"{names} have no dataset of numbers in common{why}", _ARGUMENT)
    exceeded = [] if within is None else [(path, why) for path, each in compared if (why := _beyond(each, within))]
    if as_json:
        print_json({"within": None if within is None else not (exceeded or failed), "datasets": list(map(_described, found))})
    for path, why in exceeded:
        cli.complain(f"{path}: {why}")
    return int(bool(exceeded or failed))


def _pairs(original: str, other: str, pattern: str, progress: Progress | None) -> Iterator[Pair]:
    if _is_one_array(original) or _is_one_array(other):
        first, second = split(original)[1], split(other)[1]
        with contextlib.ExitStack() as both:
            if first:
                one = both.enter_context(_array(original, second))
                another = both.enter_context(_array(other, first))
            else:  # if the dataset that is named is wrong, that error comes first
                another = both.enter_context(_array(other))
                one = both.enter_context(_array(original, second))
            name = getattr(one, "name", None) or original
            marks = compare_files.missing(one, another)
            yield Pair(str(name), compare_arrays(one, another, missing=marks, progress=progress))
        return
    with opened_source(original) as before, opened_source(other) as after:
        names = shown_name(original), shown_name(other)
        yield from compare_files.pairs(before, after, pattern, names=names, progress=progress)


def _is_one_array(name: str) -> bool:
    return bool(split(name)[1]) or compare_files.is_npy(name)


@contextlib.contextmanager
def _array(name: str, like: str = "") -> Iterator[Any]:
    """The dataset, or the array of a .npy file. `like`: as for datasets.opened()."""
    if compare_files.is_npy(name):
        yield compare_files.load_npy(name)
        return
    with contextlib.ExitStack() as file:
        with explained(name, "not compared"):
            dataset = file.enter_context(opened(name, like))
        yield dataset


def _beyond(found: Comparison, within: float) -> str:
    """How a dataset violates --within, as text; "" if it does not."""
    if found.count and not found.largest_error <= within:
        return f"the largest error, {found.largest_error:.6g}, exceeds --within {within:g}"
    return "a sample is missing or not finite in only one of the two, which --within does not permit" if found.unpaired else ""


def _in_words(pair: Pair) -> Pair:
    """The pair, with the note about an unreadable dataset in the words of the command line."""
    note = wording.as_options(pair.note, click.get_current_context().command) if pair.failed else pair.note
    return replace(pair, note=note)


def _print(pair: Pair) -> None:
    if pair.failed:
        cli.complain(pair.note)
        return
    if pair.found is None:
        say(f"{pair.path}: {pair.note}")
        return
    say(f"{pair.path}: {pair.found.dtype} {'x'.join(map(str, pair.found.shape))}")
    for line in summary_lines(pair.found):
        say(f"  {line}")


def _described(pair: Pair) -> dict[str, Any]:
    if pair.found is not None:
        return {"path": pair.path, **asdict(pair.found)}
    return {"path": pair.path, "note": pair.note} | ({"failed": True} if pair.failed else {})

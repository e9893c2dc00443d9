"""`h5stz salvage IN OUT`: copies the readable parts of a damaged file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from h5stz import cli
from h5stz.cli.explained import NOTHING_WRITTEN, explained
from h5stz.cli.output import print_json, say
from h5stz.cli.parameters import FILE, NEW_FILE, Parsed, placed
from h5stz.cli.progress import progress_bar
from h5stz.counts import counted
from h5stz.damage import Damage, OnError
from h5stz.files import salvaging
from h5stz.options.option_checks import thread_count

_SHOWN = 20  # damages of a dataset
_NAMED = 5  # datasets in a line


def _on_error(text: str) -> OnError:
    """ "nan", "fill" or a number, in words."""
    if text in ("nan", "fill"):
        return text  # type: ignore[return-value]
    return float(text) if not text.lstrip("-").isdigit() else int(text)


@click.command(short_help="Copy the readable parts of a damaged file.")
@click.argument("source", metavar="IN", type=FILE)
@click.argument("target", metavar="OUT", type=NEW_FILE)
@click.option(
    "--on-error",
    type=Parsed("value: give nan, fill or a number", _on_error),
    metavar="nan|fill|NUMBER",
    help="Value for lost samples. [default: NaN; for integers the fill value of the dataset, or 0]",
)
@click.option("--threads", type=int, help="Threads that decode a chunk. [default: H5STZ_THREADS, or 1]")
@click.option("--overwrite", is_flag=True, help="Replace an existing OUT.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def salvage(source: str, target: str, on_error: OnError | None, threads: int | None, overwrite: bool, as_json: bool) -> int:
    """Copy the readable parts of a damaged file, and list what is lost.

    In datasets compressed with h5stz, samples that can be decoded keep their values; the others become NaN or a fill value.
    IN may be truncated. The exit status is 1 if anything is lost or differs from its content check. OUT is written in any
    case.
    """
    target = placed(target, source)
    with explained(source, NOTHING_WRITTEN, target), progress_bar() as bar:
        done = salvaging.salvage(
            source, target, on_error=on_error, overwrite=overwrite, threads=thread_count(threads), progress=bar.tell
        )
    if as_json:
        print_json(asdict(done) | {"sound": done.sound})
    else:
        _print(done, source)
    if not done.sound:
        cli.complain(f"{source}: {_summary(done)}: {target} has all else")
    return int(not done.sound)


def _print(done: salvaging.Salvaged, source: str) -> None:
    if done.missing_bytes:
        say(f"{source}: {counted(done.missing_bytes, 'byte')} missing at the end")
    for path in done.whole:
        unchecked = done.unchecked.get(path, 0)
        say(f"{path}: whole" + (f"; not checked: {counted(unchecked, 'chunk')} stored without h5stz" if unchecked else ""))
    for path, damaged in done.damaged.items():
        found, differing = _sorted(damaged)
        if found:
            say(f"{path}: {_samples(found)} lost, {counted(len(found), 'damaged part')}")
            _print_parts(found, True)
        if differing:
            say(f"{path}: {salvaging.DIFFER} in {counted(len(differing), 'part')}")
            _print_parts(differing, False)
    for line in done.lost:
        cli.complain(f"lost: {line}")
    for note in done.notes:
        say(f"note: {note}")
    if done.copied:
        some = ", ".join(done.copied[:_NAMED]) + (", ..." if len(done.copied) > _NAMED else "")
        count = counted(len(done.copied), "dataset")
        say(f"not checked: {count} not compressed with h5stz, copied as stored: {some}")
    if not done.whole and not done.damaged:
        say("nothing was checked: no dataset is compressed with h5stz")
    elif done.sound:
        everything = not done.copied and not done.unchecked
        say("nothing is damaged" if everything else "nothing that was checked is damaged")


def _sorted(damaged: Sequence[Damage]) -> tuple[list[Damage], list[Damage]]:
    """The damage of a dataset, as (lost samples, values that differ from the content check)."""
    found = [damage for damage in damaged if damage.reason != salvaging.DIFFER]
    return found, [damage for damage in damaged if damage.reason == salvaging.DIFFER]


def _samples(found: Sequence[Damage]) -> str:
    return counted(sum(damage.lost for damage in found), "sample")


def _summary(done: salvaging.Salvaged) -> str:
    """The damage in one line."""
    each = [_sorted(damaged) for damaged in done.damaged.values()]
    losing, differing = [found for found, _ in each if found], sum(bool(different) for _, different in each)
    said = [f"{counted(done.missing_bytes, 'byte')} missing at the end"] if done.missing_bytes else []
    if losing:
        said.append(f"{_samples([one for found in losing for one in found])} of {counted(len(losing), 'dataset')} lost")
    if differing:
        said.append(f"values of {counted(differing, 'dataset')} differ from their content checks")
    if done.lost:
        said.append(f"{counted(len(done.lost), 'part')} of the file not readable")
    return ", ".join(said)


def _print_parts(found: Sequence[Damage], why: bool) -> None:
    for damage in found[:_SHOWN]:
        place = "" if damage.chunk is None else f"the chunk at {damage.chunk}: "
        say(f"  {place}{damage.what()}: {damage.box()}" + (f": {damage.reason}" if why else ""))
    if len(found) > _SHOWN:
        say(f"  and {len(found) - _SHOWN} more, which --json lists")

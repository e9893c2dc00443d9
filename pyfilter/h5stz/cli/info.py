"""`h5stz info FILE ...`: bound, ratio and chunks of datasets, as a tree of groups."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import click
import h5py

from h5stz import _core, cli, patterns
from h5stz.cli.datasets import split
from h5stz.cli.explained import Failures, damage_of_file, explained
from h5stz.cli.output import printable, say, sizes
from h5stz.cli.parameters import FILE
from h5stz.counts import counted
from h5stz.errors import StzError, in_one_line
from h5stz.files.classic_netcdf import opened_source
from h5stz.files.dataset_facts import ChunkFacts, Compression, DatasetFacts, described_filters, facts_of
from h5stz.hdf5 import objects
from h5stz.hdf5.named_datasets import dataset_named, link_of_pattern
from h5stz.options.stz import client_data
from h5stz.sources.remote_files import is_address, local_path, refuse_to_go_on, remote_of, shown_name

if TYPE_CHECKING:
    from rich.tree import Tree

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_SHOWN = 3  # datasets that an error names; damaged chunks that are told of a dataset
_HEADERS = 1 << 14  # chunks of a file whose headers are read: about a second
_REMOTE_HEADERS = 1 << 8  # likewise of a remote file, where each is a request
_FEWEST = 16  # of each dataset, however many there are
_ELSEWHERE = ("append_axis", "integers")  # options that other lines tell of
_UNKNOWN = "unknown, as earlier losses were not measured"
_WIDTH = 1 << 16  # in characters, for rich: it must not cut lines, which a terminal breaks and a program searches


@dataclass
class _File:
    """What was found in a file: its size in bytes, the number of datasets, and the shown datasets."""

    name: str
    size: int = 0
    count: int = 0
    shown: list[DatasetFacts] = field(default_factory=list)


@click.command(short_help="Print bounds, ratios and chunks, as a tree.")
@click.argument("files", metavar="FILE... [DATASET]", nargs=-1, required=True, type=FILE)
@click.option("--dataset", "globs", multiple=True, metavar="GLOB", help="Only datasets whose path matches; may be repeated.")
@click.option("--all", "everything", is_flag=True, help="Also datasets that h5stz did not compress.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def info(files: tuple[str, ...], globs: tuple[str, ...], everything: bool, as_json: bool) -> int:
    """Print bound, options, ratio, levels and chunks of the datasets in files, as a tree.

    A DATASET after FILE shows only this dataset; FILE::/PATH does the same. The exit status is 1 if a file cannot be read, or
    if one of the inspected chunks is damaged.
    """
    failed, found = False, []
    for name, only in _names(files):
        made = _File(shown_name(name))
        found.append(made)
        try:
            with explained(made.name, "damaged"):
                failed = _look_into(name, made, only, globs, everything) or failed
        except (StzError, OSError, KeyError) as error:
            text = in_one_line(error)
            cli.complain(text if isinstance(error, KeyError) or made.name in text else f"{made.name}: {text}")
            failed = True
            if not made.shown:
                found.pop()
    if as_json:
        print(json.dumps({"files": [_as_json(made) for made in found]}))
    else:
        for made in found:
            _print(made)
    return int(failed)


def _names(words: Sequence[str]) -> list[tuple[str, str | None]]:
    """The files, each with its dataset: given as FILE::/path, or as a second word that is not a file."""
    named = [_file_and_dataset(word) for word in words]
    if len(words) != 2 or named[1][1] is not None or "://" in words[1]:
        return named
    if not is_address(words[1]) and not os.path.exists(words[1]):
        return [(words[0], words[1])]
    with contextlib.suppress(OSError), opened_source(words[0], values=False) as file:  # an error is said when its turn comes
        if words[1] and objects.is_there(file, words[1]):
            return [(words[0], words[1])]
    return named


def _file_and_dataset(word: str) -> tuple[str, str | None]:
    name, path = split(word)
    return (name, path) if path.startswith("/") or (path and os.path.isfile(name)) else (word, None)


def _look_into(name: str, made: _File, only: str | None, globs: Sequence[str], everything: bool) -> bool:
    """Fills `made`. Returns True if a part of the file could not be read; it was reported."""
    with opened_source(name, values=everything or only is not None) as file:
        remote = remote_of(file)
        made.size = os.path.getsize(local_path(name) or name) if remote is None else remote.h5stz_bytes.size
        failures = Failures(file, made.name)
        datasets = objects.datasets(file, failures.note) if only is None else [dataset_named(file, only, made.name)]
        made.count = len(datasets)
        paths = [objects.name_of(dataset) for dataset in datasets]
        chosen = {path for glob in globs for path in patterns.chosen_paths(glob, paths)}
        wanted = []
        for dataset, path in zip(datasets, paths, strict=True):
            with failures.going_on(path):
                if (only is not None or everything or client_data(dataset) is not None) and (not globs or path in chosen):
                    wanted.append((path, dataset))
        if globs and not wanted and not failures.lines:
            others = [each for each, path in zip(datasets, paths, strict=True) if path in chosen]
            raise StzError(_why_none(file, made.name, globs, others), _ARGUMENT)
        for path, dataset in wanted:
            most = _HEADERS if remote is None else _REMOTE_HEADERS
            with failures.going_on(path):
                facts = facts_of(dataset, max(most // len(wanted), _FEWEST))
                if _damaged_chunks(facts):
                    refuse_to_go_on(file)
                made.shown.append(facts)
        damaged = damage_of_file(made.name, [_damaged_chunks(each) for each in made.shown])
        if damaged:
            cli.complain(damaged)
        return bool(failures.lines or damaged)


def _damaged_chunks(dataset: DatasetFacts) -> int:
    return len(dataset.compression.first_chunks.damaged_chunks) if dataset.compression else 0


def _why_none(file: h5py.File, name: str, globs: Sequence[str], others: Sequence[h5py.Dataset]) -> str:
    """The reason why patterns match nothing. `others`: matching datasets that h5stz did not compress."""
    wanted = f"a path like {' or '.join(globs)}"
    if others:
        some = "; ".join(f"{objects.name_of(each)} has {described_filters(each)}" for each in others[:_SHOWN])
        more = f"; and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        which = "it is" if len(others) == 1 else "they are"
        return f"{name}: no compressed dataset has {wanted}: {which} not compressed with h5stz ({some}{more}); --all shows them"
    why = link_of_pattern(file, globs[0]) if len(globs) == 1 else ""
    return f"{name}: no dataset has {wanted}: h5stz info --all {name} lists the datasets{why}"


def _as_json(made: _File) -> dict[str, Any]:
    datasets: list[dict[str, Any]] = [asdict(each) | {"ratio": each.ratio} for each in made.shown]
    for each in datasets:
        fill = each["compression"] and each["compression"]["fill_value"]
        if isinstance(fill, float) and not math.isfinite(fill):
            each["compression"]["fill_value"] = repr(fill)  # JSON has no such number
        chunks = each["compression"] and each["compression"]["first_chunks"]
        if chunks and chunks["accumulated_bound"] == math.inf:
            chunks["accumulated_bound"] = "unknown"
    return {"file": made.name, "size": made.size, "dataset_count": made.count, "datasets": datasets}


def _print(made: _File) -> None:
    if not made.shown:
        say(f"{made.name}: {counted(made.count, 'dataset')}, none compressed with h5stz")
        return
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False, soft_wrap=True, width=_WIDTH)
    console.print(_tree(made))


def _tree(made: _File) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    root = Tree(Text(_headline(made)))
    groups: dict[str, Tree] = {"": root}
    for each in made.shown:
        *above, _ = each.path.split("/")
        for depth in range(1, len(above)):
            path = "/".join(above[: depth + 1])
            if path not in groups:
                groups[path] = groups["/".join(above[:depth])].add(Text(printable(path), "bold"))
        label = Text(f"{printable(each.path)}: {each.dtype} {_times(each.shape)}", "bold")
        for line in _lines(each):
            label.append(f"\n  {line}", "not bold")
        groups["/".join(above)].add(label)
    return root


def _headline(made: _File) -> str:
    compressed = [each for each in made.shown if each.compression and each.stored_bytes]
    text = f"{printable(made.name)}: {counted(made.size, 'byte')}, {counted(made.count, 'dataset')}"
    sums = [sum(numbers) for numbers in zip(*map(_bytes, compressed), strict=True)]
    return f"{text}, shown: {sizes(*sums)}" if sums else text


def _bytes(dataset: DatasetFacts) -> tuple[int, int, int]:
    return dataset.array_bytes, dataset.written_bytes, dataset.stored_bytes


def _times(extents: Sequence[int] | None) -> str:
    return "x".join(map(str, extents or ()))


def _lines(dataset: DatasetFacts) -> Iterator[str]:
    """The lines below the name of a dataset."""
    size = f"size: {sizes(*_bytes(dataset))}"
    if dataset.compression is None:
        yield "not compressed with h5stz"
        yield size
        return
    made = dataset.compression
    yield f"bound: {made.bound_text}"
    if made.append_axis is not None:
        yield f"grows along axis {made.append_axis}"
    if made.fill_value is not None:
        yield f"fill value: {made.fill_value!r}"
    if options := ", ".join(f"{name}={_of_option(value)}" for name, value in made.options.items() if name not in _ELSEWHERE):
        yield f"options: {options}"
    yield f"chunks: {_times(dataset.chunks)}, {dataset.chunks_stored} stored"
    yield size
    if made.trained_sets is not None:
        of_sets = f"{counted(made.trained_sets, 'set')}, trained with data"
        yield f"predictions: {of_sets if made.trained_sets else 'none, every chunk is fitted'}"
    if made.small_chunks:
        yield "WARNING: chunks of less than 4 KiB hardly get smaller: h5stz.suggest_chunks proposes larger ones"
    yield f"content checks: {made.content_checks}"
    yield from _lines_of_chunks(made, dataset.chunks_stored)


def _of_option(value: Any) -> str:
    """The value of an option as STZ takes it in Python."""
    return repr(value) if isinstance(value, str) else str(value)


def _lines_of_chunks(made: Compression, stored: int) -> Iterator[str]:
    """Lines about the first chunks: levels, lossless storage, rewritten or incomplete chunks."""
    facts: ChunkFacts = made.first_chunks
    damaged = facts.damaged_chunks
    yield from (f"damaged: {each}" for each in damaged[:_SHOWN])
    if len(damaged) > _SHOWN:
        yield f"damaged: {counted(len(damaged) - _SHOWN, 'more chunk')}"
    of = f" of the first {facts.looked_at}" if facts.looked_at < stored else ""
    if facts.looked_at > len(damaged):
        yield f"levels: {facts.levels}"
    if facts.forms:
        forms = [f"{each.form} in {counted(each.chunks, 'chunk')}" for each in facts.forms]
        yield f"stored as: {'; '.join(forms)}{of}"
    if facts.preview:
        found = facts.preview
        share = f"{found.bytes / found.stream_bytes:.0%} of the bytes"
        yield f"preview: errors up to {found.max_error:.2g} from {share}: {counted(found.chunks, 'chunk')}{of}"
    if facts.layers:
        everything = facts.layers[-1].bytes
        texts = [f"{layer.max_error:.2g} from {layer.bytes / everything:.0%}" for layer in facts.layers[:-1]]
        yield f"precision layers: {len(facts.layers)}, errors up to {', '.join(texts)} of the bytes{of}"
    if facts.relaxed_bound is not None:
        yield f"enhanced: errors up to {facts.relaxed_bound:.6g}{of}"
    if facts.patched:
        yield f"rewritten in part: {counted(facts.patched, 'chunk')}{of}, {counted(facts.patches, 'patch', 'patches')}"
    if facts.exact:
        yield f"stored losslessly, as the bound was used before: {counted(facts.exact, 'chunk')}{of}"
    if facts.growing:
        chunks = f"{counted(facts.growing, 'chunk')}{of}"
        yield f"stored losslessly, as the last plane along the append axis has a single value: {chunks}"
    if facts.few_values:
        yield f"stored losslessly, as this is shorter for few distinct values: {counted(facts.few_values, 'chunk')}{of}"
    if facts.accumulated:
        is_known = facts.accumulated_bound is not None and math.isfinite(facts.accumulated_bound)
        bound = f"{facts.accumulated_bound!r}, with those of earlier compressions" if is_known else _UNKNOWN
        yield f"accumulated bound: {bound}: {counted(facts.accumulated, 'chunk')}{of}"

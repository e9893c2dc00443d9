"""`h5stz estimate FILE`: estimates of ratio, PSNR and time for several bounds."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, cast

import click
import h5py
import numpy as np

from h5stz import _core, elements, slabs
from h5stz.cli import datasets
from h5stz.cli.explained import Failures, explained
from h5stz.cli.output import NOTHING_STORED, printable, say
from h5stz.cli.parameters import BOUNDS, FILE, bound_options, bounds_given, coding_given, coding_options
from h5stz.counts import counted
from h5stz.errors import StzError
from h5stz.estimating import SAMPLE_BYTES, Estimate, estimate
from h5stz.files.classic_netcdf import opened_source
from h5stz.files.repack_plan import REASONS, Decision, Plan, Rule, check_options, without_bound
from h5stz.hdf5 import objects
from h5stz.hdf5.named_datasets import dataset_with_samples, hard_link_to
from h5stz.options.stz import STZ, Options
from h5stz.sources.remote_files import shown_name

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_GRID = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # relative bounds
_SHOWN = 3  # datasets of which an error says why they are not compressed
_EMPTY = "nothing stored"  # why a dataset is left out, beside the keys of REASONS
_TIMED_BYTES = 16 << 20  # of a dataset that are compressed to know how long that takes


@dataclass(frozen=True)
class _Line:
    """A dataset and its Estimate. `seconds`: time to compress it with one thread."""

    path: str
    asked: str
    estimate: Estimate
    seconds: float


@click.command("estimate")
@click.argument("file", metavar="FILE[::/PATH]", type=FILE)
@bound_options("each dataset")
@coding_options
@click.option(
    "--sample", type=int, default=SAMPLE_BYTES >> 20, metavar="MIB", help="Read about this much of each dataset. [default: 128]"
)
@click.option("--jobs", type=int, default=1, metavar="N", help="Threads. [default: 1]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def estimate_command(file: str, sample: int, jobs: int, as_json: bool, **given: Any) -> int:
    """Estimate ratio, PSNR and time of `compress`, without writing anything.

    Without a bound, relative bounds from 1e-1 to 1e-5 are tried. --ratio and --psnr also print the absolute bound that gives
    them. Of large datasets, chunks that are spread evenly are read.

    The exit status is 1 if a dataset cannot be estimated. The others still are.
    """
    name, path = datasets.split(file)
    if sample < 1:
        raise StzError(f"--sample {sample}: give a number of MiB, 1 or more", _ARGUMENT)
    bounds, shared = bounds_given(given), coding_given(given)
    asked = [bounds] if bounds else [{"relative": relative} for relative in _GRID]
    for one in asked:
        check_options(cast(Options, one | shared))
    with explained(name, "nothing was estimated"), opened_source(name) as source:
        failures = Failures(source, shown_name(name))
        chosen, left = _chosen(source, shown_name(name), path, failures)
        lines = []
        for dataset, decision in chosen:
            with failures.going_on(objects.name_of(dataset)):
                for line in _lines(dataset, decision, [one | shared for one in asked], sample << 20, jobs):
                    if isinstance(line, str):
                        left.append((objects.name_of(dataset), line))
                    else:
                        lines.append(line)
    if as_json:
        record = {"datasets": [_record(line) for line in lines], "skipped": [{"path": at, "reason": why} for at, why in left]}
        print(json.dumps(record | {"failed": [{"path": at, "error": why} for at, why in failures.lines.items()]}))
        return int(bool(failures.lines))
    if lines:
        _print(lines)
    for left_path, reason in left:
        say(f"{left_path}: not estimated, as {_why(reason)}")
    return int(bool(failures.lines))


def _why(reason: str) -> str:
    """The reason why a dataset is left out, as text."""
    return f"{NOTHING_STORED} of it" if reason == _EMPTY else f"compress copies it unchanged ({REASONS[reason]})"


def _chosen(
    source: h5py.File, name: str, path: str, failures: Failures
) -> tuple[list[tuple[h5py.Dataset, Decision]], list[tuple[str, str]]]:
    """The datasets that compress would compress, or the named one; and the paths of the others with the reasons."""
    named = dataset_with_samples(source, path, name) if path else None
    rule = "*" if named is None else hard_link_to(source, named)
    # The plan is made without a look at values.
    plan = Plan(source, [Rule(rule, {"lossless": True})], lost=failures.note if named is None else lambda *_: None)
    chosen, left = [], []
    for dataset in objects.datasets(source, lambda *_: None) if named is None else [named]:
        with failures.going_on(objects.name_of(dataset)):
            decision = plan.decide(dataset)
            if decision.reason is None and not objects.is_stored(dataset):
                left.append((objects.name_of(dataset), _EMPTY))
            elif decision.reason is None:
                chosen.append((dataset, decision))
            else:
                left.append((objects.name_of(dataset), decision.reason))
    if not chosen and not failures.lines:
        shown = [f"{each}: {_why(reason) if reason == _EMPTY else REASONS[reason]}" for each, reason in left[:_SHOWN]]
        why = "; ".join(shown) + (f"; and {len(left) - _SHOWN} more" if len(left) > _SHOWN else "")
        raise StzError(f"there is nothing to estimate in {name}: {why or 'it has no datasets'}", _ARGUMENT)
    return chosen, left


def _lines(
    dataset: h5py.Dataset, decision: Decision, asked: list[dict[str, Any]], sample_bytes: int, jobs: int
) -> Iterator[_Line | str]:
    """A line for each bound. If compress would copy the dataset: the reason, a key of REASONS."""
    assert decision.options is not None
    fill = decision.options.fill_value
    for bound in asked:
        options = {**bound, "chunks": decision.chunks, **({} if fill is None else {"fill_value": fill})}
        try:
            found = estimate(dataset, sample_bytes=sample_bytes, jobs=jobs, **options)
        except StzError as error:
            if (reason := without_bound(error, options)) is None:
                raise
            yield reason
            return
        kind = ", ".join(f"{name}={value}" for name, value in bound.items() if name in BOUNDS)
        yield _Line(objects.name_of(dataset), kind, found, _seconds(dataset, found))


def _seconds(dataset: h5py.Dataset, found: Estimate) -> float:
    """Time to compress a dataset, extrapolated from one of its chunks or a part of it."""
    box = slabs.boxes(dataset.shape, found.chunks)[found.chunk_count // 2]
    rows = max(1, _TIMED_BYTES // max(1, math.prod(found.chunks[1:]) * dataset.dtype.itemsize))
    box = (slice(box[0].start, min(box[0].stop, box[0].start + rows)), *box[1:])
    settings = STZ(found.options, dtype=dataset.dtype).resolved.settings
    piece = np.ascontiguousarray(elements.stored(slabs.piece(dataset, box), settings.fill))
    start = time.perf_counter()
    settings.encode(piece)
    return (time.perf_counter() - start) * found.array_bytes / max(1, piece.nbytes)


def _record(line: _Line) -> dict[str, Any]:
    fields = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(line.estimate).items()
    }
    return {"path": line.path, "asked": line.asked, **fields, "ratio": line.estimate.ratio, "seconds": line.seconds}


def _print(lines: list[_Line]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("dataset", "asked for", "bound", "ratio", "PSNR", "bytes", "+-", "time", box=None, pad_edge=False)
    before = ""
    for line in lines:
        found = line.estimate
        bound = f"{found.bound:.4g}" if found.bound else "lossless"
        psnr = "exact" if found.psnr == math.inf else "unknown" if math.isnan(found.psnr) else f"{found.psnr:.1f} dB"
        sure = "exact" if found.exact else f"{100 * found.spread / max(found.bytes, 1):.1f} %"
        path = "" if line.path == before else printable(line.path)
        table.add_row(
            Text(path), line.asked, bound, f"{found.ratio:.1f}", psnr, f"{found.bytes}", sure, f"{line.seconds:.2g} s"
        )
        before = line.path
    Console(soft_wrap=True).print(table)
    for line in lines:
        if count := line.estimate.sign_changes:
            say(f"up to {counted(count, 'sample')} of {line.path} near 0 may change the sign ({line.asked})")
        if count := line.estimate.zero_changes:
            what = f"up to {counted(count, 'sample')} of {line.path} that are 0 may become other numbers"
            say(f"{what} ({line.asked}); --keep-zeros prevents it")

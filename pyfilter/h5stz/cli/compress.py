"""`h5stz compress IN OUT`, also called `repack`: compresses a whole file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast

import click

from h5stz import _core
from h5stz.cli.explained import NOTHING_WRITTEN, Failures, explained
from h5stz.cli.output import say, sizes
from h5stz.cli.parameters import (
    BOUNDS,
    ERROR,
    FILE,
    NEW_FILE,
    SHARES,
    bound_options,
    bounds_given,
    chunk_shape,
    coding_given,
    coding_options,
    placed,
    share,
)
from h5stz.cli.progress import progress_bar
from h5stz.counts import counted
from h5stz.errors import StzError
from h5stz.files import repack_plan, repack_preview, repacking
from h5stz.files.classic_netcdf import opened_source
from h5stz.options.precision import checked_precision
from h5stz.options.stz import Options
from h5stz.sources.remote_files import shown_name

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_RULE_FORM = "absolute:B, relative:R, psnr:DB, ratio:X, pointwise_relative:R, lossless or none"


@click.command(short_help="Compress a file into a new one.")
@click.argument("source", metavar="IN", type=FILE)
@click.argument("target", metavar="OUT", required=False, type=NEW_FILE)
@bound_options("each dataset")
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="GLOB=BOUND",
    help=f"Bound for datasets whose path matches: {_RULE_FORM}. The first match applies.",
)
@coding_options
@click.option(
    "--max-error",
    type=ERROR,
    metavar="E",
    help="Remove the precision layers that this error does not need. Nothing is decoded.",
)
@click.option("--chunks", default="auto", metavar="auto|keep|N,N", help="auto: change small and huge chunks. [default: auto]")
@click.option("--jobs", type=int, default=1, metavar="N", help="Threads. [default: 1]")
@click.option(
    "--scheduler", metavar="ADDRESS", help="Compress with the workers of this dask.distributed scheduler; they must see IN."
)
@click.option("--again", is_flag=True, help="Compress datasets that are already lossy, too. Errors add up.")
@click.option("--overwrite", is_flag=True, help="Replace an existing OUT, which may be IN.")
@click.option("--dry-run", is_flag=True, help="Write nothing; print what would be compressed and how. OUT is optional.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compress(source: str, target: str | None, datasets: tuple[str, ...], dry_run: bool, as_json: bool, **given: Any) -> int:
    """Compress the datasets of an HDF5 or netCDF file into a new file.

    OUT contains everything in IN. Numeric datasets with two or more axes are compressed; coordinates and others are copied.
    The new file is compared with IN before it gets the name OUT.

    The bound applies to all datasets that no --dataset matches. Give at most one.
    """
    bounds = bounds_given(given, ", and --dataset GLOB=BOUND for datasets with another one")
    rules = _rules(datasets, bounds, coding_given(given), given["max_error"] is not None)
    rechunk = _rechunk(given.pop("chunks"))
    if dry_run:
        return _plan(source, rules, rechunk, given["again"], given["max_error"], as_json)
    if target is None:
        raise click.UsageError("Missing argument 'OUT'.", click.get_current_context())
    target = placed(target, source)
    with explained(source, NOTHING_WRITTEN, target), progress_bar() as bar:
        report = repacking.repack(source, target, rules, rechunk=rechunk, progress=bar.tell, **given)
    if as_json:
        print(json.dumps(asdict(report)))
    else:
        _print(report)
    return 0


def _plan(
    source: str, rules: list[repack_plan.Rule], rechunk: repack_plan.Rechunk, again: bool, max_error: Any, as_json: bool
) -> int:
    """Prints what would be done. Returns the exit status: 1 if compress would fail and write nothing."""
    error = checked_precision(max_error, None).max_error
    with explained(source, "h5py cannot read a part of it"), opened_source(source) as file:
        failures = Failures(file, shown_name(source))
        planned = repack_preview.planned_in(file, rules, rechunk, again, error, failures.note)
    if as_json:
        failed = [{"path": path, "error": line} for path, line in failures.lines.items()]
        print(json.dumps({"datasets": [asdict(each) for each in planned], "failed": failed}))
    else:
        _print_plan(planned, len(failures.lines))
    return int(bool(failures.lines))


def _rules(datasets: Sequence[str], bounds: dict[str, Any], shared: dict[str, Any], none_do: bool) -> list[repack_plan.Rule]:
    """The rules of --dataset, then the bound for all other datasets. `shared` are options for both.

    `none_do`: True permits no rule at all.
    """
    rules = [_rule(text, shared) for text in datasets]
    if bounds:
        rules.append(repack_plan.Rule("*", cast(Options, bounds | shared)))
    if not rules and not none_do:
        raise StzError("give a bound, such as --relative 1e-3, or --dataset GLOB=BOUND", _ARGUMENT)
    repack_plan.check_use(rules, shared)
    return rules


def _rule(text: str, shared: dict[str, Any]) -> repack_plan.Rule:
    """Parses a rule GLOB=KIND:NUMBER."""
    pattern, found, bound = text.rpartition("=")
    kind, _, number = bound.replace("pointwise-", "pointwise_").partition(":")
    if not found or not pattern or kind not in (*BOUNDS, "none"):
        raise StzError(f"--dataset {text!r}: give GLOB={_RULE_FORM}", _ARGUMENT)
    if kind in ("lossless", "none"):
        if number:
            raise StzError(f"--dataset {text!r}: {kind} has no number", _ARGUMENT)
        return repack_plan.Rule(pattern, None if kind == "none" else cast(Options, {"lossless": True, **shared}))
    try:
        made = {kind: share(number) if kind in SHARES else float(number), **shared}
    except ValueError:
        forms = f"{kind}:1e-3"
        if kind in SHARES:
            forms += f" or {kind}:0.1%"
        elif number.rstrip().endswith("%"):
            forms += f", or a share of the range, relative:{number}"
        raise StzError(f"--dataset {text!r}: {kind}:{number} is not a number: give one, such as {forms}", _ARGUMENT) from None
    return repack_plan.Rule(pattern, cast(Options, made))


def _rechunk(text: str) -> repack_plan.Rechunk:
    if text in ("auto", "keep"):
        return "auto" if text == "auto" else "never"
    try:
        return chunk_shape(text)
    except ValueError:
        raise StzError(f"--chunks {text}: give auto, keep or a shape such as 8,256,256", _ARGUMENT) from None


def _print(report: repacking.Report) -> None:
    for each in report.outcomes:
        if each.reason is None:
            size = sizes(each.array_bytes, each.written_bytes, each.after)
            say(f"{each.path}: {size}, {_how(each)}, largest error {each.largest_error:g}")
        else:
            say(f"{each.path}: copied unchanged ({repack_plan.REASONS[each.reason]})")
    for note in report.notes:
        say(f"note: {note}")
    say(f"file: {report.before} -> {counted(report.after, 'byte')}, ratio {report.ratio:.2f}, compared with the source")


def _print_plan(planned: Sequence[repack_preview.Planned], failed: int) -> None:
    """Prints the plan. `failed`: number of datasets, or parts of the file, for which compress would fail."""
    for each in planned:
        if each.reason is not None:
            say(f"{each.path}: would be copied unchanged ({repack_plan.REASONS[each.reason]})")
            continue
        chunks = f"chunks {_times(each.new_chunks or each.chunks)}"
        if each.new_chunks:
            chunks += f" instead of {_times(each.chunks)}" if each.chunks else " (contiguous now)"
        say(f"{each.path}: would be compressed: {_how(each)}, {chunks}, {each.array_bytes} bytes, {each.before} stored")
    chosen = [each for each in planned if each.reason is None]
    stored = sum(each.before for each in chosen)
    say(f"{len(chosen)} of {counted(len(planned), 'dataset')} would be compressed: {counted(stored, 'stored byte')}")
    if failed:
        say(f"compress would write nothing, because of {counted(failed, 'error')}")


def _how(each: repacking.Outcome | repack_preview.Planned) -> str:
    """The options as text, and why they differ from the requested ones."""
    return f"{each.options} ({repack_plan.NOTES[each.note]})" if each.note else each.options


def _times(extents: Sequence[int] | None) -> str:
    return "x".join(map(str, extents or ()))

"""`h5stz compress IN OUT`, also called `repack`, and `h5stz decompress IN OUT`: arguments, and what is printed."""

from __future__ import annotations

import argparse
import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, cast

from h5stz import _core, repack_plan, repacking, unpacking, verify_files
from h5stz.errors import StzError
from h5stz.options import Options

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_BOUNDS = ("absolute", "relative", "psnr", "pointwise_relative", "lossless")
_SHARED = ("block", "effort")


def add_parsers(commands: Any) -> None:
    """Adds the commands to the parser's."""
    _add_decompress(commands)
    parser = commands.add_parser(
        "compress",
        aliases=["repack"],
        help="compress the datasets of an HDF5 or netCDF file into a new file",
        description="Writes OUT with everything that IN holds. Datasets of numbers with two axes and more are compressed, "
        "coordinates and others are not. What was written is compared with IN before OUT gets its name.",
    )
    parser.set_defaults(command=_compress)
    parser.add_argument("source", metavar="IN")
    parser.add_argument("target", metavar="OUT")
    bound = parser.add_argument_group("bound of all datasets that no --dataset names (at most one)")
    bound.add_argument("--absolute", type=float, metavar="B", help="|x - x'| <= B")
    bound.add_argument("--relative", type=float, metavar="R", help="R times the range of each dataset")
    bound.add_argument("--psnr", type=float, metavar="DB", help="this PSNR for each dataset")
    bound.add_argument("--pointwise-relative", type=float, metavar="R", help="|x - x'| <= R |x|")
    bound.add_argument("--lossless", action="store_true", default=None, help="every bit comes back")
    parser.add_argument(
        "--dataset",
        action="append",
        default=[],
        metavar="GLOB=BOUND",
        help="for datasets whose path matches: absolute:B, relative:R, psnr:DB, pointwise_relative:R, lossless or none; the "
        "first that matches counts",
    )
    parser.add_argument("--block", choices=list(_core.BLOCKS), help="shape of blocks")
    parser.add_argument("--effort", type=int, metavar="N", help="1 (fastest) to 9 (smallest); 5 is the default")
    parser.add_argument("--chunks", default="auto", metavar="auto|keep|N,N", help="auto changes small and huge ones")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="threads")
    parser.add_argument("--again", action="store_true", help="also what was compressed with loss before: errors add up")
    parser.add_argument("--overwrite", action="store_true", help="OUT may exist, and may be IN")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_decompress(commands: Any) -> None:
    parser = commands.add_parser(
        "decompress",
        help="write the datasets of a file without the filter, for readers that do not have it",
        description="Writes OUT with everything that IN holds; datasets that h5stz compressed are stored without it.",
    )
    parser.set_defaults(command=_decompress)
    parser.add_argument("source", metavar="IN")
    parser.add_argument("target", metavar="OUT")
    parser.add_argument("--dataset", default="*", metavar="GLOB", help="of these datasets only, by their paths")
    parser.add_argument("--deflate", type=int, metavar="N", help="compress them with shuffle and deflate (gzip), level 0 to 9")
    parser.add_argument("--overwrite", action="store_true", help="OUT may exist, and may be IN")


@contextlib.contextmanager
def _explained(source: str) -> Iterator[None]:
    """What h5py raises for types that it does not know, and for damaged files, as an error of this command."""
    try:
        yield
    except (StzError, OSError):
        raise
    except verify_files.HDF5_ERRORS as error:
        what = verify_files.in_one_line(error)
        raise StzError(f"{source}: h5py cannot read or write a part of it, and nothing was written: {what}", _READ) from error


def _decompress(options: argparse.Namespace) -> None:
    with _explained(options.source):
        unpacked, notes = unpacking.unpack(
            options.source, options.target, dataset=options.dataset, deflate=options.deflate, overwrite=options.overwrite
        )
    for path in unpacked:
        print(f"{path}: stored without h5stz")
    for note in notes:
        print(f"note: {note}")
    if not unpacked:
        print("nothing was compressed with h5stz, or nothing that --dataset names")


def _compress(options: argparse.Namespace) -> None:
    shared = {name: value for name in _SHARED if (value := getattr(options, name)) is not None}
    bounds = {name: value for name in _BOUNDS if (value := getattr(options, name)) is not None}
    rules = [_rule(text, shared) for text in options.dataset]
    if bounds:
        rules.append(repack_plan.Rule("*", cast(Options, bounds | shared)))
    if not rules:
        raise StzError("give a bound, such as --relative 1e-3, or --dataset GLOB=BOUND", _ARGUMENT)
    rechunk = _rechunk(options.chunks)
    with _explained(options.source):
        report = repacking.repack(
            options.source,
            options.target,
            rules,
            rechunk=rechunk,
            jobs=options.jobs,
            again=options.again,
            overwrite=options.overwrite,
        )
    if options.json:
        print(json.dumps(asdict(report)))
    else:
        _print(report)


def _rule(text: str, shared: dict[str, Any]) -> repack_plan.Rule:
    """A rule from GLOB=KIND:NUMBER."""
    pattern, found, bound = text.rpartition("=")
    kind, _, number = bound.partition(":")
    if not found or not pattern or kind not in (*_BOUNDS, "none"):
        raise StzError(
            f"--dataset {text!r}: give GLOB=absolute:B, relative:R, psnr:DB, pointwise_relative:R, lossless or none", _ARGUMENT
        )
    if kind in ("lossless", "none"):
        if number:
            raise StzError(f"--dataset {text!r}: {kind} has no number", _ARGUMENT)
        return repack_plan.Rule(pattern, None if kind == "none" else cast(Options, {"lossless": True, **shared}))
    try:
        made = {kind: float(number), **shared}
    except ValueError:
        raise StzError(f"--dataset {text!r}: {kind}:{number} is no number", _ARGUMENT) from None
    return repack_plan.Rule(pattern, cast(Options, made))


def _rechunk(text: str) -> repack_plan.Rechunk:
    if text in ("auto", "keep"):
        return "auto" if text == "auto" else "never"
    try:
        return tuple(int(extent) for extent in text.split(","))
    except ValueError:
        raise StzError(f"--chunks {text}: give auto, keep or a shape such as 8,256,256", _ARGUMENT) from None


def _print(report: repacking.Report) -> None:
    for each in report.outcomes:
        if each.reason is None:
            ratio = each.array_bytes / max(each.after, 1)
            sizes = f"{each.array_bytes} -> {each.after} bytes, ratio {ratio:.2f}"
            print(f"{each.path}: {sizes}, {each.options}, largest error {each.largest_error:g}")
        else:
            print(f"{each.path}: as it was ({repack_plan.REASONS[each.reason]})")
    for note in report.notes:
        print(f"note: {note}")
    print(f"file: {report.before} -> {report.after} bytes, ratio {report.ratio:.2f}, compared with the source")

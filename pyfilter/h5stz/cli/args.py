"""`h5stz args`: prints lines with the filter's parameters for h5repack, nccopy and CDO."""

from __future__ import annotations

import json
from typing import Any, Literal, cast

import click
import numpy as np

from h5stz import _core, elements
from h5stz.cli.parameters import FILE, Parsed, bound_options, bounds_given, chunk_shape, coding_given, coding_options, flag
from h5stz.counts import counted
from h5stz.errors import StzError
from h5stz.files.classic_netcdf import opened_source
from h5stz.hdf5.named_datasets import dataset_with_samples
from h5stz.options import arguments
from h5stz.options.resolved import measured_in
from h5stz.options.stz import STZ, Options
from h5stz.sources.remote_files import shown_name

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]


def _fill_value(text: str) -> int | float | Literal[False]:
    """Parses a number, as int if possible because float64 does not hold every 64-bit integer. False for "none"."""
    if text == "none":
        return False
    try:
        return int(text)
    except ValueError:
        return float(text)


@click.command()
@bound_options("--data")
@click.option("--data", nargs=2, type=(FILE, str), metavar="FILE DATASET", help="The dataset that will be compressed.")
@click.option(
    "--fill-value",
    type=Parsed("number", _fill_value),
    metavar="X",
    help="The number that marks missing values; needs --data or --dtype. none: --data has no missing values.",
)
@click.option("--dtype", help="Type of the dataset, e.g. f4 or i2, if --data is not given.")
@coding_options
@click.option("--threads", type=int, help="Threads that write a chunk. H5STZ_THREADS overrides it.")
@click.option("--append-axis", type=int, metavar="N", help="The axis along which the dataset grows; 0 is the first.")
@click.option(
    "--integers",
    type=click.Choice(list(_core.CHOICES["integers"])),
    help="lossy: the bound applies to integers too. [default: lossless]",
)
@click.option("--variable", "variables", multiple=True, metavar="NAME", help="Compress this dataset only; may be repeated.")
@click.option(
    "--chunks",
    type=Parsed("shape", chunk_shape),
    metavar="N,N",
    help="Print the full parameters, for programs whose HDF5 functions the filter cannot find; needs --dtype or --data.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with a line for each program.")
@click.argument("text", metavar="[OPTIONS]", required=False)
def args(**given: Any) -> None:
    """Print arguments for h5repack, nccopy and CDO.

    Give exactly one bound, or all options as text in OPTIONS: absolute=1e-3,block=region,...
    """
    chunks, variables, as_json = given.pop("chunks"), given.pop("variables"), given.pop("as_json")
    full: tuple[int, ...] | None = None
    resolved = _resolved(given, chunks)
    if chunks:
        dtype = resolved.resolved.dtype
        if dtype is None:
            raise StzError("--chunks needs the type too: give --dtype or --data", _ARGUMENT)
        full = resolved.resolved.settings.full_cd_values(elements.storage_dtype(dtype), chunks)
    lines = arguments.lines(full or resolved.filter_options, variables)
    if not variables:
        lines["run"] = arguments.run_line(str(resolved))
    if as_json:
        shown: dict[str, Any] = {"options": str(resolved), **lines}
        print(json.dumps(shown | ({"cd_values": list(full)} if full else {})))
    else:
        _print(resolved, full, lines)


def _print(resolved: STZ, full: tuple[int, ...] | None, lines: dict[str, str]) -> None:
    print(f"# {resolved.resolved.described()}")
    if full:
        print("# the full form, for H5Pset_filter and for hosts whose HDF5 the filter cannot reach:")
        print(",".join(map(str, full)))
    for name, line in lines.items():
        if name not in ("cdo", "run"):
            print(line)
    print("# CDO 2.5 and newer; 2.1 to 2.3 write no filters, there use h5stz run --compress:")
    print(lines["cdo"])
    if "run" in lines:
        print(
            "# The lines above compress every floating-point variable, also coordinates. This one leaves 1-D variables alone:"
        )
        print(lines["run"])


def _resolved(given: dict[str, Any], chunks: tuple[int, ...] | None) -> STZ:
    """The STZ of the parameters of `h5stz args`."""
    text, dtype, data = given.pop("text"), _dtype(given.pop("dtype")), given.pop("data")
    bound, coding = bounds_given(given), coding_given(given)
    wanted = bound | coding | {name: value for name, value in given.items() if value is not None}
    if text is not None:
        beside = [*wanted, *["data"] * bool(data)]
        if beside:
            both = f"{flag(beside[0])} beside the text {text!r}"
            raise StzError(f"{both}: give the options either as text or as arguments such as --absolute", _ARGUMENT)
        if found := measured_in(text):
            kind, number = found
            raise StzError(f"{text!r}: {kind} refers to the data: give {flag(kind)} {number} --data FILE DATASET", _ARGUMENT)
        return STZ.from_string(text, dtype=dtype)
    if not data:
        return STZ(**cast(Options, wanted | {"dtype": dtype}))
    with opened_source(data[0]) as file:
        found = dataset_with_samples(file, data[1], shown_name(data[0]))
        if chunks is not None and len(chunks) != len(found.shape):
            shape = ",".join(map(str, chunks))
            raise StzError(
                f"--chunks {shape}: the dataset {data[1]} has {counted(len(found.shape), 'axis', 'axes')}", _ARGUMENT
            )
        return STZ(**cast(Options, wanted | {"data": found, "chunks": chunks}))


def _dtype(text: str | None) -> np.dtype[Any] | None:
    try:
        return None if text is None else elements.as_dtype(text)
    except TypeError as error:
        raise StzError(f"--dtype {text}: {error}", _core.ERROR_CODES["STZ_ERROR_DTYPE"]) from None

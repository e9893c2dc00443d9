"""The command line: `h5stz compress | decompress | info | verify | args | run | doctor | plugin-path | pkg-config-path`.

Also `python -m h5stz`. Results go to standard output, one fact per line; errors are one line on standard error and exit
status 1.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

import h5py
import numpy as np

from h5stz import (
    _core,
    arguments,
    cli_doctor,
    cli_repack,
    compress_rules,
    elements,
    registration,
    run,
    run_report,
    verify_files,
)
from h5stz.chunks import SMALL
from h5stz.dataset_reader import DatasetReader
from h5stz.errors import StzError
from h5stz.option_checks import thread_count
from h5stz.options import STZ, Options, client_data
from h5stz.readers import Stats

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_PIPE_CLOSED = 128 + 13  # the status of a program that SIGPIPE ended
_NUMBERS = ("absolute", "relative", "psnr", "pointwise_relative")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line `argv` (default: that of the process) and returns the exit status."""
    options = _parser().parse_args(argv)
    try:
        status: int | None = options.command(options)
        print(end="", flush=True)
        return status or 0
    except BrokenPipeError:
        # Whoever read the output has ended, as head does. What is still buffered must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except (StzError, OSError, KeyError) as error:
        print(f"h5stz: {error.args[0] if isinstance(error, KeyError) else error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="h5stz", description="Error-bounded compression of scientific arrays in HDF5.")
    parser.add_argument("--version", action="version", version=_core.VERSION)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("plugin-path", help="print the directory for HDF5_PLUGIN_PATH")
    command.set_defaults(command=_plugin_path)
    command.add_argument("--connector", action="store_true", help="also that of the VOL connector")

    command = commands.add_parser("pkg-config-path", help="print the directory for PKG_CONFIG_PATH (C, Fortran)")
    command.set_defaults(command=_pkg_config_path)

    command = commands.add_parser("args", help="print arguments for h5repack, nccopy and CDO")
    command.set_defaults(command=_args)
    bound = command.add_argument_group("bound (exactly one)")
    bound.add_argument("--absolute", type=float, metavar="B", help="|x - x'| <= B")
    bound.add_argument("--relative", type=float, metavar="R", help="R times the range of --data")
    bound.add_argument("--psnr", type=float, metavar="DB", help="this PSNR over --data")
    bound.add_argument("--pointwise-relative", type=float, metavar="R", help="|x - x'| <= R |x|")
    bound.add_argument("--lossless", action="store_true", help="every bit comes back")
    command.add_argument("--data", nargs=2, metavar=("FILE", "DATASET"), help="the dataset that will be compressed")
    command.add_argument(
        "--fill-value",
        type=_fill_value,
        metavar="X",
        help="marks missing samples, needs --data or --dtype; none: every number of --data is a sample",
    )
    command.add_argument("--dtype", help="of the dataset, e.g. f4 or i2, where --data is not given")
    command.add_argument("options", nargs="?", metavar="OPTIONS", help="all options as text: absolute=1e-3,block=region,...")
    command.add_argument("--block", default="default", choices=list(_core.BLOCKS))
    command.add_argument("--threads", type=int, help="for writing each chunk; H5STZ_THREADS overrides it")
    command.add_argument("--append-axis", type=int, metavar="N", help="the axis along which the dataset grows; 0 is the first")
    command.add_argument(
        "--integers", default="lossless", choices=list(_core.INTEGERS), help="lossy: the bound is for integers too"
    )
    command.add_argument(
        "--variable", action="append", default=[], metavar="NAME", help="compress this dataset only; may be repeated"
    )
    command.add_argument(
        "--chunks",
        type=_chunk_shape,
        metavar="N,N",
        help="print the full form, for hosts whose HDF5 the filter cannot reach; needs --dtype or --data",
    )

    cli_repack.add_parsers(commands)

    command = commands.add_parser("info", help="print bound, ratio and chunks of the datasets in a file")
    command.set_defaults(command=_info)
    command.add_argument("file", metavar="FILE")
    command.add_argument("dataset", metavar="DATASET", nargs="?", help="this one only")

    command = commands.add_parser(
        "verify",
        help="decode all chunks of files and compare them with their content checks",
        description="Decodes every chunk that h5stz wrote and compares the values with what the writer saw. Exit status 1 if "
        "one is damaged.",
    )
    command.set_defaults(command=_verify)
    command.add_argument("--threads", type=int, help="for decoding each chunk; default: H5STZ_THREADS, or 1")
    command.add_argument("files", metavar="FILE", nargs="+")

    command = commands.add_parser(
        "run",
        help="run a program with the filter and with region reads",
        description="Runs COMMAND so that it finds the filter, and so that what it reads of HDF5 files decodes needed blocks "
        "only. With --compress, datasets that it creates are chunked and compressed.",
    )
    command.set_defaults(command=_run)
    command.add_argument("--stats", action="store_true", help="say on standard error what was decoded and compressed")
    command.add_argument(
        "--compress",
        action="append",
        default=[],
        metavar="RULE",
        help="compress new datasets: PATTERN=absolute:B, =pointwise_relative:R or =lossless, then ,block=region or others; "
        "the first rule that matches a dataset's path counts",
    )
    command.add_argument("--chunks", choices=["auto"], default="auto", help="chunks of contiguous datasets: at most 16 MiB")
    command.add_argument("--cache", type=_mebibytes, metavar="MIB", help="chunk cache of each open dataset (256)")
    command.add_argument(
        "--through",
        choices=["auto", *run.ROUTES],
        default="auto",
        help="preload: a library in the place of HDF5's functions, for HDF5 from 1.10 on, the default on Linux; "
        "connector: a VOL connector, for HDF5 1.14 and newer",
    )
    command.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND ...")

    command = commands.add_parser("doctor", help="check that the filter works here and print versions")
    command.set_defaults(command=cli_doctor.run)
    return parser


def _fill_value(text: str) -> int | float | Literal[False]:
    """A number, an int where possible as float64 does not hold every 64-bit integer; False for "none"."""
    if text == "none":
        return False
    try:
        return int(text)
    except ValueError:
        return float(text)


def _mebibytes(text: str) -> int:
    """The size of a cache."""
    if not text.isdecimal() or not 1 <= int(text) <= 1 << 20:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of MiB from 1 to {1 << 20}")
    return int(text)


def _plugin_path(options: argparse.Namespace) -> None:
    print(registration.plugin_path(options.connector))


def _pkg_config_path(_: argparse.Namespace) -> None:
    print(Path(__file__).parent / "lib" / "pkgconfig")


def _chunk_shape(text: str) -> tuple[int, ...]:
    """Extents as 8,256,256 or 8x256x256."""
    extents = re.split("[,x]", text)
    if not all(extent.isdecimal() and int(extent) for extent in extents):
        raise argparse.ArgumentTypeError(f"{text!r} is no chunk shape such as 8,256,256")
    return tuple(map(int, extents))


def _args(options: argparse.Namespace) -> None:
    try:
        resolved = _resolved(options)
        words = resolved.filter_options
        if options.chunks:
            dtype = resolved.resolved.dtype
            if dtype is None:
                raise StzError("--chunks needs the type too: give --dtype or --data", _ARGUMENT)
            words = resolved.resolved.settings.full_cd_values(elements.storage_dtype(dtype), options.chunks)
    except StzError as error:
        raise type(error)(_as_arguments(str(error)), error.code) from None
    print(f"# {resolved.resolved.described()}")
    if options.chunks:
        print("# the full form, for H5Pset_filter and for hosts whose HDF5 the filter cannot reach:")
        print(",".join(map(str, words)))
    lines = arguments.lines(words, options.variable)
    cdo = lines.pop("cdo")
    for line in lines.values():
        print(line)
    print("# CDO 2.5 and newer; 2.1 to 2.3 write no filters, there use h5stz run --compress:")
    print(cdo)
    if not options.variable:
        print(
            "# The lines above compress every floating-point variable, also coordinates. This one leaves 1-D variables alone:"
        )
        print(arguments.run_line(str(resolved)))


def _resolved(options: argparse.Namespace) -> STZ:
    """The STZ of the arguments of `h5stz args`."""
    dtype = _dtype(options.dtype)
    if options.options is not None:
        given = [
            name for name in (*_NUMBERS, "lossless", "fill_value", "threads", "append_axis", "data") if getattr(options, name)
        ]
        if given or options.block != "default" or options.integers != "lossless":
            raise StzError("give the options either as text or as arguments", _ARGUMENT)
        return STZ.from_string(options.options, dtype=dtype)
    names = (*_NUMBERS, "lossless", "fill_value", "block", "threads", "append_axis", "integers")
    wanted = cast(Options, {name: getattr(options, name) for name in names})
    if options.data:
        with h5py.File(options.data[0]) as file:
            wanted["data"] = _dataset(file, options.data[1])
            return STZ(**wanted)
    wanted["dtype"] = dtype
    return STZ(**wanted)


def _as_arguments(message: str) -> str:
    """A message about options of STZ, with those of this command in their place."""
    for python, here in (
        ("lossless=True", "--lossless"),
        ("fill_value=False", "--fill-value none"),
        ("data=array", "--data FILE DATASET"),
    ):
        message = message.replace(python, here)
    name = "|".join((*_NUMBERS, "fill_value", "data", "dtype", "block", "threads", "append_axis", "integers"))
    return re.sub(
        rf"\b({name})=(?=(\S)?)",
        lambda match: "--" + match[1].replace("_", "-") + (" " if match[2] and match[2] not in ",:;)" else ""),
        message,
    )


def _dtype(text: str | None) -> np.dtype[Any] | None:
    try:
        return None if text is None else np.dtype(text)
    except TypeError as error:
        raise StzError(f"--dtype {text}: {error}", _core.ERROR_CODES["STZ_ERROR_DTYPE"]) from None


def _info(options: argparse.Namespace) -> None:
    try:
        _print_file(options)
    except (StzError, OSError, KeyError):
        raise
    except verify_files.HDF5_ERRORS as error:
        raise StzError(f"{options.file}: damaged: {verify_files.in_one_line(error)}", _READ) from error


def _print_file(options: argparse.Namespace) -> None:
    with h5py.File(options.file) as file:
        if options.dataset:
            _print_dataset(_dataset(file, options.dataset))
            return
        datasets: list[h5py.Dataset] = []
        file.visititems(lambda _, item: datasets.append(item) if isinstance(item, h5py.Dataset) else None)
        compressed = [item for item in datasets if client_data(item) is not None]
        for item in compressed:
            _print_dataset(item)
        if not compressed:
            print(f"{options.file}: {len(datasets)} datasets, none compressed with h5stz")


def _dataset(file: h5py.File, name: str) -> h5py.Dataset:
    item = file[name]
    if not isinstance(item, h5py.Dataset):
        raise KeyError(f"{name} is no dataset")
    return item


def _print_dataset(dataset: h5py.Dataset) -> None:
    words = client_data(dataset)
    print(f"{dataset.name}: {dataset.dtype} {'x'.join(map(str, dataset.shape))}")
    if words is None:
        print("  not compressed with h5stz")
        return
    meaning = _core.parse(words)
    mode = elements.name_of(_core.MODES, meaning["mode"])
    stored = dataset.id.get_storage_size()
    print(f"  bound: {_bound_text(mode, meaning['bound'], dataset.dtype, meaning['integers'])}")
    if meaning["append_axis"]:
        print(f"  grows along axis {meaning['append_axis'] - 1}")
    if meaning["fill"] is not None:
        print(f"  fill value: {elements.fill_number(meaning['fill'], dataset.dtype)!r}")
    print(f"  chunks: {'x'.join(map(str, dataset.chunks or ()))}, {dataset.id.get_num_chunks()} stored")
    print(f"  size: {dataset.nbytes} -> {stored} bytes" + (f", ratio {dataset.nbytes / stored:.2f}" if stored else ""))
    if math.prod(dataset.chunks or ()) * dataset.dtype.itemsize < SMALL < dataset.nbytes:
        print("  WARNING: chunks of less than 4 KiB hardly get smaller: h5stz.suggest_chunks proposes larger ones")
    print(f"  content checks: {verify_files.described(dataset)}")
    _print_rewrites(dataset, grows=bool(meaning["append_axis"]) and mode != "lossless")


_PALETTE = "blocks of ranks in a palette"  # as streams say of their form


def _bound_text(mode: str, bound: float, dtype: np.dtype[Any], integers: int) -> str:
    """What holds for the chunks of a dataset. Client data of earlier versions may have a bound for integers, exact now."""
    if dtype.kind not in "iub":
        return mode if mode == "lossless" else f"{mode} {bound!r}"
    if mode == "lossless":
        return "lossless, as integers are unless their bound is asked for by name"
    if integers:
        return f"{mode} {bound!r}, for integers by name"
    return f"lossless for chunks that are written from now on; earlier ones may have {mode} {bound!r}"


def _print_rewrites(dataset: h5py.Dataset, *, grows: bool) -> None:
    """What the chunks say of being exact, or of having been written more than once or not completely, if they do."""
    try:
        headers = DatasetReader(dataset, 0, Stats()).headers()
    except StzError as error:
        print(f"  damaged: {error}")
        return
    of = f" of the first {len(headers)}" if len(headers) < dataset.id.get_num_chunks() else ""
    patches = [header["patches"] for header in headers if header["patches"]]
    if patches:
        print(f"  written again in part: {len(patches)} chunks{of}, {sum(patches)} patches")
    lossless = [header for header in headers if header["mode"] == _core.MODES["lossless"]]
    if exact := sum(header["bound_used"] for header in lossless):
        print(f"  stored exactly, as the bound was used before: {exact} chunks{of}")
    if grows and (growing := len(lossless) - exact):
        print(f"  stored exactly, as the last plane along the axis of growth holds one value only: {growing} chunks{of}")
    if few := sum(header["form"] == _PALETTE and header["mode"] != _core.MODES["lossless"] for header in headers):
        print(f"  stored exactly, as that is shorter where different values are few: {few} chunks{of}")
    accumulated = [header["accumulated_bound"] for header in headers if header["accumulated_bound"]]
    if accumulated:
        print(f"  accumulated bound: {max(accumulated)!r}, with those of earlier compressions: {len(accumulated)} chunks{of}")


def _verify(options: argparse.Namespace) -> int:
    threads, failed = thread_count(options.threads), False
    for name in options.files:
        for line in verify_files.lines(name, threads):
            print(f"h5stz: {line.text}" if line.unreadable else line.text, file=sys.stderr if line.unreadable else sys.stdout)
            failed = failed or not line.sound
    return int(failed)


def _run(options: argparse.Namespace) -> int:
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    rules = [compress_rules.parse(text) for text in options.compress]
    status, sums = run.run(words, options.stats, rules, options.cache, options.through)
    for line in run_report.lines(sums or {}, options.stats, rules):
        print(f"h5stz: {line}", file=sys.stderr)
    return status

"""Cases of modes and options against operations: what a stream or a file says of itself is compared with what is measured."""

import os
import tempfile
import warnings
import zlib
from pathlib import Path

import h5py
import numpy as np

import h5stz
from exhaustive import arrays, memory, modes_in_files, promises, stated
from exhaustive.source import Violation
from support import cases


def draw(source):
    """(array, fill value or None, options) with every option as likely as not."""
    dtype = source.pick([np.dtype(name) for name in ("f4", "f8", "f2", "i4", "f4", "f8")])
    shape = arrays.draw_shape(source, source.between(1, 3), 4000, 0.0)
    array = arrays.draw_array(source, dtype, shape, pattern=source.pick(["smooth", "walk", "smooth and noise", "noise"])).array
    array = np.nan_to_num(np.ascontiguousarray(array), nan=0, posinf=1, neginf=-1)
    fill = None
    if source.chance(0.3):
        fill = 30000
        array[source.numbers.random(array.shape) < 0.2] = fill
    bound = min(max(cases.width(array[array != fill] if fill else array) * 10 ** -source.real(1, 6), 1e-30), 1e30)
    mode = source.pick(["absolute", "absolute", "relative", "psnr", "pointwise_relative", "lossless"])
    if dtype.kind == "i" and mode == "pointwise_relative":
        mode = "absolute"
    value = {"relative": 1e-3, "psnr": source.real(30, 90), "pointwise_relative": 10 ** -source.real(1, 5), "lossless": True}
    return array, fill, {mode: value.get(mode, bound), **draw_options(source, dtype, mode, fill)}


def draw_options(source, dtype, mode, fill):
    """The options beside the bound."""
    options = {"fill_value": False if fill is None else fill}
    if dtype.kind == "i" and source.chance(0.8):
        options["integers"] = "lossy"
    if source.chance(0.4):
        options["layers"] = source.between(2, 4)
    elif source.chance(0.3) and mode in ("absolute", "relative", "psnr"):
        options["enhance"] = source.pick(["strict", "relaxed", "both"])
    if source.chance(0.4):
        options["content_check"] = source.chance(0.7)
    for name, values in (("check", [True]), ("effort", [1, 3, 6, 9]), ("block", ["region", "throughput"]), ("threads", [2])):
        if source.chance(0.3):
            options[name] = source.pick(values)
    return options


def rewritten(tally, source, written, stream, options):
    """A rewrite in part under other options, and one that changes nothing."""
    array, written = h5stz.decompress(stream), written.copy()
    part = source.numbers.random(array.shape) < 0.1
    part[tuple(slice(0, source.between(1, n)) for n in part.shape)] = True
    part &= written != options.get("fill_value", np.nan)
    change = (1 + np.abs(written[part].astype("f8")) * source.real(-1, 1)).astype(array.dtype)
    array[part] = written[part] = change
    others = {
        name: value
        for name, value in options.items()
        if name not in ("absolute", "relative", "psnr", "pointwise_relative", "lossless")
    }
    floating = array.dtype.kind == "f"
    bound = (
        {"pointwise_relative": 1e-3}
        if floating and "enhance" not in others and source.chance(0.3)
        else {"absolute": min(max(1e-3, h5stz.info(stream).bound * source.pick([0.01, 1, 10])), 1e300)}
    )
    others |= bound
    if source.chance(0.5):
        others["content_check"] = True
    new = h5stz.rewrite(array, stream, **others)
    decoded = stated.judge(tally, written, new, others, "rewritten", [array])
    again = h5stz.rewrite(decoded, new, **{**others, "content_check": True})
    stated.judge(tally, written, again, {**others, "content_check": True}, "rewritten without a change", [decoded])
    return new


def in_a_file(tally, source, array, options):
    """A dataset in chunks of any shape, read by a view: its PSNR and its layers."""
    chunks = tuple(source.between(1, n) for n in array.shape)
    if np.prod([-(-n // c) for n, c in zip(array.shape, chunks, strict=True)]) > 200:
        chunks = array.shape
    given = {"chunks": chunks} if source.chance(0.5) else {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with h5py.File(os.path.join(folder, "a.h5"), "w") as file:
            made = h5stz.STZ(data=array, **given, **options)
            file.create_dataset("a", data=array, chunks=chunks, **made)
        with h5py.File(os.path.join(folder, "a.h5")) as file:
            decoded, view = file["a"][...], h5stz.view(file["a"])
            tally.same_bits(decoded, view[...], "view")
            for count, error in enumerate(view.layer_errors(), 1):
                tally.within(array, view.read(..., layers=count), error, f"view, {count} layers", measured=True)
                view.at_error(error)[...]
    if "psnr" in options and made.bound:
        width, keep = promises.valid_range(array, made.fill_value)
        reached = promises._wide_psnr(array, decoded, width, keep)
        if reached < options["psnr"] - 1e-6:
            raise Violation(f"psnr: {reached} dB in chunks {chunks}, given {given}")


def estimated(array, options, stream):
    """An exact estimate is what compressing comes to."""
    found = h5stz.estimate(array, **options)
    if found.exact and not options.keys() & {"psnr"} and found.bytes != len(stream):
        raise Violation(f"an exact estimate of {found.bytes} bytes, and {len(stream)} were written")


def in_an_operation(tally, source, case):
    """One of the operations of modes_in_files.py."""
    name = source.pick(sorted(modes_in_files.OPERATIONS))
    run.described += f", {name}"
    tally.seen[f"operation {name}"] += 1
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modes_in_files.OPERATIONS[name](modes_in_files.Case(source, tally, *case, Path(folder)))


def run(source, tally):
    """One case. Returns the CRC of its stream."""
    array, fill, options = draw(source)
    run.described = f"{array.dtype.str} {array.shape}, fill {fill}, {options}"
    try:
        stream = memory.compress(array, options)
        stated.judge(tally, array, stream, options, "compressed")
        new = rewritten(tally, source, array, stream, options)
        in_a_file(tally, source, array, options)
        estimated(array, options, stream)
        in_an_operation(tally, source, (array, fill, options))
    except memory.Expected:
        tally.seen["refused as documented"] += 1
        return 0
    except h5stz.StzError as error:
        if any(text in str(error) for texts in memory.MAY_FAIL.values() for text in texts):
            tally.seen["refused as documented"] += 1
            return 0
        raise
    return zlib.crc32(new, zlib.crc32(stream))

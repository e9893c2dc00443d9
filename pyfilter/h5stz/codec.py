"""Compression of arrays in memory, without HDF5."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, SupportsFloat, SupportsIndex

import numpy as np
import numpy.typing as npt

from h5stz import _core, elements
from h5stz.damage import OnError, of_stream, replacement, stored_bytes, warn
from h5stz.elements import Array, BytesLike
from h5stz.errors import StzError, StzTypeError
from h5stz.limits import OF_STREAMS, new_array, refuse_larger
from h5stz.options.option_checks import thread_count
from h5stz.options.precision import best_error, checked_precision
from h5stz.options.stz import STZ, Options
from h5stz.signatures import checked, with_options_of
from h5stz.stream_info import StreamInfo, content_of, info
from h5stz.unreadable import DAMAGE_CODES

if TYPE_CHECKING:
    from typing_extensions import Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack

_CAPACITY = _core.ERROR_CODES["STZ_ERROR_CAPACITY"]
_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]


@with_options_of(STZ)
def compress(array: npt.ArrayLike, **options: Unpack[Options]) -> bytes:
    """Compresses an array.

    Args:
        array: an ndarray, a masked array, or anything that numpy.asarray() accepts. Dtypes: float16/32/64, (u)int8-64, bool
            (stored as uint8), complex64/128, and bfloat16, float8_e4m3fn and float8_e5m2 of ml_dtypes. Any shape, strides and
            byte order. Masked samples are stored as the fill value.
        **options: the options of `STZ`. Two defaults differ: `data` is this array (if it is part of a dataset, pass the whole
            dataset as `data`), and threads=None uses the number in the environment variable H5STZ_THREADS, or 1.

    Returns:
        bytes: the stream, at most 64 bytes longer than the array. It stores shape, dtype and byte order.

    Raises:
        StzError: (a ValueError) the array or an option is invalid; the message names the remedy.
    """
    return _encoded(array, None, options)


@with_options_of(STZ)
def rewrite(array: npt.ArrayLike, previous: BytesLike, **options: Unpack[Options]) -> bytes:
    """Compresses an array that was decompressed from a stream and then changed in part.

    Samples that still have the values decoded from `previous` keep exactly these values in the new stream. Only the changed
    samples are quantized, with the bound of `options`. Repeated rounds of decompressing, changing and compressing therefore
    cost each sample at most one bound. The new stream states a bound that holds for all samples: the largest bound of the kept
    and the newly written ones. If `previous` is lossless but its samples were decoded from a lossy stream, `accumulated_bound`
    records that earlier error.

    A stream that was given a bound may still hold its samples exactly: if it is constant, raw or has few distinct values
    (`bound_used` of info() is False). All samples are then quantized with the bound. Unchanged samples may therefore change
    once, by at most one bound.

    The HDF5 filter does this itself for chunks that it recognises (docs/rewriting.md).

    Args:
        array: as for compress(); must have the shape and dtype of `previous`.
        previous: the stream (bytes-like) from which the array was decompressed.
        **options: as for compress().

    Returns:
        bytes: the stream. It equals `previous` byte for byte if no sample was changed and `bound_used` of `previous` is True.
            With content_check=True the check is added if `previous` has none.

    Raises:
        StzError: (a ValueError) as for compress(); also if `previous` is damaged or holds an array of another shape or dtype.
    """
    header = info(previous)
    samples = np.asanyarray(array)
    stored = np.dtype("u1") if samples.dtype == bool else samples.dtype
    if (samples.shape, stored) != (header.shape, header.dtype):
        raise StzError(
            f"the array has shape {samples.shape} and dtype {samples.dtype.str}, the previous stream {header.shape} and "
            f"{header.dtype.str}: give the stream that this array came from, or use compress()",
            _ARGUMENT,
        )
    return _encoded(samples, previous, options)


def _encoded(array: npt.ArrayLike, previous: BytesLike | None, options: Options) -> bytes:
    """Compresses an array with the options of compress()."""
    samples = np.asanyarray(array)
    fill = options.get("fill_value")
    if elements.is_masked(samples) and samples.dtype.kind == "f" and isinstance(fill, (float, np.floating)):
        if not math.isfinite(fill):  # which the settings say nothing of
            samples = samples.view()
            samples.fill_value = fill
    if options.get("data") is None:
        options["data"] = samples
        options["chunks"] = samples.shape if samples.shape and samples.size else None
    options["threads"] = thread_count(options.get("threads"))
    settings = STZ(**options).resolved.settings
    return settings.to_store().encode(elements.stored(samples, settings.fill), previous)


@checked
def drop_layers(stream: BytesLike, max_error: SupportsFloat) -> bytes:
    """Shortens a stream by removing its last precision layers (`STZ(layers=)`), without decoding it.

    Args:
        stream: bytes-like.
        max_error: largest permitted absolute error against the compressed array, in the units of the data. The fewest layers
            that satisfy it are kept. A stream with a pointwise relative bound and a single layer is decoded to check the
            error.

    Returns:
        bytes: a stream without content check, in mode "absolute". Its bound is the error that was measured for the kept
            layers. If no layer can be removed, `stream` is returned unchanged. For a patched stream the base stream is
            shortened.

    Raises:
        StzError: (a ValueError) `stream` is not a stream, or its error exceeds max_error.
        StzTypeError: (also a TypeError) max_error is not a number.
    """
    content = content_of(stream)
    precision = checked_precision(max_error, None)
    precision.error_for(_core.info(content))
    if best_error(_core.info(content)) is None:
        precision.check(_core.info(content), decompress(content))
    return _core.drop_layers(content, precision.max_error or 0.0)


@checked
def decompress(
    stream: BytesLike,
    *,
    out: Array | None = None,
    max_bytes: SupportsIndex | None = None,
    threads: int | None = None,
    verify: bool = False,
    max_error: SupportsFloat | None = None,
    on_error: OnError = "raise",
) -> Array:
    """Decompresses a stream of compress(), or one chunk as HDF5 stores it.

    Args:
        stream: bytes-like.
        out: the array to decode into: a C-contiguous writable ndarray with the shape and dtype of the stream, including the
            byte order (bool is accepted for uint8). After an error its contents are unspecified.
        max_bytes: largest array to allocate, in bytes. A damaged or malicious stream of few bytes may claim any size. None:
            the value of the environment variable H5STZ_MAX_BYTES, or 4 GiB.
        threads: number of threads, as for compress().
        verify: True compares the decoded values with the content check of the stream, as verify() does. Cannot be combined
            with max_error.
        max_error: largest permitted absolute error against the compressed array, in the units of the data. The fewest
            precision layers (`STZ(layers=)`) that satisfy it are decoded. None: all layers.
        on_error: what to do if the stream is damaged (docs/damage.md). "raise" raises an error. "nan" sets the lost samples to
            NaN, "fill" to the fill value of the stream, a number to this number. The other samples are decoded exactly, and a
            DamageWarning lists the damage.

    Returns:
        ndarray: `out`, or a new array in the byte order that was compressed.

    Raises:
        StzError: (a ValueError) `stream` is not a stream, is damaged or too large, its error exceeds max_error, or `out` does
            not fit; `code` tells which.
        StzTypeError: (also a TypeError) `out` is not an ndarray or has another dtype; `threads` is not an integer.
    """
    threads = thread_count(threads)
    precision = checked_precision(max_error, None)
    header = info(stream)
    if out is None:
        refuse_larger("the stream holds an array of", header.array_bytes, max_bytes, OF_STREAMS)
        out = new_array(header.shape, header.dtype)
    else:
        _check_out(out, header)
    value = replacement(
        on_error, header.dtype, None if header.fill_value is None else np.array(header.fill_value, header.dtype)
    )
    if precision.is_full:
        try:
            _core.decompress(stream, elements.as_bytes(out), threads, verify)
        except StzError as error:
            if value is None or error.code not in DAMAGE_CODES:
                raise
            _decompress_what_is_whole(stream, out, value, threads, verify, 0.0)
        return out
    if verify:
        raise StzError("verify=True needs all precision layers: omit max_error=", _ARGUMENT)
    max_error_of_it = precision.error_for(_core.info(stream))
    _decompress_what_is_whole(stream, out, value, threads, False, max_error_of_it)
    precision.check(_core.info(stream), out)
    return out


def _decompress_what_is_whole(
    stream: BytesLike, out: Array, value: Array | None, threads: int, verify: bool, max_error: float
) -> None:
    """Decodes a stream into `out` and sets lost samples to `value`. None: damage raises an error."""
    reader = _core.Reader.of_bytes(stream, 0)
    reader.max_error(max_error)
    reader.verify(verify)
    reader.on_error(None if value is None else stored_bytes(value))
    rank = out.ndim
    reader.read((0,) * rank, out.shape, (1,) * rank, elements.as_bytes(out), threads)
    if value is not None:
        warn(
            of_stream(reader.damage()), value, out.shape, "the stream", "The attribute `damage` of the warning lists all damage"
        )


@checked
def verify(stream: BytesLike, *, max_bytes: SupportsIndex | None = None, threads: int | None = None) -> int:
    """Decodes a stream and compares the values with its content check: CRCs of the values that the writer expects from
    decoding.

    An intact stream can still be decoded wrongly: by a miscompiled decoder, by a faulty processor, or if it was joined from
    parts of several streams.

    Args:
        stream: bytes-like.
        max_bytes: largest array to decode, as for decompress().
        threads: number of threads, as for compress().

    Returns:
        int: the number of blocks that were compared. 0 if the stream has no content check. Streams that are stored "raw",
            "constant" or as "floating-point fields" have none: their checksums already cover the values.

    Raises:
        StzError: (a ValueError) the values differ, or the stream is damaged; `code` tells which.
    """
    threads = thread_count(threads)
    header = info(stream)
    if header.form not in ("raw", "constant"):
        refuse_larger("the stream holds an array of", header.array_bytes, max_bytes, OF_STREAMS)
    return _core.verify(stream, threads)


def _check_out(out: object, header: StreamInfo) -> None:
    """Raises StzError if the array of a stream cannot be decoded into `out`."""
    wanted = f"numpy.empty({header.shape}, {header.dtype.str!r})"
    if not isinstance(out, np.ndarray):
        raise StzTypeError(f"out is of type {type(out).__name__}, it must be an ndarray such as {wanted}", _ARGUMENT)
    if (np.dtype("u1") if out.dtype.kind == "b" else out.dtype) != header.dtype:
        raise StzTypeError(
            f"out is of dtype {out.dtype.str}, the stream holds {header.dtype.str}: give {wanted}, or omit out= and "
            "convert the result with astype()",
            _CAPACITY,
        )
    if out.shape != header.shape:
        raise StzError(f"out has the shape {out.shape}, the stream holds {header.shape}: give {wanted}", _CAPACITY)
    if not out.flags.c_contiguous:
        raise StzError(f"out is not C-contiguous: give {wanted}, or assign instead, out[...] = decompress(stream)", _ARGUMENT)
    if not out.flags.writeable:
        raise StzError(f"out is read-only: give {wanted}", _ARGUMENT)

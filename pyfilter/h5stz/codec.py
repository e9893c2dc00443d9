"""Arrays to bytes and back, in memory, without HDF5."""

from dataclasses import dataclass

import numpy as np

from h5stz import _core, elements
from h5stz.errors import StzError, StzTypeError
from h5stz.options import resolve, thread_count

_CAPACITY = _core.ERROR_CODES["STZ_ERROR_CAPACITY"]
_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]


@dataclass(frozen=True)
class StreamInfo:
    """What a compressed stream says of itself.

    Attributes:
        shape: of the array.
        dtype: of the array with its byte order; uint8 for an array of bool.
        mode: "lossless", "absolute" or "pointwise_relative".
        bound: in the units of the data, or relative to each sample for "pointwise_relative"; 0.0 for lossless.
        fill_value: the number that marks missing samples, or None.
        block: "default" or "region".
        format_version: of the stream (docs/format.md).
        levels: resolution levels; level l is the array at every 2**l-th sample.
        level_bytes: for each level the length of the prefix of the stream that it needs, level 0 (everything) first.
        form: how the samples are stored: "constant", "raw", "blocks", ...
        array_bytes: size of the array.
        stream_bytes: size of the stream.
    """

    shape: tuple
    dtype: np.dtype
    mode: str
    bound: float
    fill_value: int | float | None
    block: str
    format_version: int
    levels: int
    level_bytes: tuple
    form: str
    array_bytes: int
    stream_bytes: int

    @property
    def ratio(self):
        """array_bytes / stream_bytes."""
        return self.array_bytes / self.stream_bytes


def compress(array, *, threads=None, **options):
    """Compresses an array.

    Args:
        array: ndarray, masked array (masked samples are stored as the fill value) or what numpy.asarray() takes: float16/32/64,
            (u)int8-64, bool (stored as uint8), complex64/128; any shape, strides and byte order.
        threads: 1 to 255 at most; None: as many as the environment variable H5STZ_THREADS says, or 1. The bytes do not
            depend on it.
        **options: as of `STZ`; `data` is this array unless given (a part of a dataset: give the whole as `data`).

    Returns:
        bytes: the stream, at most 64 bytes longer than the array. It knows shape, dtype and byte order.

    Raises:
        StzError: (a ValueError) with what to do about it.
    """
    array = np.asanyarray(array)
    if options.get("data") is None:
        options.update(data=array, chunks=array.shape or None)
    resolved = resolve(threads=thread_count(threads), **options)
    return resolved.settings.encode(elements.stored(array, resolved.settings.fill))


def decompress(stream, out=None, max_bytes=2**32, threads=None):
    """Decompresses what compress() made, or one chunk as HDF5 stores it.

    Args:
        stream: bytes-like.
        out: C-contiguous writable ndarray of the stream's shape and dtype, byte order included (bool also for uint8), to
            decode into. After an error its contents are unspecified.
        max_bytes: largest array that is allocated; streams of unknown origin may announce any size.
        threads: as of compress().

    Returns:
        ndarray: `out`, or a new array in the byte order that was compressed.

    Raises:
        StzError: (a ValueError) not a stream, damaged, too large, or `out` does not fit; `code` says which.
        StzTypeError: (a TypeError too) `out` is no ndarray or of another dtype; `threads` is no integer.
    """
    threads = thread_count(threads)
    header = info(stream)
    if out is None:
        if header.array_bytes > max_bytes:
            raise StzError(
                f"the stream holds an array of {header.array_bytes} bytes, more than max_bytes={max_bytes}: give a greater "
                "max_bytes if you trust it",
                _CAPACITY,
            )
        out = np.empty(header.shape, header.dtype)
    else:
        _check_out(out, header)
    _core.decompress(stream, elements.as_bytes(out), threads)
    return out


def info(stream):
    """StreamInfo of a stream (bytes-like) from its header alone. Raises StzError if it is none."""
    fields = _core.info(stream)
    dtype = elements.dtype_of(fields.pop("dtype"), fields.pop("byte_order"))
    bits = fields.pop("fill")
    return StreamInfo(
        dtype=dtype,
        mode=elements.name_of(_core.MODES, fields.pop("mode")),
        block=elements.name_of(_core.BLOCKS, fields.pop("block")),
        fill_value=None if bits is None else elements.fill_number(bits, dtype),
        stream_bytes=memoryview(stream).nbytes,
        **fields,
    )


def _check_out(out, header):
    """Raises the StzError of an `out` that the array of a stream cannot be decoded into."""
    wanted = f"numpy.empty({header.shape}, {header.dtype.str!r})"
    if not isinstance(out, np.ndarray):
        raise StzTypeError(f"out is of type {type(out).__name__}, it must be an ndarray such as {wanted}", _ARGUMENT)
    if (np.dtype("u1") if out.dtype.kind == "b" else out.dtype) != header.dtype:
        raise StzTypeError(
            f"out is of dtype {out.dtype.str}, the stream holds {header.dtype.str}: give {wanted}, or leave out= away and "
            "convert the result with astype()",
            _CAPACITY,
        )
    if out.shape != header.shape:
        raise StzError(f"out has the shape {out.shape}, the stream holds {header.shape}: give {wanted}", _CAPACITY)
    if not out.flags.c_contiguous:
        raise StzError(f"out is not C-contiguous: give {wanted}, or assign instead, out[...] = decompress(stream)", _ARGUMENT)
    if not out.flags.writeable:
        raise StzError(f"out cannot be written to: give {wanted}", _ARGUMENT)

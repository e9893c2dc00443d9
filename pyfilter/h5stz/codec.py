"""Arrays to bytes and back, in memory, without HDF5."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex, cast

import numpy as np
import numpy.typing as npt

from h5stz import _core, elements
from h5stz.counts import counted
from h5stz.damage import OnError, of_stream, replacement, stored_bytes, warn
from h5stz.elements import Array, BytesLike, DType
from h5stz.errors import StzError, StzTypeError
from h5stz.limits import OF_STREAMS, new_array, refuse_larger
from h5stz.options.option_checks import thread_count
from h5stz.options.precision import best_error, checked_precision
from h5stz.options.stz import STZ, Options
from h5stz.signatures import checked, with_options_of
from h5stz.unreadable import DAMAGE_CODES

if TYPE_CHECKING:
    from typing_extensions import Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack

_CAPACITY = _core.ERROR_CODES["STZ_ERROR_CAPACITY"]
_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_MAGIC = _core.ERROR_CODES["STZ_ERROR_MAGIC"]
_TRUNCATED = _core.ERROR_CODES["STZ_ERROR_TRUNCATED"]

_SHOWN_BYTES = 16
_HDF5_SIGNATURE = b"\x89HDF\r\n"


@dataclass(frozen=True)
class Layer:
    """What a precision layer of a stream takes and gives, together with those before it.

    Attributes:
        bytes: of the stream, at full resolution.
        max_error: the largest distance of a sample from what was compressed, in the units of the data. It was measured when
            several layers were written. A stream with a single layer was not measured. For it, this is what it promises: 0.0
            if it holds every bit (lossless, palette, constant, raw), else `relaxed_bound`, or None if that is a point-wise
            bound, which says nothing in the units of the data.
        rmse: the root of the mean squared distance; 0.0 if the stream holds every bit; None if it was not measured, as for a
            patched stream.
    """

    bytes: int
    max_error: float | None
    rmse: float | None


@dataclass(frozen=True)
class StreamInfo:
    """What a compressed stream says of itself.

    Attributes:
        shape: of the array.
        dtype: of the array with its byte order; uint8 for an array of bool.
        mode: "lossless", "absolute" or "pointwise_relative".
        bound: in the units of the data, or relative to each sample for "pointwise_relative"; 0.0 for lossless. For a
            patched stream: the largest bound of any part of it.
        fill_value: the number that marks missing samples, or None.
        block: "default", "region" or "throughput".
        format_version: of the stream (docs/format.md).
        levels: resolution levels; level l is the array at every 2**l-th sample.
        level_bytes: for each level the length of the prefix of the stream that it needs, level 0 (everything) first.
        form: how the samples are stored: "constant", "raw", "blocks of ..."; "patched: " and the form of what lies beneath the
            patches.
        patches: boxes that were written again after the rest had been compressed, each stored on its own.
        bound_used: the samples may differ from those that were compressed first, so they must not be quantised again;
            in lossless mode: they came out of a lossy stream.
        accumulated_bound: bound between the samples and what was compressed first, if these came out of another lossy
            stream, in the unit of `bound`; None if that was not recorded, infinity if something was lost and nobody knows how
            much.
        content_check: whether verify() can compare what is decoded with what the writer saw; None: the bytes that would tell
            are missing. Of a patched stream: of what lies beneath the patches.
        array_bytes: size of the array.
        stream_bytes: size of the stream.
        layers: of each precision layer (Layer), in the order of reading; a single one unless the stream was written with more.
            For a patched stream: those of what lies beneath the patches, but max_error counts the patches.
        enhanced: decoded samples are brought nearer to the originals by a filter (`STZ(enhance=)`).
        relaxed_bound: what is promised in place of `bound` where samples are enhanced; else the bound.
    """

    shape: tuple[int, ...]
    dtype: DType
    mode: str
    bound: float
    fill_value: int | float | None
    block: str
    format_version: int
    levels: int
    level_bytes: tuple[int, ...]
    form: str
    array_bytes: int
    stream_bytes: int
    patches: int = 0
    bound_used: bool = False
    accumulated_bound: float | None = None
    content_check: bool | None = False
    layers: tuple[Layer, ...] = ()
    enhanced: bool = False
    relaxed_bound: float = 0.0

    @property
    def ratio(self) -> float:
        """array_bytes / stream_bytes."""
        return self.array_bytes / self.stream_bytes


@with_options_of(STZ)
def compress(array: npt.ArrayLike, **options: Unpack[Options]) -> bytes:
    """Compresses an array.

    Args:
        array: ndarray, masked array (masked samples are stored as the fill value) or what numpy.asarray() takes: float16/32/64,
            (u)int8-64, bool (stored as uint8), complex64/128; any shape, strides and byte order.
        **options: as of `STZ`, but `data` is this array unless given (a part of a dataset: give the whole as `data`), and
            threads=None takes as many as the environment variable H5STZ_THREADS says, or 1.

    Returns:
        bytes: the stream, at most 64 bytes longer than the array. It knows shape, dtype and byte order.

    Raises:
        StzError: (a ValueError) with what to do about it.
    """
    return _encoded(array, None, options)


@with_options_of(STZ)
def rewrite(array: npt.ArrayLike, previous: BytesLike, **options: Unpack[Options]) -> bytes:
    """Compresses an array that was decompressed from a stream and then changed in part.

    Samples that have the bits to which `previous` decompresses have them again in the new stream; only the others get their
    bound. Rounds of decompressing, changing and compressing therefore add up to no more than one bound for any sample. The new
    stream states a bound that holds for all samples: the largest of what was kept and of what was written. What a lossless
    `previous` had lost before is in `accumulated_bound`.

    `previous` may hold its samples exactly although it was given a bound: if it is constant, raw or has few values
    (`bound_used` of info() is False). Then all samples get their bound. Those that were not changed may change, once, by up to
    one bound.

    The HDF5 filter does this by itself for chunks that it recognises (docs/rewriting.md).

    Args:
        array: as of compress(), of the shape and dtype of `previous`.
        previous: the stream (bytes-like) that the array came from.
        **options: as of compress().

    Returns:
        bytes: the stream. If nothing was changed and `previous` has used its bound, it is `previous` byte for byte.
        content_check=True adds the check if `previous` has none.

    Raises:
        StzError: (a ValueError) as compress(); also where `previous` is damaged, or of an array of another shape or dtype.
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
    """The stream of an array under the options of compress()."""
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
    """Makes a stream shorter by leaving out its last precision layers (`STZ(layers=)`), without decoding it.

    Args:
        stream: bytes-like.
        max_error: as few layers stay as keep every sample within this distance of what was compressed, in the units of the
            data. A point-wise bound with a single layer is judged by decoding the stream.

    Returns:
        bytes: a stream whose bound is the error that was measured for these layers (mode "absolute"), and which has no content
        check. `stream` as it is where it has no layers to spare. Of a patched stream, what lies beneath the patches gets
        shorter.

    Raises:
        StzError: (a ValueError) `stream` is none, or less precise than max_error.
        StzTypeError: (a TypeError too) max_error is no number.
    """
    content = _content(stream)
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
    """Decompresses what compress() made, or one chunk as HDF5 stores it.

    Args:
        stream: bytes-like.
        out: C-contiguous writable ndarray of the stream's shape and dtype, byte order included (bool also for uint8), to
            decode into. After an error its contents are unspecified.
        max_bytes: largest array that is allocated, as a stream of few bytes may claim any size. None: as the environment
            variable H5STZ_MAX_BYTES says, or 4 GiB.
        threads: as of compress().
        verify: compares what was decoded with the content check of the stream, as verify() does; not with a max_error.
        max_error: as few precision layers are decoded (`STZ(layers=)`) as keep every sample within this distance of what was
            compressed, in the units of the data. None: all.
        on_error: what takes the place of samples that cannot be decoded as the stream is damaged (docs/damage.md). "raise":
            nothing, it is an error. "nan": NaN. "fill": the fill value of the stream, if it has one. A number: this number.
            All other samples have their bits, and a DamageWarning lists what was damaged.

    Returns:
        ndarray: `out`, or a new array in the byte order that was compressed.

    Raises:
        StzError: (a ValueError) not a stream, damaged, too large, less precise than max_error, or `out` does not fit; `code`
            says which.
        StzTypeError: (a TypeError too) `out` is no ndarray or of another dtype; `threads` is no integer.
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
        raise StzError("verify=True compares what all layers give: leave max_error= away", _ARGUMENT)
    max_error_of_it = precision.error_for(_core.info(stream))
    _decompress_what_is_whole(stream, out, value, threads, False, max_error_of_it)
    precision.check(_core.info(stream), out)
    return out


def _decompress_what_is_whole(
    stream: BytesLike, out: Array, value: Array | None, threads: int, verify: bool, max_error: float
) -> None:
    """Decodes a stream into `out`, with `value` for what is lost; None: it is an error if anything is."""
    reader = _core.Reader.of_bytes(stream, 0)
    reader.max_error(max_error)
    reader.verify(verify)
    reader.on_error(None if value is None else stored_bytes(value))
    rank = out.ndim
    reader.read((0,) * rank, out.shape, (1,) * rank, elements.as_bytes(out), threads)
    if value is not None:
        warn(
            of_stream(reader.damage()), value, out.shape, "the stream", "The attribute `damage` of this warning lists all of it"
        )


@checked
def verify(stream: BytesLike, *, max_bytes: SupportsIndex | None = None, threads: int | None = None) -> int:
    """Decodes a stream and compares the values with its content check: CRCs of what the writer saw as the decoded values.

    Streams whose bytes are sound may still decode to something else: where the compiler of a decoder contracted operations,
    where a processor errs, or where a stream was put together from several.

    Args:
        stream: bytes-like.
        max_bytes: largest array that is decoded, as of decompress().
        threads: as of compress().

    Returns:
        int: how many blocks were compared; 0 where the stream has no content check, as those that are stored "raw" or
        "constant", whose checksum covers the values.

    Raises:
        StzError: (a ValueError) the values differ, or the stream is damaged; `code` says which.
    """
    threads = thread_count(threads)
    header = info(stream)
    if header.form.startswith(("blocks", "patched")):
        refuse_larger("the stream holds an array of", header.array_bytes, max_bytes, OF_STREAMS)
    return _core.verify(stream, threads)


@checked
def info(stream: BytesLike) -> StreamInfo:
    """StreamInfo of a stream (bytes-like) from its header alone. Raises StzError if it is none."""
    content = _content(stream)
    try:
        fields = _core.info(content)
    except StzError as error:
        if error.code not in (_MAGIC, _TRUNCATED):
            raise
        raise type(error)(f"{error}: {_described(stream, content)}", error.code) from None
    dtype = elements.dtype_of(fields["dtype"], fields["byte_order"])
    bits = fields["fill"]
    return StreamInfo(
        shape=fields["shape"],
        dtype=dtype,
        mode=elements.name_of(_core.MODES, fields["mode"]),
        bound=fields["bound"],
        fill_value=None if bits is None else elements.fill_number(bits, dtype),
        block=elements.name_of(_core.CHOICES["block"], fields["block"]),
        format_version=fields["format_version"],
        levels=fields["levels"],
        level_bytes=fields["level_bytes"],
        form=fields["form"],
        array_bytes=fields["array_bytes"],
        stream_bytes=content.nbytes,
        patches=fields["patches"],
        bound_used=fields["bound_used"],
        accumulated_bound=fields["accumulated_bound"],
        content_check=fields["content_check"],
        enhanced=fields["enhanced"],
        relaxed_bound=fields["relaxed_bound"],
        layers=tuple(Layer(size, _known(error), _known(rmse)) for size, error, rmse in fields["layers"]),
    )


def _known(error: float) -> float | None:
    """An error as it was measured; None if it was not."""
    return error if 0 <= error < math.inf else None


def _content(stream: BytesLike) -> memoryview:
    """The bytes of what was given as a stream."""
    try:
        return memoryview(cast(Any, stream)).cast("B")
    except TypeError:
        kind = type(stream).__name__
        hint = ", such as pathlib.Path(name).read_bytes()" if isinstance(stream, str) or hasattr(stream, "__fspath__") else ""
        raise StzTypeError(
            f"stream is of type {kind}: give contiguous bytes that compress() returned{hint}", _ARGUMENT
        ) from None


def _described(stream: BytesLike, content: memoryview) -> str:
    """What was given in the place of a stream."""
    begin = bytes(content[:_SHOWN_BYTES])
    text = f"given are {counted(content.nbytes, 'byte')} ({type(stream).__name__})"
    if begin:
        text += f" that begin with {begin!r}"
    if begin.startswith(_HDF5_SIGNATURE):
        text += ", an HDF5 file: open it with h5py"
    return text


def _check_out(out: object, header: StreamInfo) -> None:
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

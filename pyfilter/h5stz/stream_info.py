"""Properties of a stream, read from its header without decoding it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import h5py

from h5stz import _core, elements
from h5stz.counts import counted
from h5stz.elements import BytesLike, DType
from h5stz.errors import StzError, StzTypeError
from h5stz.signatures import checked

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_MAGIC = _core.ERROR_CODES["STZ_ERROR_MAGIC"]
_TRUNCATED = _core.ERROR_CODES["STZ_ERROR_TRUNCATED"]

_OF_DATASET = (
    "stream is a dataset of HDF5: dataset[...] reads it, h5stz.STZ.from_dataset(dataset) has its options, `h5stz info FILE` "
    "describes its chunks, and dataset.id.read_direct_chunk(offset)[1] is the stream of a chunk"
)
_SHOWN_BYTES = 16
_HDF5_SIGNATURE = b"\x89HDF\r\n"


@dataclass(frozen=True)
class Layer:
    """Size and error of a stream that is read up to one precision layer.

    All values count this layer and those before it.

    Attributes:
        bytes: bytes of the stream that must be read at full resolution.
        max_error: largest absolute error against the compressed array, in the units of the data. Streams with several layers
            store the measured error. A stream with a single layer was not measured. Its value is 0.0 if the stream holds every
            bit (lossless, palette, constant, raw), and `relaxed_bound` otherwise. It is None for a pointwise relative bound,
            which gives no error in the units of the data.
        rmse: root mean squared error, in the units of the data. 0.0 if the stream holds every bit; None if it was not
            measured, as for a patched stream.
    """

    bytes: int
    max_error: float | None
    rmse: float | None


@dataclass(frozen=True)
class StreamInfo:
    """Properties of a compressed stream, read from its header.

    Attributes:
        shape: shape of the array.
        dtype: dtype of the array, with its byte order; uint8 for an array of bool.
        mode: "lossless", "absolute" or "pointwise_relative".
        bound: the error bound. It is in the units of the data, or relative to each sample for "pointwise_relative"; 0.0 for
            lossless. For a patched stream: the largest bound of any part.
        fill_value: the number that marks missing values, or None.
        block: "default", "region" or "throughput".
        format_version: version of the stream format (docs/format.md).
        levels: number of resolution levels. Level l is the array at every 2**l-th sample.
        level_bytes: for each level, the number of bytes from the start of the stream that decoding needs. If the stream has a
            preview (`preview_error`), they suffice for the preview only. Level 0 (full resolution) comes first.
        form: how the samples are stored: "constant", "raw" or "blocks of ...". A patched stream has "patched: " and the form
            of its base stream. A stream that stores boxes as differences from other boxes has "repeats: " and the form of its
            base stream; it has one level, and no preview.
        patches: number of boxes that were rewritten later and are stored separately.
        bound_used: True if the samples may already differ from the original by up to the bound, so they must not be quantized
            again. For lossless mode: True if the samples were decoded from a lossy stream.
        accumulated_bound: bound on the error against the original array if the samples came from another lossy stream, in the
            unit of `bound`. None if it was not recorded. Infinity if data were lost and the error is unknown.
        content_check: True if verify() can compare the decoded values with checksums that the writer stored. None: the bytes
            that would tell are missing. For a patched stream: of the base stream.
        array_bytes: size of the array in bytes.
        stream_bytes: size of the stream in bytes.
        layers: a Layer for each precision layer, in reading order. There is one unless the stream was written with more. For a
            patched stream: the layers of the base stream, with a max_error that includes the patches.
        enhanced: True if a stored filter corrects the decoded samples (`STZ(enhance=)`).
        relaxed_bound: the bound that holds where samples are enhanced; equal to `bound` otherwise.
        preview_error: the largest error of a preview of lossless data. Reads with a `max_error` of at least this leave out the
            lowest bits of the samples. None if the stream has no preview. For a patched stream: of the base stream.
        preview_bytes: the number of bytes that the preview takes at full resolution, or None.
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
    preview_error: float | None = None
    preview_bytes: int | None = None

    @property
    def ratio(self) -> float:
        """Compression ratio: array_bytes / stream_bytes."""
        return self.array_bytes / self.stream_bytes


@checked
def info(stream: BytesLike) -> StreamInfo:
    """Reads the properties of a stream (bytes-like) from its header, without decoding it.

    Returns:
        StreamInfo

    Raises:
        StzError: (a ValueError) `stream` is not a stream of h5stz.
    """
    content = content_of(stream)
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
        preview_error=fields["preview_error"],
        preview_bytes=fields["preview_bytes"],
        layers=tuple(Layer(size, _known(error), _known(rmse)) for size, error, rmse in fields["layers"]),
    )


def _known(error: float) -> float | None:
    """The measured error, or None if it was not measured."""
    return error if 0 <= error < math.inf else None


def content_of(stream: BytesLike) -> memoryview:
    """The bytes of an argument `stream`."""
    try:
        return memoryview(cast(Any, stream)).cast("B")
    except TypeError:
        kind = type(stream).__name__
        if isinstance(stream, h5py.Dataset):
            raise StzTypeError(_OF_DATASET, _ARGUMENT) from None
        hint = ", such as pathlib.Path(name).read_bytes()" if isinstance(stream, str) or hasattr(stream, "__fspath__") else ""
        raise StzTypeError(
            f"stream is of type {kind}: give contiguous bytes that compress() returned{hint}", _ARGUMENT
        ) from None


def _described(stream: BytesLike, content: memoryview) -> str:
    """Describes an argument that is not a stream, for an error message."""
    begin = bytes(content[:_SHOWN_BYTES])
    text = f"the argument is {counted(content.nbytes, 'byte')} ({type(stream).__name__})"
    if begin:
        text += f", beginning with {begin!r}"
    if begin.startswith(_HDF5_SIGNATURE):
        text += ", an HDF5 file: open it with h5py"
    return text

"""The array-to-bytes codec of zarr format 3, called "h5stz" in the metadata.

- A partial read fetches and decodes only the needed part of a chunk if this is the only codec.
- A partial write compresses the changed chunk with its previous stream: unchanged samples keep their values, however often a
chunk is written.
- Chunks are stored in little-endian order, because zarr data types have no byte order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from zarr.abc.codec import ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin, ArrayBytesCodecPartialEncodeMixin
from zarr.abc.store import RangeByteRequest

from h5stz import _core, stream_info
from h5stz.elements import Array, DType, Real
from h5stz.errors import StzError
from h5stz.options.precision import checked_precision
from h5stz.zarr.codec_options import CodecOptions, check_shape, decoded_array, of_dtype
from h5stz.zarr.partial import Part, read_part

if TYPE_CHECKING:
    from typing_extensions import Self
    from zarr.abc.store import ByteGetter, ByteSetter
    from zarr.core.array_spec import ArraySpec
    from zarr.core.buffer import Buffer, NDBuffer

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_NAME = "h5stz"
_NAMES = (_NAME, f"numcodecs.{_NAME}")  # the second is how VirtualiZarr names codecs of format 2 in metadata of format 3
_OF_ARRAY = "array"


@dataclass(frozen=True, kw_only=True, repr=False)
class StzCodec(CodecOptions, ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin, ArrayBytesCodecPartialEncodeMixin):
    """Codec of zarr format 3: `zarr.create_array(..., serializer=StzCodec(absolute=1e-3), compressors=None)`.

    Options: see CodecOptions. In addition, `fill_value` may be "array": the fill value of the array marks missing values.
    """

    fill_value: Real | Literal["array"] | None = None  # type: ignore[assignment]
    is_fixed_size = False

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """The codec from metadata, for example {"name": "h5stz", "configuration": {"absolute": 0.001}}.

        Raises:
            StzError: (a ValueError) another name, or invalid options.
            TypeError: an unknown option.
        """
        if data.get("name") not in _NAMES:
            raise StzError(f"the codec of the metadata is {data.get('name')!r}, this one is {_NAME!r}", _ARGUMENT)
        return cls(**data.get("configuration") or {})

    def to_dict(self) -> dict[str, Any]:
        """The codec's entry in the metadata."""
        return {"name": _NAME, "configuration": self.configuration()}

    def evolve_from_array_spec(self, array_spec: ArraySpec) -> Self:
        """Checks the codec for an array and returns it unchanged.

        Raises:
            StzTypeError: (also a TypeError) arrays of this data type cannot be compressed.
            StzError: (a ValueError) the options do not suit the array.
        """
        dtype = array_spec.dtype.to_native_dtype()
        self.require_valid(dtype)
        if self.fill_value == _OF_ARRAY:
            CodecOptions(lossless=True, fill_value=_number(array_spec.fill_value)).require_valid(dtype)
        return self

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: ArraySpec) -> int:
        """Raises NotImplementedError: the size is known only after compression."""
        raise NotImplementedError

    async def _decode_single(self, chunk_data: Buffer, chunk_spec: ArraySpec) -> NDBuffer:
        array = await asyncio.to_thread(self._chunk, chunk_data.to_bytes(), chunk_spec, self.max_error)
        decoded: NDBuffer = chunk_spec.prototype.nd_buffer.from_numpy_array(array)
        return decoded

    async def _encode_single(self, chunk_data: NDBuffer, chunk_spec: ArraySpec) -> Buffer | None:
        stream = await asyncio.to_thread(self._stream, chunk_data.as_numpy_array(), chunk_spec, None)
        stored: Buffer = chunk_spec.prototype.buffer.from_bytes(stream)
        return stored

    async def _decode_partial_single(self, byte_getter: ByteGetter, selection: Any, chunk_spec: ArraySpec) -> NDBuffer | None:
        with _naming(byte_getter):
            array = await self._part(byte_getter, Part.of(selection, chunk_spec.shape), chunk_spec)
        return None if array is None else chunk_spec.prototype.nd_buffer.from_numpy_array(np.asarray(array))

    async def _part(self, byte_getter: ByteGetter, part: Part, chunk_spec: ArraySpec) -> Array | None:
        """Decodes a part of a chunk; None if the chunk is not stored."""
        if part.box_is_all(chunk_spec.shape) and self.max_error is None:
            stored = await byte_getter.get(chunk_spec.prototype)
            array = None if stored is None else await asyncio.to_thread(self._chunk, stored.to_bytes(), chunk_spec, None)
            return array if array is None else array[part.index]

        async def fetch(begin: int, end: int | None) -> bytes | None:
            wanted = None if end is None else RangeByteRequest(begin, end)
            content = await byte_getter.get(chunk_spec.prototype, wanted)
            return None if content is None else content.to_bytes()

        dtype, precision = chunk_spec.dtype.to_native_dtype(), checked_precision(self.max_error, None)
        return await read_part(fetch, part, chunk_spec.shape, dtype, self.threads, precision)

    async def _encode_partial_single(
        self, byte_setter: ByteSetter, chunk_array: NDBuffer, selection: Any, chunk_spec: ArraySpec
    ) -> None:
        values, stored = chunk_array.as_numpy_array(), None
        if not Part.of(selection, chunk_spec.shape).is_all(chunk_spec.shape):
            stored = await byte_setter.get(chunk_spec.prototype)
        previous = None if stored is None else stored.to_bytes()
        with _naming(byte_setter):
            stream = await asyncio.to_thread(self._changed, values, selection, chunk_spec, previous)
        if stream is None:
            await byte_setter.delete()
        else:
            await byte_setter.set(chunk_spec.prototype.buffer.from_bytes(stream))

    def _number(self) -> Real | None:
        return None if self.fill_value == _OF_ARRAY else super()._number()

    def _changed(self, values: Array, selection: Any, chunk_spec: ArraySpec, previous: bytes | None) -> bytes | None:
        """The stream of a chunk after a selection was set to values; None if the chunk is empty and empty chunks are not
        stored.
        """
        dtype = chunk_spec.dtype.to_native_dtype()
        if previous is None and Part.of(selection, chunk_spec.shape).is_all(chunk_spec.shape):
            filled = values.reshape(chunk_spec.shape) if values.ndim else np.full(chunk_spec.shape, values)
            array: Array = filled.astype(dtype, copy=False)
        else:
            if previous is None:
                array = np.full(chunk_spec.shape, _fill(chunk_spec), dtype)
            else:
                array = self._chunk(previous, chunk_spec, None)
            place = array[selection].shape
            # Of a selection by arrays zarr has dropped the axes that an integer indexes; the order of the values is the same.
            array[selection] = values.reshape(place) if values.ndim and values.size == np.prod(place, dtype=int) else values
        if not chunk_spec.config.write_empty_chunks and _is_empty(array, chunk_spec):
            return None
        return self._stream(array, chunk_spec, previous)

    def _chunk(self, stream: bytes, chunk_spec: ArraySpec, max_error: Real | None) -> Array:
        """The array of a stored chunk, with at most this error. None: all layers, as needed before writing it again."""
        header = stream_info.info(stream)
        check_shape(header.shape, chunk_spec.shape)
        array = decoded_array(stream, self.threads, max_error, header.array_bytes)
        return of_dtype(array, chunk_spec.dtype.to_native_dtype()).reshape(chunk_spec.shape)

    def _stream(self, array: Array, chunk_spec: ArraySpec, previous: bytes | None) -> bytes:
        """Compresses a chunk. `previous`: the stream it was decoded from before it was changed."""
        if array.dtype.kind != "b":
            dtype: DType = array.dtype.newbyteorder("<") if previous is None else stream_info.info(previous).dtype
            array = array.astype(dtype, copy=False)
        fill_value = _number(chunk_spec.fill_value) if self.fill_value == _OF_ARRAY else self._number()
        return self.encoded(array, fill_value, previous)


@contextmanager
def _naming(getter: object) -> Iterator[None]:
    """Adds the location of a chunk to errors, as far as zarr tells it: store and key, or the place in a shard."""
    try:
        yield
    except StzError as error:
        coordinates = getattr(getter, "chunk_coords", None)
        place = f"the chunk {coordinates} of a shard" if coordinates is not None else str(getter)
        raise error.within(place) from error


def _is_empty(array: Array, chunk_spec: ArraySpec) -> bool:
    """True if all samples are the fill value, bit for bit. Of most chunks the first sample tells that they are not, while zarr
    holds the GIL to compare them all.
    """
    buffer, fill = chunk_spec.prototype.nd_buffer, _fill(chunk_spec)
    return all(buffer.from_numpy_array(part).all_equal(fill) for part in (array[(slice(1),) * array.ndim], array))


def _fill(chunk_spec: ArraySpec) -> Any:
    """The value of samples that are not stored."""
    return chunk_spec.dtype.default_scalar() if chunk_spec.fill_value is None else chunk_spec.fill_value


def _number(fill_value: Any) -> Real | None:
    """The fill value of an array in the form that STZ accepts; None for values that need no option."""
    number = fill_value.item() if isinstance(fill_value, np.generic) else fill_value
    if isinstance(number, complex):  # which has no missing samples but NaN
        return number.real if np.isfinite(number) else None
    return int(number) if isinstance(number, bool) else number

"""The numcodecs codec, for zarr format 2 and other users of numcodecs: codec_id "h5stz".

numcodecs passes memory without axes: decoded data have the memory layout of the encoded data. A Fortran-ordered array is
therefore stored as its transpose. zarr knows the order and restores the axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
from numcodecs.abc import Codec

from h5stz import _core, codec, elements
from h5stz.elements import Array, BytesLike
from h5stz.errors import StzError, StzTypeError
from h5stz.hdf5 import calls
from h5stz.reading.chunk_index import confuses_chunks
from h5stz.stream_info import StreamInfo, info
from h5stz.zarr.codec_options import CodecOptions, decoded_array

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_CAPACITY = _core.ERROR_CODES["STZ_ERROR_CAPACITY"]
_DTYPE = _core.ERROR_CODES["STZ_ERROR_DTYPE"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Stz(CodecOptions, Codec):  # type: ignore[misc]
    """numcodecs codec: the compressor of zarr format 2, `Stz(absolute=1e-3)`. Options: see CodecOptions.

    dtype and shape are taken from the encoded buffer and stored in the stream. Decoding needs no options.
    """

    codec_id = "h5stz"

    @classmethod
    def of_dataset(cls, dataset: h5py.Dataset) -> Stz:
        """The codec that decodes references to the chunks of an HDF5 dataset, such as those of kerchunk.

        Args:
            dataset: h5py.Dataset whose only filter is h5stz.

        Raises:
            StzError: (a ValueError) the dataset has other filters, or references to its chunks would give wrong samples or
                none, because HDF5 does not tell where its chunks are or which of them are stored without the filter.
        """
        creation = dataset.id.get_create_plist()
        filters = [creation.get_filter(index)[0] for index in range(creation.get_nfilters())]
        if filters != [_core.FILTER_ID]:
            raise StzError(
                f"{dataset.name} has the HDF5 filters {filters}: references need h5stz as the only filter", _ARGUMENT
            )
        if confuses_chunks(dataset):
            raise StzError(
                f"{dataset.name} grows along an axis other than the first, and HDF5 cannot locate the chunks of such a "
                "dataset: copy it to one that does not grow, or read it with h5stz.open",
                _ARGUMENT,
            )
        partial = any(extent % chunk for extent, chunk in zip(dataset.shape, dataset.chunks or (), strict=True))
        if partial and calls.edges_may_be_raw(creation):
            raise StzError(f"{dataset.name} has chunks at its edge that are stored raw: copy it with h5repack", _ARGUMENT)
        return cls(lossless=True)  # decoding needs no options

    def encode(self, buf: Any) -> bytes:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Compresses an array to a stream.

        Args:
            buf: ndarray or another typed buffer, with any strides, memory order and byte order.

        Raises:
            StzTypeError: (also a TypeError) an untyped buffer, or a type that cannot be compressed.
            StzError: (a ValueError) the options do not suit the array.
        """
        array = _typed(buf)
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            array = array.T
        return self.encoded(array, self.fill_value)

    def decode(self, buf: BytesLike, out: Any = None) -> Any:
        """Decompresses a stream to an array.

        Args:
            buf: contiguous bytes-like.
            out: writable buffer to decode into, of exactly the array's size: contiguous bytes, or an ndarray with its dtype.

        Returns:
            `out`, or an ndarray with the encoded shape (reversed for an array in Fortran order).

        Raises:
            StzError: (a ValueError) `buf` is not a stream or is damaged, or `out` does not fit.
        """
        if out is None:
            return decoded_array(buf, self.threads, self.max_error)
        header = info(buf)
        array = _target(out, header)
        if array.shape == header.shape and not (array.flags.c_contiguous or array.flags.f_contiguous):
            array[...] = decoded_array(buf, self.threads, self.max_error, header.array_bytes)
        else:
            memory = elements.as_bytes(array.reshape(-1, order="A")).view(header.dtype).reshape(header.shape)
            verify = self.max_error is None and _core.verify_of_environment()
            codec.decompress(buf, out=memory, threads=self.threads, verify=verify, max_error=self.max_error)
        return out

    def get_config(self) -> dict[str, Any]:
        """The options that differ from the defaults, with the id, for JSON."""
        return {"id": self.codec_id, **self.configuration()}


def _typed(buf: Any) -> Array:
    """The argument of encode() as an ndarray."""
    if not hasattr(buf, "dtype"):
        try:
            untyped = memoryview(buf).format in ("B", "b", "c")
        except TypeError:
            untyped = False
        if untyped:
            raise StzTypeError(
                f"buf is a {type(buf).__name__}, bytes without a dtype: give an array, "
                "numpy.frombuffer(data, dtype).reshape(shape), and put the codec first, before others that make bytes",
                _DTYPE,
            )
    return np.asanyarray(buf)


def _target(out: Any, header: StreamInfo) -> Array:
    """`out` as an ndarray, checked against the array of the stream."""
    array = out if isinstance(out, np.ndarray) else np.asarray(memoryview(out))
    is_bytes, is_time = array.dtype.kind in "biu" and array.dtype.itemsize == 1, array.dtype.kind in "mM"
    if array.dtype != header.dtype and not is_bytes and not is_time:
        raise StzTypeError(
            f"out is of dtype {array.dtype.str}, the stream holds {header.dtype.str}: give such an array", _DTYPE
        )
    if array.nbytes != header.array_bytes:
        raise StzError(f"out has {array.nbytes} bytes, the array of the stream {header.array_bytes}: give as many", _CAPACITY)
    contiguous = array.flags.c_contiguous or array.flags.f_contiguous
    if not array.flags.writeable or not (contiguous or (array.shape, array.dtype) == (header.shape, header.dtype)):
        raise StzError("out is not contiguous, or cannot be written to: decode without out= and assign the result", _ARGUMENT)
    return array

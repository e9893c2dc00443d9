"""Chunks of one dataset, compressed and decoded by the plug-in itself but without HDF5, so that threads can do it at once.

The streams are those of the filter, byte for byte, and the plug-in remembers and recognises the chunks as if they had passed
through the filter (docs/rewriting.md). Nothing else in the package encodes a chunk from the client data of a dataset.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Sequence
from math import prod

import numpy as np

from h5stz import _core
from h5stz.elements import Array, DType, as_bytes
from h5stz.errors import StzError, StzMemoryError
from h5stz.hdf5.registration import plugin

_MEMORY = _core.ERROR_CODES["STZ_ERROR_MEMORY"]
_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_CODE = re.compile(r"\(error (-?\d+)\)")
_TEXT = 1024  # bytes of a message

plugin_encode = plugin().stz_h5_encode_chunk
plugin_encode.restype = ctypes.c_size_t
plugin_encode.argtypes = [
    *(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int),
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t),
]
plugin_decode = plugin().stz_h5_decode_chunk
plugin_decode.restype = ctypes.c_int
plugin_decode.argtypes = [
    *(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t),
    *(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t),
]


class ChunkCodec:
    """Compresses and decodes the chunks of a dataset. Any number of threads may use it. It calls neither HDF5 nor h5py.

    Args:
        client_data: of the filter, as the dataset has it.
        dtype: of the dataset.
        chunks: shape of the chunks.
        fill: value of elements beyond the end of the dataset.
    """

    def __init__(self, client_data: Sequence[int], dtype: DType, chunks: Sequence[int], fill: object) -> None:
        self.client_data, self.dtype, self.chunks, self.fill = tuple(client_data), dtype, tuple(chunks), fill
        self._words = (ctypes.c_uint * len(client_data))(*client_data)
        self._bytes = prod(chunks) * dtype.itemsize
        self._of_thread = threading.local()
        meaning = _core.parse(self.client_data)
        self._capacity = _core.max_compressed_size(meaning["dtype"], meaning["byte_order"], self.chunks)

    def __reduce__(self) -> tuple[object, ...]:
        return ChunkCodec, (self.client_data, self.dtype, self.chunks, self.fill)

    def encode(self, part: Array, threads: int = 1) -> Array:
        """The stream of a chunk, as an array of bytes. `part`: its samples within the dataset, in any type that converts."""
        samples = part
        if part.shape != self.chunks or part.dtype != self.dtype or not part.flags.c_contiguous:
            samples = self._whole(part)
        out = np.empty(self._capacity, np.uint8)  # pages that are not written use no memory
        text = ctypes.create_string_buffer(_TEXT)
        words = self._words
        size = plugin_encode(
            len(words), words, samples.ctypes.data, self._bytes, threads, out.ctypes.data, self._capacity, text, _TEXT
        )
        if not size:
            raise _error(text.value)
        return out[:size]

    def _whole(self, part: Array) -> Array:
        """A chunk as HDF5 holds it: contiguous, and padded with the fill value beyond the end of the dataset."""
        whole = self.buffer()
        if part.shape == self.chunks:
            np.copyto(whole, part, casting="unsafe")
            return whole
        whole[...] = self.fill
        np.copyto(whole[tuple(map(slice, part.shape))], part, casting="unsafe")
        return whole

    def buffer(self) -> Array:
        """An array for a chunk, one for each thread: the system would have to clear new memory for each chunk."""
        if not hasattr(self._of_thread, "whole"):
            self._of_thread.whole = np.empty(self.chunks, self.dtype)
        whole: Array = self._of_thread.whole
        return whole

    def decode(
        self, stream: bytes | memoryview | Array, out: Array, threads: int = 1, *, verify: bool = False, remember: bool = False
    ) -> None:
        """Decodes a stream into `out`, a C-contiguous array of the shape and dtype of a chunk.

        Args:
            stream: its bytes.
            out: the array.
            threads: as in stz.h.
            verify: compare with the content check.
            remember: the plug-in remembers the chunk, as it does if HDF5 reads it.

        Raises:
            StzError: the stream is damaged, or of another dataset.
        """
        content = np.frombuffer(stream, np.uint8)
        text = ctypes.create_string_buffer(_TEXT)
        words = self._words
        done = plugin_decode(
            *(len(words), words, content.ctypes.data, content.size, as_bytes(out).ctypes.data, out.nbytes),
            *(threads, verify, remember, text, _TEXT),
        )
        if not done:
            raise _error(text.value)


def _error(text: bytes) -> StzError:
    """The error of a message of the plug-in."""
    said = text.decode(errors="replace")
    code = int(found[1]) if (found := _CODE.search(said)) else _MEMORY if "memory" in said or "bad_alloc" in said else _ARGUMENT
    return (StzMemoryError if code == _MEMORY else StzError)(said, code)

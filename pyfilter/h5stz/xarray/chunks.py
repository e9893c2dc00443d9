"""Chunk shapes for xarray variables. Data that are written together should be in one chunk."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from h5stz import _core
from h5stz.elements import DType
from h5stz.errors import StzError
from h5stz.options.chunks import APPENDED, SMALL, TARGET, suggest_chunks

if TYPE_CHECKING:
    import xarray

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
#: How chunks are asked for: "auto", or lengths along dimensions (-1: all of it) beside which the others are found.
Chunks: TypeAlias = Literal["auto"] | Mapping[Hashable, int]


def chunks_of(variable: xarray.Variable, dtype: DType, chunks: Chunks, append_axis: int | None) -> tuple[int, ...]:
    """The chunk shape: the caller's, otherwise the one in the variable's encoding, otherwise one that suits the data.

    Raises:
        StzError: (a ValueError) `chunks` is neither "auto" nor a mapping of dimensions to lengths.
    """
    if chunks != "auto" and not isinstance(chunks, Mapping):
        raise StzError(f'chunks={chunks!r}: give "auto", or lengths by dimension such as {{"time": 1}}', _ARGUMENT)
    stored = variable.encoding.get("chunksizes")
    if stored is not None and len(stored) == variable.ndim:
        shape = tuple(int(extent) for extent in stored)
    elif variable.chunks is not None:
        shape = _of_blocks(variable, dtype, append_axis)
    else:
        shape = suggest_chunks(variable.shape, dtype, append_axis=append_axis)
        shape = _dividing(shape, variable.shape, dtype, append_axis)
    if chunks != "auto":
        named = zip(variable.dims, shape, variable.shape, strict=True)
        shape = tuple(_length(dim, chunks.get(dim, extent), size) for dim, extent, size in named)
    return tuple(min(extent, size) if size else extent for extent, size in zip(shape, variable.shape, strict=True))


def _length(dim: Hashable, length: int, size: int) -> int:
    if isinstance(length, bool) or not isinstance(length, int) or length < -1 or length == 0:
        raise StzError(f"chunks={{{dim!r}: {length!r}}}: give a number of samples, or -1 for all of the dimension", _ARGUMENT)
    return max(size, 1) if length == -1 else length


def _of_blocks(variable: xarray.Variable, dtype: DType, append_axis: int | None) -> tuple[int, ...]:
    """Chunks that no two dask blocks share, if the blocks are equal. Shared chunks would be compressed twice."""
    blocks = tuple(max(lengths, default=0) for lengths in variable.chunks or ())
    size = math.prod(blocks) * dtype.itemsize
    if size < SMALL * 16 and size < math.prod(variable.shape) * dtype.itemsize:
        return suggest_chunks(variable.shape, dtype, append_axis=append_axis)
    if size <= 2 * TARGET:
        return tuple(max(extent, 1) for extent in blocks)
    part = suggest_chunks(blocks, dtype)
    pairs = zip(part, blocks, variable.shape, strict=True)
    return tuple(extent if block == whole or block % extent == 0 else block for extent, block, whole in pairs)


def _dividing(chunk: tuple[int, ...], shape: tuple[int, ...], dtype: DType, append_axis: int | None) -> tuple[int, ...]:
    """Adjusts the chunk so that its number of planes divides the length of the series, if a similar size does.

    A chunk along the growing axis is stored losslessly until it is full.
    """
    if append_axis is None or not shape[append_axis] or chunk[append_axis] == 1:
        return chunk
    plane = math.prod(chunk) // chunk[append_axis] * dtype.itemsize
    length = shape[append_axis]
    fitting = [n for n in range(2, 2 * APPENDED + 1) if length % n == 0 and n * plane <= TARGET]
    if not fitting:
        return chunk
    planes = min(fitting, key=lambda n: abs(n - chunk[append_axis]))
    return (*chunk[:append_axis], planes, *chunk[append_axis + 1 :])

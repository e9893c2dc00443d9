"""The function `view`, which checks its arguments and makes a View of a dataset."""

from __future__ import annotations

from typing import SupportsIndex

import h5py

from h5stz import _core
from h5stz.damage import OnError
from h5stz.errors import StzError, StzTypeError
from h5stz.limits import checked_max_bytes
from h5stz.reading.arguments import checked_cache_bytes
from h5stz.reading.view import View
from h5stz.reading.view_sources import GivenSource
from h5stz.signatures import checked

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
CACHE_BYTES = 128 << 20


@checked
def view(
    dataset: h5py.Dataset,
    *,
    cache_bytes: SupportsIndex = CACHE_BYTES,
    threads: int | None = None,
    verify: bool | None = None,
    max_bytes: SupportsIndex | None = None,
    on_error: OnError = "raise",
) -> View:
    """A view of a dataset: an array-like that reads and decodes only the blocks that an index needs.

    Works with every h5py dataset. Datasets whose only filter is not h5stz are read through h5py, virtual datasets from their
    sources (docs/region_reads.md).

    Args:
        dataset: h5py.Dataset. Its file must stay open, except for pickled views, which open the file themselves.
        cache_bytes: cache for decoded blocks, in bytes; 0 turns it off.
        threads: number of threads, as for compress(). They decode several chunks, or the blocks of few chunks, in parallel.
        verify: True compares blocks of the finest level with the content checks of their streams, as verify() does, if a read
            decodes the whole block. Partly decoded blocks, cached blocks and reads through h5py are not compared. False
            compares nothing. None: the environment variable H5STZ_VERIFY decides at each read.
        max_bytes: largest array that a read allocates, in bytes. A file may claim a dataset of any size. None: the value of
            the environment variable H5STZ_MAX_BYTES at each read, or no limit.
        on_error: what to do about samples that cannot be read because the file is damaged (docs/damage.md). "raise" raises an
            error. "nan" sets them to NaN (floating-point and complex data). "fill" sets them to the fill value of the dataset,
            `_FillValue` or HDF5's, which it must have. A number sets them to this number. All other samples are exact. Each
            read with losses issues a DamageWarning, and `View.damage` lists the damage.

    Returns:
        View

    Raises:
        StzError: (a ValueError) the dataset is closed, cache_bytes is negative, or the type of the dataset cannot hold the
            value on_error.
        StzTypeError: (also a TypeError) `dataset` is not an h5py.Dataset or has no shape, or another argument has the wrong
            type.
    """
    if not isinstance(dataset, h5py.Dataset):
        given = type(dataset).__name__
        raise StzTypeError(f"dataset is of type {given}: give an h5py.Dataset, such as file['name']", _ARGUMENT)
    if not dataset.id.valid:
        raise StzError("the file of the dataset was closed: open it again", _ARGUMENT)
    if dataset.shape is None:
        raise StzTypeError("the dataset is empty (its dataspace is null): there is nothing to index", _ARGUMENT)
    source = GivenSource(dataset, checked_cache_bytes(cache_bytes, threads, verify), verify, on_error)
    rank = len(dataset.shape)
    return View(source, (0,) * rank, tuple(range(rank)), threads, max_bytes=checked_max_bytes(max_bytes))

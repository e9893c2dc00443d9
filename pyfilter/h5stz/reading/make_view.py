"""The function `view`, which makes a View of a dataset after a look at what it is given."""

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
    """An array-like over a dataset that reads and decodes only the blocks that an index needs.

    Works with any h5py dataset: what is not compressed with h5stz alone is read through h5py, and a virtual dataset from its
    sources (docs/region_reads.md).

    Args:
        dataset: h5py.Dataset; its file must stay open. A view that was pickled opens the file by itself.
        cache_bytes: most that is kept for the next read, in bytes; 0 keeps nothing.
        threads: as of compress(); chunks are decoded side by side, and blocks where there are fewer chunks.
        verify: True: blocks of the finest level that a read decodes as a whole are compared with the content checks of their
            streams, as verify() does; not blocks of which it needs a part only, those that were kept, and what h5py reads.
            False: none are. None: as the environment variable H5STZ_VERIFY says at each read.
        max_bytes: largest array that a read makes, in bytes, as a file may claim datasets of any size. None: as the environment
            variable H5STZ_MAX_BYTES says at each read, or no limit.
        on_error: what takes the place of samples that cannot be read as something in the file is damaged (docs/damage.md).
            "raise": nothing, a read of them fails. "nan": NaN, of floating-point and complex data. "fill": the fill value of
            the dataset, `_FillValue` or that of HDF5, if it has one. A number: this number. All other samples have their
            bits; each read that lost something warns (DamageWarning), and `View.damage` lists what was damaged.

    Returns:
        View.

    Raises:
        StzError: (a ValueError) the dataset was closed, cache_bytes is negative, or its type has no such value as on_error.
        StzTypeError: (a TypeError too) `dataset` is not an h5py.Dataset or has no shape, or a number is of another type.
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

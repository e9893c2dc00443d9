"""The warning about chunks that h5py chose by itself and that are too small for h5stz.

Only h5py knows that nobody chose the chunks, and for which shape it chose them: HDF5 tells the filter the chunk shape alone.
h5py reads the client data of the filter at that moment, before the dataset exists. So the client data of STZ look at who reads
them. A warning that is an error then leaves create_dataset() as any other error does, and no dataset is created.
"""

from __future__ import annotations

import math
import sys
import threading
import warnings
from collections.abc import Sequence
from types import FrameType

import h5py
import numpy as np

from h5stz.elements import DType
from h5stz.options.chunks import BLOCK, GOOD, suggest_chunks

_LARGE = 1 << 20  # bytes: of smaller datasets, chunks of any shape are few
#: Packages that create datasets for the user's line, and what stands between their functions.
_BETWEEN = {"h5py", "h5stz", "h5netcdf", "xarray", "anndata", "dask", "functools", "legacy_api_wrap"}
_told = threading.Lock()  # held for ever once the process was warned; nobody waits for it, so a fork may happen at any time


class ClientData(tuple[int, ...]):
    """Client data as a tuple that notices when h5py creates a dataset with them."""

    __slots__ = ()

    def __len__(self) -> int:
        reader = sys._getframe().f_back
        if reader is not None and reader.f_globals is vars(h5py.filters):
            _look_at(reader)
        return super().__len__()


def _look_at(reader: FrameType) -> None:
    """Warns if `reader`, h5py's function that makes creation properties, has chosen small chunks for a large dataset.

    The names are those of h5py 3. Where another version has other names, nothing is known and nothing happens.
    """
    asked = reader.f_back.f_locals.get("chunks", False) if reader.f_back is not None else False
    shape, chunks, dtype = (reader.f_locals.get(name) for name in ("shape", "chunks", "dtype"))
    if not (asked is None or asked is True):
        return
    if not (isinstance(shape, tuple) and isinstance(chunks, tuple) and isinstance(dtype, np.dtype)):
        return
    size = math.prod(chunks) * dtype.itemsize
    if size >= GOOD[0]:
        return
    better = _better(shape, reader.f_locals.get("maxshape"), dtype)
    if better is None or not _told.acquire(blocking=False):
        return
    try:
        warnings.warn(
            f"h5py chose chunks {chunks} of {size / 1024:.3g} KiB for a dataset of shape {shape}: h5stz compresses such small "
            f"chunks slowly, and less well. Pass chunks={better}, as h5stz.suggest_chunks suggests, or let h5stz.write, "
            "h5stz.to_netcdf or h5stz.repack choose",
            UserWarning,
            _level_of_user(),
        )
    except BaseException:  # an error leaves the process unwarned: the next dataset fails too
        _told.release()
        raise


def _better(shape: tuple[int, ...], limits: Sequence[int | None] | None, dtype: DType) -> tuple[int, ...] | None:
    """The chunk shape to suggest; None if the dataset is too small for good chunks. `limits`: the maxshape.

    What a dataset grows to is not known. So it counts as it is, and an axis that begins at 0 as suggest_chunks() counts it.
    """
    if limits is None:
        limits = shape
    growing = [axis for axis, extent in enumerate(shape) if extent == 0]
    if math.prod(extent or BLOCK for extent in shape) * dtype.itemsize < _LARGE:
        return None
    suggested = suggest_chunks(shape, dtype, append_axis=growing[0] if len(growing) == 1 else None)
    # An axis that stays 0 makes the chunk empty.
    chunk = tuple(extent if limit is None else min(extent, limit) for extent, limit in zip(suggested, limits, strict=True))
    return chunk if math.prod(chunk) * dtype.itemsize >= GOOD[0] else None


def _level_of_user() -> int:
    """The `stacklevel` of the first caller outside h5py and the packages that use it, counted from _look_at()."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    return level

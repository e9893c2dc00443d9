"""Views as dask arrays: their chunks suit those of the file, their names identify the content, and each process opens the file
once.

dask is imported on use; only this folder needs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any, SupportsIndex

import h5py
import numpy as np

from h5stz.reading.make_view import view
from h5stz.reading.view import View
from h5stz.signatures import checked

if TYPE_CHECKING:
    import dask.array


@checked
def dask_array(
    dataset: h5py.Dataset | View,
    *,
    level: SupportsIndex = 0,
    axes: SupportsIndex | Iterable[SupportsIndex] | None = None,
    chunks: Any = "auto",
) -> dask.array.Array:
    """A dataset, or a resolution level of it, as a lazy dask array. Only the blocks that a computation needs are read and
    decoded.

    Works with all schedulers. Tasks in this process read through the given dataset. After its file was closed, and in other
    processes, tasks open the file by name, once for each process (see close_files()). This requires a file that is open for
    reading and has a name on disk. Other files, such as those open for writing, can be read by threads of this process only.

    Args:
        dataset: h5py.Dataset, compressed with h5stz or not; or a View of one, whose cache_bytes and verify are used.
        level, axes: as for View.level().
        chunks: as for dask.array.from_array(). "auto", or a size as text ("64 MiB"), gives blocks of about that size that
            consist of whole chunks of the dataset, or of equal parts of a chunk that is larger ("auto": the size in dask's
            configuration). For a virtual dataset, the part from one source counts as a chunk if all these parts have the same
            shape.

    Returns:
        dask.array.Array with the dtype of the dataset. The same samples of the same, unchanged file have the same name.

    Raises:
        ImportError: dask is not installed.
        StzError, StzTypeError: as for view() and View.level().
    """
    try:
        core: Any = import_module("dask.array.core")
        base: Any = import_module("dask.base")
    except ImportError as error:
        raise ImportError("h5stz.dask_array needs dask: pip install 'h5stz[dask]'", name="dask") from error
    array = (dataset if isinstance(dataset, View) else view(dataset)).level(level, axes).detached()
    unit = array.storage_unit
    extents = core.normalize_chunks(chunks, array.shape, dtype=array.dtype, previous_chunks=unit and array.thinned(unit))
    if isinstance(chunks, str) and unit:
        extents = tuple(
            _aligned(extent, unit[axis], array.spacing[axis], extents[axis][0]) for axis, extent in enumerate(array.shape)
        )
    name = f"h5stz-{base.tokenize(array, extents)}"
    meta = np.empty((0,) * array.ndim, array.dtype)
    lazy: dask.array.Array = core.from_array(_Blocks(array), extents, name=name, asarray=True, meta=meta, inline_array=True)
    return lazy


class _Blocks:
    """A View with the indexing that dask uses. It accepts lists; otherwise dask would read whole blocks and select from them.

    Attributes:
        shape, dtype, ndim: of the View.
    """

    def __init__(self, array: View) -> None:
        self._array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, index: tuple[Any, ...]) -> Any:
        """Indexing as in NumPy, with integers, slices with positive steps and at most one list, whose bounding box is read."""
        lists = [axis for axis, item in enumerate(index) if isinstance(item, (list, np.ndarray))]
        if not lists:
            return self._array[index]
        (axis,) = lists
        numbers = np.asarray(index[axis], np.intp)
        first = int(numbers.min(initial=self.shape[axis]))
        around = slice(first, int(numbers.max(initial=first - 1)) + 1)
        box_index = (*index[:axis], around, *index[axis + 1 :])
        box = self._array[box_index]
        return np.take(box, numbers - first, axis=axis - sum(isinstance(item, Integral) for item in index[:axis]))


def _aligned(extent: int, unit: int, spacing: int, wanted: int) -> tuple[int, ...]:
    """Block lengths of about `wanted` samples, `extent` in total, that end at the borders of units of the dataset.

    Args:
        unit: length of a unit in samples of the dataset; the array has every `spacing`-th of them.
        wanted: length of a block in samples of the array.
    """
    if wanted >= extent:
        return (extent,)
    units = max(1, wanted * spacing // unit)  # in each length
    parts = max(1, -(-unit // (wanted * spacing)))  # or lengths in each unit
    ends: list[int] = [0]
    while ends[-1] < extent:
        done = (len(ends) - 1) // parts * units * unit  # samples of the dataset
        within = (len(ends) - 1) % parts + 1
        ends.append(min(extent, -(-(done + within * units * unit // parts) // spacing)))
    return tuple(end - begin for begin, end in pairwise(ends) if end > begin)

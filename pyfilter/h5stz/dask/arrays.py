"""Views as arrays of dask: chunks that suit those of the file, names that say what is in them, one open file for each process.

dask is imported when it is needed; nothing else of the package needs it.
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
    """A dataset, or a resolution level of it, as a lazy array of dask that reads and decodes only what is computed.

    Works with all schedulers. Tasks in this process read through the dataset that was given; after its file was closed, and in
    other processes, they open the file again by name, once for each process (see close_files()). So the file must be open for
    reading and have a name on disk; others, such as those that are being written, can be read by threads of this process.

    Args:
        dataset: h5py.Dataset, compressed with h5stz or not, or a View of one, which brings its cache_bytes and verify.
        level, axes: as of View.level().
        chunks: as of dask.array.from_array(). "auto", or a number of bytes as text ("64 MiB"): whole chunks of the dataset,
            so many that an array of them has about so many bytes ("auto": what dask is configured to), or equal parts of chunks
            which are larger than that. Of a virtual dataset, what a source has counts as a chunk where all have the same.

    Returns:
        dask.array.Array of the dataset's dtype. Its name is the same for the same samples of the same, unchanged file.

    Raises:
        ImportError: dask is not installed.
        StzError, StzTypeError: as view() and View.level().
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
    """A View as dask indexes it: only of an array that takes lists does dask read no more of a block than is computed.

    Attributes:
        shape, dtype, ndim: of the View.
    """

    def __init__(self, array: View) -> None:
        self._array = array
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, index: tuple[Any, ...]) -> Any:
        """As of NumPy, for integers, slices with positive steps and at most one list: the box around its numbers is read."""
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
    """Lengths of about `wanted` samples, of `extent` in all, that end where units of the dataset end.

    Args:
        unit: samples of the dataset; one of the array is `spacing` of them.
        wanted: samples of the array.
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

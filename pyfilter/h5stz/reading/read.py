"""The function `read`: a part of a dataset or all of it, with all processors."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import h5py
import numpy as np

from h5stz import _core
from h5stz.elements import Array
from h5stz.errors import StzError, StzTypeError
from h5stz.hdf5.short_floats import ShortFloats, short_float_of
from h5stz.limits import refuse_larger
from h5stz.options.option_checks import all_cores
from h5stz.progress import Add, Meter, Progress, unwanted
from h5stz.reading.arguments import check_out
from h5stz.reading.selection import parse
from h5stz.reading.stats import Unwanted
from h5stz.reading.virtual_datasets import reader_of
from h5stz.signatures import checked
from h5stz.unreadable import h5py_getitem, naming

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]


@checked
def read(
    dataset: h5py.Dataset,
    selection: Any = ...,
    *,
    threads: int | None = None,
    out: Array | None = None,
    progress: Progress | None = None,
) -> Any:
    """Reads a dataset, or a part of it, with all processors: ``dataset[selection]`` (docs/parallel.md).

    The values are those of ``dataset[selection]``; bfloat16 and float8 are arrays of ml_dtypes (docs/options.md#types). HDF5
    decodes one chunk after the other. Here, threads decode several chunks at a time, straight into the result. HDF5 reads
    datasets without h5stz or with other filters, and files that are open for writing.

    Args:
        dataset: h5py.Dataset.
        selection: integers, slices, ... or a tuple of them, as NumPy takes them (negative steps too). h5py reads lists, masks
            and names of fields.
        threads: number of threads, 1 to 255. None: the number in the environment variable H5STZ_THREADS, otherwise all
            processors that the process may use.
        out: writable ndarray with the dataset's dtype and the result's shape, with any strides, to read into. After an error
            its contents are unspecified.
        progress: called as ``progress(path, done, total)`` with the bytes of the result that were read, after each chunk;
            after each row of chunks if HDF5 reads; once if the selection is h5py's. If it raises an exception, the call ends
            with it.

    Returns:
        ndarray: `out`, or a new array; a NumPy scalar if every axis is indexed by an integer and `out` is None.

    Raises:
        StzError: (a ValueError) the file was closed, was changed or is damaged; `out` does not fit. The message names the file,
            the dataset and the chunk.
        StzTypeError: (also a TypeError) `dataset` is not an h5py.Dataset, or `out` has another dtype.
        IndexError: an integer is out of range, or there are too many indices.
        OSError: HDF5 cannot read the file.
        Any exception of `progress`.
    """
    count = all_cores(threads)
    if not isinstance(dataset, h5py.Dataset):
        given = type(dataset).__name__
        raise StzTypeError(f"dataset is of type {given}: give an h5py.Dataset, such as file['name']", _ARGUMENT)
    if not dataset.id.valid:
        raise StzError("the file of the dataset was closed: open it again", _ARGUMENT)
    if short := short_float_of(dataset):
        dataset = ShortFloats(dataset.id, short)
    try:
        selected = None if dataset.shape is None else parse(selection, dataset.shape)
    except StzTypeError:
        selected = None
    if selected is None:
        result = _through_h5py(dataset, selection, out)
        with _told(progress, dataset, np.asarray(result).nbytes):
            return result
    size = selected.size * dataset.dtype.itemsize
    if out is not None:
        check_out(out, selected.shape, dataset.dtype)
    else:
        refuse_larger("the result takes", size, None, instead="read a smaller region, or ")
    reader = reader_of(dataset, 0, Unwanted(), None, "raise", remember=True)
    with _told(progress, dataset, size) as add:
        return reader.read(selected, out, count, add=add)


def _told(progress: Progress | None, dataset: h5py.Dataset, size: int) -> AbstractContextManager[Add]:
    """A context that tells the progress of reading `size` bytes."""
    return nullcontext(unwanted) if progress is None else Meter(progress, size).share(str(dataset.name), size)


def _through_h5py(dataset: h5py.Dataset, selection: Any, out: Array | None) -> Any:
    """What h5py reads for an index that only h5py knows."""
    with naming(dataset):
        try:
            result = h5py_getitem(dataset, selection)
        except OSError as error:
            if "not within extent" in str(error):
                raise IndexError(f"the selection of {dataset.name} reaches beyond its shape {dataset.shape}") from error
            raise
    if out is None:
        return result
    check_out(out, result.shape, result.dtype)
    out[...] = result
    return out

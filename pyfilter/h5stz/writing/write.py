"""The function `write`: one call that makes a compressed dataset from data, with all processors."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import numpy.typing as npt

from h5stz import _core, elements
from h5stz.dask.writing import write_array
from h5stz.elements import DType
from h5stz.errors import StzError, StzTypeError
from h5stz.hdf5.short_floats import creation_type, typed
from h5stz.options.chunks import suggest_chunks
from h5stz.options.option_checks import all_cores, check_creation
from h5stz.options.resolved import MEASURED
from h5stz.options.stz import STZ, CodingOptions
from h5stz.progress import Meter, Progress
from h5stz.signatures import with_options_of
from h5stz.writing.samples import Samples
from h5stz.writing.storing import plain_of, store

if TYPE_CHECKING:
    from typing_extensions import Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_OWN = {
    "name": "give it as the argument name",
    "data": "give the array as the argument data",
    "shape": "it is that of data; give maxshape= for a dataset that grows",
    **{name: f"give {name}= itself" for name in ("dtype", "chunks", "fillvalue", "maxshape")},
}
_MOST = 0xFFFFFFFF  # bytes of a chunk
TARGET = 4 << 20  # bytes of a chunk: enough to compress well, and few enough that threads have many of them


@with_options_of(STZ)
def write(
    parent: h5py.Group,
    name: str | None,
    data: Any,
    *,
    threads: int | None = None,
    chunks: tuple[int, ...] | bool | None = None,
    dtype: npt.DTypeLike | None = None,
    fillvalue: Any = None,
    maxshape: tuple[int | None, ...] | None = None,
    creation: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    **options: Unpack[CodingOptions],
) -> h5py.Dataset:
    """Creates a compressed dataset and writes data to it, with all processors (docs/parallel.md).

    HDF5 compresses one chunk after the other. Here, threads compress several chunks at a time. The chunks are the same, byte
    for byte, as from ``parent.create_dataset(name, data=data, chunks=..., **h5stz.STZ(...))`` with the same client data and
    H5STZ_LEARN=0.

    Args:
        parent: h5py.File or h5py.Group, open for writing.
        name: name of the new dataset, which may have groups in front of it, as in h5py; None for one without a name.
        data: array, or anything with shape, dtype and slicing (h5py, netCDF4, zarr, xarray), which is read piece by piece and
            need not fit in memory. Arrays of dask are computed, each block once. Masked samples become the fill value.
        threads: number of threads, 1 to 255. None: the number in the environment variable H5STZ_THREADS, otherwise all
            processors that the process may use. One thread compresses each chunk. Several threads share a chunk if there are
            fewer chunks than threads.
        chunks: chunk shape. None: the chunks of `data` if they have 256 KiB to 64 MiB, otherwise chunks of up to 4 MiB. An
            array of up to 4 MiB is one chunk.
        dtype: dtype of the dataset, if it is not that of the data.
        fillvalue, maxshape: as for create_dataset.
        creation: further arguments of create_dataset, such as {"track_order": True}; not those that this function has itself.
        progress: called as ``progress(path, done, total)`` with the bytes of the array that were stored, after each chunk. If
            it raises an exception, the call ends with it.
        **options: options of STZ. For `relative`, `psnr` and `ratio`, the data are read once more.

    Returns:
        h5py.Dataset

    Raises:
        StzError: (a ValueError) invalid options, an object of this name exists, the file is closed or open for reading only.
        StzTypeError: (also a TypeError) `parent` is not an h5py.Group, or the dtype cannot be compressed.
        Any exception of `data` or `progress`. Then, and after Ctrl-C, the dataset is removed and the file stays valid.
    """
    count = all_cores(threads)
    _check_parent(parent, name)
    check_creation(creation or (), _OWN)
    arguments = {"fillvalue": fillvalue, "maxshape": maxshape, **(creation or {})}
    masked = elements.is_masked(getattr(data, "_meta", data))  # of dask arrays, _meta is an empty array of their kind
    if masked and fillvalue is not None and options.get("fill_value") is None:
        options["fill_value"] = fillvalue  # of masked samples
    if is_dask(data):
        if masked and fillvalue is None:
            arguments["fillvalue"] = options.get("fill_value") or None
        array = data if dtype is None else data.astype(dtype)
        return _written_by_dask(parent, name, array, arguments, {**options, "chunks": chunks}, progress, count)
    samples = Samples(data, None if dtype is None else elements.as_dtype(dtype))
    stored = samples.dtype if dtype is None else elements.as_dtype(dtype)
    shape = _chunks_of(samples, stored, chunks, maxshape, options.get("append_axis"))
    stz = _stz(samples, stored, shape, options, count)
    if samples.is_masked and arguments["fillvalue"] is None:
        given = options.get("fill_value") or None  # NaN, of which the options say nothing
        arguments["fillvalue"] = given if stz.fill_value is None else stz.fill_value  # so that readers find masked samples
    made = parent.create_dataset(name, samples.shape, creation_type(stored), chunks=shape, **arguments, **stz)
    try:
        plain = plain_of(samples, stz.resolved.settings.fill, options.get("fill_value"))
        with Meter(progress, made.nbytes).share(str(made.name), made.nbytes) as add:
            store(typed(made), samples, plain, count, add)
    except BaseException as error:
        _remove(made, error)
        raise
    return made


def _check_parent(parent: object, name: str | None) -> None:
    """Raises StzError if nothing can be created there."""
    if not isinstance(parent, h5py.Group):
        given = type(parent).__name__
        raise StzTypeError(
            f"parent is of type {given}: give an h5py.File that is open for writing, h5py.File(path, 'a'), or a group of it",
            _ARGUMENT,
        )
    if not parent.id.valid:
        raise StzError("the file of parent was closed: open it again", _ARGUMENT)
    file = parent.file
    if file.mode == "r":
        raise StzError(f"{file.filename} is open for reading only: open it with h5py.File(path, 'a')", _ARGUMENT)
    if file.swmr_mode:
        raise StzError(
            f"{file.filename} is in SWMR mode, in which HDF5 creates no datasets: write before file.swmr_mode = True", _ARGUMENT
        )
    if name is not None and name in parent:
        where = f"{name!r} exists in {file.filename}"
        raise StzError(f"{where}: delete it first (`del parent[{name!r}]`), or give another name", _ARGUMENT)


def _chunks_of(samples: Samples, dtype: DType, chunks: object, maxshape: object, append_axis: int | None) -> tuple[int, ...]:
    """The chunk shape of the dataset."""
    shape = samples.shape
    if not shape:
        raise StzError("a single number has no chunks: write it with parent[name] = number", _ARGUMENT)
    if dtype.names is None and not elements.is_long_double(dtype):  # HDF5 knows complex numbers among the structures
        elements.storage_dtype(dtype)
    if not prod(shape) and maxshape is None:
        raise StzError(
            f"the data have the shape {shape} and no samples: give maxshape=, so that the dataset can grow", _ARGUMENT
        )
    if chunks is None or chunks is True:
        return samples.suitable_chunks() or suggest_chunks(shape, dtype, TARGET, append_axis)
    if isinstance(chunks, int) and chunks and len(shape) == 1:
        chunks = (chunks,)
    if not isinstance(chunks, tuple) or len(chunks) != len(shape) or not all(map(_is_extent, chunks)):
        raise StzError(f"chunks={chunks!r} must be a tuple of {len(shape)} positive integers, one for each axis", _ARGUMENT)
    if prod(chunks) * dtype.itemsize > _MOST:
        text = f"chunks={chunks} have {prod(chunks) * dtype.itemsize} bytes, and HDF5 files have chunks of less than 4 GiB"
        raise StzError(f"{text}: use chunks of 1 to 64 MiB", _ARGUMENT)
    return tuple(map(int, chunks))


def _is_extent(extent: object) -> bool:
    return isinstance(extent, (int, np.integer)) and not isinstance(extent, bool) and bool(extent > 0)


def _stz(samples: Samples, dtype: DType, chunks: tuple[int, ...], options: CodingOptions, threads: int) -> STZ:
    """The STZ of the options, which looks at the data only if it must."""
    given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    if elements.is_long_double(dtype) and not given.get("lossless"):
        elements.storage_dtype(dtype)  # says that it cannot be compressed with a bound
    if samples.is_masked or not given.keys().isdisjoint(MEASURED):
        if dtype != samples.dtype:
            raise StzTypeError(
                f"dtype={dtype} differs from that of the data, {samples.dtype}, on which the bound or the mask depends: "
                "convert the data first",
                _ARGUMENT,
            )
        of_chunks = not given.keys().isdisjoint(("psnr", "ratio"))
        stz = STZ(**given, data=samples.source, chunks=chunks if of_chunks else None)
        return stz.trained(samples.source, chunks, threads=threads)
    if given.get("fill_value") is not None:
        given["dtype"] = dtype
    stz = STZ(**given)
    may_train = samples.in_memory and dtype == samples.dtype and dtype.names is None and not elements.is_long_double(dtype)
    return stz.trained(samples.source, chunks, threads=threads) if may_train else stz


def is_dask(data: object) -> bool:
    """True for an array of dask."""
    return hasattr(data, "dask") and hasattr(data, "to_delayed") and hasattr(data, "chunks")


def _written_by_dask(
    parent: h5py.Group,
    name: str | None,
    array: Any,
    creation: Mapping[str, Any],
    options: dict[str, Any],
    progress: Progress | None,
    threads: int,
) -> h5py.Dataset:
    """Writes an array of dask: its tasks compress the chunks, with the scheduler and workers that dask is set to."""
    dask: Any = import_module("dask")
    options["chunks"] = None if options["chunks"] is True else options["chunks"]
    with dask.config.set(num_workers=threads):
        return write_array(parent, name, array, creation, options, progress, _remove)


def _remove(dataset: h5py.Dataset, error: BaseException) -> None:
    """Removes a dataset that was written in part, and adds a note about it to the error."""
    said = "the dataset has no name and disappears"
    try:
        written, name = dataset.id.get_num_chunks(), dataset.name
        if name is not None:
            del dataset.file[name]
            said = f"{name} was removed from {dataset.file.filename}"
        said += f"; {written} of its chunks had been written"
    except Exception:  # the file was closed, or cannot be written any more
        said = "the dataset is incomplete and could not be removed"
    add_note = getattr(error, "add_note", None)  # Python 3.11
    if add_note is not None:
        add_note(f"h5stz.write: {said}")

"""Writes dask arrays as datasets: workers compress the chunks, one process stores them and bypasses HDF5's filter pipeline.

dask is imported on use; only this folder needs it.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from itertools import accumulate, chain, product
from typing import TYPE_CHECKING, Any, TypeAlias

import h5py

from h5stz import _core, elements, validity
from h5stz.elements import Array
from h5stz.errors import StzError, StzTypeError
from h5stz.files.chunk_compressors import codec_of, connected
from h5stz.hdf5.chunk_codec import ChunkCodec
from h5stz.hdf5.file_kinds import refuse_address
from h5stz.hdf5.short_floats import creation_type, typed
from h5stz.new_files import written_directly
from h5stz.options import bounds
from h5stz.options.chunks import GOOD, suggest_chunks
from h5stz.options.option_checks import BOUNDS, all_cores, check_creation, checked_bound
from h5stz.options.resolved import MEASURED
from h5stz.options.stz import STZ, Options
from h5stz.progress import Meter, Progress
from h5stz.signatures import with_options_of
from h5stz.slabs import Box, boxes
from h5stz.validity import Extremes

if TYPE_CHECKING:
    from typing_extensions import Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_BOUND = _core.ERROR_CODES["STZ_ERROR_BOUND"]
_DTYPE = _core.ERROR_CODES["STZ_ERROR_DTYPE"]
_TASK = 4 << 20  # bytes: a task compresses so many chunks of a block
_MEASURED = frozenset(MEASURED)
_OWN = {
    "name": "give it as the argument path",
    "data": "give the array as the argument array",
    "shape": "it is that of array; give maxshape for a dataset that grows",
    "dtype": "convert the array, array.astype(dtype)",
    "chunks": "give chunks= itself",
}
_BATCH = 16  # blocks for each processor that are computed together by the schedulers of one machine

#: Where a part is in the dataset, the stream of a chunk or the samples of a block, and the extents within the dataset.
_Part: TypeAlias = tuple[tuple[int, ...], Array, tuple[int, ...]]


@with_options_of(STZ)
def to_hdf5(
    array: Any,
    file: str | os.PathLike[str] | h5py.File,
    path: str,
    *,
    scheduler: Any = None,
    creation: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> None:
    """Writes a dask array as a compressed dataset. The array's tasks compress chunks; this process stores them (docs/dask.md).

    The chunks have the same bytes as those the filter writes. If a task fails, the dataset is removed.

    Args:
        array: dask.array.Array of known shape with at least one axis.
        file: name of a file, which is created or extended, or an h5py.File that is open for writing.
        path: path of the new dataset.
        scheduler: "threads", "processes", "synchronous", a dask.distributed.Client or the address of a scheduler. None: the
            scheduler dask is set to, for example the latest Client.
        creation: further arguments of h5py's create_dataset, such as {"fillvalue": -1, "maxshape": (None, 512)}; not those that
            this function has itself.
        **options: options of STZ except `data` and `dtype`. `chunks` is the chunk shape of the dataset. None: the blocks of
            the array if they have 256 KiB to 64 MiB, otherwise parts of them as suggest_chunks() proposes. Blocks that are not
            multiples of chunks are rechunked. Some bounds need more computations of the array: `relative` one for the range,
            or two if a fill value has to be detected; `psnr` and `ratio` several.

    Raises:
        ImportError: dask is not installed.
        StzError: (a ValueError) invalid options, or an object exists at `path`.
        StzTypeError: (also a TypeError) `array` is not a dask array, or its dtype cannot be compressed.
        Any exception that a task of the array raises.
    """
    if not isinstance(file, h5py.Group):
        refuse_address(file)
    dask = _dask()
    _check(array, options)
    check_creation(creation or (), _OWN)
    with _run_by(scheduler) as (chosen, client), dask.config.set(scheduler=chosen), _opened(file) as target:
        if path in target:
            raise StzError(f"{path!r} exists in the file: delete it first, `del file[{path!r}]`", _ARGUMENT)

        def remove(_made: h5py.Dataset, _error: BaseException) -> None:
            del target[path]

        _stored(target, path, array, creation or {}, dict(options), client, None, remove)


def write_array(
    parent: h5py.Group,
    name: str | None,
    array: Any,
    creation: Mapping[str, Any],
    options: dict[str, Any],
    progress: Progress | None,
    on_error: Callable[[h5py.Dataset, BaseException], None],
) -> h5py.Dataset:
    """Creates a dataset of a dask array, with the scheduler that dask is set to. `options`: of STZ; the rest as for write()."""
    _check(array, options)
    with _run_by(None) as (_, client):
        return _stored(parent, name, array, creation, options, client, progress, on_error)


def _stored(
    parent: h5py.Group,
    name: str | None,
    array: Any,
    creation: Mapping[str, Any],
    options: dict[str, Any],
    client: Any,
    progress: Progress | None,
    on_error: Callable[[h5py.Dataset, BaseException], None],
) -> h5py.Dataset:
    """The new dataset, complete. `client`: see _write(); the rest as for write_array()."""
    shape = _chunks_of(array, options.pop("chunks", None))
    blocks = _aligned(array, shape)
    stz = _resolved(array, options, shape)
    arguments = {"shape": array.shape, "dtype": creation_type(array.dtype), "chunks": shape, **creation}
    made = parent.create_dataset(name, **arguments, **stz)
    try:
        with Meter(progress, made.nbytes).share(str(made.name), made.nbytes) as add:
            _write(typed(made), blocks, stz.resolved.settings.fill, client, add)
    except BaseException as error:
        on_error(made, error)
        raise
    return made


def _check(array: Any, options: Mapping[str, Any]) -> None:
    """Raises StzError if the array or the options are invalid."""
    if not isinstance(array, import_module("dask.array").Array):
        raise StzTypeError(
            f"array is of type {type(array).__name__}: give a dask.array.Array (dask.array.from_array)", _ARGUMENT
        )
    if not array.ndim:
        raise StzError("a single number has no chunks: write it with file[path] = array.compute()", _ARGUMENT)
    if any(math.isnan(extent) for extent in array.shape):
        raise StzError("the shape of the array is not known: call array.compute_chunk_sizes() before", _ARGUMENT)
    for name in ("data", "dtype"):
        if options.get(name) is not None:
            raise StzError(f"{name}= is taken from the array: leave it out", _ARGUMENT)
    elements.storage_dtype(array.dtype)
    fill = options.get("fill_value")
    if elements.is_masked(array._meta) and (fill is None or fill is False):
        raise StzError("the array is masked: give fill_value=, the number that is stored for masked samples", _ARGUMENT)


def _chunks_of(array: Any, chunks: tuple[int, ...] | None) -> tuple[int, ...]:
    """The chunk shape of the dataset."""
    if chunks is not None:
        if len(chunks) != array.ndim or not all(isinstance(extent, int) and extent > 0 for extent in chunks):
            raise StzError(f"chunks={chunks!r} must be a tuple of {array.ndim} positive integers", _ARGUMENT)
        return chunks
    block = tuple(max(1, extent) for extent in array.chunksize)
    size = math.prod(block) * array.dtype.itemsize
    whole = block == tuple(max(1, extent) for extent in array.shape)
    if GOOD[0] <= size <= GOOD[1] or (whole and size <= GOOD[1]):
        return block
    return suggest_chunks(block if size > GOOD[1] else array.shape, array.dtype)


def _aligned(array: Any, chunks: Sequence[int]) -> Any:
    """The array, rechunked so that its blocks begin at chunk borders."""
    wanted = []
    for lengths, extent in zip(array.chunks, chunks, strict=True):
        fits = not any(length % extent for length in lengths[:-1])
        wanted.append(lengths if fits else max(1, round(max(lengths) / extent)) * extent)
    return array.rechunk(tuple(wanted))


def _resolved(array: Any, options: Mapping[str, Any], chunks: tuple[int, ...]) -> STZ:
    """The STZ of the options. Computes the array if a bound depends on it."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    dtype, fill = array.dtype, given.get("fill_value")
    exact = elements.storage_dtype(dtype).kind in "iu" and (given.get("integers") != "lossy" or dtype.kind == "b")
    if not exact and ("psnr" in given or "ratio" in given):
        return STZ(**given, data=array, chunks=chunks)
    if fill is False:
        del given["fill_value"]
    checked_bound({name: given.get(name) for name in BOUNDS}, given.get("lossless", False))
    if exact and not _MEASURED.isdisjoint(given):
        given = {name: value for name, value in given.items() if name not in _MEASURED} | {"lossless": True}
    if "relative" not in given:
        return STZ(**given, dtype=dtype)
    share = float(given.pop("relative"))
    bits = None if fill is None or fill is False else elements.fill_bits(fill, dtype)
    extremes = _extremes(array, () if bits is None else (bits,))
    if fill is None and (found := validity.certain_fill(lambda excluded: _extremes(array, excluded), dtype)) is not None:
        given["fill_value"] = elements.fill_number(found, dtype)
        extremes = _extremes(array, (found,))
    if extremes is None and array.size:
        raise StzError(bounds.nothing_valid("relative"), _BOUND)
    bound = bounds.relative_bound(share, extremes)
    return STZ(**given, absolute=bound, dtype=dtype)


def _extremes(array: Any, excluded: tuple[int, ...]) -> Extremes | None:
    """The Extremes of an array, from all blocks in one computation. Numbers with the excluded bit patterns do not count."""
    task = _dask().delayed(_of_block)
    (parts,) = _dask().compute([task(block, excluded) for block in array.to_delayed().ravel()])
    return reduce(_merged, parts, None)


def _merged(one: Extremes | None, other: Extremes | None) -> Extremes | None:
    return one.merged(other) if one and other else one or other


def _of_block(block: Array, excluded: tuple[int, ...]) -> Extremes | None:
    return validity.extremes([block], excluded)


def _write(dataset: h5py.Dataset, array: Any, fill: int | None, client: Any, add: Callable[[int], None]) -> None:
    """Stores the chunks of an array whose blocks begin at chunk borders.

    Args:
        dataset: the new dataset.
        array: of dask.
        fill: bits of the fill value, which masked samples become.
        client: a dask.distributed.Client, or None.
        add: called with the bytes of each chunk that was stored.
    """
    codec = codec_of(dataset)
    if not array.size:
        return
    begins = product(*(list(accumulate(lengths, initial=0))[:-1] for lengths in array.chunks))
    blocks = zip(begins, array.to_delayed().ravel(), product(*array.chunks), strict=True)
    jobs = [list(_jobs(*block, codec, fill, client is None)) for block in blocks]
    width = dataset.dtype.itemsize
    for parts in _in_batches(jobs) if client is None else _on_workers(list(chain(*jobs)), client):
        for at, stored, shape in parts:
            if codec is None:
                dataset[tuple(slice(first, first + length) for first, length in zip(at, shape, strict=True))] = stored
            else:
                dataset.id.write_direct_chunk(at, stored)
            add(math.prod(shape) * width)


def _jobs(
    begin: tuple[int, ...], block: Any, shape: tuple[int, ...], codec: ChunkCodec | None, fill: int | None, split: bool
) -> Iterator[Any]:
    """Tasks that compress the chunks of a block: all, or, if that makes it parallel, some at a time."""
    task = _dask().delayed(_encoded, pure=False)
    if codec is None:
        yield task(block, begin, [tuple(slice(0, length) for length in shape)], None, fill)
        return
    every = boxes(shape, codec.chunks)
    size = math.prod(codec.chunks) * codec.dtype.itemsize
    count = max(1, _TASK // size) if split else len(every)
    for first in range(0, len(every), count):
        yield task(block, begin, every[first : first + count], codec, fill)


def _encoded(block: Array, begin: Sequence[int], wanted: list[Box], codec: ChunkCodec | None, fill: int | None) -> list[_Part]:
    """The streams of chunks of a block that begins at `begin`; without a codec, their samples."""
    made = []
    for box in wanted:
        part = block[box]
        if elements.is_masked(part):
            part = elements.stored(part, fill).view(part.dtype)
        at = tuple(first + cut.start for first, cut in zip(begin, box, strict=True))
        made.append((at, part if codec is None else codec.encode(part), part.shape))
    return made


def _in_batches(jobs: list[list[Any]]) -> Iterator[list[_Part]]:
    """The results of the jobs of blocks, in order. Memory holds the results of one batch at a time, of whole blocks."""
    size = _BATCH * all_cores(None)
    while jobs:
        batch: list[Any] = []
        while jobs and (not batch or len(batch) + len(jobs[0]) <= size):
            batch += jobs.pop(0)
        yield from _dask().compute(*batch)


def _on_workers(jobs: list[Any], client: Any) -> Iterator[list[_Part]]:
    """As _in_batches(), with the workers of a Client. They keep compressed chunks until these are fetched."""
    futures = client.compute(jobs)
    try:
        for number, future in enumerate(futures):
            result: list[_Part] = future.result()
            futures[number] = None
            future.release()
            yield result
    finally:
        client.cancel([future for future in futures if future is not None])


@contextmanager
def _run_by(scheduler: Any) -> Iterator[tuple[Any, Any]]:
    """The `scheduler` for dask, and the Client behind it or None."""
    if scheduler is None or (isinstance(scheduler, str) and "://" not in scheduler):
        base: Any = import_module("dask.base")
        get = base.get_scheduler(scheduler=scheduler)  # a method of the Client that is the default
        owner = getattr(get, "__self__", None)
        yield scheduler, owner if hasattr(owner, "submit") else None
        return
    with connected(scheduler) as client:
        yield client, client


@contextmanager
def _opened(file: str | os.PathLike[str] | h5py.File) -> Iterator[h5py.File]:
    """The h5py.File. A file given by name is closed at the end; if it was created here, it is removed after an error."""
    if isinstance(file, h5py.Group):
        yield file
        return
    with written_directly(file), h5py.File(file, "a") as target:
        yield target


def _dask() -> Any:
    try:
        return import_module("dask")
    except ImportError as error:
        raise ImportError("h5stz.to_hdf5 needs dask: pip install 'h5stz[dask]'", name="dask") from error

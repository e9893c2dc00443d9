"""HDF5 files as zarr stores, without copying: references from the keys of a zarr store to the chunks in the file.

The references are those of kerchunk, which fsspec's ReferenceFileSystem reads. Metadata are of zarr format 3, so that a part of
a chunk is read and decoded in part. Whatever could not be read as HDF5 reads it, bit for bit, is refused.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Iterator
from dataclasses import fields
from itertools import product
from pathlib import Path
from typing import Any, Literal, SupportsFloat

import h5py
import numpy as np
import zarr

from h5stz import _core, elements
from h5stz.errors import StzError, StzTypeError
from h5stz.hdf5 import calls
from h5stz.hdf5.file_kinds import opened_file
from h5stz.options.precision import checked_precision
from h5stz.options.stz import STZ
from h5stz.reading.chunk_index import ChunkIndex, confuses_chunks
from h5stz.signatures import checked
from h5stz.waiting import no_garbage_collection
from h5stz.zarr.codec import StzCodec
from h5stz.zarr.reference_names import attributes, dimension_names, is_dimension_only

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_DTYPE = _core.ERROR_CODES["STZ_ERROR_DTYPE"]
_OF_BOTH = {field.name for field in fields(StzCodec)}  # options of the filter that the codec has too
_DEFLATE, _SHUFFLE = h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE


@checked
def reference(
    file: str | Path | h5py.File | h5py.Group,
    *,
    url: str | None = None,
    unsupported: Literal["raise", "skip"] = "raise",
    max_error: SupportsFloat | None = None,
) -> dict[str, Any]:
    """References with which an HDF5 file is read as a zarr store: groups, attributes, dimension names, and where chunks are.

    ```
    refs = h5stz.zarr.reference("data.h5")
    dataset = xarray.open_zarr("reference://", storage_options={"fo": refs}, consolidated=False)
    ```

    The file must stay as it is. The references can be kept as JSON.

    Args:
        file: path, or h5py.File or Group that is open for reading; a group becomes the root of the store.
        url: what names the file in the references, such as "s3://bucket/data.h5"; None: the file itself, on this machine. Of
            remote files zarr needs storage_options={"fo": refs, "remote_options": {"asynchronous": True}}.
        unsupported: what is done with datasets that zarr could not read as HDF5 does: "raise" an error, or "skip" them.
        max_error: of datasets with precision layers, as few are fetched as keep every sample within this distance of what was
            compressed, in the units of the data; others come with all they have. None: all layers.

    Returns:
        dict: {"version": 1, "refs": {key of the store: text, or [url, offset, size]}}.

    Raises:
        StzError: (a ValueError) a dataset has filters other than h5stz alone, or deflate and shuffle; numbers that HDF5
            converts as they are read; chunks that were stored without the filters; the file has a userblock.
        StzTypeError: (a TypeError too) a dataset of text or records.
        OSError: the file cannot be read.
    """
    if unsupported not in ("raise", "skip"):
        raise StzError(f"unsupported={unsupported!r}: give 'raise' or 'skip'", _ARGUMENT)
    if isinstance(file, (str, Path)):
        with opened_file(file) as opened:
            return reference(opened, url=url, unsupported=unsupported, max_error=max_error)
    error = checked_precision(max_error, None).max_error
    if not isinstance(file, h5py.Group) or not file.id.valid:
        raise StzTypeError(f"file is {file!r}: give a path, or an h5py.File that is open", _ARGUMENT)
    if file.file.id.get_create_plist().get_userblock():
        raise StzError("the file has a userblock, before which HDF5 counts no bytes: remove it with h5unjam", _ARGUMENT)
    where = url or _url_of(file.file)
    refs: dict[str, Any] = {}
    for group, path in _groups(file):
        refs |= _metadata(path, lambda store, path=path, group=group: _add_group(store, path, group))
        names = dimension_names(group)
        for name, dataset in list(group.items()):  # h5py holds its lock while it goes through items()
            if not isinstance(dataset, h5py.Dataset) or dataset.shape is None or is_dimension_only(dataset):
                continue
            try:
                refs |= _dataset(dataset, f"{path}{name}", names[name], where, error)
            except StzError as refused:
                if unsupported == "raise":
                    raise refused.within(f"{dataset.name} (unsupported='skip' leaves it out)") from refused
    return {"version": 1, "refs": refs}


def _url_of(file: h5py.File) -> str:
    """The URL of a file of this machine."""
    path = Path(file.filename)
    if not path.is_file():
        raise StzError(f"{file.filename} is not a file of this machine: say what the references name with url=", _ARGUMENT)
    return path.resolve().as_uri()


def _groups(root: h5py.Group) -> Iterator[tuple[h5py.Group, str]]:
    """(group, its path in the store with / at the end) of a group and those in it, each once."""
    seen, waiting = set(), [(root, "")]
    while waiting:
        group, path = waiting.pop()
        if group.id in seen:
            continue
        seen.add(group.id)
        yield group, path
        for name in group:
            if isinstance(group.get(name, getlink=True), h5py.HardLink) and isinstance(inner := group[name], h5py.Group):
                waiting.append((inner, f"{path}{name}/"))


def _metadata(path: str, add: Any) -> dict[str, Any]:
    """The metadata of a node, as zarr itself writes them into a store: {its key: text}."""
    store: dict[str, Any] = {}
    with warnings.catch_warnings(), no_garbage_collection():  # zarr writes in a thread of its own
        warnings.filterwarnings("ignore", "Numcodecs codecs are not in the Zarr version 3 specification")
        add(store)
    key = f"{path.rstrip('/')}/zarr.json".lstrip("/")
    return {key: store[key].to_bytes().decode()}


def _add_group(store: dict[str, Any], path: str, group: h5py.Group) -> None:
    zarr.create_group(store, path=path.rstrip("/"), attributes=attributes(group), zarr_format=3)


def _dataset(dataset: h5py.Dataset, path: str, names: tuple[str, ...], url: str, max_error: float | None) -> dict[str, Any]:
    """The metadata and the chunks of a dataset."""
    creation = dataset.id.get_create_plist()
    codecs = _codecs(dataset, creation, max_error)
    chunks = dataset.chunks or tuple(max(1, extent) for extent in dataset.shape)
    options = {"chunks": chunks, "dtype": dataset.dtype, "fill_value": dataset.fillvalue, "filters": None, **codecs}

    def add(store: dict[str, Any]) -> None:
        zarr.create_array(
            store,
            name=path,
            shape=dataset.shape,
            attributes=attributes(dataset),
            dimension_names=names or None,
            zarr_format=3,
            **options,
        )

    stored = _chunked if dataset.chunks else _in_one_piece
    return _metadata(path, add) | {f"{path}/{key}": value for key, value in stored(dataset, creation, url)}


def _codecs(dataset: h5py.Dataset, creation: h5py.h5p.PropDCID, max_error: float | None) -> dict[str, Any]:
    """serializer and compressors of zarr for the filters and the byte order of a dataset."""
    elements.storage_dtype(dataset.dtype)  # refuses text and records
    if dataset.dtype.kind != "c" and not dataset.id.get_type().equal(h5py.h5t.py_create(dataset.dtype, logical=True)):
        raise StzError("HDF5 converts its numbers as they are read: copy it to a dataset of a type of NumPy", _DTYPE)
    filters = [creation.get_filter(index) for index in range(creation.get_nfilters())]
    numbers = [number for number, *_ in filters]
    if numbers == [_core.FILTER_ID]:
        options = STZ.from_dataset(dataset).get_config()
        of_both = {name: options[name] for name in options if name in _OF_BOTH}
        if "layers" in of_both:
            of_both["max_error"] = max_error
        return {"serializer": StzCodec(**of_both), "compressors": None}
    if numbers not in ([], [_DEFLATE], [_SHUFFLE], [_SHUFFLE, _DEFLATE]):
        others = ", ".join(str(number) for number in numbers)
        raise StzError(
            f"it has the HDF5 filters {others}: there are codecs for h5stz alone, and for shuffle and deflate", _ARGUMENT
        )
    from zarr.codecs import BytesCodec
    from zarr.codecs.numcodecs import Shuffle, Zlib

    made: dict[int, Any] = {
        _SHUFFLE: lambda _: Shuffle(elementsize=dataset.dtype.itemsize),
        _DEFLATE: lambda values: Zlib(level=values[0]),
    }
    endian = None if dataset.dtype.itemsize == 1 else "little" if dataset.dtype.newbyteorder("<") == dataset.dtype else "big"
    return {
        "serializer": BytesCodec(endian=endian),
        "compressors": [made[number](values) for number, _, values, _ in filters] or None,
    }


def _in_one_piece(dataset: h5py.Dataset, creation: h5py.h5p.PropDCID, url: str) -> Iterator[tuple[str, Any]]:
    """(key, reference) of the one chunk that a dataset without chunks is."""
    layout, key = creation.get_layout(), "/".join(["c", *["0"] * len(dataset.shape)])
    if layout == h5py.h5d.COMPACT:
        raw = np.asarray(dataset[()], dataset.dtype).tobytes()
        yield key, "base64:" + base64.b64encode(raw).decode()
    elif layout != h5py.h5d.CONTIGUOUS or creation.get_external_count():
        raise StzError("its samples are in other datasets or files: make references to these", _ARGUMENT)
    elif (offset := dataset.id.get_offset()) is not None and dataset.size:
        yield key, [url, offset, dataset.size * dataset.dtype.itemsize]


def _chunked(dataset: h5py.Dataset, creation: h5py.h5p.PropDCID, url: str) -> Iterator[tuple[str, Any]]:
    """(key, reference) of the chunks that are stored."""
    if confuses_chunks(dataset):
        raise StzError(
            "HDF5 cannot tell where the chunks of a dataset are that grows along another axis than the first: copy it to one "
            "that does not grow",
            _ARGUMENT,
        )
    partial = any(extent % chunk for extent, chunk in zip(dataset.shape, dataset.chunks or (), strict=True))
    if partial and creation.get_nfilters() and calls.edges_may_be_raw(creation):
        raise StzError("its chunks at the edge are stored without the filters: copy it with h5repack", _ARGUMENT)
    index = ChunkIndex(dataset)
    counts = [-(-extent // chunk) for extent, chunk in zip(dataset.shape, index.chunks, strict=True)]
    every = list(product(*map(range, counts)))
    for chunk, stored in zip(every, index.find(every), strict=True):
        if stored is None:
            continue
        if stored.filter_mask:
            raise StzError(
                f"its chunk at {index.offset(chunk)} is stored without the filters: copy it with h5repack", _ARGUMENT
            )
        yield "/".join(["c", *map(str, chunk)]), [url, stored.address, stored.size]

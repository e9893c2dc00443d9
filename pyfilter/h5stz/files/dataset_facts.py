"""Facts about a dataset that need no decoding: bound, sizes, and the headers of its chunks.

A file may have millions of chunks. Only a limited number of headers is read for each dataset; `looked_at` counts them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import h5py

from h5stz import _core, elements
from h5stz.elements import DType
from h5stz.errors import in_one_line
from h5stz.files import verify_files
from h5stz.hdf5 import lossy_filters
from h5stz.hdf5.objects import array_bytes, dtype_text, name_of, text
from h5stz.hdf5.written_parts import written_bytes
from h5stz.options.chunks import SMALL
from h5stz.options.option_checks import option_value
from h5stz.options.precision import errors_by_layers
from h5stz.options.stz import client_data
from h5stz.reading.dataset_reader import DatasetReader
from h5stz.reading.stats import Stats

#: Filters of HDF5 itself, and such that are common, as people call them.
_FILTERS = {
    h5py.h5z.FILTER_DEFLATE: "gzip",
    h5py.h5z.FILTER_SHUFFLE: "shuffle",
    h5py.h5z.FILTER_FLETCHER32: "fletcher32",
    h5py.h5z.FILTER_SZIP: "szip",
    32000: "lzf",
    32001: "blosc",
    32004: "LZ4",
    32015: "Zstandard",
} | lossy_filters.NAMES
_PALETTE = "blocks of ranks in a palette"  # as streams say of their form


@dataclass(frozen=True)
class LayerFacts:
    """Total bytes and largest error of the first chunks, read with one precision layer, with two, ..."""

    bytes: int
    max_error: float


@dataclass(frozen=True)
class FormFacts:
    """How samples are stored, as `form` of h5stz.info(), and the number of the first chunks that are stored in this way."""

    form: str
    chunks: int


@dataclass(frozen=True)
class PreviewFacts:
    """The first chunks that have a preview of lossless data: their number, the largest error of their previews, the bytes of
    the previews, and all bytes of these chunks.
    """

    chunks: int
    max_error: float
    bytes: int
    stream_bytes: int


@dataclass(frozen=True)
class ChunkFacts:
    """Facts from the headers of the first chunks of a dataset.

    Attributes:
        looked_at: number of inspected chunks.
        levels: largest number of resolution levels; 1 is the full resolution only.
        patched, patches: number of chunks that were rewritten in part, and of all their patches.
        exact: number of chunks that are stored losslessly because the bound was already used.
        growing: number of chunks that are stored losslessly because the last plane along the append axis has a single value.
        few_values: number of chunks that are stored losslessly because that is shorter for few distinct values.
        accumulated, accumulated_bound: number of chunks whose bound includes earlier compressions, and the largest such bound
            or None.
        layers: LayerFacts with one precision layer, two, ... and all. Empty without layers or measured errors.
        relaxed_bound: largest error bound of chunks with an enhancement filter, or None.
        damaged: the error of the first damaged chunk, with its place and the remedy, or None.
        damaged_chunks: the errors of all damaged chunks.
        forms: FormFacts, the most frequent form first.
        preview: PreviewFacts, or None if no chunk has a preview.
    """

    looked_at: int = 0
    levels: int = 1
    patched: int = 0
    patches: int = 0
    exact: int = 0
    growing: int = 0
    few_values: int = 0
    accumulated: int = 0
    accumulated_bound: float | None = None
    layers: tuple[LayerFacts, ...] = ()
    relaxed_bound: float | None = None
    damaged: str | None = None
    damaged_chunks: tuple[str, ...] = ()
    forms: tuple[FormFacts, ...] = ()
    preview: PreviewFacts | None = None


@dataclass(frozen=True)
class Compression:
    """How h5stz compressed a dataset.

    Attributes:
        mode, bound: "absolute", "pointwise_relative" or "lossless", and its number.
        bound_text: the bound as text.
        block, effort: options of STZ; `effort` is None if it was not given.
        append_axis: the axis along which the dataset grows, or None.
        fill_value: the number that marks missing values, or None.
        small_chunks: True if the chunks are too small to compress well.
        content_checks: which of the first chunks have a content check, as text.
        first_chunks: ChunkFacts.
        trained_sets: number of sets of predictions in the client data, trained with data (STZ.trained()); None without any; 0
            if the client data have every chunk fitted.
        options: the options of STZ, beside bound and fill value, that differ from the defaults. An end of `valid_range` that
            there is not is None.
    """

    mode: str
    bound: float
    bound_text: str
    block: str
    effort: int | None
    append_axis: int | None
    fill_value: int | float | None
    small_chunks: bool
    content_checks: str
    first_chunks: ChunkFacts
    trained_sets: int | None
    options: dict[str, Any]


@dataclass(frozen=True)
class DatasetFacts:
    """Facts about a dataset.

    Attributes:
        path, dtype, shape, chunks: as in h5py; `shape` and `chunks` may be None.
        chunks_stored: number of chunks in the file.
        array_bytes, stored_bytes: size of the samples in memory and in the file.
        written_bytes: the part of array_bytes in chunks that exist in the file.
        compression: Compression, or None if h5stz is not a filter of the dataset.
    """

    path: str
    dtype: str
    shape: tuple[int, ...] | None
    chunks: tuple[int, ...] | None
    chunks_stored: int
    array_bytes: int
    stored_bytes: int
    compression: Compression | None
    written_bytes: int

    @property
    def ratio(self) -> float | None:
        """Compression ratio written_bytes / stored_bytes; None if nothing is stored."""
        return self.written_bytes / self.stored_bytes if self.stored_bytes else None


def facts_of(dataset: h5py.Dataset, most_chunks: int) -> DatasetFacts:
    """DatasetFacts of an h5py.Dataset, from the headers of at most `most_chunks` chunks.

    Raises:
        one of errors.HDF5_ERRORS: the structures of the file are damaged.
    """
    words = client_data(dataset)
    return DatasetFacts(
        name_of(dataset),
        dtype_text(dataset),
        dataset.shape,
        dataset.chunks,
        dataset.id.get_num_chunks() if dataset.chunks else 0,
        array_bytes(dataset),
        dataset.id.get_storage_size(),
        None if words is None else _compression(dataset, words, most_chunks),
        written_bytes(dataset),
    )


def described_filters(dataset: h5py.Dataset) -> str:
    """The filters of a dataset without h5stz, as text."""
    properties = dataset.id.get_create_plist()
    found = [properties.get_filter(index) for index in range(properties.get_nfilters())]
    names = [_FILTERS.get(number) or f"{text(name) or 'filter'} ({number})" for number, _, _, name in found]
    return "the filters " + ", ".join(names) if len(names) > 1 else f"the filter {names[0]}" if names else "no compression"


def _compression(dataset: h5py.Dataset, words: tuple[int, ...], most_chunks: int) -> Compression:
    meaning = _core.parse(words)
    mode = elements.name_of(_core.MODES, meaning["mode"])
    append_axis = meaning["append_axis"] - 1 if meaning["append_axis"] else None
    chunk_bytes = math.prod(dataset.chunks or ()) * dataset.dtype.itemsize
    return Compression(
        mode,
        meaning["bound"],
        _bound_text(mode, meaning["bound"], dataset.dtype, meaning["integers"]),
        elements.name_of(_core.CHOICES["block"], meaning["block"]),
        meaning["effort"] or None,
        append_axis,
        None if meaning["fill"] is None else elements.fill_number(meaning["fill"], dataset.dtype),
        chunk_bytes < SMALL < dataset.nbytes,
        verify_files.described(dataset),
        _chunk_facts(dataset, most_chunks, grows=append_axis is not None and mode != "lossless"),
        None if meaning["learned"] is None else meaning["learned"].count,
        _options(meaning),
    )


def _options(meaning: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: option_value(name, meaning[name]) for name in _core.OPTIONS if meaning[name]}
    for name in ("layer_bounds", "valid_range"):
        if meaning[name]:
            found[name] = tuple(number if math.isfinite(number) else None for number in meaning[name])
    return found


def _bound_text(mode: str, bound: float, dtype: DType, integers: int) -> str:
    """The bound of the chunks of a dataset. Client data of earlier versions may have a bound for integers, which are lossless
    now.
    """
    if dtype.kind not in "iub":
        return mode if mode == "lossless" else f"{mode} {bound!r}"
    if mode == "lossless":
        return "lossless; integers are lossless unless integers=lossy is given"
    if integers:
        return f"{mode} {bound!r}, with integers=lossy"
    return f"lossless for chunks written from now on; earlier chunks may have {mode} {bound!r}"


def _chunk_facts(dataset: h5py.Dataset, most: int, *, grows: bool) -> ChunkFacts:
    headers, errors = DatasetReader(dataset, 0, Stats()).headers_and_damage(most)
    damaged = tuple(map(in_one_line, errors))
    lossless = [header for header in headers if header["mode"] == _core.MODES["lossless"]]
    exact = sum(bool(header["bound_used"]) for header in lossless)
    patches = [header["patches"] for header in headers if header["patches"]]
    accumulated = [header["accumulated_bound"] for header in headers if header["accumulated_bound"]]
    return ChunkFacts(
        len(headers) + len(damaged),
        max((header["levels"] for header in headers), default=1),
        len(patches),
        sum(patches),
        exact,
        len(lossless) - exact if grows else 0,
        sum(_few_values(header) for header in headers),
        len(accumulated),
        max(accumulated, default=None),
        _layer_facts(headers),
        max((header["relaxed_bound"] for header in headers if header["enhanced"]), default=None),
        next(iter(damaged), None),
        damaged,
        tuple(FormFacts(*each) for each in Counter(header["form"] for header in headers).most_common()),
        _preview_facts([header for header in headers if header["preview_error"] is not None]),
    )


def _preview_facts(headers: Sequence[dict[str, Any]]) -> PreviewFacts | None:
    """`headers`: of chunks with a preview."""
    if not headers:
        return None
    sizes = [(header["preview_bytes"], header["layers"][-1][0]) for header in headers]
    return PreviewFacts(len(headers), max(header["preview_error"] for header in headers), *map(sum, zip(*sizes, strict=True)))


def _layer_facts(headers: Sequence[dict[str, Any]]) -> tuple[LayerFacts, ...]:
    errors = errors_by_layers(headers)
    if len(errors) < 2:
        return ()
    sizes = [[size for size, _, _ in header["layers"]] for header in headers]
    sums = [sum(of_chunk[min(layer, len(of_chunk) - 1)] for of_chunk in sizes) for layer in range(len(errors))]
    return tuple(map(LayerFacts, sums, errors))


def _few_values(header: dict[str, Any]) -> bool:
    return bool(header["form"] == _PALETTE and header["mode"] != _core.MODES["lossless"])

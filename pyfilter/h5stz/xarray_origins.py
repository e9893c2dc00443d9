"""Where a variable of xarray comes from: the options of the compressed dataset that it was read from, and what was lost there.

Nothing here writes; a file that cannot be looked at any more says nothing.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from h5stz import _core, elements
from h5stz.dataset_reader import DatasetReader
from h5stz.errors import StzError
from h5stz.options import STZ, client_data
from h5stz.readers import Stats

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class Origin:
    """The compressed dataset that a variable was read from.

    Attributes:
        source: name of its file.
        options: with which it was made.
        chunks: of the dataset.
        mode: of the bound that its samples have, "absolute" or "pointwise_relative"; None if nothing was lost.
        bound: between its samples and what was compressed first.
        complete: the variable has the shape of the dataset.
        remembered: HDF5 decoded it, so that the filter knows chunks that are written again.
    """

    source: str
    options: STZ
    chunks: tuple[int, ...]
    mode: str | None
    bound: float
    complete: bool
    remembered: bool


def origin_of(name: Hashable, variable: xarray.Variable, group: str | None) -> Origin | None:
    """The Origin of a variable, None if it was not read from a dataset that h5stz compressed."""
    encoding = variable.encoding
    source, words = encoding.get("source"), encoding.get("compression_opts")
    through_view = encoding.get("compression") == _core.FILTER_ID
    if isinstance(source, str) and os.path.isfile(source) and h5py.is_hdf5(source):
        with h5py.File(source) as file:
            dataset = _dataset(file, group, str(name), encoding)
            if dataset is not None:
                mode, bound = _loss(dataset)
                complete = tuple(variable.shape) == tuple(dataset.shape)
                options, chunks = STZ.from_dataset(dataset), tuple(dataset.chunks)
                return Origin(source, options, chunks, mode, bound, complete, not through_view)
    if through_view and words is not None:
        options = STZ.from_filter_options(words, dtype=encoding.get("dtype"))
        mode_of = elements.name_of(_core.MODES, options.resolved.settings.mode)
        mode = None if mode_of == "lossless" else mode_of
        return Origin(str(source), options, tuple(encoding.get("chunksizes") or ()), mode, options.bound, False, False)
    return None


def _dataset(file: h5py.File, group: str | None, name: str, encoding: Mapping[str, Any]) -> h5py.Dataset | None:
    """The compressed dataset by this name, or else the only one that fits the encoding: a variable may have been renamed."""
    parent = file.get(group or "/")
    if not isinstance(parent, h5py.Group):
        return None
    ours = {key: item for key, item in parent.items() if isinstance(item, h5py.Dataset) and client_data(item) is not None}
    if name in parent:
        return ours.get(name)
    fitting = [item for item in ours.values() if _fits(item, encoding)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(dataset: h5py.Dataset, encoding: Mapping[str, Any]) -> bool:
    """Whether xarray may have made this encoding of the dataset."""
    given = [tuple(encoding.get(key) or ()) for key in ("original_shape", "chunksizes")]
    if given != [tuple(dataset.shape), tuple(dataset.chunks)] or encoding.get("dtype") != dataset.dtype:
        return False
    fill, other = (np.asarray(value, dataset.dtype).tobytes() for value in (encoding.get("_FillValue", 0), dataset.fillvalue))
    return fill == other


def _loss(dataset: h5py.Dataset) -> tuple[str | None, float]:
    """(mode, bound) between the samples of a dataset and what was compressed first; (None, 0.0) without loss."""
    settings = STZ.from_dataset(dataset).resolved.settings
    mode = elements.name_of(_core.MODES, settings.mode)
    try:
        headers = DatasetReader(dataset, 0, Stats()).headers()
    except StzError:  # damaged: reading it says so
        headers = []
    accumulated = max((header["accumulated_bound"] or 0.0 for header in headers), default=0.0)
    if mode != "lossless":
        return mode, max(settings.bound, accumulated)
    return ("absolute", accumulated) if accumulated else (None, 0.0)

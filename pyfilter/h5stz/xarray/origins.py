"""Finds the compressed dataset that an xarray variable was read from: its options and its error.

This module only reads. If the file cannot be read any more, the origin is unknown.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from h5stz import _core, elements
from h5stz.errors import StzError
from h5stz.options.stz import STZ, client_data
from h5stz.reading.dataset_reader import DatasetReader
from h5stz.reading.stats import Stats

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class Origin:
    """The compressed dataset that a variable was read from.

    Attributes:
        source: name of the file.
        options: the options with which the dataset was written.
        chunks: chunk shape of the dataset.
        mode: mode of its error bound, "absolute" or "pointwise_relative"; None if it is lossless.
        bound: bound on the error of its samples against the original.
        complete: True if the variable has the shape of the dataset.
        remembered: True if HDF5 decoded it in this process, so that the filter recognises rewritten chunks.
    """

    source: str
    options: STZ
    chunks: tuple[int, ...]
    mode: str | None
    bound: float
    complete: bool
    remembered: bool


def origin_of(name: Hashable, variable: xarray.Variable, group: str | None) -> Origin | None:
    """The Origin of a variable; None if it was not read from a dataset compressed with h5stz."""
    encoding = variable.encoding
    source, words = encoding.get("source"), encoding.get("compression_opts")
    through_view = encoding.get("compression") == _core.FILTER_ID
    if isinstance(source, str) and os.path.isfile(source) and h5py.is_hdf5(source):
        with h5py.File(source) as file:
            dataset = _dataset(file, group, str(name), encoding)
            if dataset is not None:
                mode, bound = _loss(dataset)
                complete = tuple(variable.shape) == tuple(dataset.shape)
                options, chunks = STZ.from_dataset(dataset), tuple(dataset.chunks or ())
                return Origin(source, options, chunks, mode, bound, complete, not through_view)
    if through_view and words is not None:
        options = STZ.from_filter_options(words, dtype=encoding.get("dtype"))
        mode_of = elements.name_of(_core.MODES, options.resolved.settings.mode)
        mode = None if mode_of == "lossless" else mode_of
        return Origin(
            str(source),
            options,
            tuple(encoding.get("chunksizes") or ()),
            mode,
            options.resolved.settings.largest_error,
            False,
            False,
        )
    return None


def _dataset(file: h5py.File, group: str | None, name: str, encoding: Mapping[str, Any]) -> h5py.Dataset | None:
    """The compressed dataset with this name, or the only one that matches the encoding, as a variable may have been renamed."""
    parent = file.get(group or "/")
    if not isinstance(parent, h5py.Group):
        parent = file  # the group is that of the file to write
    ours = {key: item for key, item in parent.items() if isinstance(item, h5py.Dataset) and client_data(item) is not None}
    if name in parent:
        return ours.get(name)
    fitting = [item for item in ours.values() if _fits(item, encoding)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(dataset: h5py.Dataset, encoding: Mapping[str, Any]) -> bool:
    """True if xarray may have created this encoding from the dataset."""
    given = [tuple(encoding.get(key) or ()) for key in ("original_shape", "chunksizes")]
    if given != [tuple(dataset.shape), tuple(dataset.chunks or ())] or encoding.get("dtype") != dataset.dtype:
        return False
    fill, other = (np.asarray(value, dataset.dtype).tobytes() for value in (encoding.get("_FillValue", 0), dataset.fillvalue))
    return fill == other


def _loss(dataset: h5py.Dataset) -> tuple[str | None, float]:
    """(mode, bound) of the error of a dataset against the original; (None, 0.0) if it is lossless."""
    settings = STZ.from_dataset(dataset).resolved.settings
    mode = elements.name_of(_core.MODES, settings.mode)
    try:
        headers = DatasetReader(dataset, 0, Stats()).headers()
    except StzError:  # damaged: reading it says so
        headers = []
    accumulated = max((header["accumulated_bound"] or 0.0 for header in headers), default=0.0)
    if mode != "lossless":
        return mode, max(settings.largest_error, accumulated)
    return ("absolute", accumulated) if accumulated else (None, 0.0)


def losses(origin: Origin | None, stz: STZ, chunks: tuple[int, ...]) -> dict[str, float]:
    """{mode: bound} of the error of the new file against the original. Errors of two modes add up."""
    settings = stz.resolved.settings
    mode = elements.name_of(_core.MODES, settings.mode)
    lost = {} if origin is None or origin.mode is None else {origin.mode: origin.bound}
    if mode == "lossless" or (origin is not None and lost and _is_kept(origin, stz, chunks)):
        return lost
    before = lost.get(mode, 0.0)
    both = before + settings.largest_error
    return lost | {mode: both + before * settings.bound if mode == "pointwise_relative" else both}


def _is_kept(origin: Origin, stz: STZ, chunks: tuple[int, ...]) -> bool:
    """True if the filter recognises the samples, so that they are not quantized again."""
    return origin.remembered and _is_alike(origin, stz, chunks)


def _is_alike(origin: Origin, stz: STZ, chunks: tuple[int, ...]) -> bool:
    settings, before = stz.resolved.settings, origin.options.resolved.settings
    return (settings.mode, settings.bound) == (before.mode, before.bound) and chunks == origin.chunks and origin.complete


def _bound_text(mode: str, bound: float) -> str:
    return f"{mode}={bound!r}" if math.isfinite(bound) else f"{mode} errors of unknown size"


def warn_of_second_loss(name: Hashable, origin: Origin, stz: STZ, chunks: tuple[int, ...], stacklevel: int) -> None:
    """Warns if lossy samples would be quantized a second time. `stacklevel` as for warnings.warn, counted from the caller."""
    if origin.mode is None or not stz.bound or _is_kept(origin, stz, chunks):
        return
    lost = losses(origin, stz, chunks)
    if len(lost) == 1:
        ((mode, bound),) = lost.items()
        total = f"the accumulated bound is {_bound_text(mode, bound)}"
    else:
        total = f"the bounds {' and '.join(_bound_text(*each) for each in lost.items())} add up"
    why = "under another bound, in other chunks or in part"
    if _is_alike(origin, stz, chunks):
        why = 'although nothing else changes: the filter does not recognise what engine="h5stz" read, open it with "h5netcdf"'
    warnings.warn(
        f"variable {name!r} was read from {origin.source}, with errors of up to "
        f"{_bound_text(origin.mode, origin.bound)}, and is "
        f"compressed with loss again, {why}; {total}. Start from the original if there is one, keep its options (give no "
        "bound and no chunks), or give lossless=True. If its values were changed since, call drop_encoding()",
        UserWarning,
        stacklevel + 1,
    )

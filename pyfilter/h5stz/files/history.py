"""The errors that the samples of a dataset already have before they are compressed again, for their new streams."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np

from h5stz import _core, validity
from h5stz.elements import Array
from h5stz.errors import StzError
from h5stz.hdf5.lossy_filters import lossy_filters, lost_to
from h5stz.options.settings import Settings
from h5stz.options.stz import client_data
from h5stz.reading.dataset_reader import DatasetReader
from h5stz.reading.stats import Stats

_MOST = 1 << 14  # chunks whose headers are read
_LOSSLESS, _RELATIVE = _core.MODES["lossless"], _core.MODES["pointwise_relative"]


@dataclass(frozen=True)
class History:
    """Bounds on the error of samples against the data that were compressed first; infinity: unknown.

    Attributes:
        absolute: in the units of the data.
        relative: relative to each sample.
    """

    absolute: float = 0.0
    relative: float = 0.0

    def prior_bound(self, settings: Settings, samples: Array) -> float:
        """The bound for a chunk of these samples, in the unit of the mode of `settings`."""
        if settings.mode == _RELATIVE:
            return math.inf if self.absolute else self.relative
        if not self.relative:
            return self.absolute
        return max(self.absolute, validity.absolute_error(self.relative, np.asarray(samples)))


NOTHING = History()
UNKNOWN = History(math.inf, math.inf)


def is_lossy(dataset: h5py.Dataset) -> bool:
    """True if a filter of a dataset, h5stz or another one, is lossy."""
    words = client_data(dataset)
    if words is not None:
        return bool(_core.parse(words)["mode"] != _LOSSLESS)
    return bool(lossy_filters(dataset))


def before_compressing(dataset: h5py.Dataset) -> History:
    """The History of a dataset with any filters. Reads all samples if it depends on them."""
    if client_data(dataset) is not None:
        return history_of(dataset)
    lost = lost_to(dataset, lossy_filters(dataset))
    return UNKNOWN if math.isinf(lost) else History(lost)


def history_of(dataset: h5py.Dataset) -> History:
    """The History of a dataset compressed with h5stz; NOTHING for any other dataset."""
    if client_data(dataset) is None:
        return NOTHING
    try:
        headers = DatasetReader(dataset, 0, Stats()).headers(_MOST)
        stored = dataset.id.get_num_chunks()
    except (StzError, OSError, RuntimeError):  # who reads the samples is told what is damaged
        return UNKNOWN
    if len(headers) < stored:
        return UNKNOWN
    parts = [_of_stream(header) for header in headers]
    return History(max((part.absolute for part in parts), default=0.0), max((part.relative for part in parts), default=0.0))


def _of_stream(header: dict[str, Any]) -> History:
    before, used = float(header["accumulated_bound"] or 0.0), bool(header["bound_used"])
    if header["mode"] == _LOSSLESS:
        return History(math.inf if used and not before else before)
    lost = max(before, float(header["relaxed_bound"]) if used else 0.0)
    return History(relative=lost) if header["mode"] == _RELATIVE else History(lost)

"""Shows what `repack` would do, without writing anything: `plan_repack`, and `planned_in` for an open file."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsFloat

import h5py

from h5stz.errors import HDF5_ERRORS
from h5stz.files.classic_netcdf import opened_source
from h5stz.files.repack_plan import Plan, Rechunk, Rule, all_rules
from h5stz.hdf5.objects import Lost, array_bytes, datasets, dtype_text, name_of
from h5stz.options.precision import checked_precision
from h5stz.options.stz import STZ, Options
from h5stz.signatures import with_options_of

if TYPE_CHECKING:
    from typing_extensions import Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack


@dataclass(frozen=True)
class Planned:
    """What repack() would do with a dataset.

    Attributes:
        path: path of the dataset.
        reason: None if it would be compressed, otherwise the reason why not (repack_plan.REASONS). Whether compression would
            make it larger is not known yet.
        dtype, shape: dtype and shape of the dataset; `shape` is None for a null dataspace.
        array_bytes, before: size of the array, and stored size in the source, in bytes.
        options: options as text with the resolved bound; "" if it would not be compressed.
        chunks, new_chunks: chunk shape now (None if contiguous) and in the new file (None if unchanged).
        note: how the compression would differ from the request (repack_plan.NOTES), or None.
    """

    path: str
    reason: str | None
    dtype: str
    shape: tuple[int, ...] | None
    array_bytes: int
    before: int
    options: str
    chunks: tuple[int, ...] | None
    new_chunks: tuple[int, ...] | None
    note: str | None = None


@with_options_of(STZ)
def plan_repack(
    source: str | os.PathLike[str],
    rules: Sequence[Rule] = (),
    *,
    rechunk: Rechunk = "auto",
    again: bool = False,
    max_error: SupportsFloat | None = None,
    **options: Unpack[Options],
) -> list[Planned]:
    """Lists what repack() would do with each dataset, in the order of the file. Nothing is written.

    Only data on which a decision depends are read: for `relative`, `psnr` and `ratio` the whole dataset.

    Args:
        source: path of an HDF5 or netCDF file.
        rules, rechunk, again, max_error, **options: as for repack().

    Returns:
        list of Planned

    Raises:
        StzError: (a ValueError) invalid options.
        OSError: `source` or one of its datasets cannot be read.
    """
    error = checked_precision(max_error, None).max_error
    with opened_source(source) as file:
        return planned_in(file, all_rules(rules, options, error), rechunk, again, error)


def planned_in(
    file: h5py.File, rules: Sequence[Rule], rechunk: Rechunk, again: bool, max_error: float | None, failed: Lost | None = None
) -> list[Planned]:
    """plan_repack() for an open file.

    Args:
        file: the source.
        rules, rechunk, again, max_error: as for repack(), already checked.
        failed: called with the path of a dataset (or of a part of the file) and the error that repack() would raise for it.
            The other datasets are still planned. None: the first error is raised.
    """
    plan = Plan(file, rules, rechunk, again, max_error, failed)
    planned = []
    for dataset in datasets(file, failed):
        try:
            planned.append(_planned(plan, dataset))
        except HDF5_ERRORS as error:
            if failed is None:
                raise
            failed(name_of(dataset), error)
    return planned


def _planned(plan: Plan, dataset: h5py.Dataset) -> Planned:
    decision = plan.decide(dataset)
    new_chunks: Any = decision.chunks if decision.options is not None and decision.chunks != dataset.chunks else None
    return Planned(
        name_of(dataset),
        decision.reason,
        dtype_text(dataset),
        dataset.shape,
        array_bytes(dataset),
        dataset.id.get_storage_size(),
        "" if decision.options is None else str(decision.options),
        dataset.chunks,
        new_chunks,
        decision.note,
    )

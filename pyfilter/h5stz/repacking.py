"""Compresses an HDF5 or netCDF-4 file into a new one: `repack`.

Everything else is copied as it is (copy_tree). What was written is read again and compared with the source before the new file
gets its name, so that no file ever has this name that is not complete and right.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import h5py

from h5stz import _core, compare_data
from h5stz.chunk_compressors import Compressor, compressor
from h5stz.copy_tree import ALL_FILTERS, Place, copy_tree, new_file
from h5stz.errors import StzError
from h5stz.option_checks import checked_count
from h5stz.options import STZ, Options
from h5stz.repack_plan import Decision, Plan, Rechunk, Rule
from h5stz.replacing import replaced
from h5stz.signatures import with_options_of
from h5stz.written_parts import written_boxes

if TYPE_CHECKING:
    from typing_extensions import Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]

_AHEAD = 2  # chunks for each worker that are read before they are asked for

#: Called with the path of a dataset, and the bytes done and to be done, of all datasets that are compressed and compared.
Progress: TypeAlias = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Outcome:
    """What became of a dataset.

    Attributes:
        path: of the dataset.
        reason: None if it was compressed, else why not (repack_plan.REASONS).
        array_bytes, before, after: its size, and what it took in the source and takes now.
        options: as text, "" if it was not compressed.
        largest_error: in units of the data, of what a reader of the new file finds; 0 for what was copied.
    """

    path: str
    reason: str | None
    array_bytes: int
    before: int
    after: int
    options: str = ""
    largest_error: float = 0.0


@dataclass
class Report:
    """What repack() did.

    Attributes:
        outcomes: of all datasets, in their order in the file.
        notes: what could not be kept, a line each (copy_tree).
        before, after: sizes of the files in bytes.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    before: int = 0
    after: int = 0

    @property
    def ratio(self) -> float:
        """before / after."""
        return self.before / self.after


@with_options_of(STZ)
def repack(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    rules: Sequence[Rule] = (),
    *,
    rechunk: Rechunk = "auto",
    jobs: int = 1,
    scheduler: Any = None,
    again: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Report:
    """Writes a file with the contents of another one, compressed.

    Args:
        source: path of an HDF5 or netCDF-4 file.
        target: path of the new file; may be that of `source`, with `overwrite`.
        rules: options for some of the datasets: the first Rule that names one counts.
        **options: those of STZ for all others, but data, dtype and fill_value; without any they are copied as they are stored,
            as coordinates and others always are (repack_plan.REASONS). Missing values come from the attributes _FillValue and
            missing_value.
        rechunk: "auto" keeps chunks of 256 KiB to 64 MiB, and has suggest_chunks() choose others; "never" keeps all that there
            are; or a shape for all.
        jobs: threads that compress chunks.
        scheduler: address of a scheduler of dask.distributed, or a Client: its workers compress the chunks in their place, and
            need `source` under the same name. The new file is the same.
        again: datasets that were compressed with loss before are compressed with loss once more: errors add up.
        overwrite: whether a file may be at `target`; it is replaced once the new one is complete and compared.
        progress: is told how far it is.

    Returns:
        Report.

    Raises:
        StzError: (a ValueError) options that do not fit, or a comparison that failed: a defect of h5stz, or of the machine.
        OSError: `source` cannot be read, or there is a file at `target`.
    """
    source, target = Path(source), Path(target)
    rules = [*rules, *([Rule("*", options)] if options else [])]
    if not rules:
        raise StzError("give a bound such as relative=1e-3, or rules", _ARGUMENT)
    checked_count("jobs", jobs, 4096)
    with compressor(jobs, scheduler) as using, replaced(source, target, overwrite) as part, h5py.File(source) as old:
        report = _Repack(old, Plan(old, rules, rechunk, again), using, progress).write(part)
        report.before, report.after = source.stat().st_size, part.stat().st_size
    return report


class _Repack:
    def __init__(self, old: h5py.File, plan: Plan, compressor: Compressor, progress: Progress | None) -> None:
        self.old, self.plan, self.compressor, self.progress = old, plan, compressor, progress
        self.compressed: dict[str, Decision] = {}
        self.reasons: dict[str, str | None] = {}
        self.done = self.all = 0

    def write(self, part: Path) -> Report:
        """Writes the new file, and compares it."""
        sizes: list[int] = []
        self.old.visititems(lambda _, item: sizes.append(item.nbytes) if isinstance(item, h5py.Dataset) else None)
        self.all = 2 * sum(sizes)
        with new_file(self.old, str(part)) as new:
            notes = copy_tree(self.old, new, self._store)
        report = Report(notes=notes)
        with h5py.File(part) as new:
            for path, reason in self.reasons.items():
                report.outcomes.append(self._outcome(path, reason, new[path]))
        return report

    def _outcome(self, path: str, reason: str | None, made: Any) -> Outcome:
        before: Any = self.old[path]
        sizes = before.nbytes, before.id.get_storage_size(), made.id.get_storage_size()
        self._tell(path, before.nbytes)
        if reason is not None:
            compare_data.same(before, made)
            return Outcome(path, reason, *sizes)
        options = self.compressed[path].options
        assert options is not None
        error = compare_data.within(before, made, options.resolved.settings)
        return Outcome(path, None, *sizes, str(options), error)

    def _store(self, dataset: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID) -> bool:
        """As copy_tree.Store: compresses a dataset, if the plan says so and it becomes smaller."""
        path = str(dataset.name)
        decision = self.plan.decide(dataset)
        self.reasons[path] = decision.reason
        if decision.options is None:
            self._tell(path, dataset.nbytes)
            return False
        made = _create(dataset, place, stored_type, decision)
        boxes, settings = written_boxes(decision.chunks, dataset), decision.options.resolved.settings
        for offset, stream in self.compressor.streams(dataset, boxes, decision.chunks, settings):
            made.write_direct_chunk(offset, stream)
            self._tell(path, math.prod(decision.chunks) * dataset.dtype.itemsize)
        if made.get_storage_size() >= dataset.id.get_storage_size() > 0:
            place[0].unlink(place[1])
            self.reasons[path] = "larger"
            return False
        self.compressed[path] = decision
        return True

    def _tell(self, path: str, size: int) -> None:
        self.done = min(self.done + size, self.all)
        if self.progress is not None:
            self.progress(path, self.done, self.all)


def _create(dataset: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID, decision: Decision) -> h5py.h5d.DatasetID:
    """A dataset like another one, without filters but h5stz."""
    group, name, link = place
    properties = dataset.id.get_create_plist()
    if properties.get_nfilters():
        properties.remove_filter(ALL_FILTERS)
    properties.set_layout(h5py.h5d.CHUNKED)
    properties.set_chunk(decision.chunks)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_INCR)
    assert decision.options is not None
    properties.set_filter(_core.FILTER_ID, h5py.h5z.FLAG_MANDATORY, decision.options.filter_options)
    return h5py.h5d.create(group, name, stored_type, dataset.id.get_space(), properties, link)

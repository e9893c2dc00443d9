"""Compresses an HDF5 or netCDF-4 file into a new one: `repack`.

Datasets that are not compressed, attributes and links are copied unchanged (copy_tree). The new file is read again and
compared with the source before it gets its name. A file with this name is therefore always complete and correct.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsFloat

import h5py

from h5stz import _core
from h5stz.errors import StzError
from h5stz.files import compare_data
from h5stz.files.chunk_compressors import Compressor, Stream, compressor
from h5stz.files.classic_netcdf import NEW_FORMAT, opened_source
from h5stz.files.copy_tree import ALL_FILTERS, Place, copy_tree, new_file
from h5stz.files.dropping_layers import shorter_chunks
from h5stz.files.history import before_compressing
from h5stz.files.repack_plan import Decision, Plan, Rechunk, Rule, all_rules
from h5stz.files.replacing import replaced
from h5stz.hdf5.file_kinds import is_netcdf3, opened_file, path_to_read, refuse_address
from h5stz.hdf5.objects import array_bytes, dataset_at, name_of
from h5stz.hdf5.written_parts import written_boxes, written_bytes
from h5stz.options.option_checks import checked_count
from h5stz.options.precision import checked_precision
from h5stz.options.resolved import MEASURED
from h5stz.options.stz import STZ, Options
from h5stz.progress import Meter, Progress
from h5stz.reading.make_view import view
from h5stz.signatures import with_options_of
from h5stz.unreadable import naming_memory

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]

if TYPE_CHECKING:
    from typing_extensions import Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack


@dataclass(frozen=True)
class Outcome:
    """What repack() did with a dataset.

    Attributes:
        path: path of the dataset.
        reason: None if it was compressed, otherwise the reason why not (repack_plan.REASONS).
        array_bytes, before, after: size of the array, stored size in the source, and stored size in the new file, in bytes.
        options: options as text; "" if it was not compressed.
        largest_error: largest absolute error that a reader of the new file finds, in the units of the data; 0 for copied
            datasets.
        note: how the compression differs from the request (repack_plan.NOTES), or None.
        written_bytes: the part of array_bytes in chunks that exist in the file. Chunks that were never written take no space.
    """

    path: str
    reason: str | None
    array_bytes: int
    before: int
    after: int
    options: str = ""
    largest_error: float = 0.0
    note: str | None = None
    written_bytes: int = 0


@dataclass
class Report:
    """What repack() did.

    Attributes:
        outcomes: an Outcome for each dataset, in the order of the file.
        notes: things that could not be copied, one line each (copy_tree).
        before, after: sizes of the source and of the new file in bytes.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    before: int = 0
    after: int = 0

    @property
    def ratio(self) -> float:
        """Ratio of the file sizes: before / after."""
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
    max_error: SupportsFloat | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    **options: Unpack[Options],
) -> Report:
    """Writes a compressed copy of an HDF5 or netCDF file.

    Args:
        source: path of an HDF5 or netCDF file. A netCDF-3 file becomes a netCDF-4 file; this needs the package netCDF4.
        target: path of the new file. It may be `source` if `overwrite` is True.
        rules: options for some of the datasets. The first Rule that matches a dataset applies.
        **options: options of STZ for all other datasets, except data, dtype and fill_value. Without options these datasets are
            copied as stored. Coordinates and some others are always copied (repack_plan.REASONS). Missing values are taken
            from the attributes _FillValue and missing_value.
        rechunk: "auto" keeps chunks of 256 KiB to 64 MiB and replaces others by those of suggest_chunks(). "never" keeps all
            chunks. A tuple is the chunk shape for all datasets.
        jobs: number of threads that compress chunks.
        scheduler: a dask.distributed Client, or the address of a scheduler. Its workers compress the chunks instead of local
            threads. They must be able to open `source` under the same name. The new file is the same.
        again: True also compresses datasets that are already lossy. Their errors then add up. False copies them.
        max_error: largest permitted absolute error, in the units of the data, for datasets with precision layers
            (`STZ(layers=)`). Layers that this error does not need are removed. No chunk is decoded for that. The options of
            the new dataset state the error as its bound. Datasets whose error already exceeds max_error are copied unchanged.
            No other options are needed.
        overwrite: True permits a file at `target`. It is replaced after the new file is complete and was compared.
        progress: called with the path of a dataset, the bytes done and the bytes in total, counting writing and comparing.

    Returns:
        Report

    Raises:
        StzError: (a ValueError) invalid options. Also if the comparison fails, which means a defect of h5stz or of the
            machine.
        OSError: `source` cannot be read, or a file exists at `target`.
    """
    refuse_address(target)
    source, target = path_to_read(source), Path(target)
    error = checked_precision(max_error, None).max_error
    rules = all_rules(rules, options, error)
    checked_count("jobs", jobs, 4096)
    if scheduler is not None and is_netcdf3(source):
        raise StzError(f"{source}: workers cannot read netCDF-3 files: convert it first, such as with nccopy -k nc4", _ARGUMENT)
    with compressor(jobs, scheduler) as using, ExitStack() as reading:
        old = reading.enter_context(opened_source(source, chunk_cache=False))
        plan = Plan(old, rules, rechunk, again, error)  # which checks the options: they matter more than what is at `target`
        with replaced(source, target, overwrite) as part:
            less = "use jobs=1" if jobs > 1 and scheduler is None else ""
            report = _Repack(old, plan, error, using, jobs, progress, less).write(part)
            report.before, report.after = source.stat().st_size, part.stat().st_size
            reading.close()  # the new file may take the place of this one
        if is_netcdf3(source):
            report.notes.insert(0, NEW_FORMAT)
    return report


class _Repack:
    def __init__(
        self,
        old: h5py.File,
        plan: Plan,
        max_error: float | None,
        compressor: Compressor,
        threads: int,  # that compare
        progress: Progress | None,
        less: str,  # as of naming_memory()
    ) -> None:
        self.threads, self.less = threads, less
        self.old, self.plan, self.max_error, self.compressor = old, plan, max_error, compressor
        self.compressed: dict[str, Decision] = {}
        self.shortened: dict[str, float] = {}  # datasets that lost layers, with their largest errors
        self.reasons: dict[str, str | None] = {}
        self.notes: list[str] = []
        self.meter = Meter(progress, 2 * plan.array_bytes)

    def write(self, part: Path) -> Report:
        """Writes the new file and compares it with the source."""
        with new_file(self.old, str(part)) as new:
            self.notes = copy_tree(self.old, new, self._stored)
        report = Report(notes=self.notes)
        with opened_file(part) as new:
            for path, reason in self.reasons.items():
                with naming_memory(dataset_at(self.old, path), self.less):
                    report.outcomes.append(self._outcome(path, reason, dataset_at(new, path)))
        return report

    def _stored(self, dataset: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID) -> bool:
        with naming_memory(dataset, self.less):
            return self._store(dataset, place, stored_type)

    def _outcome(self, path: str, reason: str | None, made: h5py.Dataset) -> Outcome:
        before = dataset_at(self.old, path)
        written = written_bytes(made)
        sizes = array_bytes(before), before.id.get_storage_size(), made.id.get_storage_size()
        with self.meter.share(path, sizes[0]) as add:
            if reason is not None:
                if not compare_data.same(before, made, add):
                    self.notes.append(f"{path}: HDF5 cannot read all of it: its chunks are copied and compared as stored")
                return Outcome(path, reason, *sizes, written_bytes=written)
            if path in self.shortened:
                read = view(before).at_error(self.max_error)
                compare_data.same(before, made, add, read)
                how = str(self.compressed[path].options)
                return Outcome(path, None, *sizes, how, self.shortened[path], written_bytes=written)
            options = self.compressed[path].options
            assert options is not None
            error = compare_data.within(before, made, options.resolved.settings, add, self.threads)
            return Outcome(path, None, *sizes, str(options), error, self.compressed[path].note, written)

    def _store(self, dataset: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID) -> bool:
        """A copy_tree.Store: compresses a dataset if the plan says so and it becomes smaller."""
        path = name_of(dataset)
        decision = self.plan.decide(dataset)
        self.reasons[path] = decision.reason
        if decision.options is None:
            with self.meter.share(path, array_bytes(dataset)):
                return False
        if decision.drops_layers:
            return self._store_shorter(dataset, place, stored_type, decision)
        if decision.options.resolved.asked.partition("=")[0] not in MEASURED:  # the plan trains those on the data
            decision = replace(decision, options=decision.options.trained(dataset, decision.chunks, threads=self.threads))
        made = _create(dataset, place, stored_type, decision)
        with self.meter.share(path, array_bytes(dataset)) as add:
            for offset, stream in self._streams(dataset, decision):
                made.write_direct_chunk(offset, stream)
                add(math.prod(decision.chunks) * dataset.dtype.itemsize)
        if made.get_storage_size() >= dataset.id.get_storage_size() > 0:
            place[0].unlink(place[1])
            self.reasons[path] = "larger"
            return False
        self.compressed[path] = decision
        return True

    def _store_shorter(self, dataset: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID, decision: Decision) -> bool:
        """Copies the chunks of a dataset without the layers that the error does not need. Does nothing if a chunk is less
        precise.
        """
        path, largest = name_of(dataset), 0.0
        made = _create(dataset, place, stored_type, decision)
        with self.meter.share(path, array_bytes(dataset)) as add:
            try:
                for offset, mask, content, error in shorter_chunks(dataset, self.max_error or 0.0):
                    made.write_direct_chunk(offset, content, mask)
                    largest = max(largest, error)
                    add(math.prod(decision.chunks) * dataset.dtype.itemsize)
            except StzError as error:
                if error.code != _core.ERROR_CODES["STZ_ERROR_BOUND"]:
                    raise
                place[0].unlink(place[1])
                self.reasons[path] = "less precise"
                return False
        self.compressed[path], self.shortened[path] = decision, largest
        return True

    def _streams(self, dataset: h5py.Dataset, decision: Decision) -> Iterator[Stream]:
        """The compressed chunks of a dataset, each with the index of its first element."""
        assert decision.options is not None
        settings = decision.options.resolved.settings
        boxes = written_boxes(decision.chunks, dataset)
        return self.compressor.streams(dataset, boxes, decision.chunks, settings, before_compressing(dataset))


def _create(dataset: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID, decision: Decision) -> h5py.h5d.DatasetID:
    """Creates a dataset like another one, with h5stz as its only filter."""
    group, name, link = place
    properties = dataset.id.get_create_plist()
    if properties.get_nfilters():
        properties.remove_filter(ALL_FILTERS)
    properties.set_layout(h5py.h5d.CHUNKED)
    properties.set_chunk(decision.chunks)
    properties.set_alloc_time(h5py.h5d.ALLOC_TIME_INCR)
    assert decision.options is not None
    words = decision.options.filter_options
    if stored_type.get_class() == h5py.h5t.OPAQUE:  # of bfloat16 or float8, which only client data with the type say
        words = decision.options.resolved.settings.full_cd_values(dataset.dtype, decision.chunks)
    properties.set_filter(_core.FILTER_ID, h5py.h5z.FLAG_MANDATORY, words)
    return h5py.h5d.create(group, name, stored_type, dataset.id.get_space(), properties, link)

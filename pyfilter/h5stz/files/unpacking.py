"""Writes a file whose datasets do not need the filter, for readers without it: `unpack`."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import h5py
import numpy as np

from h5stz import _core, patterns
from h5stz.errors import HDF5_ERRORS, StzError
from h5stz.files import compare_data
from h5stz.files.classic_netcdf import NEW_FORMAT, opened_source
from h5stz.files.copy_tree import ALL_FILTERS, Place, copy_tree, new_file
from h5stz.files.repack_plan import Rule
from h5stz.files.replacing import replaced
from h5stz.hdf5.file_kinds import is_netcdf3, opened_file, path_to_read, refuse_address
from h5stz.hdf5.named_datasets import no_dataset_like
from h5stz.hdf5.objects import Identity, as_dataset, dataset_at, hard_links, identity, name_of
from h5stz.hdf5.short_floats import made_like
from h5stz.hdf5.written_parts import written_boxes
from h5stz.options.stz import client_data
from h5stz.progress import Meter, Progress
from h5stz.signatures import checked
from h5stz.slabs import STORED_BYTES, Memory, slab_extents
from h5stz.unreadable import naming_memory, of_part

_OPTION = _core.ERROR_CODES["STZ_ERROR_OPTION"]


@checked
def unpack(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    dataset: str = "*",
    deflate: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> tuple[list[str], list[str]]:
    """Writes a copy of a file in which no dataset needs this filter.

    The samples are bit for bit those that a reader of `source` gets. Everything else is copied unchanged.

    Args:
        source: path of an HDF5 or netCDF file.
        target: path of the new file. It may be `source` if `overwrite` is True.
        dataset: which datasets to unpack: a path, or a shell pattern for whole paths.
        deflate: 0 to 9 compresses them with HDF5's shuffle and deflate (gzip), which every HDF5 library can read. None stores
            them without compression.
        overwrite: True permits a file at `target`. It is replaced after the new file is complete and was compared.
        progress: called with the path of a dataset, the bytes done and the bytes in total, counting writing and comparing.

    Returns:
        (list of the paths of the unpacked datasets, list of lines about things that could not be copied)

    Raises:
        StzError: (a ValueError) `deflate` is out of range, or no dataset matches `dataset`. Also if the new file has other
            values, which means a defect of the machine.
        OSError: `source` cannot be read, or a file exists at `target`.
    """
    if deflate is not None and deflate not in range(10):
        raise StzError(f"deflate={deflate!r} must be None or 0 to 9", _OPTION)
    refuse_address(target)
    source = path_to_read(source)
    unpacked: list[str] = []

    def store(stored: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID) -> bool:
        path = name_of(stored)
        if identity(stored) not in chosen:
            return False
        with meter.share(path, stored.nbytes) as add, naming_memory(stored):
            _write(stored, place, stored_type, deflate, add)
        unpacked.append(path)
        return True

    with ExitStack() as reading:
        old = reading.enter_context(opened_source(source))
        chosen = _chosen(old, Rule(dataset, None))
        meter = Meter(progress, 2 * sum(chosen.values()))
        with replaced(source, Path(target), overwrite) as part:
            with new_file(old, str(part)) as new:
                notes = copy_tree(old, new, store)
            with opened_file(part) as made:
                for path in unpacked:
                    before = dataset_at(old, path)
                    with meter.share(path, before.nbytes) as add, naming_memory(before):
                        compare_data.same(before, dataset_at(made, path), add)
            reading.close()  # the new file may take the place of this one
    return unpacked, [NEW_FORMAT, *notes] if is_netcdf3(source) else notes


def _chosen(file: h5py.File, rule: Rule) -> dict[Identity, int]:
    """The datasets compressed with h5stz that the rule matches by any of their paths, with their sizes in memory.

    StzError if the rule matches no dataset at all.
    """
    paths = {path: item for path, item, _ in hard_links(file) if isinstance(item, h5py.h5d.DatasetID)}
    found: dict[Identity, int] = {}
    named = set(patterns.chosen_paths(rule.pattern, paths))
    if not named and rule.pattern != "*":
        raise no_dataset_like(file, rule.pattern, list(paths))
    for path in named:
        try:
            stored = as_dataset(paths[path])
            if client_data(stored) is not None:
                found[identity(stored)] = stored.nbytes
        except HDF5_ERRORS as error:
            raise of_part(os.fsdecode(file.filename), path, error) from error
    return found


def _write(
    stored: h5py.Dataset, place: Place, stored_type: h5py.h5t.TypeID, deflate: int | None, add: Callable[[int], None]
) -> None:
    group, name, link = place
    properties = stored.id.get_create_plist()
    others = [properties.get_filter(index) for index in range(properties.get_nfilters())]
    properties.remove_filter(ALL_FILTERS)
    for identifier, flags, words, _ in others:
        if identifier != _core.FILTER_ID:
            properties.set_filter(identifier, flags, words)
    if deflate is not None:
        properties.set_shuffle()
        properties.set_deflate(deflate)
    access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
    access.set_chunk_cache(
        1, 0, 0
    )  # each box is whole chunks; and what waited to be written when the disk is full, HDF5 would crash on
    made = made_like(h5py.h5d.create(group, name, stored_type, stored.id.get_space(), properties, link, access), stored)
    memory = Memory()
    for box in written_boxes(slab_extents(stored, STORED_BYTES), stored):
        part = np.asarray(memory.piece(stored, box))
        made[box] = part
        add(part.nbytes)

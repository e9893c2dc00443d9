"""Pairs of arrays to compare: datasets with the same path in two files, single datasets, and .npy files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np

from h5stz import _core, patterns
from h5stz.analysis.comparing import Comparison, compared
from h5stz.elements import is_floating
from h5stz.errors import HDF5_ERRORS, StzError
from h5stz.hdf5 import missing_numbers, tree_contents
from h5stz.hdf5.named_datasets import link_of_pattern
from h5stz.hdf5.objects import array_bytes, dataset_at, dtype_text, has_numpy_type
from h5stz.progress import Meter, Progress
from h5stz.reading.view import View
from h5stz.sources.remote_files import refuse_to_go_on
from h5stz.unreadable import of_part

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_SIGNATURE = b"\x93NUMPY"


@dataclass(frozen=True)
class Pair:
    """The Comparison of two datasets with the same path. Without one, `note` says why; `failed`: a dataset cannot be read."""

    path: str
    found: Comparison | None
    note: str = ""
    failed: bool = False


def pairs(
    one: h5py.File,
    other: h5py.File,
    pattern: str = "*",
    *,
    names: tuple[str, str],
    progress: Progress | None = None,
) -> Iterator[Pair]:
    """Compares all datasets of two files whose path matches a pattern. Unreadable datasets do not stop it.

    Args:
        one, other: the original and the file to compare.
        pattern: as for patterns.chosen_paths().
        names: names of the files as the user gave them.
        progress: called with the path of a dataset, the bytes done and the bytes in total, of the original.
    """
    lost: dict[str, Pair] = {}
    paths, others = (_paths(file, name, lost) for file, name in zip((one, other), names, strict=True))
    yield from lost.values()
    chosen = set(patterns.chosen_paths(pattern, (paths | others) - lost.keys()))
    if not chosen and pattern != "*":
        why = link_of_pattern(one, pattern) or link_of_pattern(other, pattern)
        raise StzError(f"no dataset of {names[0]} and {names[1]} has a path like {pattern}{why}", _ARGUMENT)
    meter = Meter(progress, sum(_array_bytes(one, path) for path in paths & others & chosen))
    for path in sorted(chosen):
        if path not in paths or path not in others:
            if any(path.startswith(f"{each.rstrip('/')}/") for each in lost):
                continue  # the other file may have it too, where it is damaged
            yield Pair(path, None, f"only in {names[path not in paths]}")
            continue
        with meter.share(path, _array_bytes(one, path)) as add:
            try:
                before, after = (_opened(file, path, name) for file, name in zip((one, other), names, strict=True))
                note = _why_not(before, after)
                pair = Pair(path, None if note else compared(before, after, missing(before, after), add), note)
            except HDF5_ERRORS as error:
                refuse_to_go_on(one)
                refuse_to_go_on(other)
                pair = Pair(path, None, str(of_part(" or ".join(names), path, error)), failed=True)
        yield pair


def _paths(file: h5py.File, name: str, lost: dict[str, Pair]) -> set[str]:
    """Paths of all datasets of a file. Damaged paths become Pairs in `lost`."""

    def note(path: str, error: BaseException) -> None:
        refuse_to_go_on(file)
        lost.setdefault(path, Pair(path, None, str(of_part(name, path, error)), failed=True))

    try:
        contents = tree_contents.Contents(file, note)
    except HDF5_ERRORS as error:
        raise of_part(name, "", error) from error
    return {path for each in contents.paths.values() for path in each}


def _opened(file: h5py.File, path: str, name: str) -> h5py.Dataset:
    try:
        return dataset_at(file, path)
    except HDF5_ERRORS as error:
        raise of_part(name, path, error) from error


def _array_bytes(file: h5py.File, path: str) -> int:
    """Size of a dataset in memory, in bytes; 0 if damage hides it."""
    try:
        return array_bytes(dataset_at(file, path))
    except HDF5_ERRORS:
        return 0


def _why_not(before: h5py.Dataset, after: h5py.Dataset) -> str:
    """The reason why two datasets cannot be compared; "" if they can."""
    if before.shape is None or before.shape != after.shape:
        return f"not compared: the shapes are {before.shape} and {after.shape}"
    kinds = {_kind(each) for each in (before, after)}
    if not kinds <= set("iufbc") or (len(kinds) > 1 and "c" in kinds):
        return f"not compared: {dtype_text(before)} and {dtype_text(after)}"
    return "" if before.size else "not compared: there is no sample"


def _kind(dataset: h5py.Dataset) -> str:
    """The kind of a dataset's dtype: "f" for bfloat16 and float8 too, "?" without a type of NumPy."""
    if not has_numpy_type(dataset):
        return "?"
    return "f" if is_floating(dataset.dtype) else dataset.dtype.kind


def missing(original: object, other: object) -> list[float]:
    """The numbers that mark missing values: from attributes of the original, and fill values in options of h5stz."""
    found: list[float] = []
    for data in (original, other):
        dataset = data.dataset if isinstance(data, View) else data
        if not isinstance(dataset, h5py.Dataset):
            continue
        if data is original and any(name in dataset.attrs for name in missing_numbers.NAMES):
            found += map(float, missing_numbers.missing_values(dataset))
        if (number := missing_numbers.fill_of_options(dataset)) is not None:
            found.append(float(number))
    return list(dict.fromkeys(found))


def is_npy(path: str) -> bool:
    """True if a file is a .npy file."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(len(_SIGNATURE)) == _SIGNATURE
    return False


def load_npy(path: str) -> np.memmap[Any, Any]:
    """The array of a .npy file, memory-mapped."""
    return np.lib.format.open_memmap(path, mode="r")

"""Pairs of arrays to compare: datasets of two files that have the same path, single datasets, and .npy files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np

from h5stz import _core, patterns
from h5stz.analysis.comparing import PASSES, Comparison, compared
from h5stz.errors import StzError
from h5stz.files import repack_plan
from h5stz.hdf5 import missing_numbers, tree_contents
from h5stz.hdf5.named_datasets import link_of_pattern
from h5stz.hdf5.objects import array_bytes, dataset_at, dtype_text
from h5stz.progress import Meter, Progress
from h5stz.reading.view import View

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_SIGNATURE = b"\x93NUMPY"


@dataclass(frozen=True)
class Pair:
    """Two datasets of one path: a Comparison, or None and why there is none."""

    path: str
    found: Comparison | None
    note: str = ""


def pairs(
    one: h5py.File,
    other: h5py.File,
    pattern: str = "*",
    *,
    names: tuple[str, str],
    ssim: bool = True,
    progress: Progress | None = None,
) -> Iterator[Pair]:
    """Compares all datasets of two files whose path matches a pattern, one after another.

    Args:
        one, other: the original and what is compared with it.
        pattern: as of repack_plan.Rule.
        names: of the files, as the user has given them.
        ssim: as of compare().
        progress: is told how far it is, in bytes of the original.
    """
    rule = repack_plan.Rule(pattern, None)
    paths, others = ({path for each in tree_contents.Contents(file).paths.values() for path in each} for file in (one, other))
    chosen = set(patterns.chosen_paths(rule.pattern, paths | others))
    if not chosen and pattern != "*":
        why = link_of_pattern(one, pattern) or link_of_pattern(other, pattern)
        raise StzError(f"no dataset of {names[0]} and {names[1]} has a path like {pattern}{why}", _ARGUMENT)
    meter = Meter(progress, PASSES * sum(array_bytes(dataset_at(one, path)) for path in paths & others & chosen))
    for path in sorted(chosen):
        if path not in paths or path not in others:
            yield Pair(path, None, f"only in {names[path not in paths]}")
            continue
        before, after = dataset_at(one, path), dataset_at(other, path)
        with meter.share(path, PASSES * array_bytes(before)) as add:
            note = _why_not(before, after)
            yield Pair(path, None if note else compared(before, after, missing(before, after), ssim, add), note)


def _why_not(before: h5py.Dataset, after: h5py.Dataset) -> str:
    """Why two datasets cannot be compared; "" if they can."""
    if before.shape is None or before.shape != after.shape:
        return f"not compared: the shapes are {before.shape} and {after.shape}"
    try:
        kinds = {before.dtype.kind, after.dtype.kind}
    except (TypeError, ValueError, KeyError):  # a type that NumPy has not
        kinds = {"?"}
    if not kinds <= set("iufbc") or (len(kinds) > 1 and "c" in kinds):
        return f"not compared: {dtype_text(before)} and {dtype_text(after)}"
    return "" if before.size else "not compared: there is no sample"


def missing(original: object, other: object) -> list[float]:
    """The numbers that stand for missing samples: what attributes of the original name, and fill values of h5stz's options."""
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
    """Whether a file is a .npy file."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read(len(_SIGNATURE)) == _SIGNATURE
    return False


def load_npy(path: str) -> np.memmap[Any, Any]:
    """The array of a .npy file, which is read when it is needed."""
    return np.lib.format.open_memmap(path, mode="r")

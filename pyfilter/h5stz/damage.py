"""Damage that reads skip: the lost samples, the reason, and the warning."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np

from h5stz import _core, elements
from h5stz.counts import counted
from h5stz.elements import Array, DType
from h5stz.errors import StzError, StzTypeError

#: What a read puts in the place of samples that it cannot read; "raise": it fails instead.
OnError: TypeAlias = Literal["raise", "nan", "fill"] | complex | np.number[Any]

_OPTION = _core.ERROR_CODES["STZ_ERROR_OPTION"]
_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


@dataclass(frozen=True)
class Damage:
    """One damaged part that a read found.

    Attributes:
        file: name of the file; None for a stream in memory.
        dataset: path of the dataset in the file; None for a stream in memory.
        chunk: index of the first element of the damaged chunk in the dataset. None for a stream in memory or a dataset without
            chunks.
        level: level of the damaged block, 0 is the finest. None: the whole chunk is damaged.
        block: number of the damaged block in its level. None: data that all blocks of the level need; this level and the finer
            ones are lost.
        patch: number of the damaged patch, 0 is the oldest, if the chunk was rewritten in part (docs/rewriting.md). None: the
            damage is not in a patch.
        start, stop: the smallest box in the dataset that contains all lost elements of the read. The box is empty if only a
            check was lost.
        lost: number of samples that the read lost; a complex number counts as two. A sample that two damages affect counts for
            one of them.
        reason: the kind of damage, as text.
        code: number of the error (StzError.code); 0 if HDF5 could not read the chunk.
    """

    file: str | None
    dataset: str | None
    chunk: tuple[int, ...] | None
    level: int | None
    block: int | None
    patch: int | None
    start: tuple[int, ...]
    stop: tuple[int, ...]
    lost: int
    reason: str
    code: int

    @property
    def region(self) -> tuple[slice, ...]:
        """The box as an index: `view[damage.region]`."""
        return tuple(slice(start, stop) for start, stop in zip(self.start, self.stop, strict=True))

    @property
    def key(self) -> tuple[Any, ...]:
        """Identity of the damaged part: two reads that find the same damage have equal keys."""
        return self.file, self.dataset, self.chunk, self.patch, self.level, self.block, self.code

    def joined(self, other: Damage) -> Damage:
        """Combines two reports of the same damage, from two reads."""
        if not self.lost or not other.lost:
            return self if self.lost else other
        start = tuple(map(min, self.start, other.start))
        stop = tuple(map(max, self.stop, other.stop))
        return replace(self, start=start, stop=stop, lost=max(self.lost, other.lost))

    def what(self) -> str:
        """Names the damaged part of the chunk or of the stream."""
        if self.level is None:
            part = "all of it" if self.lost else "its content check"
        elif self.block is None:
            part = f"level {self.level} and finer ones"
        else:
            part = f"level {self.level}, block {self.block}"
        return part if self.patch is None else f"patch {self.patch}, {part}"

    def box(self) -> str:
        """The box of lost elements as text, written as an index."""
        return f"[{', '.join(f'{start}:{stop}' for start, stop in zip(self.start, self.stop, strict=True))}]"

    def __str__(self) -> str:
        place = "" if self.dataset is None else f"{self.dataset} in {self.file}: "
        place += "" if self.chunk is None else f"the chunk at {self.chunk}: "
        cost = f"{counted(self.lost, 'sample')} of {self.box()}" if self.lost else "no samples"
        return f"{place}{self.what()}, {cost}: {self.reason}"


class DamageWarning(UserWarning):
    """A read with on_error= found damage and continued.

    Attributes:
        damage: list of Damage.
    """

    def __init__(self, message: str, damage: Iterable[Damage] = ()) -> None:
        super().__init__(message)
        self.damage = list(damage)


def of_stream(
    entries: Iterable[Mapping[str, Any]],
    file: str | None = None,
    dataset: str | None = None,
    chunk: tuple[int, ...] | None = None,
) -> list[Damage]:
    """Converts the entries of _core.Reader.damage() to Damages. The stream may be in memory or a chunk of a dataset."""
    found = []
    for entry in entries:
        origin = chunk or (0,) * len(entry["start"])
        start = tuple(first + at for first, at in zip(origin, entry["start"], strict=True))
        stop = tuple(at + extent for at, extent in zip(start, entry["extent"], strict=True))
        code = entry["error"]
        place = (entry["level"], entry["block"], entry["patch"])
        found.append(Damage(file, dataset, chunk, *place, start, stop, entry["lost"], _core.ERROR_TEXTS[code], code))
    return found


def check_on_error(on_error: object) -> None:
    """Raises StzTypeError unless `on_error` is "raise", "nan", "fill" or a number. replacement() checks whether it suits the
    dtype.
    """
    named = isinstance(on_error, str) and on_error in ("raise", "nan", "fill")
    if not named and not isinstance(on_error, (bool, int, float, complex, np.generic)):
        raise StzTypeError(f"on_error={on_error!r} must be 'raise', 'nan', 'fill' or a number", _OPTION)


def replacement(on_error: object, dtype: DType, fill: Array | None) -> Array | None:
    """The value for lost samples, as a 0-d array of `dtype`. None: lost samples raise an error.

    Args:
        on_error: "raise", "nan", "fill" or a number.
        dtype: dtype of the data.
        fill: fill value of the data, or None.

    Raises:
        StzError: `dtype` cannot hold the value, or there is no fill value.
        StzTypeError: `on_error` is none of these.
    """
    check_on_error(on_error)
    if not isinstance(on_error, str):
        return _number(on_error, dtype)
    if on_error == "raise":
        return None
    if on_error == "nan":
        if dtype.kind != "c" and not elements.is_floating(dtype):
            raise StzError(f"data of dtype {dtype} have no NaN: give on_error='fill', or a number", _OPTION)
        return np.array(complex(np.nan, np.nan) if dtype.kind == "c" else np.nan, dtype)
    if fill is None:
        raise StzError("on_error='fill': the data have no fill value: give a number", _OPTION)
    return fill


def _number(number: Any, dtype: DType) -> Array:
    """Converts a number to a 0-d array. Integers must be exact, other numbers are rounded."""
    inexact = dtype.kind == "c" or elements.is_floating(dtype)
    refusal = StzError(f"on_error={number!r} cannot be stored in data of dtype {dtype}: give another number", _OPTION)
    try:
        with np.errstate(all="ignore"):
            if dtype.kind == "c" and np.isnan(number):  # of both parts, either of which may be lost
                number = complex(np.nan, np.nan)
            checked = dtype.kind in "fc" and not elements.is_short_float(dtype)
            value = np.array(number).astype(dtype, casting="same_kind" if checked else "unsafe")
    except (TypeError, ValueError, OverflowError):
        raise refusal from None
    if not inexact and value.item() != number:
        raise refusal
    if inexact and not np.isfinite(value) and np.isfinite(number):
        raise refusal
    return value


def stored_bytes(value: Array) -> bytes:
    """The bytes of a replacement value, for a reader of streams."""
    return value.astype(value.dtype, copy=False).view(elements.storage_dtype(value.dtype)).tobytes()


def warn(found: Sequence[Damage], value: Array, shape: Sequence[int], name: str, listed: str) -> None:
    """Issues the DamageWarning of a read of `shape`. `listed` is a sentence that names where the full list is."""
    if not found:
        return
    lost = sum(damage.lost for damage in found)
    samples = prod(shape) * (2 if value.dtype.kind == "c" else 1)
    are = "was read is" if samples == 1 else "were read are"
    text = f"{counted(len(found), 'damaged part')} of {name}: {lost} of {counted(samples, 'sample')} that {are} lost, and "
    text += f"{value[()]} stands in for them. The first: {found[0]}. {listed}"
    warnings.warn(DamageWarning(text, found), stacklevel=_depth())


def warn_of(text: str) -> None:
    """Issues a DamageWarning for damage that costs no samples."""
    warnings.warn(DamageWarning(text), stacklevel=_depth())


def _depth() -> int:
    """The `stacklevel` of the first caller outside this package, counted from warn() or warn_of()."""
    depth, frame = 2, sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    return depth

"""Compares two datasets slab by slab, with a bound or bit by bit.

Errors within a rounding of the bound are computed in exact arithmetic, so that a kept bound is never reported as broken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from typing import TypeAlias

import h5py
import numpy as np

from h5stz import _core, elements
from h5stz.elements import Array
from h5stz.errors import HDF5_ERRORS, StzError, StzMemoryError
from h5stz.files.chunk_compressors import codec_of
from h5stz.files.stored_chunks import stored_chunks
from h5stz.hdf5 import raw_values
from h5stz.hdf5.chunk_codec import ChunkCodec
from h5stz.hdf5.written_parts import written_boxes
from h5stz.options.settings import Settings
from h5stz.reading.view import View
from h5stz.slabs import STORED_BYTES, Box, Memory, boxes, each_box, slab_extents
from h5stz.thread_team import in_order
from h5stz.unreadable import naming

_DATA = _core.ERROR_CODES["STZ_ERROR_CONTENT"]
_AT_ONCE = 1 << 17  # numbers: what is made of them stays in the caches
_CLEARLY = 1 - 2.0**-40  # an error of less than this share of the bound is within it, however it was rounded
_COARSE = 1e-290  # products near the smallest float64 numbers have larger rounding errors

#: A box of a dataset, its samples, those of the other dataset, and what must be called before these are there.
_Part: TypeAlias = tuple[Box, Array, Array, Callable[[], None]]


def same(before: h5py.Dataset, after: h5py.Dataset, add: Callable[[int], None], read: View | None = None) -> bool:
    """Raises StzError if a number of a dataset has other bits in the other dataset.

    Numbers are compared in the type of the file, without conversion. These are not compared: references, virtual and external
    datasets, and datasets whose filters are not installed, because their chunks were copied as stored. `add` is called with
    the number of bytes of each slab. `read` replaces the first dataset as the source of its values.

    Returns:
        False if HDF5 cannot read the first dataset, because a chunk is damaged or its filter fails. The stored chunks were
        then compared.
    """
    properties = before.id.get_create_plist()
    filters = [properties.get_filter(index)[0] for index in range(properties.get_nfilters())]
    elsewhere = before.is_virtual or properties.get_external_count() or not all(map(h5py.h5z.filter_avail, filters))
    stored = before.id.get_type()
    if before.id.get_space().get_simple_extent_type() == h5py.h5s.NULL or stored.detect_class(h5py.h5t.REFERENCE) or elsewhere:
        return True
    if read is None:
        return _same_in_file(before, after, stored, add)
    for box, one, other in _pieces(before, after, add, read):
        if not same_bits(one, other):
            raise _broken(before, box, "its elements have other bits")
    return True


def _same_in_file(before: h5py.Dataset, after: h5py.Dataset, stored: h5py.h5t.TypeID, add: Callable[[int], None]) -> bool:
    if before.shape != after.shape or not stored.equal(after.id.get_type()):
        raise _broken(before, (), "its type or its shape differs")
    sizes = raw_values.Sizes(before.shape, np.dtype((np.void, stored.get_size())), before.chunks)
    of_one, of_other = Memory(), Memory()
    for box in written_boxes(slab_extents(sizes, STORED_BYTES, after), before, after):
        with ExitStack() as values:
            try:
                one = values.enter_context(raw_values.values_of(before.id, box, stored, of_one))
            except RuntimeError:
                if before.chunks is None or not raw_values.is_plain(stored):
                    raise
                _compare_chunks(before, after)
                return False
            other = values.enter_context(raw_values.values_of(after.id, box, stored, of_other))
            if not same_bits(one, other) and raw_values.told(stored, one) != raw_values.told(stored, other):
                raise _broken(before, box, "its elements have other bits")
            add(one.nbytes)
    return True


def same_bits(one: Array, other: Array) -> bool:
    """True if two arrays have the same bytes."""
    if one.nbytes != other.nbytes or not (one.flags.c_contiguous and other.flags.c_contiguous):
        return one.tobytes() == other.tobytes()
    words = np.dtype(f"u{math.gcd(one.nbytes, 8)}") if one.nbytes else np.dtype("u1")
    return np.array_equal(one.reshape(-1).view(words), other.reshape(-1).view(words))


def _compare_chunks(before: h5py.Dataset, after: h5py.Dataset) -> None:
    """Raises StzError if a stored chunk differs between two datasets."""
    for offset, stored in stored_chunks(before):
        if isinstance(stored, BaseException):
            raise stored
        if before.id.read_direct_chunk(offset) != after.id.read_direct_chunk(offset):
            raise _broken(before, tuple(slice(at, at + 1) for at in offset), "the chunk is stored in other bytes")


def within(
    before: h5py.Dataset, after: h5py.Dataset, settings: Settings, add: Callable[[int], None], threads: int = 1
) -> float:
    """The largest |x - x'| over the finite elements of two numeric datasets. `add` is called with the bytes of each slab.

    Raises:
        StzError: an error exceeds the bound of the settings, or other elements have other bits.
    """

    def largest_error(part: _Part) -> float:
        box, x, y, decode = part
        try:
            decode()
        except StzMemoryError:
            raise
        except StzError as damage:
            raise _broken(before, box, f"its chunk cannot be decoded ({damage})") from damage
        largest = 0.0
        for one, other in _small_parts(x, y):
            error = _clear_error(one, other, settings)
            largest = max(largest, _exact_error(before, box, one, other, settings) if error is None else error)
        return largest

    largest = 0.0
    for parts in _slabs_of_parts(before, after, add):
        with in_order(largest_error, parts, min(threads, len(parts))) as errors:
            largest = max(largest, *errors)
    return largest


def _unchanged(x: Array, settings: Settings) -> Array:
    """Which numbers must keep their bits."""
    exact = ~np.isfinite(x) if elements.is_floating(x.dtype) else np.zeros(x.shape, bool)
    if settings.fill is not None:
        exact |= _bits(x) == settings.fill
    return exact


def _clear_error(x: Array, y: Array, settings: Settings) -> float | None:
    """The largest |x - x'|, or None if float64 is too coarse to show that every promise was kept.

    A difference has a relative rounding error of 2^-53, far less than what _CLEARLY leaves.
    """
    if settings.mode == _core.MODES["lossless"] or x.dtype.itemsize > (8 if elements.is_floating(x.dtype) else 4):
        return None
    by_size = settings.mode == _core.MODES["pointwise_relative"]
    if settings.fill is None and not by_size:
        with np.errstate(all="ignore"):
            error = np.subtract(x, y, dtype=np.float64)
        largest = max(float(error.max(initial=0)), -float(error.min(initial=0)))
        if largest <= settings.largest_error * _CLEARLY:  # False if a number is not finite
            return largest
    exact = _unchanged(x, settings)
    any_exact = exact.any()
    if any_exact and not np.array_equal(_bits(x[exact]), _bits(y[exact])):
        return None
    with np.errstate(all="ignore"):  # an infinite or undefined difference is not clear
        error = np.subtract(x, y, dtype=np.float64)
        np.abs(error, out=error)
        if any_exact:
            error[exact] = 0
        if not by_size:
            clear = error.max(initial=0) <= settings.largest_error * _CLEARLY
        else:
            limit = np.abs(x, dtype=np.float64)
            limit *= settings.largest_error
            if any_exact:
                limit[exact] = 1
            clear = ((error <= limit * _CLEARLY) & ((limit > _COARSE) | (error == 0))).all()
    return float(error.max(initial=0)) if clear else None


def _exact_error(before: h5py.Dataset, box: Box, x: Array, y: Array, settings: Settings) -> float:
    """The largest |x - x'| of some numbers of a box. Raises StzError as `within` does."""
    exact = _unchanged(x, settings)
    if settings.mode == _core.MODES["lossless"]:
        exact[:] = True
    if not np.array_equal(_bits(x[exact]), _bits(y[exact])):
        raise _broken(before, box, "elements that must not change have other bits")
    x, y = x[~exact], y[~exact]
    error = np.abs(x.astype(np.longdouble) - y.astype(np.longdouble))
    by_size = settings.mode == _core.MODES["pointwise_relative"]
    bound = settings.largest_error
    limit = bound * np.abs(x.astype(np.longdouble)) if by_size else np.longdouble(bound)
    if not np.isfinite(y).all():
        raise _broken(before, box, "a finite element is no longer finite")
    for index in np.flatnonzero(error > limit * _CLEARLY):
        allowed = Fraction(bound) * (abs(Fraction(x[index].item())) if by_size else 1)
        if abs(Fraction(x[index].item()) - Fraction(y[index].item())) > allowed:
            raise _broken(before, box, f"{x[index]!r} became {y[index]!r}, with a bound of {bound!r}")
    return float(error.max(initial=0))


def _slabs_of_parts(before: h5py.Dataset, after: h5py.Dataset, add: Callable[[int], None]) -> Iterator[list[_Part]]:
    """Two datasets in slabs, each as parts that threads compare: the chunks of the second dataset if they can decode these.

    The parts of a slab must have been compared before the next slab is taken.
    """
    _refuse_other_form(before, after)
    extents = slab_extents(before, STORED_BYTES, after)
    codec = codec_of(after)
    if codec is None or any(
        extent % chunk and extent < size for extent, chunk, size in zip(extents, codec.chunks, before.shape, strict=True)
    ):
        for box, one, other in _pieces(before, after, add):
            yield [(box, one, other, _nothing)]
        return
    of_one, of_other = Memory(), Memory()
    for box in written_boxes(extents, before, after):
        one = np.asarray(of_one.piece(before, box))
        yield _parts_of(box, one, after, codec, of_other)
        add(one.nbytes)


def _parts_of(box: Box, one: Array, after: h5py.Dataset, codec: ChunkCodec, memory: Memory) -> list[_Part]:
    """The parts of a slab that consists of whole chunks of the second dataset."""
    places = boxes(one.shape, codec.chunks)
    chunks = memory.array((len(places), *codec.chunks), codec.dtype)
    parts: list[_Part] = []
    for place, chunk in zip(places, chunks, strict=True):
        where = tuple(slice(cut.start + at.start, cut.start + at.stop) for cut, at in zip(box, place, strict=True))
        x, y = one[place], chunk[tuple(slice(0, at.stop - at.start) for at in place)]
        stream = _stream(after, where)
        if stream is None:
            y[...] = after[where]
        parts.append((where, x, y, _nothing if stream is None else partial(codec.decode, stream, chunk)))
    return parts


def _stream(dataset: h5py.Dataset, box: Box) -> bytes | None:
    """The stored bytes of a chunk; None if there is none, or if it is stored without the filter."""
    try:
        mask, content = dataset.id.read_direct_chunk(tuple(cut.start for cut in box))
    except HDF5_ERRORS:
        return None
    return None if mask else bytes(content)


def _nothing() -> None:
    pass


def _small_parts(one: Array, other: Array) -> Iterator[tuple[Array, Array]]:
    """The real numbers of two arrays in small parts, because comparing takes many times their memory."""
    sizes = raw_values.Sizes(one.shape, one.dtype, None)
    for box in each_box(one.shape, slab_extents(sizes, _AT_ONCE * one.dtype.itemsize)):
        yield _components(one[box]), _components(other[box])


def _pieces(
    before: h5py.Dataset, after: h5py.Dataset, add: Callable[[int], None], read: View | None = None
) -> Iterator[tuple[Box, Array, Array]]:
    _refuse_other_form(before, after)
    of_one, of_other = Memory(), Memory()
    for box in written_boxes(slab_extents(before, STORED_BYTES, after), before, after):
        if read is None:
            one = of_one.piece(before, box)
        else:
            with naming(before, box):
                one = read[box]
        yield box, np.asarray(one), np.asarray(of_other.piece(after, box))
        add(one.nbytes)


def _refuse_other_form(before: h5py.Dataset, after: h5py.Dataset) -> None:
    if (before.shape, before.dtype) != (after.shape, after.dtype):
        raise _broken(before, (), f"it is {after.dtype} {after.shape} now")


def _components(array: Array) -> Array:
    """The real numbers as a 1-D array in native byte order; complex numbers count as two."""
    flat = np.ascontiguousarray(array).reshape(-1)
    flat = flat.astype(flat.dtype.newbyteorder("="), copy=False)
    if flat.dtype.kind == "c":
        return flat.view(f"f{flat.dtype.itemsize // 2}")
    return flat.view("u1") if flat.dtype.kind == "b" else flat


def _bits(numbers: Array) -> Array:
    """The bits of real numbers as unsigned integers."""
    return numbers.view(f"u{numbers.dtype.itemsize}")


def _broken(dataset: h5py.Dataset, box: Box, what: str) -> StzError:
    where = ",".join(f"{cut.start}:{cut.stop}" for cut in box)
    return StzError(
        f"{dataset.name}[{where}]: {what} in the new file: the disk, the memory or h5stz is at fault. The new file was removed",
        _DATA,
    )

"""Errors about data that HDF5 cannot read. They name the file, the dataset, the chunk, the problem and the remedy."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from math import prod
from typing import Any

import h5py

from h5stz import _core, limits
from h5stz.errors import HDF5_ERRORS, StzError, StzMemoryError, StzReadError, in_one_line

_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_NAMES = ("MAGIC", "VERSION", "TRUNCATED", "CORRUPT", "CHECKSUM", "CONTENT")
#: Codes of errors that are about the bytes of a stream: another part of it may be whole.
DAMAGE_CODES = frozenset(_core.ERROR_CODES[f"STZ_ERROR_{name}"] for name in _NAMES)
_MOST = 1 << 20  # chunks that are tried one by one
#: What HDF5 says where it has no memory.
_NO_MEMORY = re.compile(r"memory allocation failed|(can't|unable to|couldn't|cannot) allocate|out of memory", re.IGNORECASE)
_getitem: Callable[[Any, Any], Any] = h5py.Dataset.__getitem__
#: What the filter says of a chunk, in what HDF5 says.
_OF_FILTER = re.compile(r"h5stz: a chunk of \d+ bytes cannot be \w+: (.*?) \(error (-\d+)\)")
#: How messages of HDF5 look that h5py hands on: what could not be done, and in parentheses why.
_OF_HDF5 = re.compile(r"[A-Z][\w' ]+ \(.+\)$|HDF5 refused ")
_NO_CONVERSION = "no appropriate function for conversion path"
_OF_WRITES = re.compile("write|flush|creat|errno = ")


def h5py_getitem(dataset: h5py.Dataset, key: Any) -> Any:
    """How h5py itself indexes datasets, whatever Dataset.__getitem__ is replaced with later. ShortFloats have their own way."""
    unconverted = getattr(dataset, "unconverted", None)
    return _getitem(dataset, key) if unconverted is None else unconverted(key)


@contextmanager
def naming(data: object, box: Sequence[Any] | None = None, less: str = "") -> Iterator[None]:
    """A context that converts errors of HDF5, while it reads a dataset or View, to those of error_of() or of_part().

    Errors about other data are not changed.

    Args:
        data: the data to read.
        box: slices without steps around the data; None: all.
        less: how the caller can reduce memory, such as "read a smaller region"; "" if it cannot.
    """
    try:
        yield
    except StzError:
        raise
    except (OSError, RuntimeError, MemoryError) as error:
        dataset = getattr(data, "dataset", data)  # that of a View
        if not isinstance(dataset, h5py.Dataset) or not dataset:
            raise
        if _is_of_memory(error, dataset):
            raise _memory_error_of(dataset, less) from error
        if dataset is data and (told := error_of(dataset, error, box)) is not None:
            raise told from error
        if is_of_hdf5(error):
            raise of_part(os.fsdecode(dataset.file.filename), str(dataset.name), error) from error
        raise


@contextmanager
def naming_index(dataset: h5py.Dataset) -> Iterator[None]:
    """A context that converts errors of HDF5, while it locates the chunks of a dataset, to those of of_part(). Reads no
    samples.
    """
    try:
        yield
    except StzError:
        raise
    except HDF5_ERRORS as error:
        if isinstance(error.__context__, StzReadError):  # of the object that h5py reads from
            raise error.__context__ from error
        if isinstance(error, MemoryError) or is_of_hdf5(error):
            raise of_part(os.fsdecode(dataset.file.filename), str(dataset.name), error) from error
        raise


@contextmanager
def naming_memory(dataset: h5py.Dataset, less: str = "") -> Iterator[None]:
    """A context that converts out-of-memory errors, while a dataset is read and written, to a StzMemoryError that names it.

    `less`: as for naming().
    """
    try:
        yield
    except StzMemoryError as error:
        if str(dataset.name) in str(error):
            if less:
                raise _memory_error_of(dataset, less) from error
            raise
        raise error.within(f"{dataset.name} in {dataset.file.filename}") from error
    except (OSError, RuntimeError, MemoryError) as error:
        if not _is_of_memory(error, dataset):
            raise
        raise _memory_error_of(dataset, less) from error


def _is_of_memory(error: BaseException, dataset: h5py.Dataset) -> bool:
    """True for an out-of-memory error.

    HDF5 does not tell why a filter fails. It counts as out of memory if there is no room for three chunks.
    """
    if isinstance(error, MemoryError) or _NO_MEMORY.search(str(error)):
        return True
    if "filter returned failure" not in str(error) or not dataset.chunks:
        return False
    try:
        bytearray(3 * _chunk_bytes(dataset))
    except MemoryError:
        return True
    return False


def _chunk_bytes(dataset: h5py.Dataset) -> int:
    return prod(dataset.chunks or ()) * int(dataset.id.get_type().get_size())


def _memory_error_of(dataset: h5py.Dataset, less: str) -> StzMemoryError:
    size = _chunk_bytes(dataset)
    cures = ["free memory", *([less] if less else [])]
    if size > limits.STORED_BYTES:
        cures.append("write the dataset with smaller chunks")
    what = "chunks" if size > limits.STORED_BYTES else "pieces"
    text = f"there is not enough memory: several {what} of {-(-max(limits.STORED_BYTES, size) >> 20)} MiB are needed at once: "
    text += ", or ".join([", ".join(cures[:-1]), cures[-1]] if len(cures) > 1 else cures)
    return StzMemoryError(f"{dataset.name} in {dataset.file.filename}: {text}", _core.ERROR_CODES["STZ_ERROR_MEMORY"])


def error_of(dataset: h5py.Dataset, error: BaseException, box: Sequence[Any] | None = None) -> StzReadError | None:
    """The StzReadError for a dataset whose samples HDF5 cannot read; None if it can.

    Args:
        dataset: of an open file.
        error: the error of h5py.
        box: as for naming().
    """
    if isinstance(error.__context__, StzReadError):  # of the object that h5py reads from
        return error.__context__
    try:
        name = f"{dataset.name} in {dataset.file.filename}"
        if (missing := _missing_filter(dataset)) is not None:
            return StzReadError(f"{name} {missing}", _READ)
        if _NO_CONVERSION in str(error):
            return StzReadError(f"{name} cannot be read: HDF5 does not convert its type to one that NumPy has", _READ)
        found = _first_unreadable(dataset, box)
    except Exception:  # a closed file, damaged structures: what HDF5 has said stands
        return None
    if found is None:
        return None
    offset, reason = found
    where = f"the chunk at {offset} of {name}" if offset is not None else name
    if told := _OF_FILTER.search(" ".join(str(reason).split())):
        code = int(told[2])
        cure = f": {_cure(dataset)}" if code in DAMAGE_CODES else ""
        return StzReadError(f"{where}{':' if cure else ' cannot be read:'} {told[1]}{cure}", code)
    why = sentence(reason)
    said = "" if why == _UNDECODED else f" (HDF5 says: {in_one_line(reason)})"
    return StzReadError(f"{where}{' cannot be read' if said else ''}: {why}: {_cure(dataset)}{said}", _READ)


@contextmanager
def naming_stream(dataset: h5py.Dataset, offset: tuple[int, ...]) -> Iterator[None]:
    """A context that adds the chunk to StzErrors about its stream, and the remedy to those about damage. `offset`: of the
    chunk.
    """
    try:
        yield
    except StzError as error:
        place = f"the chunk at {offset} of {dataset.name} in {dataset.file.filename}"
        if place in str(error):  # HDF5 could not read it
            raise
        named = error.within(place)
        if error.code in DAMAGE_CODES:
            named = type(error)(f"{named}: {_cure(dataset)}", error.code)
        raise named from error


def _cure(dataset: h5py.Dataset) -> str:
    """The remedy for a dataset with a damaged chunk."""
    if _core.FILTER_ID not in [number for number, *_ in _filters(dataset)]:  # salvage leaves others as they are
        if not dataset.chunks:
            return "get the file again"
        return 'get the file again, or h5stz.view(dataset, on_error="nan") reads all other chunks'
    return cure_of_file(os.fsdecode(dataset.file.filename))


def cure_of_file(name: str) -> str:
    """The remedy for a damaged file. `name`: its path or address, or the name of a file object."""
    salvage = f"h5stz salvage {name} OUT" if os.path.isfile(name) else "h5stz salvage of a copy on this machine"
    return f"get the file again, or {salvage} copies the readable parts"


def _filters(dataset: h5py.Dataset) -> list[tuple[Any, ...]]:
    properties = dataset.id.get_create_plist()
    return [properties.get_filter(index) for index in range(properties.get_nfilters())]


_UNDECODED = "its filters cannot decode it"
#: What HDF5 says of what it cannot read, and what that means.
_MEANINGS = (
    ("filter returned failure", _UNDECODED),
    ("required filter|find plugin|open directory", "its filter is not installed"),
    ("addr overflow|address overflow|past (the )?end|beyond end|end of (the )?file|eof", "it lies beyond the end of the file"),
    ("file read failed|nput/output error", "the disk cannot read it"),
    (
        "signature|checksum|version|ring type|corrupt|free list|temporary file space|entry cache type|"
        "incorrect|unknown|invalid|decode|wrong|bad |unable to|out of range",
        "a structure of HDF5 that leads there is damaged",
    ),
)

_NOT_KNOWN = "HDF5 cannot read it"


def sentence(error: BaseException) -> str:
    """The reason of an error in words: the text of a StzError, or the meaning of HDF5's text."""
    said = " ".join(str(error).split())
    if told := _OF_FILTER.search(said):
        return told[1]
    if isinstance(error, StzError):
        return said
    if isinstance(error, MemoryError):
        return "there is not enough memory for the size stated in the file"
    return next((meaning for text, meaning in _MEANINGS if re.search(text, said)), _NOT_KNOWN)


def in_words(error: BaseException) -> str:
    """sentence(), followed by HDF5's text in parentheses."""
    return in_one_line(error) if isinstance(error, StzError) else f"{sentence(error)} (HDF5 says: {in_one_line(error)})"


def is_of_hdf5(error: BaseException) -> bool:
    """True for an error of HDF5 about reading; False for those of h5py, the system or this package, and for errors about
    writing.
    """
    if isinstance(error, (StzError, MemoryError)) or getattr(error, "errno", None):
        return False
    said = in_one_line(error)
    return _OF_HDF5.match(said) is not None and not _OF_WRITES.search(said)


def of_part(name: str, path: str, error: BaseException) -> StzError:
    """Converts an error of HDF5 to the error of a damaged file or of a part of it. Other errors are returned unchanged.

    Args:
        name: path or address of the file, or the name of a file object.
        path: path of the object in the file; "" for the file itself.
        error: the error of h5py.
    """
    if isinstance(error, StzError):
        return error
    where = f"{'the group ' if path == '/' else ''}{path} of {name}" if path else name
    if not is_of_hdf5(error):
        return StzReadError(f"{where} cannot be read: {in_one_line(error)}", _READ)
    why = sentence(error) if path else sentence(error).replace("that leads there", "in it")
    why = "the file seems to be damaged" if why == _NOT_KNOWN else why
    return StzReadError(f"{where} cannot be read: {why}: {cure_of_file(name)} (HDF5 says: {in_one_line(error)})", _READ)


def _missing_filter(dataset: h5py.Dataset) -> str | None:
    """The message for a dataset with a filter that is not installed; None if all are."""
    for number, _, _, name in _filters(dataset):
        if not h5py.h5z.filter_avail(number):
            called = f" ({name.decode(errors='replace')})" if name else ""
            return (
                f"has the HDF5 filter {number}{called}, which is not installed. pip install hdf5plugin has most: import it, "
                "or set HDF5_PLUGIN_PATH to hdf5plugin.PLUGIN_PATH for commands"
            )
    return None


def _first_unreadable(dataset: h5py.Dataset, box: Sequence[Any] | None) -> tuple[tuple[int, ...] | None, BaseException] | None:
    """Offset of the first unreadable chunk in a box (None for a dataset without chunks), and HDF5's error."""
    shape, chunks = dataset.shape, dataset.chunks or dataset.shape
    cuts = [slice(None)] * len(shape) if box is None else list(box)
    spans = [cut.indices(extent)[:2] for cut, extent in zip(cuts, shape, strict=True)]
    grid = [range(start // n * n, stop, n) for (start, stop), n in zip(spans, chunks, strict=True) if n]
    if len(grid) < len(shape) or prod(map(len, grid)) > _MOST:
        return None
    for offset in product(*grid):
        place = tuple(slice(at, min(at + n, extent)) for at, n, extent in zip(offset, chunks, shape, strict=True))
        try:
            h5py_getitem(dataset, place)
        except (OSError, RuntimeError) as error:
            return (offset if dataset.chunks else None), error
    return None

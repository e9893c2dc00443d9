"""The options that both codecs share, as stored in JSON, and encoding of one chunk with them.

A codec sees one chunk at a time. All options therefore mean the same for every chunk: no bound or fill value is derived from
the data. Chunks do not learn from each other: equal chunks give equal bytes, in any order and in any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from h5stz import _core, codec, elements
from h5stz.counts import counted
from h5stz.elements import Array, BytesLike, DType, Real
from h5stz.errors import StzError
from h5stz.limits import OF_STREAMS
from h5stz.options.option_checks import checked_number, checked_valid_range, thread_count
from h5stz.options.precision import checked_precision
from h5stz.options.settings import Settings
from h5stz.options.stz import STZ, Block, Favour, Integers, Options
from h5stz.slabs import ArraySource, is_array_like
from h5stz.waiting import cached_property
from h5stz.zarr.predictions import learned_of, text_of

if TYPE_CHECKING:
    from typing_extensions import Self

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_CORRUPT = _core.ERROR_CODES["STZ_ERROR_CORRUPT"]
_OF_CODECS = ("max_error", "predictions")  # which STZ does not have
_Codec = TypeVar("_Codec", bound="CodecOptions")


@dataclass(frozen=True, kw_only=True, repr=False)
class CodecOptions:
    """Options of h5stz.STZ that do not depend on data. Give exactly one of the first three.

    Attributes:
        absolute: largest error of every finite sample, in the units of the data.
        pointwise_relative: largest error relative to each sample; floating-point data only.
        lossless: True restores every bit.
        fill_value: number that marks missing values. They are restored exactly and do not influence the bound. None: there is
            none. NaN and infinities are always kept.
        block, effort, layers, layer_bounds, enhance, integers, content_check, check, keep_zeros, keep_range, valid_range,
            favour: as for STZ.
        threads: 1 to 255, for encoding and decoding each chunk. None: the number in H5STZ_THREADS, or 1.
        max_error: largest permitted absolute error of reads, in the units of the data, for chunks with precision layers. Only
            the layers that it needs are fetched and decoded. None: all layers.
        predictions: text of trained(), with which small chunks are written faster. None: every chunk is fitted. Provisional.
    """

    absolute: Real | None = None
    pointwise_relative: Real | None = None
    lossless: bool = False
    fill_value: Real | None = None
    block: Block = "default"
    effort: int | None = None
    threads: int | None = None
    integers: Integers = "lossless"
    content_check: bool | None = None
    check: bool = False
    layers: int = 1
    layer_bounds: tuple[float, ...] | None = None
    enhance: str | None = None
    keep_zeros: bool = False
    keep_range: bool = False
    valid_range: tuple[float | None, float | None] | None = None
    favour: Favour = "default"
    max_error: Real | None = None
    predictions: str | None = None

    def __post_init__(self) -> None:
        for field in fields(CodecOptions):
            value = getattr(self, field.name)
            object.__setattr__(self, field.name, value.item() if isinstance(value, np.generic) else value)  # JSON has no others
        if self.layer_bounds is not None:
            object.__setattr__(self, "layer_bounds", tuple(self.layer_bounds))
        if self.valid_range is not None:
            ends = checked_valid_range(self.valid_range) or ()
            object.__setattr__(self, "valid_range", tuple(end if np.isfinite(end) else None for end in ends))  # as JSON has it
        if self.fill_value is False or (isinstance(self.fill_value, float) and not np.isfinite(self.fill_value)):
            object.__setattr__(self, "fill_value", None)
        checked_precision(self.max_error, None)
        self.require_valid(None)
        if self.predictions is not None:
            learned_of(self.predictions)

    @classmethod
    def of(cls: type[_Codec], options: STZ) -> _Codec:
        """The codec with the options of an h5stz.STZ, including its resolved bound, and the predictions that it trained if it
        knew the chunks, for example of STZ(relative=1e-3, data=array, chunks=(32, 32, 32)).

        Raises:
            StzError: (a ValueError) the options have an append_axis, which only HDF5 supports.
        """
        config = options.get_config()
        config.pop("dtype", None)
        config.pop("learn", None)  # chunks do not learn from each other anyway
        if "append_axis" in config:
            raise StzError("append_axis= is for HDF5: leave it out for zarr (docs/zarr.md says what holds there)", _ARGUMENT)
        learned = options.resolved.settings.learned
        return cls(**config, predictions=None if learned is None else text_of(learned))

    def trained(self, data: ArraySource | npt.ArrayLike, chunks: tuple[int, ...]) -> Self:
        """These options with predictions for small chunks that are trained on the data. Writing is then faster.

        The bytes of a chunk still depend only on the chunk and the codec. The metadata of the array hold the predictions. h5stz
        1.0 refuses such metadata; other readers do not need the predictions.

        Args:
            data: the whole array, as for STZ.
            chunks: the chunk shape of the zarr array; in shards, that of the inner chunks.

        Returns:
            The new codec. Without predictions if training would not pay (STZ.trained()).

        Raises:
            StzError: (a ValueError) the data cannot be read, or there is not enough memory.
            StzTypeError: (also a TypeError) the data have a type that h5stz does not compress.
        """
        source = data if is_array_like(data) else np.asarray(data)
        options = self._options(self._number())
        options["dtype"] = np.dtype(source.dtype)
        learned = STZ(**options).trained(source, chunks, threads=self.threads).resolved.settings.learned
        return replace(self, predictions=None if learned is None else text_of(learned))

    def require_valid(self, dtype: DType | None) -> None:
        """Raises StzError if the options are invalid, or unsuitable for arrays of `dtype`."""
        options = self._options(None if dtype is None else self._number())
        options["dtype"] = dtype
        STZ(**options)

    def configuration(self) -> dict[str, Any]:
        """The options that differ from the defaults, for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(CodecOptions)}
        return {field.name: values[field.name] for field in fields(CodecOptions) if values[field.name] != field.default}

    def encoded(self, array: Array, fill_value: Real | None, previous: BytesLike | None = None) -> bytes:
        """Compresses a chunk to a stream (bytes).

        Args:
            array: the chunk, with any strides and byte order.
            fill_value: number that marks missing values, or None.
            previous: the stream from which the array was decompressed before it was changed, or None. Unchanged samples keep
                their values.
        """
        if previous is not None:
            return codec.rewrite(array, previous, **self._options(fill_value))
        if elements.is_masked(array):
            return codec.compress(array, **self._options(fill_value))
        settings = self._settings(array.dtype, fill_value)
        return settings.to_store().encode(elements.stored(array, settings.fill))

    def _settings(self, dtype: DType, fill_value: Real | None) -> Settings:
        """The resolved options for arrays of a dtype. Resolving takes a tenth of the time of a small chunk."""
        threads = thread_count(self.threads)
        key = dtype.str, repr(fill_value), threads
        found = self._resolved.get(key)
        if found is None:
            options = self._options(fill_value)
            options["dtype"], options["threads"] = dtype, threads
            found = STZ(**options).resolved.settings.replace(
                learned=None if self.predictions is None else learned_of(self.predictions)
            )
            self._resolved[key] = found
        return found

    @cached_property
    def _resolved(self) -> dict[tuple[str, str, int], Settings]:
        return {}

    def _number(self) -> Real | None:
        """The fill value, if it is a number."""
        return None if self.fill_value is None else checked_number("fill_value", self.fill_value)

    def _options(self, fill_value: Real | None) -> Options:
        names = [field.name for field in fields(CodecOptions) if field.name not in _OF_CODECS]
        options = {name: getattr(self, name) for name in names}
        return cast(Options, options | {"fill_value": False if fill_value is None else fill_value})

    def __repr__(self) -> str:
        given = self.configuration()
        sets = given.pop("predictions", None)
        shown = [f"{name}={value!r}" for name, value in sorted(given.items())]
        if sets is not None:
            shown.append(f"trained={counted(learned_of(sets).count, 'set')}")
        return f"{type(self).__name__}({', '.join(shown)})"


def decoded_array(
    stream: BytesLike, threads: int | None, max_error: Real | None = None, default_bytes: int = OF_STREAMS
) -> Array:
    """Decodes a stream. The content check is compared if H5STZ_VERIFY asks for it.

    Refuses arrays larger than H5STZ_MAX_BYTES, or than `default_bytes` if that is not set.
    """
    verify = max_error is None and _core.verify_of_environment()
    most = None if _core.max_bytes_of_environment() else default_bytes
    return codec.decompress(stream, threads=threads, verify=verify, max_bytes=most, max_error=max_error)


def check_shape(held: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raises StzError unless a stream has the shape of the chunk. Axes of length 1 may differ, as HDF5 permits too."""
    long = [[extent for extent in extents if extent != 1] for extents in (held, shape)]
    if long[0] != long[1]:
        raise StzError(
            f"the chunk holds an array of shape {held}, but the metadata state {shape}: it belongs to another array", _CORRUPT
        )


def of_dtype(array: Array, dtype: DType) -> Array:
    """A decoded array as `dtype`: bool for uint8, or the other byte order. Raises StzError for any other dtype."""
    stored = elements.storage_dtype(dtype).newbyteorder(array.dtype.byteorder)
    integers = {array.dtype.kind, stored.kind} <= {
        "i",
        "u",
    } and array.dtype.itemsize == stored.itemsize  # they share their bits
    if array.dtype != stored and not integers:
        raise StzError(
            f"the chunk holds samples of {array.dtype}, but the metadata state {dtype}: it belongs to another array",
            _CORRUPT,
        )
    typed: Array = array.view(dtype.newbyteorder(array.dtype.byteorder)).astype(dtype, copy=False)
    return typed

"""The options that both codecs have in common, as JSON keeps them, and what they do to one chunk.

A codec sees one chunk at a time. So there are only options that mean the same for every chunk: no bound is measured and no
fill value is looked for in the data, and equal chunks become equal bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeVar, cast

import numpy as np

from h5stz import _core, codec, elements
from h5stz.elements import Array, BytesLike, DType, Real
from h5stz.errors import StzError
from h5stz.limits import OF_STREAMS
from h5stz.options.option_checks import checked_number
from h5stz.options.precision import checked_precision
from h5stz.options.stz import STZ, Block, Integers, Options

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_CORRUPT = _core.ERROR_CODES["STZ_ERROR_CORRUPT"]
_Codec = TypeVar("_Codec", bound="CodecOptions")


@dataclass(frozen=True, kw_only=True, repr=False)
class CodecOptions:
    """Options of h5stz.STZ that need no data. Exactly one of the first three is given.

    Attributes:
        absolute: largest error of every finite sample, in the units of the data.
        pointwise_relative: largest error as a share of each sample; floating point only.
        lossless: True: every bit comes back.
        fill_value: number that marks missing samples, which come back bit for bit and count for no bound. None: there is none.
            NaN and infinities are always kept.
        block, effort, layers, layer_bounds, enhance, integers, content_check, check: as of STZ.
        threads: 1 to 255 for each chunk, both ways; None: as H5STZ_THREADS says, or 1.
        max_error: of chunks with precision layers, reads take as few as keep every sample within this distance of what was
            compressed, in the units of the data, and zarr fetches only these. None: all.
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
    max_error: Real | None = None

    def __post_init__(self) -> None:
        for field in fields(CodecOptions):
            value = getattr(self, field.name)
            object.__setattr__(self, field.name, value.item() if isinstance(value, np.generic) else value)  # JSON has no others
        if self.layer_bounds is not None:
            object.__setattr__(self, "layer_bounds", tuple(self.layer_bounds))
        if self.fill_value is False or (isinstance(self.fill_value, float) and not np.isfinite(self.fill_value)):
            object.__setattr__(self, "fill_value", None)
        checked_precision(self.max_error, None)
        self.require_valid(None)

    @classmethod
    def of(cls: type[_Codec], options: STZ) -> _Codec:
        """The codec for the options of an h5stz.STZ, such as STZ(relative=1e-3, data=array), whose bound it takes over.

        Raises:
            StzError: (a ValueError) the options have an append_axis, which is for HDF5.
        """
        config = options.get_config()
        config.pop("dtype", None)
        if "append_axis" in config:
            raise StzError("append_axis= is for HDF5: leave it out for zarr (docs/zarr.md says what holds there)", _ARGUMENT)
        return cls(**config)

    def require_valid(self, dtype: DType | None) -> None:
        """Raises the StzError of options that are wrong by themselves, or for arrays of `dtype`."""
        options = self._options(None if dtype is None else self._number())
        options["dtype"] = dtype
        STZ(**options)

    def configuration(self) -> dict[str, Any]:
        """The options that are not the default, for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(CodecOptions)}
        return {field.name: values[field.name] for field in fields(CodecOptions) if values[field.name] != field.default}

    def encoded(self, array: Array, fill_value: Real | None, previous: BytesLike | None = None) -> bytes:
        """The stream of a chunk.

        Args:
            array: the chunk, of any strides and byte order.
            fill_value: number that marks missing samples, or None.
            previous: the stream that the array was decompressed from before it was changed, if there is one: samples that were
                not changed keep their bits.
        """
        options = self._options(fill_value)
        return codec.compress(array, **options) if previous is None else codec.rewrite(array, previous, **options)

    def _number(self) -> Real | None:
        """The fill value if it is a number of its own."""
        return None if self.fill_value is None else checked_number("fill_value", self.fill_value)

    def _options(self, fill_value: Real | None) -> Options:
        options = {field.name: getattr(self, field.name) for field in fields(CodecOptions) if field.name != "max_error"}
        return cast(Options, options | {"fill_value": False if fill_value is None else fill_value})

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in sorted(self.configuration().items()))
        return f"{type(self).__name__}({given})"


def decoded_array(
    stream: BytesLike, threads: int | None, max_error: Real | None = None, default_bytes: int = OF_STREAMS
) -> Array:
    """The array of a stream. Its content check is compared where H5STZ_VERIFY asks for it.

    Larger ones than H5STZ_MAX_BYTES says, or else `default_bytes`, are refused.
    """
    verify = max_error is None and _core.verify_of_environment()
    most = None if _core.max_bytes_of_environment() else default_bytes
    return codec.decompress(stream, threads=threads, verify=verify, max_bytes=most, max_error=max_error)


def check_shape(held: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raises a StzError unless the shape of a stream is that of the chunk, but for axes of length 1, as HDF5 takes it too."""
    long = [[extent for extent in extents if extent != 1] for extents in (held, shape)]
    if long[0] != long[1]:
        raise StzError(
            f"the chunk holds an array of shape {held}, chunks are said to be {shape}: it belongs elsewhere", _CORRUPT
        )


def of_dtype(array: Array, dtype: DType) -> Array:
    """A decoded array as an array of `dtype`: bool for its uint8, another byte order. StzError if it holds something else."""
    stored = elements.storage_dtype(dtype).newbyteorder(array.dtype.byteorder)
    integers = {array.dtype.kind, stored.kind} <= {
        "i",
        "u",
    } and array.dtype.itemsize == stored.itemsize  # they share their bits
    if array.dtype != stored and not integers:
        raise StzError(
            f"the chunk holds samples of {array.dtype}, the array is said to be of {dtype}: the metadata are of other chunks",
            _CORRUPT,
        )
    typed: Array = array.view(dtype.newbyteorder(array.dtype.byteorder)).astype(dtype, copy=False)
    return typed

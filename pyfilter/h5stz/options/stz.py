"""The options that users give, checked and resolved at once: the class STZ, for h5py and behind everything else.

Whatever is wrong or ambiguous raises StzError (a ValueError) that names the remedy; nothing is left to be found out when
HDF5 calls the filter.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterable, Mapping
from typing import Any, Literal, SupportsFloat, TypeAlias, TypedDict

import h5py
import numpy as np
import numpy.typing as npt

from h5stz import _core, elements, slabs
from h5stz.elements import DType, Real
from h5stz.errors import StzError
from h5stz.options.chunks import warn_if_small
from h5stz.options.fill import Scan, fill_value_of
from h5stz.options.option_checks import (
    BOUNDS,
    checked_bound,
    checked_dtype,
    checked_enhance,
    checked_layer_bounds,
    checked_option,
    option_value,
)
from h5stz.options.resolved import MEASURED, Resolved, bound_for, of_text, settings_of, with_measured, with_nothing_found
from h5stz.options.settings import Settings
from h5stz.signatures import checked
from h5stz.slabs import ArraySource

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_MODE = _core.ERROR_CODES["STZ_ERROR_MODE"]

Block: TypeAlias = Literal["default", "region", "throughput"]
Integers: TypeAlias = Literal["lossless", "lossy"]


class Options(TypedDict, total=False):
    """The options of STZ as a dict, for functions that hand them on."""

    absolute: Real | None
    relative: Real | None
    psnr: Real | None
    ratio: Real | None
    pointwise_relative: Real | None
    lossless: bool | np.bool_
    data: ArraySource | npt.ArrayLike | None
    chunks: tuple[int, ...] | None
    dtype: npt.DTypeLike | None
    fill_value: Real | Literal[False] | None
    block: Block
    threads: int | None
    effort: int | None
    layers: int
    layer_bounds: Iterable[SupportsFloat] | None
    append_axis: int | None
    integers: Integers
    content_check: bool | np.bool_ | None
    enhance: bool | np.bool_ | str | None
    check: bool | np.bool_


class STZ(h5py.filters.FilterRefBase):  # type: ignore[misc]  # h5py has no annotations
    """Options of the h5stz filter, for ``create_dataset(..., **h5stz.STZ(...))`` or ``compression=h5stz.STZ(...)``.

    Also from text, ``h5stz.STZ("absolute=1e-3,block=region")``: see from_string(). ``repr`` shows that form.

    Exactly one bound:

    Args:
        absolute: every finite sample x comes back as x' with |x - x'| <= absolute, in the units of the data.
        relative: absolute bound = relative * (max - min) of the valid numbers of `data`, the whole dataset.
        psnr: absolute bound with which the PSNR, 20 log10((max - min) / rmse) over the valid numbers of `data`, is at least
            this many dB and, where `chunks` are known, at most 0.7 dB more; measured with the codec on all of `data`.
        ratio: absolute bound with which `data` are compressed at least so many times, and at most 3 % more; found with
            estimates (docs/estimates.md) and settled by compressing all of `data`, in whole `chunks` if these are given.
            Lossless, where that is as small. Programs that read the file only learn the bound: give it to anybody who has to
            trust the numbers.
        pointwise_relative: |x - x'| <= pointwise_relative * |x|; zeros and signs are exact. Floating-point data only.
        lossless: True: every bit comes back.

    And:

    Args:
        data: the whole dataset, for `relative`, `psnr`, `ratio` and a detected fill value: anything with shape, dtype and
            slicing (ndarray, memmap, h5py, netCDF4, dask, xarray), read in pieces. It is not kept.
        chunks: shape of the chunks in which `data` will be stored; with it `psnr` and `ratio` hold for these, and a
            UserWarning says if they are too small to be worth compressing. Without it those of `data`, if it has any; or else
            large ones for `ratio`. For `psnr` chunks of three sizes are tried then, which all reach it, and the bound is at
            most (max - min) * 10**(-psnr / 20) * sqrt(3), with which errors that are spread evenly up to it have this PSNR.
            Other chunks are not proven to reach it; it may also be several dB more.
        dtype: of the dataset, where there is no `data`: needed for `fill_value`, checked otherwise.
        fill_value: number that marks missing samples; they come back bit for bit and count for no bound. None: the fill value
            of a masked array (store ``data.filled()``), or else a repeated extreme of `data` set apart from the rest, or
            else that of the HDF5 dataset. False: do not look for one in `data`. NaN and infinities are always kept.
        block: "default"; "region" for smaller blocks, with which reading a region touches fewer bytes; "throughput" for longer
            rows, with which volumes are compressed and read as a whole faster.
        threads: 1 to 255 for writing each chunk, kept in the file; None: 1. The environment variable H5STZ_THREADS, where it
            is set, overrides it and counts for reading too. The bytes do not depend on it.
        effort: 1 (fastest) to 9 (smallest) for compression; None: the default, 5. Streams of all efforts keep the same bound.
            6 to 9 compress as 5 does too and keep the shorter stream: 6 to 8 take twice as long, 9 six times.
        layers: 1 to 7 precision layers. With two or more, the first of them give a preview with larger errors from a part of
            the bytes (``view.read(max_error=)``); streams get up to 3 % longer, and compressing takes up to 4 times as long.
        layer_bounds: falling numbers, up to 6: the largest errors with one precision layer, with two ..., in the units of the
            data; the last layer has the bound. Found by trial, which takes up to six times as long again. Instead of `layers`.
            Provisional (docs/compatibility.md).
        append_axis: the axis along which the dataset grows, 0 is the first. A chunk whose last planes along it were not written
            yet is stored without loss, and with its bound when it is complete: so it is never compressed twice.
        integers: "lossless": integers come back exactly, whatever the bound is, as they may be indices, flags or times.
            "lossy": the bound is for integers too; below 1 it is lossless. bool and enumerations are always exact.
        content_check: whether CRCs of decoded values are written, with which verify() detects a decoder that makes something
            else of them; four bytes for each block. None: where samples are coded as float32 or float64 themselves (not for
            integers, float16, masked data, logarithms, as are most point-wise bounds, and numbers on a grid) and it takes at
            most a 300th of the stream.
        enhance: a lower mean error for the bytes, which are more for the same bound. True: with `psnr` and `ratio`, where that
            is what counts; with `psnr` it is the one of these, or none, that takes the fewest bytes. "strict": within the
            bound, by coarser rounding next to predictions and finer rounding elsewhere. "relaxed": by a filter that is fitted
            to the data, where that is worth its bytes; errors may be up to 1.5 times the bound, as ``info().relaxed_bound``
            says, and the fit takes about as long as compressing. "both", which True stands for: one upon the other. For
            float32, float64 and complex data with an absolute bound; with several `layers` only "strict". None, False: no.
            Provisional.
        check: True: every stream is decoded and compared with its chunk before it is stored, so that neither a flipped bit in
            memory nor a processor that errs gets into the file unnoticed (docs/guarantees.md). The bytes are the same,
            compressing takes about as much longer as decompressing takes. Every process that writes the dataset obeys it;
            the environment variable H5STZ_CHECK=1 asks for it everywhere.

    Valid numbers are finite, not masked and not the fill value; those of complex data are the real and imaginary parts.

    Attributes:
        bound: the resolved bound (float): absolute, or relative to each sample for `pointwise_relative`; 0.0 is lossless, as
            where `data` or `dtype` are integers.
        fill_value: the fill value (a number) or None.
        filter_id, filter_options: as HDF5 takes them (docs/cd_values.md).
        filter_name: "h5stz".

    Raises:
        StzError: (a ValueError) no bound, two of them, one that is negative or not finite, `relative` or `psnr` without
            `data`, a PSNR that cannot be met, a fill value that is not clear, an unsupported dtype, ...
        TypeError: an option that does not exist, or one without its name; the message names the one that was probably meant.
    """

    filter_id: int = _core.FILTER_ID
    filter_name: str = "h5stz"
    filter_options: tuple[int, ...]

    @checked
    def __init__(
        self,
        text: str | None = None,
        /,
        *,
        absolute: Real | None = None,
        relative: Real | None = None,
        psnr: Real | None = None,
        ratio: Real | None = None,
        pointwise_relative: Real | None = None,
        lossless: bool | np.bool_ = False,
        data: ArraySource | npt.ArrayLike | None = None,
        chunks: tuple[int, ...] | None = None,
        dtype: npt.DTypeLike | None = None,
        fill_value: Real | Literal[False] | None = None,
        block: Block = "default",
        threads: int | None = None,
        effort: int | None = None,
        layers: int = 1,
        layer_bounds: Iterable[SupportsFloat] | None = None,
        append_axis: int | None = None,
        integers: Integers = "lossless",
        content_check: bool | np.bool_ | None = None,
        enhance: bool | np.bool_ | str | None = None,
        check: bool | np.bool_ = False,
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "text", "__class__")}
        if text is not None:
            self._set(of_text(text, given, _DEFAULTS))
            return
        source = data if data is None or slabs.is_array_like(data) else np.asarray(data)
        kind, number = checked_bound({name: given[name] for name in BOUNDS}, lossless)
        asked = "lossless" if kind == "lossless" else f"{kind}={number!r}"
        if kind in MEASURED and source is None:
            raise StzError(f"{kind}= refers to the whole dataset: give it too, {asked}, data=array", _ARGUMENT)
        bounded_integers = checked_option("integers", integers)
        dataset_dtype = checked_dtype(source, dtype)
        if dataset_dtype is not None:
            kind, number = bound_for(kind, number, dataset_dtype, bounded_integers)
        measured = kind in MEASURED
        settings = _without_data(kind, number, given, None if source is None else len(source.shape))
        if chunks is not None and dataset_dtype is not None:
            self._look_at_chunks(chunks, dataset_dtype, source)
        scan = None if source is None else Scan(source, exact=measured)
        fill, origin = fill_value_of(fill_value, scan, dataset_dtype, settings)
        settings = settings.replace(fill=fill)
        if scan is not None and measured:
            settings = with_measured(kind, number, scan, settings, chunks, enhance is True or isinstance(enhance, np.bool_))
        self._set(Resolved(settings, asked, dataset_dtype, origin))

    @staticmethod
    def _look_at_chunks(chunks: tuple[int, ...], dtype: DType, source: ArraySource | None) -> None:
        """Warns of tiny chunks, unless they hold all that there is."""
        valid = isinstance(chunks, tuple) and all(isinstance(extent, int) and extent > 0 for extent in chunks)
        whole = source is not None and chunks == tuple(source.shape)
        if valid and not whole and (source is None or len(chunks) == len(source.shape)):
            warn_if_small(chunks, dtype, stacklevel=4)

    def _set(self, resolved: Resolved) -> None:
        self.resolved = resolved
        self.filter_options = resolved.settings.pack()

    @classmethod
    @checked
    def from_filter_options(cls, filter_options: Iterable[int], *, dtype: npt.DTypeLike | None = None) -> STZ:
        """The STZ that client data mean, such as those of a dataset:

        ``dataset.id.get_create_plist().get_filter(0)`` returns (filter_id, flags, filter_options, name). The result is equal to
        the STZ with which the dataset was made, apart from a fill value that the filter took from the HDF5 dataset.

        Args:
            filter_options: ints, in any form (docs/cd_values.md).
            dtype: of the dataset, where the client data do not say it (as those of STZ do not) and have a fill value.

        Raises:
            StzError: (a ValueError) which of the words is wrong; a fill value without a dtype.
        """
        try:
            meaning = _core.parse(tuple(operator.index(word) for word in filter_options))
        except (TypeError, OverflowError):
            raise StzError("filter_options must be integers from 0 to 4294967295", _ARGUMENT) from None
        settings = settings_of(meaning)
        dataset_dtype = None if dtype is None else elements.storage_dtype(dtype)
        if "dtype" in meaning and "byte_order" in meaning:
            dataset_dtype = elements.dtype_of(meaning["dtype"], meaning["byte_order"])
        if settings.fill is not None and dataset_dtype is None:
            raise StzError("these filter_options have a fill value, but do not say of which type: give dtype= too", _ARGUMENT)
        options = cls.__new__(cls)
        options._set(with_nothing_found(settings, dataset_dtype))
        return options

    @classmethod
    @checked
    def from_dataset(cls, dataset: h5py.Dataset) -> STZ:
        """The STZ with which an h5py dataset was made.

        h5py has no name for filters of others, so what copies the options of a dataset needs them from here:
        ``file.create_dataset_like("y", x, **h5stz.STZ.from_dataset(x))``.

        Raises:
            StzError: (a ValueError) the dataset is not compressed with h5stz.
        """
        words = client_data(dataset)
        if words is None:
            raise StzError(f"{dataset.name} is not compressed with h5stz", _ARGUMENT)
        return cls.from_filter_options(words, dtype=dataset.dtype)

    @classmethod
    @checked
    def from_string(cls, text: str, *, dtype: npt.DTypeLike | None = None) -> STZ:
        """The STZ that text means: options of this class as ``KEY=VALUE``, separated by commas; ``str()`` of an STZ writes it.

        ``absolute=B``, ``pointwise_relative=R`` or ``lossless``, then ``fill_value=X``, ``dtype=f4``, ``block=region``,
        ``threads=N``, ``effort=N``, ``layers=N``, ``layer_bounds=B/B``, ``enhance=strict``, ``append_axis=N``,
        ``integers=lossy``, ``content_check=no``, ``check=yes``, each where it is wanted (docs/cd_values.md). The bounds that
        need data, `relative`, `psnr` and `ratio`, become an absolute one when text is written.

        Args:
            text: the options. ``KEY:VALUE`` is the same.
            dtype: of the dataset, if the text does not say it and has a fill value.

        Raises:
            StzError: (a ValueError) that names the key.
        """
        options = cls.__new__(cls)
        options._set(of_text(text, {"dtype": dtype}, _DEFAULTS))
        return options

    _from_filter_options = from_filter_options  # its name in the classes of hdf5plugin

    def get_config(self) -> dict[str, Any]:
        """The options with which STZ makes an equal object, without data: `relative` and `psnr` as the bound that they became.

        Returns:
            dict: the bound, and those of the other options that are not the default; `dtype` comes with a fill value.
        """
        settings = self.resolved.settings
        mode = elements.name_of(_core.MODES, settings.mode)
        config: dict[str, Any] = {"lossless": True} if mode == "lossless" else {mode: settings.bound}
        if self.resolved.dtype is not None and settings.fill is not None:
            config |= {"fill_value": self.fill_value, "dtype": self.resolved.dtype.str}
        if settings.layer_bounds:
            config["layer_bounds"] = settings.layer_bounds
        numbers = {name: getattr(settings, name) for name in _core.OPTIONS}
        config |= {
            name: option_value(name, number) for name, number in numbers.items() if number and (name, number) != ("layers", 1)
        }
        return config

    @property
    def bound(self) -> float:
        """The resolved bound, see the class."""
        return self.resolved.settings.bound

    @property
    def fill_value(self) -> int | float | None:
        """The fill value as a number, or None."""
        return self.resolved.fill_value

    def __str__(self) -> str:
        return self.resolved.text()

    def __repr__(self) -> str:
        return f"h5stz.STZ({str(self)!r})"


def client_data(dataset: h5py.Dataset) -> tuple[int, ...] | None:
    """The client data of our filter on a dataset, or None."""
    properties = dataset.id.get_create_plist()
    for index in range(properties.get_nfilters()):
        identifier, _, words, _ = properties.get_filter(index)
        if identifier == _core.FILTER_ID:
            return tuple(words)
    return None


def _without_data(kind: str, number: float, given: Mapping[str, Any], rank: int | None) -> Settings:
    """The Settings before anything is looked for in data: without a fill value, and with a bound that may still be measured."""
    layers = given["layers"]
    cuts = checked_layer_bounds(given["layer_bounds"], layers)
    one_by_one = {**given, "layers": 1 if cuts else layers}
    numbers = {name: checked_option(name, one_by_one[name], rank) for name in _core.OPTIONS if name != "enhance"}
    numbers["enhance"] = checked_enhance(given["enhance"], kind, len(cuts) + 1 if cuts else layers)
    mode = _core.MODES["absolute" if kind in MEASURED else kind]
    return Settings(mode, number, layer_bounds=cuts, **numbers)


_DEFAULTS = {one.name: one.default for one in inspect.signature(STZ).parameters.values()}

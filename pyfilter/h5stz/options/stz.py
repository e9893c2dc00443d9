"""The options that users give, checked and resolved: the class STZ, used by h5py and by all functions of the package.

An invalid or ambiguous option raises StzError (a ValueError) that names the remedy. Errors do not wait until HDF5 calls the
filter.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, SupportsFloat, TypeAlias, TypedDict

import h5py
import numpy as np
import numpy.typing as npt

from h5stz import _core, elements, slabs
from h5stz.counts import counted
from h5stz.elements import DType, Real
from h5stz.errors import StzError
from h5stz.options import resolved as resolving
from h5stz.options.automatic_chunks import ClientData
from h5stz.options.chunks import warn_if_small
from h5stz.options.fill import Scan, fill_value_of
from h5stz.options.option_checks import (
    BOUNDS,
    checked_bound,
    checked_dtype,
    checked_option,
    option_value,
    thread_count,
)
from h5stz.options.resolved import MEASURED, Resolved, bound_for, of_text, settings_of, with_measured, with_nothing_found
from h5stz.options.training import with_predictions
from h5stz.signatures import checked
from h5stz.slabs import ArraySource

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_MODE = _core.ERROR_CODES["STZ_ERROR_MODE"]

Block: TypeAlias = Literal["default", "region", "throughput"]
Integers: TypeAlias = Literal["lossless", "lossy"]
Favour: TypeAlias = Literal["default", "size", "quality"]


class CodingOptions(TypedDict, total=False):
    """The options of STZ that tell how samples are coded."""

    absolute: Real | None
    relative: Real | None
    psnr: Real | None
    ratio: Real | None
    pointwise_relative: Real | None
    lossless: bool | np.bool_
    fill_value: Real | Literal[False] | None
    block: Block
    effort: int | None
    layers: int
    layer_bounds: Iterable[SupportsFloat] | None
    append_axis: int | None
    integers: Integers
    content_check: bool | np.bool_ | None
    enhance: bool | np.bool_ | str | None
    check: bool | np.bool_
    learn: bool | np.bool_
    keep_zeros: bool | np.bool_
    keep_range: bool | np.bool_
    valid_range: Iterable[SupportsFloat | None] | None
    favour: Favour


class Options(CodingOptions, total=False):
    """The options of STZ as a dict, for functions that pass them on."""

    data: ArraySource | npt.ArrayLike | None
    chunks: tuple[int, ...] | None
    dtype: npt.DTypeLike | None
    threads: int | None


class STZ(h5py.filters.FilterRefBase):  # type: ignore[misc]  # h5py has no annotations
    """Options of the h5stz filter, for ``create_dataset(..., **h5stz.STZ(...))`` or ``compression=h5stz.STZ(...)``.

    Options can also be given as text, ``h5stz.STZ("absolute=1e-3,block=region")``: see from_string(). ``repr`` shows this
    form, and the number of sets of predictions if they were trained().

    Exactly one bound:

    Args:
        absolute: largest absolute error, in the units of the data: |x - x'| <= absolute for every finite sample x and its
            decompressed value x'.
        relative: largest error relative to the range: the absolute bound is relative * (max - min) of the valid numbers of
            `data`, the whole dataset.
        psnr: minimum PSNR in dB, 20 log10((max - min) / rmse) over the valid numbers of `data`. The absolute bound is chosen
            so that the PSNR is at least this, and if `chunks` are known at most 0.7 dB more. It is measured with the codec on
            all of `data`.
        ratio: compression ratio. The absolute bound is chosen so that `data` become at least this many times smaller, and at
            most 3 % more. It is found with estimates (docs/estimates.md) and confirmed by compressing all of `data`, in whole
            `chunks` if they are given. If lossless compression is as small, it is used. Readers of the file see only the
            bound: tell it to anyone who relies on the data.
        pointwise_relative: largest error relative to each sample: |x - x'| <= pointwise_relative * |x|. Zeros and signs are
            exact. Floating-point data only.
        lossless: True restores every bit.

    Further options:

    Args:
        data: the whole dataset, for `relative`, `psnr`, `ratio` and detection of a fill value: anything with shape, dtype and
            slicing (ndarray, memmap, h5py, netCDF4, dask, xarray). It is read slab by slab and not kept.
        chunks: chunk shape in which `data` will be stored. Small chunks are then written faster (trained()), `psnr` and `ratio`
            hold for these chunks, and a UserWarning appears if they are too small to compress well. For `psnr` and `ratio` the
            default is the chunks of `data`. Without any, `ratio` is determined with large chunks, and `psnr` with chunks of
            three sizes, all of which reach it; the bound is then at most (max - min) * 10**(-psnr / 20) * sqrt(3), at which
            evenly distributed errors have this PSNR. It is not proven that other chunks reach it, and the PSNR may be several
            dB higher.
        dtype: dtype of the dataset if there is no `data`. It is needed for `fill_value`, and checked otherwise.
        fill_value: number that marks missing values. They are restored bit for bit and do not influence the bound. None: the
            fill value of a masked array (store ``data.filled()``), otherwise a repeated extreme of `data` far from the rest,
            otherwise that of the HDF5 dataset. False: no detection in `data`. NaN and infinities are always kept.
        block: "default"; "region": smaller blocks, so that region reads need fewer bytes; "throughput": longer rows, so that
            volumes are compressed and read as a whole faster.
        threads: number of threads that write a chunk, 1 to 255, stored in the file; None: 1. The environment variable
            H5STZ_THREADS overrides it, and also applies to reading. Chunks of fewer than 2^21 samples have one thread. The
            stream does not depend on it.
        effort: 1 (fastest) to 9 (smallest); None: 5. All efforts keep the bound. 6 to 9 also compress as 5 does and keep the
            shorter stream: 6 takes about twice as long, 7 and 8 three times, 9 eight times. From 7 on, the PSNR may be lower.
        layers: number of precision layers, 1 to 7. With two or more, the first layers are a preview with larger errors from a
            part of the bytes (``view.read(max_error=)``). Streams get up to 3 % longer, and compression takes up to 4 times as
            long.
        layer_bounds: up to 6 decreasing numbers: the largest errors with one precision layer, with two, ..., in the units of
            the data. The last layer has the bound. They are found by trial, which takes up to six times as long again. Use it
            instead of `layers`. Provisional (docs/compatibility.md).
        append_axis: the axis along which the dataset grows; 0 is the first. A chunk whose last planes along it are not written
            yet is stored losslessly, and with its bound when it is complete. It is therefore never quantized twice.
        integers: "lossless": integers are exact, whatever the bound is, because they may be indices, flags or times. "lossy":
            the bound applies to integers too; below 1 it is lossless. bool and enumerations are always exact.
        content_check: True writes CRCs of the decoded values, four bytes per block, with which verify() detects wrong
            decoding. False omits them. None writes them if samples are coded directly as float32 or float64 and if they take
            at most 1/300 of the stream. Integers, float16, masked data, numbers on a grid, and data coded as logarithms (most
            pointwise relative bounds) then have none.
        enhance: lowers the mean error at the same size; at the same bound the size grows. True: for `psnr` and `ratio`; with
            `psnr` the kind of enhancement, or none, that takes the fewest bytes. "strict": within the bound, with coarser
            rounding next to predictions and finer rounding elsewhere. "relaxed": a filter fitted to the data, if it saves
            bytes; errors may be up to 1.5 times the bound (``info().relaxed_bound``), and fitting takes about as long as
            compressing. "both": strict and relaxed together; with `ratio` True means this. For float32, float64 and complex
            data with an absolute bound; with several `layers` only "strict". None, False: none. Provisional.
        check: True decodes every stream and compares it with its chunk before it is stored, which detects flipped bits in
            memory and faulty processors (docs/guarantees.md). The stream does not change; compression takes longer by about
            the decompression time. Every process that writes the dataset obeys it. The environment variable H5STZ_CHECK=1
            turns it on everywhere.
        learn: True: chunks take predictions that were fitted to earlier chunks, which makes writing small chunks faster.
            Streams are less than 1 % longer on average, and depend on the chunks that the process has written before with the
            same options. False: every chunk is fitted. `psnr`, `ratio` and an `effort` from 7 on imply False. With trained
            predictions (trained()), chunks take these alone. The environment variable H5STZ_LEARN=0 turns learning from
            earlier chunks off everywhere. Provisional.
        keep_zeros: True: samples that are 0 or -0 come back bit for bit under every bound (docs/options.md).
        keep_range: True: decompressed values stay between the smallest and the largest valid number of their chunk. Without it
            they keep the sign: they are not below 0 if no valid number of their chunk is, and not above likewise.
        valid_range: the smallest and the largest valid value, such as (0, 100) or (0, None). Decompressed values are not below
            the first if no valid number of their chunk is, and not above the second likewise.
        favour: what counts under the bound. "size": about 1 % fewer bytes, and a PSNR that is up to 1.5 dB lower. "quality":
            the lower mean error. "default": quality up to effort 6. From 7 on, both are tried and the smaller stream is kept,
            unless the bound is `psnr` or `ratio`, or there is an enhancement. "size" excludes `psnr` and `enhance`; with
            `ratio` the bound gets smaller. Provisional.

    Valid numbers are finite, not masked and not the fill value. For complex data they are the real and imaginary parts.

    Attributes:
        bound: the resolved bound (float): absolute, or relative to each sample for `pointwise_relative`. 0.0 is lossless,
            as for integers without integers="lossy".
        fill_value: the fill value (a number) or None.
        filter_id, filter_options: the filter's number and parameters for HDF5 (docs/cd_values.md).
        filter_name: "h5stz".

    Raises:
        StzError: (a ValueError) no bound, several bounds, a bound that is negative or not finite, `relative` or `psnr` without
            `data`, a PSNR that cannot be met, an ambiguous fill value, an unsupported dtype, ...
        TypeError: an unknown or positional option; the message names the option that was probably meant.
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
        learn: bool | np.bool_ = True,
        keep_zeros: bool | np.bool_ = False,
        keep_range: bool | np.bool_ = False,
        valid_range: Iterable[SupportsFloat | None] | None = None,
        favour: Favour = "default",
    ) -> None:
        given = {name: value for name, value in locals().items() if name not in ("self", "text", "__class__")}
        if text is not None:
            return self._set(of_text(text, given, _DEFAULTS))
        source = data if data is None or slabs.is_array_like(data) else np.asarray(data)
        kind, number = checked_bound({name: given[name] for name in BOUNDS}, lossless)
        asked = "lossless" if kind == "lossless" else f"{kind}={number!r}"
        if kind in MEASURED and source is None:
            raise StzError(f"{kind}= refers to the whole dataset: pass it as data, {asked}, data=array", _ARGUMENT)
        dataset_dtype = checked_dtype(source, dtype, kind == "lossless")
        source = None if dataset_dtype is None else source
        kind, number = bound_for(kind, number, dataset_dtype, checked_option("integers", integers))
        settings = resolving.without_data(kind, number, given, None if source is None else len(source.shape))
        self._look_at_chunks(chunks, dataset_dtype, source)
        scan = None if source is None else Scan(source, exact=kind in MEASURED)
        fill, origin = fill_value_of(fill_value, scan, dataset_dtype, settings)
        settings = settings.replace(fill=fill)
        if scan is not None and kind in MEASURED:
            settings = with_measured(kind, number, scan, settings, chunks, enhance is True or isinstance(enhance, np.bool_))
        self._set(Resolved(with_predictions(settings, source, chunks, thread_count(threads)), asked, dataset_dtype, origin))

    @staticmethod
    def _look_at_chunks(chunks: tuple[int, ...] | None, dtype: DType | None, source: ArraySource | None) -> None:
        """Warns about tiny chunks, unless one chunk holds all of the data."""
        if not isinstance(chunks, tuple) or dtype is None:
            return
        valid = all(isinstance(extent, int) and extent > 0 for extent in chunks)
        whole = source is not None and chunks == tuple(source.shape)
        if valid and not whole and (source is None or len(chunks) == len(source.shape)):
            warn_if_small(chunks, dtype, stacklevel=4)

    def _set(self, resolved: Resolved) -> None:
        self.resolved = resolved
        self.filter_options = ClientData(resolved.settings.pack())

    @classmethod
    @checked
    def from_filter_options(cls, filter_options: Iterable[int], *, dtype: npt.DTypeLike | None = None) -> STZ:
        """The STZ for the client data of a dataset.

        ``dataset.id.get_create_plist().get_filter(0)`` returns (filter_id, flags, filter_options, name). The result equals the
        STZ with which the dataset was created, except for a fill value that the filter took from the HDF5 dataset.

        Args:
            filter_options: ints, in any form (docs/cd_values.md).
            dtype: dtype of the dataset. It is needed if the client data have a fill value but no type, as those of STZ do.

        Raises:
            StzError: (a ValueError) an invalid parameter, which the message names; a fill value without a dtype.
        """
        try:
            meaning = _core.parse(tuple(operator.index(word) for word in filter_options))
        except (TypeError, OverflowError):
            raise StzError("filter_options must be integers from 0 to 4294967295", _ARGUMENT) from None
        settings = settings_of(meaning)
        dataset_dtype = None if dtype is None or "dtype" in meaning else elements.storage_dtype(dtype)
        if "dtype" in meaning and "byte_order" in meaning:
            dataset_dtype = elements.dtype_of(meaning["dtype"], meaning["byte_order"])
        if settings.fill is not None and dataset_dtype is None:
            raise StzError("these filter_options have a fill value of unknown type: give dtype= too", _ARGUMENT)
        options = cls.__new__(cls)
        options._set(with_nothing_found(settings, dataset_dtype))
        return options

    @classmethod
    @checked
    def from_dataset(cls, dataset: h5py.Dataset) -> STZ:
        """The STZ with which an h5py dataset was created.

        h5py does not know third-party filters, so a copy of a dataset's options must get them from here:
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
        """The STZ for options as text: options of this class as ``KEY=VALUE``, separated by commas. ``str()`` of an STZ writes
        it.

        The keys are ``absolute=B``, ``pointwise_relative=R`` or ``lossless``, and optionally ``fill_value=X``, ``dtype=f4``,
        ``block=region``, ``threads=N``, ``effort=N``, ``layers=N``, ``layer_bounds=B/B``, ``enhance=strict``,
        ``append_axis=N``, ``integers=lossy``, ``content_check=no``, ``check=yes``, ``learn=no``,
        ``keep_zeros=yes``, ``keep_range=yes``, ``valid_range=A/B``, ``favour=size`` (docs/cd_values.md).
        `relative`, `psnr` and `ratio`, which depend on data, are written as the absolute bound.

        Args:
            text: the options. ``KEY:VALUE`` is the same.
            dtype: dtype of the dataset, if the text has a fill value but no dtype.

        Raises:
            StzError: (a ValueError) the message names the key.
        """
        options = cls.__new__(cls)
        options._set(of_text(text, {"dtype": dtype}, _DEFAULTS))
        return options

    _from_filter_options = from_filter_options  # its name in the classes of hdf5plugin

    def get_config(self) -> dict[str, Any]:
        """The options from which STZ makes an equal object without data. `relative`, `psnr` and `ratio` become the resolved
        bound. Predictions are left out, as they are in ``str()``: trained() makes them again.

        Returns:
            dict: the bound, and all other options that differ from the defaults; `dtype` is included if there is a fill value.
        """
        settings = self.resolved.settings
        mode = elements.name_of(_core.MODES, settings.mode)
        config: dict[str, Any] = {"lossless": True} if mode == "lossless" else {mode: settings.bound}
        if self.resolved.dtype is not None and settings.fill is not None:
            config |= {"fill_value": self.fill_value, "dtype": elements.text_of(self.resolved.dtype)}
        if settings.layer_bounds:
            config["layer_bounds"] = settings.layer_bounds
        if settings.valid_range:
            config["valid_range"] = settings.valid_range
        numbers = {name: getattr(settings, name) for name in _core.OPTIONS}
        config |= {
            name: option_value(name, number) for name, number in numbers.items() if number and (name, number) != ("layers", 1)
        }
        return config

    @checked
    def trained(self, data: ArraySource | npt.ArrayLike, chunks: tuple[int, ...], *, threads: int | None = None) -> STZ:
        """These options with predictions for small chunks that are trained on the data. Writing is then faster.

        The bytes of a chunk then depend only on the chunk and the options, unless the process has read such a chunk before
        (docs/rewriting.md). ``STZ(..., data=, chunks=)`` does the same.

        Args:
            data: the whole dataset, as for the class. 9 to 28 chunks of it are read.
            chunks: the chunk shape of the dataset.
            threads: number of threads that train, which changes nothing but the time. Default: H5STZ_THREADS, or 1.

        Returns:
            STZ: the new options. It is this object itself if training would not pay: for fewer than 48 chunks, for chunks of
            more than 2^19 samples, with `learn=False`, `layers`, or an `effort` from 7 on, for dask arrays, or if the
            predictions would cost more than 2 % of the bytes. Errors are those of the class.
        """
        source = data if slabs.is_array_like(data) else np.asarray(data)
        settings = with_predictions(self.resolved.settings, source, chunks, thread_count(threads))
        if settings is self.resolved.settings:
            return self
        options = STZ.__new__(STZ)
        options._set(replace(self.resolved, settings=settings))
        return options

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
        learned = self.resolved.settings.learned
        sets = "" if learned is None else f", trained={counted(learned.count, 'set')}"
        return f"h5stz.STZ({str(self)!r}{sets})"


def client_data(dataset: h5py.Dataset) -> tuple[int, ...] | None:
    """The client data of our filter on a dataset, or None."""
    properties = dataset.id.get_create_plist()
    for index in range(properties.get_nfilters()):
        identifier, _, words, _ = properties.get_filter(index)
        if identifier == _core.FILTER_ID:
            return tuple(words)
    return None


_DEFAULTS = {one.name: one.default for one in inspect.signature(STZ).parameters.values()}

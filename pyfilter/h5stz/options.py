"""The options that users give, checked and resolved at once: the class STZ, for h5py and behind everything else.

Whatever is wrong or ambiguous raises StzError (a ValueError) that names the remedy; nothing is left to be found out when
HDF5 calls the filter.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypedDict

import h5py
import numpy as np
import numpy.typing as npt

from h5stz import _core, bounds, elements, slabs
from h5stz.elements import DType, Real
from h5stz.errors import StzError
from h5stz.fill import Scan, fill_value_of
from h5stz.option_checks import checked_block, checked_bound, checked_chunks, checked_count, checked_dtype
from h5stz.settings import Settings
from h5stz.signatures import checked
from h5stz.slabs import ArraySource

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]

Block: TypeAlias = Literal["default", "region"]


class Options(TypedDict, total=False):
    """The options of STZ as a dict, for functions that hand them on."""

    absolute: Real | None
    relative: Real | None
    psnr: Real | None
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


@dataclass(frozen=True)
class Resolved:
    """Settings with what they came from.

    Attributes:
        settings: what the codec needs.
        asked: the bound as it was given.
        dtype: of the dataset, None if it is not known.
        fill_origin: how the fill value was found: "given", "masked array", "detected"; None without one.
    """

    settings: Settings
    asked: str
    dtype: DType | None = None
    fill_origin: str | None = None

    @property
    def fill_value(self) -> int | float | None:
        """The fill value as a number, or None."""
        if self.settings.fill is None or self.dtype is None:
            return None
        return elements.fill_number(self.settings.fill, self.dtype)

    def described(self) -> str:
        """One line: what was asked for, the absolute bound that it became, the fill value and where it comes from."""
        absolute = self.settings.mode == _core.MODES["absolute"]
        text = self.asked
        if absolute and not text.startswith("absolute="):
            text += f": absolute bound {self.settings.bound!r}"
        if self.fill_value is not None:
            text += f", fill value {self.fill_value!r} ({self.fill_origin})"
        return text + "".join(
            f", {name}={value}"
            for name, value in (
                ("block", elements.name_of(_core.BLOCKS, self.settings.block)),
                ("threads", self.settings.threads or 1),
            )
            if value not in ("default", 1)
        )


class STZ(h5py.filters.FilterRefBase):  # type: ignore[misc]  # h5py has no annotations
    """Options of the h5stz filter, for ``create_dataset(..., **h5stz.STZ(...))`` or ``compression=h5stz.STZ(...)``.

    Exactly one bound:

    Args:
        absolute: every finite sample x comes back as x' with |x - x'| <= absolute, in the units of the data. For integers
            a bound below 1 is lossless.
        relative: absolute bound = relative * (max - min) of the valid numbers of `data`, the whole dataset.
        psnr: absolute bound with which the PSNR, 20 log10((max - min) / rmse) over the valid numbers of `data`, is at least
            this many dB and at most 0.7 dB more; measured with the codec on all of `data`.
        pointwise_relative: |x - x'| <= pointwise_relative * |x|; zeros and signs are exact. Floating-point data only.
        lossless: True: every bit comes back.

    And:

    Args:
        data: the whole dataset, for `relative`, `psnr` and a detected fill value: anything with shape, dtype and slicing
            (ndarray, memmap, h5py, netCDF4, dask, xarray), read in pieces. It is not kept.
        chunks: shape of the chunks in which `data` will be stored; with it `psnr` is exact. Without it those of `data`, if it
            has any, or else small and large ones are tried: where they differ by more than 0.7 dB only the lower bound is kept.
        dtype: of the dataset, where there is no `data`: needed for `fill_value`, checked otherwise.
        fill_value: number that marks missing samples; they come back bit for bit and count for no bound. None: the fill value
            of a masked array (store ``data.filled()``), or else a repeated extreme of `data` set apart from the rest, or
            else that of the HDF5 dataset. False: do not look for one in `data`. NaN and infinities are always kept.
        block: "default", or "region" for smaller blocks, with which reading a region touches fewer bytes.
        threads: 1 to 255 for writing each chunk, kept in the file; None: 1. The environment variable H5STZ_THREADS, where it
            is set, overrides it and counts for reading too. The bytes do not depend on it.
        effort: 1 to 9; None: the default. Reserved, has no effect yet.
        layers: precision layers; 1 is the only number yet.

    Valid numbers are finite, not masked and not the fill value; those of complex data are the real and imaginary parts.

    Attributes:
        bound: the resolved bound (float): absolute, or relative to each sample for `pointwise_relative`; 0.0 is lossless.
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
        *,
        absolute: Real | None = None,
        relative: Real | None = None,
        psnr: Real | None = None,
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
    ) -> None:
        source = data if data is None or slabs.is_array_like(data) else np.asarray(data)
        kind, number = checked_bound(absolute, relative, psnr, pointwise_relative, lossless)
        dataset_dtype = checked_dtype(kind, source, dtype)
        measured = kind in ("relative", "psnr")
        if measured and source is None:
            raise StzError(f"{kind}= refers to the whole dataset: give it too, {kind}={number!r}, data=array", _ARGUMENT)
        settings = Settings(
            _core.MODES["absolute" if measured else kind],
            number,
            None,
            checked_block(block),
            # Defaults are 0: so the core takes them, and the client data are the shortest.
            threads=0 if threads is None else checked_count("threads", threads, _core.CD_MAX_THREADS, default=1),
            effort=0 if effort is None else checked_count("effort", effort, 9),
            layers=checked_count("layers", layers, 1, default=1),
        )
        scan = None if source is None else Scan(source, exact=measured)
        fill, origin = fill_value_of(fill_value, scan, dataset_dtype, settings)
        settings = replace(settings, fill=fill)
        if scan is not None and measured:
            settings = replace(settings, bound=_measured_bound(kind, number, scan, settings, chunks))
        self._set(Resolved(settings, "lossless" if kind == "lossless" else f"{kind}={number!r}", dataset_dtype, origin))

    def _set(self, resolved: Resolved) -> None:
        self.resolved = resolved
        self.filter_options = resolved.settings.cd_values()

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
        settings = Settings(
            mode=meaning["mode"],
            bound=meaning["bound"],
            fill=meaning["fill"],
            block=meaning["block"],
            threads=meaning["threads"],
            effort=meaning["effort"],
            layers=meaning["layers"],
        )
        dataset_dtype = None if dtype is None else elements.storage_dtype(dtype)
        if "dtype" in meaning and "byte_order" in meaning:
            dataset_dtype = elements.dtype_of(meaning["dtype"], meaning["byte_order"])
        if settings.fill is not None and dataset_dtype is None:
            raise StzError("these filter_options have a fill value, but do not say of which type: give dtype= too", _ARGUMENT)
        mode = elements.name_of(_core.MODES, settings.mode)
        asked = mode if mode == "lossless" else f"{mode}={settings.bound!r}"
        options = cls.__new__(cls)
        options._set(Resolved(settings, asked, dataset_dtype, None if settings.fill is None else "given"))
        return options

    _from_filter_options = from_filter_options  # its name in the classes of hdf5plugin

    def get_config(self) -> dict[str, Any]:
        """The options with which STZ makes an equal object, without data: `relative` and `psnr` as the bound that they became.

        Returns:
            dict: the bound, and those of `fill_value` with `dtype`, `block`, `threads` and `effort` that are not the default.
        """
        settings = self.resolved.settings
        mode = elements.name_of(_core.MODES, settings.mode)
        config: dict[str, Any] = {"lossless": True} if mode == "lossless" else {mode: settings.bound}
        if self.resolved.dtype is not None and settings.fill is not None:
            config |= {"fill_value": self.fill_value, "dtype": self.resolved.dtype.str}
        if settings.block:
            config["block"] = elements.name_of(_core.BLOCKS, settings.block)
        return config | {name: value for name, value in (("threads", settings.threads), ("effort", settings.effort)) if value}

    @property
    def bound(self) -> float:
        """The resolved bound, see the class."""
        return self.resolved.settings.bound

    @property
    def fill_value(self) -> int | float | None:
        """The fill value as a number, or None."""
        return self.resolved.fill_value

    def __repr__(self) -> str:
        return f"<h5stz.STZ {self.resolved.described()}>"


def _measured_bound(kind: str, number: float, scan: Scan, settings: Settings, chunks: tuple[int, ...] | None) -> float:
    """The absolute bound for `relative` or `psnr` (the kind) of the data."""
    extremes = scan.extremes(() if settings.fill is None else (settings.fill,))
    if kind == "relative":
        return bounds.relative_bound(number, extremes)
    shape = checked_chunks(chunks, scan.source)
    return bounds.psnr_bound(number, scan.source, extremes, lambda bound: replace(settings, bound=bound), shape)

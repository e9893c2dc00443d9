"""The options that users give, checked and resolved at once: the class STZ for h5py and resolve() behind everything.

Whatever is wrong or ambiguous raises StzError (a ValueError) that names the remedy; nothing is left to be found out when
HDF5 calls the filter.
"""

import math
import numbers
from dataclasses import dataclass

import h5py
import numpy as np

from h5stz import _core, bounds, elements, slabs, validity
from h5stz.errors import StzError, StzTypeError
from h5stz.settings import Settings

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_DTYPE = _core.ERROR_CODES["STZ_ERROR_DTYPE"]
_BOUND = _core.ERROR_CODES["STZ_ERROR_BOUND"]
_MODE = _core.ERROR_CODES["STZ_ERROR_MODE"]
_OPTION = _core.ERROR_CODES["STZ_ERROR_OPTION"]

DEFAULT_EFFORT = 5
MOST_THREADS = 255  # what client data can hold


class STZ(h5py.filters.FilterRefBase):
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
            is set, comes before it and counts for reading too. The bytes do not depend on it.
        effort: 1 to 9; reserved, has no effect yet.
        layers: precision layers; 1 is the only number yet.

    Valid numbers are finite, not masked and not the fill value; those of complex data are the real and imaginary parts.

    Attributes:
        bound: the resolved bound (float): absolute, or relative to each sample for `pointwise_relative`; 0.0 is lossless.
        fill_value: the fill value (a number) or None.
        filter_id, filter_options: as HDF5 stores them (docs/cd_values.md).

    Raises:
        StzError: (a ValueError) no bound, two of them, one that is negative or not finite, `relative` or `psnr` without
            `data`, a PSNR that cannot be met, a fill value that is not clear, data of a type that cannot be done, ...
    """

    filter_id = _core.FILTER_ID

    def __init__(self, **options):
        self._resolved = resolve(**options)
        self.filter_options = self._resolved.settings.cd_values()

    @property
    def bound(self):
        """The resolved bound, see the class."""
        return self._resolved.settings.bound

    @property
    def fill_value(self):
        """The fill value as a number, or None."""
        return self._resolved.fill_value

    def __repr__(self):
        return f"<h5stz.STZ {self._resolved.described()}>"


@dataclass(frozen=True)
class Resolved:
    """Settings with what the user asked for and how the fill value was found ("given", "masked array", "detected")."""

    settings: Settings
    asked: str
    fill_value: int | float | None
    fill_origin: str | None

    def described(self):
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


def resolve(
    *,
    absolute=None,
    relative=None,
    psnr=None,
    pointwise_relative=None,
    lossless=False,
    data=None,
    chunks=None,
    dtype=None,
    fill_value=None,
    block="default",
    threads=None,
    effort=DEFAULT_EFFORT,
    layers=1,
):
    """Checks the options of STZ and resolves them against `data`; returns Resolved."""
    if data is not None and not slabs.is_array_like(data):
        data = np.asarray(data)
    kind, number = _only_bound(absolute, relative, psnr, pointwise_relative, lossless)
    dtype = _checked_dtype(kind, data, dtype)
    if kind in ("relative", "psnr") and data is None:
        raise StzError(f"{kind}= refers to the whole dataset: give it too, {kind}={number!r}, data=array", _ARGUMENT)
    plain = {
        "block": _block(block),
        # Defaults are 0: so the core takes them, and the client data are the shortest.
        "threads": 0 if threads is None else _count("threads", threads, MOST_THREADS, default=1),
        "effort": _count("effort", effort, 9, default=DEFAULT_EFFORT),
        "layers": _count("layers", layers, 1, default=1),
    }
    view = _View(data, exact=kind in ("relative", "psnr"))
    fill, origin = _fill(fill_value, view, dtype)

    def settings_for(bound):
        mode = kind if kind in _core.MODES else "absolute"
        return Settings(_core.MODES[mode], bound, fill, **plain)

    bound = number
    if kind == "relative":
        bound = bounds.relative_bound(number, view.extremes(() if fill is None else (fill,)))
    elif kind == "psnr":
        found = view.extremes(() if fill is None else (fill,))
        bound = bounds.psnr_bound(number, data, found, settings_for, _chunks(chunks, data))
    asked = "lossless" if kind == "lossless" else f"{kind}={number!r}"
    return Resolved(settings_for(bound), asked, None if fill is None else elements.fill_number(fill, dtype), origin)


def thread_count(threads):
    """The number of threads that `threads` means: itself if it is one, for None what H5STZ_THREADS says, or 1."""
    if threads is None:
        return _core.threads_of_environment() or 1
    return _count("threads", threads, MOST_THREADS, default=1) or 1


class _View:
    """Looks at the valid numbers of `data`: all of them where a bound depends on it, else a sample of data in memory."""

    def __init__(self, data, exact):
        self.data = data
        self.mask_fills = set()
        self.exact = exact
        in_memory = isinstance(data, np.ndarray) and not isinstance(data, (np.memmap, np.ma.MaskedArray))
        self.pieces = [validity.sample(data)] if in_memory and not exact else None
        self.cache = {}

    def extremes(self, excluded):
        """validity.Extremes without the fill values of these bits, or None."""
        if excluded not in self.cache:
            pieces = self.pieces or self._watched()
            self.cache[excluded] = validity.extremes(pieces, excluded)
        return self.cache[excluded]

    def _watched(self):
        """The pieces of the data; notes the fill values of those that are masked."""
        for piece in slabs.slabs(self.data):
            if np.ma.getmask(piece).any():
                self.mask_fills.add(piece.fill_value.item())
            yield piece


def _fill(fill_value, view, dtype):
    """(bits, origin) of the fill value, (None, None) without one."""
    given = fill_value is not None and fill_value is not False
    if given:
        _check_number("fill_value", fill_value)
        if dtype is None:
            raise StzError(
                f"fill_value={fill_value!r} needs to know the type: give data= or dtype= too, or give the dataset itself "
                "this fillvalue and leave the option out",
                _ARGUMENT,
            )
        bits = elements.fill_bits(fill_value, dtype)
        return (None, None) if bits is None else (bits, "given")
    if view.data is None:
        return None, None
    if fill_value is None or isinstance(view.data, np.ma.MaskedArray):
        view.extremes(())
    if view.mask_fills:
        if fill_value is False or len(view.mask_fills) > 1:
            raise StzError("the data are masked: give the number that masked samples are stored as with fill_value=", _OPTION)
        bits = elements.fill_bits(view.mask_fills.pop(), dtype)
        return bits, "masked array"
    if fill_value is False or isinstance(view.data, np.ma.MaskedArray):
        return None, None
    bits = validity.detect_fill(view.extremes, dtype, strict=view.exact)
    return bits, None if bits is None else "detected"


def _only_bound(absolute, relative, psnr, pointwise_relative, lossless):
    """(name, number) of the one bound that is given."""
    if not isinstance(lossless, (bool, np.bool_)):
        raise StzTypeError(f"lossless={lossless!r} must be True or False", _MODE)
    candidates = {"absolute": absolute, "relative": relative, "psnr": psnr, "pointwise_relative": pointwise_relative}
    given = {name: number for name, number in candidates.items() if number is not None}
    if lossless:
        given["lossless"] = 0.0
    if len(given) != 1:
        found = "two bounds are given, " + " and ".join(given) if given else "no bound is given"
        raise StzError(
            f"{found}: give exactly one of absolute=, relative= with data=, psnr= with data=, pointwise_relative= and "
            "lossless=True",
            _MODE,
        )
    name, number = given.popitem()
    if name == "lossless":
        return name, number
    _check_number(name, number)
    if not math.isfinite(number) or number < 0:
        raise StzError(
            f"{name}={number!r} must be a finite number that is zero or more (lossless=True keeps every bit)", _BOUND
        )
    number = float(number)
    if name == "pointwise_relative" and number >= 1:
        raise StzError(f"pointwise_relative={number!r} must be below 1: it is a share of each sample", _BOUND)
    if name == "psnr" and number == 0:
        raise StzError("psnr=0 dB would allow errors as large as the range: give a greater one", _BOUND)
    return name, number


def _checked_dtype(kind, data, dtype):
    """The dtype of the dataset, or None if it is not known; it must be one that can be compressed in this way."""
    if data is not None and dtype is not None and np.dtype(dtype) != data.dtype:
        raise StzTypeError(f"dtype={np.dtype(dtype)} differs from that of data, {data.dtype}: leave dtype out", _DTYPE)
    if data is None and dtype is None:
        return None
    dtype = np.dtype(data.dtype if data is not None else dtype)
    if kind == "pointwise_relative" and elements.storage_dtype(dtype).kind not in "fc":
        raise StzError(f"pointwise_relative= is for floating-point data, these are {dtype}: use absolute=", _MODE)
    elements.storage_dtype(dtype)
    return dtype


def _chunks(chunks, data):
    """The chunk shape to measure with: as given, or that of data which are stored in chunks, or None."""
    if chunks is None:
        found = getattr(data, "chunks", None)
        return tuple(found) if found and all(isinstance(extent, int) for extent in found) else None
    if not isinstance(chunks, tuple) or len(chunks) != len(data.shape):
        raise StzError(f"chunks={chunks!r} must be a tuple of {len(data.shape)} integers, one for each axis of data", _ARGUMENT)
    return tuple(_count("chunks", extent, 2**32 - 1, default=0) for extent in chunks)


def _check_number(name, value):
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise StzTypeError(f"{name}={value!r} must be a number", _ARGUMENT)
    try:
        float(value)
    except OverflowError:
        raise StzError(f"{name} is a number beyond float64, which cannot be stored", _ARGUMENT) from None


def _count(name, value, largest, default):
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise StzTypeError(f"{name}={value!r} must be an integer", _ARGUMENT)
    if not 1 <= value <= largest:
        raise StzError(f"{name}={value!r} must be " + (f"1 to {largest}" if largest > 1 else "1 in this version"), _OPTION)
    return 0 if value == default else int(value)


def _block(block):
    if not isinstance(block, str) or block not in _core.BLOCKS:
        raise StzError(f"block={block!r} must be one of {', '.join(map(repr, _core.BLOCKS))}", _OPTION)
    return _core.BLOCKS[block]

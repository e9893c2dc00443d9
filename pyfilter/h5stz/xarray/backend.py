"""The engine "h5stz" of xarray: netCDF-4 and HDF5 files as h5netcdf reads them, compressed variables through h5stz.view.

Structure, attributes and decoding are those of xarray's engine h5netcdf. What differs is that an index decodes only the blocks
that it needs, without a lock, and that a coarser level of a file can be opened as a dataset. xarray loads this module by the
name of the engine.
"""

from __future__ import annotations

import inspect
import io
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, SupportsFloat, SupportsIndex

import h5py
import xarray
from xarray.backends import BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint

from h5stz import _core
from h5stz.damage import OnError, check_on_error
from h5stz.errors import StzError, StzReadError, StzTypeError
from h5stz.hdf5.file_kinds import opened_file, refuse_address_as_path
from h5stz.limits import checked_max_bytes
from h5stz.reading.make_view import CACHE_BYTES
from h5stz.sources.given_files import GivenFile, called, is_file_object
from h5stz.sources.remote_files import Address, RemoteFile, is_address
from h5stz.xarray.arrays import Reading
from h5stz.xarray.store import StzStore, largest_errors, thinned_dimensions

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_READ = _core.ERROR_CODES["STZ_ERROR_READ"]
_SHOWN = 5  # groups that an error names


class H5stzBackendEntrypoint(BackendEntrypoint):
    """``xarray.open_dataset(path, engine="h5stz")``: compressed variables decode only what an index needs (docs/xarray.md)."""

    description = "Open HDF5 and netCDF-4 files with variables compressed by h5stz: parts of them, and coarser levels"
    url = "https://h5stz.readthedocs.io/en/latest/xarray/"
    supports_groups = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Never: this engine is asked for by its name."""
        return False

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        level: SupportsIndex = 0,
        axes: Iterable[str] | None = None,
        max_error: SupportsFloat | Mapping[str, SupportsFloat] | None = None,
        cache_bytes: int = CACHE_BYTES,
        threads: int | None = None,
        max_bytes: int | None = None,
        on_error: OnError = "raise",
        phony_dims: str | None = "access",
        invalid_netcdf: bool | None = None,
        decode_vlen_strings: bool = True,
        driver: str | None = None,
        driver_kwds: dict[str, Any] | None = None,
        storage_options: dict[str, Any] | None = None,
    ) -> Any:
        """The file, or a group of it, as an xarray.Dataset.

        Args:
            filename_or_obj: path, address, or an open file object, as of the engine h5netcdf, and so are the other arguments
                that xarray has for all engines, `group`, `phony_dims`, `invalid_netcdf`, `decode_vlen_strings`, `driver`,
                `driver_kwds` and `storage_options`.
            level: 0 for all samples, l for every 2**l-th along `axes`, of all variables that have them.
            axes: names of dimensions; None: all along which a compressed variable has more than one sample.
            max_error: of variables that were written with precision layers as few are read as keep every sample within this
                distance of what was compressed, in the units in which the file stores it: a number for all variables but
                dimension coordinates, or a dict of a number for each of some. None: all layers of all.
            cache_bytes, threads, max_bytes: as of h5stz.view, for each compressed variable.
            on_error: what stands, in compressed variables as the file stores them, for samples that are damaged, as of
                h5stz.view (docs/damage.md).

        Raises:
            StzError: (a ValueError) a negative level, or a dimension or variable that there is not. When it is read: a variable
                is less precise than max_error, or has no such value as on_error.
            StzTypeError: (a TypeError too) on_error is something else than "raise", "nan", "fill" or a number.
        """
        options = {name: value for name, value in locals().items() if name not in ("self", "filename_or_obj")}
        store = _opened(filename_or_obj, **_taken(options, _opened))
        try:
            _configure([store], **_taken(options, _configure))
            return StoreBackendEntrypoint().open_dataset(store, **options)
        except BaseException:
            store.close()
            raise

    def open_groups_as_dict(self, filename_or_obj: Any, **options: Any) -> dict[str, Any]:
        """Each group of the file, or of `group`, as an xarray.Dataset, by its path.

        Args:
            filename_or_obj, **options: as of open_dataset. `axes` are names of dimensions, each of some group; None: all along
                which a compressed variable of some group has more than one sample. Dimensions of that name are thinned in all
                groups, as groups share those of the ones above.

        Raises:
            StzError: (a ValueError) a negative level, or a dimension that no group has.
        """
        store = _opened(filename_or_obj, **_taken(options, _opened))
        try:
            stores = {_relative(each.path, store.path): each for each in store.groups()}
            _configure(list(stores.values()), **_taken(options, _configure))
            return {path: StoreBackendEntrypoint().open_dataset(each, **options) for path, each in stores.items()}
        except BaseException:
            store.close()
            raise

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> Any:
        """The groups of open_groups_as_dict, with its options, as an xarray.DataTree."""
        groups = self.open_groups_as_dict(filename_or_obj, **options)
        tree = xarray.DataTree.from_dict(groups)
        for path, dataset in groups.items():
            tree[path].set_close(dataset.close)
        return tree


def _taken(options: dict[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """The options that are arguments of a function, which are taken out."""
    return {name: options.pop(name) for name in inspect.signature(function).parameters if name in options}


def _opened(
    filename_or_obj: Any,
    *,
    group: str | None = None,
    phony_dims: str | None = "access",
    invalid_netcdf: bool | None = None,
    decode_vlen_strings: bool = True,
    driver: str | None = None,
    driver_kwds: dict[str, Any] | None = None,
    storage_options: dict[str, Any] | None = None,
) -> Any:
    """The store of a file or group; of what is given, None stands for what h5netcdf has."""
    given: dict[str, Any] = {"phony_dims": phony_dims, "invalid_netcdf": invalid_netcdf, "driver_kwds": driver_kwds}
    given |= {"driver": driver, "storage_options": storage_options}
    opened = _openable(filename_or_obj)
    if is_address(opened) and given["driver"] is None:
        opened = Address(opened, dict(given.pop("storage_options") or {})).open()
    # storage_options is not of every xarray
    options = {name: value for name, value in given.items() if value is not None}
    try:
        return StzStore.open(opened, group=group, decode_vlen_strings=decode_vlen_strings, **options)
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        if given["driver"] is None and (told := _why_not(opened, group, error)) is not None:
            raise told from error
        raise


def _why_not(opened: Any, group: str | None, error: BaseException) -> StzError | None:
    """The error of a file that is no HDF5 file, or has no such group; None of other errors of h5netcdf."""
    try:
        file = _hdf5(opened)
    except StzError as told:
        return told
    if file is None:
        return None
    with file:
        if group is None or group in file:
            return None
        groups: list[str] = []
        file.visititems(lambda name, item: groups.append(f"/{name}") if isinstance(item, h5py.Group) else None)
        some = ", ".join(groups[:_SHOWN]) + (", ..." if len(groups) > _SHOWN else "")
        name = opened if isinstance(opened, str) else called(opened)
        return StzReadError(
            f"{name}: there is no group {group}, " + (f"its groups are {some}" if some else "and no other"), _READ
        )


def _hdf5(opened: Any) -> h5py.File | None:
    """The file as h5stz.open() opens it, whose errors say what to do; None of what it does not take."""
    if isinstance(opened, str):
        return opened_file(opened)
    if isinstance(opened, RemoteFile):
        return opened.hdf5()
    return GivenFile(opened).hdf5() if is_file_object(opened) else None


def _configure(
    stores: list[StzStore],
    *,
    level: SupportsIndex = 0,
    axes: Iterable[str] | None = None,
    max_error: SupportsFloat | Mapping[str, SupportsFloat] | None = None,
    max_bytes: int | None = None,
    on_error: OnError = "raise",
    cache_bytes: int = CACHE_BYTES,
    threads: int | None = None,
) -> None:
    """Sets how the stores are read; arguments as of open_dataset."""
    number = _checked_level(level)
    check_on_error(on_error)
    names = thinned_dimensions(stores, [axes] if isinstance(axes, str) else axes) if number else ()
    of_view = {"max_bytes": checked_max_bytes(max_bytes), "on_error": on_error, "cache_bytes": cache_bytes, "threads": threads}
    reading = Reading(number, frozenset(names), largest_errors(stores, max_error), of_view)
    for store in stores:
        store.reading = reading


def _relative(path: str, parent: str) -> str:
    """The path of a group as xarray names it: absolute in a whole file, else relative to the group that was asked for."""
    return path if parent == "/" else path.removeprefix(parent).lstrip("/") or "."


def _openable(given: Any) -> Any:
    """A path in full, as a dataset may outlive the working directory; bytes as a file; what is neither as it is."""
    if isinstance(given, bytes | memoryview):
        return io.BytesIO(given)
    if isinstance(given, os.PathLike) or (isinstance(given, str) and "://" not in given):
        refuse_address_as_path(given)
        return os.path.abspath(os.path.expanduser(os.fspath(given)))
    return given


def _checked_level(level: SupportsIndex) -> int:
    try:
        number = operator.index(level)
    except TypeError:
        raise StzTypeError(f"level={level!r} is no integer: give 0 for all samples, 1 for every second", _ARGUMENT) from None
    if not 0 <= number < 64:
        raise StzError(f"level={number}: levels are 0 (all samples) to 63", _ARGUMENT)
    return number

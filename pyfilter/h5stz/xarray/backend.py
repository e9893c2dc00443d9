"""The xarray engine "h5stz": reads netCDF-4 and HDF5 files like h5netcdf, with compressed variables read through h5stz.view.

Structure, attributes and CF decoding are those of xarray's engine h5netcdf. There are two differences: an index decodes only
the blocks it needs, without a lock, and a coarser level of a file can be opened as a dataset. xarray finds this module by the
engine's entry point.
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
    """``xarray.open_dataset(path, engine="h5stz")``: reads only the blocks of compressed variables that an index needs
    (docs/xarray.md).
    """

    description = "Open HDF5 and netCDF-4 files with variables compressed by h5stz: parts of them, and coarser levels"
    url = "https://h5stz.readthedocs.io/en/latest/xarray/"
    supports_groups = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Always False: the engine must be chosen by name."""
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
        """Opens a file, or a group of it, as an xarray.Dataset.

        Args:
            filename_or_obj: path, address or open file object, as for the engine h5netcdf. Also as for h5netcdf: `group`,
                `phony_dims`, `invalid_netcdf`, `decode_vlen_strings`, `driver`, `driver_kwds`, `storage_options` and the
                arguments that all xarray engines have.
            level: resolution level. 0 reads all samples, l every 2**l-th along `axes`, in all variables with these dimensions.
            axes: names of the dimensions that the level thins. None: all dimensions along which a compressed variable has more
                than one sample.
            max_error: largest permitted absolute error against the original, in the units that the file stores. The fewest
                precision layers that satisfy it are read. A number applies to all variables except dimension coordinates. A
                dict {variable: number} applies to the named variables. None: all layers.
            cache_bytes, threads, max_bytes: as for h5stz.view, for each compressed variable.
            on_error: what to do about damaged samples of compressed variables, as for h5stz.view (docs/damage.md). A number is
                in the units that the file stores.

        Raises:
            StzError: (a ValueError) a negative level, or an unknown dimension or variable. On reading: the error of a variable
                exceeds max_error, or its type cannot hold the value on_error.
            StzTypeError: (also a TypeError) on_error is not "raise", "nan", "fill" or a number.
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
        """Opens each group of the file, or of `group`, as an xarray.Dataset.

        Args:
            filename_or_obj, **options: as for open_dataset. `axes` names dimensions of any group. None: all dimensions along
                which a compressed variable of any group has more than one sample. A dimension is thinned in all groups,
                because groups share the dimensions of their parents.

        Returns:
            dict: {path of the group: xarray.Dataset}

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
        """Opens the groups of a file as an xarray.DataTree. Options as for open_groups_as_dict."""
        groups = self.open_groups_as_dict(filename_or_obj, **options)
        tree = xarray.DataTree.from_dict(groups)
        for path, dataset in groups.items():
            tree[path].set_close(dataset.close)
        return tree


def _taken(options: dict[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Removes the arguments of a function from `options` and returns them."""
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
    """Opens the store of a file or group. An argument None takes the default of h5netcdf."""
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
    """The error for a file that is not HDF5 or lacks the group; None for other errors of h5netcdf."""
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
    """Opens the file as h5stz.open() does, whose errors name the remedy. None for objects that it does not accept."""
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
    """Sets how the stores are read. Arguments as for open_dataset."""
    number = _checked_level(level)
    check_on_error(on_error)
    names = thinned_dimensions(stores, [axes] if isinstance(axes, str) else axes) if number else ()
    of_view = {"max_bytes": checked_max_bytes(max_bytes), "on_error": on_error, "cache_bytes": cache_bytes, "threads": threads}
    reading = Reading(number, frozenset(names), largest_errors(stores, max_error), of_view)
    for store in stores:
        store.reading = reading


def _relative(path: str, parent: str) -> str:
    """The path of a group as xarray names it: absolute for a whole file, relative to the requested group otherwise."""
    return path if parent == "/" else path.removeprefix(parent).lstrip("/") or "."


def _openable(given: Any) -> Any:
    """Makes paths absolute, as a dataset may outlive the working directory, and wraps bytes in a file object."""
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
        raise StzTypeError(
            f"level={level!r} is not an integer: give 0 for all samples, 1 for every second", _ARGUMENT
        ) from None
    if not 0 <= number < 64:
        raise StzError(f"level={number}: levels are 0 (all samples) to 63", _ARGUMENT)
    return number

"""Writes xarray datasets: encodings for to_netcdf, attributes that record the error bound, and both in one call.

The caller imports xarray. This module does not need it before a dataset is given.
"""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from h5stz import _core, patterns
from h5stz.elements import Real
from h5stz.errors import StzError, StzTypeError
from h5stz.hdf5.file_kinds import refuse_address
from h5stz.hdf5.valid_numbers import valid_range
from h5stz.new_files import written_directly
from h5stz.options.chunks import SMALL
from h5stz.options.option_checks import BOUNDS, all_cores
from h5stz.options.stz import STZ, Block, Options
from h5stz.signatures import checked
from h5stz.xarray.bounds import Request, resolve
from h5stz.xarray.chunks import Chunks, chunks_of
from h5stz.xarray.origins import Origin, losses, origin_of, warn_of_second_loss
from h5stz.xarray.parallel_targets import parallel_targets
from h5stz.xarray.variables import StoredArray, carried, fill_number, is_bounded, is_packed, referenced, stored_dtype

if TYPE_CHECKING:
    import xarray

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_BOUNDS = ("absolute", "relative", "pointwise_relative", "psnr", "lossless")
_OTHERS = tuple(name for name in Options.__annotations__ if name not in (*BOUNDS, "lossless", "data", "dtype"))
_SMALL = 16 * SMALL  # bytes: smaller arrays are not worth a lossless filter
#: Patterns of names (h5stz.patterns) and options; None leaves variables as they are.
Variables: TypeAlias = Mapping[str, Mapping[str, Any] | None]
Encoding: TypeAlias = dict[Hashable, dict[str, Any]]


@checked
def xarray_encoding(
    dataset: xarray.Dataset,
    *,
    absolute: Real | None = None,
    relative: Real | None = None,
    pointwise_relative: Real | None = None,
    psnr: Real | None = None,
    lossless: bool = False,
    engine: Literal["h5netcdf", "netcdf4"] = "h5netcdf",
    variables: Variables | None = None,
    chunks: Chunks = "auto",
    effort: int | None = None,
    block: Block = "default",
    layers: int = 1,
    enhance: bool | str | None = None,
    unlimited_dims: Iterable[Hashable] | None = None,
    group: str | None = None,
) -> Encoding:
    """The encoding with which ``dataset.to_netcdf(path, engine="h5netcdf", encoding=...)`` compresses a dataset.

    The bound applies to floating-point data variables of 4 KiB or more. It does not apply to coordinates, variables that
    another variable names in a CF attribute (bounds, formula_terms, cell_measures ...), flags, integers, times and text. Of
    these, numeric variables of 64 KiB or more without a compression of their own are compressed losslessly; the others are
    written unchanged. Missing values (_FillValue, missing_value, NaN) are restored bit for bit and do not influence a bound.

    Args:
        dataset: xarray.Dataset, with or without dask. Bounds that depend on the data read all of it, in one computation.
        absolute, relative, pointwise_relative, psnr, lossless: at most one of them, as for STZ. `relative` and `psnr` refer to
            each variable as a whole. Without a bound, variables that were read from a compressed file keep their options.
        engine: the engine of to_netcdf. netCDF4-python cannot set filters it does not know, so "netcdf4" raises an error that
            names alternatives.
        variables: {name pattern: options of STZ and ``chunks``}. The first matching pattern applies. Its options replace the
            bound above. A name without wildcards may be any variable, also a coordinate. None instead of options leaves the
            variables unchanged.
        chunks: chunk length for each dimension as a dict; -1 is the whole dimension. For dimensions without a length, or
            "auto": the chunks of the file that the variable was read from, otherwise the blocks of dask, otherwise
            suggest_chunks().
        effort, block, layers, enhance: as for STZ. `enhance` applies to float32 and float64 variables with an absolute bound.
        unlimited_dims: as for to_netcdf, in addition to those of ``dataset.encoding``. If a variable has exactly one, it
            becomes the append_axis of its STZ.
        group: group of the file that the dataset was read from, as for open_dataset.

    Returns:
        dict: {variable name: encoding} for each variable to compress. It includes the parts of the variable's present encoding
            that must be kept.

    Raises:
        StzError: (a ValueError) no bound where one is needed, two bounds, or a bound that cannot be met. The message names the
            variable.
        StzTypeError: (also a TypeError) `dataset` is not an xarray.Dataset (for a DataArray: ``array.to_dataset(name=...)``).

    Warns:
        UserWarning: lossy data would be quantized a second time, because the bound or the chunks changed.
    """
    _check(dataset, engine)
    bound = _bound((absolute, relative, pointwise_relative, psnr, lossless or None))
    grow = {
        *(dataset.encoding.get("unlimited_dims") or ()),
        *([unlimited_dims] if isinstance(unlimited_dims, str) else unlimited_dims or ()),
    }
    plans = _plans(
        dataset,
        bound,
        {"effort": effort, "block": block, "layers": layers, "enhance": enhance},
        variables or {},
        _Chunking(chunks, grow),
        group,
    )
    resolved = resolve({name: plan.request for name, plan in plans.items() if plan.request is not None})
    encoding: Encoding = {}
    for name, plan in plans.items():
        stz = resolved[name] if plan.request is not None else plan.kept
        if plan.origin is not None:
            warn_of_second_loss(name, plan.origin, stz, plan.chunks, stacklevel=3)
        encoding[name] = {**carried(dataset.variables[name]), **dict(stz), "chunksizes": plan.chunks}
    return encoding


@dataclass(frozen=True)
class _Chunking:
    chunks: Chunks
    unlimited: set[Hashable]


@dataclass(frozen=True)
class _Plan:
    """What is done with a variable: compress it with new options (`request`) or with its former options (`kept`)."""

    chunks: tuple[int, ...]
    origin: Origin | None
    request: Request | None = None
    kept: Any = None


def _check(dataset: object, engine: str) -> None:
    try:
        import xarray
    except ImportError as error:
        raise ImportError("xarray is not installed: pip install 'h5stz[xarray]'") from error
    if not isinstance(dataset, xarray.Dataset):
        given = type(dataset).__name__
        raise StzTypeError(
            f"a {given} is not an xarray.Dataset: convert a DataArray with array.to_dataset(name='x')", _ARGUMENT
        )
    if engine == "netcdf4":
        raise StzError(
            'engine="netcdf4": netCDF4-python can set its own filters only, xarray has no encoding for others. Write with '
            'engine="h5netcdf" (netCDF4 reads such files after import h5stz), or start the program with '
            "h5stz run --compress '/NAME=absolute:B' -- COMMAND, which needs no encoding",
            _ARGUMENT,
        )
    if engine != "h5netcdf":
        raise StzError(f'engine={engine!r} cannot write HDF5 filters: use engine="h5netcdf"', _ARGUMENT)


def _bound(given: tuple[Any, ...]) -> dict[str, Any]:
    """The bound among the arguments, as options of STZ; empty if there is none."""
    bound = {name: value for name, value in zip(_BOUNDS, given, strict=True) if value is not None}
    if len(bound) > 1:
        raise StzError(f"{' and '.join(f'{name}=' for name in bound)}: give one bound, others by name in variables=", _ARGUMENT)
    return bound


def _plans(
    dataset: xarray.Dataset,
    bound: Mapping[str, Any],
    others: Mapping[str, Any],
    variables: Variables,
    chunking: _Chunking,
    group: str | None,
) -> dict[Hashable, _Plan]:
    named = referenced(dataset)
    rules = _rules(dataset, variables, named)
    _check_dimensions(dataset, chunking.chunks)
    for rule in rules.values():
        _check_dimensions(dataset, (rule or {}).get("chunks"))
    plans = {}
    for name, variable in dataset.variables.items():
        if name in rules and rules[name] is None:
            continue
        of_rule = dict(rules.get(name) or {})
        is_number = bool(variable.ndim) and variable.dtype.kind in "biuf"
        if of_rule and not is_number:
            raise StzError(f"variable {name!r} ({variable.dtype}, {variable.ndim}-D) cannot be compressed", _ARGUMENT)
        lengths = of_rule.pop("chunks", chunking.chunks)
        explicit = [key for key in _BOUNDS if of_rule.get(key) not in (None, False)]
        if len(explicit) > 1:
            raise StzError(f"variables={{...}}: {name!r} has the bounds {' and '.join(explicit)}: give one", _ARGUMENT)
        options = {**others, **of_rule} if explicit else {**others, **bound, **of_rule}
        origin = origin_of(name, variable, group)
        bounded = bound and is_number and is_bounded(dataset, name, named) and not 0 < _bytes(variable) < SMALL
        if explicit or bounded:
            plans[name] = _asked(name, variable, options, lengths, chunking.unlimited, origin)
        elif origin is not None:
            plans[name] = _Plan(chunks_of(variable, variable.dtype, lengths, None), origin, kept=origin.options)
        elif variable.encoding.get("compression") == "unknown":
            raise StzError(
                f"variable {name!r} was read from a dataset with a filter that h5py does not know, and its file has none of "
                "h5stz by this name (group=): drop its encoding, dataset[name].encoding.clear()",
                _ARGUMENT,
            )
        elif bound and is_number and _worth_lossless(variable):
            lossless = {**others, "lossless": True}
            plans[name] = _asked(name, variable, lossless, lengths, chunking.unlimited, None)
    if not plans and not bound and not rules:
        raise StzError(
            "no bound is given and no variable was read from a file that h5stz compressed: give one, such as relative=1e-4",
            _ARGUMENT,
        )
    return plans


def _check_dimensions(dataset: xarray.Dataset, chunks: object) -> None:
    """Raises StzError if chunks= names a dimension that the dataset does not have."""
    unknown = [dim for dim in chunks if dim not in dataset.dims] if isinstance(chunks, Mapping) else []
    if unknown:
        there = ", ".join(map(str, dataset.dims))
        raise StzError(f"chunks={{{unknown[0]!r}: ...}}: no variable has this dimension; there are {there}", _ARGUMENT)


def _asked(
    name: Hashable,
    variable: xarray.Variable,
    options: dict[str, Any],
    lengths: Chunks,
    unlimited: set[Hashable],
    origin: Origin | None,
) -> _Plan:
    """The plan for a variable with these options of STZ."""
    dtype = stored_dtype(variable)
    axes = [axis for axis, dim in enumerate(variable.dims) if dim in unlimited]
    append_axis = options.get("append_axis", axes[0] if len(axes) == 1 else None)
    chunks = chunks_of(variable, dtype, lengths, append_axis)
    if append_axis is not None and chunks[append_axis] > 1:
        options["append_axis"] = append_axis
    lossy = not options.get("lossless")
    if lossy and dtype.kind == "f" and is_packed(variable):
        raise StzError(
            f"variable {name!r} is packed (scale_factor or add_offset in its encoding): a bound would count for the packed "
            f"numbers. Take both out of dataset[{name!r}].encoding, or give it lossless=True in variables=",
            _ARGUMENT,
        )
    if lossy and dtype.kind != "f" and options.get("integers", "lossless") == "lossless":
        options = {key: value for key, value in options.items() if key not in _BOUNDS} | {"lossless": True}
    fill = options.pop("fill_value", None)
    if fill is None and dtype.kind == "f":
        fill = fill_number(variable)
    if lossy and not options.get("lossless") and (ends := valid_range(variable.attrs.get)):
        options = {"valid_range": ends} | options
    return _Plan(chunks, origin, Request(StoredArray(variable), options, chunks, fill))


def _rules(dataset: xarray.Dataset, variables: Variables, named: set[Hashable]) -> dict[Hashable, Mapping[str, Any] | None]:
    """The options of each variable that a pattern matches. Patterns with wildcards skip variables to which no bound applies."""
    rules: dict[Hashable, Mapping[str, Any] | None] = {}
    for pattern, options in variables.items():
        if options is not None and not isinstance(options, Mapping):
            raise StzTypeError(
                f"variables={{{pattern!r}: {options!r}}}: give a dict such as {{'absolute': 0.1}}, or None", _ARGUMENT
            )
        unknown = sorted(set(options or ()) - {*_BOUNDS, *_OTHERS})
        if unknown:
            known = ", ".join((*_BOUNDS, *_OTHERS))
            raise StzError(f"variables={{{pattern!r}: ...}}: {unknown[0]!r} is not an option; they are {known}", _ARGUMENT)
        names = {str(name): name for name in dataset.variables}
        matching = [names[name] for name in patterns.chosen(pattern, names)]
        if not matching:
            raise StzError(
                f"variables={{{pattern!r}: ...}}: no variable has such a name; there are {', '.join(names)}", _ARGUMENT
            )
        for name in matching:
            if str(name) == pattern or options is None or is_bounded(dataset, name, named):
                rules.setdefault(name, options)
    return rules


def _worth_lossless(variable: xarray.Variable) -> bool:
    """True if a variable without a bound should be compressed losslessly: it is large and has no other compression."""
    others = ("zlib", "szip", "zstd", "bzip2", "blosc")
    compressed = any(variable.encoding.get(key) for key in others) or variable.encoding.get("compression") is not None
    return _bytes(variable) >= _SMALL and not compressed


def _bytes(variable: xarray.Variable) -> int:
    return math.prod(variable.shape) * stored_dtype(variable).itemsize


@checked
def xarray_attributes(
    encoding: Mapping[Hashable, Mapping[str, Any]],
    dataset: xarray.Dataset | None = None,
    *,
    group: str | None = None,
) -> dict[Hashable, dict[str, Any]]:
    """Attributes that record the error bound of each variable in a file, from the encoding of xarray_encoding().

    The attributes are not part of CF. CF 1.12 (section 8.4) describes quantization by four named algorithms only, and h5stz
    uses none of them, so its attribute `quantization` would be wrong here.

    Args:
        encoding: encoding of the variables.
        dataset: the dataset that will be written. If given, the errors of the compressed file it was read from count too.
        group: as for xarray_encoding().

    Returns:
        dict: {variable name: attributes} for each lossy variable. The attributes are ``h5stz_absolute_error_bound`` (in the
            units of the variable), ``h5stz_pointwise_relative_error_bound`` (relative to each value), or both, which then add
            up; and ``h5stz_version``.
    """
    attributes: dict[Hashable, dict[str, Any]] = {}
    for name, options in encoding.items():
        if options.get("compression") != _core.FILTER_ID:
            continue
        stz = STZ.from_filter_options(options["compression_opts"], dtype=options.get("dtype", "f8"))
        variable = None if dataset is None else dataset.variables[name]
        origin = None if variable is None else origin_of(name, variable, group)
        lost = losses(origin, stz, tuple(options.get("chunksizes") or ()))
        if lost:
            attributes[name] = {f"h5stz_{mode}_error_bound": bound for mode, bound in lost.items()}
            attributes[name]["h5stz_version"] = _core.VERSION
    return attributes


def to_netcdf(
    dataset: xarray.Dataset,
    path: str | os.PathLike[str],
    *,
    attributes: bool = True,
    group: str | None = None,
    writing: Mapping[str, Any] | None = None,
    threads: int | None = None,
    **options: Any,
) -> Any:
    """Writes a compressed dataset: ``dataset.to_netcdf(path, engine="h5netcdf", encoding=xarray_encoding(dataset, ...))``.

    Args:
        dataset: xarray.Dataset; it is not changed.
        path: path of the new file.
        attributes: True adds xarray_attributes() to the variables.
        group: the group of the new file to write to; None is the root group. It is also the group of the file that the dataset
            was read from, in which options to keep are looked up; if that file has no such group, its root group is used.
        writing: further arguments of Dataset.to_netcdf, such as ``{"compute": False, "mode": "a"}``. They may include the
            encoding of variables that are not compressed.
        threads: number of threads that compress chunks, as for write(). Blocks of dask that are whole chunks are compressed in
            dask's threads. With ``compute=False`` HDF5 compresses.
        **options: options of xarray_encoding().

    Returns:
        The result of Dataset.to_netcdf: None, or a delayed object for ``compute=False``.

    Raises:
        StzError, TypeError: as for xarray_encoding().
        OSError: the file cannot be created, or the disk is full. No new file is left behind.
    """
    refuse_address(path)
    arguments = dict(writing or {})
    if "engine" in arguments:
        _check(dataset, arguments.pop("engine"))
    if group is not None and arguments.setdefault("group", group) != group:
        raise StzError(f"group={group!r} and writing={{'group': {arguments['group']!r}}}: give one", _ARGUMENT)
    if "unlimited_dims" in options:
        arguments.setdefault("unlimited_dims", options["unlimited_dims"])
    elif "unlimited_dims" in arguments:
        options["unlimited_dims"] = arguments["unlimited_dims"]
    encoding = xarray_encoding(dataset, group=group, **options)
    marked = dataset.copy(deep=False)
    for name, values in (xarray_attributes(encoding, dataset, group=group) if attributes else {}).items():
        kept = {key: value for key, value in marked[name].attrs.items() if not str(key).startswith("h5stz_")}
        marked[name].attrs = {**kept, **values}
    given = arguments.pop("encoding", None) or {}
    if twice := [name for name in given if name in encoding]:
        text = f"writing={{'encoding': ...}} names {twice[0]!r}, which is compressed: set dataset[{twice[0]!r}].encoding, or"
        raise StzError(f"{text} its options with variables={{{twice[0]!r}: ...}}", _ARGUMENT)
    both = {**given, **encoding}
    count = all_cores(threads)
    targets = parallel_targets(count) if arguments.get("compute", True) else nullcontext()
    with written_directly(path) if _is_path(path) else nullcontext(), targets:
        return marked.to_netcdf(path, engine="h5netcdf", encoding=both, **arguments)


def _is_path(path: object) -> bool:
    """True for the path of a local file. xarray also accepts open files, and None to return bytes."""
    return isinstance(path, os.PathLike) or (isinstance(path, str) and "://" not in path)

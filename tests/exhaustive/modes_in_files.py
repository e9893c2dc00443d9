"""Operations on datasets for the cases of modes.py: copies, rewrites, growth, repacking, zarr, xarray, masks, ratios, axes."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

import h5stz
from exhaustive import memory, promises, stated
from exhaustive.source import Source, Violation

BOUNDS = ("absolute", "relative", "psnr", "pointwise_relative", "lossless")
MOST_CHUNKS = 60


@dataclass
class Case:
    """An array, the options that it is compressed with, and where its files are.

    Attributes:
        fill: the number that marks missing samples, or None.
    """

    source: Source
    tally: object
    array: np.ndarray
    fill: float | int | None
    options: dict
    folder: Path

    @property
    def path(self):
        """The file of the dataset `a`."""
        return self.folder / "a.h5"

    def chunks(self):
        """Chunks of any shape, not too many."""
        chunks = tuple(self.source.between(1, n) for n in self.array.shape)
        count = np.prod([-(-n // c) for n, c in zip(self.array.shape, chunks, strict=True)])
        return self.array.shape if count > MOST_CHUNKS else chunks

    def create(self, **other):
        """The file with the dataset `a`; the STZ that it was made with."""
        chunks = self.chunks()
        made = h5stz.STZ(data=self.array, chunks=chunks, **{**self.options, **other})
        with h5py.File(self.path, "w") as file:
            file.create_dataset("a", data=self.array, chunks=chunks, **made)
        return made

    def judge(self, references, what, options=None, name="a", path=None, made=None, given=None):
        """Judges a dataset, opened anew. Returns its samples."""
        with h5py.File(path or self.path, "r") as file:
            return stated.judge_dataset(
                self.tally, references, file[name], self.options if options is None else options, what, made, given
            )

    def values(self, before):
        """New values for a part that holds `before`."""
        new = (1 + np.abs(before.astype("f8")) * self.source.real(-1, 1)).astype(before.dtype)
        return np.where(new == self.fill, np.array(1, before.dtype), new) if self.fill is not None else new

    def part(self):
        """A box of the dataset."""
        starts = [self.source.between(0, n - 1) for n in self.array.shape]
        return tuple(slice(at, self.source.between(at + 1, n)) for at, n in zip(starts, self.array.shape, strict=True))

    def other_options(self):
        """Options of another mode, or of another bound, for the same data."""
        others = {name: value for name, value in self.options.items() if name not in (*BOUNDS, "layers", "enhance")}
        width = max(float(stated.width_of(self.array, self.fill)), 1e-20)
        floating = self.array.dtype.kind == "f"
        modes = [{"absolute": min(width * 10 ** -self.source.real(1, 5), 1e30)}, {"lossless": True}]
        modes += [{"pointwise_relative": 10 ** -self.source.real(1, 5)}] if floating else []
        return {**others, **self.source.pick(modes), **({"layers": 3} if self.source.chance(0.4) else {})}


def written_in_parts(case):
    """Parts are written again, in one open file or in several: bounds hold for what was written last."""
    made, last = case.create(), case.array.copy()
    given = [last.copy()]
    for _ in range(case.source.between(1, 3)):
        with h5py.File(case.path, "r+") as file:
            for _ in range(case.source.between(1, 2)):
                part = case.part()
                last[part] = file["a"][part] = case.values(last[part])
                given.append(last.copy())
    decoded = case.judge([last], "written in parts", made=made, given=given)
    stated.judge_bound(case.tally, last, decoded, made, "written in parts", given)


def copied_by_hdf5(case):
    """H5Ocopy of an open dataset, perhaps of one whose changes are not in the file yet."""
    made, last = case.create(), case.array.copy()
    with h5py.File(case.path, "r+") as file:
        if case.source.chance(0.5):
            file["a"][...]
        if case.source.chance(0.6):
            part = case.part()
            last[part] = file["a"][part] = case.values(last[part])
        file.copy("a", "b")
    decoded = [case.judge([last], f"H5Ocopy, {name}", name=name, made=made, given=[last, case.array]) for name in "ab"]
    stated.judge_bound(case.tally, last, decoded[1], made, "H5Ocopy", [last, case.array])


def copied_by_a_program(case):
    """What one dataset gives is written to another, with the same options and chunks or with others."""
    case.create()
    others = case.options if case.source.chance(0.3) else case.other_options()
    with h5py.File(case.path, "r+") as file:
        read = file["a"][...]
        chunks = file["a"].chunks if case.source.chance(0.6) else case.chunks()
        made = h5stz.STZ(data=read, chunks=chunks, **others)
        file.create_dataset("b", data=read, chunks=chunks, **made)
    decoded = case.judge([read, case.array], "copied by a program", others, "b")
    stated.judge_bound(case.tally, read, decoded, made, "copied by a program")
    with h5py.File(case.path) as file:
        if file["b"].chunks == file["a"].chunks:
            stated.judge_history(case.tally, case.array, file["b"], "copied by a program", told=0.25)


def with_fewer_layers(case):
    """drop_layers() of a stream, and repack(max_error=) of a file."""
    options = {**case.options, "layers": case.source.between(2, 4)}
    if options.get("enhance") in ("relaxed", "both"):
        options.pop("enhance")
    stream = memory.compress(case.array, options)
    errors = [layer.max_error for layer in h5stz.info(stream).layers if layer.max_error]
    for error in errors:
        shorter = h5stz.drop_layers(stream, error)
        decoded = stated.judge(case.tally, case.array, shorter, {}, "drop_layers")
        case.tally.within(case.array, decoded, max(error, h5stz.info(stream).relaxed_bound), "drop_layers", measured=True)
    case.options = options
    case.create()
    with h5py.File(case.path) as file:
        errors = h5stz.view(file["a"]).layer_errors()
    if errors and max(errors) > 0:
        error, target = case.source.pick([e for e in errors if e > 0]), case.folder / "fewer.h5"
        h5stz.repack(case.path, target, max_error=error)
        decoded = case.judge([case.array], "repack(max_error=)", {}, path=target)
        case.tally.within(case.array, decoded, max(error, errors[-1]), "repack(max_error=)", measured=True)


def repacked(case):
    """A compressed file compressed again, with or without `again`."""
    made, target = case.create(), case.folder / "again.h5"
    others, again = case.other_options(), case.source.chance(0.5)
    rules = {name: value for name, value in others.items() if name not in ("fill_value", "threads")}
    with h5py.File(case.path) as file:
        before = file["a"][...]
    rechunk = case.source.pick(["auto", "never"])
    report = h5stz.repack(case.path, target, again=again, rechunk=rechunk, **rules)
    with h5py.File(target) as file:
        compressed = file["a"].chunks is not None
    outcome = next(each for each in report.outcomes if each.path.strip("/") == "a")
    if not compressed:
        with h5py.File(target) as file:
            case.tally.same_bits(before, file["a"][...], f"repack: {outcome}")
        return
    decoded = case.judge([before, case.array], f"repack(again={again}, {rules})", {}, path=target)
    with h5py.File(target) as file:
        stated.judge_history(case.tally, case.array, file["a"], "repack")
    lossy = not made.get_config().get("lossless")
    if not again and lossy and case.array.dtype.kind == "f":
        case.tally.same_bits(before, decoded, "repack of data that were compressed with loss")


def in_zarr(case):
    """The codec of zarr, and parts that are written again."""
    import zarr

    from h5stz.zarr import StzCodec

    bound = {name: value for name, value in case.options.items() if name in ("absolute", "pointwise_relative", "lossless")}
    if not bound:
        bound = {"absolute": h5stz.STZ(data=case.array, **case.options).bound}
    allowed = ("layers", "effort", "content_check", "check", "integers", "block", "enhance")
    options = {**bound, **{name: case.options[name] for name in allowed if name in case.options}}
    if case.fill is not None:
        options["fill_value"] = case.fill
    last, chunks, store = case.array.copy(), case.chunks(), {}
    array = zarr.create_array(
        store, shape=last.shape, chunks=chunks, dtype=last.dtype, serializer=StzCodec(**options), compressors=None
    )
    array[...] = last
    for _ in range(case.source.between(0, 2)):
        part = case.part()
        last[part] = array[part] = case.values(last[part])
    for offset, part, inside in stated.boxes_of(last.shape, chunks):
        key = "/".join(["c", *(str(o // c) for o, c in zip(offset, chunks, strict=True))])
        if key in store:
            stream = store[key].to_bytes()
            decoded = stated.judge_chunk(case.tally, [last], part, inside, stream, options, f"zarr, {key}")
            case.tally.same_bits(decoded[inside], np.ascontiguousarray(array[part]), f"zarr, {key}")


def by_xarray(case):
    """to_netcdf() and the engine."""
    import xarray

    if case.array.dtype.kind == "f" and case.array.dtype.itemsize == 2:
        return
    allowed = (*BOUNDS, "layers", "effort", "block", "enhance")
    options = {name: case.options[name] for name in allowed if name in case.options}
    dims = [f"x{axis}" for axis in range(case.array.ndim)]
    variable = xarray.Variable(dims, case.array)
    if case.fill is not None:
        if case.array.dtype.kind == "f":
            variable = xarray.Variable(dims, np.where(case.array == case.fill, np.nan, case.array).astype(case.array.dtype))
        variable.encoding["_FillValue"] = case.array.dtype.type(case.fill)
    h5stz.to_netcdf(xarray.Dataset({"a": variable}), case.path, **options)
    with h5py.File(case.path) as file:
        if file["a"].chunks is None:
            return
    decoded = case.judge([case.array], "to_netcdf", options)
    if case.fill is not None:
        case.tally.fill_values(case.array, decoded, case.fill, "to_netcdf")
    if "psnr" in options and case.array.dtype.kind == "f":
        stated.judge_psnr(case.array, decoded, options["psnr"], case.fill, "to_netcdf")
    with xarray.open_dataset(case.path, engine="h5stz", mask_and_scale=False, decode_times=False) as found:
        case.tally.same_bits(decoded, found["a"].values.astype(case.array.dtype), "the engine h5stz")


def grown(case):
    """A dataset that grows along `append_axis`, and is rewritten in part."""
    axis, last = case.source.between(0, case.array.ndim - 1), case.array.copy()
    chunks = case.chunks()
    made = h5stz.STZ(data=last, chunks=chunks, append_axis=axis, **case.options)
    length, at = last.shape[axis], 0
    empty = tuple(0 if a == axis else n for a, n in enumerate(last.shape))
    limits = tuple(None if a == axis else n for a, n in enumerate(last.shape))
    with h5py.File(case.path, "w") as file:
        file.create_dataset("a", empty, last.dtype, maxshape=limits, chunks=chunks, **made)
    while at < length:
        with h5py.File(case.path, "r+") as file:
            for _ in range(case.source.between(1, 20)):
                stop = min(length, at + case.source.between(1, max(1, length // 6)))
                cut = tuple(slice(at, stop) if a == axis else slice(None) for a in range(last.ndim))
                file["a"].resize(stop, axis=axis)
                file["a"][cut] = last[cut]
                at = stop
                if at == length:
                    break
    decoded = case.judge([last], "grown", {**case.options, "content_check": None})
    stated.judge_bound(case.tally, last, decoded, made, "grown")


def masked(case):
    """A masked array: the mask comes back as the fill value, and what lies beneath counts for nothing."""
    mask = case.source.numbers.random(case.array.shape) < 0.2
    if mask.all() or not mask.any():
        return
    hidden = case.array.copy()
    hidden[mask] = np.array(100, hidden.dtype)
    fill = case.fill if case.fill is not None else 29999
    options = {**case.options, "fill_value": fill}
    given = np.ma.array(hidden, mask=mask, fill_value=fill)
    expected = given.filled(fill)
    stream = memory.compress(given, options)
    decoded = stated.judge(case.tally, expected, stream, options, "masked")
    case.tally.fill_values(expected, decoded, fill, "masked")
    if "psnr" in options and h5stz.info(stream).bound and h5stz.info(stream).bound_used:
        stated.judge_psnr(expected, decoded, options["psnr"], fill, "masked")
    found = h5stz.estimate(given, **options)
    if found.exact and "psnr" not in options and found.bytes != len(stream):
        raise Violation(f"masked: an estimate of {found.bytes} bytes, and {len(stream)} were written")


def by_ratio(case):
    """ratio= in place of the bound."""
    options = {name: value for name, value in case.options.items() if name not in BOUNDS}
    options["ratio"] = case.source.real(1.5, 15)
    stream = memory.compress(case.array, options)
    stated.judge(case.tally, case.array, stream, options, "ratio")
    exact = case.array.dtype.kind in "iu" and options.get("integers") != "lossy"
    varies = promises.valid_range(case.array, h5stz.info(stream).fill_value)[0]  # constant data are exact whatever their size
    if varies and not exact and len(stream) * options["ratio"] > case.array.nbytes * (1 + 1e-12):
        raise Violation(f"ratio: {case.array.nbytes} bytes became {len(stream)}, {options['ratio']} was asked for")
    chunks = case.chunks()
    try:
        made = h5stz.STZ(data=case.array, chunks=chunks, **options)
    except h5stz.StzError as error:
        if any(text in str(error) for text in memory.MAY_FAIL["ratio"]):
            return
        raise
    with h5py.File(case.path, "w") as file:
        file.create_dataset("a", data=case.array, chunks=chunks, **made)
        stored = file["a"].id.get_storage_size()
    if made.bound and stored * options["ratio"] > case.array.nbytes * (1 + 1e-12):
        raise Violation(f"ratio: {case.array.nbytes} bytes became {stored} in chunks {chunks}")
    decoded = case.judge([case.array], "ratio", options)
    stated.judge_bound(case.tally, case.array, decoded, made, "ratio")


def by_axes(case):
    """Levels of some axes, whole and in fewer layers."""
    case.create()
    axes = tuple(axis for axis in range(case.array.ndim) if case.source.chance(0.6)) or (0,)
    with h5py.File(case.path) as file:
        view, decoded = h5stz.view(file["a"]), file["a"][...]
        for level in (0, 1, 2):
            cut = tuple(slice(None, None, 2**level if axis in axes else 1) for axis in range(decoded.ndim))
            thinned = view.level(level, axes=axes)
            case.tally.same_bits(np.ascontiguousarray(decoded[cut]), thinned[...], f"level {level} of the axes {axes}")
            for count, error in enumerate(thinned.layer_errors(), 1):
                rough = thinned.read(..., layers=count)
                case.tally.within(np.ascontiguousarray(case.array[cut]), rough, error, f"axes {axes}", measured=True)


OPERATIONS = {
    each.__name__: each
    for each in (
        written_in_parts, copied_by_hdf5, copied_by_a_program, with_fewer_layers, repacked, grown, masked, by_ratio, by_axes,
    )
}  # fmt: skip
OPERATIONS |= {
    each.__name__: each for name, each in (("zarr", in_zarr), ("xarray", by_xarray)) if importlib.util.find_spec(name)
}

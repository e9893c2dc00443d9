"""`h5stz info`."""

from __future__ import annotations

import math
from typing import Any

import click
import h5py
import numpy as np

from h5stz import _core, elements, verify_files
from h5stz.chunks import SMALL
from h5stz.cli.explained import explained
from h5stz.cli.parameters import FILE
from h5stz.dataset_reader import DatasetReader
from h5stz.errors import StzError
from h5stz.options import client_data
from h5stz.readers import Stats

_PALETTE = "blocks of ranks in a palette"  # as streams say of their form


@click.command()
@click.argument("file", type=FILE)
@click.argument("dataset", required=False)
def info(file: str, dataset: str | None) -> None:
    """Print bound, ratio and chunks of the datasets in a file."""
    with explained(file, "damaged"):
        _print_file(file, dataset)


def _print_file(name: str, only: str | None) -> None:
    with h5py.File(name) as file:
        if only:
            _print_dataset(_dataset(file, only))
            return
        datasets: list[h5py.Dataset] = []
        file.visititems(lambda _, item: datasets.append(item) if isinstance(item, h5py.Dataset) else None)
        compressed = [item for item in datasets if client_data(item) is not None]
        for item in compressed:
            _print_dataset(item)
        if not compressed:
            print(f"{name}: {len(datasets)} datasets, none compressed with h5stz")


def _dataset(file: h5py.File, name: str) -> h5py.Dataset:
    item = file[name]
    if not isinstance(item, h5py.Dataset):
        raise KeyError(f"{name} is no dataset")
    return item


def _print_dataset(dataset: h5py.Dataset) -> None:
    words = client_data(dataset)
    print(f"{dataset.name}: {dataset.dtype} {'x'.join(map(str, dataset.shape))}")
    if words is None:
        print("  not compressed with h5stz")
        return
    meaning = _core.parse(words)
    mode = elements.name_of(_core.MODES, meaning["mode"])
    stored = dataset.id.get_storage_size()
    print(f"  bound: {_bound_text(mode, meaning['bound'], dataset.dtype, meaning['integers'])}")
    if meaning["append_axis"]:
        print(f"  grows along axis {meaning['append_axis'] - 1}")
    if meaning["fill"] is not None:
        print(f"  fill value: {elements.fill_number(meaning['fill'], dataset.dtype)!r}")
    print(f"  chunks: {'x'.join(map(str, dataset.chunks or ()))}, {dataset.id.get_num_chunks()} stored")
    print(f"  size: {dataset.nbytes} -> {stored} bytes" + (f", ratio {dataset.nbytes / stored:.2f}" if stored else ""))
    if math.prod(dataset.chunks or ()) * dataset.dtype.itemsize < SMALL < dataset.nbytes:
        print("  WARNING: chunks of less than 4 KiB hardly get smaller: h5stz.suggest_chunks proposes larger ones")
    print(f"  content checks: {verify_files.described(dataset)}")
    _print_rewrites(dataset, grows=bool(meaning["append_axis"]) and mode != "lossless")


def _bound_text(mode: str, bound: float, dtype: np.dtype[Any], integers: int) -> str:
    """What holds for the chunks of a dataset. Client data of earlier versions may have a bound for integers, exact now."""
    if dtype.kind not in "iub":
        return mode if mode == "lossless" else f"{mode} {bound!r}"
    if mode == "lossless":
        return "lossless, as integers are unless their bound is asked for by name"
    if integers:
        return f"{mode} {bound!r}, for integers by name"
    return f"lossless for chunks that are written from now on; earlier ones may have {mode} {bound!r}"


def _print_rewrites(dataset: h5py.Dataset, *, grows: bool) -> None:
    """What the chunks say of being exact, or of having been written more than once or not completely, if they do."""
    try:
        headers = DatasetReader(dataset, 0, Stats()).headers()
    except StzError as error:
        print(f"  damaged: {error}")
        return
    of = f" of the first {len(headers)}" if len(headers) < dataset.id.get_num_chunks() else ""
    patches = [header["patches"] for header in headers if header["patches"]]
    if patches:
        print(f"  written again in part: {len(patches)} chunks{of}, {sum(patches)} patches")
    lossless = [header for header in headers if header["mode"] == _core.MODES["lossless"]]
    if exact := sum(header["bound_used"] for header in lossless):
        print(f"  stored exactly, as the bound was used before: {exact} chunks{of}")
    if grows and (growing := len(lossless) - exact):
        print(f"  stored exactly, as the last plane along the axis of growth holds one value only: {growing} chunks{of}")
    if few := sum(header["form"] == _PALETTE and header["mode"] != _core.MODES["lossless"] for header in headers):
        print(f"  stored exactly, as that is shorter where different values are few: {few} chunks{of}")
    accumulated = [header["accumulated_bound"] for header in headers if header["accumulated_bound"]]
    if accumulated:
        print(f"  accumulated bound: {max(accumulated)!r}, with those of earlier compressions: {len(accumulated)} chunks{of}")

"""Removes the precision layers that a larger error does not need. Chunks get shorter; none is decoded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import h5py

from h5stz import _core
from h5stz.errors import StzError
from h5stz.hdf5.written_parts import written_boxes
from h5stz.options.option_checks import BOUNDS
from h5stz.options.precision import best_error
from h5stz.options.stz import STZ, Options, client_data
from h5stz.unreadable import naming_stream


def has_layers(dataset: h5py.Dataset) -> bool:
    """True if the chunks of a dataset have precision layers, and all of them are streams."""
    words = client_data(dataset)
    alone = dataset.id.get_create_plist().get_nfilters() == 1
    if words is None or not alone or not dataset.chunks:
        return False
    meaning = _core.parse(words)
    return meaning["layers"] > 1 or bool(meaning["layer_bounds"])


def options_at_error(dataset: h5py.Dataset, max_error: float) -> STZ | None:
    """The options of a dataset after its layers are reduced to this error; None if its error is already larger."""
    config: dict[str, Any] = STZ.from_dataset(dataset).get_config()
    if config.pop("absolute", 0.0) > max_error:
        return None
    config.pop("lossless", None)
    config.pop("pointwise_relative", None)
    config |= {"absolute": max_error, "dtype": dataset.dtype}
    if bounds := [bound for bound in config.pop("layer_bounds", ()) if bound > max_error]:
        config["layer_bounds"] = bounds
    if dataset.dtype.kind in "iu":
        config["integers"] = "lossy"
    return STZ(**cast(Options, config))


def other_options(dataset: h5py.Dataset, options: Options) -> list[str]:
    """The names of options, beside bounds, that a dataset has with another value or not at all."""
    own = STZ.from_dataset(dataset).get_config()
    given = {name: value for name, value in options.items() if name not in (*BOUNDS, "lossless")}
    if given.get("enhance") is True:  # only beside psnr or ratio
        given["enhance"] = "both"
    wanted = {
        name: STZ(**cast(Options, {"absolute": 0.0, name: value})).get_config().get(name) for name, value in given.items()
    }
    return [name for name, value in wanted.items() if value != own.get(name)]


def shorter_chunks(dataset: h5py.Dataset, max_error: float) -> Iterator[tuple[tuple[int, ...], int, bytes, float]]:
    """(offset, filter mask, bytes, largest error) of each chunk that is stored.

    Raises:
        StzError: a chunk is less precise, or damaged.
    """
    for box in written_boxes(dataset.chunks or (), dataset):
        offset = tuple(cut.start for cut in box)
        mask, content = dataset.id.read_direct_chunk(offset)
        if mask:  # stored without the filter, so without loss
            yield offset, mask, content, 0.0
            continue
        with naming_stream(dataset, offset):
            best = best_error(_core.info(content))
            if best is None or best > max_error:
                raise StzError(f"its error exceeds {max_error:g}", _core.ERROR_CODES["STZ_ERROR_BOUND"])
            shorter = _core.drop_layers(content, max_error)
        yield offset, mask, shorter, best_error(_core.info(shorter)) or 0.0

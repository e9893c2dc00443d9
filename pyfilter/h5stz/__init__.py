"""h5stz: error-bounded lossy and lossless compression of scientific arrays, for HDF5 and in memory.

Importing registers the filter with every HDF5 library of the process, h5py's first, and with those of programs that it
starts: datasets written with it can then be read and written.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from h5stz._core import FILTER_ID, FORMAT_VERSION
from h5stz._core import VERSION as __version__
from h5stz.analysis.comparing import Comparison, compare
from h5stz.analysis.extracting import Extracted, extract
from h5stz.codec import Layer, StreamInfo, compress, decompress, drop_layers, info, rewrite, verify
from h5stz.damage import Damage, DamageWarning
from h5stz.dask.arrays import dask_array
from h5stz.dask.writing import to_hdf5
from h5stz.errors import StzError, StzMemoryError, StzReadError, StzTypeError
from h5stz.estimating import Estimate, estimate
from h5stz.files.repack_plan import Rule
from h5stz.files.repack_preview import Planned, plan_repack
from h5stz.files.repacking import Outcome, Report, repack
from h5stz.files.salvaging import Salvaged, salvage
from h5stz.files.unpacking import unpack
from h5stz.hdf5.registration import Config, get_config, last_error, plugin_path, register
from h5stz.options.chunks import suggest_chunks
from h5stz.options.stz import STZ, Options
from h5stz.reading.opening import File, Group
from h5stz.reading.opening import open as open  # not in __all__: `from h5stz import *` must not hide the builtin
from h5stz.reading.partial_reads import partial_reads
from h5stz.reading.view import View, view
from h5stz.reading.view_sources import close_files
from h5stz.signatures import with_options_of
from h5stz.xarray.writing import to_netcdf, xarray_attributes, xarray_encoding

if TYPE_CHECKING:
    from typing_extensions import Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack

__all__ = [
    "FILTER_ID",
    "FORMAT_VERSION",
    "STZ",
    "Comparison",
    "Config",
    "Damage",
    "DamageWarning",
    "Estimate",
    "Extracted",
    "File",
    "Group",
    "Layer",
    "Options",
    "Outcome",
    "Planned",
    "Report",
    "Rule",
    "Salvaged",
    "StreamInfo",
    "StzError",
    "StzMemoryError",
    "StzReadError",
    "StzTypeError",
    "View",
    "__version__",
    "cd_values",
    "close_files",
    "compare",
    "compress",
    "dask_array",
    "decompress",
    "drop_layers",
    "estimate",
    "extract",
    "get_config",
    "info",
    "last_error",
    "partial_reads",
    "plan_repack",
    "plugin_path",
    "register",
    "repack",
    "rewrite",
    "salvage",
    "suggest_chunks",
    "to_hdf5",
    "to_netcdf",
    "unpack",
    "verify",
    "view",
    "xarray_attributes",
    "xarray_encoding",
]


@with_options_of(STZ)
def cd_values(**options: Unpack[Options]) -> tuple[int, ...]:
    """The filter's client data (tuple of ints from 0 to 2^32 - 1, docs/cd_values.md) for the options of `STZ`.

    For programs that set the filter themselves: H5Pset_filter, nccopy, h5repack.

    Raises:
        StzError: (a ValueError) as STZ does; TypeError: a misspelt or positional option.
    """
    return STZ(**options).filter_options


register()

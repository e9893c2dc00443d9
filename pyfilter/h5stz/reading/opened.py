"""The states of a chunk: its place in the file, its reader, or what replaces them."""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from h5stz.reading.chunk_index import Stored
from h5stz.reading.losses import Unreadable
from h5stz.reading.readers import ChunkReader


class Instead(Enum):
    """Replaces a ChunkReader where there is none."""

    NO_CHUNK = 1  # nothing is stored
    NO_STREAM = 2  # the chunk is none of ours: h5py reads it
    NO_PLACE = 3  # the index of chunks is damaged: HDF5 may find this one all the same


Opened: TypeAlias = ChunkReader | Instead | Unreadable
Place: TypeAlias = Stored | Instead | None

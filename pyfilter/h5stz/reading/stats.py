"""Statistics of reads: bytes, blocks, and damage."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Sequence

from h5stz.damage import Damage

_PAGE_BITS = 10


def chunk_number(chunk: Sequence[int], shape: Sequence[int], extents: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """(Numbers of chunks along all axes but the first, number of a chunk in C order), for chunks of `extents`.

    Chunk numbers are stable while the dataset grows along its first axis. Growth along another axis renumbers the chunks.
    """
    grid = [-(-length // extent) for length, extent in zip(shape, extents, strict=True)]
    number = 0
    for at, count in zip(chunk, grid, strict=True):
        number = number * count + at
    return tuple(grid[1:]), number


class _Numbers:
    """A set of (group, number), with one bit per number where the numbers of a group are dense, as chunk numbers are."""

    def __init__(self) -> None:
        self._pages: dict[tuple[Hashable, int], int] = {}
        self.count = 0

    def add(self, group: Hashable, number: int) -> bool:
        """Adds a number. True if it is new."""
        page, bit = (group, number >> _PAGE_BITS), 1 << (number & ((1 << _PAGE_BITS) - 1))
        before = self._pages.get(page, 0)
        if before & bit:
            return False
        self._pages[page] = before | bit
        self.count += 1
        return True


class Stats:
    """Statistics of all reads through a view and its levels, since it was made or reset() was called.

    Attributes:
        bytes_read: bytes read from the file or file object: byte ranges if it can be read directly, whole chunks otherwise.
        bytes_touched_chunks: stored size of all chunks that the reads used; HDF5 itself would read all of this.
        bytes_saved: bytes_touched_chunks - bytes_read.
        blocks_decoded: number of decoded blocks. A block counts again if it is decoded again because it was not in the cache.
        blocks_present: number of blocks, of all levels, in the chunks that the reads used.
        fallback_chunks: number of chunks that h5py read and decoded whole. A dataset that is not chunked, or is open for
            writing, counts as one.
        damage: list of h5stz.Damage that reads with on_error= found.
    """

    #: False if nobody will ask for the numbers.
    wanted = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Sets all counts to zero."""
        with self._lock:
            self.bytes_read = self.blocks_decoded = 0
            self._touched_bytes = self._blocks = 0
            self._touched, self._fallbacks = _Numbers(), _Numbers()
            self._damage: dict[Hashable, Damage] = {}

    @property
    def damage(self) -> list[Damage]:
        """The damage that reads found, as a list of h5stz.Damage. Each damage appears once, with everything that reads lost to
        it.
        """
        with self._lock:
            return list(self._damage.values())

    def damaged(self, found: Iterable[Damage]) -> None:
        """Records the damage that a read found."""
        with self._lock:
            for damage in found:
                known = self._damage.get(damage.key)
                self._damage[damage.key] = damage if known is None else known.joined(damage)

    @property
    def bytes_touched_chunks(self) -> int:
        """Stored size of the chunks that reads used, in bytes. Each chunk counts once, with its size at first use."""
        with self._lock:
            return self._touched_bytes

    @property
    def bytes_saved(self) -> int:
        """Bytes of the used chunks that were not read. Negative if repeated reads exceed the size of the chunks."""
        return self.bytes_touched_chunks - self.bytes_read

    @property
    def blocks_present(self) -> int:
        """Number of blocks in the chunks that reads used; each chunk counts once."""
        with self._lock:
            return self._blocks

    @property
    def fallback_chunks(self) -> int:
        """Number of chunks that h5py read and decoded whole; each counts once."""
        with self._lock:
            return self._fallbacks.count

    def decoded(
        self, group: Hashable, number: int, size: int, blocks_present: int, bytes_read: int, blocks_decoded: int
    ) -> None:
        """Counts a partial read of the chunk with this number in a group, such as a dataset."""
        with self._lock:
            if self._touched.add(group, number):
                self._touched_bytes += size
                self._blocks += blocks_present
            self.bytes_read += bytes_read
            self.blocks_decoded += blocks_decoded

    def fell_back(self, group: Hashable, number: int, size: int) -> None:
        """Counts a read of a chunk through h5py."""
        with self._lock:
            if self._touched.add(group, number):
                self._touched_bytes += size
            self._fallbacks.add(group, number)
            self.bytes_read += size

    def __repr__(self) -> str:
        names = ("bytes_read", "bytes_touched_chunks", "blocks_decoded", "blocks_present", "fallback_chunks")
        return f"Stats({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


class Unwanted(Stats):
    """Statistics that nobody will ask for."""

    wanted = False

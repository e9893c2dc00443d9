"""What reads of a dataset did: bytes, blocks, and what they found damaged."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Sequence

from h5stz.damage import Damage

_PAGE_BITS = 10


def chunk_number(chunk: Sequence[int], shape: Sequence[int], extents: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """(The numbers of chunks along all axes but the first, a chunk's number in C order) for a dataset with chunks of `extents`.

    Numbers stay while the dataset grows along its first axis; along another, the chunks are others from then on.
    """
    grid = [-(-length // extent) for length, extent in zip(shape, extents, strict=True)]
    number = 0
    for at, count in zip(chunk, grid, strict=True):
        number = number * count + at
    return tuple(grid[1:]), number


class _Numbers:
    """A set of (group, number): a bit each where numbers of a group lie together, as those of chunks do."""

    def __init__(self) -> None:
        self._pages: dict[tuple[Hashable, int], int] = {}
        self.count = 0

    def add(self, group: Hashable, number: int) -> bool:
        """Whether it was not there yet."""
        page, bit = (group, number >> _PAGE_BITS), 1 << (number & ((1 << _PAGE_BITS) - 1))
        before = self._pages.get(page, 0)
        if before & bit:
            return False
        self._pages[page] = before | bit
        self.count += 1
        return True


class Stats:
    """What reads through a view did, all its levels together, since it was made or reset() was called.

    Attributes:
        bytes_read: bytes fetched from the file, or the file object: ranges where it can be read directly, else whole chunks.
        bytes_touched_chunks: stored sizes of the chunks that were touched: what HDF5 itself would have had to read.
        bytes_saved: the difference.
        blocks_decoded: blocks decoded; one that was decoded again, as it had not been kept or only in part, counts again.
        blocks_present: blocks in the touched chunks, on all their levels.
        fallback_chunks: chunks that h5py read and decoded whole; a dataset that has no chunks, or is writable, is one.
        damage: what reads that went on (on_error=) found damaged, a list of h5stz.Damage.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Begins to count anew."""
        with self._lock:
            self.bytes_read = self.blocks_decoded = 0
            self._touched_bytes = self._blocks = 0
            self._touched, self._fallbacks = _Numbers(), _Numbers()
            self._damage: dict[Hashable, Damage] = {}

    @property
    def damage(self) -> list[Damage]:
        """What reads found damaged (h5stz.Damage), each damage once, with all that reads lost to it."""
        with self._lock:
            return list(self._damage.values())

    def damaged(self, found: Iterable[Damage]) -> None:
        """Notes what a read found damaged."""
        with self._lock:
            for damage in found:
                known = self._damage.get(damage.key)
                self._damage[damage.key] = damage if known is None else known.joined(damage)

    @property
    def bytes_touched_chunks(self) -> int:
        """Stored sizes of the chunks that were touched, each once, as it was when it was first touched."""
        with self._lock:
            return self._touched_bytes

    @property
    def bytes_saved(self) -> int:
        """Bytes of the touched chunks that were not read; below 0 if more was read than they have, as some was read again."""
        return self.bytes_touched_chunks - self.bytes_read

    @property
    def blocks_present(self) -> int:
        """Blocks in the touched chunks, each chunk once."""
        with self._lock:
            return self._blocks

    @property
    def fallback_chunks(self) -> int:
        """How many chunks h5py read and decoded whole, each once."""
        with self._lock:
            return self._fallbacks.count

    def decoded(
        self, group: Hashable, number: int, size: int, blocks_present: int, bytes_read: int, blocks_decoded: int
    ) -> None:
        """Counts a read of a chunk by a reader: the chunk of this number in a group, such as a dataset."""
        with self._lock:
            if self._touched.add(group, number):
                self._touched_bytes += size
                self._blocks += blocks_present
            self.bytes_read += bytes_read
            self.blocks_decoded += blocks_decoded

    def fell_back(self, group: Hashable, number: int, size: int) -> None:
        """Counts a read of a chunk by h5py."""
        with self._lock:
            if self._touched.add(group, number):
                self._touched_bytes += size
            self._fallbacks.add(group, number)
            self.bytes_read += size

    def __repr__(self) -> str:
        names = ("bytes_read", "bytes_touched_chunks", "blocks_decoded", "blocks_present", "fallback_chunks")
        return f"Stats({', '.join(f'{name}={getattr(self, name)}' for name in names)})"

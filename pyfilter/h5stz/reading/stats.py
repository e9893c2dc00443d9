"""What reads of a dataset did: bytes, blocks, and what they found damaged."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable

from h5stz.damage import Damage


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
            self._touched: dict[Hashable, tuple[int, int]] = {}
            self._fallbacks: set[Hashable] = set()
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
        """Stored sizes of the chunks that were touched, each once."""
        with self._lock:
            return sum(size for size, _ in self._touched.values())

    @property
    def bytes_saved(self) -> int:
        """Bytes of the touched chunks that were not read; below 0 if more was read than they have, as some was read again."""
        return self.bytes_touched_chunks - self.bytes_read

    @property
    def blocks_present(self) -> int:
        """Blocks in the touched chunks, each chunk once."""
        with self._lock:
            return sum(blocks for _, blocks in self._touched.values())

    @property
    def fallback_chunks(self) -> int:
        """How many chunks h5py read and decoded whole, each once."""
        with self._lock:
            return len(self._fallbacks)

    def decoded(self, chunk: Hashable, size: int, blocks_present: int, bytes_read: int, blocks_decoded: int) -> None:
        """Counts a read of a chunk (any hashable name) by a reader."""
        with self._lock:
            self._touched[chunk] = size, blocks_present
            self.bytes_read += bytes_read
            self.blocks_decoded += blocks_decoded

    def fell_back(self, chunk: Hashable, size: int) -> None:
        """Counts a read of a chunk by h5py."""
        with self._lock:
            self._touched[chunk] = size, 0
            self._fallbacks.add(chunk)
            self.bytes_read += size

    def __repr__(self) -> str:
        names = ("bytes_read", "bytes_touched_chunks", "blocks_decoded", "blocks_present", "fallback_chunks")
        return f"Stats({', '.join(f'{name}={getattr(self, name)}' for name in names)})"

"""How far a long piece of work is, in bytes of arrays: it never goes back, and ends with everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

#: Called with the path of a dataset, and the bytes done and to be done, of all datasets together.
Progress: TypeAlias = Callable[[str, int, int], None]


class Meter:
    """Adds up what is done, and tells a Progress, if there is one."""

    def __init__(self, progress: Progress | None, everything: int) -> None:
        self._progress, self._all, self._done = progress, everything, 0

    @contextmanager
    def share(self, path: str, size: int) -> Iterator[Callable[[int], None]]:
        """A part of the work, of `size` bytes: call what it gives with the bytes of each piece.

        More than `size` does not count, as of chunks that reach beyond a dataset; what is missing at the end, as of chunks
        that were never written, is added then.
        """
        end = min(self._done + size, self._all)

        def add(more: int) -> None:
            self._done = min(self._done + more, end)
            if self._progress is not None:
                self._progress(path, self._done, self._all)

        yield add
        add(size)

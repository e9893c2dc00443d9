"""Progress of long work, in bytes of arrays. It never decreases, and ends at the total."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

#: Called with the path of a dataset, and the bytes done and to be done, of all datasets together.
Progress: TypeAlias = Callable[[str, int, int], None]

#: Called with the bytes of each piece that is done.
Add: TypeAlias = Callable[[int], None]


def unwanted(more: int) -> None:
    """The Add of work whose progress nobody wants to know."""


class Meter:
    """Adds up the completed work, and calls a Progress if there is one."""

    def __init__(self, progress: Progress | None, everything: int) -> None:
        self._progress, self._all, self._done = progress, everything, 0

    @contextmanager
    def share(self, path: str, size: int) -> Iterator[Add]:
        """A context for a part of the work, of `size` bytes. Call its value with the bytes of each piece.

        Bytes beyond `size` are not counted (chunks may reach beyond a dataset). Bytes missing at the end are added (chunks may
        never have been written).
        """
        end = min(self._done + size, self._all)

        def add(more: int) -> None:
            self._done = min(self._done + more, end)
            if self._progress is not None:
                self._progress(path, self._done, self._all)

        yield add
        add(size)

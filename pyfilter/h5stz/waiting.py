"""Waiting for other threads of Python while this one may hold h5py's lock."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

_lock = threading.Lock()
_paused = 0  # how many threads want that nothing is collected
_was_enabled = False


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Keeps other threads from freeing cycles that hold objects of h5py, for as long as this one waits for them.

    Freeing such an object takes h5py's lock, which the waiting thread may hold: HDF5 has called it, or it runs in a loop over
    items() of a group or in visititems(). If the thread that it waits for collected garbage, both would wait for ever. A
    collection that another thread has begun before is not stopped by this.
    """
    global _paused, _was_enabled
    with _lock:
        if not _paused:
            _was_enabled = gc.isenabled()
            gc.disable()
        _paused += 1
    try:
        yield
    finally:
        with _lock:
            _paused = max(0, _paused - 1)  # 0 where a call that forked ends in the child
            if not _paused and _was_enabled:
                gc.enable()


if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:
        """functools.cached_property of Python 3.12. Before, one lock served all objects: its holder could wait for h5py's lock,
        and the holder of that for it."""

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute, self.__doc__ = compute, compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._compute(instance))


def _after_fork() -> None:
    """In the child only the thread that forked goes on: what others had paused begins again."""
    global _lock, _paused
    _lock = threading.Lock()
    if _paused and _was_enabled:
        gc.enable()
    _paused = 0


os.register_at_fork(after_in_child=_after_fork)

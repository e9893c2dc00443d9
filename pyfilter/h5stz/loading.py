"""Lazy names of packages (PEP 562), and forks that wait for them.

If a process forks while another thread imports a module, the module is incomplete and locked in the child, and whoever needs
it there waits forever. A fork therefore waits until names that other threads are loading are complete. This covers names that
load as attributes of a package. It does not cover import statements, for which Python has no hook.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

_PATIENCE = 10.0  # seconds that a fork waits: a load may itself wait for what the forking thread holds

_turn = threading.Condition()  # held by a fork, so that no load begins meanwhile
_loads: dict[int, int] = {}  # thread -> its loads, one within the other


def lazy(
    package: dict[str, Any], homes: Mapping[str, Sequence[str]] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions `__getattr__` and `__dir__` of a package.

    Args:
        package: its globals().
        homes: {module inside the package: its names}. Modules and packages inside the package are lazy too.
    """
    where = package["__name__"]
    home_of = {name: home for home, names in (homes or {}).items() for name in names}

    def get(name: str) -> Any:
        if name in home_of:
            with _loading():
                package[name] = getattr(import_module(f"{where}.{home_of[name]}"), name)
            return package[name]
        refusal = AttributeError(f"module {where!r} has no attribute {name!r}")
        if name.startswith("_"):
            raise refusal
        try:
            with _loading():
                return import_module(f"{where}.{name}")
        except ModuleNotFoundError as error:  # there is none, or it needs another package
            raise refusal from error

    def listed() -> list[str]:
        return sorted({*package, *home_of, *(home.partition(".")[0] for home in home_of.values())})

    return get, listed


@contextmanager
def _loading() -> Iterator[None]:
    thread = threading.get_ident()
    with _turn:
        _loads[thread] = _loads.get(thread, 0) + 1
    try:
        yield
    finally:
        with _turn:
            _loads[thread] -= 1
            if not _loads[thread]:
                del _loads[thread]
            _turn.notify_all()


def _before_fork() -> None:
    _turn.acquire()
    thread = threading.get_ident()
    _turn.wait_for(lambda: _loads.keys() <= {thread}, _PATIENCE)


def _in_parent() -> None:
    _turn.release()


def _in_child() -> None:
    global _turn
    _turn = threading.Condition()  # the old one may have waiters, which the child does not have
    thread = threading.get_ident()
    for other in _loads.keys() - {thread}:
        del _loads[other]


def let_forks_wait() -> None:
    """Registers the hooks with which forks wait for loads.

    Hooks run in reverse order. The hooks of logging and h5py, which hold locks that a load may need, must be registered
    before.
    """
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)

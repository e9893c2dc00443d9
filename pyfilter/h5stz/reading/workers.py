"""Threads that decode the chunks of one read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import TypeAlias

from h5stz.progress import Add
from h5stz.thread_team import AHEAD, Team
from h5stz.waiting import no_garbage_collection

#: Decodes something, and returns the bytes of the samples.
Job: TypeAlias = Callable[[], int]


class Workers:
    """Runs jobs in `count` threads, or in the caller if that is 1. Few jobs wait at a time. The first error stops it.

    The caller's thread calls `add` with the result of each job; an error of it stops everything too.
    """

    def __init__(self, count: int, add: Add) -> None:
        self._count, self._add = count, add
        self._team: Team[Job, int] | None = None
        self._context = ExitStack()

    def __enter__(self) -> Callable[[Job], None]:
        if self._count == 1:
            return self._run_here
        self._context.enter_context(no_garbage_collection())
        self._team = Team(_run, self._count)
        return self._give

    def _run_here(self, job: Job) -> None:
        self._add(job())

    def _give(self, job: Job) -> None:
        assert self._team is not None
        while self._team.waiting >= AHEAD * self._count:
            self._add(self._team.take()[1])
        self._team.give(job)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._team is None:
            return
        try:
            while error is None and self._team.waiting:
                self._add(self._team.take()[1])
        finally:
            self._team.end()
            self._context.close()


def _run(job: Job) -> int:
    return job()

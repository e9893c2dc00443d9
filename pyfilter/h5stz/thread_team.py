"""Threads that work for one call: jobs go in, results come out in the order of the jobs.

Few jobs wait at a time, so that memory does not depend on their number. All threads end before the call ends, also after an
error or Ctrl-C. A job costs the calling thread some microseconds, a fraction of what concurrent.futures takes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Generic, TypeVar

from h5stz.waiting import no_garbage_collection

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")

AHEAD = 4  # jobs for each thread that are under way


class _Ended:
    """Whether the threads of a team drop the jobs that wait."""

    now = False


class Team(Generic[_Job, _Result]):
    """`count` threads that run `work` on jobs. One thread gives the jobs and takes the results.

    Whoever makes a Team calls end() when all is done. The threads of a lost Team end too: Ctrl-C may come before end().
    """

    def __init__(self, work: Callable[[_Job], _Result], count: int) -> None:
        self._jobs: SimpleQueue[tuple[int, _Job] | None] = SimpleQueue()
        self._done: SimpleQueue[tuple[int, _Result | None, BaseException | None]] = SimpleQueue()
        self._ended = _Ended()
        self.waiting = 0  # jobs whose results were not taken
        self._given = 0
        self._threads: list[threading.Thread] = []
        arguments = (work, self._jobs, self._done, self._ended)  # not the Team itself, which would then never be lost
        try:
            for _ in range(count):
                thread = threading.Thread(target=_run, args=arguments, name="h5stz", daemon=True)
                self._threads.append(thread)
                thread.start()
        except RuntimeError:  # the system allows no more: those that run do the work
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            if not self._threads:
                raise

    def __del__(self) -> None:
        self._ended.now = True
        self._jobs.put(None)

    def give(self, job: _Job) -> int:
        """Adds a job; returns its number, counted from 0."""
        number = self._given
        self._given += 1
        self.waiting += 1
        self._jobs.put((number, job))
        return number

    def take(self) -> tuple[int, _Result]:
        """Waits for one of the jobs. Returns its number and its result, or raises its error."""
        number, result, error = self._done.get()
        self.waiting -= 1
        if error is not None:
            raise error
        return number, result  # type: ignore[return-value]

    def end(self) -> None:
        """Ends the threads. Running jobs are finished, waiting ones are dropped. Ctrl-C waits for the threads, too."""
        self._ended.now = True
        self._jobs.put(None)
        interrupt: BaseException | None = None
        for thread in self._threads:
            while thread.is_alive():
                try:
                    thread.join()
                except BaseException as error:
                    interrupt = error
        if interrupt is not None:
            raise interrupt


def _run(
    work: Callable[[_Job], _Result],
    jobs: SimpleQueue[tuple[int, _Job] | None],
    done: SimpleQueue[tuple[int, _Result | None, BaseException | None]],
    ended: _Ended,
) -> None:
    """Does jobs until there is a None, which is left for the other threads."""
    while (entry := jobs.get()) is not None and not ended.now:
        number, job = entry
        try:
            done.put((number, work(job), None))
        except BaseException as error:
            done.put((number, None, error))
        del entry, job  # which may be large, and would live until the next one
    jobs.put(None)


@contextmanager
def in_order(work: Callable[[_Job], _Result], jobs: Iterable[_Job], count: int) -> Iterator[Iterator[_Result]]:
    """A context with the results of `work` for all jobs, in their order.

    `count` threads do the jobs; if it is 1, the calling thread does. The calling thread iterates over `jobs`, a few jobs ahead
    of the results.
    """
    if count == 1:
        yield map(work, jobs)
        return
    with no_garbage_collection():
        team = Team(work, count)
        try:
            yield _results(team, iter(jobs), AHEAD * count)
        finally:
            team.end()


def _results(team: Team[_Job, _Result], jobs: Iterator[_Job], ahead: int) -> Iterator[_Result]:
    early: dict[int, _Result] = {}  # results that came before their turn
    turn, exhausted = 0, False
    while True:
        while not exhausted and team.waiting + len(early) < ahead:
            try:
                team.give(next(jobs))
            except StopIteration:
                exhausted = True
        if turn in early:
            yield early.pop(turn)
            turn += 1
        elif team.waiting:
            number, result = team.take()
            early[number] = result
        else:
            return

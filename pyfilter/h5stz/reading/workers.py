"""Threads that decode the chunks of one read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import TypeAlias

from h5stz.waiting import no_garbage_collection

Job: TypeAlias = Callable[[], None]


class Workers:
    """Runs jobs in `count` threads, or in the caller if that is 1. Few jobs wait at a time. The first error stops it."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool = ThreadPoolExecutor(count) if count > 1 else None
        self._context = ExitStack()
        self._waiting: deque[Future[None]] = deque()

    def __enter__(self) -> Callable[[Job], None]:
        if self._pool is not None:
            self._context.enter_context(no_garbage_collection())
        return self._run

    def _run(self, job: Job) -> None:
        if self._pool is None:
            job()
            return
        while len(self._waiting) >= 4 * self._count:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(job))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._pool is None:
            return
        try:
            while error is None and self._waiting:
                self._waiting.popleft().result()
        finally:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._context.close()

"""Progress of a command on a terminal: bytes, throughput and remaining time. Nothing is shown elsewhere, as in a log file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from h5stz.cli.output import printable
from h5stz.progress import Progress

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

_NAME = 32  # characters of a path that are shown, the last ones


class Bar:
    """The progress bar of progress_bar().

    Attributes:
        tell: a progress callback for library functions; None if standard error is not a terminal.
    """

    def __init__(self, bars: Bars | None) -> None:
        self._bars = bars
        self.tell: Progress | None = None if bars is None else self._tell
        self._task = None if bars is None else bars.add_task("", total=None)

    def _tell(self, path: str, done: int, everything: int) -> None:
        if self._bars is not None and self._task is not None:
            path = printable(path)
            name = path if len(path) <= _NAME else f"...{path[3 - _NAME :]}"
            self._bars.update(self._task, description=name, completed=done, total=everything)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """A context in which the bar is hidden, so that lines can be printed."""
        if self._bars is not None:
            self._bars.stop()
        yield
        if self._bars is not None:
            self._bars.start()


@contextmanager
def progress_bar() -> Iterator[Bar]:
    """A context with a bar on standard error, if that is a terminal. The bar is removed at the end."""
    if not sys.stderr.isatty():
        yield Bar(None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bars
    from rich.table import Column

    columns = (
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(None),  # what is left of the line
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    # Standard output stays what it is: it may be a file.
    console = Console(stderr=True)
    with Bars(*columns, console=console, transient=True, expand=True, redirect_stdout=False, redirect_stderr=False) as bars:
        yield Bar(bars)

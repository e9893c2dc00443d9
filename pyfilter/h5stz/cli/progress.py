"""Progress of a command on a terminal: bytes, throughput and the time that remains. Nothing elsewhere, as in a log file."""

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
    """What progress_bar() gives.

    Attributes:
        tell: as the library takes it, None where nobody sees it.
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
        """The bar is gone for the time, so that lines can be printed."""
        if self._bars is not None:
            self._bars.stop()
        yield
        if self._bars is not None:
            self._bars.start()


@contextmanager
def progress_bar() -> Iterator[Bar]:
    """A bar on standard error if that is a terminal, which is gone at the end."""
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

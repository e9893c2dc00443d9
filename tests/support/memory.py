"""How much memory this process takes for a while. Linux only."""

from contextlib import contextmanager
from pathlib import Path

CLEAR = Path("/proc/self/clear_refs")


def _peak():
    """The most that has been in memory since the last reset, in bytes."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


@contextmanager
def grows_less_than(limit):
    """Asserts that the process never has `limit` bytes more in memory than at the beginning of the block.

    The kernel's high-water mark is set back first: a peak of earlier tests would hide any that is lower.
    """
    CLEAR.write_text("5")
    before = _peak()
    yield
    grown = _peak() - before
    assert grown < limit, f"{grown} bytes more at the peak, {limit} allowed"

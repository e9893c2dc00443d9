"""Prints the results of commands: lines with names from files in them, and JSON with numbers that may be NaN or infinite."""

from __future__ import annotations

import json
import math
from typing import Any

from h5stz.counts import counted

#: What is printed in place of a ratio.
NOTHING_STORED = "nothing is stored"


def sizes(array_bytes: int, written_bytes: int, stored_bytes: int) -> str:
    """What samples take in memory and in a file, with the ratio of those that are stored.

    Args:
        array_bytes: in memory.
        written_bytes: of these, in chunks that are stored; what is not stored takes nothing, whatever compresses it.
        stored_bytes: in the file.
    """
    text = f"{array_bytes} -> {counted(stored_bytes, 'byte')}"
    if not stored_bytes:
        return f"{text}, {NOTHING_STORED}" if array_bytes else text
    part = "" if written_bytes == array_bytes else f" of the {counted(written_bytes, 'byte')} in stored chunks"
    return f"{text}, ratio {written_bytes / stored_bytes:.2f}{part}"


def say(text: str) -> None:
    """Prints one line on standard output, at once, so that it stands before what is said on standard error later."""
    print(printable(text), flush=True)


def printable(text: str) -> str:
    """A line in which characters that a terminal would obey or cannot show are escaped, as Python writes them."""
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def print_json(value: object) -> None:
    """One line of JSON; numbers that it does not have (NaN, infinities) are null."""
    print(json.dumps(_plain(value), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

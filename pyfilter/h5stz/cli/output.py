"""Prints results: lines that may contain names from files, and JSON whose numbers may be NaN or infinite."""

from __future__ import annotations

import json
import math
from typing import Any

from h5stz.counts import counted

#: What is printed in place of a ratio.
NOTHING_STORED = "nothing is stored"


def sizes(array_bytes: int, written_bytes: int, stored_bytes: int) -> str:
    """Sizes in memory and in the file as text, with the compression ratio of the stored chunks.

    Args:
        array_bytes: size in memory.
        written_bytes: the part of it in chunks that exist in the file; other chunks take no space with any filter.
        stored_bytes: size in the file.
    """
    text = f"{array_bytes} -> {counted(stored_bytes, 'byte')}"
    if not stored_bytes:
        return f"{text}, {NOTHING_STORED}" if array_bytes else text
    part = "" if written_bytes == array_bytes else f" of the {counted(written_bytes, 'byte')} in stored chunks"
    return f"{text}, ratio {written_bytes / stored_bytes:.2f}{part}"


def say(text: str) -> None:
    """Prints one line on standard output and flushes it, so that it precedes later lines on standard error."""
    print(printable(text), flush=True)


def printable(text: str) -> str:
    """A line in which control characters and unprintable characters are escaped, as Python writes them."""
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def print_json(value: object) -> None:
    """Prints one line of JSON. NaN and infinities, which JSON lacks, become null."""
    print(json.dumps(_plain(value), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""Prints the results of commands: lines with names from files in them, and JSON with numbers that may be NaN or infinite."""

from __future__ import annotations

import json
import math
from typing import Any

#: What is printed in place of a ratio.
NOTHING_STORED = "nothing is stored"


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

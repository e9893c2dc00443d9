"""JSON of commands whose numbers may be NaN or infinite."""

from __future__ import annotations

import json
import math
from typing import Any


def print_json(value: object) -> None:
    """One line of JSON; numbers that it does not have (NaN, infinities) are null."""
    print(json.dumps(_plain(value), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

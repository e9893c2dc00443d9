"""Numbers with their nouns, in messages: "1 chunk", "2 chunks"."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things with their noun; of those that are not one with its `plural`, else with an s behind the noun."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"

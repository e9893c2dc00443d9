"""Numbers with their nouns, in messages: "1 chunk", "2 chunks"."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun. Numbers other than 1 take `plural`, or the noun with an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"

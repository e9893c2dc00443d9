"""Indices as text. Each function raises the ValueError of parameters.Parsed."""

from __future__ import annotations

from typing import Any


def region(text: str) -> Any:
    """A basic index of NumPy, such as 0:10,:,5."""
    return tuple(_item(part.strip()) for part in text.strip("[]() ").split(","))


def _item(part: str) -> Any:
    if part == "...":
        return ...
    try:
        numbers = [int(number) if number.strip() else None for number in part.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) == 1 and numbers[0] is not None:
        return numbers[0]
    if len(numbers) in (2, 3):
        return slice(*numbers)
    raise ValueError(f"{part!r} is no index")


def axes(text: str) -> tuple[int, ...]:
    """Numbers of axes, such as 1,2."""
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r}: give numbers of axes, such as 1,2") from None

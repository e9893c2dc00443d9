"""Errors in the words of the command line: those of functions about arguments, and those of click about words."""

from __future__ import annotations

import re
from collections.abc import Mapping

import click

#: What functions call arguments, and the option that it is here.
_WORDS = {
    "lossless=True": "--lossless",
    "fill_value=False": "--fill-value none",
    "data=array": "--data FILE DATASET",
    "enhance=True": "--enhance auto",
    "rechunk=": "chunks=",
}
_BEFORE = r"(?<![\w/'\",:=.])"  # an argument: in quotation marks, paths and rules stand words of the user


def as_options(message: str, command: click.Command | None) -> str:
    """A message about arguments of functions, with the options of a command in their place."""
    if command is None:
        return message
    names = {str(each.name) for each in command.params if any(option.startswith("--") for option in each.opts)}
    for python, here in _WORDS.items():
        if python.partition("=")[0] in names | {"rechunk"}:
            message = re.sub(_BEFORE + re.escape(python), here, message)
    return re.sub(
        rf"{_BEFORE}({'|'.join(sorted(names, key=len, reverse=True))})=(?=(\S)?)",
        lambda match: f"--{match[1].replace('_', '-')}" + (" " if match[2] and match[2] not in ",:;)" else ""),
        message,
    )


def explained(error: click.UsageError, command: click.Command | None, others: Mapping[str, click.Command]) -> str:
    """What is wrong with the words of a command line, and what to write instead.

    Args:
        error: of click.
        command: the one that the words name; None if they name none.
        others: all commands by their names, where the error is about an option.
    """
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        having = [name for name, each in others.items() if any(error.option_name in option.opts for option in each.params)]
        if having:
            message = f"No such option {error.option_name}: {', '.join(having)} {'has' if len(having) == 1 else 'have'} it"
    extra = re.match(r"Got unexpected extra arguments? \((.*)\)", message)
    if extra and command is not None:
        if any("::/PATH" in (each.metavar or "") for each in command.params):
            message = f"{extra[1]} is one word too many: a dataset is named together with its file, FILE::/PATH"
        else:
            message = f"{extra[1]} is more than {command.name} takes"
    return message if message.endswith((".", "?")) else f"{message}."

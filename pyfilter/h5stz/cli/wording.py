"""Rephrases errors in the words of the command line: messages about Python arguments, and errors of click."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import click

#: What functions call arguments, and the option that it is here.
_WORDS = {
    "lossless=True": "--lossless",
    "fill_value=False": "--fill-value none",
    "data=array": "--data FILE DATASET",
    "enhance=True": "--enhance auto",
    "rechunk=": "chunks=",
}
#: A damaged chunk of another filter: its dataset, the file, what is wrong, and what helps in Python.
_DAMAGED = re.compile(
    r"(?<= of )(/.*?) in (.*?)((?: cannot be read)?: [^:]*: get the file again), "
    r'or h5stz\.view\(dataset, on_error="nan"\) reads all other chunks'
)
#: What helps here, by command.
_CURES = {
    "compress": "--dataset {path}=none copies the dataset as it is stored",
    "extract": "--region INDICES reads what is in other chunks",
}
_ELSEWHERE = "h5stz extract {file}::{path} --region INDICES reads what is in other chunks"
_CACHE = 'h5stz.open("simplecache::" + url)', "simplecache::ADDRESS in place of the address"
_ANSWERS = ("true", "false", "yes", "no", "on", "off", "1", "0")  # what people write after flags
_BEFORE = r"(?<![\w/'\",:=.])"  # an argument: in quotation marks, paths and rules stand words of the user


def as_options(message: str, command: click.Command | None) -> str:
    """A message about Python with options of a command instead of arguments, and commands instead of function calls."""
    if found := _DAMAGED.search(message):
        cure = _CURES.get(str(command and command.name), _ELSEWHERE).format(path=found[1], file=found[2])
        message = f"{message[: found.start()]}{found[1]} in {found[2]}{found[3]}, or {cure}{message[found.end() :]}"
    message = message.replace(*_CACHE)
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


def explained(
    error: click.UsageError, words: Sequence[str], command: click.Command | None, others: Mapping[str, click.Command]
) -> str:
    """The problem with the words of a command line, and the remedy.

    Args:
        error: the error of click.
        words: the words.
        command: the command in the words; None if there is none.
        others: all commands by name, if the error is about an option.
    """
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        having = [name for name, each in others.items() if any(error.option_name in option.opts for option in each.params)]
        if having:
            message = f"No such option {error.option_name}: {', '.join(having)} {'has' if len(having) == 1 else 'have'} it"
    extra = re.match(r"Got unexpected extra arguments? \((.*)\)", message)
    if extra and command is not None:
        flags = {option for each in command.params if getattr(each, "is_flag", False) for option in each.opts}
        answered = [(option, word) for option, word in pairwise(words) if option in flags and word.lower() in _ANSWERS]
        if answered:
            message = f"{answered[0][1]} is more than {command.name} takes: {answered[0][0]} has no value"
        elif any("::/PATH" in (each.metavar or "") for each in command.params):
            message = f"{extra[1]} is one word too many: a dataset is named together with its file, FILE::/PATH"
        else:
            message = f"{extra[1]} is more than {command.name} takes"
    return message if message.endswith((".", "?")) else f"{message}."

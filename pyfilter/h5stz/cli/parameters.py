"""Options for bounds, and types of arguments, that several commands share."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from h5stz import _core
from h5stz.errors import StzError
from h5stz.hdf5.file_kinds import refuse_address

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:  # click before 8.4 does not say of which type
    _ParamType = click.ParamType

_MODE = _core.ERROR_CODES["STZ_ERROR_MODE"]
_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Bounds with a number: the name of the option of STZ, its placeholder, and what it means. {of} is what a command is about.
_NUMBERS = {
    "absolute": ("B", "|x - x'| <= B"),
    "relative": ("R", "R times the range of {of}"),
    "psnr": ("DB", "The bound that gives this PSNR over {of}"),
    "ratio": ("X", "The bound that makes {of} X times smaller, up to 3 % more"),
    "pointwise_relative": ("R", "|x - x'| <= R |x|"),
}
BOUNDS = (*_NUMBERS, "lossless")

#: For `--enhance KIND`, which is `enhance` of STZ.
_ENHANCEMENTS: dict[str, bool | str] = {"auto": True, "strict": "strict", "relaxed": "relaxed", "both": "both"}


def _ends(text: str) -> tuple[float | None, float | None]:
    ends = [float(end) if end.strip() else None for end in text.split(",")]
    if len(ends) != 2:
        raise ValueError(f"{text!r} must be two numbers with a comma between them, such as 0,100 or 0,")
    return ends[0], ends[1]


class Parsed(_ParamType):
    """A parameter that a function parses. The function's ValueError is the error message."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The parsed value."""
        if not isinstance(value, str):  # a default
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            of_python = str(error).startswith("could not convert")
            self.fail(f"{value!r} is no {self.name}" if of_python else str(error), param, ctx)


def _enhancement(context: click.Context, parameter: click.Parameter, value: str | None) -> bool | str | None:
    """The value of --enhance as STZ takes it."""
    return None if value is None else _ENHANCEMENTS[value]


class _Share(click.types.FloatParamType):
    """A number, or a percentage."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; 0.001 for 0.1%."""
        text = str(value).rstrip()
        if not text.endswith("%"):
            return super().convert(value, param, ctx)
        try:
            return float(text[:-1]) / 100
        except ValueError:
            self.fail(f"{value!r} is no percentage: write it as 0.1%", param, ctx)


class _Number(click.types.FloatParamType):
    """A number. The error about a percentage says which bounds may be one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        text = str(value).strip()
        if text.endswith("%"):
            share_of_range = f"--relative {text}"
            self.fail(f"{value!r} is not a number: give one, or a share of the range as {share_of_range}", param, ctx)
        return super().convert(value, param, ctx)


#: Bounds that are a share of something.
SHARES = ("relative", "pointwise_relative")


def placed(target: str, source: str) -> str:
    """The path of the output file. If OUT is a directory, the file gets the name of IN in it, as with cp."""
    return os.path.join(target, os.path.basename(source)) if os.path.isdir(target) else target


class _NewFile(click.Path):
    """The name of a file to write."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name. Raises StzError for an address, before anything is read."""
        refuse_address(value)
        return super().convert(value, param, ctx)


#: As an argument or an option that names a file, which shells complete.
FILE = click.Path(readable=False)  # what cannot be read is no fault of the words: whatever opens it says so
NEW_FILE = _NewFile(readable=False)


def bound_options(of: str) -> Callable[[_Function], _Function]:
    """Decorator for commands: adds an option for each bound, None if not given. `of`: the data of ranges and PSNR."""

    def decorate(function: _Function) -> _Function:
        function = click.option("--lossless", is_flag=True, help="Restore every bit.")(function)
        for name, (metavar, text) in reversed(_NUMBERS.items()):
            kind = _Share() if name in SHARES else _Number()
            function = click.option(flag(name), name, type=kind, metavar=metavar, help=f"{text.format(of=of)}.")(function)
        return function

    return decorate


#: Options of STZ, beside bounds, that all commands with a bound have: what click.option() takes for each. None if not given.
CODING: dict[str, dict[str, Any]] = {
    "block": {"type": click.Choice(list(_core.CHOICES["block"])), "help": "Shape of blocks. [default: default]"},
    "effort": {"type": int, "metavar": "N", "help": "1 (fastest) to 9 (smallest). [default: 5]"},
    "favour": {
        "type": click.Choice(list(_core.CHOICES["favour"])),
        "help": "What counts under the bound: size (about 1 % fewer bytes, a lower PSNR) or quality.",
    },
    "layers": {
        "type": int,
        "metavar": "N",
        "help": "Precision layers, 1 to 7; the first ones are a preview. [default: 1]",
    },
    "enhance": {
        "type": click.Choice(list(_ENHANCEMENTS)),
        "callback": _enhancement,
        "help": "Lower the mean error for the same size. strict keeps the bound; relaxed and both permit 1.5 times it; auto "
        "is for --psnr and --ratio.",
    },
    "keep_zeros": {"is_flag": True, "default": None, "help": "Samples that are 0 come back as 0, whatever the bound is."},
    "keep_range": {
        "is_flag": True,
        "default": None,
        "help": "Decompressed values stay between the smallest and the largest value of their chunk.",
    },
    "valid_range": {
        "type": Parsed("two numbers", _ends),
        "metavar": "A,B",
        "help": "The smallest and the largest valid value, as 0,100 or 0, (no end). Decompressed values stay between them.",
    },
    "check": {
        "is_flag": True,
        "default": None,
        "help": "Decode and compare each chunk before it is stored, which detects faulty memory. Also applies to later writes "
        "of the dataset.",
    },
}


def coding_options(function: _Function) -> _Function:
    """Decorator for commands: adds the options of CODING."""
    for name, words in reversed(CODING.items()):
        function = click.option(flag(name), name, **words)(function)
    return function


def coding_given(given: dict[str, Any]) -> dict[str, Any]:
    """Removes the options of coding_options() from the parameters of a command, and returns those given as options of STZ."""
    values = {name: given.pop(name) for name in CODING}
    return {name: value for name, value in values.items() if value is not None}


def bounds_given(given: dict[str, Any], others: str = "") -> dict[str, Any]:
    """Removes the options of bound_options() from the parameters of a command, and returns those given as options of STZ.

    `others`: text about further bounds, for the error about two bounds.
    """
    values = {name: given.pop(name) for name in BOUNDS}
    found = {name: value for name, value in values.items() if value is not None and value is not False}
    if len(found) > 1:
        names = [flag(name) for name in found]
        raise StzError(f"two bounds are given, {' and '.join(names)}: give one of them{others}", _MODE)
    return found


def flag(name: str) -> str:
    """The command-line option of a parameter."""
    return f"--{name.replace('_', '-')}"


def share(text: str) -> float:
    """Parses a number or a percentage, such as 0.1%. Raises ValueError."""
    number = text.strip()
    return float(number[:-1]) / 100 if number.endswith("%") else float(number)


def _error(text: str) -> float:
    if text.rstrip().endswith("%"):
        raise ValueError(f"{text!r} is not an error in the units of the data: give a number, such as 0.01")
    error = float(text)
    if not 0 <= error < math.inf:
        raise ValueError(f"{text!r} is not an error of 0 or more")
    return error


#: A largest error in the units of the data.
ERROR = Parsed("error", _error)


def chunk_shape(text: str) -> tuple[int, ...]:
    """Parses extents such as 8,256,256 or 8x256x256. Raises ValueError."""
    extents = re.split("[,x]", text)
    if not all(extent.isdecimal() and int(extent) for extent in extents):
        raise ValueError(f"{text!r} is not a chunk shape such as 8,256,256")
    return tuple(map(int, extents))

"""Rules for `h5stz run --compress`: which new datasets are compressed, and how, such as ``/rho*=absolute:1e-3,block=region``.

What the library inside of the program reads is described in filter/intercept/compress_rules.h.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from h5stz import _core
from h5stz.errors import StzError
from h5stz.options import STZ, Block, Options

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_MODE = _core.ERROR_CODES["STZ_ERROR_MODE"]

VARIABLE = "H5STZ_COMPRESS"
CACHE_VARIABLE = "H5STZ_COMPRESS_CACHE"

_FORM = "PATTERN=absolute:B, PATTERN=pointwise_relative:R or PATTERN=lossless, then ,block=region or ,fill=X where wanted"
# The last "=BOUND" counts: a path may have such characters itself.
_RULE = re.compile(
    r"(?P<pattern>.*)=(?P<bound>absolute|relative|psnr|pointwise_relative|lossless)"
    r"(?P<number>:[^,=:]*)?(?P<options>(,[^,=]*=[^,=]*)*)",
    re.DOTALL,
)
_TYPES = ("f2", "f4", "f8")  # a fill value has other bits in each

#: Why a dataset that a rule names was left as the program made it, by what the preloaded library calls it.
REASONS = {
    "type": "not of float16, float32 or float64",
    "rank": "a scalar",
    "one axis": "1-D, as the scales of dimensions are: name it without wildcards",
    "small": "less than 64 KiB",
    "layout": "compact, external or virtual",
    "filters": "has filters of its own",
    "allocation": "is to be allocated at once",
    "growing": "grows within its chunks, where only lossless keeps its promise",
    "small chunks": "chunks of less than 4 KiB",
    "parallel": "in a file of parallel HDF5",
    "refused": "HDF5 did not create it so",
}


@dataclass(frozen=True)
class Rule:
    """A rule: its text as it was given, the pattern for paths, and client data for float16, float32 and float64."""

    text: str
    pattern: str
    words: tuple[tuple[int, ...], ...]

    def line(self) -> str:
        """The rule as the library inside of the program reads it."""
        return ";".join(",".join(map(str, words)) for words in self.words) + f" {self.pattern}"


def parse(text: str) -> Rule:
    """The Rule that `text` says; StzError if it is none, or one that cannot be kept to."""
    match = _RULE.fullmatch(text)
    if not match:
        raise StzError(f"--compress {text!r}: give {_FORM}", _ARGUMENT)
    pattern, bound, number = match["pattern"], match["bound"], match["number"]
    if not pattern.startswith("/") or "\n" in pattern or "\0" in pattern:
        raise StzError(f"--compress {text!r}: a pattern is matched with whole paths: begin it with /, as in /rho*", _ARGUMENT)
    if bound in ("relative", "psnr"):
        raise StzError(
            f"--compress {text!r}: {bound}: refers to the whole dataset, and a program writes it piece by piece: when the "
            "first piece is compressed its range is not known. Give the bound itself, absolute:B",
            _MODE,
        )
    if (bound == "lossless") != (number is None):
        raise StzError(f"--compress {text!r}: give {_FORM}", _ARGUMENT)
    wanted = cast(Options, {"lossless": True} if number is None else {bound: _number(text, number[1:])})
    options = dict(part.split("=") for part in match["options"].split(",")[1:])
    if not options.keys() <= {"block", "fill"}:
        raise StzError(f"--compress {text!r}: the options are block= and fill=", _ARGUMENT)
    if "block" in options:
        wanted["block"] = cast(Block, options["block"])
    fill = _number(text, options["fill"]) if "fill" in options else None
    try:
        words = tuple(_client_data(wanted, fill, dtype) for dtype in _TYPES)
    except StzError as error:
        raise type(error)(f"--compress {text!r}: {error}", error.code) from None
    return Rule(text, pattern, words)


def variables(rules: Sequence[Rule], cache: int | None = None) -> dict[str, str]:
    """The environment variables, a dict, that carry `rules` to the library inside of the program; `cache`: MiB, or None."""
    carried = {VARIABLE: "\n".join(rule.line() for rule in rules)} if rules else {}
    return carried | ({CACHE_VARIABLE: str(cache)} if cache is not None else {})


def _number(text: str, number: str) -> float:
    try:
        return float(number)
    except ValueError:
        raise StzError(f"--compress {text!r}: {number!r} is no number", _ARGUMENT) from None


def _client_data(wanted: Options, fill: float | None, dtype: str) -> tuple[int, ...]:
    """The filter's client data for one type. A fill value that it cannot hold is in none of its arrays."""
    if fill is not None:
        with contextlib.suppress(StzError) if dtype != "f8" else contextlib.nullcontext():
            with_fill: Options = {**wanted, "dtype": dtype, "fill_value": fill}
            return STZ(**with_fill).filter_options
    without_fill: Options = {**wanted, "dtype": dtype}
    return STZ(**without_fill).filter_options

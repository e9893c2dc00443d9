"""Rules of `h5stz run --compress`: which new datasets are compressed and how, such as ``/rho*=absolute:1e-3,block=region``.

The library inside the program parses the rules itself (filter/intercept/compress_rules.h). They are checked here first, where
errors can be reported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from h5stz import _core
from h5stz.errors import StzError
from h5stz.options.resolved import MEASURED
from h5stz.options.stz import STZ

_ARGUMENT = _core.ERROR_CODES["STZ_ERROR_ARGUMENT"]
_MODE = _core.ERROR_CODES["STZ_ERROR_MODE"]

VARIABLE = "H5STZ_COMPRESS"
CACHE_VARIABLE = "H5STZ_COMPRESS_CACHE"

_FORM = "PATTERN=absolute:B, PATTERN=pointwise_relative:R or PATTERN=lossless, then for example ,block=region or ,fill_value=X"
# The last "=BOUND" counts: a path may have such characters itself.
_RULE = re.compile(
    r"(?P<pattern>.*)=(?P<options>(?P<bound>absolute|relative|psnr|ratio|pointwise_relative|lossless)(?:[=:,].*)?)", re.DOTALL
)

_SHARE = re.compile(r"\A(pointwise_relative[=:])([0-9.]+(?:[eE][+-]?[0-9]+)?)%")

#: Why a dataset that a rule names was left as the program made it, by what the preloaded library calls it.
REASONS = {
    "type": "not of float16, float32 or float64",
    "rank": "a scalar",
    "one axis": "1-D, like dimension scales: name it without wildcards",
    "small": "less than 64 KiB",
    "layout": "compact, external or virtual",
    "filters": "has filters of its own",
    "allocation": "allocated at creation",
    "small chunks": "chunks of less than 4 KiB",
    "parallel": "in a file of parallel HDF5",
    "refused": "HDF5 refused to create it compressed",
}


@dataclass(frozen=True)
class Rule:
    """A rule: its text as given, the pattern for paths, and the options as text."""

    text: str
    pattern: str
    options: str

    def line(self) -> str:
        """The rule in the form that the library inside the program reads."""
        return f"{self.pattern}={self.options}"


def parse(text: str) -> Rule:
    """Parses a rule. Raises StzError if it is malformed or cannot be met."""
    match = _RULE.fullmatch(text)
    if not match:
        raise StzError(f"--compress {text!r}: give {_FORM}", _ARGUMENT)
    pattern, bound = match["pattern"], match["bound"]
    options = _SHARE.sub(lambda share: f"{share[1]}{float(share[2]) / 100!r}", match["options"])
    if not pattern.startswith("/") or any(character in text for character in "\n\0"):
        raise StzError(f"--compress {text!r}: a pattern is matched with whole paths: begin it with /, as in /rho*", _ARGUMENT)
    if bound in MEASURED:
        raise StzError(
            f"--compress {text!r}: {bound}: refers to the whole dataset, and a program writes it piece by piece: when the "
            "first piece is compressed the rest is not known. Give the bound itself, absolute:B",
            _MODE,
        )
    try:
        # Of the types that are compressed, float64 holds every fill value.
        STZ.from_string(options, dtype="f8")
    except StzError as error:
        raise type(error)(f"--compress {text!r}: {error}", error.code) from None
    return Rule(text, pattern, options)


def variables(rules: Sequence[Rule], cache: int | None = None) -> dict[str, str]:
    """The environment variables (a dict) that pass `rules` to the library inside the program. `cache`: MiB, or None."""
    carried = {VARIABLE: "\n".join(rule.line() for rule in rules)} if rules else {}
    return carried | ({CACHE_VARIABLE: str(cache)} if cache is not None else {})

"""Which of some names a pattern of the user means."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable

_TEXT = re.compile(r"\[(?=[^*?\[\]]\])")  # begins "[x]"


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern with * and ? and [...], as the shell has them, is one for a name: * and ? stand for / too.

    "[x]" is these three characters, as in names with units, unless x is one of *?[].
    """
    return fnmatch.fnmatchcase(name, _TEXT.sub("[[]", pattern))


def chosen(pattern: str, names: Iterable[str]) -> list[str]:
    """Those of some names that a pattern means: the name that it is, letter by letter, or else all that it matches."""
    names = list(names)
    return [name for name in names if name == pattern] or [name for name in names if matches(name, pattern)]


def chosen_paths(pattern: str, paths: Iterable[str]) -> list[str]:
    """chosen() of whole paths, which begin with /. A pattern that does not is one for the ends of paths, and * alone is all."""
    paths = list(paths)
    if pattern == "*" or pattern.startswith("/"):
        return chosen(pattern, paths)
    return [path for path in paths if path.endswith(f"/{pattern}")] or chosen(f"*/{pattern}", paths)

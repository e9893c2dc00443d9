"""Matching of names with the user's patterns."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable

_TEXT = re.compile(r"\[(?=[^*?\[\]]\])")  # begins "[x]"


def matches(name: str, pattern: str) -> bool:
    """True if a shell pattern with *, ? and [...] matches a name. * and ? also match /.

    "[x]" matches these three characters, as in names with units, unless x is one of *?[].
    """
    return fnmatch.fnmatchcase(name, _TEXT.sub("[[]", pattern))


def chosen(pattern: str, names: Iterable[str]) -> list[str]:
    """The names that a pattern selects: the name that equals the pattern, otherwise all that it matches."""
    names = list(names)
    return [name for name in names if name == pattern] or [name for name in names if matches(name, pattern)]


def chosen_paths(pattern: str, paths: Iterable[str]) -> list[str]:
    """chosen() for whole paths, which begin with /. Other patterns match the ends of paths. * alone matches all."""
    paths = list(paths)
    if pattern == "*" or pattern.startswith("/"):
        return chosen(pattern, paths)
    return [path for path in paths if path.endswith(f"/{pattern}")] or chosen(f"*/{pattern}", paths)

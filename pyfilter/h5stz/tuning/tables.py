"""Tables of results, as text and as HTML for notebooks."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Words in rows; the first column stands left, the others right. `lines` follow the rows."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[str] = ()

    def text(self) -> str:
        """Columns of equal width, separated by two spaces."""
        rows = [self.header, *self.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self.header))]
        lines = []
        for first, *others in rows:
            rest = (word.rjust(width) for word, width in zip(others, widths[1:], strict=True))
            lines.append("  ".join([first.ljust(widths[0]), *rest]).rstrip())
        return "\n".join([*lines, *self.lines])

    def html(self) -> str:
        """A table element, and a paragraph for each line."""

        def row(words: Sequence[str], kind: str) -> str:
            return "<tr>" + "".join(f"<{kind}>{html.escape(word)}</{kind}>" for word in words) + "</tr>"

        head, body = row(self.header, "th"), "".join(row(words, "td") for words in self.rows)
        paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in self.lines)
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{paragraphs}"


def short(number: float) -> str:
    """A number with three significant digits; a dash for none."""
    return "-" if math.isnan(number) else f"{number:.3g}"

"""A report of comparisons as one HTML file, with all pictures in it."""

from __future__ import annotations

import base64
import html
import importlib
import io
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from h5stz.analysis.comparing import Comparison, summary_lines
from h5stz.new_files import written_file

#: How every report begins.
BEGIN = b"<!DOCTYPE html>"
_STYLE = """body { font: 15px/1.45 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse } td, th { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }
td:first-child, th:first-child { text-align: left } img { max-width: 100% }"""


def write_report(
    target: str | os.PathLike[str], original: str, other: str, compared: Sequence[tuple[str, Comparison]], notes: Sequence[str]
) -> None:
    """Writes the report.

    Args:
        target: path of the HTML file.
        original, other: what was compared, as text.
        compared: paths with what was found.
        notes: lines about what was not compared.

    Raises:
        ImportError: matplotlib is not there.
        OSError: no file can be made at `target`, or its disk is full.
    """
    title = f"{html.escape(other)} compared with {html.escape(original)}"
    parts = [
        f"{BEGIN.decode()}<html lang='en'><head><meta charset='utf-8'><title>{title}</title><style>{_STYLE}</style></head>"
    ]
    parts.append(f"<body><h1>{title}</h1>{_table(compared)}")
    parts += [f"<p>{html.escape(note)}</p>" for note in notes]
    for path, found in compared:
        facts = "".join(f"<li>{html.escape(line)}</li>" for line in summary_lines(found))
        shape = "x".join(map(str, found.shape))
        parts.append(f"<h2>{html.escape(path)}</h2><p>{html.escape(found.dtype)} {shape}</p><ul>{facts}</ul>")
        if not found.identical and found.count:
            parts.append(f"<img alt='histogram of the error and power spectra' src='{_picture(found)}'>")
    parts.append("</body></html>\n")
    with written_file(target, overwrite=BEGIN, direct=True) as made:  # names of files need not be UTF-8
        made.write_text("\n".join(parts), encoding="utf-8", errors="backslashreplace")


def _table(compared: Sequence[tuple[str, Comparison]]) -> str:
    rows = [
        f"<tr><td>{html.escape(path)}</td><td>{found.largest_error:.4g}</td><td>{found.rmse:.4g}</td><td>{found.psnr:.2f}</td>"
        f"<td>{'' if found.ssim is None else f'{found.ssim:.6f}'}</td><td>{found.correlation:.9g}</td></tr>"
        for path, found in compared
    ]
    head = "<tr><th>dataset</th><th>largest error</th><th>RMSE</th><th>PSNR, dB</th><th>SSIM</th><th>correlation</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _picture(found: Comparison) -> str:
    """The histogram and the spectra as a PNG in a URL."""
    try:
        figures: Any = importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise ImportError("a report needs matplotlib: pip install 'h5stz[cli]'") from error
    figure = figures.Figure(figsize=(10, 3.6), layout="constrained", dpi=110)
    left, right = figure.subplots(1, 2)
    edges = np.array(found.edges)
    left.stairs(found.counts, edges, fill=True)
    left.set(title="error", xlabel="array - original", ylabel="samples")
    left.ticklabel_format(axis="x", style="sci", scilimits=(-3, 4))
    if found.frequencies:
        right.semilogy(found.frequencies, np.maximum(found.power, np.finfo("f8").tiny), label="original")
        error_power = np.array(found.error_power)
        right.semilogy(found.frequencies, np.where(error_power > 0, error_power, np.nan), label="error")
        right.set(title=f"power spectrum of {found.spectrum_over}", xlabel="cycles per sample")
        right.legend()
    else:
        right.set_axis_off()
    made = io.BytesIO()
    figure.savefig(made, format="png")
    return f"data:image/png;base64,{base64.b64encode(made.getvalue()).decode()}"

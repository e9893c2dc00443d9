"""Pictures of the examples: planes of arrays side by side in a PNG file. Other examples import this file; it is not one to run.

Without matplotlib (pip install matplotlib) nothing is drawn, and a line says so.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Panel:
    """A plane of samples, first axis upwards: the title, the samples, what they are with their unit, and the colours."""

    title: str
    values: np.ndarray
    label: str
    lowest: float
    largest: float
    colours: str = "viridis"
    logarithmic: bool = False
    #: Where the plane lies on its axes: left, right, bottom, top. None: at its indices.
    extent: tuple[float, float, float, float] | None = None


def pyplot():
    """matplotlib.pyplot for files, or None where matplotlib is not installed."""
    try:
        import matplotlib
    except ImportError:
        print("no picture: matplotlib is not installed (pip install matplotlib)")
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def save(figure, path):
    """Writes a figure, and says where it is."""
    figure.savefig(path, dpi=110)
    print("picture:", path)


def draw(path, title, panels, axes=("x (samples)", "y (samples)")):
    """Panels in a row, each with a colour bar; `axes` are the labels of the horizontal and the vertical axis."""
    if (plotting := pyplot()) is None:
        return
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.ticker import MaxNLocator

    figure, places = plotting.subplots(1, len(panels), figsize=(4.2 * len(panels), 4.2), layout="constrained", squeeze=False)
    figure.suptitle(title)
    for place, panel in zip(places[0], panels, strict=True):
        scale = (LogNorm if panel.logarithmic else Normalize)(panel.lowest, panel.largest)
        place.set_facecolor("0.75")  # where samples are missing
        kept = {"origin": "lower", "interpolation": "nearest", "aspect": "auto" if panel.extent else "equal"}
        image = place.imshow(panel.values, cmap=panel.colours, norm=scale, extent=panel.extent, **kept)
        place.set_title(panel.title, fontsize=11)
        place.set(xlabel=axes[0], ylabel=axes[1])
        bar = figure.colorbar(image, ax=place, label=panel.label, location="bottom", shrink=0.85)
        if not panel.logarithmic:
            bar.locator = MaxNLocator(4, steps=[1, 2, 5, 10])
    save(figure, path)


def compare(path, title, original, decoded, bound, label, extent=None, axes=("x (samples)", "y (samples)")):
    """Original, decompressed, and their difference in units of the bound, which is between -1 and 1."""
    lowest, largest = float(np.nanmin(original)), float(np.nanmax(original))
    colours = "viridis" if lowest >= 0 or largest <= 0 else "RdBu_r"
    if colours == "RdBu_r":  # white is zero
        largest = max(largest, -lowest)
        lowest = -largest
    error = (decoded.astype("f8") - original) / bound
    panels = [
        Panel("original", original, label, lowest, largest, colours, extent=extent),
        Panel("decompressed", decoded, label, lowest, largest, colours, extent=extent),
        Panel("difference", error, "difference / bound (dimensionless)", -1, 1, "PuOr_r", extent=extent),
    ]
    draw(path, title, panels, axes)

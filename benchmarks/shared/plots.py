"""Plots of the figures, with matplotlib, on request."""

import dataclasses


@dataclasses.dataclass
class Panel:
    """One pair of axes.

    Attributes:
        labels: of both axes.
        lines: {name: [(x, y)]}; lines of one name have the same look in every panel.
        y_log: whether the upright axis is logarithmic; the other one always is, with base 2.
        notes: whether the points of a line are numbered from 1.
        verticals: {name: x} of dashed lines.
    """

    labels: tuple[str, str]
    lines: dict
    y_log: bool = False
    notes: bool = False
    verticals: dict = dataclasses.field(default_factory=dict)


def draw(path, panels, title=None):
    """Draws the panels side by side with one legend."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(panels), figsize=(6 * len(panels) + 1, 5), layout="constrained", squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        for place, (name, points) in enumerate(panel.lines.items()):
            x, y = zip(*points, strict=True)
            axis.plot(x, y, label=name, color=f"C{place}", marker="osD^vX"[place % 6], markersize=5)
            for number, point in enumerate(points if panel.notes else (), 1):
                axis.annotate(str(number), point, xytext=(4, 5), textcoords="offset points", fontsize=8)
        for place, (name, x) in enumerate(panel.verticals.items()):
            axis.axvline(x, color="black", linestyle=("--", ":")[place % 2], linewidth=1, label=name)
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axis.set_yscale("log" if panel.y_log else "linear")
        axis.set(xlabel=panel.labels[0], ylabel=panel.labels[1])
        axis.grid(alpha=0.3, which="both")
    figure.suptitle(title)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)

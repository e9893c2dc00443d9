"""Plots of the figures, with matplotlib, on request."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

COLORS = ("#1f5fa8", "#e07b39", "#4c9f70", "#9b59b6", "#c0392b", "#7f8c8d")
MARKERS = "osD^vX"
LABEL_BOX = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # keeps lines out of numbers


def bars(path, groups, series, labels, baseline):
    """Grouped bars: `series` is {name: [height for each of `groups`]}, `labels` those of both axes; at 1 `baseline`."""
    width = 0.8 / len(series)
    figure, axes = pyplot.subplots(figsize=(max(8, 1.0 * len(groups) + 2), 5), layout="constrained")
    for place, (name, heights) in enumerate(series.items()):
        at = [group + (place - (len(series) - 1) / 2) * width for group in range(len(groups))]
        drawn = axes.bar(at, heights, width, label=name, color=COLORS[place])
        axes.bar_label(drawn, [f"{height:.2g}" for height in heights], fontsize=8, padding=2, bbox=LABEL_BOX)
    axes.axhline(1, color="black", linewidth=1, linestyle="--", label=baseline)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    axes.margins(x=0.01, y=0.12)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    figure.legend(loc="outside upper center", ncols=len(series) + 1, frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def rate_distortion(path, title, curves, lossless_rates):
    """PSNR and largest error over the bit rate; a star at the upper edge marks an exact result.

    Args:
        path: of the picture.
        title: of the figure.
        curves: {codec: [(bits per sample, PSNR in dB or None where exact, largest error / range)]}.
        lossless_rates: {codec: bits per sample}, drawn as vertical lines.
    """
    figure, (quality, error) = pyplot.subplots(1, 2, figsize=(12, 5), layout="constrained")
    for place, (name, points) in enumerate(curves.items()):
        style = {"color": COLORS[place % len(COLORS)], "marker": MARKERS[place % len(MARKERS)], "markersize": 5}
        lossy = [point for point in points if point[1] is not None]
        quality.plot([p[0] for p in lossy], [p[1] for p in lossy], label=name, **style)
        error.plot([p[0] for p in lossy], [p[2] for p in lossy], **style)
        exact = [p[0] for p in points if p[1] is None]
        style |= {"marker": "*", "markersize": 12, "linestyle": "none", "clip_on": False, "zorder": 3}
        for star in quality.plot(exact[:1], [1] * len(exact[:1]), transform=quality.get_xaxis_transform(), **style):
            star.set_in_layout(False)
    for axes in (quality, error):
        for place, (name, rate) in enumerate(lossless_rates.items()):
            named = {"label": f"{name}: {rate:.1f} bits/sample"} if axes is quality else {}
            axes.axvline(rate, color="black", linestyle=("--", ":")[place % 2], linewidth=1, **named)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("bit rate (bits/sample)")
        axes.grid(alpha=0.3)
    quality.set_ylabel("PSNR (dB); star: exact")
    error.set_ylabel("largest error / (max - min)")
    error.set_yscale("log")
    figure.suptitle(title)
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def region_curves(path, curves):
    """Time and bytes of a box over its share of the volume, both relative to reading everything.

    Args:
        path: of the picture.
        curves: {(field, blocks): [(edge of the box, share of the time, share of the bytes)]}.
    """
    figure, panels = pyplot.subplots(1, 2, figsize=(12, 5), layout="constrained", sharex=True)
    names = list(dict.fromkeys(field for field, _ in curves))
    for axes, what, title in zip(panels, (1, 2), ("time over a full read", "bytes over the chunk"), strict=True):
        for (field, block), points in curves.items():
            place = names.index(field)
            style = {"color": COLORS[place], "marker": MARKERS[place], "markersize": 4}
            style["linestyle"] = "-" if block == "default" else "--"
            axes.plot([p[0] for p in points], [p[what] for p in points], label=f"{field}, {block}", **style)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g} %")
        axes.yaxis.set_minor_formatter("")
        axes.set_xlabel("edge of the box (samples)")
        axes.set_ylabel(title)
        axes.grid(alpha=0.3, which="both")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def efforts(path, records):
    """Ratio over speed of compression, a line for each size with its efforts."""
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for place, name in enumerate(dict.fromkeys(record["samples"] for record in records)):
        found = [record for record in records if record["samples"] == name]
        style = {"color": COLORS[place], "marker": MARKERS[place], "markersize": 5}
        speeds, ratios = ([record[key] for record in found] for key in ("compress", "ratio"))
        axes.plot(speeds, ratios, label=name, **style)
        for record in found:
            at = record["compress"], record["ratio"]
            axes.annotate(str(record["effort"]), at, xytext=(4, 5), textcoords="offset points", fontsize=8)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("compression, MB/s (efforts 1 to 9 at the points)")
    axes.set_ylabel("ratio")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)

"""What each effort gives: ratio, and speed of compression and decompression, on one volume and on the same cut into chunks.

With a directory also the ratio over SZ3 3.4 on the fields of ratio.py. One thread; the efforts take turns in each repeat.
--over-default prints instead what efforts 6 to 9 cost and save on those fields, as quotients over effort 5.
"""

import functools
import statistics

import numpy as np

import fields
import h5stz
import peers
import report
import synthetic
import targets
import timing

EFFORTS = range(1, 10)
RELATIVE_BOUND = 1e-3


def pieces(volume, edge):
    """A volume cut into cubes, at most 64 of them."""
    corners = np.ndindex(*(extent // edge for extent in volume.shape))
    cuts = (tuple(slice(edge * at, edge * (at + 1)) for at in corner) for corner in corners)
    return [np.ascontiguousarray(volume[cut]) for cut, _ in zip(cuts, range(64), strict=False)]


def measure(name, arrays, bound, repeats):
    """Records of all efforts on arrays that are chunks of one volume."""
    size = sum(array.nbytes for array in arrays)
    actions, streams = {}, {}
    for effort in EFFORTS:
        options = {"absolute": bound, "effort": effort, "threads": 1}
        streams[effort] = [h5stz.compress(array, **options) for array in arrays]
        outputs = [np.empty_like(array) for array in arrays]

        def compress(options=options):
            for array in arrays:
                h5stz.compress(array, **options)

        def decompress(made=streams[effort], outputs=outputs):
            for stream, out in zip(made, outputs, strict=True):
                h5stz.decompress(stream, out=out, threads=1)

        actions |= {(effort, "compress"): compress, (effort, "decompress"): decompress}
    times = timing.interleaved(actions, repeats, choose=min)
    records = []
    for effort in EFFORTS:
        speed = {way: timing.megabytes_per_second(size, times[effort, way]) for way in ("compress", "decompress")}
        records.append({"samples": name, "effort": effort, "ratio": size / sum(map(len, streams[effort]))} | speed)
    return records


def over_sz3(directory):
    """{(effort, relative bound): geometric mean of the ratio over SZ3's}."""
    found = {}
    arrays = fields.comparison(directory)
    for relative in fields.RELATIVE_BOUNDS:
        bounds = {name: relative * fields.value_range(array) for name, array in arrays.items()}
        rival = {name: peers.sz3(array, bounds[name])[0] for name, array in arrays.items()}
        for effort in EFFORTS:
            gains = [rival[n] / len(h5stz.compress(array, absolute=bounds[n], effort=effort)) for n, array in arrays.items()]
            found[effort, relative] = report.geometric_mean(gains)
    return found


def over_default(directory, edge, repeats):
    """Records of the efforts above the default on a crop of each field: time and bytes over those of effort 5."""
    records = []
    for relative in fields.RELATIVE_BOUNDS:
        for name, array in fields.comparison(directory).items():
            part = np.ascontiguousarray(fields.crop(array, edge))
            bound = relative * fields.value_range(part)
            if not bound:
                continue
            actions = {
                effort: functools.partial(h5stz.compress, part, absolute=bound, effort=effort) for effort in range(5, 10)
            }
            sizes = {effort: len(action()) for effort, action in actions.items()}
            times = timing.interleaved(actions, repeats, choose=min)
            records += [
                {"field": name, "bound": relative, "effort": effort}
                | {"time": times[effort] / times[5], "bytes": sizes[effort] / sizes[5]}
                for effort in range(6, 10)
            ]
    return records


def print_over_default(records):
    """The quotients by effort, over all fields and bounds."""
    rows = []
    for effort in range(6, 10):
        times, sizes = ([r[key] for r in records if r["effort"] == effort] for key in ("time", "bytes"))
        figures = min(times), statistics.median(times), max(times), report.geometric_mean(sizes), min(sizes)
        rows.append([str(effort), *(f"{figure:.{2 + (place > 2)}f}" for place, figure in enumerate(figures))])
    header = ["effort", "time, least", "median", "most", "bytes, mean", "least"]
    print(report.markdown(header, rows), end="\n\n", flush=True)


def main():
    parser = report.parser(__doc__)
    parser.add_argument("--over-default", action="store_true", help="efforts 6 to 9 over effort 5, and nothing else")
    parser.add_argument("--edge", type=int, default=256, help="edge of the volume, default %(default)s")
    parser.add_argument("--repeats", type=int, default=5, help="default %(default)s")
    parser.add_argument("--plot", metavar="FILE", help="draws ratio over speed")
    arguments = parser.parse_args()
    if arguments.over_default:
        records = over_default(arguments.directory, min(arguments.edge, 96), min(arguments.repeats, 2))
        print_over_default(records)
        report.finish(arguments, records, report.Checks(have_targets=False))
        return
    volume = synthetic.gaussian_field(arguments.edge, 1, 8)
    bound = RELATIVE_BOUND * fields.value_range(volume)
    records = []
    for edge in dict.fromkeys((arguments.edge, min(64, arguments.edge), min(32, arguments.edge))):
        records += measure(f"{edge}^3", pieces(volume, edge), bound, arguments.repeats)
    header = ["samples", "effort", "ratio", "compress MB/s", "decompress MB/s"]
    rows = [
        [r["samples"], str(r["effort"]), *(f"{r[key]:.1f}" for key in ("ratio", "compress", "decompress"))] for r in records
    ]
    print(report.markdown(header, rows), end="\n\n", flush=True)
    checks = report.Checks(have_targets=arguments.directory is not None)
    means = over_sz3(arguments.directory)
    header = ["effort", *(f"{relative:g}" for relative in fields.RELATIVE_BOUNDS)]
    rows = [[str(effort), *(f"{means[effort, relative]:.3f}" for relative in fields.RELATIVE_BOUNDS)] for effort in EFFORTS]
    print(report.markdown(header, rows), end="\n\n")
    for effort, least in targets.EFFORT_RATIO.items():
        for relative, target in zip(fields.RELATIVE_BOUNDS, least, strict=True):
            checks.at_least(f"effort {effort}: ratio over SZ3 at {relative:g}", means[effort, relative], target)
    if arguments.plot:
        import plots

        plots.efforts(arguments.plot, records)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()

"""Region reads: time and bytes of a box, a slice and a coarse level, against reading everything.

One chunk per generated field (and of a development field, if there is a DIR) at a relative bound of 1e-3, with both
kinds of blocks. The file is in the page cache; one thread reads first all of it through h5py, then parts through
`h5stz.view`, with a new view without a cache for each. Times are medians over repeats, relative to reading everything in
the same run; bytes are those that the view fetched, relative to the chunk. The tables show the mean and the worst over
the positions.
"""

import statistics
import tempfile
import time
from pathlib import Path

import h5py
import numpy as np

import fields
import h5stz
import report
import synthetic
import targets

RELATIVE = 1e-3
BLOCKS = ("default", "region")
REAL_FIELD = "turb_wmag_91"
LIMITED_FIELD = "grf"  # the one that has targets


def seconds(action, repeats):
    """Median seconds of an action, the first run not counted."""
    times = []
    for repeat in range(repeats + 1):
        start = time.perf_counter()
        action()
        if repeat:
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def random_boxes(rng, shape, edge, count, aligned=False):
    """`count` cubes of `edge` samples, anywhere or at multiples of their edge; cut to the array where it is thinner."""
    step = edge if aligned else 1
    for _ in range(count):
        corner = [int(rng.integers(0, max(1, (extent - edge) // step + 1))) * step for extent in shape]
        yield tuple(slice(low, low + min(edge, extent)) for low, extent in zip(corner, shape, strict=True))


def random_slices(rng, shape, axis, parity, count):
    """`count` slices across an axis at an even or odd index."""
    for _ in range(count):
        index = 2 * int(rng.integers(0, shape[axis] // 2)) + parity
        yield tuple(index if a == axis else slice(None) for a in range(len(shape)))


def cases(shape, count):
    """(name, key of targets.REGION_READS, level, regions)."""
    rng = np.random.default_rng(1)
    yield "16^3 box", "box 16", 0, list(random_boxes(rng, shape, 16, count))
    yield "aligned 64^3 box", "box 64", 0, list(random_boxes(rng, shape, 64, max(1, count // 4), aligned=True))
    for axis in range(len(shape)):
        for parity in (0, 1):
            name = f"slice across axis {axis}, {('even', 'odd')[parity]} index"
            yield name, f"slices across axis {axis}", 0, list(random_slices(rng, shape, axis, parity, max(1, count // 10)))
    yield "level 2", "level 2", 2, [...]
    yield "level 1", "level 1", 1, [...]


def measure_case(dataset, level, regions, repeats):
    """[(seconds, bytes fetched, blocks decoded, blocks of the chunk)] of each region, read through new views."""
    found = []
    for region in regions:
        seen = []

        def read(region=region, seen=seen):
            view = h5stz.view(dataset, cache_bytes=0)
            view.level(level)[region]
            seen.append(view.stats)

        taken = seconds(read, repeats)
        stats = seen[-1]
        found.append((taken, stats.bytes_read, stats.blocks_decoded, stats.blocks_present))
    return found


def parts(name, dataset, block, full, count, repeats, limited, checks):
    """Records of all cases of one dataset of one chunk; `full`: seconds of reading everything through h5py."""
    size = dataset.id.get_storage_size()
    records = []
    for case, key, level, regions in cases(dataset.shape, count):
        found = measure_case(dataset, level, regions, repeats)
        shares = [taken / full for taken, *_ in found], [fetched / size for _, fetched, *_ in found]
        blocks = statistics.mean(decoded for _, _, decoded, _ in found)
        record = {"part": "parts", "field": name, "block": block, "case": case, "full_seconds": full, "chunk_bytes": size}
        record |= {"time": statistics.mean(shares[0]), "worst_time": max(shares[0]), "positions": len(regions)}
        record |= {
            "bytes": statistics.mean(shares[1]),
            "worst_bytes": max(shares[1]),
            "blocks": blocks,
            "blocks_present": found[0][3],
        }
        records.append(record | {"key": key})
        if limited and key.startswith("level"):
            stream = dataset.id.read_direct_chunk((0,) * dataset.ndim)[1]
            share = h5stz.info(stream).level_bytes[level] / len(stream)
            checks.at_most(f"{name}, {block} blocks, {case}: bytes over those of the level", record["bytes"] / share, 1.0)
    if limited:
        check_parts(name, block, records, checks)
    return records


def check_parts(name, block, records, checks):
    """Time and bytes of the cases that have limits; the mean where several share one."""
    for key, limits in targets.REGION_READS.items():
        found = [record for record in records if record["key"] == key]
        for what, limit in zip(("time", "bytes"), limits[block], strict=True):
            if found and limit is not None:
                share = statistics.mean(record[what] for record in found)
                checks.at_most(f"{name}, {block} blocks, {key}: {what} over reading everything", share, limit)


def refine(name, dataset, block, repeats, limited, checks):
    """Time of reading all levels one after the other, over reading level 0 at once, with a view that caches blocks."""

    def by_levels():
        for _level, _array in h5stz.view(dataset, cache_bytes=1 << 30).refine(...):
            pass

    def at_once():
        h5stz.view(dataset, cache_bytes=1 << 30).read(...)

    ratio = seconds(by_levels, repeats) / seconds(at_once, repeats)
    if limited:
        checks.at_most(f"{name}, {block} blocks: refining over reading at once", ratio, targets.REFINE)
    return {"part": "refine", "field": name, "block": block, "over_at_once": ratio}


def sliding(name, dataset, block, full, limited, checks):
    """A slice that moves through all planes, one view; and the same through h5py (some slices, scaled to all)."""
    records = []
    for axis, planes in enumerate(dataset.shape):
        view = h5stz.view(dataset)
        start = time.perf_counter()
        for index in range(planes):
            view[tuple(index if a == axis else slice(None) for a in range(dataset.ndim))]
        moving = (time.perf_counter() - start) / full
        few = range(0, planes, max(1, planes // 4))
        start = time.perf_counter()
        for index in few:
            dataset[tuple(index if a == axis else slice(None) for a in range(dataset.ndim))]
        plain = (time.perf_counter() - start) / len(few) * planes / full
        record = {"part": "sliding", "field": name, "block": block, "axis": axis, "over_full": moving, "h5py_over_full": plain}
        records.append(record | {"blocks_decoded": view.stats.blocks_decoded})
        if limited:
            checks.at_most(f"{name}, {block} blocks: all slices across axis {axis} over one full read", moving, targets.SLIDING)
    return records


def curve(dataset, full, repeats):
    """[(edge, mean share of time, mean share of bytes)] of boxes of growing size."""
    size, rng, points = dataset.id.get_storage_size(), np.random.default_rng(2), []
    edge = 4
    while edge <= min(dataset.shape):
        found = measure_case(dataset, 0, list(random_boxes(rng, dataset.shape, edge, 12)), repeats)
        points.append((edge, statistics.mean(f[0] for f in found) / full, statistics.mean(f[1] for f in found) / size))
        edge *= 2
    return points


def full_read(path, repeats):
    """Seconds of reading everything through h5py from a newly opened file: HDF5's cache is empty."""

    def read():
        with h5py.File(path) as file:
            file["field"][...]

    return seconds(read, repeats)


def tables(records):
    """Markdown of the records of all parts."""
    share = lambda value: f"{100 * value:.1f} %"  # noqa: E731
    for name, block in dict.fromkeys((r["field"], r["block"]) for r in records if r["part"] == "parts"):
        own = [r for r in records if r["part"] == "parts" and (r["field"], r["block"]) == (name, block)]
        full, size = 1e3 * own[0]["full_seconds"], own[0]["chunk_bytes"]
        print(f"\n{name}, blocks {block}: everything through h5py {full:.0f} ms, {size} bytes\n")
        header = ["part", "time", "worst", "bytes", "worst", "blocks decoded / present"]
        rows = [
            [
                r["case"],
                *(share(r[key]) for key in ("time", "worst_time", "bytes", "worst_bytes")),
                f"{r['blocks']:.1f} / {r['blocks_present']}",
            ]
            for r in own
        ]
        print(report.markdown(header, rows))
    print("\nA slice through all planes, and level after level\n")
    rows = []
    for r in records:
        if r["part"] == "sliding":
            rows.append(
                [r["field"], r["block"], f"slices across axis {r['axis']}, over one full read", f"{r['over_full']:.2f}"]
            )
            rows[-1].append(f"{r['h5py_over_full']:.0f}")
        if r["part"] == "refine":
            rows.append([r["field"], r["block"], "levels 3 to 0, over level 0 at once", f"{r['over_at_once']:.2f}", "-"])
    print(report.markdown(["field", "blocks", "what", "view", "h5py"], rows))


def main():
    parser = report.parser(__doc__)
    parser.add_argument(
        "--edge", type=int, default=synthetic.EDGE, help="samples per axis of generated fields; default %(default)s"
    )
    parser.add_argument("--positions", type=int, default=200, help="positions of the 16^3 box; default %(default)s")
    parser.add_argument("--repeats", type=int, default=3, help="counted repeats; default %(default)s")
    parser.add_argument("--field", nargs="+", help="only these fields")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw time and bytes over the size of a box")
    arguments = parser.parse_args()
    arrays = synthetic.volumes(arguments.edge)
    if arguments.directory:
        arrays |= {name: array for name, array in fields.comparison(arguments.directory).items() if name == REAL_FIELD}
    checks = report.Checks(have_targets=arguments.edge == synthetic.EDGE)
    records, curves = [], {}
    with tempfile.TemporaryDirectory() as directory:
        for name, array in arrays.items():
            if arguments.field and name not in arguments.field:
                continue
            array = np.ascontiguousarray(array, "f4")
            for block in BLOCKS:
                path = Path(directory) / f"{name}-{block}.h5"
                bound = RELATIVE * fields.value_range(array)
                with h5py.File(path, "w") as file:
                    file.create_dataset("field", data=array, chunks=array.shape, **h5stz.STZ(absolute=bound, block=block))
                full, limited = full_read(path, max(5, arguments.repeats)), name == LIMITED_FIELD
                with h5py.File(path) as file:
                    dataset = file["field"]
                    records += parts(name, dataset, block, full, arguments.positions, arguments.repeats, limited, checks)
                    records.append(refine(name, dataset, block, arguments.repeats, limited, checks))
                    records += sliding(name, dataset, block, full, limited, checks)
                    curves[name, block] = curve(dataset, full, arguments.repeats)
    tables(records)
    if arguments.plot:
        import plots

        plots.region_curves(arguments.plot, curves)
    report.finish(
        arguments, records + [{"part": "curve", "field": f, "block": b, "points": p} for (f, b), p in curves.items()], checks
    )


if __name__ == "__main__":
    main()

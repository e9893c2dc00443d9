"""Region reads: time and bytes of a box, a slice and a coarse level, against reading everything.

Times are relative to reading everything through h5py in the same run, bytes to the chunk; mean and worst over the positions.
"""

import dataclasses
import statistics
import tempfile
from pathlib import Path

import h5py
import numpy as np

import h5stz
from shared import clock, codecs, fields, report, synthetic, targets

LIMITED_FIELD = "grf"  # the one that has targets


def seconds(action, repeats):
    return clock.interleaved({"": action}, repeats)[""]


def random_boxes(rng, shape, edge, count, aligned=False):
    """`count` cubes of `edge` samples, anywhere or at multiples of their edge; cut to the array where it is thinner."""
    step = edge if aligned else 1
    for _ in range(count):
        corner = [int(rng.integers(0, max(1, (extent - edge) // step + 1))) * step for extent in shape]
        yield tuple(slice(low, low + min(edge, extent)) for low, extent in zip(corner, shape, strict=True))


def across(rank, axis, index):
    """A slice across an axis."""
    return tuple(index if a == axis else slice(None) for a in range(rank))


def cases(shape, count):
    """(name, key of targets.REGION_READS, level, regions)."""
    rng = np.random.default_rng(1)
    yield "16^3 box", "box 16", 0, list(random_boxes(rng, shape, 16, count))
    yield "aligned 64^3 box", "box 64", 0, list(random_boxes(rng, shape, 64, max(1, count // 4), aligned=True))
    for axis, extent in enumerate(shape):
        for parity, name in enumerate(("even", "odd")):
            indices = 2 * rng.integers(0, extent // 2, max(1, count // 10)) + parity
            regions = [across(len(shape), axis, index) for index in indices.tolist()]
            yield f"slice across axis {axis}, {name} index", f"slices across axis {axis}", 0, regions
    yield "level 2", "level 2", 2, [...]
    yield "level 1", "level 1", 1, [...]


@dataclasses.dataclass
class Volume:
    """A dataset of one chunk in an open file; `full`: seconds of reading everything through h5py."""

    name: str
    block: str
    dataset: h5py.Dataset
    full: float
    repeats: int
    checks: report.Checks

    @property
    def limited(self):
        return self.name == LIMITED_FIELD

    def record(self, part, **more):
        return {"part": part, "field": self.name, "block": self.block, **more}

    def check(self, what, value, target):
        if self.limited:
            self.checks.at_most(f"{self.name}, {self.block} blocks, {what}", value, target)

    def read(self, level, regions):
        """For each region: share of the time of reading everything, share of the bytes, blocks decoded, blocks present."""
        found, size = [], self.dataset.id.get_storage_size()
        for region in regions:
            seen = []

            def read(region=region, seen=seen):
                view = h5stz.view(self.dataset, cache_bytes=0)
                view.level(level)[region]
                seen.append(view.stats)

            share = seconds(read, self.repeats) / self.full
            stats = seen[-1]
            found.append((share, stats.bytes_read / size, stats.blocks_decoded, stats.blocks_present))
        return [list(column) for column in zip(*found, strict=True)]


def parts(volume, count):
    """Records of all cases."""
    dataset, records = volume.dataset, []
    for case, key, level, regions in cases(dataset.shape, count):
        times, sizes, decoded, present = volume.read(level, regions)
        record = volume.record("parts", case=case, key=key, positions=len(regions), present=present[0])
        record |= {"time": statistics.mean(times), "worst_time": max(times), "blocks": statistics.mean(decoded)}
        records.append(record | {"bytes": statistics.mean(sizes), "worst_bytes": max(sizes)})
        if key.startswith("level"):
            stream = dataset.id.read_direct_chunk((0,) * dataset.ndim)[1]
            share = h5stz.info(stream).level_bytes[level] / len(stream)
            volume.check(f"{case}: bytes over those of the level", records[-1]["bytes"] / share, 1.0)
    for key, limits in targets.REGION_READS.items():
        found = [record for record in records if record["key"] == key]
        for what, limit in zip(("time", "bytes"), limits[volume.block], strict=True):
            if found and limit is not None:
                volume.check(f"{key}: {what} over reading everything", statistics.mean(r[what] for r in found), limit)
    columns = {"part": "{case}", "time": "{time:.1%}", "worst time": "{worst_time:.1%}", "bytes": "{bytes:.1%}"}
    columns |= {"worst bytes": "{worst_bytes:.1%}", "blocks decoded / present": "{blocks:.1f} / {present}"}
    size = dataset.id.get_storage_size()
    title = f"{volume.name}, blocks {volume.block}: everything through h5py {1e3 * volume.full:.0f} ms, {size} bytes"
    report.table(records, columns, title)
    return records


def refine(volume):
    """Time of reading all levels one after the other, over reading level 0 at once, with a view that caches blocks."""
    view = lambda: h5stz.view(volume.dataset, cache_bytes=1 << 30)  # noqa: E731
    by_levels = seconds(lambda: [None for _ in view().refine(...)], volume.repeats)
    ratio = by_levels / seconds(lambda: view().read(...), volume.repeats)
    volume.check("refining over reading at once", ratio, targets.REFINE)
    return volume.record("refine", what="levels 3 to 0, over level 0 at once", view=ratio)


def sliding(volume):
    """A slice that moves through all planes, one view; and the same through h5py (some slices, scaled to all)."""
    dataset = volume.dataset

    def move(source, axis, indices):
        for index in indices:
            source[across(dataset.ndim, axis, index)]

    for axis, planes in enumerate(dataset.shape):
        view, few = h5stz.view(dataset), range(0, planes, max(1, planes // 4))
        moving = clock.once(lambda: move(view, axis, range(planes))) / volume.full  # noqa: B023
        plain = clock.once(lambda: move(dataset, axis, few)) / len(few) * planes / volume.full  # noqa: B023
        what = f"slices across axis {axis}, over one full read"
        volume.check(f"all {what}", moving, targets.SLIDING)
        record = volume.record("sliding", axis=axis, what=what, view=moving, h5py=plain)
        yield record | {"blocks_decoded": view.stats.blocks_decoded}


def main():
    parser = report.parser(__doc__, edge=synthetic.EDGE, repeats=3, fields=None)
    parser.add_argument("--positions", type=int, default=200, help="positions of the 16^3 box; default %(default)s")
    arguments = parser.parse_args()
    arrays = synthetic.volumes(arguments.edge)
    if arguments.directory:
        arrays |= fields.chosen(fields.comparison(arguments.directory), [fields.BOX_FIELD])
    checks, records = report.Checks(have_targets=arguments.edge == synthetic.EDGE), []
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "field.h5"
        for name, array in fields.chosen(arrays, arguments.fields).items():
            bound = fields.RELATIVE * fields.value_range(array)
            for block in ("default", "region"):
                codecs.write_hdf5(path, np.ascontiguousarray(array, "f4"), h5stz.STZ(absolute=bound, block=block))
                full = seconds(lambda: codecs.read_hdf5(path), max(5, arguments.repeats))  # HDF5's cache is empty
                with h5py.File(path) as file:
                    volume = Volume(name, block, file["field"], full, arguments.repeats, checks)
                    records += parts(volume, arguments.positions)
                    records += [refine(volume), *sliding(volume)]
    moving = [r for r in records if "what" in r]
    columns = {"field": "{field}", "blocks": "{block}", "what": "{what}", "view": "{view:.2f}", "h5py": "{h5py:.0f}"}
    report.table(moving, columns, "A slice through all planes, and level after level")
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()

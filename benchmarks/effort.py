"""What each effort gives: ratio, and speed of compression and decompression, on one volume and on the same cut into chunks.

Then the ratio over SZ3 3.4 on the fields of ratio.py. --over-default prints what efforts 6 to 9 cost and save there.
"""

import statistics

import h5stz
from shared import codecs, fields, report, speeds, synthetic, targets

EFFORTS = range(1, 10)
DEFAULT = 5
OPERATIONS = ("compress", "into")


def cases(arrays, bound, efforts=EFFORTS):
    return [speeds.ours(str(effort), arrays, absolute=bound, effort=effort) for effort in efforts]


def on_a_volume(edge, repeats):
    """Records of all efforts on a generated volume, and on at most 64 of the chunks that it is cut into."""
    volume, records = synthetic.gaussian_field(edge, 1, 8), []
    bound = fields.RELATIVE * fields.value_range(volume)
    for size in dict.fromkeys((edge, min(64, edge), min(32, edge))):
        chunks = [piece for piece in fields.pieces(volume, size) if piece.shape == (size,) * 3][:64]
        records += speeds.measure(cases(chunks, bound), repeats, min, OPERATIONS, DEFAULT - 1, field=f"{size}^3")
    speeds.table(records, "Efforts 1 to 9 on a volume and its chunks", ("field", "case"))
    return records


def over_sz3(directory):
    """Records: geometric means of the ratio over that of SZ3 on all fields."""
    arrays, found = fields.comparison(directory), {effort: {} for effort in EFFORTS}
    for relative in fields.RELATIVE_BOUNDS:
        gains = {effort: [] for effort in EFFORTS}
        for array in arrays.values():
            bound = relative * fields.value_range(array)
            rival = codecs.sz3(array, bound)[0]
            for effort in EFFORTS:
                gains[effort].append(rival / len(h5stz.compress(array, absolute=bound, effort=effort)))
        for effort in EFFORTS:
            found[effort][f"{relative:g}"] = report.geometric_mean(gains[effort])
    records = [{"field": "over SZ3", "case": str(effort)} | means for effort, means in found.items()]
    columns = {f"ratio over SZ3 at {at:g}": report.item(f"{at:g}", ".3f") for at in fields.RELATIVE_BOUNDS}
    report.table(records, {"effort": "{case}"} | columns)
    return records


def over_default(directory, crop, repeats):
    """Records of the efforts above the default on a crop of each field: speed and ratio over those of effort 5."""
    records = []
    for relative in fields.RELATIVE_BOUNDS:
        for name, array in fields.comparison(directory).items():
            part = fields.crop(array, crop)
            if bound := relative * fields.value_range(part):
                table = cases([part], bound, range(DEFAULT, 10))
                records += speeds.measure(table, repeats, min, ("compress",), field=name, relative=relative)
    rows = []
    for effort in range(DEFAULT + 1, 10):
        found = [r for r in records if r["case"] == str(effort)]
        times, sizes = [1 / r["compress over"] for r in found], [1 / r["ratio over"] for r in found]
        rows.append({"effort": effort, "least": min(times), "median": statistics.median(times), "most": max(times)})
        rows[-1] |= {"mean": report.geometric_mean(sizes), "smallest": min(sizes)}
    columns = {"effort": "{effort}", "time over effort 5, least": "{least:.2f}", "median": "{median:.2f}", "most": "{most:.2f}"}
    report.table(rows, columns | {"bytes over effort 5, mean": "{mean:.3f}", "least": "{smallest:.3f}"})
    return records


def main():
    parser = report.parser(__doc__, edge=256, repeats=5, crop=96)
    parser.add_argument("--over-default", action="store_true", help="efforts 6 to 9 over effort 5, on crops, and nothing else")
    arguments = parser.parse_args()
    checks = report.Checks(have_targets=arguments.directory is not None)
    if arguments.over_default:
        records = over_default(arguments.directory, arguments.crop, min(arguments.repeats, 2))
        report.finish(arguments, records, checks)
    records = on_a_volume(arguments.edge, arguments.repeats)
    means = over_sz3(arguments.directory)
    for record in means:
        for relative, target in zip(fields.RELATIVE_BOUNDS, targets.EFFORT_RATIO.get(int(record["case"]), ()), strict=False):
            checks.at_least(f"effort {record['case']}: ratio over SZ3 at {relative:g}", record[f"{relative:g}"], target)
    report.finish(arguments, records + means, checks)


if __name__ == "__main__":
    main()

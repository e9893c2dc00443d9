"""What precision layers cost.

Three-dimensional float32 fields, one chunk each; errors and bounds are relative to the range.

h5stz with layers at 1e-5: bytes over those without layers, the share of the first layer, its bytes over those of
a single stream with the same PSNR, and times over those without layers.
"""

import numpy as np

import fields
import h5stz
import report
import targets
import timing

FILE = 1e-5  # bound of the file
LAYERS = (2, 3)
STEPS = 10  # of a bisection


def psnr_of(array, decoded):
    return report.psnr(fields.value_range(array), np.abs(array.astype(float) - decoded))


def bytes_at_psnr(array, wanted):
    """The bytes of a single stream with at least this PSNR, and hardly more."""
    span, low, high = fields.value_range(array), 1e-8, 0.3
    for _ in range(2 * STEPS):
        middle = (low * high) ** 0.5
        stream = h5stz.compress(array, absolute=middle * span, fill_value=False)
        low, high = (middle, high) if psnr_of(array, h5stz.decompress(stream)) >= wanted else (low, middle)
    return len(h5stz.compress(array, absolute=low * span, fill_value=False))


def layer_costs(array, layers, repeats):
    """What h5stz makes of a field with so many layers, over what it makes without."""
    bound = FILE * fields.value_range(array)
    plain = h5stz.compress(array, absolute=bound, fill_value=False)
    stream = h5stz.compress(array, absolute=bound, fill_value=False, layers=layers)
    found = h5stz.info(stream).layers
    if len(found) < layers:
        return None
    first, target = found[0], np.empty_like(array)
    preview = h5stz.decompress(stream, max_error=first.max_error)
    seconds = timing.interleaved(
        {
            "compress": lambda: h5stz.compress(array, absolute=bound, fill_value=False),
            "compress layers": lambda: h5stz.compress(array, absolute=bound, fill_value=False, layers=layers),
            "decompress": lambda: h5stz.decompress(plain, out=target),
            "decompress layers": lambda: h5stz.decompress(stream, out=target),
        },
        repeats,
    )
    return {
        "layers": layers,
        "bytes": len(stream) / len(plain),
        "first layer": first.bytes / len(stream),
        "first error": first.max_error / fields.value_range(array),
        "over one of its PSNR": first.bytes / bytes_at_psnr(array, psnr_of(array, preview)),
        "decompress speed": seconds["decompress"] / seconds["decompress layers"],
        "compress time": seconds["compress layers"] / seconds["compress"],
    }


def costs_table(records):
    header = [
        "field",
        "layers",
        "bytes",
        "first layer",
        "its error",
        "over one of its PSNR",
        "decompress speed",
        "compress time",
    ]
    rows = [
        [r["field"], str(r["layers"]), f"{r['bytes']:.4f}", f"{r['first layer']:.0%}", f"{r['first error']:.1e}"]
        + [f"{r[name]:.2f}" for name in header[5:]]
        for r in records
    ]
    return report.markdown(header, rows)


def check_costs(checks, records):
    for r in records:
        name = f"{r['field']}, {r['layers']} layers"
        checks.at_most(f"{name}: bytes", r["bytes"], targets.LAYER_BYTES[r["layers"]])
        if r["layers"] == 2:
            checks.at_most(f"{name}: first layer", r["first layer"], targets.FIRST_LAYER)
        checks.at_most(f"{name}: over one of its PSNR", r["over one of its PSNR"], targets.LAYER_PSNR)
        checks.at_least(f"{name}: decompress speed", r["decompress speed"], targets.LAYER_SPEED)


def main():
    parser = report.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="of times. Default: 5")
    arguments = parser.parse_args()
    checks = report.Checks(arguments.directory is not None)
    volumes = fields.volumes(arguments.directory)

    costs = []
    for name, array in volumes.items():
        found = [layer_costs(array, layers, arguments.repeats) for layers in LAYERS]
        costs += [{"field": name, **record} for record in found if record]
    print(costs_table(costs), end="\n\n")
    check_costs(checks, costs)

    report.finish(arguments, costs, checks)


if __name__ == "__main__":
    main()

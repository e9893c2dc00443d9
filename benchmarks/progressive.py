"""Precision layers: what they cost, and the bytes that a wanted error takes, beside codecs whose streams can be cut short.

Three-dimensional float32 fields, one chunk each; errors and bounds are relative to the range.

First table: h5stz with layers at 1e-5: bytes over those without layers, the share of the first layer, its bytes over those of
a single stream with the same PSNR, and times over those without layers.

Second table: bits per sample in the file at 1e-5, and those that must be read for a wanted largest error. h5stz with three
layers, and with layers that end at the wanted errors (layer_bounds); SPERR, whose streams give less at any length (here: of
the length that suffices, found by bisection; the file is made in its point-wise error mode); ZFP, whose blocks can be cut at a
bit plane by a reader that knows where they begin (the size with the tolerance, a power of two, that suffices); single streams
of h5stz for each error. IPComp and MGARD's HP-MDR are not among the peers: they come as source only and were not built.
"""

import math

import hdf5plugin
import numpy as np

import fields
import h5stz
import peers
import report
import targets
import timing

FILE = 1e-5  # bound of the file
WANTED = (1e-2, 1e-3, 1e-4)
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


def by_layers(array, **options):
    """{error: bytes} of h5stz with layers, FILE among the errors."""
    span = fields.value_range(array)
    stream = h5stz.compress(array, absolute=FILE * span, fill_value=False, **options)
    layers = h5stz.info(stream).layers
    enough = {
        error: next((layer.bytes for layer in layers if layer.max_error is not None and layer.max_error <= error * span), None)
        for error in WANTED
    }
    return {error: size or len(stream) for error, size in enough.items()} | {FILE: len(stream)}


def cut_sperr(array):
    """{error: bytes} of SPERR: the file is in the mode that keeps a bound, what is read has the least rate that suffices."""
    span = fields.value_range(array)
    file, _ = peers.sperr(array, FILE * span)
    found = {}
    for error in WANTED:
        low, high, found[error] = 0.0, 32.0, file
        for _ in range(STEPS):
            middle = (low + high) / 2
            size, decoded = peers.through_hdf5(array, hdf5plugin.Sperr(rate=max(middle, 1e-3), swap=True))
            if np.abs(decoded.astype(float) - array).max() <= error * span:
                high, found[error] = middle, min(size, file)
            else:
                low = middle
    return found | {FILE: file}


def cut_zfp(array):
    """{error: bytes} of ZFP's streams whose blocks all end at the highest bit plane that suffices."""
    span, found = fields.value_range(array), {}
    for error in (*WANTED, FILE):
        exponent = math.floor(math.log2(error * span)) + 8  # errors are far below the tolerance
        while error not in found:
            size, decoded = peers.zfp(array, 2.0**exponent)
            if np.abs(decoded.astype(float) - array).max() <= error * span:
                found[error] = size
            exponent -= 1
    return found


def bits_read(array):
    """{codec: {error: bits per sample}}."""
    span = fields.value_range(array)
    sizes = {
        "h5stz, 3 layers": by_layers(array, layers=3),
        "h5stz, layer_bounds": by_layers(array, layer_bounds=[error * span for error in WANTED]),
        "SPERR, cut": cut_sperr(array),
        "ZFP, cut": cut_zfp(array),
        "h5stz, single streams": {
            error: len(h5stz.compress(array, absolute=error * span, fill_value=False)) for error in (*WANTED, FILE)
        },
    }
    return {codec: {error: 8 * size / array.size for error, size in found.items()} for codec, found in sizes.items()}


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
    parser.add_argument("--figures", action="store_true", help="the first table only")
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

    reads = []
    for name, array in {} if arguments.figures else volumes.items():
        reads += [{"field": name, "codec": codec, "bits": bits} for codec, bits in bits_read(array).items()]
    if reads:
        header = ["field", "codec", *(f"error {error:g}" for error in WANTED), f"file, {FILE:g}"]
        rows = [[r["field"], r["codec"], *(f"{b:.2f}" for b in r["bits"].values())] for r in reads]
        print("\nBits per sample that are read\n\n" + report.markdown(header, rows))
    for record in reads:
        record["bits"] = {f"{error:g}": bits for error, bits in record["bits"].items()}
    report.finish(arguments, [*costs, *reads], checks)


if __name__ == "__main__":
    main()

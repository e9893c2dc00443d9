"""The price of precision layers: three-dimensional float32 fields, one chunk each, bound 1e-5 of the range."""

import numpy as np

import h5stz
from shared import clock, codecs, fields, report, targets

FILE = 1e-5  # bound of the file, over the range
LAYERS = (2, 3)


def psnr(array, decoded):
    return report.psnr(fields.value_range(array), np.abs(array.astype(float) - decoded))


def costs(name, array, layers, repeats):
    """The record of a field with so many layers; None if h5stz makes fewer."""
    options = {"absolute": FILE * fields.value_range(array), "fill_value": False}
    plain, stream = h5stz.compress(array, **options), h5stz.compress(array, layers=layers, **options)
    found = h5stz.info(stream).layers
    if len(found) < layers:
        return None
    first, out = found[0], np.empty_like(array)
    preview = h5stz.decompress(stream, max_error=first.max_error)
    alike = h5stz.compress(array, absolute=codecs.bound_of_psnr(array, psnr(array, preview)), fill_value=False)
    actions = {
        "compress": lambda: h5stz.compress(array, **options),
        "compress layers": lambda: h5stz.compress(array, layers=layers, **options),
        "decompress": lambda: h5stz.decompress(plain, out=out),
        "decompress layers": lambda: h5stz.decompress(stream, out=out),
    }
    seconds = clock.interleaved(actions, repeats)
    return {
        "field": name,
        "layers": layers,
        "bytes": len(stream) / len(plain),
        "first layer": first.bytes / len(stream),
        "first error": first.max_error / fields.value_range(array),
        "over one of its PSNR": first.bytes / len(alike),
        "decompress speed": seconds["decompress"] / seconds["decompress layers"],
        "compress time": seconds["compress layers"] / seconds["compress"],
    }


def main():
    arguments = report.parser(__doc__, fields=None, repeats=5, crop=None).parse_args()
    checks = report.Checks(arguments.directory is not None)
    arrays = fields.chosen(fields.volumes(arguments.directory), arguments.fields)
    arrays = {name: fields.crop(array, arguments.crop) for name, array in arrays.items()}
    found = [costs(*item, layers, arguments.repeats) for item in arrays.items() for layers in LAYERS]
    records = [record for record in found if record]
    columns = {"field": "{field}", "layers": "{layers}", "bytes": "{bytes:.4f}", "first layer": "{first layer:.0%}"}
    columns |= {"its error": "{first error:.1e}", "over one of its PSNR": "{over one of its PSNR:.2f}"}
    columns |= {"decompress speed": "{decompress speed:.2f}", "compress time": "{compress time:.2f}"}
    report.table(records, columns)
    for r in records:
        name = f"{r['field']}, {r['layers']} layers"
        checks.at_most(f"{name}: bytes", r["bytes"], targets.LAYER_BYTES[r["layers"]])
        if r["layers"] == 2:
            checks.at_most(f"{name}: first layer", r["first layer"], targets.FIRST_LAYER)
        checks.at_most(f"{name}: over one of its PSNR", r["over one of its PSNR"], targets.LAYER_PSNR)
        checks.at_least(f"{name}: decompress speed", r["decompress speed"], targets.LAYER_SPEED)
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()

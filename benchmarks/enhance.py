"""Enhancement: bytes for the PSNR of a plain stream with a relative bound, largest errors and decoding speed."""

import math

import numpy as np

import h5stz
from shared import clock, fields, report, synthetic, targets

KINDS = ("strict", "relaxed", "both")
STEPS = 10  # of a bisection
TIGHTEST, LOOSEST = 0.7, 2.2  # bounds that are tried, over the plain one
EDGE = 128  # of the generated fields


class Field:
    """An array, and streams of it."""

    def __init__(self, name, array, relative):
        self.array, self.valid = array, fields.valid_samples(name, array)
        self.original = array[self.valid].astype(np.float64)
        self.range = fields.value_range(self.original)
        self.bound = relative * self.range
        self.fill = fields.FILL_VALUES.get(name, False)

    def compress(self, bound, **options):
        return h5stz.compress(self.array, absolute=bound, fill_value=self.fill, **options)

    def errors(self, stream):
        return np.abs(h5stz.decompress(stream)[self.valid].astype(np.float64) - self.original)

    def psnr(self, stream):
        return report.psnr(self.range, self.errors(stream))

    def with_psnr(self, wanted, low, high, **options):
        """The stream with nearly the loosest of these bounds that has at least this PSNR; None if none is found."""
        best = self.compress(high, **options)
        if self.psnr(best) >= wanted:
            return best
        best = self.compress(low, **options)
        best = best if self.psnr(best) >= wanted else None
        for _ in range(STEPS):
            middle = math.sqrt(low * high)
            stream = self.compress(middle, **options)
            if self.psnr(stream) >= wanted:
                low, best = middle, stream
            else:
                high = middle
        return best


def figures(name, array, relative, repeats, checks):
    """The record of one field and bound."""
    field = Field(name, array, relative)
    plain = field.compress(field.bound)
    wanted = field.psnr(plain)
    streams = {kind: field.with_psnr(wanted, TIGHTEST * field.bound, LOOSEST * field.bound, enhance=kind) for kind in KINDS}
    share = lambda stream: len(stream) / len(plain) if stream else math.inf  # noqa: E731
    for kind, stream in streams.items():
        if stream:
            stated = field.errors(stream).max() / h5stz.info(stream).relaxed_bound
            checks.promise(f"{name}, {relative:g}, {kind}: error over what is stated", stated, 1 + 1e-12)
    best = min((stream for stream in (plain, *streams.values()) if stream), key=len)
    same_bound = field.compress(field.bound, enhance="relaxed")
    tighter = field.with_psnr(field.psnr(same_bound), field.bound / 2, field.bound)
    out = np.empty_like(array)
    decode = {each: lambda each=each: h5stz.decompress(each, out=out, threads=1) for each in {plain, best}}
    seconds = clock.interleaved(decode, repeats, min)
    record = {"field": name, "relative": relative, "plain bytes": len(plain)}
    record |= {kind: share(stream) for kind, stream in streams.items()} | {"best": share(best), "tighter": share(tighter)}
    return record | {"largest": float(field.errors(best).max()) / field.bound, "speed": seconds[plain] / seconds[best]}


def per_cent(key):
    """A column of changes."""
    return lambda record: "-" if math.isinf(record[key]) else f"{100 * (record[key] - 1):+.1f} %"


def main():
    arguments = report.parser(__doc__, fields=None, relative=[1e-2], repeats=7).parse_args()
    checks = report.Checks(arguments.directory is not None)
    arrays = fields.floats(arguments.directory) | (synthetic.volumes(EDGE) if arguments.directory else {})
    arrays = fields.chosen(arrays, arguments.fields)
    columns = {"field": "{field}", "plain bytes": "{plain bytes}"} | {kind: per_cent(kind) for kind in (*KINDS, "best")}
    columns |= {"largest error": "{largest:.2f}", "speed": "{speed:.2f}", "tighter": per_cent("tighter")}
    records = []
    for relative in arguments.relative:
        found = [figures(name, array, relative, arguments.repeats, checks) for name, array in arrays.items()]
        report.table(found, columns, f"At the PSNR of {relative:g} of the range")
        checks.at_most(
            f"bytes with enhancement, {relative:g}", report.mean_of(found, "best"), targets.ENHANCED_BYTES.get(relative, 1)
        )
        if relative == 1e-2:
            checks.at_most("bytes with enhancement, 1e-2, worst field", max(r["best"] for r in found), 1)
            checks.at_least("decoding speed, 1e-2, worst field", min(r["speed"] for r in found), targets.ENHANCED_SPEED)
        records += found
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()

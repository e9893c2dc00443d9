"""Enhancement: bytes for the PSNR of a plain stream with a relative bound, largest errors and decoding speed.

For each field and bound, per cent of the bytes of a plain stream that less or more are needed for its PSNR (the loosest bound
that has it, found by bisection) with enhance="strict", "relaxed" and "both"; the fewest of these and none at all, as
STZ(psnr=, enhance=True) chooses, with their largest error in plain bounds and decoding speed over plain decoding, one thread.
"tighter": what "relaxed" gains at the same bound would cost with a plain stream at a tighter one.
"""

import math

import numpy as np

import fields
import h5stz
import report
import synthetic
import targets
import timing

KINDS = ("strict", "relaxed", "both")
STEPS = 10  # of a bisection
TIGHTEST, LOOSEST = 0.7, 2.2  # bounds that are tried, over the plain one
EDGE = 128  # of the generated fields


class Field:
    """An array, and streams of it."""

    def __init__(self, name, array, bound):
        self.array, self.valid = array, fields.valid_samples(name, array)
        self.original = array[self.valid].astype(np.float64)
        self.range = fields.value_range(self.original)
        self.bound = bound * self.range
        self.fill = fields.FILL_VALUES.get(name, False)

    def compress(self, bound, **options):
        return h5stz.compress(self.array, absolute=bound, fill_value=self.fill, **options)

    def errors(self, stream):
        return np.abs(h5stz.decompress(stream)[self.valid].astype(np.float64) - self.original)

    def psnr(self, stream):
        return report.psnr(self.range, self.errors(stream))

    def with_psnr(self, wanted, low, high, **options):
        """The stream with nearly the loosest of these bounds that has at least this PSNR; None if none is found."""
        best = None
        for bound in (high, low):
            stream = self.compress(bound, **options)
            if self.psnr(stream) >= wanted:
                best = stream
                break
        if bound == high:
            return best
        for _ in range(STEPS):
            middle = math.sqrt(low * high)
            stream = self.compress(middle, **options)
            if self.psnr(stream) >= wanted:
                low, best = middle, stream
            else:
                high = middle
        return best


def check_promise(field, stream, checks, what):
    """An error above what the stream states ends the command."""
    share = field.errors(stream).max() / h5stz.info(stream).relaxed_bound
    checks.promise(f"{what}: error over what is stated", share, 1 + 1e-12)


def figures(name, array, bound, repeats, checks):
    """What comes out for one field and bound."""
    field = Field(name, array, bound)
    plain = field.compress(field.bound)
    wanted = field.psnr(plain)
    streams = {kind: field.with_psnr(wanted, TIGHTEST * field.bound, LOOSEST * field.bound, enhance=kind) for kind in KINDS}
    sizes = {kind: len(stream) / len(plain) if stream else math.inf for kind, stream in streams.items()}
    for kind, stream in streams.items():
        if stream:
            check_promise(field, stream, checks, f"{name}, {bound:g}, {kind}")
    best = min((stream for stream in (plain, *streams.values()) if stream), key=len)
    same_bound = field.compress(field.bound, enhance="relaxed")
    tighter = field.with_psnr(field.psnr(same_bound), field.bound / 2, field.bound)
    target = np.empty_like(array)
    seconds = timing.interleaved(
        {each: lambda each=each: h5stz.decompress(each, out=target, threads=1) for each in {plain, best}}, repeats, min
    )
    return {
        "field": name,
        "bound": bound,
        "plain bytes": len(plain),
        **sizes,
        "best": len(best) / len(plain),
        "largest": float(field.errors(best).max()) / field.bound,
        "speed": seconds[plain] / seconds[best],
        "tighter": len(tighter) / len(plain) if tighter else math.inf,
    }


def per_cent(share):
    return "-" if math.isinf(share) else f"{100 * (share - 1):+.1f} %"


def main():
    parser = report.parser(__doc__)
    parser.add_argument("--relative", action="append", type=float, metavar="R", help="bound, again and again. Default: 1e-2")
    parser.add_argument("--repeats", type=int, default=7, metavar="N", help="of times. Default: 7")
    arguments = parser.parse_args()
    checks = report.Checks(arguments.directory is not None)
    arrays = fields.floats(arguments.directory) | (synthetic.volumes(EDGE) if arguments.directory else {})

    records = []
    for bound in arguments.relative or [1e-2]:
        found = [figures(name, array, bound, arguments.repeats, checks) for name, array in arrays.items()]
        header = ["field", "plain bytes", *KINDS, "best", "largest error", "speed", "tighter"]
        rows = [
            [
                r["field"],
                str(r["plain bytes"]),
                *(per_cent(r[kind]) for kind in (*KINDS, "best")),
                f"{r['largest']:.2f}",
                f"{r['speed']:.2f}",
                per_cent(r["tighter"]),
            ]
            for r in found
        ]
        print(f"\nAt the PSNR of {bound:g} of the range\n\n" + report.markdown(header, rows), end="\n\n")
        mean = report.geometric_mean([r["best"] for r in found])
        if bound == 1e-2:
            checks.at_most("bytes with enhancement, 1e-2", mean, targets.ENHANCED_BYTES)
            checks.at_most("bytes with enhancement, 1e-2, worst field", max(r["best"] for r in found), 1)
            checks.at_least("decoding speed, 1e-2, worst field", min(r["speed"] for r in found), targets.ENHANCED_SPEED)
        else:
            print(f"geometric mean {per_cent(mean)}")
        records += found
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()

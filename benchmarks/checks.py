"""What a content check costs: bytes, and time of compression with it and of decompression that compares it; and what a check of
streams before they are stored (check=True) costs.

Times are of the calling thread (processor time), paired: the calls take turns, and the median of the quotients counts.
"""

import statistics
import time

import numpy as np

import h5stz
from shared import clock, fields, report, synthetic, targets

CALLS = 1 << 21  # samples of one timed action; of small arrays several calls
KINDS = {"float64": 1, "int16": 3000, "int32": 3e6, "uint8": 20, "float16": 1}  # and what the field is multiplied by


def costs(name, array, relative, repeats, samples):
    """The record of one array and bound; the quotients are over the call without checks."""
    bound = relative * fields.value_range(array[np.isfinite(array)])
    options = {"absolute": bound, "fill_value": False, "integers": "lossy"}
    plain, checked = (h5stz.compress(array, content_check=check, **options) for check in (False, True))
    out = np.empty_like(array)
    calls = {
        "plain": lambda: h5stz.compress(array, content_check=False, **options),
        "content check": lambda: h5stz.compress(array, content_check=True, **options),
        "check": lambda: h5stz.compress(array, content_check=False, check=True, **options),
        "decompress": lambda: h5stz.decompress(checked, out=out),
        "verify": lambda: h5stz.decompress(checked, out=out, verify=True),
    }
    count = max(1, samples // array.size)
    actions = {key: lambda call=call: [call() for _ in range(count)] and None for key, call in calls.items()}
    seconds = clock.times(actions, repeats, time.thread_time)

    def quotient(key, base):
        return statistics.median(mine / theirs for mine, theirs in zip(seconds[key], seconds[base], strict=True))

    more = len(checked) - len(plain)
    record = {"samples": name, "edge": array.shape[0], "relative": relative, "ratio": array.nbytes / len(plain)}
    record |= {"bytes": more, "share": more / len(plain), "speed": array.nbytes * count / 1e6 / min(seconds["plain"])}
    record |= {key: quotient(key, "plain") - 1 for key in ("content check", "check")}
    return record | {"verify": quotient("verify", "decompress") - 1, "decode": quotient("decompress", "plain")}


def arrays(edge):
    """(name, array, bound) of all cases."""
    edges = sorted({edge, *(each for each in (64, 32) if each < edge)}, reverse=True)
    volumes = {each: synthetic.gaussian_field(each, 7, each / 6) for each in edges}
    yield from (("float32", volumes[each], relative) for each in edges for relative in fields.RELATIVE_BOUNDS)
    half = volumes[edge][tuple(slice(edge // 2) for _ in range(3))]
    missing = np.random.default_rng(1).random(half.shape) < 0.3
    yield "float32, 30 % NaN", np.where(missing, np.float32(np.nan), half), fields.RELATIVE
    yield from ((kind, (half * scale).astype(kind), fields.RELATIVE) for kind, scale in KINDS.items())


def main():
    arguments = report.parser(__doc__, directory=False, edge=synthetic.EDGE, repeats=9).parse_args()
    checks = report.Checks(have_targets=arguments.edge == synthetic.EDGE)
    samples = CALLS if checks.have_targets else 1
    found = [costs(*case, arguments.repeats, samples) for case in arrays(arguments.edge)]
    columns = {"samples": "{samples} {edge}^3", "bound": "{relative:g}", "ratio": "{ratio:.1f}", "bytes more": "{bytes}"}
    columns |= {"share": "{share:.4%}", "MB/s without": "{speed:.0f}", "compress": "{content check:+.1%}"}
    columns |= {"decompress with verify": "{verify:+.1%}", "compress with check=True": "{check:+.0%}"}
    report.table(found, columns | {"decompress / compress": "{decode:.0%}"})
    for r in found:
        if r["samples"] in ("float32", "float64", "float32, 30 % NaN"):  # the others: not by default
            what = f"compression of {r['samples']} {r['edge']}^3 at {r['relative']:g}, share more"
            checks.at_most(what, r["content check"], targets.CONTENT_CHECK)
    verify = max(r["verify"] for r in found if r["samples"] == "float32")
    checks.at_most("decompression with verify, largest share more of float32 (by default only below)", verify, targets.VERIFY)
    report.finish(arguments, found, checks)


if __name__ == "__main__":
    main()

"""What the frame of a stream and its content check cost: bytes, and time of compression and decompression with and without it;
and what a check of streams before they are stored (check=True) costs.

Times are of the calling thread (processor time), paired: both take turns, and the median of the quotients counts.
"""

import statistics
import time

import numpy as np

import h5stz
import report
import synthetic
import targets

RELATIVE_BOUNDS = (1e-2, 1e-3, 1e-4)
FRAME_EDGE, FRAME_RATIO = 64, 20
KINDS = {"float64": 1, "int16": 3000, "int32": 3e6, "uint8": 20, "float16": 1}  # and what the field is multiplied by


def records_bytes(stream):
    """Bytes of the extension records of a header with a bound and without a fill value."""
    if not stream[4] & 64:
        return 0
    at = 7
    for _ in range(stream[6]):
        while stream[at] > 127:
            at += 1
        at += 1
    return 1 + stream[at + 8]  # behind the bound; fewer than 128


def streams(array, bound):
    """Without and with a content check."""
    return [
        h5stz.compress(array, absolute=bound, content_check=check, fill_value=False, integers="lossy")
        for check in (False, True)
    ]


def extra(first, second, repeats, calls):
    """What the second function takes longer, as a share: median over pairs; and the seconds of the first one."""
    quotients, seconds = [], []
    for repeat in range(repeats + 1):
        times = []
        for function in (first, second):
            start = time.thread_time()
            for _ in range(calls):
                function()
            times.append(time.thread_time() - start)
        if repeat:
            quotients.append(times[1] / times[0])
            seconds.append(times[0] / calls)
    return statistics.median(quotients) - 1, min(seconds)


def costs(name, array, relative, repeats):
    """The record of one array and bound."""
    numbers = array[np.isfinite(array)].astype(np.float64)
    bound = relative * float(np.ptp(numbers))
    plain, checked = streams(array, bound)
    out = np.empty_like(array)
    calls = max(1, (1 << 21) // array.size)
    options = {"absolute": bound, "fill_value": False, "integers": "lossy"}
    compress, seconds = extra(
        lambda: h5stz.compress(array, content_check=False, **options),
        lambda: h5stz.compress(array, content_check=True, **options),
        repeats,
        calls,
    )
    decompress, _ = extra(
        lambda: h5stz.decompress(checked, out=out), lambda: h5stz.decompress(checked, out=out, verify=True), repeats, calls
    )
    check, _ = extra(
        lambda: h5stz.compress(array, content_check=False, **options),
        lambda: h5stz.compress(array, content_check=False, check=True, **options),
        repeats,
        calls,
    )
    decode, _ = extra(
        lambda: h5stz.compress(array, content_check=False, **options), lambda: h5stz.decompress(plain, out=out), repeats, calls
    )
    more = len(checked) - len(plain)
    return {
        "samples": name,
        "edge": array.shape[0],
        "relative": relative,
        "ratio": array.nbytes / len(plain),
        "bytes": more,
        "share": more / len(plain),
        "compress": compress,
        "verify": decompress,
        "check": check,
        "decode": 1 + decode,
        "MB/s": array.nbytes / 1e6 / seconds,
    }


def frame(checks, seeds=8):
    """Bytes of the frame in chunks of 64^3 at a ratio of about 20: records and trailer over the stream."""
    sizes, plain_frame, check_frame = [], [], []
    for seed in range(seeds):
        array = synthetic.gaussian_field(FRAME_EDGE, 100 + seed, FRAME_EDGE / 6)
        ratios = {bound: array.nbytes / len(streams(array, bound * np.ptp(array))[0]) for bound in np.geomspace(1e-3, 5e-2, 18)}
        relative = min(ratios, key=lambda bound: abs(ratios[bound] - FRAME_RATIO))
        plain, checked = streams(array, relative * np.ptp(array))
        sizes.append(len(plain))
        plain_frame.append(records_bytes(plain))
        check_frame.append(len(checked) - len(plain))
    ratio = FRAME_EDGE**3 * 4 / statistics.mean(sizes)
    shares = [sum(found) / sum(sizes) for found in (plain_frame, check_frame)]
    print(f"{seeds} chunks of {FRAME_EDGE}^3 at a ratio of {ratio:.1f}, {statistics.mean(sizes):.0f} bytes each:")
    print(f"records and trailer without a content check {statistics.mean(plain_frame):.1f} bytes ({shares[0]:.4%}),")
    print(f"the content check {statistics.mean(check_frame):.1f} more ({shares[1]:.4%})\n")
    checks.at_most("bytes of the frame without checks, share", shares[0], targets.FRAME)
    return {"ratio": ratio, "frame": shares[0], "content check": shares[1]}


def main():
    parser = report.parser(__doc__, directory=False)
    parser.add_argument("--edge", type=int, default=synthetic.EDGE, help="samples per axis of the largest field")
    parser.add_argument("--repeats", type=int, default=9, metavar="N")
    arguments = parser.parse_args()
    checks = report.Checks(have_targets=arguments.edge == synthetic.EDGE)
    records = [frame(checks)]
    edges = sorted({arguments.edge, *(edge for edge in (64, 32) if edge < arguments.edge)}, reverse=True)
    fields = {edge: synthetic.gaussian_field(edge, 7, edge / 6) for edge in edges}
    found = [costs("float32", fields[edge], relative, arguments.repeats) for edge in edges for relative in RELATIVE_BOUNDS]
    half = fields[arguments.edge][tuple(slice(arguments.edge // 2) for _ in range(3))]
    masked = np.where(np.random.default_rng(1).random(half.shape) < 0.3, np.float32(np.nan), half)
    found.append(costs("float32, 30 % NaN", masked, 1e-3, arguments.repeats))
    found += [costs(kind, (half * scale).astype(kind), 1e-3, arguments.repeats) for kind, scale in KINDS.items()]
    rows = [
        [
            f"{r['samples']} {r['edge']}^3",
            f"{r['relative']:g}",
            f"{r['ratio']:.1f}",
            f"{r['bytes']}",
            f"{r['share']:.4%}",
            f"{r['MB/s']:.0f}",
            f"{r['compress']:+.1%}",
            f"{r['verify']:+.1%}",
            f"{r['check']:+.0%}",
            f"{r['decode']:.0%}",
        ]
        for r in found
    ]
    header = ["samples", "bound", "ratio", "bytes more", "share", "MB/s without", "compress", "decompress with verify"]
    header += ["compress with check=True", "decompress / compress"]
    print(report.markdown(header, rows), end="\n\n")
    float32 = [r for r in found if r["samples"] == "float32"]
    for edge in edges:
        largest = max(r["compress"] for r in float32 if r["edge"] == edge)
        checks.at_most(f"compression of float32 {edge}^3, largest share more", largest, targets.CONTENT_CHECK)
    for r in found:
        if r["samples"] in ("float64", "float32, 30 % NaN"):  # the others: not by default
            checks.at_most(f"compression of {r['samples']}, share more", r["compress"], targets.CONTENT_CHECK)
    checks.at_most(
        "decompression with verify, largest share more of float32 (by default only below)",
        max(r["verify"] for r in float32),
        targets.VERIFY,
    )
    report.finish(arguments, records + found, checks)


if __name__ == "__main__":
    main()

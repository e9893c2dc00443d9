"""Layered models, labels, a mask and sparse data: lossy against SZ3 3.4, without loss against Blosc2, fpzip and pcodec.

All arrays are generated, 1600 x 400, functions of their seed: constant layers with dips, a fold and faults; the same with a
gradient inside each layer; the layers' labels; a mask; zeros with a few smooth blobs. Bounds are relative to the range.
"""

import time

import numpy as np

import h5stz
import peers
import report
import targets

SHAPE = (1600, 400)
BOUNDS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
LAYERS, FAULTS, BLOBS, WAVES = 400, 5, 60, 24
REPEATS = 5


def geology(rng):
    """(layer of each sample, its distance from the layer's top)."""
    y, x = np.indices(SHAPE).astype(float)
    depth = y + 0.08 * x + 12 * np.sin(x / 90 + 1)
    for _ in range(FAULTS):
        place, lean, throw = rng.uniform(0.1, 0.9) * SHAPE[1], rng.uniform(-0.15, 0.15), rng.uniform(-25, 25)
        depth = np.where(x > place + lean * y, depth + throw, depth)
    tops = np.cumsum(rng.uniform(8, 40, LAYERS)) - 200
    layer = np.searchsorted(tops, depth)
    return layer, depth - tops[np.maximum(layer - 1, 0)]


def blobs(rng):
    """Smooth bumps of compact support on zeros."""
    y, x = np.indices(SHAPE)
    total = np.zeros(SHAPE)
    for _ in range(BLOBS):
        distance = ((y - rng.uniform(0, SHAPE[0])) ** 2 + (x - rng.uniform(0, SHAPE[1])) ** 2) / (6 * rng.uniform(4, 14) ** 2)
        total += rng.uniform(1, 100) * np.maximum(0, 1 - distance) ** 2
    return total


def waves(rng):
    """A sum of plane waves."""
    y, x = np.indices(SHAPE)
    return sum(np.sin(x * rng.normal(0, 0.02) + y * rng.normal(0, 0.02) + rng.uniform(0, 6)) for _ in range(WAVES))


def models(seed=1):
    """{name: array}, all float32."""
    rng = np.random.default_rng(seed)
    layer, below = geology(rng)
    speed = 1500 + np.linspace(0, 2500, LAYERS + 1) + rng.normal(0, 400, LAYERS + 1)
    gradient = rng.uniform(-1, 4, LAYERS + 1)
    made = {
        "layers": speed[layer],
        "gradients": speed[layer] + gradient[layer] * below + 0.3 * np.arange(SHAPE[1]),
        "labels": rng.integers(1, 12, LAYERS + 1)[layer],
        "mask": waves(rng) > 0.5,
        "blobs": blobs(rng),
    }
    return {name: array.astype(np.float32) for name, array in made.items()}


def least(function):
    """Seconds of the fastest of some calls."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def lossy(name, array, relative):
    bound = relative * float(array.max() - array.min())
    size, decoded = peers.h5stz(array, bound)
    stream = h5stz.compress(array, absolute=bound)
    sz3 = report.measure(array, peers.sz3(array, bound)[1], peers.sz3(array, bound)[0], bound)
    ours = report.measure(array, decoded, size, bound)
    speed = [
        array.size / least(call) / 1e6
        for call in (lambda: h5stz.compress(array, absolute=bound), lambda: h5stz.decompress(stream))
    ]
    return {"field": name, "relative": relative, "h5stz": ours, "sz3": sz3, "gain": ours.ratio / sz3.ratio, "speed": speed}


def lossless(name, array):
    record = {"field": name, "dtype": str(array.dtype)}
    for codec in ("h5stz", "blosc2", "blosc2_bits", "fpzip", "pcodec"):
        try:
            run = peers.h5stz_lossless if codec == "h5stz" else getattr(peers, codec)
            size, decoded = run(array)
        except peers.Unsupported:
            continue
        assert decoded.tobytes() == array.tobytes(), f"{codec} changed {name}"
        record[codec] = array.nbytes / size
    record["best"] = max(ratio for codec, ratio in record.items() if codec not in ("field", "dtype", "h5stz"))
    record["gain"] = record["h5stz"] / record["best"]
    return record


def main():
    arguments = report.parser(__doc__, directory=False).parse_args()
    checks, arrays = report.Checks(), models()

    records = [lossy(name, array, relative) for name, array in arrays.items() for relative in BOUNDS]
    header = [
        "field",
        "bound",
        "h5stz",
        "PSNR",
        "error/bound",
        "SZ3",
        "PSNR",
        "error/bound",
        "h5stz / SZ3",
        "Msamples/s",
        "back",
    ]
    rows = [
        [
            r["field"],
            f"{r['relative']:g}",
            *r["h5stz"].cells(),
            *r["sz3"].cells(),
            f"{r['gain']:.2f}",
            *(f"{s:.0f}" for s in r["speed"]),
        ]
        for r in records
    ]
    print(report.markdown(header, rows), end="\n\n")
    for name in arrays:
        for r in records:
            if r["field"] == name:
                checks.at_least(f"{name} over SZ3 at {r['relative']:g}", r["gain"], targets.LAYERED_RATIO)
    checks.promise("largest error / bound", max(r["h5stz"].error_over_bound for r in records), 1)
    print()

    exact = [lossless(name, arrays[name]) for name in arrays]
    exact += [lossless("labels", arrays["labels"].astype(np.int32)), lossless("mask", arrays["mask"].astype(np.uint8))]
    codecs = ("h5stz", "blosc2", "blosc2_bits", "fpzip", "pcodec")
    rows = [[r["field"], r["dtype"], *(f"{r[c]:.2f}" if c in r else "" for c in codecs), f"{r['gain']:.2f}"] for r in exact]
    print(report.markdown(["field, lossless", "dtype", *codecs, "h5stz / best"], rows), end="\n\n")
    for r in exact:
        if r["field"] in ("labels", "mask", "blobs"):
            checks.at_least(f"{r['field']} {r['dtype']}, lossless, over the best other", r["gain"], targets.LAYERED_LOSSLESS)
    report.finish(arguments, records + exact, checks)


if __name__ == "__main__":
    main()

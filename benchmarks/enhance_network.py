"""A small network that enhances decoded fields, as NeurLZ does (arXiv 2409.05785): what it gains, and what that costs.

Each field is compressed by h5stz. A convolutional network of some 4,000 weights then learns original - decoded from the
decoded field alone; its weights would be stored beside the stream. What it adds is clipped to the bound, so an enhanced
sample is within twice the bound. Its gain in PSNR counts as bytes: the plain stream of the same PSNR, at a tighter bound
that is searched, is compared with the stream plus the weights. Needs JAX (`pip install 'h5stz[bench-network]'`).
"""

import itertools
import math
import time

import numpy as np

import fields
import h5stz
import peers
import report
import timing

try:
    import jax
    import jax.numpy as jnp
    import optax
except ImportError as error:
    raise ImportError("The network needs JAX and Optax: pip install 'h5stz[bench-network]'") from error

FIELDS = ("turb_wmag_91", "isabel_wind_4d", "xtal_density_3ek3")  # of fields.volumes
BOUNDS = (1e-2, 1e-3)
CHANNELS = 8
SECONDS = 60.0  # of training, each field and bound
EDGE, BOXES = 16, 4  # boxes of a training step: samples per axis, number
RATE = 5e-3  # of learning at first; it falls to zero as the time runs out
SLAB, HALO = 24, 4  # planes that are enhanced at once; how far a sample of the output sees
WEIGHT_BYTES = 2  # they are stored as float16


def new_weights(seed=0):
    """Four layers of 3^3 kernels: [(kernel, bias)]."""
    widths = (2, CHANNELS, CHANNELS, CHANNELS, 1)
    keys = jax.random.split(jax.random.key(seed), len(widths) - 1)
    shapes = [(27 * before, after) for before, after in itertools.pairwise(widths)]
    kernels = [math.sqrt(2 / shape[0]) * jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True)]
    kernels[-1] *= 0.0  # begins with the plain decoded field
    return [(kernel, jnp.zeros(kernel.shape[1])) for kernel in kernels]


def convolve(images, layer):
    """A layer on (box, z, y, x, channel), zeros outside: one matrix product, faster than XLA's convolution."""
    kernel, bias = layer
    padded = jnp.pad(images, ((0, 0), (1, 1), (1, 1), (1, 1), (0, 0)))
    z, y, x = images.shape[1:4]
    shifts = [(i, j, k) for i in range(3) for j in range(3) for k in range(3)]
    columns = [padded[:, i : i + z, j : j + y, k : k + x] for i, j, k in shifts]
    return jnp.concatenate(columns, axis=-1) @ kernel + bias


@jax.jit
def network(weights, inputs):
    """original - decoded in units of the bound, between -1 and 1; the second layer's input skips to the last one."""
    first = jax.nn.relu(convolve(inputs, weights[0]))
    hidden = first
    for layer in weights[1:-1]:
        hidden = jax.nn.relu(convolve(hidden, layer))
    return jnp.tanh(convolve(hidden + first, weights[-1]))


def inputs_of(decoded, bound):
    """(z, y, x, 2): the decoded sample, and what distinguishes it from its neighbours in units of the bound."""
    values = decoded.astype(np.float64)
    mean = values
    for axis in range(3):
        padded = np.pad(mean, [(1, 1) if a == axis else (0, 0) for a in range(3)], mode="edge")
        n = mean.shape[axis]
        mean = sum(np.take(padded, range(shift, shift + n), axis) for shift in range(3)) / 3
    channels = [(values - values.mean()) / values.std(), np.arcsinh((values - mean) / bound)]
    return np.stack(channels, axis=-1).astype(np.float32)


OPTIMIZER = optax.inject_hyperparams(optax.adam)(learning_rate=RATE)


@jax.jit
def step(weights, state, rate, inputs, wanted):
    """One step of Adam on the mean squared error of some boxes."""
    state.hyperparams["learning_rate"] = rate
    gradient = jax.grad(lambda w: jnp.mean((network(w, inputs) - wanted) ** 2))(weights)
    updates, state = OPTIMIZER.update(gradient, state)
    return optax.apply_updates(weights, updates), state


def train(inputs, wanted, seconds, seed=0):
    """(weights rounded to float16, steps): as many steps on random boxes as fit into the time, compiling not counted."""
    rng, weights, steps = np.random.default_rng(seed), new_weights(seed), 0
    state = OPTIMIZER.init(weights)
    size = [min(EDGE, n) for n in wanted.shape]
    origin = tuple(slice(0, s) for s in size)
    sample = np.stack([inputs[origin]] * BOXES)
    jax.block_until_ready(step(weights, state, 0.0, sample, np.zeros_like(sample[..., :1])))
    begin = time.perf_counter()
    while (passed := (time.perf_counter() - begin) / seconds) < 1:
        lows = [[rng.integers(0, n - s + 1) for n, s in zip(wanted.shape, size, strict=True)] for _ in range(BOXES)]
        boxes = [tuple(slice(low, low + s) for low, s in zip(corner, size, strict=True)) for corner in lows]
        rate = RATE * (1 + math.cos(math.pi * passed)) / 2
        seen, target = np.stack([inputs[box] for box in boxes]), np.stack([wanted[box] for box in boxes])[..., None]
        weights, state = jax.block_until_ready(step(weights, state, rate, seen, target))
        steps += 1
    return jax.tree.map(lambda w: w.astype(jnp.float16).astype(jnp.float32), weights), steps


def enhance(weights, decoded, bound):
    """The decoded field plus what the network adds, slab by slab."""
    inputs, result = inputs_of(decoded, bound), np.empty_like(decoded)
    for low in range(0, len(decoded), SLAB):
        begin, end = max(low - HALO, 0), min(low + SLAB + HALO, len(decoded))
        added = np.asarray(network(weights, inputs[None, begin:end]))[0, ..., 0]
        part = slice(low, min(low + SLAB, len(decoded)))
        result[part] = decoded[part] + np.float32(bound) * added[low - begin :][: part.stop - low]
    return result


def plain(array, bound):
    """(bytes, PSNR) of h5stz alone."""
    size, decoded = peers.h5stz(array, bound)
    return size, report.measure(array, decoded, size, bound).psnr


def bytes_at(array, bound, psnr):
    """Bytes of the plain stream of this PSNR: the bound is searched, and the bytes are interpolated between the last two."""
    low, high = math.log(bound / 4), math.log(bound)
    ends = [plain(array, math.exp(low)), plain(array, math.exp(high))]  # (fine, coarse)
    for _ in range(8):
        middle = (low + high) / 2
        found = plain(array, math.exp(middle))
        if found[1] >= psnr:
            low, ends[0] = middle, found
        else:
            high, ends[1] = middle, found
    (fine, fine_psnr), (coarse, coarse_psnr) = ends
    share = (psnr - coarse_psnr) / (fine_psnr - coarse_psnr) if fine_psnr > coarse_psnr else 0.0
    return coarse + min(max(share, 0.0), 1.0) * (fine - coarse)


def measure(name, array, relative, seconds):
    """The record of one field at one bound."""
    bound = relative * fields.value_range(array)
    size, decoded = peers.h5stz(array, bound)
    before = report.measure(array, decoded, size, bound)
    weights, steps = train(inputs_of(decoded, bound), (array - decoded) / np.float32(bound), seconds)
    enhanced = enhance(weights, decoded, bound)
    after = report.measure(array, enhanced, size, bound)
    weight_bytes = WEIGHT_BYTES * sum(leaf.size for leaf in jax.tree.leaves(weights))
    same_quality = bytes_at(array, bound, after.psnr) if after.psnr > before.psnr else float(size)
    stream = h5stz.compress(array, absolute=bound)
    actions = {
        "compress": lambda: h5stz.compress(array, absolute=bound),
        "decode": lambda: h5stz.decompress(stream),
        "network": lambda: enhance(weights, decoded, bound),
    }
    times = timing.interleaved(actions, 3, min)
    record = {"field": name, "relative": relative, "bytes": size, "psnr": before.psnr, "gained": after.psnr - before.psnr}
    record |= {"error_over_bound": after.error_over_bound, "steps": steps, "seconds": seconds, "weight_bytes": weight_bytes}
    record |= {"equal_bytes": same_quality, "saved": 1 - size / same_quality, "net": 1 - (size + weight_bytes) / same_quality}
    speeds = {f"{action}_speed": timing.megabytes_per_second(array.nbytes, t) for action, t in times.items()}
    return record | speeds | {"training_over_compressing": seconds / times["compress"]}


def table(records):
    header = ["field", "bound", "bytes", "PSNR, dB", "gained, dB", "error / bound", "steps in the time", "bytes of weights"]
    header += ["saved at equal PSNR", "less weights", "decode, MB/s", "network, MB/s", "training / compressing"]
    rows = []
    for r in records:
        row = [r["field"], f"{r['relative']:g}", str(r["bytes"]), f"{r['psnr']:.2f}", f"{r['gained']:.2f}"]
        row += [f"{r['error_over_bound']:.2f}", str(r["steps"]), str(r["weight_bytes"])]
        row += [f"{100 * r['saved']:.1f} %", f"{100 * r['net']:.1f} %"]
        row += [f"{r['decode_speed']:.0f}", f"{r['network_speed']:.1f}", f"{r['training_over_compressing']:.0f}"]
        rows.append(row)
    print(report.markdown(header, rows), end="\n\n")


def main():
    parser = report.parser(__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of training, each field and bound; default %(default)s")
    parser.add_argument("--fields", metavar="NAMES", help="comma-separated; default " + ",".join(FIELDS))
    arguments = parser.parse_args()
    found = fields.volumes(arguments.directory)
    wanted = arguments.fields.split(",") if arguments.fields else [name for name in FIELDS if name in found]
    records, checks = [], report.Checks()
    for name in wanted:
        records += [measure(name, found[name], relative, arguments.seconds) for relative in BOUNDS]
    table(records)
    worst = max(r["error_over_bound"] for r in records)
    checks.promise("largest error / bound of an enhanced field", worst, 2 * (1 + 1e-5))  # the sum is rounded to float32
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()

"""Arrays with short axes: sizes and speeds beside the same samples in the order that suits the codec best.

Tensors and vectors on the last axes and on the first ones, colours, and two-dimensional data with one axis cut into four.
"""

import numpy as np

import h5stz
import report
import synthetic
import timing

RELATIVE_BOUND = 1e-3
REPEATS = 9


def tensors(edge=64):
    """Nine fields that have nothing to do with each other, as (3, 3, edge, edge, edge)."""
    fields = [synthetic.gaussian_field(edge, seed, edge / 6) for seed in range(9)]
    return np.stack(fields).reshape(3, 3, edge, edge, edge)


def gradients(edge=64):
    """The derivatives of three fields along three axes, as (3, 3, edge, edge, edge)."""
    fields = [synthetic.gaussian_field(edge, 20 + seed, edge / 6) for seed in range(3)]
    return np.array([np.gradient(field) for field in fields]).astype(np.float32)


def colours(edge=512):
    """Three fields that have most in common, as (3, edge, edge)."""
    base = synthetic.gaussian_field(edge, 3, edge / 8, 2)
    return np.stack([base + 0.2 * synthetic.gaussian_field(edge, 40 + seed, edge / 6, 2) for seed in range(3)]).astype(
        np.float32
    )


def last(array, count):
    """The array with its first `count` axes behind the others."""
    return np.ascontiguousarray(np.moveaxis(array, range(count), range(-count, 0)))


def cases():
    """{name: (the array, the same samples to compare it with)}."""
    plane = synthetic.gaussian_field(2048, 5, 2048 / 6, 2)[:2000, :90].copy()
    tensor, gradient, colour = tensors(), gradients(), colours()
    return {
        "tensors on the last axes, or the first": (last(tensor, 2), tensor),
        "gradients on the last axes, or the first": (last(gradient, 2), gradient),
        "vectors on the last axis, or the first": (last(tensor[0], 1), tensor[0]),
        "colours on the last axis, or the first": (last(colour, 1), colour),
        "an axis cut into four, or whole": (plane.reshape(2000, 2, 3, 3, 5), plane),
    }


def measure(array):
    """Bytes, and MB/s of compression and decompression."""
    bound = RELATIVE_BOUND * float(np.ptp(array))
    stream = h5stz.compress(array, absolute=bound)
    times = timing.interleaved(
        {"compress": lambda: h5stz.compress(array, absolute=bound), "decompress": lambda: h5stz.decompress(stream)}, REPEATS
    )
    return len(stream), *(timing.megabytes_per_second(array.nbytes, seconds) for seconds in times.values())


def main():
    rows = []
    for name, arrays in cases().items():
        (size, *speeds), (other_size, *other_speeds) = map(measure, arrays)
        shapes = [" x ".join(map(str, array.shape)) for array in arrays]
        cells = [f"{arrays[0].nbytes / size:.2f}", f"{arrays[0].nbytes / other_size:.2f}", f"{size / other_size:.4f}"]
        rows.append([name, *shapes, *cells, *[f"{speed:.0f}" for speed in (*speeds, *other_speeds)]])
    header = [
        "samples",
        "shape",
        "compared with",
        "ratio",
        "ratio",
        "bytes / bytes",
        "compress MB/s",
        "decompress",
        "compress",
        "decompress",
    ]
    print(report.markdown(header, rows))


if __name__ == "__main__":
    main()

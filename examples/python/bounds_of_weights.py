"""Bounds for the weights of a small network, chosen by what they do to its loss, beside groups of 4-bit integers.

    python bounds_of_weights.py

Trains a network in NumPy that tells ten shapes in noisy pictures apart, and lets h5stz.choose_bounds find a bound for each
array of weights. Takes about ten seconds. Prints the table of the search, then bits per weight and the loss on pictures that
neither the training nor the search has seen: for groups of 64 weights as integers of 4 bits (with a scale of 16 bits: 4.25 bits
per weight), and for the chosen bounds. The weights are written into bounds_of_weights.h5 and read back.
"""

import math
from itertools import pairwise

import h5py
import numpy as np

import h5stz

SIDE, SHAPES, EDGE, NOISE, BUDGET = 10, 10, 5, 1.5, 0.002
WIDTH = SIDE + 2 * EDGE
rng = np.random.default_rng(1)


def templates():
    """Ten smooth random shapes."""
    waves = np.fft.fftfreq(SIDE, 1 / SIDE)
    damping = np.exp(-(waves[:, None] ** 2 + waves**2) / 8)
    shapes = np.fft.ifft2(np.fft.fft2(rng.standard_normal((SHAPES, SIDE, SIDE))) * damping).real
    return (shapes / shapes.std(axis=(1, 2), keepdims=True)).astype("f4")


def pictures(count):
    """Shifted shapes in noise that also fills the space around them, and which shape each picture has."""
    kind = rng.integers(0, SHAPES, count)
    shift = rng.integers(-1, 2, (2, count))
    rows = (np.arange(SIDE) + shift[0][:, None]) % SIDE
    columns = (np.arange(SIDE) + shift[1][:, None]) % SIDE
    found = NOISE * rng.standard_normal((count, WIDTH, WIDTH), "f4")
    found[:, EDGE:-EDGE, EDGE:-EDGE] += TEMPLATES[kind[:, None, None], rows[:, :, None], columns[:, None, :]]
    return found.reshape(count, -1), kind


def layers(weights, x):
    """The values of all layers."""
    found = [x]
    for number in range(3):
        x = x @ weights[f"w{number}"] + weights[f"b{number}"]
        x = np.maximum(x, 0) if number < 2 else x
        found.append(x)
    return found


def loss(weights, x, kind):
    """Mean cross-entropy in nats: 2.3 for guessing, 0 for certain and right."""
    logits = layers(weights, x)[-1].astype("f8")
    logits -= logits.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(kind)), kind]))


def gradients(weights, x, kind):
    """Those of the loss by all weights."""
    found = layers(weights, x)
    slope = np.exp(found[-1] - found[-1].max(axis=1, keepdims=True))
    slope /= slope.sum(axis=1, keepdims=True)
    slope[np.arange(len(kind)), kind] -= 1
    slope /= len(kind)
    result = {}
    for number in (2, 1, 0):
        result[f"w{number}"], result[f"b{number}"] = found[number].T @ slope, slope.sum(axis=0)
        slope = (slope @ weights[f"w{number}"].T) * (found[number] > 0)
    return result


def train(steps=600, batch=128):
    """A network with two hidden layers, by Adam with decay of the weights."""
    sizes = (WIDTH * WIDTH, 256, 128, SHAPES)
    weights = {}
    for number, (of_input, of_output) in enumerate(pairwise(sizes)):
        weights[f"w{number}"] = rng.normal(0, np.sqrt(2 / of_input), (of_input, of_output)).astype("f4")
        weights[f"b{number}"] = np.zeros(of_output, "f4")
    mean = {name: np.zeros_like(array) for name, array in weights.items()}
    square = {name: np.zeros_like(array) for name, array in weights.items()}
    for step in range(1, steps + 1):
        rate = 1e-3 * (1 + math.cos(math.pi * step / steps))
        for name, slope in gradients(weights, *pictures(batch)).items():
            mean[name] += 0.1 * (slope - mean[name])
            square[name] += 0.001 * (slope**2 - square[name])
            update = mean[name] / (1 - 0.9**step) / (np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8)
            weights[name] -= (rate * (update + 3 * weights[name])).astype("f4")
    return weights


def four_bits(array, group=64):
    """An array as readers of groups of 4-bit integers have it: one float16 scale for each group."""
    padded = np.pad(array.ravel(), (0, -array.size % group)).reshape(-1, group)
    scale = (abs(padded).max(axis=1, keepdims=True) / 7).astype("f2").astype("f4")
    scale[scale == 0] = 1
    return (np.clip(np.rint(padded / scale), -7, 7) * scale).ravel()[: array.size].reshape(array.shape)


TEMPLATES = templates()
weights = train()
search, verify, other = pictures(8000), pictures(8000), pictures(20000)
print(f"trained {sum(array.size for array in weights.values())} weights, loss {loss(weights, *other):.4f}")

chosen = h5stz.choose_bounds(
    weights,
    lambda found: loss(found, *search),
    budget=BUDGET,
    verify=lambda found: loss(found, *verify),
)
print(chosen, end="\n\n")

with h5py.File("bounds_of_weights.h5", "w") as file:
    for name, array in weights.items():
        file.create_dataset(name, data=array, chunks=array.shape, **chosen[name])
with h5py.File("bounds_of_weights.h5") as file:
    read = {name: dataset[...] for name, dataset in file.items()}
    stored = sum(dataset.id.get_storage_size() for dataset in file.values())

matrices = [name for name, array in weights.items() if array.ndim == 2]
count = sum(weights[name].size for name in matrices)
integers = {name: four_bits(array) if name in matrices else array for name, array in weights.items()}
bits_of_chosen = 8 * sum(row.bytes for row in chosen.rows if row.name in matrices) / count
print("on pictures that neither training nor search has seen:")
for what, bits, found in (("4-bit integers", 4 + 16 / 64, integers), ("chosen bounds", bits_of_chosen, read)):
    print(f"{what}, bits per weight: {bits:.2f}")
    print(f"{what}, loss rises by: {loss(found, *other) - loss(weights, *other):.5f}")
print(f"file: {stored} bytes of {sum(array.nbytes for array in weights.values())}")

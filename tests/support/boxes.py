"""Parts of arrays: what a partial read asks for, drawn for hypothesis or at random, and the same cut with NumPy."""

import numpy as np
from hypothesis import strategies as st

import h5stz
from h5stz import _core


def cut(array, start, count, step):
    """The elements start + i * step, i < count, of each axis, as a contiguous array."""
    window = tuple(slice(b, b + (n - 1) * k + 1 if n else b, k) for b, n, k in zip(start, count, step, strict=True))
    return np.ascontiguousarray(array[(*window, ...)]).reshape(count)


def read(reader, dtype, start, count, step=None, threads=1):
    """The same cut by an h5stz._core.Reader."""
    out = np.empty(count, dtype)
    reader.read(tuple(start), tuple(count), tuple(step or [1] * len(start)), out, threads)
    return out


@st.composite
def requests(draw, shape):
    """(start, count, step) of a box in an array of `shape`: single planes, whole axes, steps that are powers of two or not."""
    start, count, step = [], [], []
    for extent in shape:
        jump = draw(st.sampled_from([1, 1, 2, 4, 8, 16, 3, 7]))
        begin = draw(st.sampled_from([0, draw(st.integers(0, extent - 1)), extent - 1]))
        most = (extent - 1 - begin) // jump + 1
        start.append(begin)
        count.append(draw(st.sampled_from([1, most, draw(st.integers(1, most))])))
        step.append(jump)
    return tuple(start), tuple(count), tuple(step)


def random_request(rng, shape):
    """The same from a NumPy generator."""
    start, count, step = [], [], []
    for extent in shape:
        jump = int(rng.choice([1, 1, 2, 4, 8, 3]))
        begin = int(rng.integers(0, extent)) if rng.random() < 0.7 else 0
        most = (extent - 1 - begin) // jump + 1
        start.append(begin)
        count.append(int(rng.choice([1, most, rng.integers(1, most + 1)])))
        step.append(jump)
    return tuple(start), tuple(count), tuple(step)


def read_through_all_sources(tmp_path, stream, whole, all_requests):
    """Readers of the stream in memory, in a file and behind a callback give the parts of `whole`, and fetch the same bytes."""
    path, asked = tmp_path / "file", []
    path.write_bytes(b"before" + stream + b"behind")

    def fetch(offset, size):
        asked.append((offset, size))
        return stream[offset : offset + size]

    with open(path, "rb") as file:
        readers = [
            _core.Reader.of_bytes(stream, 0),
            _core.Reader.of_file(file.fileno(), 6, len(stream), 0),
            _core.Reader.of_callback(fetch, len(stream), 0),
        ]
        for request in all_requests:
            for reader in readers:
                assert read(reader, whole.dtype, *request).tobytes() == cut(whole, *request).tobytes()
    counts = [reader.stats()["bytes_read"] for reader in readers]
    assert counts[0] == counts[1] == counts[2] == sum(size for _, size in asked)


def volume(shape=(80, 72, 90), block="default", **options):
    """(stream, array that it decodes to) of a smooth float32 volume of several blocks on several levels."""
    z, y, x = np.meshgrid(*[np.arange(n, dtype="f4") for n in shape], indexing="ij")
    field = np.sin(z / 9) * np.cos(y / 7) + np.sin(x * y / 900) + 0.01 * np.sin(3.7 * x + 2.3 * y + 1.9 * z)
    options = options or {"absolute": 1e-3}
    stream = h5stz.compress(field.astype("f4"), block=block, **options)
    return stream, h5stz.decompress(stream)


def known_without_the_end(info):
    """What _core.info() says but for the content check, of which a reader that has read nothing yet may not know."""
    return {name: value for name, value in info.items() if name != "content_check"}

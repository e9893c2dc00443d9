"""The golden streams, what they decode to and the arrays they come from as plain files, for programs without Python.

    python tests/support/golden_files.py DIRECTORY

tests/native/golden_streams.cpp says what is in DIRECTORY, which may be copied to any machine: nothing depends on byte order.
Rewritten streams are among them: golden arrays with a run of elements changed.
"""

import json
import sys
from pathlib import Path

import numpy as np

TESTS = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path.insert(0, str(TESTS))

import h5stz  # noqa: E402
from golden import arrays  # noqa: E402
from h5stz import _core  # noqa: E402

GOLDEN = TESTS / "golden"


def option_text(array, options):
    """The options of a golden array as the C API reads them: what arrays.compress() hands to the codec."""
    array = np.asarray(array)
    chunks = array.shape if array.shape and array.size else None
    stz = h5stz.STZ(**{"fill_value": False, "integers": "lossy", **options}, data=array, chunks=chunks)
    return stz.resolved.text()


def read_with(stream, prepare):
    """The array that a reader gives on which `prepare` was called."""
    info, reader = h5stz.info(stream), _core.Reader.of_bytes(stream, 0)
    prepare(reader)
    array = np.empty(info.shape, info.dtype)
    reader.read((0,) * array.ndim, array.shape, (1,) * array.ndim, array, 1)
    return array


def changed(decoded, array):
    """`decoded` with an eighth of its elements, a run of them, replaced by others of the original."""
    result, count = decoded.copy(), decoded.size // 8
    result.reshape(-1)[count : 2 * count] = array.reshape(-1)[:count]
    return result


class Files:
    """Writes the files of streams into a directory, and at the end the list of them."""

    def __init__(self, directory):
        self.directory, self.lines = Path(directory), []

    def add(self, name, stream, array=None, options="-", previous="-"):
        """Writes the files of one stream; returns what it decodes to."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        decoded, info = h5stz.decompress(stream), h5stz.info(stream)
        contents = {"stz": stream, "decoded": decoded.tobytes()}
        if array is not None:
            contents["array"] = array.tobytes()
        for number, layer in enumerate(info.layers if len(info.layers) > 1 else (), 1):
            fewer = read_with(stream, lambda reader, error=layer.max_error: reader.max_error(error))
            contents[f"layers-{number}"] = fewer.tobytes()
        if info.enhanced:
            contents["plain"] = read_with(stream, lambda reader: reader.enhance(False)).tobytes()
        for suffix, content in contents.items():
            (self.directory / f"{name}.{suffix}").write_bytes(content)
        self.lines.append(f"{name} {options} {previous}\n")
        return decoded

    def close(self):
        """Writes the list."""
        (self.directory / "cases").write_text("".join(self.lines))


def write(directory):
    """Writes all files into a directory; raises ValueError if a stream is decoded to something else than its array."""
    files, cases = Files(directory), arrays.cases()
    encoded = {name: arrays.compress(*case) for name, case in cases.items()}
    for folder in sorted(GOLDEN.glob("version_*")):
        for name, expected in json.loads((folder / "arrays.json").read_text()).items():
            stream = (folder / f"{name}.stz").read_bytes()
            if encoded.get(name) != stream:  # of this version, the encoder writes them as they were written
                decoded = files.add(f"{folder.name}/{name}", stream)
                if arrays.digest(decoded) != expected["sha256"]:
                    raise ValueError(f"{folder.name}/{name} does not decode to its array")
    for name, stream in encoded.items():
        array, options = np.asarray(cases[name][0]), cases[name][1]
        text = option_text(array, options)
        decoded = files.add(f"encoded/{name}", stream, array, text)
        if h5stz.info(stream).mode != "lossless" and array.size > 8:
            after = changed(decoded, array)
            again = h5stz.rewrite(after, stream, **{"fill_value": False, "integers": "lossy", **options})
            files.add(f"rewritten/{name}", again, after, text, f"encoded/{name}")
    files.close()


if __name__ == "__main__":
    write(sys.argv[1])

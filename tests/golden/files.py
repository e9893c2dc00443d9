"""Golden HDF5 files: `python tests/golden/files.py NAME WRITER` writes files/NAME.h5 (.nc) with this Python, if it is not
there yet.

Each file was written once, by the copy of HDF5 that its name tells, and is kept for ever. files.json has, for each dataset,
the SHA-256 of what it holds, its client data, and by whom the file was written. Writers:

- `h5py`: every kind of dataset that h5py writes: types, byte orders, masks, growing, written again in part, layers,
  enhancement;
- `latest`: the same with libver="latest": other indexes of chunks;
- `netcdf`: a netCDF-4 file by netCDF4-python, under `h5stz run --compress`;
- `h5repack`: the datasets of `plain`, compressed by the program h5repack of the system;
- `c`: tests/programs/create.c, under `h5stz run --compress`.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np

FOLDER = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER.parent))

import h5stz  # noqa: E402
from golden import arrays  # noqa: E402

FILES = FOLDER / "files"
INDEX = FILES / "files.json"


def volume(seed=1, kind="f4", shape=(20, 24, 28)):
    """Waves with a little noise."""
    return arrays.of_dtype(arrays.waves(shape, 90, seed), kind)


def datasets():
    """{name: (array, chunks, options of STZ, options of create_dataset)} of datasets that are written at once."""
    hole = arrays.with_bits(volume(2), np.s_[4:9, 3:12, 5:20], 0x7FC00000)
    filled = volume(3)
    filled[:, 9:, :7] = -9999
    return {
        "absolute": (volume(), (10, 24, 28), {"absolute": 8.0}, {}),
        "regions": (volume(4), (20, 24, 28), {"absolute": 8.0, "block": "region", "content_check": True}, {}),
        "big_endian": (volume(5, ">f8"), (9, 10, 11), {"absolute": 4.0}, {}),
        "half": (volume(6, "f2", (40, 50)), (40, 25), {"absolute": 4.0}, {}),
        "complex": (volume(7, "c8", (30, 40)), (30, 40), {"absolute": 8.0}, {}),
        "pointwise": (np.abs(volume(8)) + 1, (20, 24, 28), {"pointwise_relative": 0.01}, {}),
        "lossless": (volume(9), (20, 24, 28), {"lossless": True}, {}),
        "integers": (volume(10, ">i2"), (20, 24, 28), {"absolute": 5.0}, {}),
        "lossy_integers": (volume(11, "u4"), (20, 24, 28), {"absolute": 5.0, "integers": "lossy"}, {}),
        "flags": (volume(12, "i1") > 60, (20, 24, 28), {"lossless": True}, {}),
        "nan": (hole, (20, 24, 28), {"absolute": 8.0}, {}),
        "fill_value": (filled, (20, 24, 28), {"absolute": 8.0}, {"fillvalue": np.float32(-9999)}),
        "layers": (volume(13), (20, 24, 28), {"absolute": 0.125, "layers": 3}, {}),
        "layer_bounds": (volume(13), (20, 24, 28), {"absolute": 0.125, "layer_bounds": (32.0, 4.0)}, {}),
        "enhanced": (arrays.walks((26, 27, 28), 7).astype("f4"), (26, 27, 28), {"absolute": 100.0, "enhance": "relaxed"}, {}),
        "checksum": (volume(14), (20, 24, 28), {"absolute": 8.0}, {"fletcher32": True}),
        "one_axis": (volume(15, "f4", (3000,)), (1100,), {"absolute": 2.0}, {}),
        "five_axes": (volume(16, "f4", (2, 3, 9, 8, 10)), (2, 2, 9, 8, 10), {"absolute": 20.0}, {}),
        "small_chunks": (volume(17, "f4", (20, 20)), (3, 4), {"absolute": 8.0}, {}),
    }


def write_latest(path):
    """As write_h5py, with the newest objects that this HDF5 has."""
    write_h5py(path, libver="latest")


def write_h5py(path, libver=None):
    """Written by h5py: at once, in parts, growing."""
    with h5py.File(path, "w", libver=libver) as file:
        for name, (array, chunks, options, others) in datasets().items():
            file.create_dataset(name, data=array, chunks=chunks, **h5stz.STZ(**options), **others)
        growing = h5stz.STZ(absolute=8.0, append_axis=0)
        frames = file.create_dataset("growing", (0, 24, 28), "f4", maxshape=(None, 24, 28), chunks=(8, 24, 28), **growing)
        for step, frame in enumerate(volume(18)):
            frames.resize(step + 1, axis=0)
            frames[step] = frame
    for first in range(3):
        with h5py.File(path, "a", libver=libver) as file:  # chunks leave the cache and are read again
            if "patched" not in file:
                file.create_dataset("patched", data=volume(19), chunks=(20, 24, 28), **h5stz.STZ(absolute=8.0))
            file["patched"][first : first + 9, 3 + first, 5:20] = volume(20)[:9, 0, :15]


def write_netcdf(path):
    """Written by the netCDF library."""
    program = f"""
import netCDF4, numpy as np, sys
sys.path.insert(0, {str(FOLDER.parent)!r})
from golden.files import volume
with netCDF4.Dataset({str(path)!r}, "w") as file:
    for name, size in (("time", None), ("lat", 24), ("lon", 28)):
        file.createDimension(name, size)
    file.createVariable("lat", "f8", ("lat",))[:] = np.arange(24.0)
    whole = file.createVariable("t2m", "f4", ("time", "lat", "lon"), chunksizes=(20, 24, 28), fill_value=-9999.0)
    whole[:] = np.ma.masked_less(volume(21), -60)
    series = file.createVariable("series", "f8", ("time", "lat", "lon"), chunksizes=(5, 24, 28), endian="big")
    for step in range(20):
        series[step] = volume(22)[step]
"""
    rules = ["--compress", "/t2m=absolute:8", "--compress", "/series=absolute:4"]
    h5stz_run(*rules, "--", sys.executable, "-c", program)


def write_h5repack(path):
    """Compressed by h5repack."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.h5"
        with h5py.File(plain, "w", libver=("earliest", "v110")) as file:
            for name in ("absolute", "big_endian", "integers", "fill_value", "one_axis"):
                array, chunks, _, others = datasets()[name]
                file.create_dataset(name, data=array, chunks=chunks, **others)
        words = h5stz.cd_values(absolute=8.0)
        filter_ = f"UD={h5stz.FILTER_ID},0,{len(words)}," + ",".join(map(str, words))
        environment = {**os.environ, "HDF5_PLUGIN_PATH": h5stz.plugin_path()}
        subprocess.run(["h5repack", "-f", filter_, plain, path], check=True, env=environment)


def write_c(path):
    """Written by a program in C."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "create"
        source = FOLDER.parent / "programs" / "create.c"
        subprocess.run(["h5cc", "-shlib", "-o", program, source, "-lm"], check=True, cwd=folder)
        h5stz_run("--compress", "/*=absolute:1e-2", "--", str(program), str(path))


def h5stz_run(*words):
    """h5stz run, of this Python."""
    subprocess.run([sys.executable, "-m", "h5stz", "run", *words], check=True)


WRITERS = {"h5py": write_h5py, "latest": write_latest, "netcdf": write_netcdf, "h5repack": write_h5repack, "c": write_c}


def compressed(file):
    """{path: dataset} of the datasets with the filter."""
    found = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset) and str(h5stz.FILTER_ID) in item._filters:
            found[name] = item

    file.visititems(visit)
    return found


def described(dataset):
    """What files.json has of a dataset."""
    array = dataset[...]
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "sha256": hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest(),
        "cd_values": list(dataset._filters[str(h5stz.FILTER_ID)]),
    }


def main(name, writer):
    """Writes a file and its entry, unless it is there."""
    FILES.mkdir(exist_ok=True)
    index = json.loads(INDEX.read_text()) if INDEX.exists() else {}
    path = FILES / f"{name}{'.nc' if writer == 'netcdf' else '.h5'}"
    if path.name in index:
        raise SystemExit(f"{path.name} is there, and is never written again")
    WRITERS[writer](path)
    with h5py.File(path) as file:
        found = {key: described(dataset) for key, dataset in compressed(file).items()}
    assert found
    by = f"{writer}, h5stz {h5stz.__version__}, h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version} of h5py"
    index[path.name] = {"written by": by, "datasets": found}
    INDEX.write_text(arrays.in_lines(index, 3) + "\n")
    print(f"{path}: {path.stat().st_size} bytes, {len(found)} datasets")


if __name__ == "__main__":
    main(*sys.argv[1:])

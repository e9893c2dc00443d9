"""Speeds in memory: fields and settings against the peers; chunks, kinds of data and blocks of h5stz alone.

Every function returns records (dictionaries with a `part`) for speed_tables.py and the JSON file.
"""

import dataclasses
from pathlib import Path

import numpy as np

import fields
import h5stz
import speed_peers
import synthetic
import timing

RELATIVE = 1e-3  # bound of the parts that have one only
NOISE_RELATIVE = 1e-4
MASKED_SHARE = 0.3
EFFORTS = (5, 3)  # of chunks
SETTINGS = {
    "effort 3": {"effort": 3},
    "throughput, effort 3": {"effort": 3, "block": "throughput"},
    "throughput, effort 1": {"effort": 1, "block": "throughput"},
}
NOISY_FIELD = "radio_l1448_13co"


def volumes(edge, directory, names):
    """{name: float32 array}: the generated fields, with a directory also those of the ratio figure, or those named."""
    arrays = synthetic.volumes(edge)
    if directory:
        arrays |= fields.comparison(directory)
    unknown = set(names or ()) - set(arrays)
    if unknown:
        raise SystemExit(f"no such field: {', '.join(sorted(unknown))}; there are {', '.join(arrays)}")
    return {name: arrays[name] for name in names} if names else arrays


def against_peers(arrays, repeats, threads, peer_names):
    """Every codec on every field at every bound: MB/s, and where pysz is among the peers the speed over it.

    pysz can only make a new array: what h5stz decompresses into the caller's is compared with that too.
    """
    return compared("fields", arrays, repeats, lambda bound: speed_peers.codecs(bound, threads, peer_names))


def settings(arrays, repeats):
    """Settings of h5stz in place of the default, one thread, over pysz as in the fields part."""

    def table(bound):
        own = [speed_peers.ours(bound, name=name, **options) for name, options in SETTINGS.items()]
        return [*own, speed_peers.pysz(bound)]

    return compared("settings", arrays, repeats, table)


def compared(part, arrays, repeats, codecs):
    """The records of a part: those codecs that `codecs` has for a bound."""
    records = []
    for name, array in arrays.items():
        for relative in fields.RELATIVE_BOUNDS:
            bound = relative * fields.value_range(array)
            table = codecs(bound)
            speeds = speed_peers.measure(array, bound, table, repeats)
            reference = next((s for c, s in zip(table, speeds, strict=True) if c.name == speed_peers.REFERENCE), None)
            for codec, speed in zip(table, speeds, strict=True):
                record = {"part": part, "field": name, "relative": relative, "bound": bound, "codec": codec.name}
                record |= {"threads": codec.threads, "ratio": speed.ratio, "error_over_bound": speed.error_over_bound}
                records.append(record | rates(array.nbytes, speed) | over(reference, speed))
    return records


def rates(size, speed):
    """MB/s of each operation, None where there is none."""
    seconds = {operation: getattr(speed, operation) for operation in speed_peers.OPERATIONS}
    return {key: value and timing.megabytes_per_second(size, value) for key, value in seconds.items()}


def over(reference, speed):
    """Speed over that of the reference, by operation; nothing without one."""
    if reference is None:
        return {}
    theirs = {"compress": reference.compress, "into": reference.fresh, "fresh": reference.fresh}
    found = {operation: getattr(speed, operation) for operation in theirs}
    return {f"{key} over pysz": value and theirs[key] / value for key, value in found.items()}


@dataclasses.dataclass
class Load:
    """Arrays of one shape and dtype to compress one after the other, with options of `h5stz.compress`."""

    name: str
    arrays: list
    options: dict

    @property
    def samples(self):
        return sum(array.size for array in self.arrays)


def measure_loads(loads, repeats):
    """{load's name: {"compress", "into": samples/s, "ratio"}} with h5stz, one thread, repeats interleaved."""
    actions, streams = {}, {}
    for load in loads:
        streams[load.name] = compress_all(load)
        out = np.zeros_like(load.arrays[0])
        actions[load.name, "compress"] = lambda load=load: compress_all(load)
        actions[load.name, "into"] = lambda load=load, out=out: decompress_all(streams[load.name], out)
    seconds = timing.interleaved(actions, repeats)
    result = {}
    for load in loads:
        size, stored = sum(array.nbytes for array in load.arrays), sum(map(len, streams[load.name]))
        speeds = {operation: load.samples / seconds[load.name, operation] for operation in ("compress", "into")}
        result[load.name] = speeds | {"ratio": size / stored, "samples": load.samples}
    return result


def compress_all(load):
    return [h5stz.compress(array, threads=1, **load.options) for array in load.arrays]


def decompress_all(streams, out):
    for stream in streams:
        h5stz.decompress(stream, out=out, threads=1)


def relative_records(part, loads, repeats, field):
    """A record for each load; speeds and ratio also over those of the first load."""
    found = measure_loads(loads, repeats)
    first = found[loads[0].name]
    return [
        {"part": part, "field": field, "case": name}
        | speeds
        | {f"{key} over {loads[0].name}": speeds[key] / first[key] for key in ("compress", "into", "ratio")}
        for name, speeds in found.items()
    ]


def chunks(arrays, edges, repeats):
    """Chunks of some edges cut from the volumes, beside the volume as one with the same effort; the volume's bound for all.

    Of small chunks as many as make a quarter of the volume, evenly spread.
    """
    records = []
    for name, array in arrays.items():
        pieces = {edge: cut(array, edge) for edge in edges if edge < min(array.shape)}
        for effort in EFFORTS:
            options = {"absolute": RELATIVE * fields.value_range(array), "effort": effort}
            loads = [Load("whole", [array], options)]
            loads += [Load(f"chunks of {edge}", found, options) for edge, found in pieces.items()]
            records += [record | {"effort": effort} for record in relative_records("chunks", loads, repeats, name)]
    return records


def cut(array, edge):
    """Copies of the chunks of edge^3 samples that lie in the array whole: all of them, or a quarter spread evenly."""
    corners = np.stack(np.meshgrid(*(np.arange(0, extent - edge + 1, edge) for extent in array.shape), indexing="ij"), -1)
    corners = corners.reshape(-1, 3)
    wanted = max(8, len(corners) // 4)
    picked = corners[np.linspace(0, len(corners) - 1, min(wanted, len(corners))).astype(int)]
    return [array[tuple(slice(low, low + edge) for low in corner)].copy() for corner in picked.tolist()]


def blocks(arrays, repeats):
    """block="region" beside the default."""
    records = []
    for name, array in arrays.items():
        options = {"absolute": RELATIVE * fields.value_range(array)}
        loads = [Load(block, [array], options | {"block": block}) for block in ("default", "region")]
        records += relative_records("blocks", loads, repeats, name)
    return records


def kinds(edge, repeats, directory):
    """Kinds of data of about edge^3 samples each, beside a float32 volume.

    All are as rough from sample to sample as the volume, at the same relative bound; but noise, where codes are large.
    """
    reference = synthetic.rough_field(edge**3, 3)
    bound = {"absolute": RELATIVE * fields.value_range(reference)}
    loads = [Load("float32 3-D", [reference], bound), Load("float64", [reference * np.float64(1.1)], bound)]
    for rank in (1, 2, 4):
        array = synthetic.rough_field(edge**3, rank)
        loads.append(Load(f"{rank}-D", [array], {"absolute": RELATIVE * fields.value_range(array)}))
    loads += [Load(name, [np.where(where, np.float32(np.nan), reference)], bound) for name, where in masks(edge).items()]
    short, long = (np.rint(scale * reference).astype(kind) for scale, kind in ((3000, np.int16), (1e6, np.int32)))
    loads.append(Load("int16, bound", [short], {"absolute": RELATIVE * fields.value_range(short), "integers": "lossy"}))
    exact = {"int16": short, "int32": long, "float32": reference}
    loads += [Load(f"{name}, lossless", [array], {"lossless": True}) for name, array in exact.items()]
    noise = np.random.default_rng(11).standard_normal(reference.shape, np.float32)
    loads.append(Load("noise", [noise], {"absolute": NOISE_RELATIVE * fields.value_range(noise)}))
    if directory:
        radio = np.load(Path(directory) / f"{NOISY_FIELD}.npy").astype(np.float32)
        loads.append(Load("radio", [radio], {"absolute": NOISE_RELATIVE * fields.value_range(radio)}))
    return relative_records("kinds", loads, repeats, "grf")


def masks(edge):
    """{name: which samples of a volume are NaN}: MASKED_SHARE of them anywhere, in a box, in smooth regions."""
    shape = (edge,) * 3
    box = np.zeros(shape, bool)
    side = round(edge * MASKED_SHARE ** (1 / 3))
    low = (edge - side) // 3
    box[(slice(low, low + side),) * 3] = True
    land = synthetic.gaussian_field(edge, 12, 3.0)
    return {
        "30 % NaN": np.random.default_rng(13).random(shape) < MASKED_SHARE,
        "box of NaN": box,
        "land of NaN": land > np.quantile(land, 1 - MASKED_SHARE),
    }

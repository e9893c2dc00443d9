"""Compress and decompress speed on generated 256^3 float32 fields against SZ3 3.4, in memory, one thread.

The repeats of all codecs are interleaved, so that a busy machine slows all of them; the figures are medians, and
their ratio over SZ3 is what can be compared between machines. --hdf5plugin adds SZ3, ZFP and SPERR of hdf5plugin, and
h5stz again, through an HDF5 file in memory.
"""

import statistics
import time

import h5stz
import numpy as np

import fields
import peers
import report
import synthetic
import targets


def h5stz_codec(bound):
    return lambda array: h5stz.compress(array, absolute=bound), lambda stream, array: h5stz.decompress(stream)


def sz3_codec(bound):
    return lambda array: peers.sz3_compress(array, bound), lambda stream, array: peers.sz3_decompress(stream, array)


def hdf5_codec(options):
    return lambda array: peers.write_hdf5(array, options), lambda file, array: peers.read_hdf5(file)[1]


def codecs(bound, with_hdf5plugin):
    """{name: (compress(array) -> stream, decompress(stream, array) -> array)}."""
    result = {"h5stz": h5stz_codec(bound), "sz3": sz3_codec(bound)}
    if with_hdf5plugin:
        import hdf5plugin

        result["h5stz in HDF5"] = hdf5_codec(h5stz.STZ(absolute=bound))
        result["SZ3 of hdf5plugin"] = hdf5_codec(hdf5plugin.SZ3(absolute=bound))
        result["ZFP of hdf5plugin"] = hdf5_codec(hdf5plugin.Zfp(accuracy=bound))
        result["SPERR of hdf5plugin"] = hdf5_codec(hdf5plugin.Sperr(absolute=bound, swap=True))
    return result


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


def measure(array, bound, repeats, with_hdf5plugin):
    """{codec: (compress MB/s, decompress MB/s, error / bound)}, medians of interleaved repeats after one that is not
    counted.
    """
    table = codecs(bound, with_hdf5plugin)
    times = {name: ([], []) for name in table}
    errors = {}
    for repeat in range(repeats + 1):
        for name, (compress, decompress) in table.items():
            encode, stream = timed(compress, array)
            decode, decoded = timed(decompress, stream, array)
            if repeat == 0:
                errors[name] = float(np.abs(array - np.asarray(decoded).reshape(array.shape)).max()) / bound
            else:
                times[name][0].append(encode)
                times[name][1].append(decode)
    megabytes = array.nbytes / 1e6
    return {name: (*(megabytes / statistics.median(part) for part in times[name]), errors[name]) for name in table}


def main():
    parser = report.parser(__doc__, directory=False)
    parser.add_argument("--repeats", type=int, default=5, help="default %(default)s")
    parser.add_argument("--edge", type=int, default=synthetic.EDGE, help="samples per axis; default %(default)s")
    parser.add_argument("--hdf5plugin", action="store_true", help="add the filters of hdf5plugin")
    arguments = parser.parse_args()

    records, rows = [], []
    for name, array in synthetic.volumes(arguments.edge).items():
        for relative in fields.RELATIVE_BOUNDS:
            bound = relative * fields.value_range(array)
            speeds = measure(array, bound, arguments.repeats, arguments.hdf5plugin)
            for codec, (encode, decode, error) in speeds.items():
                record = {"field": name, "relative": relative, "codec": codec, "compress": encode, "decompress": decode}
                record |= {"error_over_bound": error}
                record |= {
                    "compress over SZ3": encode / speeds["sz3"][0],
                    "decompress over SZ3": decode / speeds["sz3"][1],
                }
                records.append(record)
                row = [name, f"{relative:g}", codec, f"{encode:.0f}", f"{decode:.0f}"]
                rows.append([*row, f"{record['compress over SZ3']:.2f}", f"{record['decompress over SZ3']:.2f}"])
    header = ["field", "bound", "codec", "compress MB/s", "decompress MB/s", "compress / SZ3", "decompress / SZ3"]
    print(report.markdown(header, rows), end="\n\n")

    checks = report.Checks(have_targets=arguments.edge == synthetic.EDGE)
    ours = [record for record in records if record["codec"] == "h5stz"]
    for what in ("compress", "decompress"):
        ratios = [record[f"{what} over SZ3"] for record in ours]
        checks.at_least(f"geometric mean, {what} speed over SZ3", report.geometric_mean(ratios), targets.SPEED_RATIO)
        print(f"least {what} speed over SZ3: {min(ratios):.4g}")
    report.finish(arguments, records, checks)


if __name__ == "__main__":
    main()

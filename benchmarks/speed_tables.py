"""Tables of the speed figure and its checks against targets.py, one function for each part; see speed_cases.py.

Speeds in the checks are medians of one run; where a part has several fields the check is on their geometric mean.
"""

import hdf5_throughput
import report
import speed_cases
import speed_peers
import synthetic
import targets

NAMES = {"compress": "compress", "into": "decompress(out=)", "fresh": "decompress"}
OVER = f"speed over {speed_peers.REFERENCE}"


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def mean(records, key):
    return report.geometric_mean([record[key] for record in records])


def check(what, value, target, checks):
    """Compares with a target, or only prints a figure that has none."""
    if target is None:
        print(f"{what}: {value:.4g}", flush=True)
    else:
        checks.at_least(what, value, target)


def fields_table(records, title=None):
    """Speeds of all codecs; then, if pysz ran, speeds over it."""
    header = ["field", "bound", "codec", "threads", "ratio", *(f"{name}, MB/s" for name in NAMES.values())]
    header += [f"{name} / {speed_peers.REFERENCE}" for name in NAMES.values()]
    rows = []
    for r in records:
        row = [r["field"], f"{r['relative']:g}", r["codec"], str(r["threads"]), number(r["ratio"], 1)]
        row += [number(r[key], 0) for key in NAMES]
        rows.append(row + [number(r.get(f"{key} over pysz")) for key in NAMES])
    print(f"\n{title or 'Fields, one chunk, in memory'}\n\n{report.markdown(header, rows)}\n", flush=True)


def generated(records, threads=1):
    """The records of h5stz in memory on the generated fields."""
    return [r for r in records if r["codec"] == "h5stz" and r["threads"] == threads and r["field"] in synthetic.VOLUMES]


def check_fields(records, checks):
    """The bound; speed over pysz with one thread; speed with two threads over one."""
    own = [r for r in records if r["codec"] in ("h5stz", speed_peers.FILTERS["h5stz"])]
    checks.promise("largest error / bound of h5stz", max(r["error_over_bound"] for r in own), 1)
    single = generated(records)
    check_over_pysz("", single, targets.SPEED, checks)
    if single:
        share = mean(single, "fresh") / mean(single, "into")
        checks.at_least(f"geometric mean, {NAMES['fresh']} speed over {NAMES['into']}", share, targets.FRESH)
    double = generated(records, threads=2)
    for key in ("compress", "into") if single and double else ():
        gain = mean(double, key) / mean(single, key)
        checks.at_least(f"geometric mean, {NAMES[key]} speed with two threads over one", gain, targets.TWO_THREADS)


def check_over_pysz(name, records, wanted, checks):
    """`wanted`: {operation: (geometric mean, least)} of speeds over pysz; `name` opens the lines."""
    for key, (least_mean, least) in wanted.items():
        ratios = [r[f"{key} over pysz"] for r in records if f"{key} over pysz" in r]
        if ratios:
            check(f"{name}geometric mean, {NAMES[key]} {OVER}", report.geometric_mean(ratios), least_mean, checks)
            check(f"{name}least, {NAMES[key]} {OVER}", min(ratios), least, checks)


def settings(records, checks):
    """Speed over pysz of each setting; bytes over those of another one."""
    fields_table(records, "Settings, one chunk, in memory")
    found = {name: [r for r in records if r["codec"] == name] for name in speed_cases.SETTINGS}
    for name, own in found.items():
        check_over_pysz(f"{name}: ", own, targets.SETTING_SPEED[name], checks)
        if name in targets.SETTING_BYTES:
            other, most = targets.SETTING_BYTES[name]
            checks.at_most(f"{name}: bytes over {other}", mean(found[other], "ratio") / mean(own, "ratio"), most)


def check_isa(records, checks):
    """Speed over pysz with the kernels of one instruction set."""
    for isa in dict.fromkeys(r["isa"] for r in records):
        single = generated([r for r in records if r["isa"] == isa])
        for key in ("compress", "into") if single else ():
            what = f"geometric mean, {NAMES[key]} {OVER} with {isa} alone"
            check(what, mean(single, f"{key} over pysz"), targets.ISA_SPEED.get(isa, {}).get(key), checks)


def loads_table(title, records):
    """Samples/s and ratio of h5stz, each also over those of the first case of the field."""
    first = records[0]["case"]
    header = ["field", "case", "compress, Msamples/s", "decompress(out=), Msamples/s", "ratio"]
    header += [f"{name} / {first}" for name in ("compress", "decompress(out=)", "ratio")]
    rows = []
    for r in records:
        row = [r["field"], r["case"], number(r["compress"] / 1e6, 1), number(r["into"] / 1e6, 1), number(r["ratio"], 1)]
        rows.append(row + [number(r[f"{key} over {first}"], 3) for key in ("compress", "into", "ratio")])
    print(f"\n{title}\n\n{report.markdown(header, rows)}\n", flush=True)


def check_loads(records, wanted, checks, name=""):
    """`wanted`: {case: {"compress", "into", "ratio": target}}; other cases and keys are printed only if speeds."""
    first = records[0]["case"]
    for case in dict.fromkeys(r["case"] for r in records if r["case"] != first):
        found = [r for r in records if r["case"] == case]
        for key in ("compress", "into", "ratio"):
            target = wanted.get(case, {}).get(key)
            if key != "ratio" or target is not None:
                what = "ratio" if key == "ratio" else f"{NAMES[key]} speed"
                check(f"{name}{case}, {what} over {first}", mean(found, f"{key} over {first}"), target, checks)


def both_ways(least):
    return dict(zip(("compress", "into"), least, strict=True))


def chunks(records, checks):
    for effort in dict.fromkeys(r["effort"] for r in records):
        own = [r for r in records if r["effort"] == effort]
        loads_table(f"Chunks cut from a volume, bound {speed_cases.RELATIVE:g}, effort {effort}", own)
        wanted = {f"chunks of {edge}": both_ways(least) for edge, least in targets.CHUNK_SPEED[effort].items()}
        check_loads(own, wanted, checks, f"effort {effort}, ")


def blocks(records, checks):
    loads_table(f'block="region" beside the default, bound {speed_cases.RELATIVE:g}', records)
    check_loads(records, {"region": targets.REGION}, checks)


def kinds(records, checks):
    loads_table(f"Kinds of data, bound {speed_cases.RELATIVE:g}, noise {speed_cases.NOISE_RELATIVE:g}", records)
    check_loads(records, {kind: both_ways(least) for kind, least in targets.KIND_SPEED.items()}, checks)


def memory(records, checks):
    rows = [[r["field"], str(r["threads"]), number(r["compress"]), number(r["decompress"])] for r in records]
    header = ["field", "threads", "compress", "decompress(out=)"]
    print(f"\nPeak memory above input and output, in arrays\n\n{report.markdown(header, rows)}\n", flush=True)
    for operation in ("compress", "decompress"):
        checks.at_most(f"peak memory, {operation}, arrays", max(r[operation] for r in records), targets.PEAK_MEMORY)


def hdf5(records, checks):
    """Each way through h5py, by effort and chunks: over the same chunks in memory; with one thread, over other filters."""
    for effort, edge in dict.fromkeys((r["effort"], r["edge"]) for r in records):
        own = [r for r in records if (r["effort"], r["edge"]) == (effort, edge)]
        chunk, size = " x ".join(map(str, own[0]["chunks"])), own[0]["array_bytes"] / 1e6
        title = f"{size:.0f} MB in chunks of {chunk} through h5py, bound {speed_cases.RELATIVE:g}, effort {effort}"
        header = ["codec", "threads", "write, MB/s", "read, MB/s"]
        rows = [[r["codec"], str(r["threads"]), number(r["write"], 0), number(r["read"], 0)] for r in own]
        print(f"\n{title}\n\n{report.markdown(header, rows)}\n", flush=True)
        check_hdf5(own, f"h5py, chunks of {edge}, effort {effort}", targets.HDF5_OVER_PEERS.get((effort, edge), {}), checks)


def check_hdf5(records, name, wanted, checks):
    """`wanted`: {peer: {"write", "read": target}}."""
    found, ours = {(r["codec"], r["threads"]): r for r in records}, speed_peers.FILTERS["h5stz"]
    checks.promise(f"{name}, largest error / bound", max(r["error_over_bound"] for r in records if r["codec"] == ours), 1)
    for what in ("write", "read"):
        for threads in (key[1] for key in found if key[0] == ours):
            share = found[ours, threads][what] / found["h5stz in memory", threads][what]
            over = f"{name}, {what}, over the same chunks in memory, {threads} threads"
            checks.at_least(over, share, targets.HDF5_OVER_MEMORY)
        for peer in hdf5_throughput.PEERS:
            theirs = found.get((speed_peers.FILTERS[peer], 1))
            if theirs and (ours, 1) in found:
                gain = found[ours, 1][what] / theirs[what]
                check(f"{name}, {what}, over {speed_peers.FILTERS[peer]}", gain, wanted.get(peer, {}).get(what), checks)

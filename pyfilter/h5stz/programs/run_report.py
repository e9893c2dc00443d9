"""The report of `h5stz run` after the program has ended: its reads, and the datasets that it created."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from h5stz.counts import counted
from h5stz.programs import compress_rules

_MOST_PATHS = 8
_BY_HDF5 = (
    "HDF5 alone reads whole datasets with one thread, what is not compressed with h5stz, chunks that its chunk cache has room "
    "for, and what docs/region_reads_c.md lists"
)

#: Why threads left reads or writes alone, by what the library inside the program calls it (filter/region/whole_dataset.h).
WAYS = {
    "one thread": "no threads are wanted (--threads)",
    "part": "not of a whole dataset, or not contiguous in memory",
    "library": "this HDF5 lacks functions that threads need, or has no plug-in",
    "dataset": "h5stz is not the only filter of the dataset",
    "conversion": "of another type in memory than in the file",
    "transfer": "with a data transform",
    "driver": "in a file of parallel HDF5",
    "swmr": "in a file that is open for SWMR",
    "raw edges": "of a dataset whose edge chunks are not filtered",
    "small": "too small to gain",
    "cache": "possibly in the chunk cache of HDF5",
    "stored": "of a dataset that was written before",
    "missing": "of a dataset with chunks that are not in the file or not filtered",
    "memory": "there was no memory",
    "refused": "HDF5 refused an argument, or h5stz does not know the options of the dataset",
    "failed": "a chunk could not be read, decoded, compressed or stored",
}


def lines(sums: Mapping[str, Any], stats: bool, rules: Sequence[compress_rules.Rule]) -> list[str]:
    """The report as lines of text.

    Args:
        sums: the dict that run.run() returned.
        stats: True reports all reads, writes and datasets; False only rules without effect.
        rules: the compress_rules.Rule that were given to run.run().
    """
    said = []
    if stats and "reads" in sums:
        said.append(
            f"{counted(sums['reads'], 'read')}, {sums['reads_through_hdf5']} of them by HDF5 alone; "
            f"blocks decoded / present: {sums['blocks_decoded']} / {sums['blocks_present']}; "
            f"stored bytes used: {sums['bytes_used']}"
        )
        if sums["reads_through_hdf5"]:
            said.append(_BY_HDF5)
    elif stats and not sums.get("datasets"):
        said.append("the program did not read any dataset with an HDF5 that h5stz can reach (docs/region_reads.md)")
    if stats:
        for kind in ("read", "write"):
            said += _ways(kind, sums)
    created = sums.get("datasets", [])
    if stats and rules:
        paths = [path for path, _, outcome in created if outcome == "compressed"]
        said.append(f"datasets compressed: {len(paths)}" + _listed(paths))
    for number, rule in enumerate(rules):
        outcomes = [(path, outcome) for path, which, outcome in created if which == number]
        left: dict[str, list[str]] = {}
        for path, outcome in outcomes:
            if outcome != "compressed":
                left.setdefault(outcome, []).append(path)
        nothing = len(outcomes) == sum(map(len, left.values()))
        if not outcomes:
            said.append(f"--compress {rule.text!r}: the program created no dataset that it matches")
        elif stats or nothing:
            for outcome, paths in left.items():
                reason = compress_rules.REASONS.get(outcome, outcome)
                said.append(f"--compress {rule.text!r}: not compressed as {reason}: {len(paths)}{_listed(paths)}")
    return said


def _ways(kind: str, sums: Mapping[str, Any]) -> list[str]:
    """What threads read or wrote, and why not the rest."""
    said = []
    for way, why in {"threads": "by threads", **{way: f"not by threads, as {why}" for way, why in WAYS.items()}}.items():
        if requests := sums.get(f"{kind}/{way}/requests"):
            said.append(f"{counted(requests, kind)} {why}: {counted(sums[f'{kind}/{way}/bytes'], 'byte')}")
    return said


def _listed(paths: Iterable[str]) -> str:
    """The first few paths, each once, in their order."""
    names = list(dict.fromkeys(path.encode(errors="surrogateescape").decode(errors="replace") for path in paths))
    shown = ", ".join(names[:_MOST_PATHS]) + (", ..." if len(names) > _MOST_PATHS else "")
    return f" ({shown})" if names else ""

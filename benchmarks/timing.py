"""CPU time of `import h5stz` beside that of `import h5py`."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile

from shared import report


def import_seconds(modules, repeats):
    """{module: CPU seconds of processes that import it, a list}. The processes take turns, and find compiled bytecode."""
    seconds = {module: [] for module in modules}
    with tempfile.TemporaryDirectory() as bytecode:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = bytecode
        for repeat in range(repeats + 1):
            for module in modules:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                subprocess.run([sys.executable, "-c", f"import {module}"], check=True, env=environment)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                if repeat:  # the first one compiles
                    seconds[module].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return seconds


def main():
    arguments = report.parser(__doc__, directory=False, repeats=15).parse_args()
    found = import_seconds(("h5py", "h5stz"), arguments.repeats)
    records = [{"module": name, "median": statistics.median(all_), "least": min(all_)} for name, all_ in found.items()]
    report.table(records, {"import": "{module}", "median, s": "{median:.3f}", "least, s": "{least:.3f}"})
    of_h5py, of_h5stz = records
    print(
        f"ratio {of_h5stz['median'] / of_h5py['median']:.2f} of medians, {of_h5stz['least'] / of_h5py['least']:.2f} of minima"
    )
    report.finish(arguments, records, report.Checks())


if __name__ == "__main__":
    main()

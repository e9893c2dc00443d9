"""Makes the mistakes of mistakes.py one after the other, and runs the test that must notice each.

    python tests/seeded/run.py [TEXT...]      those that have TEXT in their description or file

Works in this checkout, which must have no uncommitted changes and be installed (pip install -e .); each file is put back
afterwards. A mistake in filter/ is compiled, which takes a minute. Exits with 1 if a mistake went unnoticed.
"""

import subprocess
import sys
from pathlib import Path

from mistakes import MISTAKES, Mistake

ROOT = Path(__file__).resolve().parents[2]


def install() -> None:
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", "."]
    subprocess.run(command, cwd=ROOT, check=True)


def is_noticed(mistake: Mistake) -> bool:
    path = ROOT / mistake.file
    text = path.read_text()
    compiled = mistake.file.startswith("filter/")
    path.write_text(text.replace(mistake.before, mistake.after))
    try:
        if compiled:
            install()
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", f"tests/{mistake.test}"]
        return subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode not in (0, 5)
    finally:
        path.write_text(text)


def main(wanted: list[str]) -> int:
    if subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=ROOT, capture_output=True, check=True).stdout:
        sys.exit("commit or stash your changes first: files are changed and put back")
    chosen = [one for one in MISTAKES if not wanted or any(text in one.what or text in one.file for text in wanted)]
    missed = 0
    try:
        for mistake in chosen:
            noticed = is_noticed(mistake)
            missed += not noticed
            print("noticed  " if noticed else "UNNOTICED", f"{mistake.file}: {mistake.what} (tests/{mistake.test})", flush=True)
    finally:
        if any(one.file.startswith("filter/") for one in chosen):
            install()
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

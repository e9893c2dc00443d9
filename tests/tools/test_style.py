"""One style for all C++ (clang-format) and all Python (ruff), of the versions that pyproject.toml pins."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from support.paths import ROOT, TESTS
from support.requirements import needs_packages

FOLDERS = ("filter", "fuzz", "tests/native")


def tool(name):
    """The path of a program beside this Python, or on the PATH."""
    return shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)


@pytest.mark.skipif(not tool("clang-format"), reason="clang-format is not installed (pip install '.[check]')")
def test_cpp_is_formatted():
    sources = [str(path) for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*")) if path.suffix in {".h", ".cpp"}]
    sources = [path for path in sources if "/filter/include/" not in path]  # public headers are laid out by hand
    done = subprocess.run([tool("clang-format"), "--dry-run", "-Werror", *sources], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000] + "\nclang-format -i repairs it"


@pytest.mark.skipif(not tool("ruff"), reason="ruff is not installed (pip install '.[check]')")
@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=" ".join)
def test_python_is_formatted_and_has_no_findings(command):
    done = subprocess.run([tool("ruff"), *command, "--quiet", "--no-cache", "."], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[:4000] + done.stderr[:2000]


@needs_packages("yaml")
def test_commit_hooks_have_the_pinned_versions():
    import yaml

    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    versions = {hook["id"]: repository["rev"] for repository in hooks if "rev" in repository for hook in repository["hooks"]}
    extras = (ROOT / "pyproject.toml").read_text()
    for tool_name, hook in (("ruff", "ruff-check"), ("ruff", "ruff-format"), ("clang-format", "clang-format")):
        assert f'"{tool_name}=={versions[hook].removeprefix("v")}"' in extras


def test_names_of_test_files_differ():
    """pytest imports them as modules of one level."""
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert not [name for name, count in names.items() if count > 1]

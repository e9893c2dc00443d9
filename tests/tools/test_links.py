"""Links between the project's documents lead to files and headings that exist."""

import re
import subprocess

import pytest

from support.paths import ROOT

DOCUMENTS = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "filter/*.md",
        "fuzz/*.md",
        "tests/*.md",
        "benchmarks/*.md",
        "news/*.md",
        "examples/*.md",
    )
    for path in ROOT.glob(pattern)
)


def prose(document):
    """The text of a document without its code blocks."""
    return re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(document):
    """The anchors that GitHub, GitLab and PyPI give to the headings of a document."""
    headings = re.findall(r"^#+ (.*)$", prose(document), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_documents_are_found():
    assert {"README.md", "format.md"} <= {document.name for document in DOCUMENTS}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        goal = document.parent / name if name else document
        assert goal.exists(), target
        assert not anchor or anchor in anchors(goal), target


def test_every_decision_is_listed_and_has_the_same_parts():
    index = (ROOT / "docs/design-notes.md").read_text()
    records = sorted((ROOT / "docs/decisions").glob("*.md"))
    assert records
    for number, record in enumerate(records, 1):
        text = record.read_text()
        assert text.startswith(f"# {number}. ") and f"](decisions/{record.name})" in index
        parts = ["Context", "Decision", "Figures", "What was tried and failed"]
        assert re.findall(r"^## (.*)$", text, flags=re.MULTILINE) == parts, record.name


def test_every_page_is_listed():
    listed = set(re.findall(r"\]\(([\w./-]+)\)", (ROOT / "docs/README.md").read_text()))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} | {
        f"gallery/{path.name}" for path in (ROOT / "docs/gallery").glob("*.py")
    }
    assert pages - {"README.md"} <= listed


#: Maps of the code, for people who change it.
MAPS = ["CONTRIBUTING.md", "filter/README.md", "tests/README.md", "fuzz/README.md"]


@pytest.mark.parametrize("document", MAPS)
def test_files_and_names_of_the_maps_exist(document):
    """Names in capitals stand for any name."""
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    code = [ROOT / file for file in files if re.search(r"\.(py|pyx|pxd|cpp|h|txt|cmake|toml|json|map)$|^run$", file)]
    words = {word for path in code for word in re.findall(r"\w+", path.read_text(errors="ignore"))}
    for name in re.findall(r"`([\w./-]+)`", prose(ROOT / document)):
        if re.search(r"[A-Z]{4}|^-|^\.|[<>]", name):
            continue
        is_file = any(
            f"/{file}".endswith(f"/{name.rstrip('/')}") or f"/{file}".find(f"/{name.rstrip('/')}/") >= 0 for file in files
        )
        assert is_file or set(re.findall(r"\w+", name)) <= words, (
            f"{document} names {name}, which is neither a file nor in the code"
        )

"""The documentation site builds without a warning, has every page, and its links lead somewhere."""

import html.parser
import json
import os
import subprocess
import sys
from urllib.parse import unquote, urlsplit

import pytest

import h5stz
from support.paths import ROOT
from support.requirements import needs_packages

pytestmark = [needs_packages("mkdocs", "material", "mkdocstrings", "mkdocs_jupyter"), pytest.mark.slow]
REPOSITORY = "https://github.com/h5stz/h5stz/blob/main/"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return folder


class Page(html.parser.HTMLParser):
    """The links of a page, and the identifiers in it."""

    def __init__(self, path):
        super().__init__()
        self.links, self.identifiers = [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        """Called by feed()."""
        values = dict(attrs)
        self.identifiers.add(values.get("id"))
        if tag in ("a", "img"):
            self.links.append(values.get("href") or values.get("src") or "")


def test_every_page_is_there(site):
    for page in set((ROOT / "docs").rglob("*.md")) - {ROOT / "docs/README.md"}:
        assert (site / page.relative_to(ROOT / "docs").with_suffix("") / "index.html").exists()
    assert "create_dataset" in (site / "index.html").read_text()


def test_notebooks_are_run_and_can_be_downloaded(site):
    scripts = sorted((ROOT / "docs" / "gallery").glob("*.py"))
    assert scripts
    for script in scripts:
        page = site / "gallery" / script.stem / "index.html"
        assert "data:image/png;base64" in page.read_text(), f"{script.name} shows no figure"
        assert f"../{script.stem}.ipynb" in Page(page).links
        notebook = json.loads((site / "gallery" / f"{script.stem}.ipynb").read_text())
        assert not any(cell.get("outputs") for cell in notebook["cells"])


def test_all_public_names_are_described(site):
    found = Page(site / "python_api" / "index.html").identifiers
    data = {"FILTER_ID", "FORMAT_VERSION", "Options", "__version__"}
    assert {f"h5stz.{name}" for name in h5stz.__all__ if name not in data} - found == set()


def test_links(site):
    pages = {path.parent: Page(path) for path in site.rglob("index.html")}
    for folder, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if link.startswith(REPOSITORY):
                assert (ROOT / link.removeprefix(REPOSITORY).partition("#")[0]).exists(), (folder, link)
            elif not parts.scheme and not parts.netloc and parts.path:
                target = (folder / unquote(parts.path)).resolve()
                assert target.exists(), (folder, link)
                if parts.fragment and target in pages:
                    assert unquote(parts.fragment) in pages[target].identifiers, (folder, link)

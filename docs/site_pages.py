"""Hooks of mkdocs (mkdocs.yml): README.md is the first page, and links that leave docs/ lead to the files in the repository.

So every page reads the same in the repository and on the site, and no text is there twice. The notebooks of gallery/ are
scripts; each is also made an .ipynb beside its page, without outputs, which its first cell links to.
"""

import posixpath
import re
from pathlib import Path

import jupytext
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
_LINK = re.compile(r"(\]\()([^)\s:#]+)(#[^)\s]*)?(\))")


def on_files(files, config):
    """Adds README.md as index.md, and the notebooks for download."""
    files.append(File.generated(config, "index.md", content=(ROOT / "README.md").read_text()))
    for script in sorted((ROOT / "docs" / "gallery").glob("*.py")):
        notebook = jupytext.writes(jupytext.read(script), fmt="ipynb")
        files.append(File.generated(config, f"gallery/{script.stem}.ipynb", content=notebook))
    return files


def on_page_markdown(markdown, page, config, **_):
    """Rewrites the links of a page."""
    here = posixpath.dirname(page.file.src_uri)
    folder = "" if page.file.src_uri == "index.md" else posixpath.join("docs", here)
    base = f"{config.repo_url}/blob/main"

    def rewritten(link):
        opening, target, anchor, closing = link.groups()
        path = posixpath.normpath(posixpath.join(folder, target))
        if not (ROOT / path).exists():
            return link[0]
        if path == "README.md":
            place = posixpath.relpath("index.md", here)
        elif path.startswith("docs/") and (ROOT / path).is_file() and not path.endswith(".py"):
            place = posixpath.relpath(path.removeprefix("docs/"), here)
        else:
            place = f"{base}/{path}"
        return f"{opening}{place}{anchor or ''}{closing}"

    return _LINK.sub(rewritten, markdown)

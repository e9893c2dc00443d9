"""What the package says of itself: metadata, README on an index page, extras, citation, conda recipe, wheels."""

import email
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import h5stz
from support.paths import ROOT
from support.requirements import needs_packages

HOME = "https://github.com/h5stz/h5stz"
TAG = f"v{h5stz.__version__}"
RECIPE = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text())


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """The core metadata of the package as a message."""
    directory = tmp_path_factory.mktemp("metadata")
    program = "import sys, setuptools.build_meta as backend; print(backend.prepare_metadata_for_build_wheel(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", program, directory], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return email.message_from_string((directory / done.stdout.split()[-1] / "METADATA").read_text())


def requirements(metadata, extra=None):
    """The names of what the package or one of its extras requires, in lower case."""
    names = set()
    for line in metadata.get_all("Requires-Dist"):
        condition = re.search(r"""extra == ["']([^"']+)""", line)
        if (condition and condition[1]) == extra:
            names.add(re.match(r"[\w.-]+", line)[0].lower())
    return names


def test_it_has_a_home_and_names_the_versions_of_python(metadata):
    assert f"Homepage, {HOME}" in metadata.get_all("Project-URL")
    assert "Documentation, https://h5stz.readthedocs.io" in metadata.get_all("Project-URL")
    versions = [name.removeprefix("Programming Language :: Python :: ") for name in metadata.get_all("Classifier")]
    assert {"3.10", "3.11", "3.12", "3.13"} <= set(versions) and metadata["Requires-Python"] == ">=3.10"
    assert metadata["Version"] == h5stz.__version__


def test_little_is_required(metadata):
    assert requirements(metadata) == {"numpy", "h5py", "click", "rich"}


def test_all_is_what_users_install(metadata):
    (everything,) = (line for line in metadata.get_all("Requires-Dist") if re.search(r"""extra == ["']all["']""", line))
    assert sorted(re.search(r"\[(.*)\]", everything)[1].split(",")) == ["cli", "dask", "remote", "types", "xarray", "zarr"]


def test_extras_that_texts_tell_to_install_exist(metadata):
    extras = set(metadata.get_all("Provides-Extra"))
    texts = [*(ROOT / "pyfilter").rglob("*.py"), *ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "pyproject.toml"]
    for path in texts:
        for names in re.findall(r"h5stz\[([a-z,]+)\]", path.read_text()):
            assert set(names.split(",")) <= extras, f"{path}: h5stz[{names}]"


@needs_packages("readme_renderer")
def test_readme_renders_on_an_index_page(metadata):
    from readme_renderer import markdown

    assert metadata["Description-Content-Type"] == "text/markdown"
    page = markdown.render(metadata.get_payload())
    assert page and "<table>" in page
    anchors = set(re.findall(r'id="([^"]+)"', page))
    for place in re.findall(r'(?:href|src)="([^"]+)"', page):
        if place.startswith("#"):
            assert place[1:] in anchors, place
            continue
        assert re.match(r"https://|mailto:", place), place
        if place.startswith(HOME + "/"):
            kind, tag, path = place.removeprefix(HOME + "/").split("/", 2)
            assert (kind, tag) in {("blob", TAG), ("raw", TAG)} and (ROOT / path.partition("#")[0]).exists(), place


def test_the_citation_has_what_the_format_asks_for():
    """Version 1.2.0 of the Citation File Format: its required keys, and what it calls a person, a reference and a date."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors", "version", "license", "repository-code"} <= citation.keys()
    assert str(citation["version"]) == h5stz.__version__ and citation["repository-code"] == HOME
    for reference in [citation, *citation.get("references", [citation.get("preferred-citation", citation)])]:
        assert reference["title"] and all({"name", "family-names"} & author.keys() for author in reference["authors"])


def test_the_conda_recipe_says_what_the_package_says(metadata):
    assert RECIPE["context"]["version"] == h5stz.__version__
    run = {line.split()[0] for line in RECIPE["requirements"]["run"]} - {"python"}
    assert run == requirements(metadata)
    assert RECIPE["about"]["summary"] == metadata["Summary"] and RECIPE["about"]["homepage"] == HOME


@needs_packages("cibuildwheel")
def test_wheels_are_configured_for_every_version_of_python():
    words = [
        sys.executable,
        "-m",
        "cibuildwheel",
        "--print-build-identifiers",
        "--platform",
        "linux",
        "--archs",
        "x86_64,aarch64",
    ]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    expected = {f"cp3{minor}-manylinux_{machine}" for minor in (10, 11, 12, 13) for machine in ("x86_64", "aarch64")}
    assert set(done.stdout.split()) == expected


def test_tests_that_wheels_run_exist():
    text = (ROOT / "pyproject.toml").read_text()
    named = re.findall(r"\{project\}/(\S+?)[\s\"]", text)
    assert named and all((ROOT / path).exists() for path in named)


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["xarray", "dask", "zarr", "remote", "cli", "all"])
def test_extras_can_be_installed(extra, tmp_path):
    """Resolved for an empty environment, and not installed."""
    report = tmp_path / "report.json"
    words = [
        "install",
        "--dry-run",
        "--ignore-installed",
        "--quiet",
        "--no-build-isolation",
        "--report",
        report,
        f"{ROOT}[{extra}]",
    ]
    done = subprocess.run([sys.executable, "-m", "pip", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = {item["metadata"]["name"].lower() for item in json.loads(Path(report).read_text())["install"]}
    assert {"h5stz", "numpy", "h5py"} < names

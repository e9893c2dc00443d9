"""A wheel as filter/tools/build_wheel.py makes it: for old systems, complete, and the same bytes, in clean environments."""

import os
import platform
import shutil
import subprocess
import sys
import zipfile

import pytest

from support.paths import ROOT
from support.requirements import needs, needs_packages, require

pytestmark = [pytest.mark.night, needs("Linux with glibc", platform.libc_ver()[0] == "glibc")]

#: Tests that say whether the libraries of a wheel do as they should: bytes, HDF5.
TESTS = ["tests/stream/test_golden.py", "tests/python/test_h5py.py"]


def run(*words, **options):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source archive and the wheel for this interpreter."""
    require(needs_packages("auditwheel", "build", "ziglang"))
    output = tmp_path_factory.mktemp("dist")
    once = os.environ | {"H5STZ_UNITY": "ON"}  # built for this test alone
    printed = run(sys.executable, ROOT / "filter/tools/build_wheel.py", "--output", output, env=once)
    archive, wheel = printed.split()
    return archive, wheel


@pytest.fixture(scope="module")
def sources(built, tmp_path_factory):
    """The unpacked source archive: tests run from there, so it has all that they need."""
    directory = tmp_path_factory.mktemp("sources")
    shutil.unpack_archive(built[0], directory)
    (folder,) = directory.iterdir()
    return folder


def test_the_name_says_what_the_documents_say(built):
    name = os.path.basename(built[1])
    python = "cp311-abi3" if sys.version_info >= (3, 11) else "cp310-cp310"
    machine = platform.machine()
    assert f"-{python}-" in name and f"manylinux_2_17_{machine}" in name
    assert "manylinux_2_17" in (ROOT / "docs/packaging.md").read_text()


def test_the_wheel_has_the_libraries_and_no_sources(built):
    names = zipfile.ZipFile(built[1]).namelist()
    for name in ("plugins/libh5stz.so", "lib/libh5stz_read.so", "lib/libh5stz_preload.so", "include/stz.h", "py.typed"):
        assert f"h5stz/{name}" in names
    assert not [name for name in names if name.endswith((".cpp", ".pyx", ".a", ".o")) or name.startswith("tests/")]


def test_it_works_in_a_clean_environment(built, sources, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    run(python, "-m", "pip", "install", "--quiet", built[1], "pytest", "hypothesis", "ml_dtypes")
    variables = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "HDF5_PLUGIN_PATH"}}
    place = run(python, "-c", "import h5stz; print(h5stz.__file__)", cwd=tmp_path, env=variables)
    assert place.startswith(str(tmp_path))
    assert "within the bound" in run(tmp_path / "venv/bin/h5stz", "doctor", cwd=tmp_path, env=variables)
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, cwd=sources, env=variables)

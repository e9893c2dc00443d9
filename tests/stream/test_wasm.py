"""The core as WebAssembly in node decodes and encodes golden streams as others do, and says what is wrong with damaged ones."""

import json
import re
import subprocess

import pytest

from golden import arrays
from support import golden_files
from support.native import build_filter
from support.paths import EXAMPLES, GOLDEN, PROGRAMS, ROOT
from support.requirements import needs_programs

pytestmark = [pytest.mark.slow, needs_programs("emcmake", "node")]
STREAMS = sorted(GOLDEN.glob("version_*/*.stz"))


@pytest.fixture(scope="module")
def module():
    """stz.wasm, built with the preset "wasm" as docs/recipes.md says."""
    directory, cmake = ROOT / "build" / "wasm", build_filter.program("cmake")
    for words in (
        ["emcmake", cmake, "--preset", "wasm", "-B", directory],
        [cmake, "--build", directory, "-j", build_filter.jobs(), "--target", "stz_module"],
    ):
        done = subprocess.run(words, cwd=ROOT / "filter", text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout
    return directory / "stz.wasm"


def decode(module, paths):
    """The exit status, and what examples/browser/decode.mjs says of each stream."""
    words = ["node", EXAMPLES / "browser/decode.mjs", module, *paths]
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, timeout=300)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line.pop("path") for line in said] == [str(path) for path in paths]
    return done.returncode, said


def test_golden_streams_decode_to_the_same_bits(module):
    arrays = [json.loads((path.parent / "arrays.json").read_text())[path.stem] for path in STREAMS]
    expected = [{key: array[key] for key in ("dtype", "shape", "sha256")} for array in arrays]
    status, said = decode(module, STREAMS)
    for array in said:
        array["dtype"] = re.sub(r"^[<>](?=bfloat)|^\|(?=float8)", "", array["dtype"])  # NumPy's names of these are bare
    assert len(expected) > 50 and (status, said) == (0, expected)


def test_golden_arrays_are_encoded_to_the_same_bytes(module, tmp_path):
    golden_files.write(tmp_path)
    words = ["node", PROGRAMS / "encode.mjs", EXAMPLES / "browser/decode.mjs", module, tmp_path]
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    assert (done.returncode, int(done.stdout.split()[-1])) == (0, len(arrays.cases())), done.stdout


def test_damaged_streams_are_errors(module, tmp_path):
    """Exceptions work, and nothing ends the module: the streams behind a damaged one are decoded."""
    whole = STREAMS[0].read_bytes()
    damaged = {
        "empty": b"",
        "short": whole[:-1],
        "other": whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:],
        "text": b"no stream",
    }
    for name, stream in damaged.items():
        (tmp_path / name).write_bytes(stream)
    status, said = decode(module, [*(tmp_path / name for name in damaged), STREAMS[0]])
    assert status == 1 and all(line["error"] for line in said[:-1]) and "sha256" in said[-1]

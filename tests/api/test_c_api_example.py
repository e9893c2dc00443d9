"""The program of docs/c_api.md keeps its promises, and is built as the page says."""

import re

from support.host_tools import pkg_config, run
from support.paths import EXAMPLES
from support.requirements import needs_programs


@needs_programs("cc", "pkg-config")
def test_compress_in_c(tmp_path):
    program = tmp_path / "compress"
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    run("cc", *strict, EXAMPLES / "simulation_codes/compress.c", *pkg_config("--cflags", "--libs"), "-lm", "-o", program)
    output = run(program)
    assert 0 < float(re.search(r"max error / bound: (\S+)", output)[1]) <= 1
    assert "same as decompressed: yes" in output
    decoded, present = map(int, re.search(r"blocks decoded: (\d+) of (\d+)", output).groups())
    assert 0 < decoded < present / 2

"""The Python and shell blocks of the documents, and how they run in a directory that has what their reader has."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field

from support.paths import EXAMPLES, ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@dataclass(frozen=True)
class Block:
    """One block of a document."""

    document: str
    language: str
    code: str


@dataclass(frozen=True)
class Case:
    """A block, named by its document and a text that no other block of it has; what it needs, and what must hold after it."""

    document: str
    text: str
    #: Why it does not run.
    skipped: str = ""
    #: Python that makes the reader's files, in a process of its own.
    files: str = ""
    #: Python before and behind a block of Python, in its process.
    before: str = ""
    after: str = ""
    #: Programs of the reader: {file: Python}.
    programs: dict = field(default_factory=dict)
    #: Files of examples/: {name in the block: name there}.
    examples: dict = field(default_factory=dict)
    #: Programs and packages of the host.
    host: tuple = ()
    packages: tuple = ()
    #: Files that the block makes, and a part of what it prints.
    makes: tuple = ()
    prints: str = ""

    @property
    def name(self):
        """For pytest."""
        return f"{self.document}: {self.text}"


def example(name):
    """An example in Python without the picture that it draws at its end."""
    return (EXAMPLES / "python" / name).read_text().split("\n# A picture, where matplotlib is installed.\n")[0]


def blocks():
    """All Python and shell blocks of the documents."""
    found = []
    for document in DOCUMENTS:
        for indent, language, code in re.findall(
            r"^( *)```(\w+)\n(.*?)^\1```$", document.read_text(), re.MULTILINE | re.DOTALL
        ):
            if language in ("python", "bash", "sh", "console"):
                found.append(Block(document.name, language, textwrap.dedent(code)))
            assert code.startswith(indent), "a block is indented as its fence is"
    return found


def of_case(case):
    """The blocks that a case names."""
    return [block for block in blocks() if block.document == case.document and case.text in block.code]


def _program(path, code):
    """An executable Python program."""
    path.write_text(f"#!{sys.executable}\n{code}")
    path.chmod(0o755)


def _call(words, directory, programs):
    """What a program prints in the directory; it must end well."""
    variables = {name: value for name, value in os.environ.items() if name != "HDF5_PLUGIN_PATH"}
    variables["PATH"] = f"{programs}:{os.environ['PATH']}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run([str(word) for word in words], cwd=directory, env=variables, text=True, timeout=240, **pipes)
    assert done.returncode == 0, done.stdout
    return done.stdout


def run(block, case, directory, programs):
    """Runs a block with what its case says that it needs; what it prints. `programs`: those of support/warm_python.py."""
    for name, original in case.examples.items():
        (directory / name).parent.mkdir(exist_ok=True)
        shutil.copy(EXAMPLES / original, directory / name)
    for name, code in case.programs.items():
        _program(directory / name, code)
    if case.files:
        _call([programs / "python", "-c", case.files], directory, programs)
    if block.language != "python":
        return _call(["bash", "-euo", "pipefail", "-c", block.code], directory, programs)
    (directory / "block.py").write_text("\n".join([case.before, block.code, case.after]))
    return _call([programs / "python", "block.py"], directory, programs)

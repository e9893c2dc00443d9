"""Commands of h5stz: in this process, or many of them in copies of one process that has an environment of its own."""

import contextlib
import io
import os
import pickle
import subprocess
import sys
from typing import NamedTuple
from unittest import mock

from h5stz import cli
from support.paths import PROGRAMS


class Done(NamedTuple):
    """What became of a command: exit status, output and errors; bytes of a command that had a process of its own."""

    status: int
    out: str
    err: str


def run(*words, **variables):
    """Done by the command line in this process, with these variables in its environment."""
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.dict(os.environ, variables), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main([str(word) for word in words])
    return Done(status, out.getvalue(), err.getvalue())


def in_processes(lines, environment, directory=None):
    """Done for each command line, each in a process that begins and ends alone, without its cost of starting Python.

    `lines`: words as text, bytes or paths. `environment`: that in which Python starts, so that locale, preloaded libraries and
    variables are those of every command. See tests/programs/command_lines.py.
    """
    given = pickle.dumps([[os.fsencode(word) for word in words] for words in lines])
    command = [sys.executable, PROGRAMS / "command_lines.py"]
    done = subprocess.run(command, input=given, env=environment, cwd=directory, stdout=subprocess.PIPE, check=True, timeout=500)
    return [Done(*each) for each in pickle.loads(done.stdout)]

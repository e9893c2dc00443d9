"""Runs command lines of h5stz, each in a fork of this process, which has imported what they need; see support/commands.py."""

import contextlib
import io
import os
import pickle
import sys
import tempfile

from h5stz import cli

with contextlib.redirect_stdout(io.StringIO()):
    cli.main(["--help"])  # imports every command

results = []
for line in pickle.load(sys.stdin.buffer):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.argv = ["h5stz", *map(os.fsdecode, line)]
            sys.exit(cli.main())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        results.append((status, *(each.seek(0) or each.read() for each in (out, err))))
sys.stdout.buffer.write(pickle.dumps(results))

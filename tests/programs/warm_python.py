"""Answers the calls of `h5stz` and `python` of support/warm_python.py: each runs in a fork of this process.

    warm_python.py SOCKET [MODULE...]

The modules are imported first. A call has the words, the directory, the environment and the channels of who calls.
"""

import ast
import contextlib
import importlib
import io
import os
import socket
import sys
import types

import h5stz
from h5stz import cli


def program(words):
    """Runs `python WORDS`: a file, - for standard input, -c, or -m h5stz."""
    if words[:2] == ["-m", "h5stz"]:
        sys.argv = words[1:]
        sys.exit(cli.main())
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    if words[0] in ("-c", "-"):
        code = words[1] if words[0] == "-c" else sys.stdin.read()
        sys.argv = [words[0], *words[2:]]
        sys.path.insert(0, "")
    else:
        main.__file__, sys.argv = words[0], words
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
        with open(words[0]) as file:
            code = file.read()
    exec(compile(code, getattr(main, "__file__", "<string>"), "exec"), vars(main))


def call(given, channels):
    """Becomes what was called."""
    words, directory, environment = given
    for number, channel in enumerate(channels):
        os.dup2(channel, number)
    os.closerange(3, 1 + max(channels))
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    h5stz.register()  # exports what an import would
    name, *words = words
    if os.path.basename(name) == "h5stz":
        sys.argv = ["h5stz", *words]
        sys.exit(cli.main())
    program(words)


def answer(connection):
    """Runs one call and tells its exit status."""
    message, channels, *_ = socket.recv_fds(connection, 1 << 20, 3)
    while not message.endswith(b"\0"):
        message += connection.recv(1 << 20)
    child = os.fork()
    if not child:
        connection.close()
        call(ast.literal_eval(message[:-1].decode()), channels)
        return
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.sendall(status.to_bytes(4, "little", signed=True))
    os._exit(0)


def serve(path, modules):
    """Answers calls, at the same time if need be, until whoever started this closes standard input."""
    with contextlib.redirect_stdout(io.StringIO()):
        cli.main(["--help"])  # imports every command
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(16)
    print(flush=True)
    while True:
        connection, _ = listening.accept()
        if not os.fork():
            listening.close()
            if not os.fork():  # whose parent is gone, so that nobody has to wait for it
                answer(connection)
                return
            os._exit(0)
        connection.close()
        os.wait()


serve(sys.argv[1], sys.argv[2:])

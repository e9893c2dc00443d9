"""The command line `h5stz`, also `python -m h5stz`: docs/command_line.md.

Each command is a click function in its own module, which is imported when it is needed. To add a command, add a line to
`_COMMANDS`. Results go to standard output. An error is one line on standard error, and the exit status is that of `main`.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Iterator, Sequence

import click

from h5stz import _core
from h5stz.cli import wording
from h5stz.cli.output import printable
from h5stz.errors import StzError

#: Where the commands are: module of this package, and the name of the click command there.
_COMMANDS = {
    "args": "args:args",
    "compare": "compare:compare",
    "compress": "compress:compress",
    "decompress": "decompress:decompress",
    "doctor": "doctor:doctor",
    "estimate": "estimate:estimate_command",
    "extract": "extract:extract",
    "info": "info:info",
    "pkg-config-path": "paths:pkg_config_path",
    "plugin-path": "paths:plugin_path",
    "run": "run:run",
    "salvage": "salvage:salvage",
    "verify": "verify:verify",
}
_ALIASES = {"repack": "compress"}

NAME = "h5stz"
COMPLETION = "_H5STZ_COMPLETE"  # the variable through which a shell asks for completions
_FAILED = 1
_INTERRUPTED = 128 + 2  # the status of a program that SIGINT ended
_PIPE_CLOSED = 128 + 13  # likewise SIGPIPE


class _Commands(click.Group):
    """The commands of the table `_COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports a command; None if there is no command with this name."""
        return _command(cmd_name) if _ALIASES.get(cmd_name, cmd_name) in _COMMANDS else None


@click.group(NAME, cls=_Commands, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_core.VERSION, message="%(version)s")
def commands() -> None:
    """Error-bounded compression of scientific arrays in HDF5."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line.

    Args:
        argv: its words without the name of the program; None: those of the process.

    Returns:
        The exit status: 0 for success; 1 if the command failed or found damage; 2 for words that it does not understand; 141
            if the reader of the output has ended; 130 after Ctrl-C. `run` returns the status of its program.
    """
    with _any_name_printable():
        try:
            status = _status(list(sys.argv[1:] if argv is None else argv))
            print(end="", flush=True)
        except BrokenPipeError:
            _discard_output()
            return _PIPE_CLOSED
        except OSError as error:  # of the flush: a full disk
            complain(f"the output could not be written: {error.strerror or error}")
            _discard_output()
            status = _FAILED
    if status == _FAILED and argv is None:
        _end_if_files_are_stuck()
    return status


@contextlib.contextmanager
def _any_name_printable() -> Iterator[None]:
    """Prints characters that the terminal's charset lacks as escapes, so that a name cannot abort a command."""
    before = []
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            before.append((stream, stream.errors or "strict"))
            stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        for stream, errors in before:
            with contextlib.suppress(OSError, ValueError):  # it flushes, and the reader may have ended; or it was closed
                stream.reconfigure(errors=errors)


def _status(words: list[str]) -> int:
    if os.environ.get(COMPLETION):
        from click.shell_completion import shell_complete

        return shell_complete(commands, {}, NAME, COMPLETION, os.environ[COMPLETION])
    try:
        # Not click's own main(), which has other statuses for errors, and one for closed pipes that looks like a failure.
        with commands.make_context(NAME, words or ["--help"]) as context:
            status: int | None = commands.invoke(context)
            return status or 0
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.UsageError as error:
        misplaced = _misplaced(error, words)
        command, name = (None, "") if misplaced else _named(words)
        others = {each: _command(each) for each in _COMMANDS} if isinstance(error, click.NoSuchOption) else {}
        text = misplaced or wording.explained(error, words, command, others)
        complain(f"{text} See {NAME} {name}{' ' if name else ''}--help")
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        complain("interrupted")
        return _INTERRUPTED
    except BrokenPipeError:
        raise
    except StzError as error:
        complain(wording.as_options(str(error), _named(words)[0]))
        return _FAILED
    except (OSError, KeyError, ImportError) as error:
        complain(str(error.args[0] if isinstance(error, KeyError) and error.args else error))
        return _FAILED


def _named(words: Sequence[str]) -> tuple[click.Command | None, str]:
    """The command in the words, and its name; None and "" if there is none."""
    first = next((word for word in words if not word.startswith("-")), "")
    return (_command(first), first) if _ALIASES.get(first, first) in _COMMANDS else (None, "")


def _command(name: str) -> click.Command:
    module, _, attribute = _COMMANDS[_ALIASES.get(name, name)].partition(":")
    command = getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    assert isinstance(command, click.Command)
    return command


def _misplaced(error: click.UsageError, words: list[str]) -> str | None:
    """The remedy for an option in front of the command's name; None for other errors."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None or error.ctx.command is not commands:
        return None
    for word in words:
        command = commands.get_command(error.ctx, word)
        if command is not None and any(error.option_name in each.opts for each in command.params):
            return f"{error.option_name} is an option of {word}: write {NAME} {word} ... {error.option_name}."
    return None


def _end_if_files_are_stuck() -> None:
    """Ends the process if HDF5 could not close a file, for example on a full disk.

    HDF5 (at least 2.0) would try again at exit, and crash.
    """
    h5py = sys.modules.get("h5py")
    if h5py and h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_ALL) > 0:
        sys.stderr.flush()
        os._exit(_FAILED)


def complain(message: str) -> None:
    """Prints an error or a warning: one line on standard error."""
    print(printable(f"{NAME}: {' '.join(message.splitlines())}"), file=sys.stderr)


def _discard_output() -> None:
    """Discards the output after its reader has ended, as `head` does. Buffered output must not fail again at exit."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
            continue
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

"""`h5stz completion SHELL`: the script with which a shell completes commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from h5stz import cli


@click.command(short_help="Print the script for completion in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script for completion with the TAB key in a shell.

    For bash, for example: eval "$(h5stz completion bash)" in ~/.bashrc.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    print(kind(cli.commands, {}, cli.NAME, cli.COMPLETION).source())

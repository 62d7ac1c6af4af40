"""Tables of commands, whose modules are imported only when they are asked for."""

import argparse
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import NamedTuple


class Subcommand(NamedTuple):
    """A command: a module with `add_arguments(parser)` and `run(...) -> exit code`."""

    module: str
    help: str

    def load(self) -> ModuleType:
        """Import the module."""
        return import_module(self.module)


def add_subcommands(
    parser: argparse.ArgumentParser, commands: Mapping[str, Subcommand], *, kind: str
) -> list[argparse.ArgumentParser]:
    """Add all commands of a table with their flags.

    Args:
        parser: of the command that they belong to.
        commands: by name.
        kind: of them, in one word: the attribute that gets the name, and its name in the help.

    Returns:
        The parsers of the commands.
    """
    added = parser.add_subparsers(dest=kind, metavar=kind.upper(), required=True)
    parsers = []
    for name, command in commands.items():
        subparser = added.add_parser(name, help=command.help, description=command.help)
        command.load().add_arguments(subparser)
        parsers.append(subparser)
    return parsers

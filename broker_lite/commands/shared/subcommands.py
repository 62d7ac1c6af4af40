"""Tables of subcommands, whose modules are imported only if needed."""

import argparse
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import NamedTuple


class Subcommand(NamedTuple):
    """A subcommand: a module with `add_arguments(parser)` and `run(...) -> exit code`."""

    module: str
    help: str

    def load(self) -> ModuleType:
        """Import the module."""
        return import_module(self.module)


def add_subcommands(
    parser: argparse.ArgumentParser, commands: Mapping[str, Subcommand], *, kind: str
) -> list[argparse.ArgumentParser]:
    """Add all subcommands of a table with their flags.

    Args:
        parser: of the parent command.
        commands: by name.
        kind: one word: the attribute for the chosen name, and the metavar in the help.

    Returns:
        The parsers of the subcommands.
    """
    added = parser.add_subparsers(dest=kind, metavar=kind.upper(), required=True)
    parsers = []
    for name, command in commands.items():
        subparser = added.add_parser(name, help=command.help, description=command.help)
        command.load().add_arguments(subparser)
        parsers.append(subparser)
    return parsers

"""Flags that several commands have alike: actions, repeatable flags, and properties of clients."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from broker_lite.client.client_properties import read_properties


def add_actions(
    parser: argparse.ArgumentParser, actions: Mapping[str, str]
) -> argparse._MutuallyExclusiveGroup:
    """Add a flag for each action; exactly one is required, and `action` has its name.

    Args:
        parser: of the command.
        actions: help texts by name.

    Returns:
        The group of the flags, for further ones.
    """
    group = parser.add_mutually_exclusive_group(required=True)
    for name, text in actions.items():
        group.add_argument(f"--{name}", dest="action", action="store_const", const=name, help=text)
    return group


def add_repeatable(
    parser: argparse.ArgumentParser,
    *flags: str,
    text: str,
    metavar: str = "NAME=VALUE",
    dest: str | None = None,
) -> None:
    """Add a repeatable flag with its aliases; its value is a list."""
    parser.add_argument(*flags, action="append", default=[], metavar=metavar, help=text, dest=dest)


def add_alias(
    parser: argparse.ArgumentParser,
    flag: str,
    *,
    dest: str,
    metavar: str,
    kind: Callable[[str], object] = str,
) -> None:
    """Add an older name of an existing flag."""
    parser.add_argument(
        flag,
        dest=dest,
        metavar=metavar,
        type=kind,
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )


def is_true(properties: Mapping[str, str], name: str) -> bool:
    """Tell whether a property is "true"; as in Kafka, anything else is false."""
    return properties.get(name, "").strip().lower() == "true"


def properties_of(assignments: Iterable[str], path: Path | None = None) -> dict[str, str]:
    """Combine properties; those of the command line win over the file.

    As in Kafka's tools, a name without a value has an empty one.

    Raises:
        SettingsError: the file is wrong.
    """
    found = dict(read_properties(path)) if path is not None else {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        found[name.strip()] = value
    return found

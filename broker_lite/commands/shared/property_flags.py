"""Flags of Kafka's tools that set properties: a file of them, and `NAME=VALUE` one by one."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from broker_lite.client.properties import read_client_properties


def add_repeatable(
    parser: argparse.ArgumentParser, *flags: str, text: str, dest: str | None = None
) -> None:
    """Add a flag `--flag NAME=VALUE` that may be there several times, under several names."""
    parser.add_argument(
        *flags, action="append", default=[], metavar="NAME=VALUE", help=text, dest=dest
    )


def add_file(parser: argparse.ArgumentParser, flag: str, text: str) -> None:
    """Add a flag that names a file of properties."""
    parser.add_argument(flag, type=Path, metavar="FILE", help=text)


def add_alias(
    parser: argparse.ArgumentParser,
    flag: str,
    *,
    dest: str,
    metavar: str,
    kind: Callable[[str], object] = str,
) -> None:
    """Add an older name of a flag that is there already."""
    parser.add_argument(
        flag,
        dest=dest,
        metavar=metavar,
        type=kind,
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )


def is_true(properties: Mapping[str, str], name: str) -> bool:
    """Whether a property of a reader or formatter says true; all else is false, as for Kafka."""
    return properties.get(name, "").strip().lower() == "true"


def properties_of(assignments: Iterable[str], path: Path | None = None) -> dict[str, str]:
    """Put properties together; those of the command line win over the file.

    A name alone stands for the name with an empty value, as with Kafka's tools.

    Raises:
        SettingsError: the file cannot be used.
    """
    found = dict(read_client_properties(path)) if path is not None else {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        found[name.strip()] = value
    return found

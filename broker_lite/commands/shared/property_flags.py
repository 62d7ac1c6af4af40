"""Flags of Kafka's tools that set properties, by a file or as `NAME=VALUE`."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from broker_lite.client.client_properties import read_client_properties


def add_repeatable(
    parser: argparse.ArgumentParser, *flags: str, text: str, dest: str | None = None
) -> None:
    """Add a repeatable flag `--flag NAME=VALUE` with its aliases."""
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
    found = dict(read_client_properties(path)) if path is not None else {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        found[name.strip()] = value
    return found

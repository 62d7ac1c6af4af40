"""The flags that say where settings come from, for each command that reads settings."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from broker_lite.settings import Settings, load_settings, parse_assignment
from broker_lite.settings.sources.memory_limit import read_memory_limit
from broker_lite.settings.sources.memory_shares import fit

_NOTHING: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({})


class Place(NamedTuple):
    """What the place where a command runs says of settings.

    Args:
        environment: its variables.
        surroundings: what it has instead of the defaults: name to text and origin.
    """

    environment: Mapping[str, str]
    surroundings: Mapping[str, tuple[str, str]] = _NOTHING


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Add --config and --set."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="settings: a *.toml, or a server.properties"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="one setting; repeatable"
    )


def load(
    options: argparse.Namespace,
    flags: Mapping[str, tuple[str, str]],
    warnings: list[str],
    place: Place | None = None,
) -> Settings:
    """Put the settings together: surroundings < file < environment < --set < flags.

    Limits that nobody set fit the memory of the container or of the machine.

    Args:
        options: with what add_sources() adds.
        flags: settings that have a flag of their own: name to text and flag.
        warnings: gets a line for each name that is not known here.
        place: where the command runs; this process's environment when none is given.

    Raises:
        SettingsError: one line for a person.
    """
    assignments = [parse_assignment(text) for text in options.set]
    environment, surroundings = place or Place(os.environ)
    settings = load_settings(
        options.config,
        environment,
        assignments,
        surroundings=surroundings,
        flags=flags,
        warnings=warnings,
    )
    return fit(settings, read_memory_limit())

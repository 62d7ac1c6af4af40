"""The flags for sources of settings, for the commands that read settings."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from broker_lite.settings import Settings, load_settings, parse_assignment
from broker_lite.settings.sources.broker_count import fit_brokers
from broker_lite.settings.sources.memory_limit import read_memory_limit
from broker_lite.settings.sources.memory_shares import fit
from broker_lite.settings.sources.process_count import fit_processes

_NOTHING: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({})


class Place(NamedTuple):
    """The environment of a command.

    Args:
        environment: environment variables.
        surroundings: replacements for defaults: name to text and origin.
    """

    environment: Mapping[str, str]
    surroundings: Mapping[str, tuple[str, str]] = _NOTHING


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Add --config and --set."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="settings: a *.toml, or a server.properties"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting; repeatable"
    )


def load(
    options: argparse.Namespace,
    flags: Mapping[str, tuple[str, str]],
    warnings: list[str],
    place: Place | None = None,
) -> Settings:
    """Load the settings, later ones win: surroundings < file < environment < --set < flags.

    Limits that are not set are derived from the memory of the container or the machine, and numbers
    of replicas from the number of brokers. `auto` becomes a number of processes.

    Args:
        options: with the flags of add_sources().
        flags: settings that have their own flags: name to text and flag.
        warnings: gets a line for each unknown name.
        place: None means the environment of this process.

    Raises:
        SettingsError: a setting is wrong; the text is one line for the user.
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
    return fit(fit_brokers(fit_processes(settings)), read_memory_limit())

"""The flags that say where settings come from, for each command that reads settings."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from broker_lite.settings import Settings, load_settings, parse_assignment


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Add --config and --set."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="settings: a *.toml, or a server.properties"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="one setting; repeatable"
    )


def load(
    options: argparse.Namespace, flags: Mapping[str, tuple[str, str]], warnings: list[str]
) -> Settings:
    """Put the settings together: file < environment < --set < flags.

    Args:
        options: with what add_sources() adds.
        flags: settings that have a flag of their own: name to text and flag.
        warnings: gets a line for each name that is not known here.

    Raises:
        SettingsError: one line for a person.
    """
    assignments = [parse_assignment(text) for text in options.set]
    return load_settings(options.config, os.environ, assignments, flags=flags, warnings=warnings)

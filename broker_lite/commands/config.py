"""`broker-lite config`: every setting with its value, source and meaning."""

import argparse
import sys

from broker_lite.commands.sources import add_sources, load
from broker_lite.settings.table import FORMATS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    add_sources(parser)
    parser.add_argument("--format", choices=list(FORMATS), default="table", help="[table]")


def run(options: argparse.Namespace) -> int:
    """Print the settings; warn about unknown ones on standard error."""
    warnings: list[str] = []
    settings = load(options, {}, warnings)
    for line in FORMATS[options.format](settings):
        print(line)
    for warning in warnings:
        print(f"broker-lite: {warning}", file=sys.stderr)
    return 0

"""`broker-lite bench`: put load on a broker, or compare two runs."""

import argparse
from collections.abc import Mapping
from typing import Final

from broker_lite.commands.shared.subcommands import Subcommand, add_subcommands

_KINDS: Final[Mapping[str, Subcommand]] = {
    "produce": Subcommand("broker_lite.commands.bench.produce", "write batches at a rate"),
    "fetch": Subcommand("broker_lite.commands.bench.fetch", "read batches at a rate"),
    "compare": Subcommand("broker_lite.commands.bench.compare", "compare the files of two runs"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of all kinds."""
    add_subcommands(parser, _KINDS, kind="kind")


def run(options: argparse.Namespace) -> int:
    """Do what the kind says."""
    code: int = _KINDS[options.kind].load().run(options)
    return code

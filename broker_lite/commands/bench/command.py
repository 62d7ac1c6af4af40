"""`broker-lite bench`: put load on a broker, or compare two runs."""

import argparse
from collections.abc import Mapping
from typing import Final

from broker_lite.commands.shared.subcommands import Subcommand, add_subcommands

KINDS: Final[Mapping[str, Subcommand]] = {
    "produce": Subcommand("broker_lite.commands.bench.produce", "write batches at a rate"),
    "fetch": Subcommand("broker_lite.commands.bench.fetch", "read batches at a rate"),
    "e2e": Subcommand(
        "broker_lite.commands.bench.end_to_end", "write at a rate, and read it: how late is it?"
    ),
    "idle": Subcommand(
        "broker_lite.commands.bench.idle", "many connections that ask little, and many partitions"
    ),
    "turns": Subcommand(
        "broker_lite.commands.bench.turns", "the same load at two brokers, in turns"
    ),
    "compare": Subcommand("broker_lite.commands.bench.compare", "compare the files of two runs"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of all kinds."""
    add_subcommands(parser, KINDS, kind="kind")


def run(options: argparse.Namespace) -> int:
    """Do what the kind says."""
    code: int = KINDS[options.kind].load().run(options)
    return code

"""`broker-lite log export`: make a data directory that a Kafka can start from.

It has meta.properties, a metadata log with the topics, their ids and configs and with all ACLs, and
the partitions with rebuilt indexes and snapshots. The broker may run meanwhile; then the partitions
are copied at different moments.

See: S-96.
"""

import argparse
from pathlib import Path

from broker_lite.commands.log.import_logs import add_cut_flag, transfer
from broker_lite.commands.log.sources import find_sources
from broker_lite.commands.log.verify import is_in_use, wanted_topics
from broker_lite.errors import SettingsError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("data_dir", type=Path, metavar="DATA_DIR", help="the directory to export")
    parser.add_argument("target", type=Path, metavar="DIR", help="a new directory")
    parser.add_argument("--topics", metavar="NAME,...", default="", help="export only these topics")
    parser.add_argument(
        "--node-id", type=int, metavar="N", help="the node id of the Kafka [unchanged]"
    )
    add_cut_flag(parser)


def run(options: argparse.Namespace) -> int:
    """Copy, and print what was copied."""
    target: Path = options.target
    if target.exists() and any(target.iterdir()):
        raise SettingsError(f"{target} is not empty")
    sources = find_sources([options.data_dir], wanted_topics(options.topics))
    # in a directory in use, a half-written batch at the end is no damage
    may_cut = options.cut or is_in_use(options.data_dir)
    transfer(sources, target, options.node_id, may_cut=may_cut, title="export")
    return 0

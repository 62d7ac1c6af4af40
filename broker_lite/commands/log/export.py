"""`broker-lite log export`: make a data directory on which a Kafka starts, of all topics or some.

It has meta.properties, a metadata log with the topics, their ids and configs, and the partitions
with their indexes and snapshots made anew. The broker may be running meanwhile: each partition then
is as it was at some moment, not all at the same.

See: S-96.
"""

import argparse
from pathlib import Path

from broker_lite.commands.log.import_logs import add_cut_flag, transfer, wanted_topics
from broker_lite.commands.log.sources import find_sources
from broker_lite.commands.log.verify import is_in_use
from broker_lite.errors import SettingsError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("data_dir", type=Path, metavar="DATA_DIR", help="what is exported")
    parser.add_argument("target", type=Path, metavar="DIR", help="a new directory")
    parser.add_argument("--topics", metavar="NAME,...", default="", help="only these")
    parser.add_argument("--node-id", type=int, metavar="N", help="of the Kafka; default: as it is")
    add_cut_flag(parser)


def run(options: argparse.Namespace) -> int:
    """Copy and tell what was taken."""
    target: Path = options.target
    if target.exists() and any(target.iterdir()):
        raise SettingsError(f"{target} is not empty")
    sources = find_sources([options.data_dir], wanted_topics(options.topics))
    # what is half written while it is copied is no damage
    may_cut = options.cut or is_in_use(options.data_dir)
    transfer(sources, target, options.node_id, may_cut=may_cut, title="export")
    return 0

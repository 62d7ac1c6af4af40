"""`broker-lite log import`: import logs that were copied from a Kafka.

A whole data directory has topics, ids and configs, committed offsets and transactions; single
partitions have their ids, and get the configs of the broker. The source directories stay unchanged.
"""

import argparse
from pathlib import Path
from typing import Final

from broker_lite.commands.log.copies import Copied, size_bytes_of
from broker_lite.commands.log.sources import Sources, find_sources, read_meta
from broker_lite.commands.log.transfer import Transfer
from broker_lite.commands.log.verify import is_in_use, wanted_topics
from broker_lite.commands.shared.progress import ProgressBar
from broker_lite.control.clock import Clock
from broker_lite.errors import SettingsError
from broker_lite.pipeline.report.text import size_text

_DEFAULT_NODE_ID: Final = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="DIR", help="data directories or partitions"
    )
    parser.add_argument(
        "--data-dir", type=Path, required=True, metavar="DIR", help="the target; created if missing"
    )
    parser.add_argument("--topics", metavar="NAME,...", default="", help="import only these topics")
    parser.add_argument("--node-id", type=int, metavar="N", help="the node id of a new directory")
    add_cut_flag(parser)


def add_cut_flag(parser: argparse.ArgumentParser) -> None:
    """Add --cut."""
    parser.add_argument(
        "--cut", action="store_true", help="leave out the end of a log from the first damage on"
    )


def run(options: argparse.Namespace) -> int:
    """Copy, and print what was copied."""
    for path in options.paths:
        if is_in_use(path) or is_in_use(path.absolute().parent):
            raise SettingsError(f"{path} is in use by another process: import a copy of it")
    sources = find_sources(options.paths, wanted_topics(options.topics))
    transfer(sources, options.data_dir, options.node_id, may_cut=options.cut, title="import")
    return 0


def transfer(
    sources: Sources, data_dir: Path, node_id: int | None, *, may_cut: bool, title: str
) -> None:
    """Copy topics into a directory and print a summary.

    Raises:
        SettingsError: the directory is in use, belongs to another node, or has such a topic.
        KafkaStorageError: a log is damaged, or something cannot be written.
        OSError: something cannot be read or written.
    """
    meta = sources.meta
    if node_id is None:
        node_id = meta.node_id if meta is not None else _DEFAULT_NODE_ID
    partitions = [one for topic in sources.topics for one in topic.partitions]
    total_bytes = sum(size_bytes_of(one.directory) for one in partitions)
    own = read_meta(data_dir)
    if own is not None:  # an existing directory keeps its identity
        node_id, cluster_id = own.node_id, None
    else:
        cluster_id = meta.cluster_id if meta is not None and meta.cluster_id else None
    into = Transfer(
        data_dir, node_id=node_id, cluster_id=cluster_id, may_cut=may_cut, now_ms=Clock().now_ms()
    )
    with into, ProgressBar(title, total_bytes) as bar:
        copied = into.take(
            sources.topics,
            bar,
            next_producer_id=sources.next_producer_id,
            acls=sources.acls,
        )
    _tell(copied, total_bytes)


def _tell(copied: dict[str, list[Copied]], total_bytes: int) -> None:
    for name, partitions in copied.items():
        for number, one in enumerate(partitions):
            if one.cut_bytes:
                print(f"{name}-{number}: {one.cut_bytes} bytes at its end were left out")
    count = sum(len(partitions) for partitions in copied.values())
    print(f"{len(copied)} topics, {count} partitions, {size_text(total_bytes)}")

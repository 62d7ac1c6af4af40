"""`broker-lite offsets`: print the offset of each partition at a moment, TOPIC:PARTITION:OFFSET.

Flags and output are those of kafka-get-offsets.sh; a partition without such an offset has no line.
"""

import argparse
import sys
from collections.abc import Mapping
from typing import Final

from broker_lite.client import RETRIED, Client, NotSupported, Refused, error_name
from broker_lite.client.partition_offsets import offsets_request
from broker_lite.client.topic_partitions import NO_LEADER, name_of
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.topics.partition_names import PartitionChoice, partition_choice
from broker_lite.errors import ClientError
from broker_lite.wire import messages

# Special moments, and the version of ListOffsets that introduced each.
_MOMENTS: Final[Mapping[str, tuple[int, int]]] = {
    "latest": (-1, 1),
    "earliest": (-2, 1),
    "max-timestamp": (-3, 7),
    "earliest-local": (-4, 8),
    "latest-tiered": (-5, 9),
    "earliest-pending-upload": (-6, 11),
}
_TIMESTAMP_MAX: Final = 2**63 - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("--topic", metavar="REGEX", help="only topics whose name matches [all]")
    parser.add_argument("--partitions", metavar="N,N", help="only these partitions of each [all]")
    parser.add_argument(
        "--topic-partitions",
        metavar="REGEX:N,REGEX:N-M",
        help="instead of both: topics with partitions; a range excludes M",
    )
    parser.add_argument(
        "--time",
        type=_moment,
        default=_MOMENTS["latest"],
        metavar="TIME",
        help=f"milliseconds since 1970, or -1 to -6 for {', '.join(_MOMENTS)} [latest]",
    )
    parser.add_argument(
        "--exclude-internal-topics", action="store_true", help="leave out internal topics"
    )
    parser.add_argument("--broker-list", dest="bootstrap_server", help=argparse.SUPPRESS)
    add_connection(parser)


def run(options: argparse.Namespace) -> int:
    """Ask the leader of each partition and print its offset."""
    chosen = partition_choice(options.topic, options.partitions, options.topic_partitions)
    with connect(options) as client:
        found = client.retry(lambda: _look(client, options, chosen))
    for name, index, offset in sorted(found):
        print(f"{name}:{index}:{offset}")
    return 0


def _look(
    client: Client, options: argparse.Namespace, chosen: PartitionChoice
) -> list[tuple[str, int, int]]:
    """Ask the leaders of the chosen partitions; return topic, partition and offset of each.

    Raises:
        Refused: a leader has changed; a retry may find the new one.
    """
    by_leader: dict[int, dict[str, list[int]]] = {}
    for topic in client.metadata().topics:
        if topic.is_internal and options.exclude_internal_topics:
            continue
        for partition in topic.partitions:
            if chosen(name_of(topic), partition.partition_index):
                asked = by_leader.setdefault(partition.leader_id, {})
                asked.setdefault(name_of(topic), []).append(partition.partition_index)
    if not by_leader:
        raise ClientError("Could not match any topic-partitions with the specified filters")
    leaderless = by_leader.pop(NO_LEADER, {})
    found: list[tuple[str, int, int]] = []
    for leader, topics in by_leader.items():
        found += _ask(client, leader, topics, *options.time)
    _tell_skipped(leaderless, "there is no leader")
    return found


def _ask(
    client: Client, leader: int, topics: Mapping[str, list[int]], timestamp: int, version: int
) -> list[tuple[str, int, int]]:
    """Ask a leader; return topic, partition and offset of each partition."""
    if client.connection(leader).version_of(messages.ListOffsetsRequest) < version:
        raise NotSupported(f"broker {leader} does not know such a --time")
    value = offsets_request(
        {name: dict.fromkeys(indexes, timestamp) for name, indexes in topics.items()}
    )
    found = []
    for topic in client.request(value, node_id=leader).topics:
        for partition in topic.partitions:
            if partition.error_code in RETRIED:
                raise Refused(
                    f"partition {topic.name}-{partition.partition_index}", partition.error_code
                )
            if partition.error_code:
                skipped = {topic.name: [partition.partition_index]}
                _tell_skipped(skipped, error_name(partition.error_code))
            elif partition.offset >= 0:
                found.append((topic.name, partition.partition_index, partition.offset))
    return found


def _tell_skipped(topics: Mapping[str, list[int]], reason: str) -> None:
    for name, indexes in topics.items():
        for index in indexes:
            print(f"broker-lite: {name}:{index} is left out: {reason}", file=sys.stderr)


def _moment(text: str) -> tuple[int, int]:
    """Parse --time; return a timestamp and the first version of ListOffsets that supports it."""
    if text in _MOMENTS:
        return _MOMENTS[text]
    try:
        number = int(text)
    except ValueError:
        number = -len(_MOMENTS) - 1
    for moment in _MOMENTS.values():
        if moment[0] == number:
            return moment
    if not 0 <= number <= _TIMESTAMP_MAX:
        names = ", ".join(_MOMENTS)
        raise argparse.ArgumentTypeError(
            f"{text} is neither milliseconds since 1970 nor one of {names} (-1 to -{len(_MOMENTS)})"
        )
    return number, 1

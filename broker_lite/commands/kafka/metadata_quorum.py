"""`kafka-metadata-quorum describe`: print the leader of the metadata log, and the others' lag.

Flags and output are those of kafka-metadata-quorum.sh.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from typing import Final

from broker_lite.client import Client, check
from broker_lite.commands.shared.connecting import add_connection, connect
from broker_lite.commands.shared.text_table import tabbed_table
from broker_lite.errors import SettingsError
from broker_lite.log.files.checkpoints import format_uuid
from broker_lite.wire import messages

_TOPIC: Final = "__cluster_metadata"
_NO_DIRECTORY: Final = bytes(16)
_COLUMNS: Final = (
    *("NodeId", "DirectoryId", "LogEndOffset", "Lag"),
    *("LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the tool."""
    add_connection(parser, with_controller=True)
    actions = parser.add_subparsers(dest="action", metavar="COMMAND", required=True)
    describing = actions.add_parser("describe", help="describe the quorum")
    describing.add_argument("--status", action="store_true", help="print a summary")
    describing.add_argument(
        "--replication", "--re", action="store_true", help="print a line per node"
    )
    describing.add_argument(
        "--human-readable", "--hr", action="store_true", help="print times as ms ago"
    )


def run(options: argparse.Namespace) -> int:
    """Print the status or the replication of the quorum."""
    which = "--status or --replication"
    if not (options.status or options.replication):
        raise SettingsError(f"One of {which} must be specified with describe sub-command")
    if options.status and options.replication:
        raise SettingsError(f"Only one of {which} should be specified with describe sub-command")
    if options.status and options.human_readable:
        text = "The option --human-readable is only supported along with --replication"
        raise SettingsError(text)
    with connect(options) as client:
        quorum, nodes = _ask(client)
        cluster_id = client.metadata(()).cluster_id
    if options.status:
        print(*_status(quorum, nodes, cluster_id), sep="\n")
    else:
        print(*_replication(quorum, readable=options.human_readable), sep="\n")
    return 0


def _ask(
    client: Client,
) -> tuple[
    messages.DescribeQuorumResponse.PartitionData, list[messages.DescribeQuorumResponse.Node]
]:
    """Ask for the quorum of the metadata log and the endpoints of its nodes."""
    make = messages.DescribeQuorumRequest
    partition = make.PartitionData(partition_index=0)
    topic = make.TopicData(topic_name=_TOPIC, partitions=[partition])
    answer = client.request(make(topics=[topic]))
    check("quorum", answer.error_code, answer.error_message)
    (found,) = answer.topics[0].partitions
    check("quorum", found.error_code, found.error_message)
    return found, answer.nodes


def _status(
    quorum: messages.DescribeQuorumResponse.PartitionData,
    nodes: Iterable[messages.DescribeQuorumResponse.Node],
    cluster_id: str | None,
) -> Iterable[str]:
    leader = _leader(quorum)
    replicas = (*quorum.current_voters, *quorum.observers)
    slowest = min(replicas, key=lambda each: each.log_end_offset)
    lag = leader.log_end_offset - slowest.log_end_offset
    if lag == 0:
        lag_ms = 0
    elif slowest.last_caught_up_timestamp < 0:
        lag_ms = -1
    else:
        lag_ms = leader.last_caught_up_timestamp - slowest.last_caught_up_timestamp
    endpoints = {
        node.node_id: [f"{each.name}://{each.host}:{each.port}" for each in node.listeners]
        for node in nodes
    }
    yield f"ClusterId:              {cluster_id}"
    yield f"LeaderId:               {quorum.leader_id}"
    yield f"LeaderEpoch:            {quorum.leader_epoch}"
    yield f"HighWatermark:          {quorum.high_watermark}"
    yield f"MaxFollowerLag:         {lag}"
    yield f"MaxFollowerLagTimeMs:   {lag_ms}"
    yield f"CurrentVoters:          {_replicas(quorum.current_voters, endpoints)}"
    yield f"CurrentObservers:       {_replicas(quorum.observers, {})}"


def _replicas(
    replicas: Iterable[messages.DescribeQuorumResponse.ReplicaState],
    endpoints: dict[int, list[str]],
) -> str:
    """Format nodes as JSON."""
    found = []
    for each in replicas:
        node: dict[str, object] = {"id": each.replica_id}
        if each.replica_directory_id != _NO_DIRECTORY:
            node["directoryId"] = format_uuid(each.replica_directory_id)
        if endpoints.get(each.replica_id):
            node["endpoints"] = endpoints[each.replica_id]
        found.append(node)
    return json.dumps(found)


def _replication(
    quorum: messages.DescribeQuorumResponse.PartitionData, *, readable: bool
) -> Iterable[str]:
    leader = _leader(quorum)
    now_ms = time.time_ns() // 1_000_000

    def moment(at_ms: int) -> str:
        return f"{now_ms - at_ms} ms ago" if readable and at_ms >= 0 else str(at_ms)

    parts = (("Follower", quorum.current_voters), ("Observer", quorum.observers))
    rows = [
        (
            each.replica_id,
            format_uuid(each.replica_directory_id),
            each.log_end_offset,
            leader.log_end_offset - each.log_end_offset,
            moment(each.last_fetch_timestamp),
            moment(each.last_caught_up_timestamp),
            "Leader" if each is leader else part,
        )
        for part, replicas in parts
        for each in replicas
    ]
    rows.sort(key=lambda row: row[-1] != "Leader")
    return tabbed_table(_COLUMNS, rows)


def _leader(
    quorum: messages.DescribeQuorumResponse.PartitionData,
) -> messages.DescribeQuorumResponse.ReplicaState:
    return next(each for each in quorum.current_voters if each.replica_id == quorum.leader_id)

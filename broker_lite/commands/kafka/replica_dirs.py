"""Finds the log directories of replicas, and moves replicas to others.

Source: ReassignPartitionsCommand.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from broker_lite.client import Client, check
from broker_lite.commands.shared.kafka_errors import exception_text
from broker_lite.errors import ClientError, ErrorCode
from broker_lite.wire import messages

_PAUSE_S: Final = 0.1


class Replica(NamedTuple):
    """A replica; sorts in the order of printing."""

    broker: int
    topic: str
    partition: int

    def __str__(self) -> str:  # type: ignore[explicit-override]
        return f"{self.topic}-{self.partition}-{self.broker}"


class Place(NamedTuple):
    """The log directory of a replica, and the one that it moves to."""

    current: str | None = None
    future: str | None = None


def places(client: Client, brokers: Iterable[int]) -> dict[Replica, Place]:
    """Return the place of every replica of some brokers; missing brokers are skipped."""
    found: dict[Replica, Place] = {}
    for broker in sorted(set(brokers) & set(client.nodes())):
        answer = client.request(messages.DescribeLogDirsRequest(topics=None), node_id=broker)
        check("log directories", answer.error_code)
        for directory in answer.results:
            for topic in directory.topics:
                for each in topic.partitions:
                    replica = Replica(broker, topic.name, each.partition_index)
                    which = "future" if each.is_future_key else "current"
                    place = found.get(replica, Place())
                    found[replica] = place._replace(**{which: directory.log_dir})
    return found


def state_line(replica: Replica, place: Place, target: str) -> str:
    """Describe the progress of a replica's move to a directory."""
    name, broker = f"{replica.topic}-{replica.partition}", replica.broker
    if place.current is None:
        return (
            f"Partition {name} is not found in any live log dir on broker {broker}. There is likely"
            " an offline log directory on the broker."
        )
    if place.future is None:
        if place.current == target:
            return f"Reassignment of replica {replica} completed successfully."
        return (
            f"Partition {name} on broker {broker} is not being moved from log dir {place.current}"
            f" to {target}."
        )
    if place.future == target:
        return f"Reassignment of replica {replica} is still in progress."
    return (
        f"Partition {name} on broker {broker} is being moved to log dir {place.future} instead of"
        f" {target}."
    )


def move(client: Client, targets: Mapping[Replica, str], timeout_ms: int) -> None:
    """Start moves of replicas and print each that has begun.

    If a broker does not have a replica yet, ask again until the timeout.

    Raises:
        ClientError: a broker refused a move, or the timeout expired.
    """
    pending = dict(targets)
    deadline = time.monotonic() + timeout_ms / 1000
    while True:
        for replica in _begin(client, pending):
            print(
                f"Successfully started moving log directory to {pending.pop(replica)} for replica"
                f" {replica.topic}-{replica.partition} with broker {replica.broker} "
            )
        if not pending:
            return
        if time.monotonic() >= deadline:
            ending = "" if len(pending) == 1 else "s"
            names = ",".join(map(str, sorted(pending)))
            raise ClientError(
                f"Timed out before log directory move{ending} could be started for: {names}"
            )
        time.sleep(_PAUSE_S)


def _begin(client: Client, targets: Mapping[Replica, str]) -> Collection[Replica]:
    """Ask each broker for its moves; return those that have begun, sorted."""
    begun = []
    for broker in sorted({replica.broker for replica in targets}):
        mine = {each: path for each, path in targets.items() if each.broker == broker}
        for topic in client.request(_request(mine), node_id=broker).results:
            for each in topic.partitions:
                replica = Replica(broker, topic.topic_name, each.partition_index)
                if not each.error_code:
                    begun.append(replica)
                elif each.error_code != ErrorCode.REPLICA_NOT_AVAILABLE:
                    reason = exception_text(each.error_code)
                    raise ClientError(f"Failed to alter dir for {replica}: {reason}")
    return sorted(begun)


def _request(targets: Mapping[Replica, str]) -> messages.AlterReplicaLogDirsRequest:
    make = messages.AlterReplicaLogDirsRequest
    directories: dict[str, dict[str, list[int]]] = {}
    for replica, path in targets.items():
        topics = directories.setdefault(path, {})
        topics.setdefault(replica.topic, []).append(replica.partition)
    return make(
        dirs=[
            make.AlterReplicaLogDir(
                path=path,
                topics=[
                    make.AlterReplicaLogDirTopic(name=name, partitions=numbers)
                    for name, numbers in topics.items()
                ],
            )
            for path, topics in directories.items()
        ]
    )

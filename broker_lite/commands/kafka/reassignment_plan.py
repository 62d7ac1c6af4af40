"""The JSON of `kafka-reassign-partitions`: the wanted replicas and their directories.

Source: ReassignPartitionsCommand.
"""

import json
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from broker_lite.client.topic_partitions import TopicPartition
from broker_lite.commands.kafka.json_file import member, read_partitions
from broker_lite.commands.kafka.replica_dirs import Replica
from broker_lite.errors import ClientError, SettingsError

_ANY: Final = "any"
_Kind = TypeVar("_Kind")

Assignment = Mapping[TopicPartition, Sequence[int]]


class Plan:
    """The reassignments in a file.

    Attributes:
        replicas: the brokers of each partition, the preferred leader first.
        directories: the wanted log directory of a replica, if the file names one.
    """

    def __init__(self, path: Path) -> None:
        self.replicas: dict[TopicPartition, list[int]] = {}
        self.directories: dict[Replica, str] = {}
        self._all: list[TopicPartition] = []
        for entry in read_partitions(path):
            self._read(entry)

    def _read(self, entry: dict[str, Any]) -> None:
        partition = (member(entry, "topic", str), member(entry, "partition", int))
        replicas = _all_of(int, member(entry, "replicas", list), "replicas")
        directories: list[str] = [_ANY] * len(replicas)
        if "log_dirs" in entry:
            directories = _all_of(str, member(entry, "log_dirs", list), "log_dirs")
        if len(directories) != len(replicas):
            raise ClientError(
                f"Size of replicas list {replicas} is different from size of log dirs list"
                f" [{', '.join(directories)}] for partition {name(partition)}"
            )
        self._all.append(partition)
        self.replicas[partition] = replicas
        for broker, directory in zip(replicas, directories, strict=True):
            if directory != _ANY:
                self.directories[Replica(broker, *partition)] = directory

    def check(self) -> None:
        """Refuse a plan that cannot be executed.

        Raises:
            ClientError: the plan is empty, or has duplicates.
        """
        if not self.replicas:
            raise ClientError("Partition reassignment list cannot be empty")
        if not all(self.replicas.values()):
            raise ClientError("Partition replica list cannot be empty")
        if twice := duplicates(self._all):
            names = ",".join(map(name, twice))
            raise ClientError(
                f"Partition reassignment contains duplicate topic partitions: {names}"
            )
        lists = [
            f"{name(partition)} contains multiple entries for {joined(repeated)}"
            for partition, replicas in self.replicas.items()
            if (repeated := duplicates(replicas))
        ]
        if lists:
            raise ClientError(
                f"Partition replica lists may not contain duplicate entries: {'. '.join(lists)}"
            )


def _all_of(kind: type[_Kind], values: list[_Kind], what: str) -> list[_Kind]:
    if not all(isinstance(value, kind) for value in values):
        raise SettingsError(f"{what}: {json.dumps(values)} is not a list of {kind.__name__}")
    return values


def name(partition: TopicPartition) -> str:
    """Format a partition."""
    return f"{partition[0]}-{partition[1]}"


def joined(numbers: Iterable[int]) -> str:
    """Join numbers with commas."""
    return ",".join(map(str, numbers))


def duplicates(values: Iterable[_Kind]) -> list[_Kind]:
    """Return the values that occur more than once."""
    return [value for value, count in Counter(values).items() if count > 1]


def as_json(assignment: Assignment, directories: Mapping[Replica, str]) -> str:
    """Format an assignment as JSON in the tool's own form."""
    partitions = [
        {
            "topic": partition[0],
            "partition": partition[1],
            "replicas": [*replicas],
            "log_dirs": [directories.get(Replica(each, *partition), _ANY) for each in replicas],
        }
        for partition, replicas in sorted(assignment.items())
    ]
    value = {"version": 1, "partitions": partitions}
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def propose(current: Assignment, brokers: Collection[int]) -> dict[TopicPartition, list[int]]:
    """Spread partitions over brokers as Kafka does: each topic begins at a random broker.

    Raises:
        ClientError: a topic has more replicas than there are brokers.
    """
    nodes = sorted(brokers)
    by_topic: dict[str, list[TopicPartition]] = {}
    for partition in sorted(current):
        by_topic.setdefault(partition[0], []).append(partition)
    found: dict[TopicPartition, list[int]] = {}
    for partitions in by_topic.values():
        factor = len(current[partitions[0]])
        if factor > len(nodes):
            raise ClientError(
                f"Replication factor: {factor} larger than available brokers: {len(nodes)}."
            )
        first, shift = secrets.randbelow(len(nodes)), secrets.randbelow(len(nodes))
        for place, partition in enumerate(partitions):
            if place and (place + first) % len(nodes) == 0:
                shift += 1
            found[partition] = _spread(nodes, place + first, shift, factor)
    return found


def _spread(nodes: Sequence[int], first: int, shift: int, factor: int) -> list[int]:
    others = [
        (first + 1 + (shift + place) % (len(nodes) - 1)) % len(nodes) for place in range(factor - 1)
    ]
    return [nodes[index] for index in (first % len(nodes), *others)]

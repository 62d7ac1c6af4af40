"""Waits until a cluster has settled: all brokers say the same, and the replicas are equal."""

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from broker_lite.wire import messages
from tests.differential.cluster import Clients
from tests.differential.kafka_cluster import NODE_IDS
from tests.support.raw_client import Closed

STATE_TOPICS: Final = ("__consumer_offsets", "__transaction_state")
SETTLE_TIMEOUT_S: Final = 40.0
POLL_S: Final = 0.03
NO_LEADER: Final = -1
METADATA_VERSION: Final = 12
FETCH_VERSION: Final = 12
_EARLIEST: Final = -2
_Partition = tuple[str, int]


class NotSettled(Exception):
    """A cluster goes on changing, or stays as it should not; the text says in what."""


class Placed(NamedTuple):
    """A partition as one broker tells it."""

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    isr: frozenset[int]


class Settling:
    """Waits for one cluster.

    Args:
        clients: of the cluster.
        up: the brokers that run.
        topics: min.insync.replicas of each topic that has to be there.
    """

    def __init__(self, clients: Clients, up: Collection[int], topics: Mapping[str, int]) -> None:
        self._clients = clients
        self._up = sorted(up)
        self._topics = topics

    def wait(self) -> None:
        """Wait until the cluster has settled.

        Raises:
            NotSettled: it has not in time.
        """
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while (missing := self._missing()) is not None:
            if time.monotonic() > deadline:
                raise NotSettled(missing)
            time.sleep(POLL_S)

    def _missing(self) -> str | None:
        """What is not settled, None if all is."""
        try:
            for text in self._differences():
                return text
        except (Closed, OSError) as error:
            return repr(error)
        return None

    def _differences(self) -> Iterator[str]:
        told = {node_id: self.told(node_id) for node_id in self._up}
        first = told[self._up[0]]
        for node_id, view in told.items():
            if view != first:
                yield f"broker {node_id} says {view}, broker {self._up[0]} says {first}"
        brokers, partitions = first
        if brokers != self._up:
            yield f"the brokers are {brokers}, not {self._up}"
        for name in self._topics:
            if (name, 0) not in partitions:
                yield f"topic {name} is missing"
        for key, one in partitions.items():
            expected = set(one.replicas) & set(self._up)
            if one.leader != NO_LEADER and (one.leader not in self._up or one.isr != expected):
                yield f"{key} is {one}"
        own = {key: one for key, one in partitions.items() if key[0] not in STATE_TOPICS}
        yield from self._differences_of_logs(own)

    def told(self, node_id: int) -> tuple[list[int], dict[_Partition, Placed]]:
        """The brokers and partitions that one broker tells."""
        kind = messages.MetadataRequest
        names = [*self._topics, *STATE_TOPICS]
        answer = self._clients.ask(
            node_id,
            kind(
                topics=[kind.MetadataRequestTopic(name=name) for name in names],
                allow_auto_topic_creation=False,
            ),
            METADATA_VERSION,
        )
        partitions = {
            (topic.name, row.partition_index): Placed(
                row.leader_id, row.leader_epoch, tuple(row.replica_nodes), frozenset(row.isr_nodes)
            )
            for topic in answer.topics
            for row in topic.partitions
        }
        return sorted(row.node_id for row in answer.brokers), partitions

    def _differences_of_logs(self, partitions: Mapping[_Partition, Placed]) -> Iterator[str]:
        led = {key: one for key, one in partitions.items() if one.leader != NO_LEADER}
        starts: dict[_Partition, int] = {}
        ends: dict[_Partition, int] = {}
        for leader in {one.leader for one in led.values()}:
            keys = [key for key, one in led.items() if one.leader == leader]
            for answer, found in (
                (_list_offsets(self._clients, leader, keys), starts),
                (_ends(self._clients, leader, {key: led[key].epoch for key in keys}), ends),
            ):
                for key, (code, offset) in answer.items():
                    if code:
                        yield f"{key}: {leader} answers {code}"
                    found[key] = offset
        if starts.keys() == ends.keys() == led.keys():
            yield from self._differences_of_replicas(led, starts, ends)

    def _differences_of_replicas(
        self,
        led: Mapping[_Partition, Placed],
        starts: Mapping[_Partition, int],
        ends: Mapping[_Partition, int],
    ) -> Iterator[str]:
        marks: dict[_Partition, set[tuple[int, int]]] = {key: set() for key in led}
        sizes: dict[_Partition, set[int]] = {key: set() for key in led}
        for node_id in self._up:
            here = {key: starts[key] for key, one in led.items() if node_id in one.isr}
            for key, (code, mark, start) in _marks(self._clients, node_id, here).items():
                if code:
                    yield f"{key}: {node_id} answers a Fetch with {code}"
                marks[key].add((mark, start))
            for key, size in _sizes(self._clients, node_id).items():
                if key in here:
                    sizes[key].add(size)
        for key, one in led.items():
            # below its start, a replica that was added later never gets what others still have
            has_equal_sizes = len(sizes[key]) <= 1 or starts[key] > 0
            if len({mark for mark, _ in marks[key]}) > 1 or not has_equal_sizes:
                yield f"{key}: high watermarks and starts {marks[key]}, sizes {sizes[key]}"
            elif len(marks[key]) > 1:
                own = sorted(start for _, start in marks[key])
                yield f"{key}: log starts {own} of its replicas"
            is_whole = len(one.isr) >= min(self._topics.get(key[0], 1), len(one.replicas))
            if is_whole and {mark for mark, _ in marks[key]} != {ends[key]}:
                yield f"{key}: high watermarks {marks[key]}, end {ends[key]}"


def _list_offsets(
    clients: Clients, leader: int, keys: Collection[_Partition]
) -> dict[_Partition, tuple[int, int]]:
    kind = messages.ListOffsetsRequest
    topics = [
        kind.ListOffsetsTopic(
            name=name,
            partitions=[kind.ListOffsetsPartition(partition_index=index, timestamp=_EARLIEST)],
        )
        for name, index in keys
    ]
    answer = clients.ask(leader, kind(replica_id=-1, topics=topics), 5)
    return {
        (topic.name, row.partition_index): (row.error_code, row.offset)
        for topic in answer.topics
        for row in topic.partitions
    }


def _ends(
    clients: Clients, leader: int, epochs: Mapping[_Partition, int]
) -> dict[_Partition, tuple[int, int]]:
    kind = messages.OffsetForLeaderEpochRequest
    topics = [
        kind.OffsetForLeaderTopic(
            topic=name,
            partitions=[
                kind.OffsetForLeaderPartition(
                    partition=index, current_leader_epoch=epoch, leader_epoch=epoch
                )
            ],
        )
        for (name, index), epoch in epochs.items()
    ]
    answer = clients.ask(leader, kind(replica_id=-1, topics=topics), 4)
    return {
        (topic.topic, row.partition): (row.error_code, row.end_offset)
        for topic in answer.topics
        for row in topic.partitions
    }


def _marks(
    clients: Clients, node_id: int, starts: Mapping[_Partition, int]
) -> dict[_Partition, tuple[int, int, int]]:
    kind = messages.FetchRequest
    topics = [
        kind.FetchTopic(
            topic=name,
            partitions=[
                kind.FetchPartition(partition=index, fetch_offset=start, partition_max_bytes=1)
            ],
        )
        for (name, index), start in starts.items()
    ]
    value = kind(max_wait_ms=0, min_bytes=0, max_bytes=1, topics=topics)
    answer = clients.ask(node_id, value, FETCH_VERSION)
    return {
        (topic.topic, row.partition_index): (
            row.error_code,
            row.high_watermark,
            row.log_start_offset,
        )
        for topic in answer.responses
        for row in topic.partitions
    }


def _sizes(clients: Clients, node_id: int) -> dict[_Partition, int]:
    answer: Any = clients.ask(node_id, messages.DescribeLogDirsRequest(topics=None), 3)
    return {
        (topic.name, row.partition_index): row.partition_size
        for folder in answer.results
        for topic in folder.topics
        for row in topic.partitions
        if not row.is_future_key
    }


def first_epochs(clients: Clients) -> dict[tuple[str, int], int]:
    """The leader epochs of the coordinators' partitions, which go on from script to script."""
    told = Settling(clients, NODE_IDS, {}).told(NODE_IDS[0])
    return {key: one.epoch for key, one in told[1].items()}


def wait_for_coordinators(clients: Clients, node_id: int) -> None:
    """Wait until groups and transactional ids have coordinators.

    Raises:
        NotSettled: they have none in time.
    """
    deadline = time.monotonic() + SETTLE_TIMEOUT_S
    for key_type in (0, 1):
        code = -1
        while code:
            if time.monotonic() > deadline:
                raise NotSettled(f"coordinators of type {key_type}: {code}")
            with suppress(Closed, OSError):
                request = messages.FindCoordinatorRequest(key="any", key_type=key_type)
                code = clients.ask(node_id, request, 3).error_code
            time.sleep(POLL_S)

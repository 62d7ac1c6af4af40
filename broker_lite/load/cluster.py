"""What a load asks the cluster beside its requests: leaders, offsets, and connections.

All of it blocks. During a run only one thread at a time calls the methods; connections are opened
by any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, NamedTuple, TypeVar

from broker_lite.client import Address, Client, Connection, NoAnswer, NoConnection
from broker_lite.client.errors import check
from broker_lite.client.partition_offsets import EARLIEST, LATEST, list_offsets
from broker_lite.client.topic_partitions import find_topics
from broker_lite.errors import ErrorCode
from broker_lite.load.part import WHOLE, Part
from broker_lite.load.stamped import Producer
from broker_lite.wire import messages

_BROKERS_DEFAULT: Final = -1
_TIMEOUT_MS: Final = 30_000
_TRANSACTION_MS: Final = 60_000
_Answer = TypeVar("_Answer")


class View(NamedTuple):
    """The cluster at a moment, as far as it is for this process.

    Attributes:
        leaders: node ids by partition; partitions without a leader are left out.
        partition_count: with those without a leader.
        addresses: of all brokers, by node id.
        starts: the log start offsets of the partitions that were asked for.
    """

    leaders: Mapping[int, int]
    partition_count: int
    addresses: Mapping[int, Address]
    starts: Mapping[int, int]


class Cluster:
    """The cluster with the topic of a load."""

    def __init__(
        self,
        client: Client,
        topic: str,
        connect: Callable[[str], Client],
        part: Part = WHOLE,
    ) -> None:
        """Take a client over.

        Args:
            client: connected; close() closes it.
            topic: its name.
            connect: makes another client from bootstrap servers, or raises ClientError.
            part: of the partitions, which this process has.
        """
        self.topic = topic
        self._part = part
        self._client = client
        self._connect = connect
        self._nodes = dict(client.nodes())

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    @property
    def timeout_s(self) -> float:
        """How long an answer may take."""
        return self._client.timeout_s

    @property
    def client_id(self) -> str:
        """The name that requests carry."""
        return self._client.client_id

    def open(self, node_id: int, address: Address | None) -> Connection:
        """Open a connection to a broker; any thread may do so.

        Raises:
            ClientError: it cannot be reached, or refuses.
        """
        if address is None:
            raise NoConnection(f"there is no broker {node_id}")
        return self._client.open(address)

    def create_topic(self, partitions: int) -> None:
        """Create the topic if it does not exist.

        Raises:
            Refused: the broker refuses.
        """
        if self.topic in find_topics(self._client, [self.topic]):
            return
        make = messages.CreateTopicsRequest
        wanted = make.CreatableTopic(
            name=self.topic, num_partitions=partitions, replication_factor=_BROKERS_DEFAULT
        )
        (result,) = self._client.request(
            make(topics=[wanted], timeout_ms=_TIMEOUT_MS), node_id=self._client.controller_id()
        ).topics
        if result.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
            check(f"topic {self.topic}", result.error_code, result.error_message)

    def producer(self) -> Producer:
        """Ask for the id of an idempotent producer.

        Raises:
            ClientError: the broker refuses, or is too old.
        """

        def ask() -> messages.InitProducerIdResponse:
            wanted = messages.InitProducerIdRequest(
                transactional_id=None, transaction_timeout_ms=_TRANSACTION_MS
            )
            answer = self._client.request(wanted)
            check("producer id", answer.error_code)
            return answer

        answer = self._client.retry(ask)
        return Producer(answer.producer_id, answer.producer_epoch)

    def wait_for_leaders(self) -> int:
        """Wait until each partition has a leader, as after the topic was created.

        Returns:
            The count of partitions.

        Raises:
            Refused: the topic does not exist, or has no leaders in time.
        """
        return len(self._client.leaders(self.topic))

    def look(self, starts_of: Iterable[int] = ()) -> View:
        """Ask for leaders and addresses; if no broker answers, ask the others.

        Args:
            starts_of: partitions whose log start offsets are asked for.

        Raises:
            ClientError: no broker answers, or it refuses.
        """
        return self._asked(partial(self._look, tuple(starts_of)))

    def offsets(self, *, earliest: bool) -> dict[int, int]:
        """Return the offset at which each partition of this process starts or ends.

        Raises:
            ClientError: a leader does not answer, or refuses.
        """
        moment = EARLIEST if earliest else LATEST

        def ask() -> dict[int, int]:
            topics = find_topics(self._client, [self.topic])
            check(f"topic {self.topic}", 0 if topics else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            count = topics[self.topic].partition_count
            wanted = {(self.topic, number): moment for number in self._part.of(range(count))}
            found = list_offsets(self._client, wanted, topics)
            return {number: offset for (_, number), offset in found.items()}

        return self._asked(lambda: self._client.retry(ask))

    def _asked(self, ask: Callable[[], _Answer]) -> _Answer:
        """Ask; if that fails, ask once more by new connections to any broker that is there."""
        try:
            return ask()
        except (NoConnection, NoAnswer):
            others = ",".join(map(str, self._nodes.values()))
            client, self._client = self._client, self._connect(others)
            client.close()
            return ask()

    def _look(self, starts_of: Iterable[int]) -> View:
        topics = find_topics(self._client, [self.topic])
        check(f"topic {self.topic}", 0 if topics else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        topic = topics[self.topic]
        self._nodes = dict(self._client.nodes()) or self._nodes
        wanted = {(self.topic, n): EARLIEST for n in starts_of if n in topic.leaders}
        starts = list_offsets(self._client, wanted, topics) if wanted else {}
        partitions = self._part.of(range(topic.partition_count))
        return View(
            leaders={n: topic.leaders[n] for n in partitions if n in topic.leaders},
            partition_count=len(partitions),
            addresses=self._nodes,
            starts={number: offset for (_, number), offset in starts.items()},
        )

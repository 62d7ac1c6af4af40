"""Fetches records of partitions from their leaders.

Every fetch names all partitions with their positions, without a fetch session. All leaders are
asked at the same time, and each responds when it has records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from broker_lite.client.broker_connection import Connection
from broker_lite.client.client import Client
from broker_lite.client.deadline import Deadline
from broker_lite.client.errors import BadAnswer, NoAnswer, NoConnection, Refused, check
from broker_lite.client.partition_offsets import EARLIEST, LATEST, list_offsets
from broker_lite.client.topic_partitions import MOVED, NO_LEADER, Topic, TopicPartition, find_topics
from broker_lite.errors import BrokerError, ClientError, ErrorCode
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import visible_batches
from broker_lite.record.framing import CURRENT_MAGIC, walk
from broker_lite.wire import messages

_ANSWER_BYTES_MAX: Final = 50 << 20
_PARTITION_BYTES_MAX: Final = 1 << 20
_READ_COMMITTED: Final = 1
_NO_SESSION: Final = -1
_PAUSE_S: Final = 0.1


class FetchedBatch(NamedTuple):
    """A batch with wanted records.

    Attributes:
        position: the first wanted offset; the batch may have earlier records.
    """

    topic: str
    partition: int
    position: int
    batch: RecordBatch


class Fetcher:
    """Reads partitions from given positions on.

    Attributes:
        positions: the next offset of each partition; None until `reset` is resolved.
    """

    def __init__(
        self,
        client: Client,
        *,
        reset: int | None,
        read_committed: bool = False,
        partition_bytes_max: int = _PARTITION_BYTES_MAX,
    ) -> None:
        """Start without partitions.

        Args:
            client: of the cluster.
            reset: EARLIEST or LATEST, for partitions without a valid position; None makes that an
                error.
            read_committed: whether to leave out records of open and aborted transactions.
            partition_bytes_max: limit per partition in a response.
        """
        self.positions: dict[TopicPartition, int | None] = {}
        self._client = client
        self._reset = reset
        self._read_committed = read_committed
        self._partition_bytes_max = partition_bytes_max
        self._topics: Mapping[str, Topic] = {}
        self._stale = True
        self._unreachable: Deadline | None = None

    def assign(self, positions: Mapping[TopicPartition, int | None]) -> None:
        """Read exactly these partitions, each from its position on."""
        self.positions = dict(positions)
        self._stale = True

    def poll(self, wait_s: float) -> list[FetchedBatch]:
        """Return batches; wait if there are none.

        Args:
            wait_s: the longest wait.

        Raises:
            ClientError: a leader refused, brokers were unreachable for longer than the client's
                timeout, or a response cannot be read.
        """
        deadline = Deadline(wait_s)
        try:
            batches = self._poll(deadline)
        except (NoConnection, NoAnswer):
            if self._unreachable is None:
                self._unreachable = Deadline(self._client.timeout_s)
            self._stale = True
            if not self._unreachable.pause(_PAUSE_S):
                raise
            return []
        self._unreachable = None
        return batches

    def _poll(self, deadline: Deadline) -> list[FetchedBatch]:
        if self._stale:
            self._find_leaders()
        by_leader = self._by_leader()
        if not by_leader:
            deadline.pause(_PAUSE_S)
            return []
        asked: list[Connection] = []
        for leader, partitions in by_leader.items():
            connection = self._client.connection(leader, "" if len(by_leader) == 1 else "fetch")
            connection.send(self._request(partitions, deadline.remaining_s))
            asked.append(connection)
        batches: list[FetchedBatch] = []
        for connection in asked:
            timeout_s = deadline.remaining_s + self._client.timeout_s
            answer = connection.receive(messages.FetchResponse, timeout_s)
            check("fetch", answer.error_code)
            batches += self._take(answer)
        if self._stale and not batches:
            deadline.pause(_PAUSE_S)
        return batches

    def _find_leaders(self) -> None:
        """Ask for the leaders, and for the offsets of partitions without a position."""
        self._stale = False
        self._topics = find_topics(self._client, {name for name, _ in self.positions})
        missing = [
            (name, partition)
            for (name, partition), position in self.positions.items()
            if position is None and self._leader(name, partition) != NO_LEADER
        ]
        if missing and self._reset is None:
            raise Refused(
                f"partition {missing[0][0]}-{missing[0][1]}", ErrorCode.OFFSET_OUT_OF_RANGE
            )
        if missing:
            wanted = dict.fromkeys(missing, self._reset or LATEST)
            try:
                self.positions.update(
                    list_offsets(
                        self._client, wanted, self._topics, read_committed=self._read_committed
                    )
                )
            except Refused as error:
                if error.code not in MOVED:
                    raise
        # ask again at the next poll for partitions without leader or position
        self._stale = any(
            position is None or self._leader(name, partition) == NO_LEADER
            for (name, partition), position in self.positions.items()
        )

    def _leader(self, name: str, partition: int) -> int:
        topic = self._topics.get(name)
        return NO_LEADER if topic is None else topic.leaders.get(partition, NO_LEADER)

    def _by_leader(self) -> dict[int, dict[str, list[tuple[int, int]]]]:
        found: dict[int, dict[str, list[tuple[int, int]]]] = {}
        for (name, partition), position in self.positions.items():
            leader = self._leader(name, partition)
            if leader != NO_LEADER and position is not None:
                found.setdefault(leader, {}).setdefault(name, []).append((partition, position))
        return found

    def _request(
        self, partitions: Mapping[str, Iterable[tuple[int, int]]], wait_s: float
    ) -> messages.FetchRequest:
        make = messages.FetchRequest
        topics = [
            make.FetchTopic(
                topic=name,
                topic_id=self._topics[name].topic_id,
                partitions=[
                    make.FetchPartition(
                        partition=partition,
                        fetch_offset=position,
                        partition_max_bytes=self._partition_bytes_max,
                    )
                    for partition, position in positions
                ],
            )
            for name, positions in partitions.items()
        ]
        return make(
            max_wait_ms=round(wait_s * 1000),
            min_bytes=1,
            max_bytes=_ANSWER_BYTES_MAX,
            isolation_level=_READ_COMMITTED if self._read_committed else 0,
            session_epoch=_NO_SESSION,
            topics=topics,
        )

    def _take(self, answer: messages.FetchResponse) -> Iterator[FetchedBatch]:
        names = {topic.topic_id: name for name, topic in self._topics.items()}
        for topic in answer.responses:
            name = topic.topic or names[topic.topic_id]
            for fetched in topic.partitions:
                key = (name, fetched.partition_index)
                if fetched.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    self.positions[key] = None
                    self._stale = True
                elif fetched.error_code in MOVED:
                    self._stale = True
                else:
                    check(f"partition {name}-{fetched.partition_index}", fetched.error_code)
                    yield from self._take_records(key, fetched)

    def _take_records(
        self, key: TopicPartition, fetched: messages.FetchResponse.PartitionData
    ) -> Iterator[FetchedBatch]:
        records = fetched.records
        position = self.positions[key]
        if not records or position is None:
            return
        try:
            batches = [
                batch for batch in _batches(memoryview(records)) if batch.last_offset >= position
            ]
            aborted = fetched.aborted_transactions if self._read_committed else None
            visible = set(map(id, visible_batches(batches, aborted)))
        except BrokerError as error:
            raise BadAnswer(
                f"partition {key[0]}-{key[1]} from offset {position}: {error}"
            ) from error
        if batches:
            # moved to the end of the dict, so that the next fetch begins with the others
            del self.positions[key]
            self.positions[key] = batches[-1].next_offset
        for batch in batches:
            if id(batch) in visible:
                yield FetchedBatch(*key, position, batch)


def _batches(records: memoryview) -> Iterator[RecordBatch]:
    for entry in walk(records):
        if entry.magic != CURRENT_MAGIC:
            raise ClientError("records of a format from before Kafka 0.11")
        batch = RecordBatch(records, entry.position, entry.size_bytes)
        batch.ensure_valid()
        yield batch


RESETS: Final[Mapping[str, int | None]] = {"earliest": EARLIEST, "latest": LATEST, "none": None}
"""The values of `auto.offset.reset`."""

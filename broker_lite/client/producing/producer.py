"""A producer for one topic.

At most one request is in flight. Meanwhile the next batches are filled, so at most one batch per
partition is unsent. A lost batch is sent again with the same sequence numbers, so that an
idempotent producer writes each record exactly once and in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, NamedTuple

from broker_lite.client.client import Client
from broker_lite.client.deadline import Deadline
from broker_lite.client.errors import NoAnswer, NoConnection, Refused, check
from broker_lite.client.producing.partitioner import StickyPartition
from broker_lite.client.producing.producer_config import NO_ANSWER, ProducerConfig
from broker_lite.client.topic_partitions import MOVED, NO_LEADER, Topic, find_topics
from broker_lite.errors import ClientError, ErrorCode
from broker_lite.record.batch import (
    MAX_RECORD_OVERHEAD,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    SEQUENCE_MAX,
    RecordBatch,
)
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.murmur2 import partition_of_key
from broker_lite.record.records import Record, iterate_records
from broker_lite.wire import messages

Headers = Iterable[tuple[bytes, bytes | None]]

_RETRIED: Final = MOVED | {
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
}
_RECORD_OVERHEAD_BYTES: Final = MAX_RECORD_OVERHEAD
_HEADER_OVERHEAD_BYTES: Final = 10  # two lengths


class Batch(NamedTuple):
    """A batch to send.

    Attributes:
        is_new: no broker can have written it yet, so its producer id may still change.
    """

    partition: int
    data: bytes
    record_count: int
    producer_id: int
    is_new: bool = False


_Unsettled = Sequence[tuple[Batch, ClientError]]


class Producer:
    """Writes records to one topic.

    Attributes:
        sent_records: number of written records.
        failed_records: number of records that could not be written.
    """

    _version_max: ClassVar[int | None] = None
    """The highest version of Produce to use; None for the highest that both sides support."""

    def __init__(
        self,
        client: Client,
        topic: str,
        config: ProducerConfig,
        *,
        on_failure: Callable[[int, ClientError], None],
        on_settled: Callable[[int, int, bool], None] | None = None,
    ) -> None:
        """Find the topic, and get a producer id if the producer is idempotent.

        Args:
            client: of the cluster.
            topic: created if missing, if the broker allows that.
            config: of the producer.
            on_failure: called with the number of undelivered records and the reason; later records
                are still sent.
            on_settled: called for each batch with its partition, its number of records, and whether
                they were written; in order within a partition.

        Raises:
            ClientError: the topic does not exist in time, or the broker refused.
        """
        self.sent_records = 0
        self.failed_records = 0
        self._taken_records = 0
        self._client = client
        self._config = config
        self._on_failure = on_failure
        self._on_settled = on_settled
        self._topic = _wait_for_topic(client, topic, config.max_block_s)
        self._sticky = StickyPartition(self._topic.partition_count, config.batch_bytes)
        self._batches: dict[int, BatchBuilder] = {}
        self._under_way: tuple[int, Sequence[Batch]] | None = None
        self._sequences: dict[int, int] = {}
        self._producer_id, self._producer_epoch = NO_PRODUCER_ID, NO_PRODUCER_EPOCH
        if config.idempotent:
            self._get_producer_id()

    @property
    def pending(self) -> bool:
        """Whether there are unsent records."""
        return bool(self._batches)

    @property
    def open_records(self) -> int:
        """Number of records whose result is unknown."""
        return self._taken_records - self.sent_records - self.failed_records

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> int | None:
        """Add a record to a batch, which is sent when it is full or at flush().

        Args:
            key: None for no key.
            value: None for no value.
            headers: of the record.
            partition: an existing one; None lets the key decide.
            timestamp_ms: None for now.

        Returns:
            Its partition; None if it was refused because it is larger than max.request.size.
        """
        config = self._config
        self._taken_records += 1
        size_bytes = _RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
        if headers:
            headers = tuple(headers)
            size_bytes += sum(_header_size_max(*header) for header in headers)
        if size_bytes > config.max_request_bytes:
            self._fail(1, _too_large(size_bytes, config.max_request_bytes))
            return None
        if partition is None:
            partition = self._partition_of(key, size_bytes)
        if timestamp_ms is None:
            timestamp_ms = time.time_ns() // 1_000_000
        builder = self._batches.get(partition)
        if builder is not None and (
            builder.uncompressed_size_bytes + size_bytes > config.batch_bytes
        ):
            self._send(self._leader(partition), [partition])
            builder = None
        if builder is None:
            builder = self._batches[partition] = self._builder()
        builder.append(timestamp_ms, key, value, headers)
        return partition

    def _partition_of(self, key: bytes | None, size_bytes: int) -> int:
        if key is not None:
            return partition_of_key(key, self._topic.partition_count)
        partition = self._sticky.partition
        self._sticky.add(size_bytes)
        return partition

    def flush(self) -> None:
        """Send all batches and wait for their responses."""
        by_leader: dict[int, list[int]] = {}
        for partition in self._batches:
            by_leader.setdefault(self._leader(partition), []).append(partition)
        for leader, partitions in by_leader.items():
            self._send(leader, partitions)
        self.settle()

    def _builder(self) -> BatchBuilder:
        return BatchBuilder(codec=self._config.codec, level=self._config.level)

    def _build(self, partition: int, builder: BatchBuilder) -> Batch:
        """Build a batch with the next sequence numbers of its partition."""
        if self._config.idempotent:
            sequence = self._sequences.get(partition, 0)
            self._sequences[partition] = (sequence + builder.record_count) & SEQUENCE_MAX
            builder.producer_id, builder.producer_epoch = self._producer_id, self._producer_epoch
            builder.base_sequence = sequence
        return Batch(partition, builder.build(), builder.record_count, self._producer_id)

    def _leader(self, partition: int) -> int:
        return self._topic.leaders.get(partition, NO_LEADER)

    def _send(self, leader: int, partitions: Iterable[int]) -> None:
        """Send the batches of partitions, after the response to the request in flight."""
        self.settle()  # first, because it may change the next sequence numbers
        batches = [self._build(each, self._batches.pop(each)) for each in partitions]
        answered = self._config.acks != NO_ANSWER
        try:
            connection = self._client.connection(leader)
            connection.send(
                self._request(batches), answered=answered, version_max=self._version_max
            )
        except (NoConnection, NoAnswer) as error:
            self._send_again([(batch, error) for batch in batches])
            return
        if answered:
            self._under_way = (leader, batches)
        else:
            for batch in batches:
                self._count_sent(batch)

    def _request(self, batches: Iterable[Batch]) -> messages.ProduceRequest:
        make = messages.ProduceRequest
        partitions = [
            make.PartitionProduceData(index=batch.partition, records=memoryview(batch.data))
            for batch in batches
        ]
        topic = make.TopicProduceData(
            name=self._topic.name, topic_id=self._topic.topic_id, partition_data=partitions
        )
        timeout_ms = round(self._config.request_timeout_s * 1000)
        return make(acks=self._config.acks, timeout_ms=timeout_ms, topic_data=[topic])

    def settle(self) -> None:
        """Wait for the response to the request in flight; retry batches that may be retried.

        Who shares the client with another producer has to, before that one sends: a connection
        matches responses by their order.
        """
        if self._under_way is None:
            return
        leader, batches = self._under_way
        self._under_way = None
        try:
            connection = self._client.connection(leader)
            answer = connection.receive(messages.ProduceResponse, self._config.request_timeout_s)
        except (NoConnection, NoAnswer) as error:
            self._send_again([(batch, error) for batch in batches])
            return
        self._send_again(self._take_answer(batches, answer))

    def _take_answer(
        self, batches: Iterable[Batch], answer: messages.ProduceResponse
    ) -> _Unsettled:
        """Count written batches, give up refused ones; return batches to retry, with the reason.

        A batch that is too large for the topic is returned as two halves.
        """
        answers = {
            partition.index: partition
            for topic in answer.responses
            for partition in topic.partition_responses
        }
        again: list[tuple[Batch, ClientError]] = []
        for batch in batches:
            what = f"partition {self._topic.name}-{batch.partition}"
            error = _refusal(what, answers.get(batch.partition))
            if error is None:
                self._count_sent(batch)
            elif error.code in _RETRIED:
                again.append((batch, error))
            elif error.code == ErrorCode.MESSAGE_TOO_LARGE and batch.record_count > 1:
                again += [(half, error) for half in self._halves(batch)]
            else:
                self._give_up(batch, error)
        return again

    def _send_again(self, unsettled: _Unsettled) -> None:
        for batch, error in unsettled:
            self._deliver(batch, error)

    def _deliver(self, batch: Batch, error: ClientError) -> None:
        """Send a single batch until it is written or was refused too often.

        An unreachable broker is no refusal: then only the delivery timeout counts.
        """
        if batch.is_new and batch.producer_id != self._producer_id:
            batch = self._build(
                batch.partition, self._refilled(iterate_records(_record_batch(batch)))
            )
        deadline = Deadline(self._config.delivery_timeout_s)
        refusals = 0
        while refusals < self._config.retries and deadline.pause(self._config.retry_backoff_s):
            try:
                self._find_leaders()
                connection = self._client.connection(self._leader(batch.partition))
                answer = connection.request(
                    self._request([batch]),
                    timeout_s=self._config.request_timeout_s,
                    version_max=self._version_max,
                )
            except (NoConnection, NoAnswer) as failure:
                error = failure
                continue
            again = self._take_answer([batch], answer)
            if len(again) != 1:  # it was written, given up or halved
                self._send_again(again)
                return
            error = again[0][1]
            refusals += 1
        self._give_up(batch, error)

    def _find_leaders(self) -> None:
        name = self._topic.name
        self._topic = find_topics(self._client, [name], create=True).get(name, self._topic)

    def _halves(self, batch: Batch) -> Iterable[Batch]:
        """Split a batch into two that together have its sequence numbers."""
        whole = _record_batch(batch)
        records = tuple(iterate_records(whole))
        middle = len(records) // 2
        for half in (records[:middle], records[middle:]):
            builder = self._refilled(half)
            builder.base_sequence = half[0].sequence
            builder.producer_id, builder.producer_epoch = whole.producer_id, whole.producer_epoch
            data = builder.build()
            yield Batch(batch.partition, data, len(half), batch.producer_id, is_new=True)

    def _refilled(self, records: Iterable[Record]) -> BatchBuilder:
        builder = self._builder()
        for record in records:
            builder.append(record.timestamp, record.key, record.value, record.headers)
        return builder

    def _count_sent(self, batch: Batch) -> None:
        self.sent_records += batch.record_count
        if self._on_settled is not None:
            self._on_settled(batch.partition, batch.record_count, True)

    def _give_up(self, batch: Batch, error: ClientError) -> None:
        self._fail(batch.record_count, error)
        if self._on_settled is not None:
            self._on_settled(batch.partition, batch.record_count, False)
        if self._config.idempotent:
            # with the old id, the broker would refuse the gap in the sequence numbers
            self._get_producer_id()

    def _fail(self, record_count: int, error: ClientError) -> None:
        self.failed_records += record_count
        self._on_failure(record_count, error)

    def _get_producer_id(self) -> None:
        answer = self._client.retry(self._ask_producer_id)
        self._producer_id, self._producer_epoch = answer.producer_id, answer.producer_epoch
        self._sequences.clear()

    def _ask_producer_id(self) -> messages.InitProducerIdResponse:
        answer = self._client.request(
            messages.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        )
        check("producer id", answer.error_code)
        return answer


def _record_batch(batch: Batch) -> RecordBatch:
    return RecordBatch(memoryview(batch.data), 0, len(batch.data))


def _refusal(
    what: str, answer: messages.ProduceResponse.PartitionProduceResponse | None
) -> Refused | None:
    if answer is None:
        return Refused(what, ErrorCode.UNKNOWN_SERVER_ERROR, "no answer for the partition")
    # a duplicate was written before, and its response was lost
    if answer.error_code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
        return None
    return Refused(what, answer.error_code, answer.error_message)


def _header_size_max(key: bytes, value: bytes | None) -> int:
    return len(key) + len(value or b"") + _HEADER_OVERHEAD_BYTES


def _too_large(size_bytes: int, max_bytes: int) -> Refused:
    text = f"a record of {size_bytes} bytes, max.request.size is {max_bytes}"
    return Refused("record", ErrorCode.MESSAGE_TOO_LARGE, text)


def _wait_for_topic(client: Client, name: str, max_block_s: float) -> Topic:
    """Wait until the topic exists and all its partitions have leaders."""
    deadline = Deadline(max_block_s)
    while True:
        topic = find_topics(client, [name], create=True).get(name)
        if topic is not None and len(topic.leaders) == topic.partition_count > 0:
            return topic
        if not deadline.pause(0.05):
            text = f"not there after {max_block_s * 1000:.0f} ms"
            raise Refused(f"topic {name}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)

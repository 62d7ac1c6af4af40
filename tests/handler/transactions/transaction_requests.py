"""Producers with transactions, request by request, against handlers over a real cluster."""

from collections.abc import Mapping, Sequence
from typing import Any

from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.handler.data_apis import INIT_PRODUCER_ID, TOPIC, Handlers, wanted
from tests.log.batches import batch, record
from tests.support.coordinator_topics import make_offsets_topic

ADD_PARTITIONS, ADD_OFFSETS, END, MARKERS, COMMIT_OFFSETS = 24, 25, 26, 27, 28
DESCRIBE, LIST, OFFSET_FETCH = 65, 66, 9
TRANSACTIONAL = 0x10
NAME = "x"
OLD, NEW = 11, 12
"""Versions of Produce: partitions are added before, or by it."""

Producer = tuple[int, int]


class Transactor:
    """One producer: its id and epoch, and how many records it has sent to each partition."""

    def __init__(self, broker: Handlers, name: str = NAME) -> None:
        make_offsets_topic(broker.cluster)
        self.broker = broker
        self.name = name
        self.producer: Producer = (-1, -1)
        self.sequences: dict[int, int] = {}

    def init(self, expected: Producer = (-1, -1), version: int = 5, timeout_ms: int = 1000) -> int:
        value = messages.InitProducerIdRequest(
            transactional_id=self.name,
            transaction_timeout_ms=timeout_ms,
            producer_id=expected[0],
            producer_epoch=expected[1],
        )
        answer = self.broker.now(INIT_PRODUCER_ID, version, value)
        if not answer.error_code:
            self.producer = answer.producer_id, answer.producer_epoch
            self.sequences = {}
        return int(answer.error_code)

    def add(self, *indexes: int, version: int = 3, topic: str = TOPIC) -> list[int]:
        """The codes of the partitions, by AddPartitionsToTxn."""
        answer = self.broker.now(
            ADD_PARTITIONS, version, add_request(self, {topic: indexes}, version)
        )
        topics = answer.results_by_topic_v3_and_below
        if version >= 4:
            topics = answer.results_by_transaction[0].topic_results
        return [each.partition_error_code for one in topics for each in one.results_by_partition]

    def produce(self, index: int = 0, version: int = NEW, acks: int = -1) -> Any:
        """Send a record; gives the answer of the partition."""
        sequence = self.sequences.get(index, 0)
        data = batch(record(), attributes=TRANSACTIONAL, producer=(*self.producer, sequence))
        (answer,) = self.broker.produce(
            data, version=version, acks=acks, transactional_id=self.name, partitions=[index]
        )
        if not answer.error_code:
            self.sequences[index] = sequence + 1
        return answer

    def add_group(self, group: str = "g", version: int = 4) -> int:
        value = messages.AddOffsetsToTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            group_id=group,
        )
        return int(self.broker.now(ADD_OFFSETS, version, value).error_code)

    def end(self, *, commit: bool = True, version: int = 5) -> int:
        value = messages.EndTxnRequest(
            transactional_id=self.name,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            committed=commit,
        )
        answer = self.broker.now(END, version, value)
        if version >= 5 and not answer.error_code:
            self.producer = answer.producer_id, answer.producer_epoch
            self.sequences = {}
        return int(answer.error_code)

    @property
    def state(self) -> str:
        request = messages.DescribeTransactionsRequest(transactional_ids=[self.name])
        (shown,) = self.broker.now(DESCRIBE, 0, request).transaction_states
        return str(shown.transaction_state) or ErrorCode(shown.error_code).name


def add_request(
    transactor: Transactor,
    topics: Mapping[str, Sequence[int]],
    version: int,
    *,
    verify_only: bool = False,
) -> Any:
    """An AddPartitionsToTxn of one transaction."""
    request = messages.AddPartitionsToTxnRequest
    producer_id, epoch = transactor.producer
    listed = [
        request.AddPartitionsToTxnTopic(name=name, partitions=list(indexes))
        for name, indexes in topics.items()
    ]
    if version >= 4:
        one = request.AddPartitionsToTxnTransaction(
            transactional_id=transactor.name,
            producer_id=producer_id,
            producer_epoch=epoch,
            verify_only=verify_only,
            topics=listed,
        )
        return request(transactions=[one])
    return request(
        v3_and_below_transactional_id=transactor.name,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=listed,
    )


def committed(broker: Handlers, offset: int = 0, partition: int = 0) -> Any:
    """What a read_committed Fetch answers."""
    (answer,) = broker.fetch(wanted(partition, offset), isolation_level=1)
    return answer

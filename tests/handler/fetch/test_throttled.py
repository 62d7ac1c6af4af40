"""Consumers above their quota: F-46, F-97, X-84."""

from typing import Any

import pytest

from broker_lite.handler.offered import offered
from broker_lite.wire import messages
from tests.handler.quota_broker import QuotaBroker, Told
from tests.log.batches import batch, record
from tests.support.handler_broker import HandlerBroker, OpenBroker

KEY = "consumer_byte_rate"
BATCH = batch(record(value=bytes(1000)))
PARTITIONS = 3


class Consumer:
    """A consumer of a topic whose partitions have one batch each; without a quota at first."""

    def __init__(self, broker: HandlerBroker, partitions: int = PARTITIONS) -> None:
        self.limited = QuotaBroker(broker)
        self.session_id = self.epoch = 0
        self.partitions = partitions
        types = messages.CreateTopicsRequest
        topic = types.CreatableTopic(
            name="t", num_partitions=partitions, replication_factor=1, assignments=[], configs=[]
        )
        self.limited.call("CreateTopics", 5, topics=[topic], timeout_ms=1000)
        self.produce()

    def produce(self) -> None:
        data = messages.ProduceRequest.PartitionProduceData
        parts = [data(index=index, records=BATCH) for index in range(self.partitions)]
        topic = messages.ProduceRequest.TopicProduceData(name="t", partition_data=parts)
        self.limited.call("Produce", 9, acks=1, timeout_ms=1000, topic_data=[topic])

    def fetch(self, version: int = 12, *, offset: int = 0, **fields: Any) -> Told:
        types = messages.FetchRequest
        wanted = [
            types.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
            for index in range(self.partitions)
        ]
        values = {
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_bytes": 1 << 20,
            "session_epoch": -1,
            "topics": [types.FetchTopic(topic="t", partitions=wanted)],
            **fields,
        }
        return self.limited.call("Fetch", version, **values)

    def next(self, **fields: Any) -> Told:
        """The next fetch of the consumer's session."""
        told = self.fetch(session_id=self.session_id, session_epoch=self.epoch, **fields)
        if told.answer.session_id:
            self.session_id = told.answer.session_id
            self.epoch += 1
        return told


@pytest.fixture
def consumer(broker: HandlerBroker) -> Consumer:
    return Consumer(broker)


def sizes(told: Told) -> list[int]:
    return [
        len(each.records or b"") for topic in told.answer.responses for each in topic.partitions
    ]


@pytest.mark.parametrize("version", range(4, 13))
def test_f46_a_throttled_consumer_gets_nothing(consumer: Consumer, version: int) -> None:
    consumer.limited.set(KEY, 500.0)
    first, second = consumer.fetch(version), consumer.fetch(version)
    assert sizes(first) == [len(BATCH)] * PARTITIONS
    assert first.muted_ms == 0
    assert second.answer.responses == []
    assert second.throttle_ms == second.muted_ms > 1000


def test_x84_what_it_did_not_get_does_not_count(consumer: Consumer) -> None:
    consumer.limited.set(KEY, 500.0)
    consumer.fetch()
    times = [consumer.fetch().throttle_ms for _ in range(3)]
    assert len(set(times)) == 1


def test_f97_the_whole_answer_counts(consumer: Consumer) -> None:
    consumer.limited.set(KEY, 1.0)
    told = consumer.fetch(offset=1)
    assert told.answer.responses == []
    answer = messages.FetchResponse()
    parts = messages.FetchResponse.PartitionData
    answer.responses = [
        messages.FetchResponse.FetchableTopicResponse(
            topic="t",
            partitions=[parts(partition_index=n, records=b"") for n in range(PARTITIONS)],
        )
    ]
    size_bytes = 4 + len(messages.FetchResponse.encode(answer, 12))
    assert told.throttle_ms == (size_bytes / 10 - 1) * 10_000


def test_f46_the_session_goes_on_as_if_it_had_not_been_asked(consumer: Consumer) -> None:
    assert sizes(consumer.next()) == [len(BATCH)] * PARTITIONS
    consumer.produce()
    consumer.limited.set(KEY, 200.0)
    limit = consumer.limited.throttling.quotas.fetched.windows.samples - 1
    consumer.limited.throttling.quotas.fetched.record("ANONYMOUS", "test", 200 * limit)
    for _ in range(3):
        told = consumer.next(topics=[])
        assert (told.answer.error_code, told.answer.session_id) == (0, consumer.session_id)
        assert told.answer.responses == []
        assert told.throttle_ms > 0
    consumer.limited.set(KEY, 1e6)
    told = consumer.next(topics=[])
    # the high watermarks are news, because no answer has told them yet
    assert sizes(told) == [2 * len(BATCH)] * PARTITIONS
    assert told.muted_ms == 0


def test_f97_in_a_session_only_news_counts(consumer: Consumer) -> None:
    consumer.next(topics=fields_at(1))
    consumer.limited.set(KEY, 4.0)
    told = consumer.next(topics=[])
    assert told.throttle_ms == 0
    assert told.answer.responses == []


def fields_at(offset: int) -> list[Any]:
    types = messages.FetchRequest
    wanted = [
        types.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
        for index in range(PARTITIONS)
    ]
    return [types.FetchTopic(topic="t", partitions=wanted)]


def test_f46_a_full_fetch_that_is_throttled_begins_no_session(consumer: Consumer) -> None:
    consumer.limited.set(KEY, 1.0)
    told = consumer.next()
    assert told.throttle_ms > 0
    assert told.answer.session_id == 0
    assert len(consumer.limited.broker.context.fetch_sessions) == 0
    consumer.limited.set(KEY, 1e6)
    assert consumer.next().answer.session_id != 0


def test_f46_an_error_of_a_session_is_told_all_the_same(consumer: Consumer) -> None:
    consumer.limited.set(KEY, 1.0)
    told = consumer.fetch(session_id=77, session_epoch=5)
    assert told.answer.error_code == 70
    assert told.throttle_ms > 0


def test_x84_no_more_is_read_than_a_quota_allows_at_once(consumer: Consumer) -> None:
    consumer.limited.set(KEY, 120.0)  # one batch, but not what is told of the partitions
    told = consumer.fetch()
    assert told.answer.responses == []
    consumer.limited.set(KEY, 170.0)
    assert sizes(consumer.fetch()) == [len(BATCH), 0, 0]
    consumer.limited.set(KEY, 1000.0)
    assert sizes(consumer.fetch()) == [len(BATCH)] * PARTITIONS


def test_x84_time_throttles_a_consumer_too(consumer: Consumer) -> None:
    consumer.limited.set("request_percentage", 0.000_001)
    told = consumer.fetch()
    assert (told.answer.responses, told.throttle_ms, told.muted_ms) == ([], 1000, 1000)


def test_f46_without_quotas_nothing_is_measured(consumer: Consumer) -> None:
    assert consumer.fetch().muted_ms == 0
    assert consumer.limited.throttling.quotas.measured_count == 0


def test_f97_very_many_partitions(open_broker: OpenBroker) -> None:
    consumer = Consumer(open_broker(), 600)
    consumer.limited.set(KEY, 1e6)
    assert sizes(consumer.next()) == [len(BATCH)] * 600
    consumer.limited.set(KEY, 1000.0)
    assert consumer.next(topics=[]).throttle_ms > 100_000


def test_f97_records_count_as_they_are_stored(open_broker: OpenBroker) -> None:
    consumer = Consumer(open_broker(emulate="3.9"), 1)
    consumer.limited.broker.context.apis = offered("3.9")
    consumer.limited.set(KEY, 1.0)
    throttled = {version: consumer.fetch(version).throttle_ms for version in (3, 4)}
    # the answers differ by what a version tells of a partition, and not by converted records
    assert abs(throttled[3] - throttled[4]) < 1000 * 20

"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords with limited rights: X-48, X-56, X-63."""

from typing import Any

import pytest

from broker_lite.security.acls.acl import CLUSTER_NAME, Operation, ResourceType
from broker_lite.wire import messages
from tests.handler.data_apis import (
    DELETE_RECORDS,
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    TOPIC,
    Handlers,
)
from tests.log.batches import batch, record
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

DESCRIBE = acl(Operation.DESCRIBE)
NAMES = ("other", "unknown", TOPIC)


@pytest.fixture
def handlers(handlers: Handlers) -> Handlers:
    handlers.create("other")
    handlers.produce(batch(record()))
    return handlers


def offsets_request(*names: str, indexes: tuple[int, ...] = (0,)) -> Any:
    types = messages.ListOffsetsRequest
    partitions = [
        types.ListOffsetsPartition(partition_index=each, timestamp=-1) for each in indexes
    ]
    topics = [types.ListOffsetsTopic(name=name, partitions=partitions) for name in names]
    return types(replica_id=-1, topics=topics)


def listed(response: Any) -> list[tuple[str, int, int]]:
    return [
        (topic.name, each.error_code, each.offset)
        for topic in response.topics
        for each in topic.partitions
    ]


@pytest.mark.parametrize("version", [1, 4, 11])
def test_x48_denied_topics_come_last(handlers: Handlers, version: int) -> None:
    apply_acls(handlers.context, DESCRIBE)
    response = handlers.now(LIST_OFFSETS, version, offsets_request(*NAMES))
    assert listed(response) == [(TOPIC, 0, 1), ("other", 29, -1), ("unknown", 29, -1)]


def test_x48_f73_a_denied_partition_is_answered_as_often_as_it_is_named(
    handlers: Handlers,
) -> None:
    apply_acls(handlers.context, DESCRIBE)
    value = offsets_request("other", TOPIC, indexes=(0, 0))
    response = handlers.now(LIST_OFFSETS, 4, value)
    assert listed(response) == [(TOPIC, 42, -1), ("other", 29, -1), ("other", 29, -1)]


@pytest.mark.parametrize("count", [2, 1000])
def test_f73_a_topic_that_is_named_twice_is_answered_once(
    broker: HandlerBroker, count: int
) -> None:
    broker.cluster.create_topic(TOPIC)
    value = offsets_request(*[TOPIC, "unknown"] * count)
    value.topics[-2].partitions = offsets_request(TOPIC, indexes=(1,)).topics[0].partitions
    found = listed(broker.request("ListOffsets", 4, value))
    of_two = (TOPIC, 42, -1) if count > 2 else (TOPIC, 0, 0)
    assert found == [of_two, (TOPIC, 3, -1), ("unknown", 42, -1)]


@pytest.mark.usefixtures("short_turns")
def test_x48_a_request_of_very_many_partitions(broker: HandlerBroker) -> None:
    broker.cluster.create_topic(TOPIC)
    apply_acls(broker.context, DESCRIBE)
    value = offsets_request(*(f"no-{number}" for number in range(1000)), TOPIC, indexes=(0, 0))
    found = listed(broker.request("ListOffsets", 4, value))
    assert found[0] == (TOPIC, 42, -1)
    assert found[1:] == [(f"no-{number // 2}", 29, -1) for number in range(2000)]
    apply_acls(broker.context, acl(Operation.DESCRIBE, name="*"))
    assert {each[1] for each in listed(broker.request("ListOffsets", 4, value))} == {42}


def epochs(handlers: Handlers) -> list[tuple[str, int, int, int]]:
    types = messages.OffsetForLeaderEpochRequest
    partition = types.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    topics = [types.OffsetForLeaderTopic(topic=name, partitions=[partition]) for name in NAMES]
    response = handlers.now(OFFSET_FOR_LEADER_EPOCH, 4, types(replica_id=-2, topics=topics))
    return [
        (topic.topic, each.error_code, each.leader_epoch, each.end_offset)
        for topic in response.topics
        for each in topic.partitions
    ]


def test_x48_epochs_of_denied_topics_come_last(handlers: Handlers) -> None:
    apply_acls(handlers.context, DESCRIBE)
    assert epochs(handlers) == [(TOPIC, 0, 0, 1), ("other", 29, -1, -1), ("unknown", 29, -1, -1)]


def test_x48_a_broker_may_ask_for_all_epochs(handlers: Handlers) -> None:
    apply_acls(handlers.context, acl(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME))
    found = epochs(handlers)
    assert [each[:2] for each in found] == [("other", 0), ("unknown", 3), (TOPIC, 0)]


def test_x56_records_of_denied_topics_stay(handlers: Handlers) -> None:
    handlers.produce(batch(record()), topic="other")
    apply_acls(handlers.context, acl(Operation.DELETE), acl(Operation.ALTER, name="other"))
    types = messages.DeleteRecordsRequest
    partition = types.DeleteRecordsPartition(partition_index=0, offset=1)
    topics = [types.DeleteRecordsTopic(name=name, partitions=[partition]) for name in NAMES]
    response = handlers.now(DELETE_RECORDS, 2, types(timeout_ms=1000, topics=topics))
    assert [
        (topic.name, each.error_code, each.low_watermark)
        for topic in response.topics
        for each in topic.partitions
    ] == [("other", 29, -1), ("unknown", 29, -1), (TOPIC, 0, 1)]
    assert handlers.log(0, "other").log_start_offset == 0


def test_f90_of_a_partition_that_is_named_twice_the_last_counts(handlers: Handlers) -> None:
    handlers.produce(batch(record()))
    types = messages.DeleteRecordsRequest
    topics = [
        types.DeleteRecordsTopic(
            name=TOPIC,
            partitions=[types.DeleteRecordsPartition(partition_index=0, offset=offset)],
        )
        for offset in (2, 1)
    ]
    response = handlers.now(DELETE_RECORDS, 2, types(timeout_ms=1000, topics=topics))
    assert [
        (topic.name, each.error_code, each.low_watermark)
        for topic in response.topics
        for each in topic.partitions
    ] == [(TOPIC, 0, 1)]

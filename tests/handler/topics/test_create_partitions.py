"""What the differential test does not reach; codes and texts are in tests/differential."""

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, one

ENTRY = messages.CreatePartitionsRequest.CreatePartitionsTopic


@pytest.mark.parametrize("version", range(4))
def test_p111_every_version_adds_and_keeps_what_is_there(
    broker: HandlerBroker, version: int
) -> None:
    broker.cluster.create_topic("t")
    builder = BatchBuilder()
    builder.append(1, None, b"v")
    broker.cluster.log("t", 0).append_batch(builder.build(), now_ms=1)
    response = broker.call(
        "CreatePartitions", version, topics=[ENTRY(name="t", count=3, assignments=None)]
    )
    assert one(response.results).error_code == 0
    offsets = [broker.cluster.log("t", index).log_end_offset for index in range(3)]
    assert offsets == [1, 0, 0]


def test_p106_validate_only(broker: HandlerBroker) -> None:
    broker.cluster.create_topic("t")
    topics = [ENTRY(name="t", count=3, assignments=None)]
    response = broker.call("CreatePartitions", 3, topics=topics, validate_only=True)
    assert one(response.results).error_code == 0
    assert broker.cluster.topics["t"].partition_count == 1


def test_p111_very_many_partitions_are_not_added(broker: HandlerBroker) -> None:
    """Measured with Kafka 4.3.1: the code, no text; it adds some of them nevertheless."""
    for name in ("t", "u"):
        broker.cluster.create_topic(name)
    for counts in ((2**31 - 1, 5), (10_002, 5)):
        topics = [
            ENTRY(name=name, count=count, assignments=None)
            for name, count in zip(("t", "u"), counts, strict=True)
        ]
        response = broker.call("CreatePartitions", 3, topics=topics)
        results = [(result.error_code, result.error_message) for result in response.results]
        assert results == [(ErrorCode.UNKNOWN_SERVER_ERROR, None)] * 2
        assert [broker.cluster.topics[name].partition_count for name in ("t", "u")] == [1, 1]


def test_p111_what_cannot_be_written_is_not_added(broker: HandlerBroker) -> None:
    broker.cluster.create_topic("t")
    assert broker.cluster.logs.metadata_log is not None
    broker.cluster.logs.metadata_log.delete()
    topics = [ENTRY(name="t", count=3, assignments=None)]
    result = one(broker.call("CreatePartitions", 3, topics=topics).results)
    assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.cluster.topics["t"].partition_count == 1

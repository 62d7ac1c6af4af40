"""A large ListOffsets; that it is answered as a small one is a test of large requests."""

import pytest

from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker

KIND = messages.ListOffsetsRequest


@pytest.mark.parametrize(("version", "codes"), [(0, {0}), (7, {0, 42})])
def test_f73_a_partition_that_comes_twice_is_answered_once(
    broker: HandlerBroker, version: int, codes: set[int]
) -> None:
    broker.cluster.create_topic("t")
    indexes = [*range(2000), 0, 0]
    asked = [KIND.ListOffsetsPartition(partition_index=n, timestamp=-1) for n in indexes]
    topics = [KIND.ListOffsetsTopic(name="t", partitions=asked), KIND.ListOffsetsTopic(name="e")]
    told = broker.call("ListOffsets", version, replica_id=-1, topics=topics).topics
    assert [len(topic.partitions) for topic in told] == [2000, 0]
    assert told[0].partitions[0].error_code == max(codes)
    assert {each.error_code for each in told[0].partitions[1:]} == {3}


@pytest.mark.parametrize("version", range(12))
def test_f73_every_version_tells_offsets_of_many(broker: HandlerBroker, version: int) -> None:
    """The leader epoch has no place before version 4."""
    broker.cluster.create_topic("t")
    asked = [KIND.ListOffsetsPartition(partition_index=n, timestamp=-1) for n in range(2000)]
    topics = [KIND.ListOffsetsTopic(name="t", partitions=asked)]
    told = broker.call("ListOffsets", version, replica_id=-1, topics=topics).topics
    (first, *_) = told[0].partitions
    offset = first.old_style_offsets[0] if version == 0 else first.offset
    assert (first.error_code, offset) == (0, 0)
    assert first.leader_epoch == (0 if version >= 4 else -1)
    assert len(told[0].partitions) == 2000

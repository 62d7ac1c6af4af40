"""DescribeQuorum; more in tests/differential/test_plain.py."""

import pytest

from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, one


@pytest.mark.parametrize("version", range(3))
def test_p149_this_node_leads_and_is_the_only_voter(broker: HandlerBroker, version: int) -> None:
    types = messages.DescribeQuorumRequest
    partition = types.PartitionData(partition_index=0)
    topic = types.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    answer = broker.call("DescribeQuorum", version, topics=[topic])
    told = one(one(answer.topics).partitions)
    end_offset = broker.cluster.features_epoch + 1
    assert (told.leader_id, told.leader_epoch, told.high_watermark) == (1, 1, end_offset)
    voter = one(told.current_voters)
    assert (voter.replica_id, voter.log_end_offset) == (1, end_offset)
    assert voter.last_fetch_timestamp == (broker.clock.now_ms() if version else -1)
    assert [node.node_id for node in answer.nodes] == ([1] if version == 2 else [])


def test_p149_of_another_topic_nothing_is_told(broker: HandlerBroker) -> None:
    types = messages.DescribeQuorumRequest
    topic = types.TopicData(topic_name="t", partitions=[types.PartitionData(partition_index=0)])
    answer = broker.call("DescribeQuorum", 2, topics=[topic])
    assert one(one(answer.topics).partitions).error_code == 3
    assert answer.nodes == []


def test_p149_other_brokers_that_are_alive_observe(open_broker: OpenBroker) -> None:
    broker = open_broker(broker_lite_brokers="4")
    broker.cluster.controller.fence(3)
    types = messages.DescribeQuorumRequest
    partition = types.PartitionData(partition_index=0)
    topic = types.TopicData(topic_name="__cluster_metadata", partitions=[partition])
    answer = broker.call("DescribeQuorum", 2, topics=[topic])
    told = one(one(answer.topics).partitions)
    assert [each.replica_id for each in told.current_voters] == [1]
    assert [each.replica_id for each in told.observers] == [2, 4]
    assert {each.log_end_offset for each in told.observers} == {told.high_watermark}
    assert [node.node_id for node in answer.nodes] == [1]

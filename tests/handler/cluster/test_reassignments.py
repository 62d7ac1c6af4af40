"""Reassignments with one broker; more in tests/differential/test_plain.py."""

import pytest

from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, one


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    ("replicas", "code"),
    [([1], 0), (None, 85), ([2], 39), ([], 39), ([1, 1], 39)],
    ids=["there", "cancelled", "elsewhere", "nowhere", "twice"],
)
def test_p147_a_partition_is_where_it_may_be(
    broker: HandlerBroker, version: int, replicas: list[int] | None, code: int
) -> None:
    broker.cluster.create_topic("t")
    types = messages.AlterPartitionReassignmentsRequest
    partition = types.ReassignablePartition(partition_index=0, replicas=replicas)
    topic = types.ReassignableTopic(name="t", partitions=[partition])
    answer = broker.call("AlterPartitionReassignments", version, topics=[topic])
    result = one(one(answer.responses).partitions)
    assert (answer.error_code, result.error_code) == (0, code)
    assert (result.error_message is None) == (code in (0, 85))


def test_p148_none_is_on_its_way(broker: HandlerBroker) -> None:
    answer = broker.call("ListPartitionReassignments", 0, topics=None)
    assert (answer.error_code, answer.error_message, answer.topics) == (0, None, [])

"""ElectLeaders with one replica a partition; more in tests/differential/test_plain.py."""

import pytest

from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, one


@pytest.mark.parametrize("version", range(3))
def test_p146_no_election_is_needed(broker: HandlerBroker, version: int) -> None:
    broker.cluster.create_topic("t")
    asked = messages.ElectLeadersRequest.TopicPartitions(topic="t", partitions=[0, 1])
    answer = broker.call("ElectLeaders", version, topic_partitions=[asked])
    codes = [each.error_code for each in one(answer.replica_election_results).partition_result]
    assert codes == [84, 3]


def test_p146_of_all_partitions_none_has_changed(broker: HandlerBroker) -> None:
    broker.cluster.create_topic("t")
    answer = broker.call("ElectLeaders", 2, topic_partitions=None)
    result = one(answer.replica_election_results)
    assert (answer.error_code, result.topic, result.partition_result) == (0, "t", [])


def test_p146_an_election_of_another_type(broker: HandlerBroker) -> None:
    answer = broker.call("ElectLeaders", 2, topic_partitions=None, election_type=7)
    assert (answer.error_code, answer.replica_election_results) == (42, [])

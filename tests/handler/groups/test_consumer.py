"""ConsumerGroupHeartbeat and ConsumerGroupDescribe through their handlers."""

from typing import Any

import pytest

from broker_lite.control.topics.topic_rules import Growth, NewTopic
from broker_lite.handler.authorized import GROUP_OPERATIONS, NOT_ASKED
from broker_lite.wire import messages
from tests.handler.groups.group_requests import break_log
from tests.support.handler_broker import HandlerBroker, OpenBroker, one


def heartbeat(broker: HandlerBroker, version: int = 1, **fields: Any) -> Any:
    given = {
        "group_id": "g",
        "member_id": "m" if version else "",
        "rebalance_timeout_ms": 1000,
        "subscribed_topic_names": ["t"],
        "topic_partitions": [],
        **fields,
    }
    return broker.call("ConsumerGroupHeartbeat", version, **given)


def create_topic(broker: HandlerBroker, count: int = 2) -> bytes:
    (topic,) = broker.cluster.create_topics([broker.cluster.plan_topic(NewTopic("t", count))])
    return topic.topic_id


@pytest.mark.parametrize("version", [0, 1])
def test_g87_every_version_gets_its_partitions(broker: HandlerBroker, version: int) -> None:
    topic_id = create_topic(broker)
    answer = heartbeat(broker, version)
    assert (answer.error_code, answer.heartbeat_interval_ms) == (0, 5000)
    assert answer.member_id
    given = [(one.topic_id, one.partitions) for one in answer.assignment.topic_partitions]
    assert given == [(topic_id, [0, 1])]


def test_g84_a_topic_that_grows_is_noticed(broker: HandlerBroker) -> None:
    create_topic(broker)
    epoch = heartbeat(broker).member_epoch
    broker.cluster.create_partitions([broker.cluster.plan_growth(Growth("t", 3))])
    owned = [
        messages.ConsumerGroupHeartbeatRequest.TopicPartitions(
            topic_id=broker.cluster.topics["t"].topic_id, partitions=[0, 1]
        )
    ]
    answer = heartbeat(broker, member_epoch=epoch, topic_partitions=owned)
    assert one(answer.assignment.topic_partitions).partitions == [0, 1, 2]


@pytest.mark.parametrize(
    "settings",
    [
        {"broker_lite_features": "group.version=0"},
        {"group_coordinator_rebalance_protocols": "classic"},
    ],
)
def test_p54_the_protocol_may_be_off(open_broker: OpenBroker, settings: dict[str, str]) -> None:
    broker = open_broker(**settings)
    assert heartbeat(broker).error_code == 35
    described = broker.call("ConsumerGroupDescribe", 1, group_ids=["g", "h"]).groups
    assert [(one.group_id, one.error_code) for one in described] == [("g", 35), ("h", 35)]


@pytest.mark.parametrize("version", [0, 1])
def test_g101_every_version_describes(broker: HandlerBroker, version: int) -> None:
    create_topic(broker)
    heartbeat(broker)
    fields = {"group_ids": ["g", "nobody"], "include_authorized_operations": True}
    found, missing = broker.call("ConsumerGroupDescribe", version, **fields).groups
    assert (found.error_code, found.group_state) == (0, "Stable")
    assert one(found.members).client_host == "/127.0.0.1"
    assert found.authorized_operations == GROUP_OPERATIONS
    assert (missing.error_code, missing.authorized_operations) == (69, NOT_ASKED)


def test_g23_before_there_is_a_topic(broker: HandlerBroker) -> None:
    broker.finds_coordinator = False
    assert heartbeat(broker).error_code == 16
    assert heartbeat(broker, group_id="").error_code == 42
    found = broker.call("ConsumerGroupDescribe", 1, group_ids=["", "g"]).groups
    assert [(group.group_id, group.error_code) for group in found] == [("", 24), ("g", 16)]


def test_groups_that_cannot_be_read(broker: HandlerBroker) -> None:
    create_topic(broker)
    epoch = heartbeat(broker).member_epoch
    break_log(broker)
    answer = heartbeat(broker, member_epoch=epoch, topic_partitions=None)
    assert (answer.error_code, answer.member_epoch) == (16, 0)
    group = one(broker.call("ConsumerGroupDescribe", 1, group_ids=["g"]).groups)
    assert (group.group_id, group.error_code) == ("g", 16)

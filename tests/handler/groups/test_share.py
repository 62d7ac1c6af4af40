"""ShareGroupHeartbeat and ShareGroupDescribe through their handlers; share groups beside others."""

from typing import Any

import pytest

from broker_lite.handler.authorized import GROUP_OPERATIONS, NOT_ASKED
from broker_lite.wire import messages
from tests.handler.share.share_requests import Sharer
from tests.support.handler_broker import HandlerBroker


def test_g112_g113_a_member_gets_its_partitions(broker: HandlerBroker) -> None:
    sharer = Sharer(broker, partitions=2)
    answer = sharer.beat()
    assert (answer.error_code, answer.member_epoch, answer.heartbeat_interval_ms) == (0, 2, 5000)
    (topic,) = answer.assignment.topic_partitions
    assert (topic.topic_id, topic.partitions) == (sharer.topic_id, [0, 1])
    assert sharer.beat(5, None).error_code == 110
    assert Sharer(broker, group="x").beat(5, None).error_message == "Share group x not found."
    assert Sharer(broker, group="x").beat(-1, None).error_message == "Group x not found."
    assert Sharer(broker, "").beat().error_code == 42


def test_g91_a_group_has_its_own_timeouts(broker: HandlerBroker) -> None:
    sharer = Sharer(broker, **{"share.heartbeat.interval.ms": "7000"})
    assert sharer.beat().heartbeat_interval_ms == 7000
    broker.clock.step(45_000)
    broker.coordinators.groups.on_time()
    assert sharer.beat(2, None).error_code == 25


@pytest.mark.parametrize("asked", [False, True])
def test_k06_groups_are_described(broker: HandlerBroker, asked: bool) -> None:
    Sharer(broker).beat()
    broker.call("ShareGroupHeartbeat", 1, group_id="h", member_id="m", member_epoch=0)
    found = broker.call(
        "ShareGroupDescribe",
        1,
        group_ids=["g", "nope", ""],
        include_authorized_operations=asked,
    ).groups
    assert [each.error_code for each in found] == [0, 69, 24]
    assert found[0].authorized_operations == (GROUP_OPERATIONS if asked else NOT_ASKED)
    assert found[1].error_message == "Group nope not found."
    (listed,) = broker.call("ListGroups", 5, types_filter=["share"]).groups
    assert (listed.group_id, listed.group_state, listed.protocol_type) == ("g", "Stable", "share")
    (described,) = broker.call("DescribeGroups", 6, groups=["g"]).groups
    assert (described.error_code, described.group_state) == (69, "Dead")


def test_k07_g64_g116_requests_of_other_protocols(broker: HandlerBroker) -> None:
    sharer = Sharer(broker)
    sharer.beat()
    join = messages.JoinGroupRequest
    answers: dict[str, Any] = {
        "JoinGroup": broker.call(
            "JoinGroup",
            9,
            group_id="g",
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            protocol_type="consumer",
            protocols=[join.JoinGroupRequestProtocol(name="range")],
        ),
        "SyncGroup": broker.call(
            "SyncGroup", 5, group_id="g", member_id="x", protocol_type="c", protocol_name="r"
        ),
        "Heartbeat": broker.call("Heartbeat", 4, group_id="g", member_id="x"),
        "ConsumerGroupHeartbeat": broker.call(
            "ConsumerGroupHeartbeat",
            1,
            group_id="g",
            member_id="x",
            rebalance_timeout_ms=1000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        ),
    }
    codes = {name: answer.error_code for name, answer in answers.items()}
    assert codes == {
        "JoinGroup": 23,
        "SyncGroup": 25,
        "Heartbeat": 25,
        "ConsumerGroupHeartbeat": 69,
    }
    left = broker.call(
        "LeaveGroup",
        5,
        group_id="g",
        members=[messages.LeaveGroupRequest.MemberIdentity(member_id="x")],
    )
    assert left.members[0].error_code == 25
    commit = messages.OffsetCommitRequest
    partition = commit.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = commit.OffsetCommitRequestTopic(name="t", partitions=[partition])
    committed = broker.call("OffsetCommit", 9, group_id="g", topics=[topic])
    assert committed.topics[0].partitions[0].error_code == 69
    delete = messages.OffsetDeleteRequest
    deleted = broker.call(
        "OffsetDelete",
        0,
        group_id="g",
        topics=[
            delete.OffsetDeleteRequestTopic(
                name="t", partitions=[delete.OffsetDeleteRequestPartition(partition_index=0)]
            )
        ],
    )
    assert deleted.error_code == 69


def test_k07_other_groups_are_left_alone(broker: HandlerBroker) -> None:
    sharer = Sharer(broker, group="c")
    broker.call(
        "ConsumerGroupHeartbeat",
        1,
        group_id="c",
        member_id="x",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    answer = sharer.beat()
    assert (answer.error_code, answer.error_message) == (69, "Group c is not a share group.")


def test_k04_a_deleted_topic_takes_its_states_with_it(broker: HandlerBroker) -> None:
    sharer = Sharer(broker)
    sharer.beat()
    states = broker.coordinators.groups.shares.log.states
    assert len([*states]) == 1
    message = messages.DeleteTopicsRequest.DeleteTopicState
    broker.call("DeleteTopics", 6, topics=[message(name="t")], timeout_ms=1000)
    assert [*states] == []

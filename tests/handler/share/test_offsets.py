"""Where share groups start: described, altered, deleted."""

from collections.abc import Mapping
from typing import Any

import pytest

from broker_lite.coordinator.share.group import STATE_BYTES
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages
from tests.handler.share.share_requests import Sharer, acquired
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker, one


def describe(broker: HandlerBroker, group: str, *partitions: int, topic: str = "t") -> Any:
    message = messages.DescribeShareGroupOffsetsRequest
    topics = None
    if partitions:
        topics = [
            message.DescribeShareGroupOffsetsRequestTopic(
                topic_name=topic, partitions=list(partitions)
            )
        ]
    asked = message.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=topics)
    found = one(broker.call("DescribeShareGroupOffsets", 1, groups=[asked]).groups)
    assert found.error_code == 0
    return {
        (each.topic_name, part.partition_index): (part.start_offset, part.lag)
        for each in found.topics
        for part in each.partitions
    }


def alter(broker: HandlerBroker, group: str, starts: Mapping[int, int], topic: str = "t") -> Any:
    message = messages.AlterShareGroupOffsetsRequest
    asked = message.AlterShareGroupOffsetsRequestTopic(
        topic_name=topic,
        partitions=[
            message.AlterShareGroupOffsetsRequestPartition(
                partition_index=index, start_offset=start
            )
            for index, start in starts.items()
        ],
    )
    answer = broker.call("AlterShareGroupOffsets", 0, group_id=group, topics=[asked])
    if answer.error_code:
        return answer.error_code, answer.error_message
    return {
        part.partition_index: part.error_code
        for each in answer.responses
        for part in each.partitions
    }


def delete(broker: HandlerBroker, group: str, *topics: str) -> Any:
    message = messages.DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic
    asked = [message(topic_name=each) for each in topics]
    answer = broker.call("DeleteShareGroupOffsets", 0, group_id=group, topics=asked)
    if answer.error_code:
        return answer.error_code, answer.error_message
    return {each.topic_name: (each.error_code, each.error_message) for each in answer.responses}


def test_k41_start_and_lag(broker: HandlerBroker) -> None:
    sharer = Sharer(broker, partitions=2)
    sharer.append(20)
    sharer.beat()
    assert describe(broker, "g") == {("t", 0): (-1, -1), ("t", 1): (-1, -1)}
    sharer.fetch()
    sharer.say({0: [(0, 4, [1]), (10, 11, [3])]})
    assert describe(broker, "g") == {("t", 0): (0, 13), ("t", 1): (-1, -1)}
    assert describe(broker, "g", 0, 7) == {("t", 0): (0, 13), ("t", 7): (-1, -1)}
    assert describe(broker, "g", 0, topic="nope") == {("nope", 0): (-1, -1)}
    assert describe(broker, "missing") == {}


def test_k41_the_lag_of_any_start_fits(broker: HandlerBroker) -> None:
    Sharer(broker, earliest=False).append(5)
    for start, lag in ((-(2**63), 5 - 2**63), (2**63 - 1, 6 - 2**63), (-(2**63) + 6, 2**63 - 1)):
        assert alter(broker, "g", {0: start}) == {0: 0}
        assert describe(broker, "g") == {("t", 0): (start, lag)}


def test_a_group_is_not_described_very_often(broker: HandlerBroker) -> None:
    message = messages.DescribeShareGroupOffsetsRequest
    whole = message.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
    named = message.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=[])
    groups = broker.call("DescribeShareGroupOffsets", 1, groups=[whole] * 20 + [named] * 20).groups
    assert len(groups) == 30


def test_k40_a_group_with_members_keeps_its_offsets(broker: HandlerBroker) -> None:
    sharer = Sharer(broker)
    sharer.beat()
    assert alter(broker, "g", {0: 3}) == (68, "The group is not empty.")
    assert delete(broker, "g", "t") == (68, "The group is not empty.")
    (result,) = broker.call("DeleteGroups", 2, groups_names=["g"]).results
    assert result.error_code == 68
    sharer.beat(-1)
    assert alter(broker, "g", {0: 3, 9: 1}) == {0: 0, 9: 3}
    assert describe(broker, "g") == {("t", 0): (3, -3)}
    sharer.append(5)
    sharer.beat()
    assert acquired(sharer.fetch()) == [(3, 4, 1)]


def test_k40_alter_makes_a_group(broker: HandlerBroker) -> None:
    sharer = Sharer(broker, group="new")
    sharer.append(5)
    assert alter(broker, "new", {0: 2}, "nope") == {0: 3}
    assert broker.call("ListGroups", 5).groups == []
    assert alter(broker, "new", {0: 2}) == {0: 0}
    (group,) = broker.call("ListGroups", 5, types_filter=["Share"]).groups
    assert (group.group_state, group.group_type, group.protocol_type) == ("Empty", "share", "share")
    sharer.beat()
    assert acquired(sharer.fetch()) == [(2, 4, 1)]


def test_k40_k04_delete(broker: HandlerBroker) -> None:
    sharer = Sharer(broker)
    sharer.beat()
    sharer.beat(-1)
    host, nothing = (
        "This server does not host this topic-partition.",
        "There is no offset information to delete.",
    )
    assert delete(broker, "g", "t", "nope") == {"t": (0, None), "nope": (3, host)}
    assert delete(broker, "g", "t") == {"t": (3, nothing)}
    assert describe(broker, "g") == {}
    assert delete(broker, "missing", "t") == (69, "Group missing not found.")
    assert alter(broker, "g", {0: 0}) == {0: 0}
    (result,) = broker.call("DeleteGroups", 2, groups_names=["g"]).results
    assert result.error_code == 0
    assert [*broker.coordinators.groups.shares.log.states] == []


@pytest.mark.parametrize("ask", [alter, delete])
def test_k40_groups_that_cannot_be(broker: HandlerBroker, ask: Any) -> None:
    argument: Any = {0: 1} if ask is alter else "t"
    Sharer(broker)
    assert ask(broker, "", argument) == (24, "The group id is invalid.")
    broker.call(
        "ConsumerGroupHeartbeat",
        1,
        group_id="c",
        member_id="m",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    assert ask(broker, "c", argument) == (69, "Group c is not a share group.")


def test_x64_topics_that_a_client_may_not_use(broker: HandlerBroker) -> None:
    sharer = Sharer(broker)
    sharer.append(1)
    sharer.beat()
    sharer.fetch()
    every = [
        acl(operation, ResourceType.GROUP, "g")
        for operation in (Operation.READ, Operation.DESCRIBE, Operation.DELETE)
    ]
    apply_acls(broker.context, *every)
    assert sharer.fetch()[0].error_code == 29
    assert sharer.say({0: [(0, 0, [1])]}) == {0: (29, None)}
    assert sharer.beat(2).error_code == 29
    described = broker.call("ShareGroupDescribe", 1, group_ids=["g"]).groups
    assert [each.error_code for each in described] == [29]
    assert describe(broker, "g") == {}
    sharer.beat(-1, None)
    assert alter(broker, "g", {0: 3}) == {0: 29}
    assert delete(broker, "g", "t") == {"t": (29, "Topic authorization failed.")}
    apply_acls(broker.context)
    found = broker.call("FindCoordinator", 6, key_type=2, coordinator_keys=[f"g:{'A' * 22}:0"])
    assert found.coordinators[0].error_code == 31
    described = broker.call("ShareGroupDescribe", 1, group_ids=["g"]).groups
    assert [each.error_code for each in described] == [30]


def test_k37_states_that_begin_take_memory(broker: HandlerBroker) -> None:
    Sharer(broker, partitions=3, earliest=False)
    registry = broker.context.groups.coordinator.registry
    registry.held.add(268_435_456 - 2 * (STATE_BYTES + len("g")))
    code, text = alter(broker, "g", {0: 5, 1: 5, 2: 5})
    assert (code, text) == (
        81,
        "The members of all groups hold 268435456 bytes, which is the maximum.",
    )
    assert registry.share("g") is None
    assert alter(broker, "g", {0: 5, 1: 5, 7: 5}) == {0: 0, 1: 0, 7: 3}
    assert alter(broker, "g", {0: 6, 1: 6}) == {0: 0, 1: 0}
    assert alter(broker, "g", {2: 6})[0] == 81

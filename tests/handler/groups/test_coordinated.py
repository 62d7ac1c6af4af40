"""What a broker answers that does not coordinate a group; measured with three Kafkas of 4.3.1."""

import asyncio
from typing import Any

import pytest

from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.handler.groups.coordinated import foreign_groups
from broker_lite.wire import messages
from tests.handler.groups.group_requests import join, send
from tests.handler.three_brokers import ThreeBrokers
from tests.support.handler_broker import OpenBroker

NOT_COORDINATOR = 16
JOIN = {
    "member_id": "m",
    "session_timeout_ms": 10_000,
    "rebalance_timeout_ms": 10_000,
    "protocol_type": "consumer",
    "protocols": [messages.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")],
}
SYNC = {"member_id": "m", "generation_id": 1, "protocol_type": "a", "protocol_name": "b"}
BEAT = {
    "member_id": "m",
    "rebalance_timeout_ms": 1000,
    "subscribed_topic_names": ["t"],
    "topic_partitions": [],
}
LEAVE = {"members": [messages.LeaveGroupRequest.MemberIdentity(member_id="m")]}


@pytest.fixture
def brokers(open_broker: OpenBroker) -> ThreeBrokers:
    return ThreeBrokers.open(open_broker)


def foreign(brokers: ThreeBrokers, count: int = 1) -> list[str]:
    """Groups that broker 1 does not coordinate."""
    names = (f"g{number}" for number in range(1000))
    return [name for name in names if brokers.coordinator(name) != 1][:count]


def own(brokers: ThreeBrokers) -> str:
    """A group that broker 1 coordinates."""
    return next(f"g{n}" for n in range(1000) if brokers.coordinator(f"g{n}") == 1)


def test_c33_which_groups_another_broker_coordinates(brokers: ThreeBrokers) -> None:
    mine, (other,) = own(brokers), foreign(brokers)
    brokers.context.node_id = 1
    assert foreign_groups(brokers.context, [mine, other, other]) == {other}
    brokers.context.node_id = brokers.coordinator(other)
    assert foreign_groups(brokers.context, [mine, other]) == {mine}


def test_c33_one_broker_coordinates_everything(open_broker: OpenBroker) -> None:
    broker = open_broker()
    assert foreign_groups(broker.context, ["g"]) == frozenset()
    broker.cluster.create_topic(OFFSETS_TOPIC)
    assert foreign_groups(broker.context, ["g"]) == frozenset()


@pytest.mark.parametrize(
    ("name", "version", "fields", "code"),
    [
        ("JoinGroup", 9, JOIN, 16),
        ("JoinGroup", 9, {**JOIN, "group_id": ""}, 24),
        ("JoinGroup", 9, {**JOIN, "session_timeout_ms": 0}, 26),
        ("SyncGroup", 5, SYNC, 16),
        ("SyncGroup", 5, {**SYNC, "protocol_type": None}, 23),
        ("SyncGroup", 5, {**SYNC, "group_id": ""}, 24),
        ("Heartbeat", 4, {"member_id": "m"}, 16),
        ("Heartbeat", 4, {"member_id": "m", "group_id": ""}, 24),
        ("LeaveGroup", 2, {"member_id": "m"}, 16),
        ("LeaveGroup", 5, LEAVE, 16),
        ("LeaveGroup", 5, {**LEAVE, "group_id": ""}, 24),
        ("ConsumerGroupHeartbeat", 1, BEAT, 16),
        ("ConsumerGroupHeartbeat", 1, {**BEAT, "member_id": ""}, 42),
        ("ConsumerGroupHeartbeat", 1, {**BEAT, "server_assignor": "no"}, 112),
        ("OffsetDelete", 0, {}, 16),
        ("OffsetDelete", 0, {"group_id": ""}, 24),
    ],
)
def test_c60_what_is_wrong_in_any_case_is_told_by_any_broker(
    brokers: ThreeBrokers, name: str, version: int, fields: dict[str, Any], code: int
) -> None:
    (group_id,) = foreign(brokers)
    answer = brokers.ask(1, name, version, **{"group_id": group_id, **fields})
    assert answer.error_code == code
    assert not getattr(answer, "members", [])
    if code == NOT_COORDINATOR:
        assert getattr(answer, "member_id", "") in ("", None)
        assert getattr(answer, "error_message", None) is None


def test_c60_a_regex_is_read_by_the_coordinator_only(brokers: ThreeBrokers) -> None:
    (group_id,) = foreign(brokers)
    fields = {**BEAT, "subscribed_topic_names": None, "subscribed_topic_regex": "("}
    answer = brokers.ask(1, "ConsumerGroupHeartbeat", 1, group_id=group_id, **fields)
    assert answer.error_code == NOT_COORDINATOR


def commit_of(*asked: tuple[str, int]) -> list[Any]:
    types = messages.OffsetCommitRequest
    return [
        types.OffsetCommitRequestTopic(
            name=name,
            partitions=[
                types.OffsetCommitRequestPartition(partition_index=index, committed_offset=3)
            ],
        )
        for name, index in asked
    ]


def codes_of(answer: Any) -> list[tuple[str, int, int]]:
    return [
        (topic.name, partition.partition_index, partition.error_code)
        for topic in answer.topics
        for partition in topic.partitions
    ]


def test_c60_a_commit_looks_at_the_topics_first(brokers: ThreeBrokers) -> None:
    (group_id,) = foreign(brokers)

    def commit(*asked: tuple[str, int]) -> list[tuple[str, int, int]]:
        topics = commit_of(*asked)
        return codes_of(brokers.ask(1, "OffsetCommit", 9, group_id=group_id, topics=topics))

    assert commit(("no", 0)) == [("no", 0, 3)]
    assert commit(("t", 0), ("no", 0), ("t", 7)) == [("no", 0, 3), ("t", 7, 3), ("t", 0, 16)]


def test_c60_offsets_are_fetched_from_the_coordinator(brokers: ThreeBrokers) -> None:
    mine, others = own(brokers), foreign(brokers, 2)
    types = messages.OffsetFetchRequest
    topics = [types.OffsetFetchRequestTopic(name="t", partition_indexes=[0])]

    def fetch(version: int, **fields: Any) -> Any:
        return brokers.ask(1, "OffsetFetch", version, **fields)

    for version in range(1, 8):
        answer = fetch(version, group_id=others[0], topics=topics)
        told = codes_of(answer) if version == 1 else answer.error_code
        assert told == ([("t", 0, 16)] if version == 1 else 16)
        assert fetch(version, group_id=mine, topics=topics).error_code == 0
    for version in range(8, 11):
        asked = [others[0], mine, others[1], mine]
        groups = [types.OffsetFetchRequestGroup(group_id=each, topics=None) for each in asked]
        answer = fetch(version, groups=groups)
        told = [(each.group_id, each.error_code, each.topics) for each in answer.groups]
        codes = [16, 0, 16, 0]
        assert told == [(name, code, []) for name, code in zip(asked, codes, strict=True)]


def test_c60_groups_are_described_by_their_coordinator(brokers: ThreeBrokers) -> None:
    mine, others = own(brokers), foreign(brokers, 2)
    asked = [others[0], mine, others[1], ""]
    empty = brokers.coordinator("") == 1
    fields = {"groups": asked, "include_authorized_operations": True}
    for version in (4, 6):
        groups = brokers.ask(1, "DescribeGroups", version, **fields).groups
        missing = (0, "Dead") if version == 4 else (69, "Dead")
        told = [(each.error_code, each.group_state) for each in groups]
        assert told == [(16, ""), missing, (16, ""), missing if empty else (16, "")]
        assert [each.group_id for each in groups] == asked
        assert next(each.error_message for each in groups if each.error_code == 16) is None
    fields = {"group_ids": asked}
    groups = brokers.ask(1, "ConsumerGroupDescribe", 1, **fields).groups
    assert [each.error_code for each in groups] == [16, 69, 16, 24]


def test_p54_consumer_groups_that_are_off_are_off_at_any_broker(open_broker: OpenBroker) -> None:
    brokers = ThreeBrokers.open(open_broker, group_coordinator_rebalance_protocols="classic")
    asked = [own(brokers), *foreign(brokers)]
    groups = brokers.ask(1, "ConsumerGroupDescribe", 1, group_ids=asked).groups
    assert [each.error_code for each in groups] == [35, 35]
    answer = brokers.ask(1, "ConsumerGroupHeartbeat", 1, group_id=asked[1], **BEAT)
    assert answer.error_code == 35


def test_c60_groups_are_deleted_and_listed_by_their_coordinator(brokers: ThreeBrokers) -> None:
    mine, (other,) = own(brokers), foreign(brokers)
    for name in (mine, other):
        answer = brokers.ask(
            brokers.coordinator(name), "OffsetCommit", 9, group_id=name, topics=commit_of(("t", 0))
        )
        assert codes_of(answer) == [("t", 0, 0)]
    listed = {
        node_id: [each.group_id for each in brokers.ask(node_id, "ListGroups", 4).groups]
        for node_id in (1, 2, 3)
    }
    assert listed == {
        node: {1: [mine], brokers.coordinator(other): [other]}.get(node, []) for node in (1, 2, 3)
    }
    results = brokers.ask(1, "DeleteGroups", 2, groups_names=[other, mine, other]).results
    assert [(each.group_id, each.error_code) for each in results] == [(other, 16), (mine, 0)]


def test_c60_several_brokers_coordinate_nothing_before_there_is_a_topic(
    open_broker: OpenBroker,
) -> None:
    broker = open_broker(broker_lite_brokers="3")
    broker.finds_coordinator = False
    assert broker.call("Heartbeat", 4, group_id="g", member_id="m").error_code == 16
    results = broker.call("DeleteGroups", 2, groups_names=["g"]).results
    assert [each.error_code for each in results] == [16]
    assert broker.call("ListGroups", 4).groups == []


@pytest.mark.parametrize("has_leader", [True, False])
def test_c63_a_join_that_waits_is_answered_when_its_group_moves(
    brokers: ThreeBrokers, has_leader: bool
) -> None:
    broker = brokers.broker
    brokers.context.node_id = old = brokers.coordinator("g")

    async def scene() -> None:
        first = (await join(broker, 5)).member_id
        await join(broker, 5, member_id=first)
        second = (await join(broker, 5)).member_id
        waiting = asyncio.ensure_future(join(broker, 5, member_id=second))
        await asyncio.sleep(0)
        partition = broker.coordinators.groups.partition_of("g")
        new = brokers.other("g") if has_leader else -1
        brokers.set_leader(OFFSETS_TOPIC, partition, new)
        answer = await asyncio.wait_for(waiting, 1)
        assert (answer.error_code, answer.member_id) == (16, second)
        beat = {"group_id": "g", "member_id": first, "generation_id": 1}
        assert (await send(broker, "Heartbeat", 3, **beat)).error_code == 16
        if has_leader:
            brokers.context.node_id = new
            # the generation that was joined is not in the log
            assert (await send(broker, "Heartbeat", 3, **beat)).error_code == 25
        brokers.context.node_id = old

    asyncio.run(scene())

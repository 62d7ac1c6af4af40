"""A classic group becomes a consumer group (G-106)."""

from typing import Any

import pytest

from broker_lite.coordinator.classic.member import ClassicGroupState
from broker_lite.coordinator.consumer.member import MemberState
from broker_lite.coordinator.embedded_protocol import serialize_assignment
from broker_lite.errors import ErrorCode
from tests.coordinator.migration.migration_driver import (
    SESSION_MS,
    ClassicClient,
    ConsumerClient,
    Coordinator,
    classic_group,
    settle,
)


def test_g106_members_go_on_with_what_they_have() -> None:
    broker, clients = classic_group()
    generation = broker.classic_group.rebalance.generation
    answer = ConsumerClient(broker, "n").step()
    group = broker.consumer_group
    assert answer.member_epoch == generation + 1 == group.group_epoch == group.target_epoch
    assert answer.assignment.topic_partitions == []  # all is still owned
    for client in clients:
        member = group.roster.members[client.member_id]
        assert (member.member_epoch, member.previous_member_epoch) == (generation, generation)
        assert member.state is MemberState.STABLE
        assert member.assigned == {
            broker.topics.topics["t"].topic_id: dict.fromkeys(
                (number for _, number in sorted(client.owned)), generation
            )
        }
        assert member.classic is not None
        assert member.classic.session_timeout_ms == SESSION_MS
        assert member.topic_names == ("t",)
    assert broker.replayed().roster.members == group.roster.members
    assert {kind for _, kind, _ in broker.coordinator.registry.timers} == {"session"}


def test_g106_sessions_of_classic_members_go_on() -> None:
    broker, clients = classic_group()
    new = ConsumerClient(broker, "n")
    new.step()
    for _ in range(3):
        broker.advance(SESSION_MS - 1)
        clients[0].step()
    assert set(broker.consumer_group.roster.members) == {clients[0].member_id, "n"}


@pytest.mark.parametrize("phase", ["join", "sync"], ids=["G-106-join", "G-106-sync"])
def test_parked_requests_are_answered(phase: str) -> None:
    broker, (first, second) = classic_group()
    first.join()
    if phase == "sync":
        second.join()
        assert broker.group.state is ClassicGroupState.COMPLETING_REBALANCE
        second.step()
    waiting = first if phase == "join" else second
    assert waiting.waits_for is not None
    _, token = waiting.waits_for
    assert token not in broker.answers
    new = ConsumerClient(broker, "n")
    new.step()
    assert broker.answers[token].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    settle(first, second, new)


def test_g106_group_that_comes_together_for_the_first_time() -> None:
    broker = Coordinator(initial_rebalance_delay_ms=3_000)
    client = ClassicClient(broker)
    client.step()
    client.step()
    client.step()
    assert client.waits_for is not None
    new = ConsumerClient(broker, "n")
    assert new.step().error_code == ErrorCode.NONE
    settle(client, new)


def refusal(broker: Coordinator) -> tuple[ErrorCode, str]:
    answer = ConsumerClient(broker, "n").step()
    return ErrorCode(answer.error_code), answer.error_message


def test_g12_policy_may_forbid_it() -> None:
    broker, clients = classic_group(upgrade=False)
    written = len(broker.log)
    error_code, message = refusal(broker)
    assert error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert message.endswith("because online upgrade is disabled.")
    assert broker.group.state is ClassicGroupState.STABLE
    assert len(broker.log) == written
    settle(*clients)


def test_g106_group_that_is_too_large() -> None:
    broker, _ = classic_group(consumer_size_max=1)
    error_code, message = refusal(broker)
    assert error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "size" in message


def test_g106_member_that_is_refused_leaves_a_classic_group() -> None:
    broker, clients = classic_group(consumer_size_max=2)
    clients[0].join()
    assert clients[0].waits_for is not None
    answer = ConsumerClient(broker, "n").step()
    assert answer.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert broker.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert clients[0].waits_for[1] not in broker.answers
    settle(*clients)


def test_g106_group_of_another_protocol_type() -> None:
    broker, _ = classic_group()
    broker.classic_group.protocol_type = "connect"
    assert "protocol" in refusal(broker)[1]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("protocols", [("range", b"\0")], id="G-106-subscription"),
        pytest.param("assignment", b"\0\1", id="G-106-assignment"),
    ],
)
def test_g106_members_that_cannot_be_read(field: str, value: Any) -> None:
    broker, (_, second) = classic_group()
    setattr(broker.classic_group.roster.members[second.member_id], field, value)
    error_code, message = refusal(broker)
    assert error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "malformed" in message
    assert broker.group.state is ClassicGroupState.STABLE


def test_g106_data_of_an_assignor_would_be_lost() -> None:
    broker, (first, _) = classic_group()
    assignment = serialize_assignment({"t": [0]}, 1)[:-4] + b"\0\0\0\1x"
    broker.classic_group.roster.members[first.member_id].assignment = assignment
    assert "custom assignor" in refusal(broker)[1]


def test_g106_topics_that_are_gone_are_left_out() -> None:
    broker, (first, _) = classic_group()
    del broker.topics.topics["t"]
    ConsumerClient(broker, "n").step()
    assert broker.consumer_group.roster.members[first.member_id].assigned == {}


def test_g106_what_two_members_were_given_ends_with_one_of_them() -> None:
    """A leader decides whatever it likes, also about partitions that there are not."""
    broker, clients = classic_group()
    count = broker.topics.topics["t"].partition_count
    for client in clients:
        given = serialize_assignment({"t": [0, -1, count, 2**31 - 1]}, 1)
        broker.classic_group.roster.members[client.member_id].assignment = given
        client.owned = {("t", 0)}
    new = ConsumerClient(broker, "n")
    for _ in range(20):
        for client in clients:
            client.step()
        new.step()
    settle(*clients, new)


def test_g106_static_members_move_to_the_new_protocol_one_by_one() -> None:
    broker = Coordinator()
    old = [ClassicClient(broker, instance_id=f"i{number}") for number in range(2)]
    settle(*old)
    first = ConsumerClient(broker, "m0", instance_id="i0")
    old[0].owned.clear()  # it was stopped
    assert first.step().error_code == ErrorCode.NONE
    assert set(broker.consumer_group.roster.members) == {"m0", old[1].member_id}
    settle(first, old[1])
    second = ConsumerClient(broker, "m1", instance_id="i1")
    old[1].owned.clear()
    settle(first, second)
    assert broker.consumer_group.roster.classic_count == 0

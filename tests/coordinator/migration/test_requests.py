"""SyncGroup, Heartbeat, LeaveGroup of classic members in a consumer group (G-109 to G-111)."""

from typing import Any

import pytest

from broker_lite.coordinator.consumer.member import MemberState
from broker_lite.coordinator.embedded_protocol import parse_assignment
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.coordinator.migration.migration_driver import (
    REBALANCE_MS,
    SESSION_MS,
    ClassicClient,
    ConsumerClient,
    Coordinator,
    by_topic,
    mixed_group,
    settle,
)

UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
FENCED = ErrorCode.FENCED_INSTANCE_ID
ILLEGAL = ErrorCode.ILLEGAL_GENERATION
INCONSISTENT = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS


def static_member() -> tuple[Coordinator, ClassicClient, ConsumerClient]:
    broker = Coordinator()
    new = ConsumerClient(broker, "n")
    client = ClassicClient(broker, instance_id="i")
    settle(new, client)
    return broker, client, new


def sync(broker: Coordinator, client: ClassicClient, **changes: Any) -> Any:
    fields = {
        "group_id": "g",
        "generation_id": client.generation,
        "member_id": client.member_id,
        "group_instance_id": client.instance_id,
        "protocol_type": "consumer",
        "protocol_name": "range",
        **changes,
    }
    token = broker.send(broker.coordinator.members.sync, messages.SyncGroupRequest(**fields), 5)
    return broker.answers[token]


@pytest.mark.parametrize(
    ("changes", "error_code"),
    [
        pytest.param({}, ErrorCode.NONE, id="G-109"),
        pytest.param({"member_id": "x", "group_instance_id": None}, UNKNOWN, id="G-109-unknown"),
        pytest.param({"member_id": "n", "group_instance_id": None}, UNKNOWN, id="G-109-consumer"),
        pytest.param({"group_instance_id": "x"}, UNKNOWN, id="G-109-unknown-instance"),
        pytest.param({"member_id": "x"}, FENCED, id="G-109-fenced"),
        pytest.param({"generation_id": 99}, ILLEGAL, id="G-109-generation"),
        pytest.param({"protocol_type": "x"}, INCONSISTENT, id="G-109-type"),
        pytest.param({"protocol_name": "x"}, INCONSISTENT, id="G-109-name"),
    ],
)
def test_sync_checks(changes: dict[str, Any], error_code: ErrorCode) -> None:
    broker, client, _ = static_member()
    answer = sync(broker, client, **changes)
    assert answer.error_code == error_code
    if error_code:
        assert (answer.assignment, answer.protocol_type) == (b"", None)
    else:
        assert parse_assignment(answer.assignment)[0] == by_topic(client.owned)
        assert answer.assignment[:2] == b"\0\3"  # the version of its subscription
        assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


def test_g109_group_has_moved_on() -> None:
    broker, client, new = static_member()
    other = ConsumerClient(broker, "o")
    other.step()
    timers = broker.coordinator.registry.timers
    assert sync(broker, client).error_code == REBALANCING
    assert timers.deadline_ms(("g", "join", client.member_id)) == broker.now_ms + REBALANCE_MS
    broker.advance(1_000)
    assert client.heartbeat() == REBALANCING
    # counted from the first time
    assert timers.deadline_ms(("g", "join", client.member_id)) == broker.now_ms + 29_000
    settle(client, new, other)
    assert timers.deadline_ms(("g", "join", client.member_id)) is None


def test_g109_member_that_owes_partitions_may_fetch_what_it_keeps() -> None:
    broker, clients, new = mixed_group()
    others = [ConsumerClient(broker, "o"), ConsumerClient(broker, "p")]
    for other in others:
        other.step()
    for client in clients:
        client.join()
        client.waits_for = None
        member = broker.consumer_group.roster.members[client.member_id]
        client.generation = member.member_epoch
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            break
    assert member.state is MemberState.UNREVOKED_PARTITIONS
    assert member.member_epoch < broker.consumer_group.group_epoch
    answer = sync(broker, client)
    assert answer.error_code == ErrorCode.NONE
    kept = {number for numbers in member.assigned.values() for number in numbers}
    assert parse_assignment(answer.assignment)[0] == {"t": sorted(kept)}
    assert client.heartbeat() == REBALANCING
    settle(*clients, new, *others)


def heartbeat(broker: Coordinator, **fields: Any) -> ErrorCode:
    request = messages.HeartbeatRequest(group_id="g", **fields)
    token = broker.send(broker.coordinator.members.heartbeat, request, 4)
    return ErrorCode(broker.answers[token].error_code)


def test_g110_heartbeat_checks() -> None:
    broker, client, new = static_member()
    good = {
        "member_id": client.member_id,
        "group_instance_id": "i",
        "generation_id": client.generation,
    }
    assert heartbeat(broker, **good) == ErrorCode.NONE
    assert heartbeat(broker, **{**good, "generation_id": 99}) == ILLEGAL
    assert heartbeat(broker, **{**good, "member_id": "x"}) == FENCED
    assert heartbeat(broker, **{**good, "group_instance_id": "x"}) == UNKNOWN
    assert heartbeat(broker, member_id="n", generation_id=new.epoch) == UNKNOWN


def test_g110_member_joins_again_when_what_it_waits_for_is_free() -> None:
    broker = Coordinator()
    new = ConsumerClient(broker, "n")
    settle(new)
    client = ClassicClient(broker, member_id="m")
    client.step()
    client.step()
    client.step()
    assert broker.consumer_group.roster.members["m"].state is MemberState.UNRELEASED_PARTITIONS
    assert client.heartbeat() == ErrorCode.NONE  # nothing to do for it yet
    new.step()
    assert client.heartbeat() == ErrorCode.NONE
    new.step()  # gave them back
    assert client.heartbeat() == REBALANCING
    settle(new, client)


def test_g110_a_newer_group_epoch_counts_once_there_are_targets() -> None:
    """Measured: Heartbeat and SyncGroup go by the epoch of the targets."""
    broker, client, new = static_member()
    other = ConsumerClient(broker, "o")
    settle(client, new, other)
    other.leave()
    group = broker.consumer_group
    assert group.group_epoch > group.target_epoch
    assert client.heartbeat() == ErrorCode.NONE
    new.step()
    assert client.heartbeat() == REBALANCING
    settle(client, new)


def test_g110_sessions_are_the_members_own() -> None:
    broker, client, new = static_member()
    broker.advance(SESSION_MS - 1)
    assert client.heartbeat() == ErrorCode.NONE
    broker.advance(SESSION_MS - 1)
    assert client.member_id in broker.consumer_group.roster.members
    broker.advance(1)
    assert set(broker.consumer_group.roster.members) == {"n"}
    assert client.heartbeat() == UNKNOWN
    settle(new)


@pytest.mark.parametrize("told", [False, True], ids=["G-110-sync", "G-110-join"])
def test_members_that_do_not_come_are_put_out(*, told: bool) -> None:
    broker, client, new = static_member()
    if told:
        other = ConsumerClient(broker, "o")
        other.step()
        assert client.heartbeat() == REBALANCING
    else:
        client.join()
    for _ in range(3):
        broker.advance(REBALANCE_MS // 4)
        heartbeat(
            broker,
            member_id=client.member_id,
            group_instance_id="i",
            generation_id=client.generation,
        )
        new.step()
    assert client.member_id in broker.consumer_group.roster.members
    broker.advance(REBALANCE_MS // 4)
    assert client.member_id not in broker.consumer_group.roster.members


def leave(broker: Coordinator, *named: tuple[str, str | None], version: int = 5) -> Any:
    make_member = messages.LeaveGroupRequest.MemberIdentity
    request = messages.LeaveGroupRequest(group_id="g")
    if version < 3:
        request.member_id = named[0][0]
    else:
        request.members = [
            make_member(member_id=member_id, group_instance_id=instance_id)
            for member_id, instance_id in named
        ]
    token = broker.send(broker.coordinator.members.leave, request, version)
    answer = broker.answers[token]
    if version < 3:
        return answer.error_code
    return [(m.member_id, m.group_instance_id, m.error_code) for m in answer.members]


@pytest.mark.parametrize(
    ("member_id", "instance_id", "error_code"),
    [
        pytest.param("", "i", 0, id="G-111-by-instance"),
        pytest.param(None, "i", 0, id="G-111-both"),
        pytest.param(None, None, 0, id="G-111-by-member"),
        pytest.param("x", "i", 82, id="G-111-fenced"),
        pytest.param("", "x", 25, id="G-111-unknown-instance"),
        pytest.param("", None, 25, id="G-111-nobody"),
    ],
)
def test_leave(member_id: str | None, instance_id: str | None, error_code: int) -> None:
    broker, client, new = static_member()
    epoch = broker.consumer_group.group_epoch
    named = client.member_id if member_id is None else member_id
    assert leave(broker, (named, instance_id)) == [(named, instance_id, error_code)]
    assert broker.consumer_group.group_epoch == epoch + (error_code == 0)
    assert (client.member_id in broker.consumer_group.roster.members) is bool(error_code)
    if not error_code:
        settle(new)


def test_g111_several_at_once_and_old_versions() -> None:
    broker, (first, second), _ = mixed_group()
    epoch = broker.consumer_group.group_epoch
    assert leave(broker, (first.member_id, None), (first.member_id, None), ("x", None)) == [
        (first.member_id, None, 0),
        (first.member_id, None, 0),
        ("x", None, 25),
    ]
    assert broker.consumer_group.group_epoch == epoch + 1
    assert leave(broker, (second.member_id, None), version=1) == 0
    assert set(broker.consumer_group.roster.members) == {"n"}

"""JoinGroup to a consumer group that has members (G-108)."""

from typing import Any

import pytest

from broker_lite.coordinator.consumer.member import MemberState
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.coordinator.migration.migration_driver import (
    REBALANCE_MS,
    SESSION_MS,
    ClassicClient,
    ConsumerClient,
    Coordinator,
    mixed_group,
    settle,
)


def consumers(**settings: Any) -> tuple[Coordinator, ConsumerClient]:
    broker = Coordinator(**settings)
    client = ConsumerClient(broker, "n")
    settle(client)
    return broker, client


def test_g108_new_member_gets_an_id_first() -> None:
    broker, _ = consumers()
    client = ClassicClient(broker)
    refused = client.join()
    assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert len(refused.member_id) == 22
    assert "n" in broker.consumer_group.roster.members
    assert len(broker.consumer_group.roster.members) == 1
    client.member_id = refused.member_id
    answer = client.join(name="roundrobin")
    assert answer == messages.JoinGroupResponse(
        generation_id=broker.consumer_group.group_epoch,
        protocol_type="consumer",
        protocol_name="roundrobin",
        leader="",
        member_id=client.member_id,
    )


@pytest.mark.parametrize("member_id", ["", "n", "stranger"])
def test_g12_g108_nobody_joins_when_the_policy_is_disabled(member_id: str) -> None:
    """Refused before the member id is looked at, and without one in the answer."""
    broker, _ = consumers(upgrade=False, downgrade=False)
    answer = ClassicClient(broker, member_id=member_id).join()
    assert (answer.error_code, answer.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert list(broker.consumer_group.roster.members) == ["n"]


@pytest.mark.parametrize("policy", [{"upgrade": False}, {"downgrade": False}])
def test_g12_g108_any_other_policy_takes_them(policy: dict[str, bool]) -> None:
    broker, _ = consumers(**policy)
    assert ClassicClient(broker).join(version=3).error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", [0, 3], ids=["G-108-v0", "G-108-v3"])
def test_members_of_old_versions_are_taken_at_once(version: int) -> None:
    broker, _ = consumers()
    answer = ClassicClient(broker).join(version=version)
    assert answer.error_code == ErrorCode.NONE
    member = broker.consumer_group.roster.members[answer.member_id]
    assert member.rebalance_timeout_ms == (REBALANCE_MS if version else SESSION_MS)


def test_g108_member_is_what_its_metadata_says() -> None:
    broker, other = consumers()
    client = ClassicClient(broker, topics=("u", "t"), member_id="m")
    client.join()
    member = broker.consumer_group.roster.members["m"]
    assert member.topic_names == ("t", "u")
    assert member.classic is not None
    assert member.classic.protocol_names == ("range",)
    assert member.state is MemberState.UNRELEASED_PARTITIONS
    assert broker.coordinator.registry.timers.deadline_ms(("g", "sync", "m")) == (
        broker.now_ms + REBALANCE_MS
    )
    settle(other, client)
    assert broker.replayed().roster.members == broker.group.roster.members  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(
    ("protocol_type", "name", "error_code"),
    [
        pytest.param("connect", "range", 23, id="G-108-type"),
        pytest.param("consumer", "other", 23, id="G-108-protocol"),
        pytest.param("consumer", "range", 0, id="G-108-both-fine"),
    ],
)
def test_protocols(protocol_type: str, name: str, error_code: int) -> None:
    broker, clients, _ = mixed_group()
    make_protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol
    request = messages.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=SESSION_MS,
        member_id="m",
        protocol_type=protocol_type,
        protocols=[make_protocol(name=name, metadata=clients[0].metadata)],
    )
    token = broker.send(broker.coordinator.members.join, request, 9)
    assert broker.answers[token].error_code == error_code


def test_g108_metadata_that_cannot_be_read() -> None:
    broker, _ = consumers()
    make_protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol
    request = messages.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=SESSION_MS,
        member_id="m",
        protocol_type="consumer",
        protocols=[make_protocol(name="range", metadata=b"")],
    )
    written = len(broker.log)
    token = broker.send(broker.coordinator.members.join, request, 9)
    assert broker.answers[token].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(broker.log) == written


def test_g108_full_group() -> None:
    broker, _ = consumers(consumer_size_max=1)
    answer = ClassicClient(broker).join()
    assert (answer.error_code, answer.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")


def test_g108_static_members() -> None:
    broker, other = consumers()
    client = ClassicClient(broker, instance_id="i")
    answer = client.join()
    assert answer.error_code == ErrorCode.NONE
    client.step()
    settle(client, other)
    owned = set(client.owned)
    # it is started anew, with the same instance id and no member id
    again = ClassicClient(broker, instance_id="i")
    client.owned.clear()
    settle(again, other)
    assert again.member_id != answer.member_id
    assert again.owned == owned
    assert client.heartbeat() == ErrorCode.FENCED_INSTANCE_ID
    for member_id, instance_id, error_code in (
        ("x", "i", ErrorCode.FENCED_INSTANCE_ID),
        ("x", "j", ErrorCode.UNKNOWN_MEMBER_ID),
        (again.member_id, "i", ErrorCode.NONE),
    ):
        one = ClassicClient(broker, member_id=member_id, instance_id=instance_id)
        assert one.join().error_code == error_code


def test_g108_known_member_keeps_its_id_and_its_partitions() -> None:
    broker, (first, _), _ = mixed_group()
    before = broker.consumer_group.roster.members[first.member_id]
    answer = first.join()
    assert answer.member_id == first.member_id
    assert answer.generation_id == before.member_epoch
    assert broker.consumer_group.roster.members[first.member_id].assigned == before.assigned


def test_g108_partitions_of_unknown_topics_are_not_owned() -> None:
    broker, other = consumers()
    client = ClassicClient(broker, owned={("gone", 1)})
    settle(client, other)

"""A consumer group becomes a classic group (G-107)."""

import pytest

from broker_lite.coordinator.classic.member import ClassicGroupState
from broker_lite.coordinator.embedded_protocol import parse_assignment
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.coordinator.migration.migration_driver import (
    ClassicClient,
    ConsumerClient,
    Coordinator,
    by_topic,
    classic_group,
    mixed_group,
    settle,
)

PREPARING = ClassicGroupState.PREPARING_REBALANCE
STABLE = ClassicGroupState.STABLE


def test_g107_last_member_of_the_consumer_protocol_leaves() -> None:
    broker, clients, new = mixed_group()
    group = broker.consumer_group
    epoch = group.group_epoch
    owned = [set(client.owned) for client in clients]
    assert new.leave() == ErrorCode.NONE
    classic = broker.classic_group
    assert (classic.state, classic.rebalance.generation) == (PREPARING, epoch)
    assert (classic.protocol_type, classic.protocol_name) == ("consumer", "range")
    for client, partitions in zip(clients, owned, strict=True):
        assignment = classic.roster.members[client.member_id].assignment
        assert parse_assignment(assignment)[0] == by_topic(partitions)
        assert client.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    loaded = broker.replayed()
    assert loaded.state is STABLE  # the rebalance is not written
    assert list(loaded.roster.members) == list(classic.roster.members)
    settle(*clients)


def test_g107_last_member_of_the_consumer_protocol_is_put_out() -> None:
    broker, clients, _ = mixed_group()
    for _ in range(6):
        broker.advance(8_000)
        for client in clients:
            client.step()
    assert broker.classic_group.rebalance.generation >= 3
    settle(*clients)


def test_g107_group_of_members_of_both_kinds_stays() -> None:
    broker, clients, new = mixed_group()
    other = ConsumerClient(broker, "o")
    settle(*clients, new, other)
    new.leave()
    settle(*clients, other)
    assert broker.consumer_group.roster.classic_count == 2


def test_g107_nobody_stays() -> None:
    broker = Coordinator()
    new = ConsumerClient(broker, "n")
    settle(new)
    new.leave()
    assert broker.consumer_group.state.value == "Empty"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"downgrade": False}, id="G-12-policy"),
        pytest.param({"classic_size_max": 1}, id="G-107-size"),
    ],
)
def test_group_may_have_to_stay(settings: dict[str, int]) -> None:
    broker, clients = classic_group(**{**settings, "classic_size_max": 2})
    new = ConsumerClient(broker, "n")
    settle(*clients, new)
    registry = broker.coordinator.registry
    broker.consumer_group.settings = type(broker.settings)(**settings)
    assert registry.settings.classic_size_max == 2
    new.leave()
    assert broker.consumer_group.roster.classic_count == 2
    settle(*clients)


def static_mix(**settings: bool) -> tuple[Coordinator, ClassicClient, ConsumerClient]:
    """A classic dynamic member and a static one of the consumer protocol."""
    broker, (client,) = classic_group(1, **settings)
    static = ConsumerClient(broker, "s", instance_id="i")
    settle(client, static)
    return broker, client, static


def test_g107_static_member_goes_back_to_the_classic_protocol() -> None:
    broker, client, static = static_mix()
    epoch = broker.consumer_group.group_epoch
    owned = set(static.owned)
    back = ClassicClient(broker, instance_id="i")
    static.owned.clear()
    answer = back.join()
    classic = broker.classic_group
    assert (classic.state, classic.rebalance.generation) == (STABLE, epoch)
    assert (answer.generation_id, answer.leader, answer.members) == (epoch, "", [])
    assert set(classic.roster.members) == {client.member_id, answer.member_id}
    assert classic.roster.static_members == {"i": answer.member_id}
    back.step()
    back.step()
    assert back.owned == owned
    assert broker.replayed().roster.members.keys() == classic.roster.members.keys()
    settle(client, back)


def test_g107_static_member_comes_back_with_other_topics() -> None:
    broker, client, static = static_mix()
    back = ClassicClient(broker, topics=("t", "u"), instance_id="i")
    static.owned.clear()
    answer = back.join()
    assert broker.group.state is PREPARING
    assert answer.error_code == ErrorCode.NONE
    back.step()
    assert back.joined.generation_id != broker.classic_group.rebalance.generation
    settle(client, back)


def test_g12_static_member_comes_back_but_the_policy_forbids_it() -> None:
    broker, client, static = static_mix(downgrade=False)
    back = ClassicClient(broker, instance_id="i")
    static.owned.clear()
    settle(client, back)
    assert broker.consumer_group.roster.classic_count == 2


def test_g107_regex_of_a_replaced_member_is_dropped() -> None:
    broker, client, static = static_mix()
    static.send(
        messages.ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="s",
            member_epoch=static.epoch,
            instance_id="i",
            subscribed_topic_regex="t.*",
        )
    )
    assert broker.consumer_group.regexes
    back = ClassicClient(broker, instance_id="i")
    back.join()
    assert broker.group.state is PREPARING  # it subscribed to something else
    static.owned.clear()
    settle(client, back)


def test_g107_topics_that_are_gone_are_left_out() -> None:
    broker, clients, new = mixed_group()
    del broker.topics.topics["t"]
    new.leave()
    for member in broker.classic_group.roster.members.values():
        assert parse_assignment(member.assignment)[0] == {}
    assert clients[0].heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


def test_g107_metadata_that_was_never_read_may_be_nonsense() -> None:
    """The protocol that is chosen need not be the one that was looked at when a member joined."""
    broker = Coordinator()
    new = ConsumerClient(broker, "n")
    settle(new)
    make_protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol
    good = ClassicClient(broker).metadata
    for offered in ([("range", good), ("odd", b"\xff\xff")], [("odd", good)]):
        request = messages.JoinGroupRequest(
            group_id="g",
            session_timeout_ms=60_000,
            rebalance_timeout_ms=60_000,
            protocol_type="consumer",
            protocols=[make_protocol(name=name, metadata=data) for name, data in offered],
        )
        token = broker.send(broker.coordinator.members.join, request, 3)
        assert broker.answers[token].error_code == ErrorCode.NONE
    assert new.leave() == ErrorCode.NONE
    assert (broker.classic_group.state, broker.classic_group.protocol_name) == (PREPARING, "odd")
    for member in broker.classic_group.roster.members.values():
        parse_assignment(member.assignment)

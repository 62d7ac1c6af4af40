"""Internal topics that a heartbeat creates: what bounds them, and what is told of them."""

import asyncio
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import pytest
from anyio.lowlevel import checkpoint

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.handler import large
from broker_lite.handler.context import Request as WireRequest
from broker_lite.handler.denied import TopicKey, denied_topics_in_turns
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.large import in_slices
from broker_lite.handler.streams import internal_topics
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages
from tests.handler.streams.test_groups import beat, join, topology
from tests.support.acls import acl, apply_acls
from tests.support.coordinator_topics import make_offsets_topic
from tests.support.handler_broker import HandlerBroker
from tests.support.handler_broker import join as joined

Request = messages.StreamsGroupHeartbeatRequest


def make_source(broker: HandlerBroker, partition_count: int) -> None:
    cluster = broker.cluster
    cluster.create_topics([cluster.plan_topic(NewTopic("t", partition_count))])


def test_u24_p102_more_than_a_request_may_create_are_not_created(broker: HandlerBroker) -> None:
    make_source(broker, 1_000)
    names = [f"c{each}" for each in range(11)]
    (status,) = join(broker, topology(*names)).status
    assert "; Creation failed: c" in status.status_detail
    assert status.status_detail.endswith(
        "(Excessively large number of partitions per request.) and 8 more."
    )
    assert [*broker.cluster.topics] == ["t", "__consumer_offsets"]


@pytest.mark.parametrize(("count", "placed"), [(128, 0), (129, 2)])
def test_u24_places_of_many_partitions_are_found_in_slices(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch, count: int, placed: int
) -> None:
    found = []

    async def look(slices: Any) -> Any:
        ahead = await in_slices(slices)
        found.append(ahead)
        return ahead

    monkeypatch.setattr(internal_topics, "in_slices", look)
    make_source(broker, count)
    join(broker, topology("c", "d"))
    assert len(found) == placed
    for name in "cd":
        assert broker.cluster.topics[name].partition_count == count


def test_u24_rights_on_many_topics_are_asked_for_in_turns(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[TopicKey] = []

    async def ask(context: Any, operation: Operation, keys: Iterable[TopicKey]) -> Any:
        asked.extend(keys)
        return await denied_topics_in_turns(context, operation, keys)

    monkeypatch.setattr(internal_topics, "denied_topics_in_turns", ask)
    make_source(broker, 1)
    apply_acls(
        broker.context,
        acl(Operation.READ, ResourceType.GROUP, "g"),
        *(acl(Operation.DESCRIBE, ResourceType.TOPIC, name) for name in "tcd"),
    )
    (status,) = join(broker, topology("c", "d")).status
    assert asked == ["c", "d"]
    assert status.status_detail.endswith("; Unauthorized to CREATE on topics c, d.")


def test_u24_a_text_about_many_topics_is_cut(broker: HandlerBroker) -> None:
    """An answer cannot have a text above 32,767 bytes."""
    make_source(broker, 1)
    names = [f"{each:03}{'c' * 240}" for each in range(200)]
    apply_acls(
        broker.context,
        acl(Operation.READ, ResourceType.GROUP, "g"),
        *(acl(Operation.DESCRIBE, ResourceType.TOPIC, name) for name in ["t", *names]),
    )
    (status,) = join(broker, topology(*names)).status
    assert "; Unauthorized to CREATE on topics " in status.status_detail
    assert len(status.status_detail) == 8191


def test_u24_a_text_with_a_long_config_is_cut(broker: HandlerBroker) -> None:
    make_source(broker, 1)
    wrong = Request.KeyValue(key="retention.ms", value="x" * 32_000)
    (status,) = join(broker, topology("c", topic_configs=[wrong])).status
    assert "; Creation failed: c (" in status.status_detail
    assert len(status.status_detail) <= 8191


@pytest.fixture
def planned(broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The internal topics that the broker, which has topic t, has tried to create."""
    make_source(broker, 1)
    make_offsets_topic(broker.cluster)
    names: list[str] = []
    plan = broker.cluster.plan_topic

    def note(new: NewTopic) -> Any:
        names.append(new.name)
        return plan(new)

    monkeypatch.setattr(broker.cluster, "plan_topic", note)
    return names


def detail(answer: Any) -> str:
    (status,) = answer.status
    assert status.status_code == 3
    text: str = status.status_detail
    return text


@pytest.mark.as_written
def test_u24_topics_that_fail_let_others_have_their_turn(
    broker: HandlerBroker, planned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """To plan 4,990 of them takes 300 ms, although none is created."""

    async def turn() -> None:
        planned.append("")
        await checkpoint()

    monkeypatch.setattr(large, "checkpoint", turn)
    monkeypatch.setattr(large, "TURN_S", 0)
    names = [f"c{each}" for each in range(130)]
    told = detail(join(broker, topology(*names, replication_factor=5)))
    assert told.endswith(" and 127 more.")
    tried = [len([*some]) for is_topic, some in groupby(planned, bool) if is_topic]
    assert tried == [64, 64, 2]


@pytest.mark.as_written
def test_u24_what_failed_is_not_tried_again_for_two_heartbeat_intervals(
    broker: HandlerBroker, planned: list[str]
) -> None:
    told = detail(join(broker, topology("c", "d", replication_factor=5)))
    assert "; Creation failed: c (" in told
    assert sorted(planned) == ["c", "d"]
    planned.clear()
    assert detail(beat(broker, 2)) == told
    assert detail(join(broker, topology("c", "d", replication_factor=5))) == told
    broker.clock.step(9_999)
    assert detail(beat(broker, 2)) == told
    assert not planned
    broker.clock.step(1)
    assert detail(beat(broker, 2)) == told
    assert sorted(planned) == ["c", "d"]


@pytest.mark.as_written
def test_u24_what_is_missing_besides_is_created_at_once(
    broker: HandlerBroker, planned: list[str]
) -> None:
    part = Request.Subtopology(
        subtopology_id="0",
        source_topics=["t"],
        state_changelog_topics=[
            Request.TopicInfo(name="c", replication_factor=5),
            Request.TopicInfo(name="d"),
        ],
    )
    answer = join(broker, Request.Topology(epoch=0, subtopologies=[part]))
    assert "; Creation failed: c (" in detail(answer)
    planned.clear()
    answer = beat(broker, answer.member_epoch)
    assert "; Creation failed: c (" in detail(answer)
    assert not planned, "that d is there now is no reason to try c again"
    broker.cluster.delete_topics([broker.cluster.topics["d"]])
    answer = beat(broker, answer.member_epoch)
    assert "; Creation failed: c (" in detail(answer)
    assert "d" in broker.cluster.topics
    broker.cluster.create_topics([broker.cluster.plan_topic(NewTopic("c", 1))])
    assert beat(broker, answer.member_epoch).status == []


@pytest.mark.as_written
def test_u24_many_topics_are_tried_by_one_heartbeat_at_a_time(
    broker: HandlerBroker, planned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait and find what failed: each would take a slice of every round of the loop."""
    monkeypatch.setattr(large, "TURN_S", 0)
    told = topology(*(f"c{each}" for each in range(65)), replication_factor=5)
    epochs = {member: join(broker, told, member=member).member_epoch for member in "mn"}
    broker.clock.step(10_000)
    planned.clear()

    async def ask(member: str) -> Any:
        value = Request(group_id="g", member_id=member, member_epoch=epochs[member])
        body = memoryview(bytearray(Request.encode(value, 0)))
        wire = WireRequest(88, 0, 1, "test", body, 0, True)
        parts = await dispatch(broker.context, wire)
        assert parts is not None
        return messages.StreamsGroupHeartbeatResponse.decode(joined(parts), 0)[0]

    async def both() -> list[Any]:
        return await asyncio.gather(*map(ask, "mn"))

    first, second = map(detail, asyncio.run(both()))
    assert first == second
    assert first.endswith(" and 62 more.")
    assert len(planned) == 65

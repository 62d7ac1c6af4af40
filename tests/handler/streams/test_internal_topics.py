"""Internal topics that a heartbeat creates: what bounds them, and what is told of them."""

from collections.abc import Iterable
from typing import Any

import pytest

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.handler.denied import TopicKey, denied_topics_in_turns
from broker_lite.handler.large import in_slices
from broker_lite.handler.streams import internal_topics
from broker_lite.security.acls.acl import Operation, ResourceType
from broker_lite.wire import messages
from tests.handler.streams.test_groups import join, topology
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

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

"""Topologies that are configured step by step before their group is asked."""

from typing import Any

import pytest

from broker_lite.coordinator.streams.ahead import ConfiguredAhead
from broker_lite.coordinator.streams.configured import configure
from broker_lite.coordinator.streams.topology import topology_of
from broker_lite.errors import StreamsInvalidTopology
from tests.coordinator.consumer.consumer_driver import FakeTopics
from tests.coordinator.streams.streams_driver import PLAIN, Driver, subtopology, topology

WITH_STATE = topology(subtopology("0", "t", changelogs=["c"]))


def prepared(message: Any, topics: FakeTopics) -> ConfiguredAhead:
    known = topology_of(message)
    ahead = ConfiguredAhead(known, known.required_topics())
    assert [*ahead.prepare(topics)]
    return ahead


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The topologies that are configured in one go."""
    found: list[object] = []

    def note(known: Any, topics: Any) -> Any:
        found.append(known)
        return configure(known, topics)

    monkeypatch.setattr("broker_lite.coordinator.streams.ahead.configure", note)
    return found


def test_u12_what_is_found_holds_while_the_topics_are_the_same(slow: list[object]) -> None:
    topics = FakeTopics(t=3)
    ahead = prepared(WITH_STATE, topics)
    found = ahead.configure(topics, ahead.hash_of(topics))
    assert found == configure(ahead.topology, topics)
    assert not slow
    topics.make("c", 3)
    assert ahead.configure(topics, ahead.hash_of(topics)).is_ready
    assert slow == [ahead.topology]


def test_u13_what_it_is_refused_for_is_found_once(slow: list[object]) -> None:
    topics = FakeTopics(t=1)
    loop = topology(subtopology("0", "t"), subtopology("1", repartitions=[("r", 0)], sinks=["r"]))
    ahead = prepared(loop, topics)
    for _ in range(2):
        with pytest.raises(StreamsInvalidTopology, match="loops in the topology"):
            ahead.configure(topics, ahead.hash_of(topics))
    assert not slow


def test_u12_the_group_takes_what_was_found_of_its_own_topology(slow: list[object]) -> None:
    driver = Driver(t=3)
    driver.join("a", WITH_STATE)
    group = driver.group
    slow.clear()
    driver.topics_grow(c=3)
    assert group.topology is not None
    ahead = ConfiguredAhead(group.topology, group.maps.required_topics)
    assert [*ahead.prepare(driver.topics)]
    assert driver.beat("a", 2, ahead=ahead).status == []
    assert (group.is_configured, slow) == (True, [])


def test_u12_what_was_found_of_another_topology_is_not_used(slow: list[object]) -> None:
    """The group was deleted and made anew meanwhile."""
    driver = Driver(t=3)
    driver.join("a", WITH_STATE)
    ahead = prepared(PLAIN, driver.topics)
    slow.clear()
    answer = driver.beat("a", 2, ahead=ahead)
    assert [each.status_code for each in answer.status] == [3]
    assert slow == [driver.group.topology]

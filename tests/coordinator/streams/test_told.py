"""The topology of a heartbeat, made step by step before the group is asked."""

from typing import Any

from broker_lite.coordinator.streams.changes import hold_topology
from broker_lite.coordinator.streams.configured import configure
from broker_lite.coordinator.streams.records import topology_value
from broker_lite.coordinator.streams.told import ToldTopology
from broker_lite.coordinator.topics import hash_of_topics
from tests.coordinator.consumer.consumer_driver import FakeTopics
from tests.coordinator.streams.streams_driver import PLAIN, Driver, subtopology, topology

TOLD = topology(
    subtopology("0", "t", sinks=["r"], changelogs=["c"]),
    subtopology("1", repartitions=[("r", 0)], changelogs=["d"]),
)


def prepared(message: Any, topics: FakeTopics) -> ToldTopology:
    told = ToldTopology(message)
    assert len(list(told.prepare(topics))) > 5
    return told


def current_hash(told: ToldTopology, topics: FakeTopics) -> int:
    return hash_of_topics(topics, told.maps.required_topics)


def test_u07_what_is_prepared_is_what_the_group_needs() -> None:
    topics = FakeTopics(t=3, r=3)
    told = prepared(TOLD, topics)
    assert told.record == topology_value(told.topology)
    assert told.maps == told.topology.maps()
    assert not told.has_long_text
    group = Driver().group
    hold_topology(group, told.topology)
    assert told.size_bytes == group.roster.held.count
    ready = told.ahead.configure(topics, current_hash(told, topics))
    assert ready == configure(told.topology, topics)
    assert ready is told.ahead.configure(topics, current_hash(told, topics))


def test_u12_topics_that_have_changed_since_are_looked_at_again() -> None:
    topics = FakeTopics(t=3, r=3)
    told = prepared(TOLD, topics)
    topics.make("c", 3)
    found = told.ahead.configure(topics, current_hash(told, topics))
    assert [each.name for each in found.missing] == ["d"]
    topics.delete("t")
    assert not told.ahead.configure(topics, current_hash(told, topics)).is_ready


def test_topics_may_change_between_the_steps() -> None:
    """What comes out is that of the topics at one time, and is not used for others."""
    topics = FakeTopics(t=3, r=3, c=3, d=3)
    told = ToldTopology(TOLD)
    for number, _ in enumerate(told.prepare(topics)):
        if number == 6:
            topics.delete("r")
    found = told.ahead.configure(topics, current_hash(told, topics))
    assert [each.name for each in found.missing] == ["r"]


def test_u13_what_a_topology_is_refused_for_is_said_by_the_group() -> None:
    """Checks that come before it may have another reason."""
    driver = Driver(t=1)
    loop = topology(subtopology("0", "t"), subtopology("1", repartitions=[("r", 0)], sinks=["r"]))
    told = prepared(loop, driver.topics)
    assert driver.join("a", loop, told=told).error_code == 130
    assert driver.join("a", loop).error_code == 130


def test_a_prepared_heartbeat_is_answered_as_any_other() -> None:
    with_it, without = Driver(t=3, r=3, c=3, d=3), Driver(t=3, r=3, c=3, d=3)
    for member in "ab":
        told = prepared(TOLD, with_it.topics)
        assert with_it.join(member, TOLD, told=told) == without.join(member, TOLD)
    assert with_it.log == without.log
    assert with_it.group.roster.held.count == without.group.roster.held.count


def test_another_topology_than_the_groups_is_not_used() -> None:
    """U-10: a member with an older one gets the tasks of the group's."""
    driver = Driver(t=3, u=5)
    newer = topology(subtopology("0", "u"), epoch=3)
    driver.join("a", newer)
    told = prepared(PLAIN, driver.topics)
    answer = driver.join("b", PLAIN, told=told)
    assert [each.status_code for each in answer.status] == [0]
    assert driver.group.configured is not None
    assert driver.group.configured.subtopologies is not None
    assert driver.group.configured.subtopologies["0"].task_count == 5


def test_a_text_may_be_too_long() -> None:
    assert ToldTopology(topology(subtopology("0", "t" * 40_000))).has_long_text

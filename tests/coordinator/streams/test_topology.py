"""Topologies: what is looked up in them, and the memory that they count for."""

import tracemalloc
from typing import Any

import pytest

from broker_lite.coordinator.streams.configured import configure
from broker_lite.coordinator.streams.member import StreamsMember, size_of_member
from broker_lite.coordinator.streams.topology import size_of_topology, topology_of
from tests.coordinator.consumer.consumer_driver import FakeTopics
from tests.coordinator.streams.streams_driver import (
    Driver,
    Request,
    info,
    subtopology,
    topology,
)


def named(number: int) -> str:
    """A new text, as of a decoded request."""
    return bytes(f"{number:08}", "ascii").decode()


def test_what_is_looked_up_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """U-20, U-21: not for every commit, fetch or change of a topic."""
    driver = Driver(t=1, u=1)
    driver.join("a", topology(subtopology("0", "u", "t", "t", changelogs=["c"])))
    kept = driver.group.maps
    assert kept.inputs_of == {"0": ("t", "u")}
    assert driver.group.subscribed_topics() is kept.inputs == {"t", "u"}
    assert kept.required_topics == {"t", "u", "c"}

    def fail(*_: Any) -> Any:
        raise AssertionError("looked up anew")

    for name in ("subtopology_of_input", "required_topics"):
        monkeypatch.setattr(f"broker_lite.coordinator.streams.topology.Topology.{name}", fail)
    topic = driver.topics.get("t")
    assert topic is not None
    assert driver.group.assignment_epoch("a", topic, 0) is None
    driver.topics_grow(c=1)
    assert driver.group.is_metadata_stale
    driver.follow("a")
    monkeypatch.setattr("broker_lite.coordinator.streams.topology.Topology.by_id", fail)
    endpoint = Request.Endpoint(host="h", port=1)
    driver.beat("a", driver.group.roster.members["a"].member_epoch, user_endpoint=endpoint)
    assert driver.group.assignment_epoch("a", topic, 0) is not None


def test_what_is_looked_up_follows_the_log() -> None:
    """U-21."""
    driver = Driver(t=1)
    driver.join("a")
    assert driver.loaded().maps == driver.group.maps


@pytest.mark.parametrize(
    ("some", "is_large"),
    [
        ([subtopology("0", "t", changelogs=map(named, range(254)))], False),
        ([subtopology("0", "t", changelogs=map(named, range(255)))], True),
        ([subtopology(named(each), "t") for each in range(255)], False),
        ([subtopology(named(each), "t") for each in range(256)], True),
    ],
)
def test_u12_topics_and_subtopologies_make_it_large(some: Any, is_large: bool) -> None:
    assert topology_of(topology(*some)).maps().is_large is is_large


def _wide(count: int) -> Any:
    return [subtopology("0", *map(named, range(count)))]


def _many(count: int) -> Any:
    return [subtopology(named(each), "t") for each in range(count)]


def _internal(count: int) -> Any:
    return [subtopology("0", "t", changelogs=[named(each) for each in range(count)])]


def _configs(count: int) -> Any:
    part, topic = subtopology("0", "t"), info("c")
    topic.topic_configs = [
        Request.KeyValue(key=named(each), value=named(each)) for each in range(count)
    ]
    part.state_changelog_topics = [topic]
    return [part]


def _groups(count: int) -> Any:
    return [subtopology("0", "t", groups=[([1000 + n], [2000 + n]) for n in range(count)])]


def _indexes(count: int) -> Any:
    return [subtopology("0", "t", groups=[(range(1000, 1000 + count), [])])]


@pytest.mark.parametrize("make", [_wide, _many, _internal, _configs, _groups, _indexes])
def test_a_topology_counts_for_its_memory(make: Any) -> None:
    """What Python needs for it, for its maps and for what is configured."""
    topics = FakeTopics(**{named(each): 1 for each in range(1000)}, t=1)
    told = topology(*make(1000))
    if make is _internal:
        topics = FakeTopics(t=1)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        held: list[Any] = [topology_of(topology(*make(1000)))]
        held.append(held[0].maps())
        if make not in (_groups, _indexes):  # their indexes name no topics
            held.append(configure(held[0], topics))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    counted = size_of_topology(topology_of(told))
    assert (after - before) * 0.9 < counted < (after - before) * 4


def test_client_tags_count_for_their_memory() -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tags = tuple([(named(each), named(each)) for each in range(1000)])
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    plain, tagged = StreamsMember(member_id="a"), StreamsMember(member_id="a", client_tags=tags)
    counted = size_of_member(tagged) - size_of_member(plain)
    assert (after - before) < counted < (after - before) * 2

"""Topologies with their topics: what can run, what is missing."""

from typing import Any

import pytest

from broker_lite.coordinator.streams.configured import (
    TASKS_MAX,
    ConfiguredTopology,
    StatusCode,
    configure,
    configure_in_steps,
)
from broker_lite.coordinator.streams.java_order import hash_order, spread_hash
from broker_lite.coordinator.streams.topology import topology_of
from broker_lite.errors import StreamsInvalidTopology, UnknownServerError
from tests.coordinator.consumer.consumer_driver import FakeTopics
from tests.coordinator.streams.streams_driver import Request, info, subtopology, topology


def configured(*subtopologies: Any, **counts: int) -> ConfiguredTopology:
    return configure(topology_of(topology(*subtopologies)), FakeTopics(**counts))


def test_a_topology_whose_topics_exist_can_run() -> None:
    """U-12: a subtopology has as many tasks as its largest input has partitions."""
    found = configured(subtopology("0", "a", "b", changelogs=["c"]), a=2, b=3, c=3)
    assert found.is_ready
    assert found.subtopologies is not None
    assert (found.subtopologies["0"].task_count, found.subtopologies["0"].is_stateful) == (3, True)


def test_missing_source_topics() -> None:
    """U-12."""
    found = configured(subtopology("0", *"edcba"), c=1)
    detail = "Source topics a, b, d and 1 additional topics are missing."
    assert found.problem == (StatusCode.MISSING_SOURCE_TOPICS, detail)
    assert (found.subtopologies, found.missing) == (None, ())


def test_missing_internal_topics_are_named_and_counted() -> None:
    """U-12, U-24: a changelog and a repartition topic, with the partitions that they need."""
    first = subtopology("0", "t", sinks=["r"])
    last = subtopology("1", repartitions=[("r",)], changelogs=["c"])
    found = configured(first, last, t=2)
    assert found.problem is not None
    assert found.problem.code == StatusCode.MISSING_INTERNAL_TOPICS
    assert found.problem.detail == "Internal topics are missing: r, c"
    assert [(each.name, each.partition_count) for each in found.missing] == [("r", 2), ("c", 2)]


def test_an_existing_topic_with_another_number() -> None:
    """U-13."""
    found = configured(subtopology("0", "t", changelogs=["c"]), t=2, c=3)
    detail = "Existing topic c has different number of partitions: expected 2, found 3"
    assert found.problem == (StatusCode.INCORRECTLY_PARTITIONED_TOPICS, detail)


def test_too_many_tasks() -> None:
    """U-12: broker-lite's own bound."""
    with pytest.raises(StreamsInvalidTopology, match="more than 5000 tasks"):
        configured(subtopology("0", "t"), t=TASKS_MAX + 1)
    assert configured(subtopology("0", "t"), t=TASKS_MAX).is_ready


def test_a_config_that_comes_twice() -> None:
    """U-07."""
    topic = info("c")
    topic.topic_configs = [Request.KeyValue(key="k", value="1"), Request.KeyValue(key="k")]
    told = subtopology("0", "t")
    told.state_changelog_topics = [topic]
    with pytest.raises(UnknownServerError):
        configured(told, t=1)


def test_names_are_hashed_in_steps() -> None:
    """U-12: 5,000 names of 249 characters take 60 ms."""
    some = subtopology("0", "t", changelogs=[f"c{each}" for each in range(4_990)])
    steps = configure_in_steps(topology_of(topology(some)), FakeTopics(t=1))
    assert sum(1 for _ in steps) == 2 + 4_990 // 512


def test_each_name_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """U-12: names may be long, and there may be thousands of them."""
    hashed: list[str] = []

    def count(name: str) -> int:
        hashed.append(name)
        return spread_hash(name)

    monkeypatch.setattr("broker_lite.coordinator.streams.configured.spread_hash", count)
    found = configured(
        subtopology("0", "t", sinks=["r"], changelogs=["c", "d"]),
        subtopology("1", repartitions=[("r",)], changelogs=["e"]),
        t=1,
    )
    assert [each.name for each in found.missing] == hash_order("cder")
    assert sorted(hashed) == list("cder")

"""Topology and tasks of streams groups, by the control API."""

from collections.abc import Iterator
from typing import Any

import pytest

from broker_lite.testing import Broker, BrokerFailed
from broker_lite.wire import messages
from tests.differential.streams_side import StreamsSide

Heartbeat = messages.StreamsGroupHeartbeatRequest
COUNTS = Heartbeat.Subtopology(
    subtopology_id="0",
    source_topics=["words"],
    state_changelog_topics=[Heartbeat.TopicInfo(name="s-counts-changelog")],
    repartition_sink_topics=["s-by-length-repartition"],
)
SUMS = Heartbeat.Subtopology(
    subtopology_id="1",
    repartition_source_topics=[Heartbeat.TopicInfo(name="s-by-length-repartition", partitions=2)],
)
TOPOLOGY = Heartbeat.Topology(epoch=0, subtopologies=[COUNTS, SUMS])


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker({"group.streams.initial.rebalance.delay.ms": 0}) as started:
        yield started


@pytest.fixture
def side(running: Broker) -> Iterator[StreamsSide]:
    running.reset()
    side = StreamsSide(running.port, "s")
    yield side
    side.close()


def seen(broker: Broker, query: str = "") -> Any:
    return broker.control("GET", f"/v1/groups/s/tasks{query}")


def join(side: StreamsSide, member: str) -> None:
    fields = {
        "process_id": f"process-{member}",
        "instance_id": None,
        "rack_id": "north",
        "rebalance_timeout_ms": 1000,
        "topology": TOPOLOGY,
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "user_endpoint": Heartbeat.Endpoint(host="here", port=80),
    }
    side.beat(member, fields)


def settled(side: StreamsSide, *members: str) -> None:
    for _ in range(3):
        for member in members:
            side.beat(member, {})


def test_a_topology_whose_topics_are_missing(running: Broker, side: StreamsSide) -> None:
    join(side, "a")
    view = seen(running)
    assert (view["state"], view["problem"]) == ("NotReady", "MISSING_SOURCE_TOPICS")
    assert view["detail"] == "Source topics words are missing."
    assert (view["tasks"], view["topology_epoch"], view["missing"]) == (None, 0, [])
    assert [each["tasks"] for each in view["subtopologies"]] == [None, None]
    with pytest.raises(BrokerFailed, match='"state": "NotReady"'):
        running.control("POST", "/v1/groups/s/wait", {"state": "Stable", "timeout_ms": 1})


def test_tasks_of_members(running: Broker, side: StreamsSide) -> None:
    running.create_topic("words", partitions=4)
    side.configure("streams.num.standby.replicas", "1")
    join(side, "a")
    side.await_topics({"s-counts-changelog": 4, "s-by-length-repartition": 2})
    settled(side, "a")
    join(side, "b")
    settled(side, "a", "b", "a", "b")
    view: Any = running.control("POST", "/v1/groups/s/wait", {"state": "Stable", "members": 2})
    assert view["type"] == "streams"
    view = seen(running)
    assert (view["problem"], view["detail"], view["standby_count"]) == ("", "", 1)
    assert view["subtopologies"] == [
        {
            "id": "0",
            "tasks": 4,
            "sources": ["words"],
            "repartition_sources": [],
            "repartition_sinks": ["s-by-length-repartition"],
            "changelogs": ["s-counts-changelog"],
        },
        {
            "id": "1",
            "tasks": 2,
            "sources": [],
            "repartition_sources": ["s-by-length-repartition"],
            "repartition_sinks": [],
            "changelogs": [],
        },
    ]
    assert (view["tasks"], view["active"], view["standby"], view["warmup"]) == (6, 6, 4, 0)
    assert view["epoch"] == view["target_epoch"]
    one, other = view["members"]
    assert (one["id"], one["process_id"], one["rack"]) == ("a", "process-a", "north")
    assert (one["endpoint"], one["host"], one["state"]) == ("here:80", "127.0.0.1", "stable")
    both = sorted(one["active"]["0"] + other["active"]["0"])
    assert both == [0, 1, 2, 3]
    assert one["standby"]["0"] == other["active"]["0"]
    assert one["active"] == one["target_active"]
    assert one["standby"] == one["target_standby"]


def test_members_in_pages(running: Broker, side: StreamsSide) -> None:
    running.create_topic("words", partitions=1)
    for member in "abc":
        join(side, member)
    page = seen(running, "?after=a&limit=1")
    assert [each["id"] for each in page["members"]] == ["b"]
    assert page["members_count"] == 3
    assert [each["id"] for each in seen(running, "?after=c")["members"]] == []
    side.beat("b", {"member_epoch": -1})
    assert [each["id"] for each in seen(running, "?after=b")["members"]] == ["c"]
    with pytest.raises(BrokerFailed, match="Expected `int` <= 1000"):
        seen(running, "?limit=1001")


def test_what_is_no_streams_group(running: Broker, side: StreamsSide) -> None:
    with pytest.raises(BrokerFailed, match="there is no group 's'"):
        seen(running)
    running.create_topic("t")
    running.control("PUT", "/v1/groups/s/offsets", {"t": {"0": 0}})
    with pytest.raises(BrokerFailed, match="group s is a classic group, and no streams group"):
        seen(running)

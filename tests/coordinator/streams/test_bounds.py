"""Bounds of a heartbeat that Kafka does not have."""

from typing import Any

import pytest

from broker_lite.coordinator.streams.bounds import (
    ELEMENTS_MAX,
    TAGS_MAX,
    check_id_sizes,
    check_topology_size,
)
from broker_lite.coordinator.streams.checks import check_heartbeat
from broker_lite.errors import InvalidRequest, StreamsInvalidTopology
from tests.coordinator.streams.streams_driver import Request, info, subtopology, topology

EMPTY = 1  # a subtopology without anything counts, too
REST = ELEMENTS_MAX - EMPTY


def _with_configs(count: int) -> Any:
    topic = info("c")
    topic.topic_configs = [Request.KeyValue(key="k", value="v")] * (count - 1)
    part = subtopology("0")
    part.state_changelog_topics = [topic]
    return part


def _with_regex(count: int) -> Any:
    return Request.Subtopology(subtopology_id="0", source_topic_regex=["a"] * count)


@pytest.mark.parametrize(
    "make",
    [
        lambda count: [subtopology("0"), *[subtopology("1")] * count],
        lambda count: [subtopology("0", *["t"] * count)],
        lambda count: [subtopology("0", sinks=["t"] * count)],
        lambda count: [subtopology("0", changelogs=["t"] * count)],
        lambda count: [subtopology("0", repartitions=[("t",)] * count)],
        lambda count: [subtopology("0", groups=[([], [])] * count)],
        lambda count: [subtopology("0", groups=[([0] * (count - 1), [])])],
        lambda count: [subtopology("0", groups=[([], [0] * (count - 1))])],
        lambda count: [_with_configs(count)],
        lambda count: [_with_regex(count)],
        lambda count: [subtopology("0", "t", sinks=["r"] * (count - 2), groups=[([], [])])],
    ],
)
def test_the_elements_of_a_topology_count_together(make: Any) -> None:
    """U-12: broker-lite's own bound."""
    check_topology_size(topology(*make(REST)))
    with pytest.raises(StreamsInvalidTopology, match="more than 5000 subtopologies"):
        check_topology_size(topology(*make(REST + 1)))


def test_the_size_is_looked_at_first() -> None:
    """U-12: before anything walks over the topology, also before Kafka's checks of its parts."""
    told = topology(_with_regex(ELEMENTS_MAX))
    with pytest.raises(StreamsInvalidTopology):
        check_heartbeat(Request(group_id="g", member_id="m", topology=told), "c")


@pytest.mark.parametrize("length", [250, 251])
@pytest.mark.parametrize("name", ["MemberId", "ProcessId", "SubtopologyId"])
def test_ids_have_a_bound(name: str, length: int) -> None:
    """U-06: broker-lite's own bound."""
    ids = {"MemberId": "m", "ProcessId": None, "SubtopologyId": "0", name: "x" * length}
    request = Request(
        group_id="g",
        member_id=ids["MemberId"],
        process_id=ids["ProcessId"],
        topology=topology(subtopology(ids["SubtopologyId"] or "")),
    )
    if length == 250:
        check_id_sizes(request)
        return
    with pytest.raises(InvalidRequest, match=f"{name} has more than 250 characters"):
        check_id_sizes(request)


def test_a_heartbeat_with_a_long_id_is_refused() -> None:
    """U-06."""
    request = Request(group_id="g", member_id="x" * 251, member_epoch=1)
    with pytest.raises(InvalidRequest, match="MemberId has more than 250 characters"):
        check_heartbeat(request, "c")


@pytest.mark.parametrize("tag", ["v", "v" * 32_768])
def test_client_tags_have_a_bound(tag: str) -> None:
    """U-06: broker-lite's own bound, which comes before anything looks at each of the tags."""
    tags = [Request.KeyValue(key=str(each), value="v") for each in range(TAGS_MAX)]
    request = Request(group_id="g", member_id="m", member_epoch=1, client_tags=tags)
    check_heartbeat(request, "c")
    tags.append(Request.KeyValue(key="more", value=tag))
    with pytest.raises(InvalidRequest, match="ClientTags has more than 1000 entries"):
        check_heartbeat(request, "c")

"""The checks of a StreamsGroupHeartbeat without its group, in Kafka's order and words."""

from typing import Any

import pytest

from broker_lite.coordinator.streams.checks import check_heartbeat
from broker_lite.errors import BrokerError, InvalidRequest, StreamsInvalidTopology
from tests.coordinator.streams.streams_driver import PLAIN, Request, info, subtopology, topology

TASKS = [Request.TaskIds(subtopology_id="0", partitions=[0])]
NONE: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
JOIN: dict[str, Any] = {"member_epoch": 0, "rebalance_timeout_ms": 1, "topology": PLAIN, **NONE}
REGEX = topology(Request.Subtopology(subtopology_id="0", source_topic_regex=["a.*"]))
COUNTED = topology(Request.Subtopology(subtopology_id="0", state_changelog_topics=[info("c", 3)]))
LONG = "x" * 32_768


def refusal(**given: Any) -> BrokerError | None:
    fields = {"group_id": "g", "member_id": "m", "member_epoch": 1, **given}
    try:
        check_heartbeat(Request(**fields), "c")
    except BrokerError as error:
        return error
    return None


@pytest.mark.parametrize("fields", [{}, NONE, {**NONE, "active_tasks": TASKS}, JOIN])
def test_a_heartbeat_that_is_right(fields: dict[str, Any]) -> None:
    assert refusal(**fields) is None
    assert refusal(member_epoch=-1) is None


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"instance_id": "", "member_id": ""}, "Static membership is not yet supported."),
        ({"task_offsets": []}, "TaskOffsets are not supported yet."),
        ({"task_end_offsets": []}, "TaskEndOffsets are not supported yet."),
        ({**NONE, "warmup_tasks": TASKS}, "WarmupTasks are not supported yet."),
        (
            {**JOIN, "topology": REGEX},
            "Regular expressions for source topics are not supported yet.",
        ),
        ({"member_id": " ", "group_id": ""}, "MemberId can't be empty."),
        ({"group_id": "\t", "rack_id": ""}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        (
            {**JOIN, "rebalance_timeout_ms": -1},
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        ({**JOIN, "active_tasks": None}, "ActiveTasks must be empty when (re-)joining."),
        ({**JOIN, "standby_tasks": TASKS}, "StandbyTasks must be empty when (re-)joining."),
        ({**JOIN, "warmup_tasks": None}, "WarmupTasks must be empty when (re-)joining."),
        ({**JOIN, "topology": None}, "Topology must be non-null when (re-)joining."),
        ({"member_epoch": -2}, "InstanceId can't be null."),
        ({"member_epoch": -3}, "MemberEpoch is -3, but must be greater than or equal to -2."),
        ({"standby_tasks": []}, "If one task-type is non-null, all must be non-null."),
        ({"topology": PLAIN}, "Topology can only be provided when (re-)joining."),
        ({"process_id": LONG}, "A text has more than 32767 bytes."),
        ({"client_tags": [Request.KeyValue(key=LONG)]}, "A text has more than 32767 bytes."),
        ({"user_endpoint": Request.Endpoint(host=LONG)}, "A text has more than 32767 bytes."),
        (
            {**JOIN, "topology": topology(subtopology(LONG, "t"))},
            "A text has more than 32767 bytes.",
        ),
    ],
)
def test_a_heartbeat_that_is_wrong(fields: dict[str, Any], text: str) -> None:
    """U-06."""
    error = refusal(**fields)
    assert isinstance(error, InvalidRequest)
    assert error.message == text


def test_offsets_of_tasks_are_accepted_since_version_1() -> None:
    """U-06."""
    request = Request(
        group_id="g", member_id="m", member_epoch=1, task_offsets=[], task_end_offsets=[]
    )
    check_heartbeat(request, "c", 1)


def test_a_changelog_whose_partitions_the_client_counts() -> None:
    """U-06."""
    error = refusal(**{**JOIN, "topology": COUNTED})
    assert isinstance(error, StreamsInvalidTopology)
    assert error.message == (
        "Changelog topic c must have an undefined partition count, but it is set to 3."
    )

"""G-78: what makes a ConsumerGroupHeartbeat one, with the codes and texts of Kafka 4.3.1."""

from typing import Any

import pytest

from broker_lite.coordinator.consumer.checks import check_heartbeat
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.errors import InvalidRequest
from tests.coordinator.consumer.consumer_driver import Driver, Request

JOIN = {
    "member_id": "m1",
    "member_epoch": 0,
    "rebalance_timeout_ms": 60_000,
    "subscribed_topic_names": ["t"],
    "topic_partitions": [],
}
NO_MEMBER_ID = "MemberId can't be empty."
NO_SUBSCRIPTION = (
    "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
)


@pytest.mark.parametrize(
    ("fields", "version", "code", "message"),
    [
        pytest.param({"member_id": " \t"}, 1, 42, NO_MEMBER_ID, id="G-78 blank member id"),
        pytest.param(
            {"member_id": "", "member_epoch": 3}, 0, 42, NO_MEMBER_ID, id="G-78 v0 beats without id"
        ),
        pytest.param(
            {"member_id": "", "member_epoch": -1}, 0, 42, NO_MEMBER_ID, id="G-78 v0 leaves so"
        ),
        pytest.param(
            {"instance_id": ""}, 1, 42, "InstanceId can't be empty.", id="G-78 blank instance"
        ),
        pytest.param({"rack_id": "  "}, 1, 42, "RackId can't be empty.", id="G-78 blank rack"),
        pytest.param(
            {"rebalance_timeout_ms": -1},
            1,
            42,
            "RebalanceTimeoutMs must be provided in first request.",
            id="G-78 no timeout",
        ),
        pytest.param(
            {"topic_partitions": None},
            1,
            42,
            "TopicPartitions must be empty when (re-)joining.",
            id="G-78 no partitions",
        ),
        pytest.param(
            {"subscribed_topic_names": None}, 1, 42, NO_SUBSCRIPTION, id="G-78 no subscription"
        ),
        pytest.param(
            {"member_epoch": -2}, 1, 42, "InstanceId can't be null.", id="G-78 -2 is for static"
        ),
        pytest.param({"member_epoch": -3}, 1, 42, "MemberEpoch is invalid.", id="G-78 epoch -3"),
        pytest.param(
            {"server_assignor": "sticky"},
            1,
            112,
            "ServerAssignor sticky is not supported. Supported assignors: uniform, range.",
            id="G-78 assignor",
        ),
        pytest.param(
            {"member_id": "m" * 32_768},
            1,
            42,
            "MemberId has more than 32767 bytes.",
            id="G-78 an id that no record can hold",
        ),
    ],
)
def test_malformed(fields: dict[str, Any], version: int, code: int, message: str) -> None:
    driver = Driver(t=2)
    response = driver.send(version=version, **{**JOIN, **fields})
    assert (response.error_code, response.error_message) == (code, message)
    assert (response.member_id, response.member_epoch) == (None, 0)
    assert (response.heartbeat_interval_ms, response.assignment) == (0, None)
    assert driver.group.is_unwritten


def test_a_blank_group_id_is_refused() -> None:
    """G-78."""
    with pytest.raises(InvalidRequest, match="GroupId can't be empty"):
        check_heartbeat(Request(group_id=" ", **JOIN), 1, GroupSettings())


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"subscribed_topic_names": []}, id="G-78 no names"),
        pytest.param(
            {"subscribed_topic_names": None, "subscribed_topic_regex": ""}, id="G-78 empty regex"
        ),
        pytest.param({"server_assignor": "range"}, id="G-10 known assignor"),
    ],
)
def test_well_formed(fields: dict[str, Any]) -> None:
    assert Driver(t=2).send(**{**JOIN, **fields}).error_code == 0


def test_version_0_is_given_an_id() -> None:
    """G-78: 22 characters, as Kafka's UUIDs are written."""
    response = Driver(t=2).send(version=0, **{**JOIN, "member_id": ""})
    assert response.member_id == "AAECAwQFRgeICQoLDA0ODw"

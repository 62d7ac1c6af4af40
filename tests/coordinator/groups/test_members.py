"""Requests of members find their group, or the error of there being none."""

from typing import Any

import pytest

from broker_lite.coordinator.effects import Caller
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.coordinator.groups.groups_driver import Driver

UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


@pytest.fixture
def driver() -> Driver:
    return Driver()


def test_g35_checked_without_a_group(driver: Driver) -> None:
    assert driver.join(group_id="").error_code == ErrorCode.INVALID_GROUP_ID
    assert driver.join(session_ms=1).error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    assert driver.list() == set()


def test_g37_who_has_an_id_needs_a_group(driver: Driver) -> None:
    refused = driver.join("m")
    assert (refused.error_code, refused.member_id) == (UNKNOWN, "m")
    assert driver.list() == set()


def test_g37_a_group_is_made_even_when_its_first_member_is_refused(driver: Driver) -> None:
    assert driver.join(protocol_type="").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    driver.restart()
    assert driver.list() == {("g", "", "Empty", "classic")}


def test_g40_a_group_of_one_given_id_is_written_once(driver: Driver) -> None:
    assert driver.join(version=4).error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert driver.join(version=4).error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert len(driver.log) == 1


def test_g36_an_empty_consumer_group_gives_way(driver: Driver) -> None:
    driver.commit()
    driver.consumer_heartbeat()
    driver.consumer_heartbeat("m", -1)
    assert driver.join("known").error_code == UNKNOWN
    assert driver.list() == {("g", "consumer", "Empty", "consumer")}
    driver.stable_member()
    assert driver.list() == {("g", "consumer", "Stable", "classic")}
    assert driver.fetch() == {("t", 0): 5}
    driver.restart()
    assert driver.list() == {("g", "consumer", "Stable", "classic")}
    assert driver.fetch() == {("t", 0): 5}


def test_g36_one_without_offsets_even_gives_way_to_nothing(driver: Driver) -> None:
    """Measured: the member id is looked at when the group is gone."""
    driver.consumer_heartbeat()
    driver.consumer_heartbeat("m", -1)
    assert driver.join("known").error_code == UNKNOWN
    assert driver.list() == set()
    driver.restart()
    assert driver.list() == set()


def test_g51_sync_without_a_group(driver: Driver) -> None:
    assert driver.sync("m").error_code == UNKNOWN
    assert driver.sync("m", group_id="").error_code == ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize(("group_id", "expected"), [("g", 25), ("", 24), ("there", 0)])
def test_g54_heartbeat(driver: Driver, group_id: str, expected: int) -> None:
    member_id = driver.stable_member(group_id="there")
    request = messages.HeartbeatRequest(group_id=group_id, generation_id=1, member_id=member_id)
    response = driver.ask(driver.coordinator.members.heartbeat, request, 4, "there")
    assert response.error_code == expected


@pytest.mark.parametrize(("group_id", "expected"), [("g", 25), ("", 24), ("there", 0)])
def test_g55_leave(driver: Driver, group_id: str, expected: int) -> None:
    member_id = driver.stable_member(group_id="there")
    assert driver.leave(member_id, group_id=group_id) == expected


def test_g78_checked_without_a_group(driver: Driver) -> None:
    refused = driver.consumer_heartbeat(rebalance_timeout_ms=-1)
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert refused.error_message == "RebalanceTimeoutMs must be provided in first request."
    assert driver.list() == set()


@pytest.mark.parametrize(
    ("epoch", "text"),
    [(3, "Consumer group g not found."), (-1, "Group g not found."), (-2, "Group g not found.")],
)
def test_g80_who_has_an_epoch_needs_a_consumer_group(driver: Driver, epoch: int, text: str) -> None:
    instance = "i" if epoch == -2 else None
    refused = driver.consumer_heartbeat("m", epoch, instance_id=instance)
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert refused.error_message == text
    driver.commit()
    refused = driver.consumer_heartbeat("m", epoch, instance_id=instance)
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert refused.error_message == "Group g is not a consumer group."


def test_g80_an_empty_classic_group_gives_way(driver: Driver) -> None:
    driver.commit()
    given = driver.join(version=4).member_id
    assert driver.consumer_heartbeat().error_code == 0
    assert driver.fetch() == {("t", 0): 5}
    assert driver.list() == {("g", "consumer", "Stable", "consumer")}
    driver.restart()
    assert driver.list() == {("g", "consumer", "Stable", "consumer")}
    assert driver.fetch() == {("t", 0): 5}
    assert given


def test_g80_a_refused_first_member_changes_nothing(driver: Driver) -> None:
    driver.commit()
    refused = driver.consumer_heartbeat(subscribed_topic_regex="(")
    assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert driver.list() == {("g", "", "Empty", "classic")}
    refused = driver.consumer_heartbeat(group_id="h", subscribed_topic_regex="(")
    assert driver.list() == {("g", "", "Empty", "classic")}
    assert driver.coordinator.timers.next_deadline_ms() is None


def test_g106_a_group_of_another_kind_is_not_taken_over(driver: Driver) -> None:
    driver.stable_member(protocol_type="connect")
    refused = driver.consumer_heartbeat()
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert driver.list() == {("g", "connect", "Stable", "classic")}


# bytes that are no UTF-8 are read as three bytes each, so this fits into a request
ODD = "\ufffd" * 20_000


@pytest.mark.parametrize(
    "fields",
    [
        {"client_id": ODD},
        {"client_id": "x" * 32_760},
        {"group_instance_id": ODD},
        {"group_instance_id": "x" * 32_760},
        {"member_id": ODD},
        {"protocol_type": ODD},
        {"protocol": ODD},
    ],
    ids=lambda fields: "G-35 " + next(iter(fields)),
)
def test_joins_that_no_record_can_hold(driver: Driver, fields: dict[str, Any]) -> None:
    types = messages.JoinGroupRequest
    texts = {"client_id": "c", "protocol": "range", "protocol_type": "consumer", **fields}
    protocol = types.JoinGroupRequestProtocol(name=texts.pop("protocol"), metadata=b"")
    caller = Caller(9, texts.pop("client_id"), "/h", "token")
    request = types(group_id="g", session_timeout_ms=10_000, protocols=[protocol], **texts)
    effects = driver.coordinator.members.join(request, caller, driver.now_ms)
    ((_, response),) = effects.replies
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert messages.JoinGroupResponse.encode(response, 9)
    assert driver.list() == set()


@pytest.mark.parametrize("name", ["instance_id", "rack_id", "member_id", "subscribed_topic_names"])
def test_g78_heartbeats_that_no_record_can_hold(driver: Driver, name: str) -> None:
    value = [ODD] if name == "subscribed_topic_names" else ODD
    fields: dict[str, Any] = {"member_id": "m", name: value}
    response = driver.consumer_heartbeat(**fields)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert driver.list() == set()


def test_g78_messages_fit_into_the_response(driver: Driver) -> None:
    response = driver.consumer_heartbeat(server_assignor="x" * 32_760)
    assert response.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    response = driver.consumer_heartbeat(subscribed_topic_regex="(" + "x" * 32_000)
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_g75_subscriptions_that_no_record_can_hold(driver: Driver) -> None:
    """A topic's name of bytes that are no UTF-8."""
    name = b"\xff" * 20_000
    metadata = b"\0\0" + b"\0\0\0\1" + len(name).to_bytes(2) + name + b"\xff\xff\xff\xff"
    driver.consumer_heartbeat()
    assert driver.join(metadata=metadata).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    classic = driver.join(group_id="classic", metadata=metadata).member_id
    driver.sync(classic, group_id="classic", generation=1)
    refused = driver.consumer_heartbeat(group_id="classic")
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND

"""SyncGroup, Heartbeat and LeaveGroup (G-51 to G-56)."""

from typing import Any

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.coordinator.classic.classic_driver import (
    COMPLETING,
    EMPTY,
    PREPARING,
    SESSION_MS,
    STABLE,
    Driver,
    assign,
    stable,
)

NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
FENCED = ErrorCode.FENCED_INSTANCE_ID
ILLEGAL = ErrorCode.ILLEGAL_GENERATION
REBALANCING = ErrorCode.REBALANCE_IN_PROGRESS


def static() -> tuple[Driver, str]:
    """Return a stable group of one static member `i` and its id."""
    driver = Driver()
    member_id = driver.join(instance_id="i").member_id
    assign(driver)
    return driver, member_id


# SyncGroup


@pytest.mark.parametrize(
    ("changes", "error_code"),
    [
        pytest.param({"member_id": "x", "instance_id": None}, UNKNOWN, id="G-51-unknown"),
        pytest.param({"instance_id": "x"}, UNKNOWN, id="G-51-unknown-instance"),
        pytest.param({"member_id": "x", "instance_id": "i"}, FENCED, id="G-51-fenced"),
        pytest.param({"generation": 7}, ILLEGAL, id="G-51-generation"),
        pytest.param({"protocol_type": "x"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, id="G-51-type"),
        pytest.param({"protocol_name": "x"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, id="G-51-name"),
        pytest.param({"protocol_type": None, "protocol_name": None}, NONE, id="G-51-before-v5"),
    ],
)
def test_sync_checks(changes: dict[str, Any], error_code: ErrorCode) -> None:
    driver, member_id = static()
    answer = driver.sync(**{"member_id": member_id, "instance_id": "i", **changes})
    assert answer.error_code == error_code
    if error_code:
        assert answer == messages.SyncGroupResponse(error_code=error_code)  # G-53
    else:
        assert answer == messages.SyncGroupResponse(
            protocol_type="consumer", protocol_name="range", assignment=member_id.encode()
        )


def test_g52_leader_hands_out_what_it_decided() -> None:
    driver, (first, second) = stable(2)
    driver.join(first)
    driver.join(second)
    assert driver.group.state is COMPLETING
    token = driver.sync(second)
    assert token in driver.open
    written = len(driver.records)
    answer = driver.sync(first, {first: b"1", "nobody": b"x"})
    assert answer.assignment == b"1"
    assert driver.answers[token].assignment == b""  # not listed
    assert driver.group.state is STABLE
    assert len(driver.records) == written + 1
    loaded = driver.reload()
    assert {m.member_id: m.assignment for m in loaded.roster.members.values()} == {
        first: b"1",
        second: b"",
    }
    assert driver.sync(second).assignment == b""


def test_g52_rebalance_in_progress() -> None:
    driver, (first, second) = stable(2)
    driver.join(first)
    assert driver.group.state is PREPARING
    assert driver.sync(second).error_code == REBALANCING


# Heartbeat


@pytest.mark.parametrize(
    ("changes", "error_code"),
    [
        pytest.param({}, NONE, id="G-54-stable"),
        pytest.param({"member_id": "x"}, UNKNOWN, id="G-54-unknown"),
        pytest.param({"member_id": "x", "instance_id": "i"}, FENCED, id="G-54-fenced"),
        pytest.param({"instance_id": "x"}, UNKNOWN, id="G-54-unknown-instance"),
        pytest.param({"generation": 0}, ILLEGAL, id="G-54-generation"),
    ],
)
def test_heartbeat_checks(changes: dict[str, Any], error_code: ErrorCode) -> None:
    driver, member_id = static()
    driver.advance(1_000)
    assert driver.heartbeat(**{"member_id": member_id, **changes}) == error_code
    restarted = driver.deadline_in_ms("session", member_id) == SESSION_MS
    assert restarted is (error_code is NONE)


def test_g54_while_rebalancing() -> None:
    driver, (first, second) = stable(2)
    driver.join(first)
    driver.advance(1_000)
    assert driver.heartbeat(second) == REBALANCING
    assert driver.deadline_in_ms("session", second) == SESSION_MS
    driver.join(second)
    assert driver.group.state is COMPLETING
    driver.advance(1_000)
    assert driver.heartbeat(second) == NONE
    assert driver.deadline_in_ms("session", second) == SESSION_MS


def test_g54_empty_group() -> None:
    driver, (first,) = stable(1)
    driver.leave((first, None))
    assert driver.heartbeat(first) == UNKNOWN


# LeaveGroup


def test_g55_one_member_before_v3() -> None:
    driver, (first,) = stable(1)
    assert driver.leave(("x", None), version=2) == UNKNOWN
    assert driver.group.state is STABLE
    assert driver.leave((first, None), version=0) == NONE
    assert driver.group.state is EMPTY


def test_g56_several_members_and_one_rebalance() -> None:
    driver, (first, second, third) = stable(3)
    generation = driver.group.rebalance.generation
    token = driver.join(third, protocols=(("range", b"new"),))
    assert driver.leave((first, None), ("x", None), (second, None)) == [
        (first, None, NONE),
        ("x", None, UNKNOWN),
        (second, None, NONE),
    ]
    assert driver.answers[token].generation_id == generation + 1
    assert driver.group.roster.leader == third


@pytest.mark.parametrize(
    ("member_id", "instance_id", "error_code"),
    [
        pytest.param("", "i", NONE, id="G-56-by-instance"),
        pytest.param("i-u1", "i", NONE, id="G-56-both"),
        pytest.param("i-u1", None, NONE, id="G-56-by-member"),
        pytest.param("", "x", UNKNOWN, id="G-56-unknown-instance"),
        pytest.param("", None, UNKNOWN, id="G-56-nobody"),
        pytest.param("i-u1", "x", UNKNOWN, id="G-56-member-with-unknown-instance"),
        pytest.param("x", "i", FENCED, id="G-56-fenced"),
    ],
)
def test_leave_of_static_members(
    member_id: str, instance_id: str | None, error_code: ErrorCode
) -> None:
    driver, _ = static()
    assert driver.leave((member_id, instance_id)) == [(member_id, instance_id, error_code)]
    assert driver.group.state is (STABLE if error_code else EMPTY)
    assert bool(driver.group.roster.static_members) is bool(error_code)


def test_g56_pending_id() -> None:
    driver = Driver()
    pending = driver.join().member_id
    assert driver.leave((pending, None)) == [(pending, None, NONE)]
    assert driver.group.roster.pending_members == set()
    assert driver.group.state is EMPTY
    assert len(driver.timers) == 0


def test_g47_member_that_waits_and_is_removed_is_told() -> None:
    driver, (first, second) = stable(2)
    driver.join(first)
    driver.join(second)
    sync = driver.sync(second)
    driver.leave((second, None))
    assert driver.answers[sync].error_code == UNKNOWN
    assert driver.group.state is PREPARING
    join = driver.join(first)
    assert join.generation_id == 4

"""SyncGroup, Heartbeat, LeaveGroup, commits and the rest (G-51 to G-57, G-62, G-103)."""

from typing import Any

import pytest

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.member import ClassicGroupState
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.timers import Timers
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
    assert {m.member_id: m.assignment for m in loaded.members.values()} == {
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
    generation = driver.group.generation
    token = driver.join(third, protocols=(("range", b"new"),))
    assert driver.leave((first, None), ("x", None), (second, None)) == [
        (first, None, NONE),
        ("x", None, UNKNOWN),
        (second, None, NONE),
    ]
    assert driver.answers[token].generation_id == generation + 1
    assert driver.group.leader == third


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
    assert bool(driver.group.static_members) is bool(error_code)


def test_g56_pending_id() -> None:
    driver = Driver()
    pending = driver.join().member_id
    assert driver.leave((pending, None)) == [(pending, None, NONE)]
    assert driver.group.pending_members == set()
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


# commits


def commit(driver: Driver, **changes: Any) -> ErrorCode | None:
    arguments = {
        "member_id": "",
        "instance_id": None,
        "generation": -1,
        "version": 8,
        "is_transactional": False,
        **changes,
    }
    return driver.group.check_commit(**arguments)


def test_g62_empty_group_takes_commits_without_generation() -> None:
    driver = Driver()
    assert commit(driver) is None
    assert commit(driver, member_id="anybody") is None
    assert commit(driver, generation=0) == UNKNOWN
    assert commit(driver, generation=0, is_transactional=True) == UNKNOWN  # T-41


@pytest.mark.parametrize("transactional", [False, True], ids=["G-62", "T-41"])
def test_commits_to_a_group_with_members(*, transactional: bool) -> None:
    driver, member_id = static()
    good = {
        "member_id": member_id,
        "instance_id": "i",
        "generation": 1,
        "is_transactional": transactional,
    }
    assert commit(driver, **good) is None
    assert commit(driver, **{**good, "member_id": "x"}) == FENCED
    assert commit(driver, **{**good, "instance_id": "x"}) == UNKNOWN
    assert commit(driver, **{**good, "generation": 2}) == ILLEGAL
    assert commit(driver, **{**good, "generation": -1}) == ILLEGAL
    nobody = commit(driver, is_transactional=transactional)
    assert nobody == (None if transactional else UNKNOWN)
    driver.join(member_id, instance_id="i")
    assert driver.group.state is COMPLETING
    good["generation"] = 2
    assert commit(driver, **good) == (None if transactional else REBALANCING)


def test_g62_commits_while_members_join() -> None:
    driver, (first, second) = stable(2)
    driver.join(first)
    assert driver.group.state is PREPARING
    assert commit(driver, member_id=second, generation=2) is None


def test_g30_commit_is_a_sign_of_life() -> None:
    driver, (first, second) = stable(2)
    driver.advance(1_000)
    driver.group.restart_session(second, driver.now_ms)
    assert driver.deadline_in_ms("session", second) == SESSION_MS
    driver.group.restart_session("", driver.now_ms)
    assert len(driver.timers) == 2
    driver.join(first)
    driver.join(second)
    driver.advance(1_000)
    driver.group.restart_session(second, driver.now_ms)  # not in CompletingRebalance
    assert driver.deadline_in_ms("session", second) == SESSION_MS - 1_000


# administration


def test_g103_stable_group_shows_protocol_and_assignments() -> None:
    driver, member_id = static()
    described = driver.group.describe()
    assert described == messages.DescribeGroupsResponse.DescribedGroup(
        group_id="g",
        group_state="Stable",
        protocol_type="consumer",
        protocol_data="range",
        members=[
            messages.DescribeGroupsResponse.DescribedGroupMember(
                member_id=member_id,
                group_instance_id="i",
                client_id="c",
                client_host="/127.0.0.1",
                member_metadata=b"r",
                member_assignment=member_id.encode(),
            )
        ],
    )


def test_g103_other_states_show_who_is_there() -> None:
    driver = Driver()
    described = driver.group.describe()
    assert (described.group_state, described.protocol_type) == ("Empty", "")
    driver.enter()
    described = driver.group.describe()
    assert (described.group_state, described.protocol_data) == ("CompletingRebalance", "")
    assert [(m.client_id, m.member_metadata) for m in described.members] == [("c", b"")]
    driver, (first, second) = stable(2)
    driver.join(first)
    described = driver.group.describe()
    assert [(m.member_metadata, m.member_assignment) for m in described.members] == [
        (b"", first.encode()),  # that of before, as in Kafka 4.3.1
        (b"", second.encode()),
    ]


def test_dismissed_group_leaves_nothing_behind() -> None:
    driver, (first, second) = stable(2)
    pending = driver.join().member_id
    join = driver.join(first)
    assert driver.deadline_in_ms("session", pending) == SESSION_MS
    effects = Effects()
    driver.group.dismiss(ErrorCode.NOT_COORDINATOR, effects)
    driver.take(effects)
    assert driver.answers[join].error_code == ErrorCode.NOT_COORDINATOR
    assert driver.answers[join].member_id == first
    assert len(driver.timers) == 0
    assert driver.group.state is ClassicGroupState.DEAD
    assert second in driver.group.members


# the state log


def test_g37_group_that_was_only_made() -> None:
    driver = Driver()
    driver.group.write_created(effects := Effects())
    driver.take(effects)
    loaded = driver.reload()
    assert (loaded.state, loaded.generation, loaded.protocol_type) == (EMPTY, 0, None)
    assert loaded.state_changed_ms == driver.now_ms


def test_group_is_what_its_record_says() -> None:
    driver, (first, second) = stable(2)
    loaded = driver.reload()
    assert (loaded.state, loaded.generation, loaded.leader) == (STABLE, 2, first)
    assert (loaded.protocol_type, loaded.protocol_name) == ("consumer", "range")
    member = loaded.members[second]
    assert (member.client_id, member.protocols) == ("c1", [("range", b"r")])
    assert member.assignment == second.encode()


def test_g30_sessions_start_anew_after_a_replay() -> None:
    driver, (first, second) = stable(2)
    loaded = driver.reload()
    for member_id in (first, second):
        driver.timers.cancel(("g", "session", member_id))
    driver.now_ms += 10**6
    loaded.loaded(Effects(), driver.now_ms)
    assert driver.deadline_in_ms("session", first) == SESSION_MS
    assert driver.deadline_in_ms("session", second) == SESSION_MS


def test_g38_group_that_is_too_large_by_now_rebalances_after_a_replay() -> None:
    driver, _ = stable(2)
    value = driver.records[-1].value
    assert value is not None
    settings = GroupSettings(classic_size_max=1)
    group = ClassicGroup.from_record("g", value, Timers(), settings, driver.make_uuid)
    group.loaded(Effects(), driver.now_ms)
    assert group.state is PREPARING


def test_leader_that_is_no_member_is_not_taken_over() -> None:
    driver, (first, _) = stable(2)
    driver.group.leader = "nobody"
    driver.group.write(effects := Effects())
    driver.take(effects)
    assert driver.reload().leader == first


def test_tombstone_removes_the_group() -> None:
    driver, _ = stable(1)
    driver.group.write_tombstone(effects := Effects())
    assert effects.records[0].key == driver.records[0].key
    assert effects.records[0].value is None

"""JoinGroup to a classic group (G-37 to G-50)."""

from typing import Any

import pytest

from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.coordinator.classic.classic_driver import (
    COMPLETING,
    EMPTY,
    PREPARING,
    RANGE,
    REBALANCE_MS,
    SESSION_MS,
    STABLE,
    Driver,
    assign,
    stable,
)

BOTH = (("range", b"r"), ("roundrobin", b"rr"))


def member_ids(response: Any) -> list[str]:
    return [member.member_id for member in response.members]


def test_g40_dynamic_member_has_to_come_back_with_an_id_since_v4() -> None:
    driver = Driver()
    refused = driver.join(version=4, client_id="me")
    assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert refused.member_id == "me-u1"
    assert (refused.generation_id, refused.leader, refused.members) == (-1, "", [])
    assert driver.group.roster.pending_members == {"me-u1"}
    assert driver.group.state is EMPTY
    assert driver.deadline_in_ms("session", "me-u1") == SESSION_MS
    joined = driver.join("me-u1", version=4)
    assert joined.error_code == ErrorCode.NONE  # G-41
    assert driver.group.roster.pending_members == set()


@pytest.mark.parametrize(
    ("version", "instance_id", "member_id"),
    [
        pytest.param(0, None, "c-u1", id="G-40-v0"),
        pytest.param(3, None, "c-u1", id="G-40-v3"),
        pytest.param(5, "i", "i-u1", id="G-40-static"),
    ],
)
def test_g40_old_or_static_members_are_taken_at_once(
    version: int, instance_id: str | None, member_id: str
) -> None:
    driver = Driver()
    joined = driver.join(version=version, instance_id=instance_id)
    assert (joined.error_code, joined.member_id) == (0, member_id)
    assert driver.group.roster.members[member_id].instance_id == instance_id


def test_g41_pending_id_is_not_a_static_members() -> None:
    driver = Driver()
    pending = driver.join().member_id
    refused = driver.join(pending, instance_id="i")
    assert refused.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert refused.member_id == ""
    assert driver.group.roster.pending_members == {pending}


def test_g43_g48_first_member_leads_and_gets_the_members() -> None:
    driver = Driver()
    member_id, joined = driver.enter(protocols=BOTH)
    assert joined == messages.JoinGroupResponse(
        generation_id=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=member_id,
        member_id=member_id,
        members=[
            messages.JoinGroupResponse.JoinGroupResponseMember(member_id=member_id, metadata=b"r")
        ],
    )
    member = driver.group.roster.members[member_id]
    assert (member.client_id, member.client_host) == ("c", "/127.0.0.1")
    assert not member.is_new
    assert driver.group.state is COMPLETING
    assert driver.deadline_in_ms("session", member_id) == SESSION_MS  # G-45, G-30
    assert driver.deadline_in_ms("sync") == REBALANCE_MS  # G-45, G-34


def test_g48_followers_do_not_get_the_members() -> None:
    driver, (first,) = stable(1)
    second, token = driver.enter()
    assert token in driver.open
    leader = driver.join(first)
    follower = driver.answers[token]
    assert member_ids(leader) == [first, second]
    assert (follower.members, follower.leader, follower.generation_id) == ([], first, 2)


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [
        pytest.param("", RANGE, id="G-39-no-type"),
        pytest.param("consumer", (), id="G-39-no-protocols"),
    ],
)
def test_g39_first_member_needs_type_and_protocols(protocol_type: str, protocols: Any) -> None:
    driver = Driver()
    refused = driver.join(protocol_type=protocol_type, protocols=protocols)
    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert (refused.member_id, refused.protocol_name) == ("", None)
    assert driver.group.state is EMPTY


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [
        pytest.param("connect", RANGE, id="G-39-other-type"),
        pytest.param("consumer", (("sticky", b""),), id="G-39-unknown-protocol"),
        pytest.param("consumer", (), id="G-39-none"),
    ],
)
def test_g39_everybody_knows_one_protocol(protocol_type: str, protocols: Any) -> None:
    driver, (first,) = stable(1)
    new = driver.join(protocol_type=protocol_type, protocols=protocols)
    assert (new.error_code, new.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    known = driver.join(first, protocol_type=protocol_type, protocols=protocols)
    assert (known.error_code, known.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, first)
    assert driver.group.state is STABLE


@pytest.mark.parametrize(
    ("member_id", "instance_id", "error_code"),
    [
        pytest.param("nobody", None, ErrorCode.UNKNOWN_MEMBER_ID, id="G-42-unknown"),
        pytest.param("i-u1", "other", ErrorCode.UNKNOWN_MEMBER_ID, id="G-42-unknown-instance"),
        pytest.param("nobody", "i", ErrorCode.FENCED_INSTANCE_ID, id="G-42-fenced"),
    ],
)
def test_g42_who_says_to_be_a_member(
    member_id: str, instance_id: str, error_code: ErrorCode
) -> None:
    driver = Driver()
    driver.join(instance_id="i")
    refused = driver.join(member_id, instance_id=instance_id)
    assert (refused.error_code, refused.member_id) == (error_code, member_id)


def test_g42_nobody_is_known_in_an_empty_group() -> None:
    driver, (first,) = stable(1)
    driver.leave((first, None))
    assert driver.group.state is EMPTY
    assert driver.join(first).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_g42_lost_answer_is_given_again() -> None:
    driver = Driver()
    first, joined = driver.enter()
    assert driver.group.state is COMPLETING
    assert driver.join(first) == joined
    assert driver.group.rebalance.generation == 1


def test_g42_lost_answer_of_a_follower_has_no_members() -> None:
    driver, (first,) = stable(1)
    second, _ = driver.enter()
    driver.join(first)
    again = driver.join(second)
    assert (again.generation_id, again.members, again.leader) == (2, [], first)
    assert driver.group.state is COMPLETING


def test_g42_change_in_completing_rebalance_starts_another() -> None:
    driver, (first,) = stable(1)
    second, _ = driver.enter()
    driver.join(first)
    waiting = driver.sync(second)
    assert driver.group.state is COMPLETING
    changed = driver.join(first, protocols=(("range", b"new"),))
    assert driver.group.state is PREPARING
    assert driver.answers[waiting].error_code == ErrorCode.REBALANCE_IN_PROGRESS  # G-44
    assert driver.answers[waiting].assignment == b""
    assert changed in driver.open
    driver.join(second)
    assert driver.answers[changed].members[0].metadata == b"new"


def test_g42_stable_leader_starts_a_rebalance_whatever_it_sends() -> None:
    driver, (first, second) = stable(2)
    token = driver.join(first)
    assert driver.group.state is PREPARING
    driver.join(second)
    assert driver.answers[token].generation_id == 3


def test_g42_stable_follower_that_did_not_change_is_answered_at_once() -> None:
    driver, (first, second) = stable(2)
    answer = driver.join(second)
    assert (answer.error_code, answer.generation_id) == (0, driver.group.rebalance.generation)
    assert (answer.members, answer.leader) == ([], first)
    assert driver.group.state is STABLE


def test_g42_stable_follower_that_changed_starts_a_rebalance() -> None:
    driver, (_, second) = stable(2)
    token = driver.join(second, protocols=(("range", b"new"),), session_ms=7_000)
    assert token in driver.open
    assert driver.group.state is PREPARING
    assert driver.group.roster.members[second].session_timeout_ms == 7_000


def test_g42_join_that_is_sent_twice_in_preparing_is_answered_twice() -> None:
    driver, (first, second) = stable(2)
    earlier = driver.join(second, protocols=(("range", b"new"),))
    later = driver.join(second, protocols=(("range", b"new"),))
    assert driver.answers[earlier].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.group.rebalance.joins_parked == 1
    driver.join(first)
    assert driver.answers[later].error_code == ErrorCode.NONE


def test_g50_v0_has_no_rebalance_timeout() -> None:
    driver = Driver()
    joined = driver.join(version=0, session_ms=8_000)
    assert driver.group.roster.members[joined.member_id].rebalance_timeout_ms == 8_000
    assert driver.deadline_in_ms("sync") == 8_000


# size


def test_g38_empty_group_takes_a_member_whatever_the_size() -> None:
    driver = Driver(classic_size_max=1)
    assert driver.join(version=3).error_code == ErrorCode.NONE


def test_g38_full_group_refuses_new_members_and_keeps_its_own() -> None:
    driver, (first,) = stable(1, classic_size_max=1)
    refused = driver.join()
    assert (refused.error_code, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert driver.join(first).error_code == ErrorCode.NONE


def test_g38_pending_id_is_forgotten_when_the_group_is_full() -> None:
    driver = Driver(classic_size_max=1)
    pending = [driver.join().member_id for _ in range(2)]
    driver.join(pending[0])
    # nobody is in the way of the first any more once the second is refused
    assert driver.join(pending[1]).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert driver.group.roster.pending_members == set()
    assert driver.deadline_in_ms("session", pending[1]) is None


def test_g38_last_ones_to_rejoin_are_left_out() -> None:
    driver, (first, second, third) = stable(3)
    group = driver.group
    group.settings = GroupSettings(classic_size_max=2)
    driver.join(first)
    parked = driver.join(second)
    assert driver.join(second, protocols=RANGE) not in driver.answers  # parked ones may repeat
    assert parked in driver.answers
    assert driver.join(third).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert list(group.roster.members) == [first, second]


# static members


def static_group(size: int = 2, **join: Any) -> tuple[Driver, list[str]]:
    driver = Driver()
    members: list[str] = []
    for number in range(size):
        token = driver.join(instance_id=f"i{number}", **join)
        for position, other in enumerate(members):
            driver.join(other, instance_id=f"i{position}", **join)
        answer = driver.answers[token] if isinstance(token, int) else token
        members.append(answer.member_id)
    assign(driver)
    return driver, members


def test_g49_static_follower_comes_back_without_a_rebalance() -> None:
    driver, (leader, old) = static_group()
    written = len(driver.records)
    answer = driver.join(instance_id="i1", session_ms=9_000)
    assert driver.group.state is STABLE
    assert answer.error_code == ErrorCode.NONE
    assert answer.member_id not in (leader, old)
    assert (answer.generation_id, answer.leader) == (driver.group.rebalance.generation, leader)
    assert (answer.members, answer.skip_assignment) == ([], False)
    assert list(driver.group.roster.members) == [leader, answer.member_id]
    member = driver.group.roster.members[answer.member_id]
    assert member.assignment == old.encode()
    assert member.session_timeout_ms == 9_000
    assert len(driver.records) == written + 1
    assert driver.deadline_in_ms("session", old) is None
    assert driver.deadline_in_ms("session", answer.member_id) == SESSION_MS
    assert driver.heartbeat(old, instance_id="i1") == ErrorCode.FENCED_INSTANCE_ID


def test_g49_static_member_comes_back_before_it_fetched_its_assignment() -> None:
    driver, (leader, follower) = static_group()
    driver.join(leader, instance_id="i0")
    driver.join(follower, instance_id="i1")
    driver.sync(leader, {follower: b"f"}, instance_id="i0")
    assert driver.group.rebalance.pending_syncs == {follower}
    again = driver.join(instance_id="i1").member_id
    assert driver.group.rebalance.pending_syncs == {again}
    assert driver.sync(again, instance_id="i1").assignment == b"f"
    assert driver.deadline_in_ms("sync") is None
    assert driver.group.state is STABLE


def test_g49_static_leader_is_told_not_to_assign_since_v9() -> None:
    driver, (_, follower) = static_group()
    answer = driver.join(instance_id="i0", version=9)
    assert driver.group.state is STABLE
    assert answer.leader == answer.member_id == driver.group.roster.leader
    assert answer.skip_assignment
    assert sorted(member_ids(answer)) == sorted([answer.member_id, follower])
    assert driver.reload().roster.leader == answer.member_id


def test_g49_static_leader_is_told_the_old_leader_before_v9() -> None:
    driver, (old, _) = static_group()
    answer = driver.join(instance_id="i0", version=8)
    assert driver.group.roster.leader == answer.member_id
    assert (answer.leader, answer.members, answer.skip_assignment) == (old, [], False)


def test_g49_other_protocol_of_a_static_member_starts_a_rebalance() -> None:
    driver, _ = static_group(protocols=BOTH)
    token = driver.join(instance_id="i1", protocols=(("roundrobin", b"rr"),))
    assert driver.group.state is PREPARING
    assert token in driver.open


def test_g49_static_member_in_completing_rebalance_starts_another() -> None:
    driver, (leader, follower) = static_group()
    driver.join(leader, instance_id="i0")
    driver.join(follower, instance_id="i1")
    assert driver.group.state is COMPLETING
    waiting = driver.sync(follower, instance_id="i1")
    token = driver.join(instance_id="i1")
    assert driver.answers[waiting].error_code == ErrorCode.FENCED_INSTANCE_ID
    assert driver.group.state is PREPARING
    assert token in driver.open


def test_g49_parked_join_of_the_old_id_is_fenced() -> None:
    driver, (leader, follower) = static_group()
    waiting = driver.join(follower, instance_id="i1", protocols=(("range", b"new"),))
    assert driver.group.state is PREPARING
    token = driver.join(instance_id="i1")
    fenced = driver.answers[waiting]
    assert (fenced.error_code, fenced.member_id) == (ErrorCode.FENCED_INSTANCE_ID, follower)
    assert (fenced.leader, fenced.protocol_name) == ("", None)
    driver.join(leader, instance_id="i0")
    assert driver.answers[token].error_code == ErrorCode.NONE
    assert driver.group.state is COMPLETING


def test_g49_static_member_may_come_back_before_its_first_answer() -> None:
    driver = Driver(initial_rebalance_delay_ms=3_000)
    waiting = driver.join(instance_id="i")
    token = driver.join(instance_id="i")
    assert driver.answers[waiting].error_code == ErrorCode.FENCED_INSTANCE_ID
    driver.advance(3_000)
    assert driver.answers[token].generation_id == 1

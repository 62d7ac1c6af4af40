"""Phases and timers of a classic group (G-25 to G-34, G-43 to G-47, G-52)."""

import pytest

from broker_lite.coordinator.classic.group import ClassicGroup
from broker_lite.coordinator.classic.phases import loaded
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.timers import Timers
from broker_lite.errors import ErrorCode
from tests.coordinator.classic.classic_driver import (
    COMPLETING,
    EMPTY,
    PREPARING,
    REBALANCE_MS,
    SESSION_MS,
    STABLE,
    Driver,
    assign,
    stable,
)

NEW_MEMBER_MS = 300_000


# the initial delay


def test_g44_first_rebalance_waits_for_more_members() -> None:
    driver = Driver(initial_rebalance_delay_ms=3_000)
    _, first = driver.enter()
    _, second = driver.enter()
    assert driver.group.state is PREPARING
    assert driver.deadline_in_ms("join") == 3_000
    driver.advance(2_999)
    assert driver.answers.get(first) is None
    driver.advance(1)  # somebody came meanwhile: once more
    assert driver.deadline_in_ms("join") == 3_000
    driver.advance(3_000)
    assert driver.group.state is COMPLETING
    assert {driver.answers[token].generation_id for token in (first, second)} == {1}


def test_g44_first_rebalance_ends_after_the_delay_if_nobody_came() -> None:
    driver = Driver(initial_rebalance_delay_ms=3_000)
    _, token = driver.enter()
    driver.advance(3_000)
    assert driver.answers[token].generation_id == 1


def test_g44_first_rebalance_waits_no_longer_than_the_rebalance_timeout() -> None:
    driver = Driver(initial_rebalance_delay_ms=3_000)
    _, token = driver.enter(rebalance_ms=5_000)
    driver.enter(rebalance_ms=5_000)
    driver.advance(3_000)
    driver.enter(rebalance_ms=5_000)
    assert driver.deadline_in_ms("join") == 2_000  # of 5 s
    driver.advance(2_000)
    assert driver.answers[token].generation_id == 1
    assert len(driver.group.roster.members) == 3


def test_g44_rebalance_timeout_shorter_than_the_delay() -> None:
    driver = Driver(initial_rebalance_delay_ms=3_000)
    _, token = driver.enter(rebalance_ms=1_000)
    driver.enter(rebalance_ms=1_000)
    driver.advance(3_000)
    assert driver.answers[token].generation_id == 1


def test_g47_leaving_within_the_delay_does_not_end_it() -> None:
    driver = Driver(initial_rebalance_delay_ms=3_000)
    first, token = driver.enter()
    assert driver.leave((first, None))[0][2] == ErrorCode.NONE
    assert driver.answers[token].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.group.state is PREPARING
    driver.advance(3_000)
    assert driver.group.state is EMPTY
    assert driver.group.rebalance.generation == 1
    assert driver.reload().rebalance.generation == 1


def test_g32_pending_id_that_ends_within_the_delay_ends_it() -> None:
    driver = Driver(initial_rebalance_delay_ms=30_000)
    driver.join()
    _, token = driver.enter()
    driver.advance(SESSION_MS)
    assert driver.answers[token].generation_id == 1
    assert driver.deadline_in_ms("join") is None


# the join phase


def test_g33_rebalance_waits_for_the_longest_rebalance_timeout() -> None:
    driver, (first, second) = stable(2)
    driver.group.roster.members[second].rebalance_timeout_ms = 90_000
    token = driver.join(first)
    assert driver.deadline_in_ms("join") == 90_000
    for _ in range(17):
        driver.advance(5_000)
        assert driver.heartbeat(second) == ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.group.state is PREPARING
    driver.advance(5_000)
    assert driver.answers[token].generation_id == 3
    assert list(driver.group.roster.members) == [first]  # G-45: who did not come is out
    assert driver.deadline_in_ms("session", second) is None


def test_g45_first_that_joined_leads_when_the_leader_is_missing() -> None:
    driver, (first, second, third) = stable(3)
    driver.join(second, protocols=(("range", b"new"),))
    driver.join(third)
    for _ in range(12):
        driver.heartbeat(first)
        driver.advance(REBALANCE_MS // 12)
    assert driver.group.roster.leader == second
    assert list(driver.group.roster.members) == [second, third]
    assert driver.group.state is COMPLETING


def test_g45_static_members_stay_although_they_are_missing() -> None:
    driver = Driver()
    old = driver.join(instance_id="i", session_ms=200_000).member_id
    assign(driver)
    _, token = driver.enter()
    driver.advance(REBALANCE_MS)
    answer = driver.answers[token]
    assert answer.leader == answer.member_id
    assert [member.group_instance_id for member in answer.members] == ["i", None]
    assert old in driver.group.rebalance.pending_syncs


def test_g45_nobody_joined_but_static_members_remain() -> None:
    driver = Driver()
    static = driver.join(instance_id="i", session_ms=200_000).member_id
    assign(driver)
    dynamic, _ = driver.enter()
    driver.leave((dynamic, None))
    assert driver.group.state is PREPARING
    driver.advance(REBALANCE_MS)
    assert driver.group.state is PREPARING
    assert driver.deadline_in_ms("join") == REBALANCE_MS
    assert driver.join(static, instance_id="i").generation_id == 2


@pytest.mark.parametrize("rebalance_ms", [0, -1, -(2**31)])
def test_g45_missing_members_without_any_timeout_do_not_keep_the_timers_busy(
    rebalance_ms: int,
) -> None:
    driver = Driver()
    first = driver.join(instance_id="i", rebalance_ms=rebalance_ms).member_id
    second = driver.join(instance_id="j", rebalance_ms=rebalance_ms)
    driver.join(first, instance_id="i", rebalance_ms=rebalance_ms)
    assign(driver)
    second = driver.answers[second].member_id
    driver.leave((second, "j"))
    driver.advance(1)
    assert driver.group.state is PREPARING
    deadline_ms = driver.timers.next_deadline_ms()
    assert deadline_ms is not None
    assert deadline_ms > driver.now_ms
    driver.advance(SESSION_MS)
    assert driver.group.state is EMPTY


def test_g45_everyone_joined_but_an_id_is_still_to_come() -> None:
    driver, (first,) = stable(1)
    pending = driver.join().member_id
    token = driver.join(first)
    assert driver.group.state is PREPARING
    driver.join(pending)
    assert driver.answers[token].generation_id == 2
    assert len(driver.answers[token].members) == 2


def test_g32_id_that_was_not_used_is_forgotten() -> None:
    driver, (first,) = stable(1)
    driver.join()
    driver.advance(SESSION_MS // 2)
    token = driver.join(first)
    driver.advance(SESSION_MS // 2)
    assert driver.answers[token].generation_id == 2
    assert driver.group.roster.pending_members == set()


def test_g32_id_that_was_not_used_does_not_touch_a_stable_group() -> None:
    driver, (first,) = stable(1)
    driver.join()
    for _ in range(2):
        driver.advance(SESSION_MS // 2)
        driver.heartbeat(first)
    assert driver.group.state is STABLE
    assert driver.group.roster.pending_members == set()


def test_g46_protocol_with_the_most_votes_that_everybody_knows() -> None:
    driver = Driver(initial_rebalance_delay_ms=10)
    for names in (("a", "b", "c"), ("c", "b"), ("x", "b", "c"), ("c", "b", "y")):
        driver.enter(protocols=[(name, name.encode()) for name in names])
    driver.advance(20)
    # two of four vote for each of b and c, which all know: the first vote was for b
    assert driver.group.protocol_name == "b"


# sessions


def test_g30_member_without_a_sign_of_life_is_removed() -> None:
    driver, (first, second) = stable(2)
    driver.advance(SESSION_MS - 1)
    assert driver.heartbeat(first) == ErrorCode.NONE
    assert second in driver.group.roster.members  # G-120: never before its timeout
    driver.advance(1)
    assert list(driver.group.roster.members) == [first]
    assert driver.group.state is PREPARING
    assert driver.heartbeat(second) == ErrorCode.UNKNOWN_MEMBER_ID


def test_g47_next_member_leads_when_the_leader_goes() -> None:
    driver, (_, second) = stable(2)
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(second)
    driver.advance(1)
    assert driver.group.roster.leader == second


def test_g47_last_member_gone_leaves_an_empty_group() -> None:
    driver, _ = stable(1)
    driver.advance(SESSION_MS)
    group = driver.group
    assert (group.state, group.rebalance.generation, group.roster.leader) == (EMPTY, 2, None)
    assert (group.protocol_type, group.protocol_name) == ("consumer", None)
    assert driver.reload().state is EMPTY
    assert driver.reload().rebalance.state_changed_ms == driver.now_ms


def test_g30_member_that_waits_is_not_removed() -> None:
    driver, (first, second) = stable(2)
    token = driver.join(first)
    for _ in range(5):
        driver.heartbeat(second)
        driver.advance(SESSION_MS - 1)
    assert token in driver.open
    driver.join(second)
    assert driver.answers[token].error_code == ErrorCode.NONE
    # and its session starts with the answer
    assert driver.deadline_in_ms("session", first) == SESSION_MS


def test_g30_member_that_waits_in_sync_is_not_removed() -> None:
    driver = Driver()
    first, _ = driver.enter()
    driver.sync(first, {first: b"1"})
    second, _ = driver.enter()
    driver.join(first)
    token = driver.sync(second)
    for _ in range(3):
        driver.advance(SESSION_MS - 1)
        driver.heartbeat(first)
    assert token in driver.open
    driver.sync(first, {second: b"2"})
    assert driver.answers[token].assignment == b"2"
    assert driver.deadline_in_ms("session", second) == SESSION_MS


def test_g04_g31_first_join_is_held_for_five_minutes() -> None:
    driver, (first,) = stable(1)
    driver.group.roster.members[first].rebalance_timeout_ms = 10**9
    second, token = driver.enter()
    assert driver.deadline_in_ms("session", second) == NEW_MEMBER_MS
    while driver.now_ms < 1_000_000 + NEW_MEMBER_MS - SESSION_MS:
        driver.heartbeat(first)
        driver.advance(5_000)
    driver.heartbeat(first)
    driver.advance(SESSION_MS - 1)
    driver.heartbeat(first)
    driver.advance(1)
    assert driver.answers[token].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.answers[token].member_id == ""
    assert list(driver.group.roster.members) == [first]


def test_g47_rebalance_ends_when_the_only_missing_member_goes() -> None:
    driver, (first, second) = stable(2)
    token = driver.join(first)
    driver.advance(SESSION_MS)
    assert second not in driver.group.roster.members
    assert driver.answers[token].generation_id == 3


# the sync phase


def test_g34_members_that_do_not_sync_are_removed() -> None:
    driver, (first, second) = stable(2)
    driver.join(first)
    driver.join(second, protocols=(("range", b"new"),))
    assert driver.group.state is COMPLETING
    driver.sync(first, {})  # the leader: the group is stable, one is missing
    assert driver.group.state is STABLE
    for _ in range(12):
        driver.heartbeat(first)
        driver.heartbeat(second)
        driver.advance(REBALANCE_MS // 12)
    assert list(driver.group.roster.members) == [first]
    assert driver.group.state is PREPARING


def test_g34_leader_that_does_not_sync_is_removed() -> None:
    driver, (first, second) = stable(2)
    driver.join(first)
    driver.join(second)
    token = driver.sync(second)
    for _ in range(12):
        driver.heartbeat(first)
        driver.advance(REBALANCE_MS // 12)
    assert driver.answers[token].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.group.roster.leader == second


def test_g34_timer_ends_when_all_have_synced() -> None:
    driver, (first, second) = stable(2)
    assert driver.deadline_in_ms("sync") is None
    driver.join(first)
    driver.join(second)
    driver.sync(first)
    assert driver.deadline_in_ms("sync") == REBALANCE_MS
    driver.sync(second)  # stable already: answered at once
    assert driver.deadline_in_ms("sync") is None


def test_g34_nobody_syncs() -> None:
    driver, (first,) = stable(1)
    driver.join(first, session_ms=200_000)
    driver.advance(REBALANCE_MS)
    assert driver.group.state is EMPTY
    assert driver.group.roster.members == {}


def test_g52_second_sync_answers_the_first() -> None:
    driver, (first, second) = stable(2)
    driver.join(first)
    driver.join(second)
    earlier = driver.sync(second)
    later = driver.sync(second)
    assert driver.answers[earlier].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    driver.sync(first, {second: b"x"})
    assert driver.answers[later].assignment == b"x"


def test_g44_rebalance_takes_back_the_assignments_of_one_that_did_not_end() -> None:
    driver, (first, second) = stable(2)
    assert driver.group.roster.members[second].assignment == second.encode()
    driver.join(first)
    driver.join(second)
    driver.join(second, protocols=(("range", b"new"),))
    assert driver.group.state is PREPARING
    assert {member.assignment for member in driver.group.roster.members.values()} == {b""}


@pytest.mark.parametrize("size", [pytest.param(500, id="G-43-500-members")])
def test_large_group_settles(size: int) -> None:
    driver = Driver()
    pending = [driver.join().member_id for _ in range(size)]
    tokens = {member: driver.join(member) for member in pending}
    first = next(iter(driver.group.roster.members))
    driver.join(first)
    assert driver.group.rebalance.generation == 2
    assert len(driver.group.roster.members) == size
    for member in pending[1:]:
        assert driver.answers[tokens[member]].generation_id == 2
        driver.sync(member)
    driver.sync(first, dict.fromkeys(pending, b"a"))
    assert driver.group.state is STABLE
    assert driver.open == set()
    for member in pending:
        assert driver.heartbeat(member) == ErrorCode.NONE


def test_g30_sessions_start_anew_after_a_replay() -> None:
    driver, (first, second) = stable(2)
    group = driver.reload()
    for member_id in (first, second):
        driver.timers.cancel(("g", "session", member_id))
    driver.now_ms += 10**6
    loaded(group, Effects(), driver.now_ms)
    assert driver.deadline_in_ms("session", first) == SESSION_MS
    assert driver.deadline_in_ms("session", second) == SESSION_MS


def test_g38_group_that_is_too_large_by_now_rebalances_after_a_replay() -> None:
    driver, _ = stable(2)
    value = driver.records[-1].value
    assert value is not None
    settings = GroupSettings(classic_size_max=1)
    group = ClassicGroup.from_record("g", value, Timers(), settings, driver.make_uuid)
    loaded(group, Effects(), driver.now_ms)
    assert group.state is PREPARING

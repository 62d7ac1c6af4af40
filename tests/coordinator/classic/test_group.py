"""What a classic group says, of itself and to its members (G-57, G-62, G-75, G-103)."""

from typing import Any

import pytest

from broker_lite.coordinator.classic.member import ClassicGroupState
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.embedded_protocol import serialize_subscription
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
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


def subscription(*topics: str) -> bytes:
    return serialize_subscription(messages.ConsumerProtocolSubscription(topics=list(topics)), 3)


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
    assert second in driver.group.roster.members


# the state log


def test_g37_group_that_was_only_made() -> None:
    driver = Driver()
    driver.group.write_created(effects := Effects())
    driver.take(effects)
    loaded = driver.reload()
    assert (loaded.state, loaded.rebalance.generation, loaded.protocol_type) == (EMPTY, 0, None)
    assert loaded.rebalance.state_changed_ms == driver.now_ms


def test_group_is_what_its_record_says() -> None:
    driver, (first, second) = stable(2)
    loaded = driver.reload()
    assert (loaded.state, loaded.rebalance.generation, loaded.roster.leader) == (STABLE, 2, first)
    assert (loaded.protocol_type, loaded.protocol_name) == ("consumer", "range")
    member = loaded.roster.members[second]
    assert (member.client_id, member.protocols) == ("c1", [("range", b"r")])
    assert member.assignment == second.encode()


def test_leader_that_is_no_member_is_not_taken_over() -> None:
    driver, (first, _) = stable(2)
    driver.group.roster.leader = "nobody"
    driver.group.write(effects := Effects())
    driver.take(effects)
    assert driver.reload().roster.leader == first


def test_tombstone_removes_the_group() -> None:
    driver, _ = stable(1)
    driver.group.write_tombstone(effects := Effects())
    assert effects.records[0].key == driver.records[0].key
    assert effects.records[0].value is None


# topics and members


def test_g75_topics_that_members_subscribe_to() -> None:
    driver = Driver(initial_rebalance_delay_ms=1)
    assert driver.group.subscribed_topics() == frozenset()
    driver.enter(protocols=(("range", subscription("a", "b")),))
    driver.enter(protocols=(("range", subscription("c", "b")),))
    driver.advance(2)
    assert driver.group.subscribed_topics() == {"a", "b", "c"}


def test_g75_metadata_that_cannot_be_read_counts_for_every_topic() -> None:
    driver, _ = stable(1)
    assert driver.group.subscribed_topics() is None
    assert driver.reload().subscribed_topics() is None


def test_g75_other_groups_subscribe_to_nothing() -> None:
    driver = Driver()
    driver.enter(protocol_type="connect", protocols=(("default", subscription("a")),))
    assert driver.group.subscribed_topics() == frozenset()


def test_g75_group_that_became_empty() -> None:
    driver, (first,) = stable(1)
    driver.leave((first, None))
    assert driver.group.subscribed_topics() == frozenset()
    assert driver.reload().subscribed_topics() == frozenset()


@pytest.mark.parametrize(
    ("client_id", "instance_id", "member_id"),
    [
        pytest.param("c", None, "c-u1", id="G-40-dynamic"),
        pytest.param("c", "i", "i-u1", id="G-40-static"),
        pytest.param("", None, "-u1", id="G-40-nameless"),
    ],
)
def test_member_ids(client_id: str, instance_id: str | None, member_id: str) -> None:
    assert Driver().group.new_member_id(client_id, instance_id) == member_id


def test_g47_dropped_member_is_told_in_both_phases() -> None:
    driver, (first, second) = stable(2)
    token = driver.join(first)
    driver.leave((first, None), (second, None))
    assert driver.answers[token].error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.group.roster.members == {}
    assert len(driver.timers) == 0


def test_g34_nobody_waits_for_the_sync_of_a_dropped_member() -> None:
    """One that asks for more memory than there is is dropped without a rebalance."""
    driver, (first, second) = stable(2, held_bytes_max=100_000)
    driver.join(first)
    driver.join(second)
    assert driver.group.state is COMPLETING
    refused = driver.join(second, protocols=(("range", bytes(100_000)),))
    assert refused.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert driver.sync(first, {first: b"all"}).error_code == NONE
    assert (driver.group.state, driver.deadline_in_ms("sync")) == (STABLE, None)


def test_g34_the_sync_of_a_dropped_member_is_not_missed() -> None:
    driver, (first, second) = stable(2, held_bytes_max=100_000)
    driver.join(first)
    driver.join(second)
    assert driver.sync(first, {first: b"all"}).error_code == NONE
    refused = driver.join(second, protocols=(("range", bytes(100_000)),))
    assert refused.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    for _ in range(12):
        driver.heartbeat(first)
        driver.advance(REBALANCE_MS // 10)
    assert driver.group.state is STABLE
    assert list(driver.group.roster.members) == [first]

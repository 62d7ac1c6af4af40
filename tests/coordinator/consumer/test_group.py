"""A consumer group beyond its heartbeats: its states, timers, and checks of offsets.

Also tests: broker_lite.coordinator.consumer.changes, broker_lite.coordinator.consumer.member.
"""

from dataclasses import replace

import pytest

from broker_lite.coordinator.consumer.changes import write_group
from broker_lite.coordinator.consumer.group import ConsumerGroup, ConsumerGroupState
from broker_lite.coordinator.consumer.leave import delete_group
from broker_lite.coordinator.consumer.member import ClassicMemberData, ConsumerMember, MemberState
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.timers import GroupTimers, TimerKey, Timers
from tests.coordinator.consumer.consumer_driver import SESSION_MS, Driver, describe_record, state_of

CLASSIC = ClassicMemberData(session_timeout_ms=10_000, protocols=(("range", b"metadata"),))


def test_states() -> None:
    """G-77."""
    driver = Driver(t=2)
    assert driver.group.state is ConsumerGroupState.EMPTY
    driver.join("m1")
    assert driver.group.state is ConsumerGroupState.STABLE
    driver.join("m2")
    assert driver.group.state is ConsumerGroupState.RECONCILING
    driver.leave("m2")
    assert driver.group.state is ConsumerGroupState.ASSIGNING
    delete_group(driver.group, Effects())
    assert driver.group.state is ConsumerGroupState.DEAD


def test_the_rebalance_timer_stops_with_the_revocation() -> None:
    """G-89."""
    driver = Driver(t=2)
    driver.join("m1", rebalance_timeout_ms=1_000)
    driver.join("m2")
    driver.beat("m1")
    assert ("group", "rebalance", "m1") in driver.timers
    driver.beat("m1")
    assert ("group", "rebalance", "m1") not in driver.timers


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        pytest.param({}, None, id="G-63 current epoch"),
        pytest.param({"member_epoch": 1}, 113, id="G-63 old epoch"),
        pytest.param({"member_epoch": 3}, 113, id="G-63 newer epoch"),
        pytest.param({"member_id": "m9"}, 25, id="G-63 unknown member"),
        pytest.param({"member_id": "", "member_epoch": -1}, 25, id="G-63 no member"),
        pytest.param({"version": 8}, 35, id="G-63 old version"),
        pytest.param({"version": 3, "is_transactional": True}, None, id="T-41 transactional"),
        pytest.param(
            {"member_id": "", "member_epoch": -1, "is_transactional": True},
            None,
            id="T-41 transactional without a member",
        ),
        pytest.param(
            {"member_id": "", "member_epoch": -1, "instance_id": "i", "is_transactional": True},
            25,
            id="T-41 transactional with an instance only",
        ),
        pytest.param({"member_id": "c1", "version": 8}, None, id="G-63 classic member"),
        pytest.param({"member_id": "c1", "member_epoch": 7}, 22, id="G-63 classic generation"),
    ],
)
def test_commits(fields: dict[str, object], code: int | None) -> None:
    driver = Driver(t=2)
    driver.join("m1")
    driver.group.roster.put(ConsumerMember(member_id="c1", member_epoch=2, classic=CLASSIC))
    request = {
        "member_id": "m1",
        "instance_id": None,
        "member_epoch": 2,
        "version": 9,
        "is_transactional": False,
    }
    assert driver.group.check_commit(**{**request, **fields}) == code  # type: ignore[arg-type]


def test_anyone_commits_to_an_empty_group() -> None:
    """G-63."""
    request = {"instance_id": None, "version": 2, "is_transactional": False}
    group = Driver(t=2).group
    assert group.check_commit(member_id="x", member_epoch=-1, **request) is None  # type: ignore[arg-type]
    assert group.check_commit(member_id="x", member_epoch=1, **request) == 25  # type: ignore[arg-type]


def test_since_when_a_partition_is_held() -> None:
    """G-63: KIP-1251 asks for it, also while the partition is being given back."""
    driver = Driver(t=2)
    driver.join("m1")
    driver.join("m2")
    driver.beat("m1")
    member = driver.group.roster.members["m1"]
    topic_id = driver.topics.id("t")
    assert member.state is MemberState.UNREVOKED_PARTITIONS
    assert [member.assignment_epoch(topic_id, partition) for partition in (0, 1, 2)] == [2, 2, None]
    assert member.assignment_epoch(b"?" * 16, 0) is None


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [
        pytest.param(None, -1, None, id="G-69 no member given"),
        pytest.param("m1", 2, None, id="G-69 current"),
        pytest.param("m1", 1, 113, id="G-69 old"),
        pytest.param("c1", 1, 22, id="G-69 classic"),
        pytest.param("m9", 2, 25, id="G-69 unknown"),
        pytest.param("", -1, 25, id="G-69 an empty id is one"),
        pytest.param(None, 2, 25, id="G-69 an epoch alone"),
    ],
)
def test_fetches(member_id: str | None, epoch: int, code: int | None) -> None:
    driver = Driver(t=2)
    driver.join("m1")
    driver.group.roster.put(ConsumerMember(member_id="c1", member_epoch=2, classic=CLASSIC))
    assert driver.group.check_fetch(member_id=member_id, member_epoch=epoch) == code


def test_subscribed_topics() -> None:
    """G-74, G-105: by name and by regular expression."""
    driver = Driver(ta=1, tb=1, u=1)
    driver.join("m1", ["u", "missing"], subscribed_topic_regex="t.")
    assert driver.group.subscribed_topics() == {"u", "missing", "ta", "tb"}


def test_timers_start_anew_after_loading() -> None:
    """G-89: a full session for everyone, a full rebalance timeout for who owes partitions."""
    driver = Driver(t=2)
    driver.join("m1", rebalance_timeout_ms=7_000)
    driver.join("m2")
    driver.beat("m1")
    driver.group.unload()
    assert not len(driver.timers)
    group = driver.replayed()
    timers: Timers[TimerKey] = Timers()
    group.timers = GroupTimers(group.group_id, timers)
    group.loaded(5_000)
    assert {key[1:]: timers.deadline_ms(key) for key in timers} == {
        ("session", "m1"): 5_000 + SESSION_MS,
        ("session", "m2"): 5_000 + SESSION_MS,
        ("rebalance", "m1"): 12_000,
    }


def test_a_classic_member_has_its_own_session() -> None:
    """G-110: and no rebalance timer, it has others."""
    driver = Driver(t=2)
    driver.join("m1")
    member = replace(
        driver.group.roster.members["m1"], classic=CLASSIC, state=MemberState.UNREVOKED_PARTITIONS
    )
    driver.group.roster.put(member)
    driver.group.loaded(0)
    assert driver.timers.deadline_ms(("group", "session", "m1")) == 10_000
    assert ("group", "rebalance", "m1") not in driver.timers


def test_a_group_that_is_made_at_once() -> None:
    """G-106: its records, in Kafka's order, give the same group."""
    driver = Driver(t=2)
    group: ConsumerGroup = driver.group
    topic_id = driver.topics.id("t")
    group.group_epoch = group.target_epoch = 5
    for index in range(2):
        member = ConsumerMember(
            member_id=f"c{index}",
            topic_names=("t",),
            classic=CLASSIC,
            member_epoch=5,
            previous_member_epoch=5,
            assigned={topic_id: {index: 5}},
        )
        group.roster.put(member)
        group.targets[member.member_id] = {topic_id: frozenset({index})}
    effects = Effects()
    write_group(group, effects)
    names = [describe_record(record)[0] for record in effects.records]
    assert names == [
        *["MemberMetadata"] * 2,
        "Metadata",
        *["TargetAssignmentMember"] * 2,
        "TargetAssignmentMetadata",
        *["CurrentMemberAssignment"] * 2,
    ]
    driver.log.append(effects.records)
    assert state_of(driver.replayed()) == state_of(group)

"""Members of a consumer group go: G-79, G-89, G-104, G-107."""

from broker_lite.coordinator.consumer.group import ConsumerGroupState
from broker_lite.coordinator.consumer.leave import delete_group, on_timer, put_out
from broker_lite.coordinator.effects import Effects
from tests.coordinator.consumer.consumer_driver import SESSION_MS, Driver, describe_record


def test_a_session_ends() -> None:
    """G-86, G-89, G-08, G-120: not a millisecond before; the next heartbeat is from a stranger."""
    driver = Driver(t=2)
    driver.join("m1")
    driver.join("m2")
    driver.advance(1_000)
    driver.beat("m2")
    assert driver.advance(SESSION_MS - 1_001) == []
    assert driver.advance(1) == [("group", "session", "m1")]
    assert driver.group.group_epoch == 4
    assert driver.beat("m1").error_code == 25
    assert list(driver.group.roster.members) == ["m2"]
    assert {key[2] for key in driver.timers} == {"m2"}


def test_a_member_that_does_not_give_up_partitions_is_put_out() -> None:
    """G-89: after its own rebalance timeout, however often it beats."""
    driver = Driver(t=2)
    driver.join("m1", rebalance_timeout_ms=30_000)
    driver.join("m2")
    old = driver.owns("m1")
    driver.beat("m1")
    for _ in range(29):
        assert driver.advance(1_000) == []
        driver.beat("m2")
        assert driver.beat("m1", topic_partitions=old).error_code == 0
    assert driver.advance(1_000) == [("group", "rebalance", "m1")]
    driver.settle()
    assert driver.partitions("m2") == [0, 1]


def test_late_timers_do_nothing() -> None:
    """G-89: of a member that is gone, or that gave its partitions back meanwhile."""
    driver = Driver(t=2)
    driver.join("m1")
    effects = Effects()
    on_timer(driver.group, "session", "nobody", effects, driver.now_ms)
    on_timer(driver.group, "rebalance", "m1", effects, driver.now_ms)
    on_timer(driver.group, "join", "m1", effects, driver.now_ms)
    on_timer(driver.group, "sync", "m1", effects, driver.now_ms)
    put_out(driver.group, [], effects, driver.now_ms)
    assert not effects.records
    assert list(driver.group.roster.members) == ["m1"]


def test_a_static_member_that_is_away_too_long() -> None:
    """G-79, G-89: its session goes on while it is away."""
    driver = Driver(t=2)
    driver.join("s1", instance_id="i1")
    driver.leave("s1", -2, instance_id="i1")
    assert driver.advance(SESSION_MS) == [("group", "session", "s1")]
    assert not driver.group.roster.static_members
    assert driver.group.state is ConsumerGroupState.EMPTY


def test_another_group_may_take_over_who_is_put_out() -> None:
    """G-107: the seam of the downgrade."""
    driver = Driver(t=2)
    driver.join("m1")
    asked = []

    def downgrade(member_ids: object, effects: Effects, now_ms: int) -> bool:
        asked.append(member_ids)
        return len(asked) == 1

    driver.group.downgrade = downgrade
    driver.leave("m1")
    assert asked == [["m1"]]
    assert "m1" in driver.group.roster.members
    driver.leave("m1")
    assert "m1" not in driver.group.roster.members


def test_deletion() -> None:
    """G-104: every key that may be there gets its tombstone, the group's own at the end."""
    driver = Driver(t=2)
    driver.join("m1", subscribed_topic_regex="t")
    effects = Effects()
    delete_group(driver.group, effects)
    assert [describe_record(record) for record in effects.records] == [
        (name, None)
        for name in (
            "CurrentMemberAssignment",
            "TargetAssignmentMember",
            "TargetAssignmentMetadata",
            "MemberMetadata",
            "RegularExpression",
            "PartitionMetadata",
            "Metadata",
        )
    ]
    assert not len(driver.timers)
    driver.log.append(effects.records)
    group = driver.replayed()
    assert not group.roster.members
    assert not group.targets
    assert group.state is ConsumerGroupState.DEAD

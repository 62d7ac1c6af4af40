"""What the members of all groups take in memory, and its bound."""

from typing import Any

import pytest

from broker_lite.coordinator.group_registry import GroupRegistry
from broker_lite.coordinator.held_bytes import size_of_classic, size_of_subscription
from broker_lite.errors import ErrorCode
from tests.coordinator.classic_driver import Driver as ClassicDriver
from tests.coordinator.groups_driver import Driver

FULL = ErrorCode.GROUP_MAX_SIZE_REACHED
NAME_BYTES = len("range")


def registry_of(driver: Driver) -> GroupRegistry:
    return driver.coordinator._registry


def held_bytes(driver: Driver) -> int:
    """The count, which has to be what all members hold."""
    registry = registry_of(driver)
    found = 0
    for group_id in registry.groups:
        classic, consumer = registry.classic(group_id), registry.consumer(group_id)
        if classic is not None:
            found += sum(map(size_of_classic, classic.members.values()))
        if consumer is not None:
            found += sum(map(size_of_subscription, consumer.members.values()))
    assert registry.held.count == found
    return found


def test_members_are_counted_until_they_leave() -> None:
    driver = Driver()
    first = driver.stable_member(group_id="one", metadata=bytes(1000))
    assert held_bytes(driver) == NAME_BYTES + 1000 + len(b"a")
    driver.join(group_id="two", metadata=bytes(50))
    assert held_bytes(driver) == 2 * NAME_BYTES + 1051
    driver.join(first, group_id="one", metadata=bytes(10))
    assert held_bytes(driver) == 2 * NAME_BYTES + 61
    driver.leave(first, group_id="one")
    assert held_bytes(driver) == NAME_BYTES + 50
    driver.step(400_000)
    assert held_bytes(driver) == 0


def test_members_of_consumer_groups_are_counted_too() -> None:
    driver = Driver()
    epoch = driver.consumer_heartbeat("a", subscribed_topic_names=["t", "u" * 100]).member_epoch
    driver.consumer_heartbeat("b", group_id="other", subscribed_topic_names=["t" * 10])
    assert held_bytes(driver) == 111
    driver.consumer_heartbeat("a", epoch, subscribed_topic_names=["t"])
    assert held_bytes(driver) == 11
    driver.consumer_heartbeat("a", -1)
    assert held_bytes(driver) == 10
    driver.step(400_000)
    assert held_bytes(driver) == 0


def test_what_the_log_tells_is_counted() -> None:
    driver = Driver()
    driver.stable_member(group_id="classic", metadata=bytes(100))
    driver.consumer_heartbeat(group_id="consumer")
    before = held_bytes(driver)
    assert before > 100
    driver.restart()
    assert held_bytes(driver) == before


def joined(driver: Driver, group_id: str, size_bytes: int, member_id: str = "") -> Any:
    return driver.join(member_id, group_id=group_id, metadata=bytes(size_bytes - NAME_BYTES))


def test_above_the_bound_nobody_joins_with_more() -> None:
    driver = Driver(held_bytes_max=1000)
    assert joined(driver, "one", 400).error_code == 0
    second = joined(driver, "two", 600)
    assert second.error_code == 0
    assert joined(driver, "three", NAME_BYTES).error_code == FULL
    assert driver.sync(second.member_id, group_id="two").error_code == FULL
    assert joined(driver, "two", 601, second.member_id).error_code == FULL
    # it was refused like a member that does not fit, and is out
    assert held_bytes(driver) == 400
    assert joined(driver, "three", 600).error_code == 0


def test_a_member_may_always_come_with_less() -> None:
    driver = Driver(held_bytes_max=1000)
    member_id = joined(driver, "one", 1000).member_id
    registry = registry_of(driver)
    registry.update_settings(type(driver.settings)(held_bytes_max=100))
    assert joined(driver, "one", 900, member_id).error_code == 0
    assert held_bytes(driver) == 900


def test_assignments_count() -> None:
    driver = ClassicDriver(held_bytes_max=100)
    member_id, _ = driver.enter()
    assert driver.sync(member_id, {member_id: bytes(101)}).error_code == FULL
    assert driver.sync(member_id, {member_id: bytes(90)}).error_code == 0
    assert driver.group.held.count == 90 + size_of_range(driver)


def size_of_range(driver: ClassicDriver) -> int:
    (member,) = driver.group.members.values()
    return sum(len(name) + len(metadata) for name, metadata in member.protocols)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_consumer_group_is_bounded_by_its_subscriptions(is_new: bool) -> None:
    driver = Driver(held_bytes_max=100)
    epoch = driver.consumer_heartbeat("a", subscribed_topic_names=["t"]).member_epoch
    names = ["t", "u" * 100]
    if is_new:
        answer = driver.consumer_heartbeat("b", subscribed_topic_names=names)
    else:
        answer = driver.consumer_heartbeat("a", epoch, subscribed_topic_names=names)
    assert answer.error_code == FULL
    assert "100 bytes" in answer.error_message
    assert held_bytes(driver) == 1
    # a heartbeat that tells nothing new goes on
    assert driver.consumer_heartbeat("a", epoch).error_code == 0

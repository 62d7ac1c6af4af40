"""What the members of all groups take in memory, and its bound."""

from typing import Any

import pytest

from broker_lite.coordinator.held_bytes import HeldBytes, size_of_new, size_of_promise, size_of_text
from broker_lite.coordinator.registry import GroupRegistry
from broker_lite.errors import ErrorCode, GroupMaxSizeReached
from tests.coordinator.classic.classic_driver import Driver as ClassicDriver
from tests.coordinator.groups.groups_driver import Driver
from tests.coordinator.held import added_up

FULL = ErrorCode.GROUP_MAX_SIZE_REACHED
NAME_BYTES = len("range")
CLIENT_ID = "c"  # of the drivers
ID = CLIENT_ID + "-00000000-0000-4000-8000-000000000000"
MEMBER_BYTES = size_of_new(ID, None, CLIENT_ID)
"""A member of a classic group that has told nothing."""
PROMISE_BYTES = size_of_promise(ID)
CONSUMER_BYTES = size_of_new("a", None, CLIENT_ID)
"""One of a consumer group, with an id of one character."""


def registry_of(driver: Driver) -> GroupRegistry:
    return driver.coordinator.registry


def held_bytes(driver: Driver) -> int:
    """The count, which has to be what all members hold."""
    registry = registry_of(driver)
    found = added_up(registry)
    assert registry.held.count == found
    return found


def test_more_than_the_bound_is_refused() -> None:
    whole = HeldBytes()
    group = HeldBytes(whole)
    whole.add(90)
    group.demand(10, 100)
    with pytest.raises(GroupMaxSizeReached, match="hold 100 bytes, which is the maximum"):
        group.demand(11, 100)
    whole.add(20)
    group.demand(0, 100)


def test_a_group_that_joins_or_leaves_all_takes_its_bytes_along() -> None:
    first, second, group = HeldBytes(), HeldBytes(), HeldBytes()
    group.add(70)
    counts = []
    for whole in (first, second, None):
        group.join(whole)
        group.add(5)
        counts.append((first.count, second.count, group.count))
    assert counts == [(75, 0, 75), (0, 80, 80), (0, 0, 85)]


def test_members_are_counted_until_they_leave() -> None:
    driver = Driver()
    first = driver.stable_member(group_id="one", metadata=bytes(1000))
    assert held_bytes(driver) == MEMBER_BYTES + NAME_BYTES + 1000 + len(b"a")
    driver.join(group_id="two", metadata=bytes(50))
    assert held_bytes(driver) == 2 * (MEMBER_BYTES + NAME_BYTES) + 1051
    driver.join(first, group_id="one", metadata=bytes(10))
    assert held_bytes(driver) == 2 * (MEMBER_BYTES + NAME_BYTES) + 61
    driver.leave(first, group_id="one")
    assert held_bytes(driver) == MEMBER_BYTES + NAME_BYTES + 50
    driver.step(400_000)
    assert held_bytes(driver) == 0


def test_members_of_consumer_groups_are_counted_too() -> None:
    driver = Driver()
    epoch = driver.consumer_heartbeat("a", subscribed_topic_names=["t", "u" * 100]).member_epoch
    driver.consumer_heartbeat("b", group_id="other", subscribed_topic_names=["t" * 10])
    assert held_bytes(driver) == 2 * CONSUMER_BYTES + 111
    driver.consumer_heartbeat("a", epoch, subscribed_topic_names=["t"])
    assert held_bytes(driver) == 2 * CONSUMER_BYTES + 11
    driver.consumer_heartbeat("a", -1)
    assert held_bytes(driver) == CONSUMER_BYTES + 10
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
    driver = Driver(held_bytes_max=2 * MEMBER_BYTES + 1000)
    assert joined(driver, "one", 400).error_code == 0
    second = joined(driver, "two", 600)
    assert second.error_code == 0
    assert joined(driver, "three", NAME_BYTES).error_code == FULL
    assert driver.sync(second.member_id, group_id="two").error_code == FULL
    assert joined(driver, "two", 601, second.member_id).error_code == FULL
    # it was refused like a member that does not fit, and is out
    assert held_bytes(driver) == MEMBER_BYTES + 400
    assert joined(driver, "three", 600).error_code == 0


def test_a_member_may_always_come_with_less() -> None:
    driver = Driver(held_bytes_max=MEMBER_BYTES + 1000)
    member_id = joined(driver, "one", 1000).member_id
    registry = registry_of(driver)
    registry.update_settings(type(driver.settings)(held_bytes_max=100))
    assert joined(driver, "one", 900, member_id).error_code == 0
    assert held_bytes(driver) == MEMBER_BYTES + 900


def test_ids_that_were_given_out_count_until_their_members_come_or_their_sessions_end() -> None:
    """G-40: very many clients that ask for an id and never come back."""
    driver = Driver(held_bytes_max=4 * PROMISE_BYTES - 1)
    answers = [driver.join(version=9, group_id=f"g{number % 2}") for number in range(4)]
    required = ErrorCode.MEMBER_ID_REQUIRED
    assert [answer.error_code for answer in answers] == [required, required, required, FULL]
    assert (answers[3].member_id, held_bytes(driver)) == ("", 3 * PROMISE_BYTES)
    driver.join(answers[0].member_id, version=9, group_id="g0")
    assert 0 < 3 * PROMISE_BYTES - held_bytes(driver) < PROMISE_BYTES - MEMBER_BYTES
    driver.leave(answers[1].member_id, group_id="g1")
    assert driver.join(version=9, group_id="g1").error_code == required
    driver.step(400_000)
    assert held_bytes(driver) == 0


def test_a_member_may_come_with_the_id_that_it_was_given_when_there_is_no_room_left() -> None:
    driver = Driver(held_bytes_max=PROMISE_BYTES)
    member_id = driver.join(version=9).member_id
    assert driver.join(version=9).error_code == FULL
    told = bytes(PROMISE_BYTES - MEMBER_BYTES - NAME_BYTES)
    assert driver.join(member_id, version=9, metadata=told).error_code == 0
    assert held_bytes(driver) == PROMISE_BYTES


def test_long_names_count_and_a_static_member_that_comes_back_counts_once() -> None:
    """Before version 4 a member joins without being given an id first."""
    driver = Driver()
    instance_id = "i" * 10_000
    first = driver.join(instance_id=instance_id)
    before = held_bytes(driver)
    assert before > 20_000
    second = driver.join(instance_id=instance_id)
    assert first.member_id != second.member_id
    assert held_bytes(driver) == before


def test_an_id_beyond_ascii_counts_with_all_its_bytes() -> None:
    assert size_of_text("\N{SNOWMAN}" * 100) - size_of_text("c" * 100) == 300


def test_assignments_count() -> None:
    driver = ClassicDriver()
    member_id, _ = driver.enter()
    before = driver.group.roster.held.count
    driver = ClassicDriver(held_bytes_max=before + 990)
    member_id, _ = driver.enter()
    assert driver.sync(member_id, {member_id: bytes(991)}).error_code == FULL
    assert driver.sync(member_id, {member_id: bytes(990)}).error_code == 0
    assert driver.group.roster.held.count == before + 990


@pytest.mark.parametrize("is_new", [True, False])
def test_a_consumer_group_is_bounded_by_its_subscriptions(is_new: bool) -> None:
    driver = Driver(held_bytes_max=CONSUMER_BYTES + 100)
    epoch = driver.consumer_heartbeat("a", subscribed_topic_names=["t"]).member_epoch
    names = ["t", "u" * 100]
    if is_new:
        answer = driver.consumer_heartbeat("b", subscribed_topic_names=names)
    else:
        answer = driver.consumer_heartbeat("a", epoch, subscribed_topic_names=names)
    assert answer.error_code == FULL
    assert f"{CONSUMER_BYTES + 100} bytes" in answer.error_message
    assert held_bytes(driver) == CONSUMER_BYTES + 1
    # a heartbeat that tells nothing new goes on
    assert driver.consumer_heartbeat("a", epoch).error_code == 0

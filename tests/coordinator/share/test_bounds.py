"""How many topics the members of a share group may subscribe to; Kafka has no such bound."""

import pytest

from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.share.bounds import (
    SUBSCRIPTIONS_MAX,
    TOPICS_MAX,
    check_subscriptions,
)
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share.member import ShareMember
from broker_lite.coordinator.timers import TimerKey, Timers
from broker_lite.errors import GroupMaxSizeReached
from tests.coordinator.consumer.consumer_driver import FakeTopics

FULL = tuple(f"t{number:04}" for number in range(TOPICS_MAX))


def member(member_id: str, *names: str) -> ShareMember:
    return ShareMember(member_id=member_id, topic_names=names)


def group_of(*members: ShareMember) -> ShareGroup:
    timers: Timers[TimerKey] = Timers()
    group = ShareGroup("g", timers, GroupSettings(), FakeTopics())
    for each in members:
        group.roster.put(each)
    return group


def test_k38_the_topics_of_a_group() -> None:
    group = group_of(first := member("a", *FULL))
    check_subscriptions(group, member("b"), member("b", "t0000"))
    with pytest.raises(GroupMaxSizeReached, match=f"subscribes to more than {TOPICS_MAX} topics"):
        check_subscriptions(group, member("b"), member("b", "more"))
    check_subscriptions(group, first, member("a", *FULL[1:], "more"))  # in the place of another
    group.roster.put(member("b", "t0000"))
    with pytest.raises(GroupMaxSizeReached):
        check_subscriptions(group, first, member("a", *FULL[1:], "more"))


def test_k38_the_topics_of_all_members() -> None:
    count = SUBSCRIPTIONS_MAX // TOPICS_MAX
    group = group_of(*(member(f"m{number}", *FULL) for number in range(count)))
    with pytest.raises(GroupMaxSizeReached, match=f"more than {SUBSCRIPTIONS_MAX} topics, each"):
        check_subscriptions(group, member("n"), member("n", "t0000"))
    group.roster.put(member("m0", *FULL[1:]))
    check_subscriptions(group, member("n"), member("n", "t0000"))


def test_k38_a_group_that_has_more_already_may_have_less() -> None:
    more = tuple(f"u{number:04}" for number in range(SUBSCRIPTIONS_MAX))
    group = group_of(first := member("a", *FULL, *more))
    check_subscriptions(group, first, member("a", *FULL, *more[1:]))
    with pytest.raises(GroupMaxSizeReached):
        check_subscriptions(group, first, member("a", *FULL, *more[1:], "v"))

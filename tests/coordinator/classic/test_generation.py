"""What a generation knows of topics (G-75); its answers are in test_classic_join and _group."""

import pytest

from broker_lite.coordinator.embedded_protocol import serialize_subscription
from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.coordinator.classic.classic_driver import Driver, stable


def subscription(*topics: str) -> bytes:
    return serialize_subscription(messages.ConsumerProtocolSubscription(topics=list(topics)), 3)


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
    assert driver.group.members == {}
    assert len(driver.timers) == 0

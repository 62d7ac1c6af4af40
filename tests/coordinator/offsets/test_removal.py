"""How offsets go: OffsetDelete, deleted topics, and time."""

import pytest

from broker_lite.errors import ErrorCode
from tests.coordinator.groups.groups_driver import START_MS, Driver

NONE = ErrorCode.NONE
RETENTION_MS = 10_000
SUBSCRIPTION = bytes.fromhex("0000 00000001 0001 74 ffffffff")
"""Version 0, one topic: t, no user data."""


@pytest.fixture
def driver() -> Driver:
    return Driver(offsets_retention_ms=RETENTION_MS)


# OffsetDelete


def test_g105_results(driver: Driver) -> None:
    driver.commit(topics=[("t", (0, 1))])
    found = driver.delete_offsets(("t", (0, 9, 2)), ("x", (1,)))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found == [("t", 9, unknown), ("t", 0, NONE), ("t", 2, NONE), ("x", 1, unknown)]
    assert driver.fetch() == {("t", 1): 5}
    assert [value for _, value in driver.log[-1][1][1]] == [None]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["t", "x"])
def test_g105_missing_group(driver: Driver, name: str) -> None:
    assert driver.delete_offsets((name, (0,))) == ErrorCode.GROUP_ID_NOT_FOUND
    assert driver.delete_offsets((name, (0,)), group_id="") == ErrorCode.INVALID_GROUP_ID


def test_g105_groups_that_use_no_topics(driver: Driver) -> None:
    driver.stable_member(protocol_type="connect")
    assert driver.delete_offsets(("t", (0,))) == ErrorCode.NON_EMPTY_GROUP


@pytest.mark.parametrize(
    ("metadata", "subscribed"), [(SUBSCRIPTION, {"t"}), (b"?", {"t", "u"})], ids=["G-75", "odd"]
)
def test_g105_topics_in_use(driver: Driver, metadata: bytes, subscribed: set[str]) -> None:
    driver.stable_member(metadata=metadata)
    for name in "tu":
        [(_, _, error_code)] = driver.delete_offsets((name, (0,)))  # type: ignore[misc]
        in_use = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        assert error_code is (in_use if name in subscribed else NONE)


def test_g105_topics_of_a_consumer_group(driver: Driver) -> None:
    driver.consumer_heartbeat()
    found = driver.delete_offsets(("t", (0,)), ("u", (0,)))
    assert found == [("t", 0, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC), ("u", 0, NONE)]


def test_g105_pending_offsets_go_too(driver: Driver) -> None:
    driver.commit_in_transaction(5)
    assert driver.delete_offsets(("t", (0,))) == [("t", 0, NONE)]
    driver.end(committed=True)
    assert driver.fetch(("t", 0)) == {("t", 0): -1}


# deleted topics


def test_g73_offsets_of_a_deleted_topic(driver: Driver) -> None:
    driver.commit(topics=[("t", (0, 1)), ("u", (0,))])
    driver.commit(group_id="h", topics=[("u", (0,))])
    driver.commit_in_transaction(5, group_id="i", topics=[("t", (2,))])
    happened = driver.take_all(driver.coordinator.removals.delete_topics({"t"}))
    assert {group_id: len(effects.records) for group_id, effects in happened.items()} == {
        "g": 2,
        "i": 1,
    }
    driver.end(committed=True, group_id="i")
    assert [driver.fetch(group_id=one) for one in "ghi"] == [{("u", 0): 5}, {("u", 0): 5}, {}]


# time


def test_g74_simple_group_counts_from_the_commit(driver: Driver) -> None:
    driver.commit(1, topics=[("t", (0,))])
    driver.now_ms += 6_000
    driver.commit(2, topics=[("t", (1,))])
    assert driver.expire(3_999) == {}
    assert list(driver.expire(1)) == ["g"]
    assert driver.fetch() == {("t", 1): 2}
    assert list(driver.expire(6_000)) == ["g"]
    assert driver.list() == set()
    # the offset, and then the group
    assert len(driver.log[-1][1][1]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("retention_ms", [0, 3_000, -2])
def test_g74_explicit_expiry(driver: Driver, retention_ms: int) -> None:
    driver.commit(version=4, retention_ms=retention_ms)
    if retention_ms > 0:
        assert driver.expire(2_999) == {}
        driver.now_ms += 1
    assert list(driver.expire()) == ["g"]
    assert driver.list() == set()


def test_g74_explicit_expiry_may_be_later_than_the_retention(driver: Driver) -> None:
    driver.commit(version=2, retention_ms=50_000)
    assert driver.expire(49_999) == {}
    assert list(driver.expire(1)) == ["g"]


def test_g74_empty_group_counts_from_when_it_became_empty(driver: Driver) -> None:
    member_id = driver.stable_member(session_ms=1_000_000)
    driver.commit(member_id=member_id, generation=1)
    assert driver.expire(5 * RETENTION_MS) == {}
    driver.leave(member_id)
    assert driver.expire(RETENTION_MS - 1) == {}
    assert list(driver.expire(1)) == ["g"]
    assert driver.list() == set()


def test_g74_stable_group_keeps_what_it_subscribes_to(driver: Driver) -> None:
    member_id = driver.stable_member(session_ms=1_000_000, metadata=SUBSCRIPTION)
    driver.commit(member_id=member_id, generation=1, topics=[("t", (0,)), ("u", (0,))])
    assert driver.expire(RETENTION_MS - 1) == {}
    assert list(driver.expire(1)) == ["g"]
    assert driver.fetch() == {("t", 0): 5}


@pytest.mark.parametrize("protocol_type", ["connect", "consumer"])
def test_g74_unknown_subscriptions_keep_everything(driver: Driver, protocol_type: str) -> None:
    member_id = driver.stable_member(
        session_ms=1_000_000, protocol_type=protocol_type, metadata=b"?"
    )
    driver.commit(member_id=member_id, generation=1)
    assert driver.expire(5 * RETENTION_MS) == {}


def test_g74_nothing_goes_during_a_rebalance(driver: Driver) -> None:
    driver.commit()
    driver.join(session_ms=1_000_000, metadata=SUBSCRIPTION)
    assert driver.list() == {("g", "consumer", "CompletingRebalance", "classic")}
    assert driver.expire(5 * RETENTION_MS) == {}


def test_g74_consumer_group_keeps_what_it_subscribes_to(driver: Driver) -> None:
    epoch = driver.consumer_heartbeat().member_epoch
    driver.commit(member_id="m", generation=epoch, topics=[("t", (0,)), ("u", (0,))])
    assert list(driver.expire(RETENTION_MS)) == ["g"]
    assert driver.fetch() == {("t", 0): 5}
    driver.consumer_heartbeat("m", -1)
    assert list(driver.expire()) == ["g"]
    assert driver.list() == set()


def test_g74_pending_offsets_hold_theirs_and_the_group(driver: Driver) -> None:
    driver.commit(topics=[("t", (0, 1))])
    driver.commit_in_transaction(9)
    assert list(driver.expire(RETENTION_MS)) == ["g"]
    assert driver.fetch() == {("t", 0): 5}
    assert driver.expire() == {}
    driver.end(committed=False)
    assert list(driver.expire()) == ["g"]
    assert driver.list() == set()


def test_g74_empty_groups_without_offsets_go(driver: Driver) -> None:
    driver.leave(driver.stable_member())
    driver.join("", version=4, group_id="has given an id")
    assert list(driver.expire()) == ["g"]
    assert {one[0] for one in driver.list()} == {"has given an id"}


def test_g74_record_that_does_not_say_when_the_group_became_empty(driver: Driver) -> None:
    driver.now_ms = START_MS
    member_id = driver.stable_member(session_ms=1_000_000)
    driver.commit(member_id=member_id, generation=1)
    driver.leave(member_id)
    group = driver.coordinator.registry.classic("g")
    assert group is not None
    group.rebalance.state_changed_ms = -1
    assert driver.expire(RETENTION_MS - 1) == {}
    assert list(driver.expire(1)) == ["g"]

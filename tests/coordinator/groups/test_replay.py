"""Logs of all kinds are read back."""

import pytest

from broker_lite.coordinator.offset_records import CommittedOffset, encode_offset_value
from broker_lite.wire import ZERO_UUID, DecodeError, messages
from tests.coordinator.groups.groups_driver import Driver

VALUE = encode_offset_value(CommittedOffset(5, -1, "", 1, -1, ZERO_UUID))


@pytest.fixture
def driver() -> Driver:
    return Driver()


def key_of(name: str, record_type: int, **fields: object) -> bytes:
    message = messages.message(name)
    return record_type.to_bytes(2) + message.encode(message(**fields), 0)


def test_g66_key_of_type_0_is_read_too(driver: Driver) -> None:
    key = key_of("LegacyOffsetCommitKey", 0, group="g", topic="t", partition=0)
    driver.coordinator.replay.batch(driver.partition_of("g"), -1, [(key, VALUE)])
    assert driver.fetch() == {("t", 0): 5}


@pytest.mark.parametrize("record_type", [9, 18, 24, 99])
def test_records_of_other_kinds_are_passed_over(driver: Driver, record_type: int) -> None:
    driver.coordinator.replay.batch(0, -1, [(record_type.to_bytes(2) + b"x", b"y")])
    assert driver.list() == set()


@pytest.mark.parametrize(("key", "value"), [(b"", None), (b"\x00", None), (b"\x00\x01\x00", VALUE)])
def test_records_that_cannot_be_read(driver: Driver, key: bytes, value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        driver.coordinator.replay.batch(driver.partition_of("g"), -1, [(key, value)])


@pytest.mark.parametrize("value", [b"", b"\x00", b"\x00\x09" + VALUE[2:]])
def test_values_that_cannot_be_read(driver: Driver, value: bytes) -> None:
    key = key_of("OffsetCommitKey", 1, group="g", topic="t", partition=0)
    with pytest.raises(DecodeError):
        driver.coordinator.replay.batch(driver.partition_of("g"), -1, [(key, value)])


def test_values_of_groups_that_cannot_be_read(driver: Driver) -> None:
    partition = driver.partition_of("g")
    classic = key_of("GroupMetadataKey", 2, group="g")
    for value in (b"", b"\0"):
        with pytest.raises(DecodeError):
            driver.coordinator.replay.batch(partition, -1, [(classic, value)])
    message = messages.ConsumerGroupCurrentMemberAssignmentValue
    topic = message.TopicPartitions(topic_id=bytes(16), partitions=[1, 2], assignment_epochs=[1])
    value = b"\0\0" + message.encode(message(assigned_partitions=[topic]), 0)
    current = key_of("ConsumerGroupCurrentMemberAssignmentKey", 8, group_id="g", member_id="m")
    with pytest.raises(DecodeError):
        driver.coordinator.replay.batch(partition, -1, [(current, value)])


@pytest.mark.parametrize(
    "key",
    [
        key_of("OffsetCommitKey", 1, group="g", topic="t", partition=0),
        key_of("GroupMetadataKey", 2, group="g"),
        key_of("ConsumerGroupMetadataKey", 3, group_id="g"),
        key_of("ConsumerGroupMemberMetadataKey", 5, group_id="g", member_id="m"),
    ],
    ids=["offset", "classic", "consumer", "member"],
)
def test_tombstones_of_what_is_not_there(driver: Driver, key: bytes) -> None:
    driver.coordinator.replay.batch(driver.partition_of("g"), -1, [(key, None)])
    assert driver.list() == set()


def test_the_end_of_a_classic_group_is_not_that_of_a_consumer_group(driver: Driver) -> None:
    driver.consumer_heartbeat()
    key = key_of("GroupMetadataKey", 2, group="g")
    driver.coordinator.replay.batch(driver.partition_of("g"), -1, [(key, None)])
    assert driver.list() == {("g", "consumer", "Stable", "consumer")}


def test_g80_offsets_read_before_their_consumer_group(driver: Driver) -> None:
    # a compaction took the record away by which the classic group ended
    driver.commit()
    driver.consumer_heartbeat()
    tombstone = key_of("GroupMetadataKey", 2, group="g")
    driver.log = [
        (partition, (producer_id, [one for one in content if one[0] != tombstone]))
        for partition, (producer_id, content) in driver.log
        if not isinstance(content, bool)
    ]
    driver.restart()
    assert driver.list() == {("g", "consumer", "Stable", "consumer")}
    assert driver.fetch() == {("t", 0): 5}

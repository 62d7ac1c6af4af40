"""What the records of newer groups have in common, for each kind."""

import pytest

from broker_lite.coordinator.consumer import records as consumer_records
from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.group_records import (
    apply_group_epoch,
    apply_target,
    apply_target_epoch,
    decode,
    encode_key,
    encode_value,
    group_of,
    partitions_of,
)
from broker_lite.coordinator.share import records as share_records
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.wire import DecodeError, messages
from tests.coordinator.consumer.consumer_driver import Driver

TOPIC = bytes(range(16))
EITHER = pytest.mark.parametrize("kind", ["consumer", "share"])


def made(kind: str) -> ConsumerGroup | ShareGroup:
    group = Driver().group
    if kind == "consumer":
        return group
    return ShareGroup("g", group.timers.all_groups, group.settings, group.topics)


def test_form_of_keys_and_values() -> None:
    message = messages.ShareGroupMetadataKey
    assert encode_key(11, message, message(group_id="g")) == bytes.fromhex("000b 0001 67")
    value = messages.ShareGroupMetadataValue
    encoded = encode_value(value, value(epoch=3, metadata_hash=9))
    assert encoded[:6] == bytes.fromhex("0000 00000003")
    assert decode(value, encoded).metadata_hash == 9


def test_each_key_begins_with_the_group_id() -> None:
    for key in (
        consumer_records.regex_key("é", "t.*"),
        consumer_records.current_key("é", "m"),
        share_records.state_partitions_key("é"),
        share_records.member_key("é", "m"),
    ):
        assert group_of(key) == "é"
    with pytest.raises(DecodeError):
        group_of(b"\0\x05\0\x09g")


@EITHER
def test_epochs_are_applied(kind: str) -> None:
    group = made(kind)
    said = messages.ShareGroupMetadataValue(epoch=7, metadata_hash=-5)
    apply_group_epoch(group, said)
    assert (group.group_epoch, group.metadata_hash, group.is_deleted) == (7, -5, False)
    target = messages.ShareGroupTargetAssignmentMetadataValue
    apply_target_epoch(group, target(assignment_epoch=6, assignment_timestamp=1234))
    apply_target_epoch(group, None)
    assert (group.target_epoch, group.target_timestamp_ms) == (6, 1234)
    apply_group_epoch(group, None)
    assert group.is_deleted
    apply_group_epoch(group, said)
    assert not group.is_deleted


@EITHER
def test_targets_are_applied(kind: str) -> None:
    group = made(kind)
    entry = messages.ShareGroupTargetAssignmentMemberValue.TopicPartition
    entries = [entry(topic_id=TOPIC, partitions=[2, 0])]
    assert partitions_of(entries) == {TOPIC: frozenset({0, 2})}
    apply_target(group, "m", entries)
    assert group.target_of("m") == {TOPIC: frozenset({0, 2})}
    apply_target(group, "m", None)
    apply_target(group, "unknown", None)
    assert not group.targets

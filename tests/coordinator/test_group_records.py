"""The form of the records of newer groups, for each kind."""

import pytest

from broker_lite.coordinator.consumer import records as consumer_records
from broker_lite.coordinator.group_records import (
    CONSUMER,
    SHARE,
    STREAMS,
    RecordTypes,
    decode,
    encode_key,
    encode_value,
    group_of,
    member_of_key,
    partitions_of,
    target_epoch_value,
)
from broker_lite.coordinator.share import records as share_records
from broker_lite.wire import DecodeError, messages

TOPIC = bytes(range(16))
KINDS = pytest.mark.parametrize(
    ("name", "types"), [("Consumer", CONSUMER), ("Share", SHARE), ("Streams", STREAMS)]
)


def test_form_of_keys_and_values() -> None:
    message = messages.ShareGroupMetadataKey
    assert encode_key(11, message, message(group_id="g")) == bytes.fromhex("000b 0001 67")
    value = messages.ShareGroupMetadataValue
    encoded = encode_value(value, value(epoch=3, metadata_hash=9))
    assert encoded[:6] == bytes.fromhex("0000 00000003")
    assert decode(value, encoded).metadata_hash == 9


@KINDS
def test_keys_are_those_of_each_kind(name: str, types: RecordTypes) -> None:
    """One shape serves all kinds; here each is compared with the messages of its own."""
    group_keys = {"Metadata": types.group_epoch, "TargetAssignmentMetadata": types.target_epoch}
    for suffix, record_type in group_keys.items():
        message = getattr(messages, f"{name}Group{suffix}Key")
        expected = encode_key(record_type, message, message(group_id="é"))
        assert expected in (types.group_epoch_key("é"), types.target_epoch_key("é"))
    for suffix, key in (
        ("MemberMetadata", types.member_key("é", "m")),
        ("TargetAssignmentMember", types.target_key("é", "m")),
        ("CurrentMemberAssignment", types.current_key("é", "m")),
    ):
        message = getattr(messages, f"{name}Group{suffix}Key")
        assert encode_key(key[1], message, message(group_id="é", member_id="m")) == key
        assert member_of_key(key) == "m"


@KINDS
def test_the_epoch_of_a_target_is_written_as_each_kind_does(name: str, types: RecordTypes) -> None:
    message = getattr(messages, f"{name}GroupTargetAssignmentMetadataValue")
    value = message(assignment_epoch=6, assignment_timestamp=1234)
    assert target_epoch_value(6, 1234) == encode_value(message, value)
    assert len(set(types)) == len(types)


def test_each_key_begins_with_the_group_id() -> None:
    for key in (
        consumer_records.regex_key("é", "t.*"),
        CONSUMER.current_key("é", "m"),
        share_records.state_partitions_key("é"),
        SHARE.member_key("é", "m"),
    ):
        assert group_of(key) == "é"
    with pytest.raises(DecodeError):
        group_of(b"\0\x05\0\x09g")


def test_partitions_by_topic() -> None:
    entry = messages.ShareGroupTargetAssignmentMemberValue.TopicPartition
    assert partitions_of([entry(topic_id=TOPIC, partitions=[2, 0])]) == {TOPIC: frozenset({0, 2})}

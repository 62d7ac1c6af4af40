"""Records that all newer kinds of groups have, applied to each kind.

Also tests: broker_lite.coordinator.newer_group.
"""

from typing import Any

import pytest

from broker_lite.coordinator.consumer.group import ConsumerGroup
from broker_lite.coordinator.consumer.replay import apply_record as apply_consumer
from broker_lite.coordinator.group_records import encode_value, target_epoch_value
from broker_lite.coordinator.group_replay import apply_group_epoch
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share.replay import apply_record as apply_share
from broker_lite.coordinator.streams.group import StreamsGroup
from broker_lite.coordinator.streams.replay import apply_record as apply_streams
from broker_lite.wire import DecodeError, messages
from tests.coordinator.consumer.consumer_driver import Driver

APPLY: dict[type[Any], Any] = {
    ConsumerGroup: apply_consumer,
    ShareGroup: apply_share,
    StreamsGroup: apply_streams,
}
KINDS = pytest.mark.parametrize("kind", ["Consumer", "Share", "Streams"])


def made(kind: str) -> Any:
    """A group of a kind that is new."""
    group = Driver().group
    if kind == "Consumer":
        return group
    make = ShareGroup if kind == "Share" else StreamsGroup
    return make("g", group.timers.all_groups, group.settings, group.topics)


def value_of(kind: str, record: str, **fields: Any) -> bytes:
    """The value of a record of a kind."""
    message = getattr(messages, f"{kind}Group{record}Value")
    return encode_value(message, message(**fields))


def apply(group: Any, key: bytes, value: bytes | None) -> None:
    """Apply a record to a group of any kind."""
    APPLY[type(group)](group, int.from_bytes(key[:2]), key, value)


def member(group: Any) -> Any:
    """The only member."""
    return group.roster.members["m"]


@KINDS
def test_epochs_are_applied(kind: str) -> None:
    group = made(kind)
    assert group.is_unwritten
    said = messages.ShareGroupMetadataValue(epoch=7, metadata_hash=-5)
    apply_group_epoch(group, said)
    assert (group.group_epoch, group.metadata_hash, group.is_deleted) == (7, -5, False)
    assert not group.is_unwritten
    apply(group, group.record_types.target_epoch_key("g"), target_epoch_value(6, 1234))
    apply(group, group.record_types.target_epoch_key("g"), None)
    assert (group.target_epoch, group.target_timestamp_ms) == (6, 1234)
    apply(group, group.record_types.group_epoch_key("g"), None)
    assert group.is_deleted
    apply_group_epoch(group, said)
    assert not group.is_deleted


@KINDS
def test_targets_are_applied(kind: str) -> None:
    group = made(kind)
    key = group.record_types.target_key("g", "m")
    apply(group, key, value_of(kind, "TargetAssignmentMember"))
    assert list(group.targets) == ["m"]
    apply(group, key, None)
    apply(group, group.record_types.target_key("g", "unknown"), None)
    assert not group.targets
    with pytest.raises(DecodeError):
        apply(group, key, b"\0\0")


@KINDS
def test_members_and_what_they_have_come_in_any_order(kind: str) -> None:
    group = made(kind)
    joined, current = (
        group.record_types.member_key("g", "m"),
        group.record_types.current_key("g", "m"),
    )
    has = value_of(kind, "CurrentMemberAssignment", member_epoch=4, previous_member_epoch=3)
    told = value_of(kind, "MemberMetadata", client_id="c")
    apply(group, current, has)
    assert (member(group).member_epoch, member(group).client_id) == (4, "")
    apply(group, joined, told)
    assert (member(group).member_epoch, member(group).client_id) == (4, "c")
    apply(group, current, None)
    assert (member(group).member_epoch, member(group).client_id) == (0, "c")
    apply(group, current, has)
    assert (member(group).previous_member_epoch, member(group).client_id) == (3, "c")
    apply(group, joined, None)
    apply(group, joined, None)
    apply(group, current, None)
    assert not group.roster.members


@KINDS
def test_records_of_other_types_do_nothing(kind: str) -> None:
    group = made(kind)
    apply(group, b"\0\x63", b"")
    assert group.is_unwritten

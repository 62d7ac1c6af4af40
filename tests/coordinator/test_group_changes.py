"""Changes that all newer kinds of groups have."""

from broker_lite.coordinator.consumer.member import ConsumerMember
from broker_lite.coordinator.effects import Effects
from broker_lite.coordinator.group_changes import drop_group, drop_member, put_target_epoch
from broker_lite.coordinator.group_records import CONSUMER, SHARE, target_epoch_value
from broker_lite.coordinator.share.group import ShareGroup
from broker_lite.coordinator.share.member import ShareMember
from tests.coordinator.consumer.consumer_driver import Driver


def test_the_epoch_of_a_target_is_kept_and_written() -> None:
    group, effects = Driver().group, Effects()
    put_target_epoch(group, 5, 77, effects)
    assert (group.target_epoch, group.target_timestamp_ms) == (5, 77)
    assert effects.records == [(CONSUMER.target_epoch_key("group"), target_epoch_value(5, 77))]


def test_a_member_is_dropped_with_its_target() -> None:
    group, effects = Driver().group, Effects()
    group.roster.put(ConsumerMember(member_id="m"))
    group.targets["m"] = {}
    drop_member(group, "m", effects)
    assert not group.roster.members
    assert not group.targets
    keys = [CONSUMER.current_key("group", "m"), CONSUMER.target_key("group", "m")]
    assert effects.records == [(key, None) for key in (*keys, CONSUMER.member_key("group", "m"))]


def test_a_group_is_dropped_with_its_members() -> None:
    """The records are in Kafka's order; those of the kind come before the group's own."""
    plain, effects = Driver().group, Effects()
    group = ShareGroup("group", plain.timers.all_groups, plain.settings, plain.topics)
    for name in "ab":
        group.roster.put(ShareMember(member_id=name))
    drop_group(group, [b"other"], effects)
    assert group.is_deleted
    assert [each.key for each in effects.records] == [
        SHARE.current_key("group", "a"),
        SHARE.current_key("group", "b"),
        SHARE.target_key("group", "a"),
        SHARE.target_key("group", "b"),
        SHARE.target_epoch_key("group"),
        SHARE.member_key("group", "a"),
        SHARE.member_key("group", "b"),
        b"other",
        SHARE.group_epoch_key("group"),
    ]

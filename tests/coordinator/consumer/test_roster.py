"""What is known of the members of a consumer group as they come, change and go."""

from broker_lite.coordinator.consumer.member import ClassicMemberData, ConsumerMember
from broker_lite.coordinator.consumer.roster import ConsumerRoster

CLASSIC = ClassicMemberData(session_timeout_ms=1, protocols=(("range", b""), ("sticky", b"")))
TOPIC = b"t" * 16


def roster(*members: ConsumerMember) -> ConsumerRoster:
    made = ConsumerRoster()
    for member in members:
        made.put(member)
    return made


def test_g94_a_partition_has_one_owner() -> None:
    first = ConsumerMember(member_id="a", assigned={TOPIC: {0: 1}}, pending_revocation={})
    second = ConsumerMember(member_id="b", pending_revocation={TOPIC: {1: 1}})
    group = roster(first, second)
    assert [group.owner_of(TOPIC, index) for index in range(3)] == ["a", "b", None]
    group.put_current(ConsumerMember(member_id="b", assigned={TOPIC: {2: 1}}))
    assert [group.owner_of(TOPIC, index) for index in range(3)] == ["a", None, "b"]
    group.remove("a")
    assert group.owner_of(TOPIC, 0) is None


def test_a_partition_that_another_member_has_already_is_not_released() -> None:
    """In a log that was cleaned, the next owner may come before the last one lets go."""
    group = roster(
        ConsumerMember(member_id="a", assigned={TOPIC: {0: 1}}),
        ConsumerMember(member_id="b", assigned={TOPIC: {0: 2}}),
    )
    group.remove("a")
    assert group.owner_of(TOPIC, 0) == "b"


def test_subscriptions_are_counted() -> None:
    group = roster(
        ConsumerMember(member_id="a", topic_names=("t", "u"), regex="x.*"),
        ConsumerMember(member_id="b", topic_names=("t",), regex="x.*"),
    )
    assert set(group.topic_names) == {"t", "u"}
    assert group.subscribers_of_regex("x.*") == 2
    group.put(ConsumerMember(member_id="a", topic_names=("t",)))
    assert set(group.topic_names) == {"t"}
    assert group.has_subscribers_by_name(["u", "t"])
    assert not group.has_subscribers_by_name(["u"])
    assert group.subscribed_regexes == {"x.*"}
    group.remove("b")
    assert group.subscribed_regexes == frozenset()
    assert group.subscribers_of_regex("x.*") == 0


def test_g96_the_assignor_that_most_members_ask_for() -> None:
    group = roster(ConsumerMember(member_id="a"))
    assert group.preferred_assignor() is None
    group.put(ConsumerMember(member_id="a", server_assignor="range"))
    group.put(ConsumerMember(member_id="b", server_assignor="uniform"))
    assert group.preferred_assignor() == "uniform"
    group.put(ConsumerMember(member_id="c", server_assignor="range"))
    assert group.preferred_assignor() == "range"


def test_g108_members_of_the_classic_protocol() -> None:
    group = roster(ConsumerMember(member_id="a", classic=CLASSIC), ConsumerMember(member_id="b"))
    assert group.classic_count == 1
    assert group.classic_members_know_one_of(["other", "sticky"])
    assert not group.classic_members_know_one_of(["other"])
    group.remove("a")
    assert group.classic_count == 0


def test_static_members_have_one_id_each() -> None:
    group = roster(ConsumerMember(member_id="a", instance_id="i"))
    group.put(ConsumerMember(member_id="b", instance_id="i"))
    group.remove("a")
    assert group.static_members == {"i": "b"}
    group.put(ConsumerMember(member_id="b", instance_id="j"))
    assert group.static_members == {"j": "b"}


def test_what_members_hold_is_counted() -> None:
    group = roster(ConsumerMember(member_id="a", topic_names=("t",)))
    held = group.held.count
    group.put(ConsumerMember(member_id="a", topic_names=("t", "four")))
    assert group.held.count == held + 4
    group.remove("a")
    group.remove("a")
    assert group.held.count == 0

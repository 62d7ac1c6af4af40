"""G-97: the `range` assignor.

Also tests: broker_lite.coordinator.assignors.assignor.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.coordinator.assignors.assignor import AssignorMember
from broker_lite.coordinator.assignors.range import assign_range
from tests.coordinator.assignors.cases import cases, check_valid


def member(member_id: str, topics: bytes, instance_id: str | None = None) -> AssignorMember:
    return AssignorMember(member_id, instance_id, frozenset(bytes([t]) for t in topics), {})


def test_shares_of_one_topic() -> None:
    """G-97: the first ones get one more."""
    members = [member("b", b"t"), member("a", b"t"), member("c", b"t")]
    targets = assign_range(members, {b"t": 7})
    assert targets["a"] == {b"t": {0, 1, 2}}
    assert targets["b"] == {b"t": {3, 4}}
    assert targets["c"] == {b"t": {5, 6}}


def test_static_members_come_first() -> None:
    """G-97: by instance id, so that a restart changes nothing."""
    members = [member("a", b"t"), member("z", b"t", "i1"), member("y", b"t", "i2")]
    targets = assign_range(members, {b"t": 3})
    assert targets == {"z": {b"t": {0}}, "y": {b"t": {1}}, "a": {b"t": {2}}}


def test_topics_that_belong_together() -> None:
    """G-97: the same member has the same partitions of equally large topics."""
    members = [member("a", b"tu"), member("b", b"tu"), member("c", b"u")]
    targets = assign_range(members[:2], {b"t": 4, b"u": 4})
    assert all(target[b"t"] == target[b"u"] for target in targets.values())
    mixed = assign_range(members, {b"t": 4, b"u": 3})
    assert mixed == {
        "a": {b"t": {0, 1}, b"u": {0}},
        "b": {b"t": {2, 3}, b"u": {1}},
        "c": {b"u": {2}},
    }


def test_more_members_than_partitions() -> None:
    members = [member(name, b"t") for name in "abc"]
    assert assign_range(members, {b"t": 1}) == {"a": {b"t": {0}}, "b": {}, "c": {}}
    assert assign_range([], {}) == {}


@settings(max_examples=60, deadline=None)
@given(case=cases())
def test_every_partition_goes_to_one_subscriber(
    case: tuple[list[AssignorMember], dict[bytes, int]],
) -> None:
    """G-97: ranges without gaps, sizes that differ by one at most in each topic."""
    members, counts = case
    targets = assign_range(members, counts)
    check_valid(members, counts, targets)
    for topic_id, count in counts.items():
        subscribers = [m for m in members if topic_id in m.topic_ids]
        sizes = [len(targets[m.member_id].get(topic_id, ())) for m in subscribers]
        assert not sizes or max(sizes) - min(sizes) <= 1
        for one in subscribers:
            partitions = sorted(targets[one.member_id].get(topic_id, ()))
            if partitions:
                assert partitions == list(range(partitions[0], partitions[-1] + 1))
                assert partitions[-1] < count


@given(data=st.data(), case=cases())
@settings(max_examples=30, deadline=None)
def test_nothing_changes_without_a_reason(
    data: st.DataObject, case: tuple[list[AssignorMember], dict[bytes, int]]
) -> None:
    """G-97: neither by the order of members nor by asking again, which gives the same objects."""
    members, counts = case
    targets = assign_range(members, counts)
    shuffled = data.draw(
        st.permutations([m._replace(target=targets[m.member_id]) for m in members])
    )
    again = assign_range(shuffled, counts)
    assert again == targets
    assert all(again[member_id] is target for member_id, target in targets.items())

"""The assignor `simple`: everybody has something to read, and everything has a reader."""

from hypothesis import given
from hypothesis import strategies as st

from broker_lite.coordinator.share.assign import assign_simple

TOPICS = [b"t", b"u", b"v"]


def test_k05_more_members_than_partitions() -> None:
    every = frozenset((b"t",))
    targets = assign_simple({"a": every, "b": every, "c": every}, {b"t": 2})
    assert targets == {"a": {b"t": {0}}, "b": {b"t": {1}}, "c": {b"t": {0}}}


def test_equal_partitions_of_members_are_one_object() -> None:
    """Comparing the targets of many members with their last ones is fast then."""
    every = frozenset((b"t", b"u"))
    members = {f"m{number}": every for number in range(20)}
    first, second = (assign_simple(members, {b"t": 1, b"u": 2}) for _ in range(2))
    sets = [
        one for targets in (first, second) for each in targets.values() for one in each.values()
    ]
    assert set(sets) == {frozenset((0,)), frozenset((1,))}
    assert len(set(map(id, sets))) == 2


def test_k05_the_next_topic_goes_on_with_the_next_member() -> None:
    every, some = frozenset((b"t", b"u", b"v")), frozenset((b"t", b"v"))
    counts = {b"t": 4, b"u": 3, b"v": 2}
    assert assign_simple({"a": every, "b": some, "c": every}, counts) == {
        "a": {b"t": {0, 3}, b"u": {0, 2}, b"v": {0}},
        "b": {b"t": {1}, b"v": {0}},
        "c": {b"t": {2}, b"u": {1}, b"v": {1}},
    }


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.sets(st.sampled_from(TOPICS))),
    st.lists(st.integers(1, 6), min_size=3, max_size=3),
)
def test_k05_balanced(names: dict[str, set[bytes]], sizes: list[int]) -> None:
    subscriptions = {member: frozenset(some) for member, some in names.items()}
    counts = dict(zip(TOPICS, sizes, strict=True))
    targets = assign_simple(subscriptions, counts)
    assert targets.keys() == subscriptions.keys()
    for topic_id, count in counts.items():
        subscribers = [each for each, some in subscriptions.items() if topic_id in some]
        parts = [targets[each].get(topic_id, frozenset()) for each in subscribers]
        if subscribers:
            assert frozenset().union(*parts) == frozenset(range(count))
            assert max(map(len, parts)) - min(map(len, parts)) <= 1
        for each in targets.keys() - set(subscribers):
            assert topic_id not in targets[each]

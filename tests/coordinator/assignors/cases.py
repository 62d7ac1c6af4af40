"""Groups to be assigned: members, subscriptions and what each had before."""

from typing import Any

from hypothesis import strategies as st

from broker_lite.coordinator.assignors.assignor import Assignment, AssignorMember, PartitionCounts

TOPICS = [bytes([letter]) * 16 for letter in b"abcdef"]


@st.composite
def cases(draw: st.DrawFn, *, same: bool = False) -> tuple[list[AssignorMember], dict[bytes, int]]:
    """Members that had anything before: gone topics, too large numbers, but nothing twice."""
    size = draw(st.integers(1, 7))
    subscriptions = st.frozensets(st.sampled_from(TOPICS), max_size=6)
    shared = draw(subscriptions)
    before: list[dict[bytes, set[int]]] = [{} for _ in range(size)]
    for topic_id in TOPICS:
        for partition in range(8):
            owner = draw(st.integers(-2, size - 1))
            if owner >= 0:
                before[owner].setdefault(topic_id, set()).add(partition)
    members = []
    known: dict[frozenset[bytes], frozenset[bytes]] = {}
    for index in range(size):
        topic_ids = shared if same else draw(subscriptions)
        members.append(
            AssignorMember(
                f"m{index}",
                draw(st.sampled_from([None, f"i{index}"])),
                known.setdefault(topic_ids, topic_ids),
                {topic_id: frozenset(partitions) for topic_id, partitions in before[index].items()},
            )
        )
    counts = {
        topic_id: draw(st.integers(1, 8))
        for topic_id in sorted(frozenset().union(*(m.topic_ids for m in members)))
    }
    return members, counts


def check_valid(
    members: list[AssignorMember], counts: PartitionCounts, targets: Assignment
) -> None:
    """Every partition has exactly one member, which subscribes to it; nothing else is given."""
    assert set(targets) == {member.member_id for member in members}
    given: dict[tuple[bytes, int], str] = {}
    for member in members:
        for topic_id, partitions in targets[member.member_id].items():
            assert partitions
            assert topic_id in member.topic_ids
            for partition in partitions:
                assert given.setdefault((topic_id, partition), member.member_id) == member.member_id
    assert set(given) == {(t, p) for t, count in counts.items() for p in range(count)}


def size_of(target: Any) -> int:
    return sum(map(len, target.values()))


def kept(member: AssignorMember, target: Any) -> int:
    """How many partitions a member has both before and after."""
    return sum(
        len(partitions & target.get(topic_id, frozenset()))
        for topic_id, partitions in member.target.items()
    )

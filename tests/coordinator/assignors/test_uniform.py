"""G-98: the `uniform` assignor, all members with the same subscription.

Also tests: broker_lite.coordinator.assignors.assignor.
"""

from hypothesis import given, settings

from broker_lite.coordinator.assignors.assignor import AssignorMember
from broker_lite.coordinator.assignors.uniform import assign_uniform
from tests.coordinator.assignors.cases import TOPICS, cases, check_valid, kept, size_of

Case = tuple[list[AssignorMember], dict[bytes, int]]


def test_nobody_and_nothing() -> None:
    """G-98."""
    assert assign_uniform([], {}) == {}
    assert assign_uniform([AssignorMember("m", None, frozenset(), {})], {}) == {"m": {}}


def test_a_new_member_takes_only_its_share() -> None:
    """G-98: from whoever has most; the others keep the very same objects."""
    topic_ids = frozenset(TOPICS[:1])
    targets = [frozenset({0, 1}), frozenset({2, 3}), frozenset({4, 5, 6})]
    members = [
        AssignorMember(f"m{index}", None, topic_ids, {TOPICS[0]: target})
        for index, target in enumerate(targets)
    ]
    members.append(AssignorMember("new", None, topic_ids, {}))
    assigned = assign_uniform(members, {TOPICS[0]: 7})
    assert assigned["m0"] is members[0].target
    assert assigned["m1"] is members[1].target
    assert assigned["m2"] == {TOPICS[0]: {4, 5}}
    assert assigned["new"] == {TOPICS[0]: {6}}


@settings(max_examples=100, deadline=None)
@given(case=cases(same=True))
def test_balanced_and_sticky(case: Case) -> None:
    """G-98: sizes differ by one at most, and nobody gives up more than it has too much."""
    members, counts = case
    targets = assign_uniform(members, counts)
    check_valid(members, counts, targets)
    sizes = [size_of(target) for target in targets.values()]
    assert max(sizes) - min(sizes) <= 1
    for member in members:
        valid = sum(
            len({p for p in partitions if p < counts.get(topic_id, 0)})
            for topic_id, partitions in member.target.items()
        )
        target = targets[member.member_id]
        assert kept(member, target) == min(valid, size_of(target))


@settings(max_examples=30, deadline=None)
@given(case=cases(same=True))
def test_asking_again_changes_nothing(case: Case) -> None:
    """G-98: the same objects come back."""
    members, counts = case
    targets = assign_uniform(members, counts)
    again = assign_uniform([m._replace(target=targets[m.member_id]) for m in members], counts)
    assert all(again[member_id] is target for member_id, target in targets.items())


def test_500_members_over_1000_partitions() -> None:
    """G-98: from nothing all get as many; one more member takes from as few as it can."""
    topic_ids, counts = frozenset(TOPICS[:1]), {TOPICS[0]: 1_000}
    members = [AssignorMember(f"m{index}", None, topic_ids, {}) for index in range(500)]
    targets = assign_uniform(members, counts)
    assert {size_of(target) for target in targets.values()} == {2}
    members = [m._replace(target=targets[m.member_id]) for m in members]
    members.append(AssignorMember("new", None, topic_ids, {}))
    grown = assign_uniform(members, counts)
    assert size_of(grown["new"]) == 1
    assert sum(grown[m.member_id] != m.target for m in members[:-1]) == 1

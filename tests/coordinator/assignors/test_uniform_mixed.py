"""G-99: the `uniform` assignor, members with different subscriptions."""

from hypothesis import given, settings

from broker_lite.coordinator.assignors.assignor import AssignorMember
from broker_lite.coordinator.assignors.uniform import assign_uniform
from tests.coordinator.assignors.cases import TOPICS, cases, check_valid, kept, size_of

Case = tuple[list[AssignorMember], dict[bytes, int]]


@settings(max_examples=150, deadline=None)
@given(case=cases())
def test_balanced_among_subscribers(case: Case) -> None:
    """G-99: no partition could go to a subscriber that has fewer by two at least."""
    members, counts = case
    targets = assign_uniform(members, counts)
    check_valid(members, counts, targets)
    sizes = {member_id: size_of(target) for member_id, target in targets.items()}
    for member in members:
        for topic_id in targets[member.member_id]:
            for other in members:
                if topic_id in other.topic_ids:
                    assert sizes[member.member_id] - sizes[other.member_id] <= 1


@settings(max_examples=50, deadline=None)
@given(case=cases())
def test_asking_again_changes_nothing(case: Case) -> None:
    """G-99: what is balanced stays as it is."""
    members, counts = case
    targets = assign_uniform(members, counts)
    again = assign_uniform([m._replace(target=targets[m.member_id]) for m in members], counts)
    assert all(again[member_id] is target for member_id, target in targets.items())


@settings(max_examples=50, deadline=None)
@given(case=cases())
def test_a_member_that_leaves_costs_the_others_nothing_but_balance(case: Case) -> None:
    """G-99: whoever remains and is not above the rest keeps all that it had."""
    members, counts = case
    targets = assign_uniform(members, counts)
    rest = [m._replace(target=targets[m.member_id]) for m in members[1:]]
    left = {t: c for t, c in counts.items() if any(t in m.topic_ids for m in rest)}
    again = assign_uniform(rest, left)
    largest = max((size_of(target) for target in again.values()), default=0)
    for member in rest:
        if size_of(again[member.member_id]) == largest:
            continue
        lost = size_of(member.target) - kept(member, again[member.member_id])
        assert lost <= size_of(targets["m0"]) + len(rest)


def test_topics_with_few_subscribers_come_first() -> None:
    """G-99: the others make up for them."""
    a, b = TOPICS[:2]
    members = [
        AssignorMember("both", None, frozenset({a, b}), {}),
        AssignorMember("only", None, frozenset({a}), {}),
    ]
    targets = assign_uniform(members, {a: 4, b: 4})
    assert targets == {"both": {b: {0, 1, 2, 3}}, "only": {a: {0, 1, 2, 3}}}


def test_a_chain_of_moves() -> None:
    """G-99: what one gives to the next goes on until no step helps any more."""
    members = [
        AssignorMember(
            f"m{index}",
            None,
            frozenset(TOPICS[index : index + 2]),
            {TOPICS[0]: frozenset(range(8))} if index == 0 else {},
        )
        for index in range(4)
    ]
    members[1] = members[1]._replace(target={TOPICS[1]: frozenset(range(8))})
    counts = {TOPICS[0]: 8, TOPICS[1]: 8, TOPICS[2]: 2, TOPICS[3]: 2, TOPICS[4]: 1}
    targets = assign_uniform(members, counts)
    check_valid(members, counts, targets)
    sizes = [size_of(targets[f"m{index}"]) for index in range(4)]
    assert sizes == [8, 8, 3, 2] or max(sizes) == 8


def test_a_chain_that_is_too_long() -> None:
    """G-99: what would take very many moves stays less than balanced, and valid."""
    topic_ids = [b"%016d" % index for index in range(45)]
    counts = dict.fromkeys(topic_ids, 1_000)
    members = [
        AssignorMember(
            f"m{index}",
            None,
            frozenset(topic_ids[max(index - 1, 0) : index + 1]),
            {topic_id: frozenset(range(1_000)) for topic_id in topic_ids[index : index + 1]},
        )
        for index in range(46)
    ]
    targets = assign_uniform(members, counts)
    check_valid(members, counts, targets)
    sizes = [size_of(targets[f"m{index}"]) for index in range(46)]
    assert sizes[0] == 1_000
    assert sizes[45] > 900


def test_500_members_over_1000_topics() -> None:
    """G-99: with ten kinds of subscriptions."""
    topic_ids = [b"%016d" % index for index in range(1_000)]
    kinds = [frozenset(topic_ids[kind::10] + topic_ids[:100]) for kind in range(10)]
    members = [AssignorMember(f"m{index}", None, kinds[index % 10], {}) for index in range(500)]
    targets = assign_uniform(members, dict.fromkeys(topic_ids, 1))
    check_valid(members, dict.fromkeys(topic_ids, 1), targets)

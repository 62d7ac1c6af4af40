"""How many partitions the internal topics of a topology need.

A repartition topic has as many as the largest input of the subtopologies that write to it, if the
client does not say it; topics that are copartitioned have the same number; a changelog has one for
each task of its subtopology.

Rule: U-13 (RepartitionTopics, CopartitionedTopicsEnforcer, ChangelogTopics).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from heapq import heappop, heappush

from broker_lite.coordinator.streams.java_order import hash_order
from broker_lite.coordinator.streams.topology import Subtopology, Topology
from broker_lite.errors import StreamsInvalidTopology, UnknownServerError

ExistingCount = Callable[[str], int | None]
"""The number of partitions of a topic, None if there is none."""


class IncorrectlyPartitioned(Exception):
    """Topics of a topology do not have the numbers of partitions that it needs."""


def partition_counts(topology: Topology, existing: ExistingCount) -> dict[str, int]:
    """Return the number of partitions of each internal topic, whether it exists or not.

    Args:
        topology: all of its source topics exist.
        existing: tells the numbers of partitions of topics that exist.

    Raises:
        StreamsInvalidTopology: the numbers cannot be found.
        IncorrectlyPartitioned: copartitioned topics differ.
        UnknownServerError: the topology contradicts itself in a way at which Kafka fails, too.
    """
    by_id = topology.by_id()
    subtopologies = [by_id[each] for each in hash_order(by_id)]
    counts = _repartition_counts(subtopologies, existing)

    def count_of(name: str) -> int:
        count = existing(name)
        if count is None:
            count = counts.get(name)
        if count is None:
            raise UnknownServerError
        return count

    fixed = {
        topic.name
        for each in subtopologies
        for topic in each.repartition_sources
        if topic.partition_count
    }
    flexible = {
        topic.name
        for each in subtopologies
        for topic in each.repartition_sources
        if not topic.partition_count
    }
    fixed_counts = set(map(count_of, fixed))
    for group in _copartition_groups(subtopologies):
        if group:
            counts.update(_copartitioned(group, fixed, fixed_counts, flexible, count_of))
    for each in subtopologies:
        inputs = [count_of(name) for name in each.inputs()]
        if not inputs:
            raise StreamsInvalidTopology(
                f"No source topics found for subtopology {each.subtopology_id}"
            )
        counts.update((topic.name, max(inputs)) for topic in each.changelogs)
    return counts


def _repartition_counts(
    subtopologies: Sequence[Subtopology], existing: ExistingCount
) -> dict[str, int]:
    """Find the numbers of repartition topics, from those of the topics that flow into them."""
    counts = {
        topic.name: topic.partition_count
        for each in subtopologies
        for topic in each.repartition_sources
        if topic.partition_count
    }
    _follow_sinks(subtopologies, counts, existing)
    if any(name not in counts for each in subtopologies for name in each.repartition_sinks):
        raise StreamsInvalidTopology(
            "Failed to compute number of partitions for all repartition topics. There may be "
            "loops in the topology that cannot be resolved."
        )
    if any(
        topic.name not in counts for each in subtopologies for topic in each.repartition_sources
    ):
        raise StreamsInvalidTopology(
            "Failed to compute number of partitions for all repartition topics, because a "
            "repartition source topic is never used as a sink topic."
        )
    return counts


def _follow_sinks(
    subtopologies: Sequence[Subtopology], counts: dict[str, int], existing: ExistingCount
) -> None:
    """Add the numbers of the topics that subtopologies write to, as far as they can be found.

    Kafka goes over all subtopologies in rounds. One that has an input with a known number gives the
    largest of its inputs to all of its sinks; the others wait for the next round. Here, one that
    waits is looked at when the first of its inputs becomes known: in the same round if it comes
    later than the one that writes to this input, else in the next. So the numbers are Kafka's, and
    each subtopology is looked at once.
    """
    due: list[tuple[int, int]] = []
    waiting: dict[str, list[int]] = {}
    for place, each in enumerate(subtopologies):
        if not each.repartition_sinks:
            continue
        if _largest_input(each, counts, existing) is not None:
            due.append((0, place))
            continue
        for topic in each.repartition_sources:
            waiting.setdefault(topic.name, []).append(place)
    # a sorted list is a heap
    is_due = {place for _, place in due}
    while due:
        passed, place = heappop(due)
        count = _largest_input(subtopologies[place], counts, existing)
        assert count is not None, "one of its inputs is known"
        for sink in subtopologies[place].repartition_sinks:
            if sink in counts:
                continue
            counts[sink] = count
            for later in waiting.pop(sink, ()):
                if later not in is_due:
                    is_due.add(later)
                    heappush(due, (passed + (later < place), later))


def _largest_input(
    subtopology: Subtopology, counts: Mapping[str, int], existing: ExistingCount
) -> int | None:
    found = [counts.get(topic.name) for topic in subtopology.repartition_sources]
    found += map(existing, subtopology.source_topics)
    return max((count for count in found if count is not None), default=None)


def _copartition_groups(subtopologies: Iterable[Subtopology]) -> Iterator[frozenset[str]]:
    for each in subtopologies:
        sources = each.source_topics
        repartitions = [topic.name for topic in each.repartition_sources]
        for group in each.copartition_groups:
            yield frozenset(
                [_at(sources, index) for index in group.source_topics]
                + [_at(repartitions, index) for index in group.repartition_source_topics]
            )


def _at(names: Sequence[str], index: int) -> str:
    if not 0 <= index < len(names):
        raise UnknownServerError
    return names[index]


def _copartitioned(
    group: frozenset[str],
    fixed: set[str],
    fixed_counts: set[int],
    flexible: set[str],
    count_of: Callable[[str], int],
) -> dict[str, int]:
    """Return the number of partitions of the repartition topics of a copartition group.

    As in Kafka, a group of repartition topics only compares all topics of the topology with a
    number from the client, also those of other groups.

    Args:
        group: names of topics, at least one.
        fixed: the repartition topics of the topology with a number from the client.
        fixed_counts: the numbers that these topics have.
        flexible: its other repartition topics.
        count_of: tells the number of a topic.
    """
    counts = {name: count_of(name) for name in group}
    repartition = {name: counts[name] for name in group if name in fixed or name in flexible}
    others = {name: count for name, count in counts.items() if name not in repartition}
    if others:
        count = _only_one(set(others.values()), others)
    elif fixed:
        count = _only_one(fixed_counts, repartition)
    else:
        count = max(repartition.values())
    for name in sorted(repartition):
        if name in fixed and repartition[name] != count:
            raise IncorrectlyPartitioned(
                f"Number of partitions [{repartition[name]}] of repartition topic [{name}] doesn't "
                f"match number of partitions [{count}] of the source topic."
            )
    return dict.fromkeys(repartition, count)


def _only_one(counts: Set[int], told: Mapping[str, int]) -> int:
    """Return the number that all have.

    Args:
        counts: at least one.
        told: the topics that the error names.
    """
    if len(counts) > 1:
        names = ", ".join(f"{name}={told[name]}" for name in sorted(told))
        raise IncorrectlyPartitioned(
            f"Following topics do not have the same number of partitions: [{{{names}}}]"
        )
    return next(iter(counts))

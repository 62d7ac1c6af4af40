"""The numbers of partitions of internal topics, found as Kafka does it: in rounds over all of them.

It takes the square of the size of the topology. Tests compare the faster way with it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from broker_lite.coordinator.streams.java_order import hash_order
from broker_lite.coordinator.streams.partition_counts import ExistingCount, IncorrectlyPartitioned
from broker_lite.coordinator.streams.topology import Subtopology, Topology
from broker_lite.errors import StreamsInvalidTopology, UnknownServerError


def counts_by_rounds(topology: Topology, existing: ExistingCount) -> dict[str, int]:
    """Return what partition_counts() returns, or raise what it raises."""
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
    for group in _copartition_groups(subtopologies):
        if group:
            counts.update(_copartitioned(group, fixed, flexible, count_of))
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
    is_missing = True
    while is_missing:
        is_missing = has_progress = False
        for each in subtopologies:
            for sink in each.repartition_sinks:
                if sink in counts:
                    continue
                count = _largest_input(each, counts, existing)
                if count is None:
                    is_missing = True
                else:
                    counts[sink] = count
                    has_progress = True
        if is_missing and not has_progress:
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
    flexible: set[str],
    count_of: Callable[[str], int],
) -> dict[str, int]:
    """Return the number of partitions of the repartition topics of a copartition group.

    As in Kafka, a group of repartition topics only compares all topics of the topology with a
    number from the client, also those of other groups.
    """
    counts = {name: count_of(name) for name in group}
    repartition = {name: counts[name] for name in group if name in fixed or name in flexible}
    others = {name: count for name, count in counts.items() if name not in repartition}
    if others:
        count = _only_one(others.values(), others)
    elif fixed:
        count = _only_one(map(count_of, sorted(fixed)), repartition)
    else:
        count = max(repartition.values())
    for name in sorted(repartition):
        if name in fixed and repartition[name] != count:
            raise IncorrectlyPartitioned(
                f"Number of partitions [{repartition[name]}] of repartition topic [{name}] doesn't "
                f"match number of partitions [{count}] of the source topic."
            )
    return dict.fromkeys(repartition, count)


def _only_one(counts: Iterable[int], told: Mapping[str, int]) -> int:
    """Return the number that all have.

    Args:
        counts: at least one.
        told: the topics that the error names.
    """
    found = set(counts)
    if len(found) > 1:
        names = ", ".join(f"{name}={told[name]}" for name in sorted(told))
        raise IncorrectlyPartitioned(
            f"Following topics do not have the same number of partitions: [{{{names}}}]"
        )
    return found.pop()

"""Numbers of partitions of internal topics, as measured on Kafka 4.3.1."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite.coordinator.streams.partition_counts import (
    IncorrectlyPartitioned,
    partition_counts,
)
from broker_lite.coordinator.streams.topology import topology_of
from broker_lite.errors import BrokerError, StreamsInvalidTopology, UnknownServerError
from tests.coordinator.streams.partition_rounds import counts_by_rounds
from tests.coordinator.streams.streams_driver import subtopology, topology


def counts(*subtopologies: Any, **existing: int) -> dict[str, int]:
    return partition_counts(topology_of(topology(*subtopologies)), existing.get)


def test_a_changelog_has_one_for_each_task() -> None:
    """U-13."""
    assert counts(subtopology("0", "a", "b", changelogs=["c"]), a=2, b=5) == {"c": 5}


def test_a_repartition_topic_has_those_of_its_largest_input() -> None:
    """U-13: also over several steps, in whatever order the client tells the subtopologies."""
    first = subtopology("0", "a", sinks=["r"])
    second = subtopology("1", "b", repartitions=[("r",)], sinks=["q"])
    last = subtopology("2", repartitions=[("q",)], changelogs=["c"])
    assert counts(last, second, first, a=3, b=2) == {"r": 3, "q": 3, "c": 3}


def test_only_inputs_that_are_known_by_then_count() -> None:
    """U-13: Kafka takes subtopologies by the hash of their ids, and does not look again."""
    first = subtopology("2", "a", sinks=["r"])
    second = subtopology("1", "b", repartitions=[("r",)], sinks=["q"])
    last = subtopology("0", repartitions=[("q",)], changelogs=["c"])
    assert counts(last, second, first, a=3, b=2) == {"r": 3, "q": 2, "c": 2}


def test_the_clients_number_wins() -> None:
    first, last = subtopology("0", "a", sinks=["r"]), subtopology("1", repartitions=[("r", 7)])
    assert counts(first, last, a=3) == {"r": 7}


def test_repartition_topics_get_the_number_of_what_they_are_joined_with() -> None:
    first = subtopology("0", "a", sinks=["r"])
    last = subtopology("1", "b", repartitions=[("r",)], groups=[([0], [0])])
    assert counts(first, last, a=3, b=5) == {"r": 5}


def test_repartition_topics_alone_get_the_largest_number() -> None:
    first = subtopology("0", "a", sinks=["r"])
    second = subtopology("1", "b", sinks=["q"])
    last = subtopology("2", repartitions=[("r",), ("q",)], groups=[([], [0, 1])])
    assert counts(first, second, last, a=3, b=5) == {"r": 5, "q": 5}


def test_repartition_topics_alone_get_the_clients_number() -> None:
    first = subtopology("0", "a", sinks=["r", "q"])
    last = subtopology("1", repartitions=[("r", 4), ("q",)], groups=[([], [0, 1])])
    assert counts(first, last, a=3) == {"r": 4, "q": 4}


def test_an_empty_copartition_group_says_nothing() -> None:
    assert counts(subtopology("0", "a", groups=[([], [])]), a=1) == {}


DIFFERENT = "Following topics do not have the same number of partitions: [{a=1, b=2}]"
FIXED = (
    "Number of partitions [4] of repartition topic [r] doesn't match number of partitions [1] of "
    "the source topic."
)
TWO_NUMBERS = "Following topics do not have the same number of partitions: [{q=5, r=4}]"


@pytest.mark.parametrize(
    ("subtopologies", "text"),
    [
        ([subtopology("0", "a", "b", groups=[([0, 1], [])])], DIFFERENT),
        ([subtopology("0", "a", repartitions=[("r", 4)], groups=[([0], [0])])], FIXED),
        ([subtopology("0", repartitions=[("r", 4), ("q", 5)], groups=[([], [0, 1])])], TWO_NUMBERS),
    ],
)
def test_copartitioned_topics_have_the_same_number(subtopologies: list[Any], text: str) -> None:
    """U-13."""
    with pytest.raises(IncorrectlyPartitioned) as raised:
        counts(*subtopologies, a=1, b=2)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    ("subtopologies", "error", "text"),
    [
        (
            [subtopology("0", repartitions=[("r",)], sinks=["r"])],
            StreamsInvalidTopology,
            "There may be loops in the topology that cannot be resolved.",
        ),
        (
            [subtopology("0", "a", repartitions=[("r",)])],
            StreamsInvalidTopology,
            "because a repartition source topic is never used as a sink topic.",
        ),
        ([subtopology("0")], StreamsInvalidTopology, "No source topics found for subtopology 0"),
        ([subtopology("0", "a", groups=[([1], [])])], UnknownServerError, ""),
        ([subtopology("0", "a", groups=[([-1], [])])], UnknownServerError, ""),
        ([subtopology("0", "a", groups=[([], [0])])], UnknownServerError, ""),
        ([subtopology("0", "none")], UnknownServerError, ""),
    ],
)
def test_a_topology_that_contradicts_itself(
    subtopologies: list[Any], error: type[BrokerError], text: str
) -> None:
    """U-07, U-13."""
    with pytest.raises(error) as raised:
        counts(*subtopologies, a=1)
    assert text in (raised.value.message or "")


TOPICS = st.sampled_from("abcdef")
REPARTITIONS = st.sampled_from("qrstuv")


@st.composite
def subtopologies(draw: st.DrawFn) -> list[Any]:
    """Draw a topology; many of them can be resolved."""
    found = []
    for key in draw(st.lists(st.sampled_from([str(each) for each in range(40)]), unique=True)):
        sources = draw(st.lists(TOPICS, max_size=2, unique=True))
        repartitions = draw(
            st.lists(
                st.tuples(REPARTITIONS, st.sampled_from([0, 0, 0, 1, 2])),
                max_size=3,
                unique_by=lambda one: one[0],
            )
        )
        index = st.integers(0, 1)
        group = st.tuples(st.lists(index, max_size=2), st.lists(index, max_size=2))
        found.append(
            subtopology(
                key,
                *sources,
                repartitions=repartitions,
                sinks=draw(st.lists(REPARTITIONS, max_size=3)),
                changelogs=draw(st.lists(st.sampled_from(["x", "y"]), max_size=1)),
                groups=draw(st.lists(group, max_size=1)) if draw(st.booleans()) else [],
            )
        )
    if draw(st.booleans()):
        found.append(subtopology("last", "a", sinks="qrstuv"))
    return found


def outcome(find: Any, told: Any, existing: dict[str, int]) -> Any:
    try:
        return find(topology_of(told), existing.get)
    except (BrokerError, IncorrectlyPartitioned) as error:
        return type(error), str(error)


@given(
    told=subtopologies(),
    existing=st.lists(st.integers(1, 4), min_size=6, max_size=9).map(
        lambda counts: dict(zip("abcdefqrs", counts, strict=False))
    ),
)
@settings(max_examples=100)
def test_the_numbers_are_those_of_rounds_over_all_of_it(
    told: list[Any], existing: dict[str, int]
) -> None:
    """U-13: whatever the client tells; also which error it gets."""
    whole = topology(*told)
    assert outcome(partition_counts, whole, existing) == outcome(counts_by_rounds, whole, existing)


@given(
    keys=st.permutations(range(12)),
    inputs=st.lists(st.tuples(st.integers(0, 11), st.booleans()), min_size=12, max_size=12),
)
def test_chains_have_the_numbers_of_rounds_over_all_of_it(
    keys: list[int], inputs: list[tuple[int, bool]]
) -> None:
    """U-13: each subtopology reads what another one writes, in any order of their hashes."""
    told = [
        subtopology(
            str(key),
            *([f"t{key}"] if has_source else []),
            repartitions=[(f"r{before}",)],
            sinks=[f"r{key}"],
        )
        for key, (before, has_source) in zip(keys, inputs, strict=True)
    ]
    existing = {f"t{key}": key + 1 for key in keys}
    whole = topology(*told)
    assert outcome(partition_counts, whole, existing) == outcome(counts_by_rounds, whole, existing)


def _chain(count: int) -> list[Any]:
    """Subtopologies of which the last in the order of the hashes is the first that is known."""
    return [
        subtopology(f"{each:04}", "a", sinks=[f"r{each}"])
        if each == count - 1
        else subtopology(f"{each:04}", repartitions=[(f"r{each + 1}",)], sinks=[f"r{each}"])
        for each in range(count)
    ]


@pytest.mark.parametrize(
    "told",
    [
        [subtopology("0", *["a"] * 5000, sinks=[f"r{each}" for each in range(5000)])],
        _chain(3200),
        [
            subtopology("0", "a", sinks=["q"]),
            subtopology(
                "1",
                repartitions=[("q",), *((f"r{n}", 3) for n in range(4000))],
                groups=[([], [0, 1])] * 2000,
            ),
        ],
    ],
    ids=["sinks", "chain", "copartitions"],
)
def test_what_is_looked_up_grows_with_the_size(told: list[Any]) -> None:
    """U-13: with rounds over all of it, topics are looked up millions of times."""
    looked_up = 0

    def existing(name: str) -> int | None:
        nonlocal looked_up
        looked_up += 1
        return 3 if name == "a" else None

    assert set(partition_counts(topology_of(topology(*told)), existing).values()) == {3}
    assert looked_up < 50_000

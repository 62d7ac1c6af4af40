"""Numbers of partitions of internal topics, as measured on Kafka 4.3.1."""

from typing import Any

import pytest

from broker_lite.coordinator.streams.partition_counts import (
    IncorrectlyPartitioned,
    partition_counts,
)
from broker_lite.coordinator.streams.topology import topology_of
from broker_lite.errors import BrokerError, StreamsInvalidTopology, UnknownServerError
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

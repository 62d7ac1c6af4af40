"""Records of partitions are merged by time; the order within a partition never changes."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.commands.replay.merging import NO_TIME, Run, merged
from broker_lite.record.records import Record

Partitions = list[list[list[int]]]
"""The times of the records, by batch and partition."""


def record(offset: int, timestamp: int) -> Record:
    return Record(offset, timestamp, None, None, (), -1, 6, 0, 0, 0)


def sources(partitions: Partitions) -> dict[tuple[str, int], Iterator[Sequence[Record]]]:
    def batches(times: list[list[int]]) -> Iterator[Sequence[Record]]:
        offset = 0
        for batch in times:
            yield [record(offset + index, time) for index, time in enumerate(batch)]
            offset += len(batch)

    return {("t", number): batches(times) for number, times in enumerate(partitions)}


def flat(runs: Iterator[Run]) -> list[tuple[int, int, int]]:
    """Time, partition and offset of each record."""
    return [(due, key[1], one.offset) for key, records in runs for due, one in records]


@pytest.mark.parametrize(
    ("partitions", "expected"),
    [
        ([], []),
        ([[]], []),
        ([[[1, 2]], [[1, 3]]], [(1, 0, 0), (1, 1, 0), (2, 0, 1), (3, 1, 1)]),
        ([[[5], [1]], [[2]]], [(2, 1, 0), (5, 0, 0), (5, 0, 1)]),
        ([[[NO_TIME]], [[0]]], [(NO_TIME, 0, 0), (0, 1, 0)]),
        ([[[7], [NO_TIME]], [[6, 8]]], [(6, 1, 0), (7, 0, 0), (7, 0, 1), (8, 1, 1)]),
    ],
)
def test_order(partitions: Partitions, expected: list[tuple[int, int, int]]) -> None:
    assert flat(merged(sources(partitions))) == expected


@given(st.lists(st.lists(st.lists(st.integers(-1, 20), min_size=1, max_size=4), max_size=4)))
def test_nothing_is_lost_and_nothing_overtakes(partitions: Partitions) -> None:
    found = flat(merged(sources(partitions)))
    assert [time for time, _, _ in found] == sorted(time for time, _, _ in found)
    by_partition = groupby(sorted(found, key=itemgetter(1)), key=itemgetter(1))
    assert {number: [offset for _, _, offset in rows] for number, rows in by_partition} == {
        number: [*range(sum(map(len, times)))] for number, times in enumerate(partitions) if times
    }


def test_a_long_batch_comes_in_several_runs() -> None:
    runs = list(merged(sources([[[1] * 10_000]])))
    assert len(runs) > 1
    assert sum(len(run.records) for run in runs) == 10_000

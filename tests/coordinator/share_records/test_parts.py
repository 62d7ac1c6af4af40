"""What is said about very many records is taken in parts; the result is that of one."""

import pytest

from broker_lite.coordinator.share_records.acknowledge import (
    Acknowledgement,
    acknowledge,
    check_acquired,
)
from broker_lite.coordinator.share_records.parts import RUNS_MAX, in_parts
from broker_lite.errors import InvalidRecordState
from tests.coordinator.share_records.share_driver import Driver

COUNT = 2 * RUNS_MAX + 10


def split() -> Driver:
    """Each record is a run of its own, and all are acquired."""
    driver = Driver(COUNT)
    driver.fetch("m")
    driver.say((0, COUNT - 1, [2, 4] * (COUNT // 2)), renew=True)
    driver.fetch("m")
    return driver


def test_little_is_one_part() -> None:
    said = [Acknowledgement(0, RUNS_MAX - 2, [1]), Acknowledgement(RUNS_MAX, RUNS_MAX, [2])]
    assert [*in_parts(Driver().partition, said)] == [said]


def test_many_records_of_one_run_are_one_part() -> None:
    driver = Driver(COUNT)
    driver.fetch()
    said = [Acknowledgement(0, 5, [1]), Acknowledgement(6, COUNT - 1, [1])]
    assert [*in_parts(driver.partition, said)] == [said]
    beyond = [Acknowledgement(0, 2**62, [1])]
    assert [*in_parts(driver.partition, beyond)] == [beyond]
    assert [*in_parts(Driver().partition, beyond)] == [beyond]


@pytest.mark.parametrize(
    ("said", "ends"),
    [
        pytest.param(
            [(0, COUNT - 1, [1, 2] * (COUNT // 2))],
            [RUNS_MAX - 1, 2 * RUNS_MAX - 1, COUNT - 1],
            id="types",
        ),
        pytest.param([(0, COUNT - 1, [1])], [RUNS_MAX - 1, 2 * RUNS_MAX - 1, COUNT - 1], id="runs"),
        pytest.param(
            [(0, 9, [1]), (10, COUNT - 2, [2]), (COUNT - 1, COUNT - 1, [1])],
            [9, RUNS_MAX + 9, COUNT - 1],
            id="several",
        ),
        pytest.param(
            [(i, i, [1]) for i in range(COUNT)], [RUNS_MAX - 1, 2 * RUNS_MAX - 1, COUNT - 1]
        ),
    ],
)
def test_parts_together_are_the_whole(
    said: list[tuple[int, int, list[int]]], ends: list[int]
) -> None:
    whole, parted = split(), split()
    whole.say(*said)
    parts = list(in_parts(parted.partition, [Acknowledgement(*each) for each in said]))
    assert [part[-1].last_offset for part in parts] == ends
    for part in parts:
        parted.keep(acknowledge(parted.partition, "m", part, 0))
    assert parted.partition.start_offset == whole.partition.start_offset
    assert parted.fetch("n") == whole.fetch("n")
    start = whole.partition.start_offset
    assert [each for each in parted.kept if each.last_offset >= start] == [
        each for each in whole.kept if each.last_offset >= start
    ]


def test_what_is_said_twice_of_a_record_is_found_across_parts() -> None:
    said = [Acknowledgement(i, i, [1]) for i in range(RUNS_MAX)]
    said += [Acknowledgement(RUNS_MAX - 1, RUNS_MAX + 4, [1])]
    partition = split().partition
    parts = list(in_parts(partition, said))
    assert [len(part) for part in parts] == [RUNS_MAX, 1]
    check_acquired(partition, "m", parts[0])
    check_acquired(partition, "m", parts[1], RUNS_MAX - 1)
    with pytest.raises(InvalidRecordState, match=r"The offset is not acquired\."):
        check_acquired(partition, "m", parts[1], RUNS_MAX)


def test_parts_end_however_often_a_record_is_named() -> None:
    said = [Acknowledgement(5, 5, [1])] * (3 * RUNS_MAX)
    assert [len(part) for part in in_parts(split().partition, said)] == [RUNS_MAX] * 3

"""Markers in the logs of partitions: T-52 to T-58."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.control.coordinators.end_markers import (
    MARKERS_AT_A_TIME,
    STEP_MS,
    EndMarkers,
    UnfinishedEnding,
)
from broker_lite.coordinator.transactions.coordinator import Ending
from tests.control.transactor import TransactionBroker
from tests.support.disk import Disk


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[TransactionBroker]:
    broker = TransactionBroker(tmp_path / "data")
    yield broker
    broker.cluster.close(sync=False)


def unfinished(*partitions: tuple[str, int], epoch: int = 1) -> UnfinishedEnding:
    return UnfinishedEnding(Ending("x", (0, epoch), True, frozenset(partitions), 2))


def markers(broker: TransactionBroker) -> EndMarkers:
    return EndMarkers(broker.cluster, broker.clock, broker.groups, lambda _: None)


def test_t52_markers_are_written_some_at_a_time(broker: TransactionBroker) -> None:
    many = unfinished(*[("gone", number) for number in range(MARKERS_AT_A_TIME)], ("t", 1))
    assert not markers(broker).write_some(many, 0)
    assert many.left == [("t", 1)]
    assert markers(broker).write_some(many, 0)
    assert broker.cluster.log("t", 1).log_end_offset == 1
    assert not many.failed


def test_t52_slow_markers_are_fewer_at_a_time(broker: TransactionBroker, disk: Disk) -> None:
    def take_long(path: str) -> None:
        if path.endswith(".log"):
            broker.clock.step(STEP_MS // 2)

    disk.before("pwrite", take_long)
    many = unfinished()
    many.left = [("t", 0)] * 3
    assert not markers(broker).write_some(many, 0)
    assert len(many.left) == 1


def test_t54_a_partition_with_a_higher_epoch_is_done_with(
    broker: TransactionBroker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.produce((0, 5))
    old = unfinished(("t", 0))
    assert markers(broker).write_some(old, 0)
    assert (old.left, old.failed) == ([], [])
    assert "InvalidProducerEpoch" in caplog.text
    assert broker.open_transactions() == [True, False]


def test_what_fails_waits(broker: TransactionBroker, disk: Disk) -> None:
    both = unfinished(("t", 0), ("t", 1))
    disk.refuse("pwrite", below="t-")
    assert markers(broker).write_some(both, 0)
    assert sorted(both.failed) == [("t", 0), ("t", 1)]
    both.wait(7)
    assert (sorted(both.left), both.failed, both.not_before_ms) == (
        [("t", 0), ("t", 1)],
        [],
        1007,
    )

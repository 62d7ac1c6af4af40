"""Transactions whose coordinator moves to another broker, or that have none for a while.

Also tests: broker_lite.control.coordinators.endings.
"""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_lite.control.coordinators.end_markers import RETRY_MS
from broker_lite.control.topics.internal_topics import TRANSACTIONS_TOPIC
from broker_lite.coordinator.transactions.terms import Terms
from broker_lite.errors import CoordinatorLoadInProgress, ErrorCode, KafkaStorageError
from tests.control.transactor import NAME, failing
from tests.control.trio import TransactionTrio

NO_LEADER = -1


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[TransactionTrio]:
    trio = TransactionTrio(tmp_path / "data")
    yield trio
    trio.cluster.close(sync=False)


def test_c61_the_checks_that_need_no_coordinator_come_first(trio: TransactionTrio) -> None:
    """Measured."""
    transactions = trio.transactions
    wrong = next(each for each in (1, 2, 3) if each != trio.leader)

    async def init(name: str, timeout_ms: int) -> int:
        outcome = await transactions.init_producer_id(
            name, Terms(timeout_ms), expected=None, node_id=wrong
        )
        return outcome.error

    async def end(name: str) -> int:
        outcome = await transactions.end(
            name, (1, 0), is_commit=True, client_version=2, node_id=wrong
        )
        return outcome.error

    def add(name: str) -> int:
        return transactions.add_partitions(
            name, (1, 0), [("t", 0)], client_version=0, node_id=wrong
        )

    assert [asyncio.run(init(*each)) for each in (("", 0), ("x", 0), ("x", 9))] == [42, 50, 16]
    assert [asyncio.run(end(name)) for name in ("", "x")] == [42, 16]
    assert [add(name) for name in ("", "x")] == [42, 16]
    for name, code in (("", 42), ("x", 16)):
        assert transactions.verify(name, (1, 0), [("t", 0)], wrong) == {("t", 0): code}
        assert transactions.find(name, wrong) == code


def test_c67_the_new_coordinator_knows_what_the_log_says(trio: TransactionTrio) -> None:
    producer = trio.begin()
    old = trio.leader
    trio.move()
    assert trio.state() == "Ongoing"
    assert trio.transactions.find(NAME, old) is ErrorCode.NOT_COORDINATOR
    assert trio.transactions.all(old) == []
    assert [each.transactional_id for each in trio.transactions.all(trio.leader)] == [NAME]
    assert trio.end(producer).error == 0
    assert trio.state() == "CompleteCommit"
    assert trio.open_transactions() == [False, False]


def test_c67_markers_carry_the_leader_epoch_of_the_state_log(trio: TransactionTrio) -> None:
    """Measured: also where the leader stays and only its epoch grows."""
    producer = trio.begin()
    assert trio.coordinator_epochs() == [-1, -1]
    trio.move()
    trio.end(producer)
    assert trio.coordinator_epochs() == [trio.epoch] * 2 == [1, 1]
    producer = trio.init().producer
    trio.add(producer, ("t", 0), ("t", 1))
    trio.set_leader(TRANSACTIONS_TOPIC, trio.partition, trio.leader)
    trio.end(producer)
    assert trio.coordinator_epochs() == [trio.epoch] * 2 == [2, 2]


def test_c67_a_prepared_transaction_is_finished_by_the_new_coordinator(
    trio: TransactionTrio,
) -> None:
    producer = trio.begin()
    trio.set_leader("t", 0, NO_LEADER)
    assert trio.end(producer).error == 0
    assert trio.state() == "PrepareCommit"
    assert trio.open_transactions() == [True, False]
    assert trio.coordinator_epochs() == [-1, 0]
    trio.set_leader("t", 0, 1)
    trio.move()
    assert trio.transactions.next_deadline_ms() == 0
    trio.transactions.on_time()
    assert trio.state() == "CompleteCommit"
    assert trio.open_transactions() == [False, False]
    # all markers again, also the one that the old coordinator has written
    assert trio.coordinator_epochs() == [1, 1]
    assert trio.init().producer == (0, 2)


def test_c66_nothing_happens_to_a_transaction_without_a_coordinator(
    trio: TransactionTrio,
) -> None:
    producer = trio.begin()
    old = trio.leader
    trio.set_leader(TRANSACTIONS_TOPIC, trio.partition, NO_LEADER)
    assert trio.transactions.next_deadline_ms() is None
    trio.step(10_000)
    for node_id in (1, 2, 3):
        assert trio.transactions.find(NAME, node_id) is ErrorCode.NOT_COORDINATOR
    assert trio.open_transactions() == [True, True]
    trio.set_leader(TRANSACTIONS_TOPIC, trio.partition, old)
    assert trio.state() == "Ongoing"
    # it has taken too long
    trio.transactions.on_time()
    assert trio.state() == "CompleteAbort"
    assert trio.end(producer).error == 48


def test_c66_a_start_leaves_partitions_without_a_leader_alone(trio: TransactionTrio) -> None:
    trio.begin()
    old = trio.leader
    trio.set_leader(TRANSACTIONS_TOPIC, trio.partition, NO_LEADER)
    trio.cluster.close()
    super(TransactionTrio, trio).open()
    assert trio.transactions.find(NAME, old) is ErrorCode.NOT_COORDINATOR
    trio.set_leader(TRANSACTIONS_TOPIC, trio.partition, old)
    assert trio.state() == "Ongoing"


def test_c70_a_broker_that_asks_itself_is_told_that_nobody_coordinates(
    trio: TransactionTrio,
) -> None:
    producer = trio.begin()
    transactions = trio.transactions
    assert transactions.verify(NAME, producer, [("t", 0)]) == {("t", 0): 0}
    trio.set_leader(TRANSACTIONS_TOPIC, trio.partition, NO_LEADER)
    assert transactions.verify(NAME, producer, [("t", 0)]) == {("t", 0): 15}
    added = transactions.add_partitions(NAME, producer, [("t", 0)], client_version=2)
    assert added is ErrorCode.COORDINATOR_NOT_AVAILABLE


# -- markers


def test_c69_a_marker_waits_for_the_leader_of_its_partition(
    trio: TransactionTrio, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    producer = trio.begin()
    trio.set_leader("t", 1, NO_LEADER)
    ended = trio.end(producer, commit=False)
    assert (ended.error, ended.producer) == (0, (0, 1))
    assert trio.state() == "PrepareAbort"
    assert trio.add((0, 1), ("t", 0)) == trio.init().error == 51
    # a repeated request, too
    assert trio.end(producer, commit=False).error == 51
    trio.step(RETRY_MS)
    assert trio.state() == "PrepareAbort"
    assert caplog.text.count("marker not written") == 1
    assert "ERROR" not in caplog.text
    trio.set_leader("t", 1, 2)
    assert trio.transactions.next_deadline_ms() == 0
    trio.transactions.on_time()
    assert trio.state() == "CompleteAbort"
    assert trio.open_transactions() == [False, False]


def test_c69_other_transactions_wait_as_before(trio: TransactionTrio) -> None:
    producer = trio.begin()
    trio.set_leader("t", 0, NO_LEADER)
    trio.set_leader("t", 1, NO_LEADER)
    trio.end(producer)
    deadline_ms = trio.transactions.next_deadline_ms()
    assert deadline_ms == trio.clock.steady_ms() + RETRY_MS
    other = trio.cluster.create_topic("other")
    before = other.partitions[0]
    trio.set_leader("other", 0, NO_LEADER)
    trio.set_leader("other", 0, before.leader)
    assert trio.transactions.next_deadline_ms() == deadline_ms


# -- requests that wait


def test_c68_an_end_that_writes_markers_is_answered_when_its_coordinator_moves(
    trio: TransactionTrio,
) -> None:
    """The decision stands, and the new coordinator writes the markers that are left."""
    producer = trio.begin()
    trio.cluster.logs.commits.start = lambda _: None  # flushes take for ever
    trio.cluster.alter_configs([(2, "t", {"flush.messages": "1"})])

    async def scene() -> None:
        ending = asyncio.ensure_future(
            trio.transactions.end(
                NAME, producer, is_commit=True, client_version=2, node_id=trio.leader
            )
        )
        for _ in range(5):
            await asyncio.sleep(0)
        assert not ending.done()
        trio.move()
        outcome = await asyncio.wait_for(ending, 1)
        assert (outcome.error, outcome.producer) == (0, (0, 1))

    asyncio.run(scene())
    assert trio.state() == "PrepareCommit"
    trio.transactions.on_time()
    assert trio.coordinator_epochs() == [1, 1]


def test_c67_markers_wait_until_a_decision_is_on_disk_at_the_new_coordinator_too(
    trio: TransactionTrio,
) -> None:
    producer = trio.begin()
    trio.cluster.logs.commits.start = lambda _: None
    trio.cluster.alter_configs([(2, TRANSACTIONS_TOPIC, {"flush.messages": "1"})])

    async def end() -> int:
        ending = asyncio.ensure_future(
            trio.transactions.end(
                NAME, producer, is_commit=True, client_version=2, node_id=trio.leader
            )
        )
        for _ in range(5):
            await asyncio.sleep(0)
        trio.move()
        return (await asyncio.wait_for(ending, 1)).error

    assert asyncio.run(end()) == 0
    trio.transactions.on_time()
    assert trio.open_transactions() == [True, True]
    log = trio.cluster.log(TRANSACTIONS_TOPIC, trio.partition)
    log.visibility.flush_ended(log.log_end_offset, None)
    trio.transactions.on_time()
    assert trio.open_transactions() == [False, False]


def test_a_flush_that_fails_after_the_last_leader_is_gone_loads_nothing(
    trio: TransactionTrio,
) -> None:
    producer = trio.init().producer
    trio.cluster.logs.commits.start = lambda _: None
    trio.cluster.alter_configs([(2, TRANSACTIONS_TOPIC, {"flush.messages": "1"})])
    assert trio.add(producer, ("t", 0)) == 0
    trio.set_leader(TRANSACTIONS_TOPIC, trio.partition, NO_LEADER)
    log = trio.cluster.log(TRANSACTIONS_TOPIC, trio.partition)
    log.visibility.flush_ended(log.log_end_offset, KafkaStorageError())
    assert trio.transactions.find(NAME, 1) is ErrorCode.NOT_COORDINATOR
    assert trio.transactions.next_deadline_ms() is None


# -- a log that cannot be read


def test_c67_a_partition_that_cannot_be_read_moves_again(trio: TransactionTrio) -> None:
    trio.begin()
    trio.topic.before_replay = failing
    trio.move()
    leader = trio.leader
    assert trio.transactions.find(NAME, leader) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    with pytest.raises(CoordinatorLoadInProgress):
        trio.transactions.all(leader)
    other = next(each for each in (1, 2, 3) if each != leader)
    assert trio.transactions.all(other) == []
    trio.set_leader(TRANSACTIONS_TOPIC, trio.partition, NO_LEADER)
    trio.transactions.on_time()
    assert trio.transactions.find(NAME, leader) is ErrorCode.NOT_COORDINATOR
    assert trio.transactions.all(leader) == []
    trio.topic.mend()
    trio.set_leader(TRANSACTIONS_TOPIC, trio.partition, leader)
    assert trio.state() == "Ongoing"

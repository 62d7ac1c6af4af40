"""Answers of the transaction coordinator while a replica of its partition is behind."""

import asyncio
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.control.topics.internal_topics import TRANSACTIONS_TOPIC
from broker_lite.coordinator.transactions.coordinator import Outcome
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.terms import Terms
from broker_lite.errors import ErrorCode
from broker_lite.log.replicas import Lag
from tests.control.transactor import NAME
from tests.control.trio import TransactionTrio

TIMEOUT_MS = 1000
BUSY = ErrorCode.CONCURRENT_TRANSACTIONS
LATE = ErrorCode.COORDINATOR_NOT_AVAILABLE
FROZEN = Lag(is_frozen=True)


class LaggingTrio(TransactionTrio):
    """Three brokers; a replica of the partition of the id x can be behind."""

    def open(self) -> None:
        super().open()
        self.manager = ReplicaManager(self.cluster, self.clock)

    def lag(self, number: int = 0) -> None:
        """Freeze a follower; number 0 is the one that would lead next."""
        topic = self.cluster.topics[TRANSACTIONS_TOPIC]
        replicas = topic.partitions[self.partition].replicas
        self.follower = [each for each in replicas if each != self.leader][number]
        self.manager.fall_behind(topic, self.partition, self.follower, FROZEN)

    def catch_up(self) -> None:
        topic = self.cluster.topics[TRANSACTIONS_TOPIC]
        self.manager.catch_up(topic, self.partition, self.follower)

    def start_init(self) -> Awaitable[Outcome]:
        return self.transactions.init_producer_id(
            NAME, Terms(TIMEOUT_MS), expected=None, node_id=self.leader
        )

    def start_end(self, producer: Producer) -> Awaitable[Outcome]:
        return self.transactions.end(
            NAME, producer, is_commit=True, client_version=2, node_id=self.leader
        )

    async def start_add(self, producer: Producer, partition: int = 0) -> ErrorCode:
        transactions = self.transactions
        code = transactions.add_partitions(NAME, producer, [("t", partition)], client_version=2)
        return code or await transactions.unreplicated.settled(NAME, code)

    async def started(self) -> Producer:
        return (await self.start_init()).producer

    @property
    def is_idle(self) -> bool:
        log = self.topic.loaded_log(self.partition)
        watched = log is not None and log.visibility.is_watched
        return not self.transactions.unreplicated.events and not watched


@pytest.fixture
def trio(tmp_path: Path) -> Iterator[LaggingTrio]:
    trio = LaggingTrio(tmp_path / "data")
    yield trio
    trio.cluster.close(sync=False)


async def begun(asked: Awaitable[Any]) -> "asyncio.Future[Any]":
    """Send a request, and let it come as far as it does at once."""
    task = asyncio.ensure_future(asked)
    for _ in range(3):
        await asyncio.sleep(0)
    return task


def test_c73_a_producer_gets_its_id_when_the_replicas_know_it(trio: LaggingTrio) -> None:
    async def scene() -> None:
        trio.lag()
        asking = await begun(trio.start_init())
        assert not asking.done()
        assert (await trio.start_init()).error == BUSY
        trio.catch_up()
        assert (await asking) == (0, (0, 0), *(await asking)[2:])
        assert trio.is_idle
        assert (await trio.start_init()).producer == (0, 1)

    asyncio.run(scene())


def test_c73_an_event_that_takes_too_long_is_undone(trio: LaggingTrio) -> None:
    """The time is that of the transaction, not of a setting."""

    async def scene() -> None:
        trio.lag()
        asking = await begun(trio.start_init())
        assert trio.transactions.next_deadline_ms() == trio.clock.steady_ms() + TIMEOUT_MS
        trio.step(TIMEOUT_MS)
        assert (await asking).error == LATE
        assert trio.state() == "TRANSACTIONAL_ID_NOT_FOUND"
        assert trio.is_idle
        trio.catch_up()
        assert (await trio.start_init()).error == 0

    asyncio.run(scene())


def test_c73_partitions_are_added_when_the_replicas_know_it(trio: LaggingTrio) -> None:
    async def scene() -> None:
        producer = await trio.started()
        trio.lag()
        adding = await begun(trio.start_add(producer))
        assert not adding.done()
        assert await trio.start_add(producer, 1) == BUSY
        assert (await trio.start_end(producer)).error == BUSY
        trio.catch_up()
        assert await adding == 0
        assert await trio.start_add(producer, 1) == 0

    asyncio.run(scene())


def test_c73_partitions_that_are_not_added_in_time(trio: LaggingTrio) -> None:
    async def scene() -> None:
        producer = await trio.started()
        trio.lag()
        adding = await begun(trio.start_add(producer))
        trio.step(TIMEOUT_MS)
        assert await adding == LATE
        assert trio.state() == "Empty"

    asyncio.run(scene())


def test_c73_markers_are_written_when_the_replicas_know_the_decision(trio: LaggingTrio) -> None:
    producer = trio.begin()

    async def scene() -> None:
        trio.lag()
        ending = await begun(trio.start_end(producer))
        trio.transactions.on_time()
        assert (ending.done(), trio.open_transactions()) == (False, [True, True])
        trio.catch_up()
        outcome = await ending
        assert (outcome.error, outcome.producer) == (0, (0, 1))
        assert trio.open_transactions() == [False, False]
        assert trio.state() == "CompleteCommit"

    asyncio.run(scene())
    assert trio.is_idle


def test_c73_a_decision_that_takes_too_long_is_undone(trio: LaggingTrio) -> None:
    producer = trio.begin()

    async def scene() -> None:
        trio.lag()
        ending = await begun(trio.start_end(producer))
        trio.step(TIMEOUT_MS)
        assert (await ending).error == LATE
        assert (trio.state(), trio.open_transactions()) == ("Ongoing", [True, True])
        trio.catch_up()
        assert (await trio.start_end(producer)).error == 0
        assert trio.open_transactions() == [False, False]

    asyncio.run(scene())


def test_c73_the_id_is_busy_until_the_replicas_know_of_the_end(trio: LaggingTrio) -> None:
    """EndTxn is answered before: its decision is replicated."""
    producer = trio.begin()

    async def scene() -> None:
        trio.lag()
        ending = await begun(trio.start_end(producer))
        # the replica gets the decision, and nothing after it
        topic = trio.cluster.topics[TRANSACTIONS_TOPIC]
        trio.manager.fall_behind(topic, trio.partition, trio.follower, Lag(ms=10))
        trio.clock.step(10)
        trio.manager.on_time()
        outcome = await ending
        assert (outcome.error, trio.state()) == (0, "PrepareCommit")
        assert trio.open_transactions() == [False, False]
        assert await trio.start_add(outcome.producer) == BUSY
        trio.step(10 * TIMEOUT_MS)  # nobody waits for the completion, so it has no time-out
        assert await trio.start_add(outcome.producer) == BUSY
        trio.catch_up()
        assert await trio.start_add(outcome.producer) == 0

    asyncio.run(scene())


def test_c73_a_transaction_that_times_out_waits_without_a_request(trio: LaggingTrio) -> None:
    trio.begin()
    trio.lag()
    trio.step(TIMEOUT_MS + 1)
    assert NAME in trio.transactions.unreplicated.events
    trio.step(10 * TIMEOUT_MS)
    assert (trio.state(), trio.open_transactions()) == ("Ongoing", [True, True])
    trio.catch_up()
    trio.transactions.on_time()
    assert (trio.state(), trio.open_transactions()) == ("CompleteAbort", [False, False])
    assert trio.is_idle


def test_c73_a_transaction_does_not_time_out_while_its_record_waits(trio: LaggingTrio) -> None:
    async def scene() -> None:
        producer = await trio.started()
        assert await trio.start_add(producer) == 0
        trio.step(TIMEOUT_MS // 2)
        trio.lag()
        adding = await begun(trio.start_add(producer, 1))
        trio.step(TIMEOUT_MS - 1)
        assert trio.state() == "Ongoing"
        trio.catch_up()
        assert await adding == 0
        trio.transactions.on_time()
        assert trio.state() == "CompleteAbort"

    asyncio.run(scene())


def test_c73_a_producer_that_fences_another_waits_for_the_abort(trio: LaggingTrio) -> None:
    trio.begin()

    async def scene() -> None:
        trio.lag()
        asking = await begun(trio.start_init())
        assert not asking.done()
        trio.catch_up()
        assert (await asking).error == BUSY
        assert trio.state() == "CompleteAbort"

    asyncio.run(scene())


@pytest.mark.parametrize("is_lost", [False, True])
def test_c68_an_id_that_moves_before_the_decision_is_replicated(
    trio: LaggingTrio, is_lost: bool
) -> None:
    """The new coordinator ends the transaction if it finds the decision in its log."""
    producer = trio.begin()

    async def scene() -> None:
        trio.lag(0 if is_lost else 1)
        ending = await begun(trio.start_end(producer))
        trio.move()
        assert (await ending).error == ErrorCode.NOT_COORDINATOR
        assert trio.state() == ("Ongoing" if is_lost else "PrepareCommit")
        trio.transactions.on_time()
        assert trio.open_transactions() == [is_lost, is_lost]
        trio.manager.return_all()
        trio.manager.settle()
        assert trio.state() == ("Ongoing" if is_lost else "CompleteCommit")

    asyncio.run(scene())


def test_c73_a_state_log_that_is_deleted(trio: LaggingTrio) -> None:
    async def scene() -> None:
        trio.lag()
        asking = await begun(trio.start_init())
        trio.cluster.delete_topics([trio.cluster.topics[TRANSACTIONS_TOPIC]])
        assert (await asking).error == ErrorCode.NOT_COORDINATOR
        assert not trio.transactions.unreplicated.events

    asyncio.run(scene())


def test_c73_a_client_that_goes_away(trio: LaggingTrio) -> None:
    producer = trio.begin()

    async def scene() -> None:
        trio.lag()
        ending = await begun(trio.start_end(producer))
        ending.cancel()
        await asyncio.gather(ending, return_exceptions=True)
        trio.catch_up()
        assert trio.transactions.next_deadline_ms() == 0
        trio.transactions.on_time()
        assert trio.state() == "CompleteCommit"

    asyncio.run(scene())
    assert trio.is_idle


def test_c73_nothing_waits_for_the_request_of_another(trio: LaggingTrio) -> None:
    async def scene() -> None:
        unreplicated = trio.transactions.unreplicated
        assert await unreplicated.settled(NAME) == 0
        producer = await trio.started()
        trio.lag()
        adding = await begun(trio.start_add(producer))
        assert NAME in unreplicated.events
        assert await unreplicated.settled(NAME) == 0
        trio.catch_up()
        assert await adding == 0

    asyncio.run(scene())


def test_c73_the_state_from_before_is_seen(trio: LaggingTrio) -> None:
    """Measured; a new id is Empty at once."""

    def listed() -> list[str]:
        return [each.state.text for each in trio.transactions.all(trio.leader)]

    def verified(producer: Producer) -> int:
        return trio.transactions.verify(NAME, producer, [("t", 0)], trio.leader)["t", 0]

    async def scene() -> None:
        trio.lag()
        asking = await begun(trio.start_init())
        assert (trio.state(), listed()) == ("Empty", ["Empty"])
        assert verified((0, 0)) == ErrorCode.TRANSACTION_ABORTABLE
        trio.catch_up()
        producer = (await asking).producer
        trio.lag()
        adding = await begun(trio.start_add(producer))
        assert (trio.state(), listed()) == ("Empty", ["Empty"])
        assert verified(producer) == ErrorCode.TRANSACTION_ABORTABLE
        trio.catch_up()
        assert await adding == 0
        assert (trio.state(), listed(), verified(producer)) == ("Ongoing", ["Ongoing"], 0)

    asyncio.run(scene())

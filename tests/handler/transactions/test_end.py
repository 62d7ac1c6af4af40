"""EndTxn and WriteTxnMarkers: T-46 to T-59."""

from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from broker_lite.control.coordinators.end_markers import STEP_MS
from broker_lite.record.batch import RecordBatch
from broker_lite.record.control import read_end_transaction_marker
from broker_lite.wire import messages
from tests.handler.data_apis import FETCH, TOPIC, Handlers, fetched, size, wanted
from tests.handler.transactions.transaction_requests import END, MARKERS, Transactor, committed
from tests.support.disk import Disk


def marker(handlers: Handlers, offset: int, partition: int = 0) -> tuple[int, int, bool]:
    """Producer id, epoch and result of the marker at an offset."""
    data = memoryview(bytearray(committed(handlers, offset, partition).records))
    header = RecordBatch(data, 0, len(data))
    found = read_end_transaction_marker(header)
    assert found is not None
    assert header.is_transactional
    assert header.base_sequence == -1
    assert found.coordinator_epoch == handlers.cluster.leader_epoch("__transaction_state", 20)
    return header.producer_id, header.producer_epoch, found.is_commit


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("commit", [True, False])
def test_t50_t52_markers_are_there_when_it_is_answered(
    producer: Transactor, version: int, commit: bool
) -> None:
    producer.produce(0)
    producer.produce(1)
    assert producer.end(commit=commit, version=version) == 0
    epoch = 1 if version == 5 else 0
    assert producer.producer == (0, epoch)
    for partition in (0, 1):
        assert marker(producer.broker, 1, partition) == (0, epoch, commit)
    assert producer.state == ("CompleteCommit" if commit else "CompleteAbort")


@pytest.mark.parametrize(("version", "code"), [(1, 47), (2, 90), (5, 90)])
def test_t47_t48_another_epoch(producer: Transactor, version: int, code: int) -> None:
    producer.produce()
    producer.producer = (0, 7)
    assert producer.end(version=version) == code


def test_t46_t49_errors_answer_no_producer(producer: Transactor) -> None:
    value = messages.EndTxnRequest(transactional_id="y", producer_id=0, producer_epoch=0)
    answer = producer.broker.now(END, 5, value)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (49, -1, -1)
    assert producer.end(version=3) == 48


def test_t48_an_end_that_comes_again(producer: Transactor) -> None:
    producer.produce()
    assert producer.end() == 0
    producer.producer = (0, 0)
    assert producer.end() == 0
    assert producer.producer == (0, 1)
    assert producer.broker.log(0).log_end_offset == 2


def test_t55_an_abort_of_nothing_raises_the_epoch(producer: Transactor) -> None:
    assert producer.end(commit=False) == 0
    assert producer.producer == (0, 1)
    assert producer.state == "CompleteAbort"


def test_t54_sequences_go_on_under_version_1(producer: Transactor) -> None:
    for _ in range(2):
        producer.add(0)
        assert producer.produce(version=11).error_code == 0
        assert producer.end(version=4) == 0
    assert producer.sequences == {0: 2}


def test_t58_a_topic_that_is_gone_is_passed_over(producer: Transactor) -> None:
    producer.broker.create("gone")
    assert producer.add(0, topic="gone") == [0]
    producer.produce(0)
    producer.broker.delete("gone")
    assert producer.end() == 0
    assert producer.state == "CompleteCommit"


def test_t58_a_topic_made_anew_gets_the_marker(producer: Transactor) -> None:
    producer.broker.create("again")
    assert producer.add(0, topic="again") == [0]
    producer.broker.delete("again")
    producer.broker.create("again")
    assert producer.end() == 0
    assert producer.broker.log(0, "again").log_end_offset == 1


@pytest.mark.anyio
async def test_t57_parked_readers_of_committed_records_are_woken(producer: Transactor) -> None:
    handlers = producer.broker
    producer.produce()
    answers: list[Any] = []

    async def read() -> None:
        request = handlers.fetch_request(wanted(0, 0), max_wait_ms=60_000, isolation_level=1)
        answers.extend(fetched(await handlers.answer(FETCH, 12, request)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        for _ in range(10):
            await checkpoint()
        assert not answers
        with anyio.fail_after(5):
            assert producer.end() == 0
            while not answers:
                await checkpoint()
    assert answers[0].last_stable_offset == 2
    assert size(answers[0]) > 0


@pytest.mark.anyio
async def test_t50_a_transaction_of_many_partitions(handlers: Handlers) -> None:
    """Others have their turn while its markers are written, and see it as ending."""
    handlers.create("wide", 600)
    producer = Transactor(handlers)
    producer.init()
    assert set(producer.add(*range(600), topic="wide")) == {0}
    value = messages.EndTxnRequest(
        transactional_id="x", producer_id=0, producer_epoch=0, committed=True
    )
    seen = []

    async def end() -> None:
        answer = await handlers.answer(END, 5, value)
        seen.append((answer.error_code, answer.producer_epoch))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end)
        await checkpoint()
        assert producer.state == "PrepareCommit"
        producer.producer = (0, 1)
        assert producer.produce().error_code == 51
    assert seen == [(0, 1)]
    assert producer.state == "CompleteCommit"
    assert {handlers.log(each, "wide").log_end_offset for each in range(600)} == {1}


@pytest.mark.anyio
async def test_t50_a_client_that_goes_away_leaves_an_end_that_is_finished(
    handlers: Handlers,
) -> None:
    handlers.create("wide", 600)
    producer = Transactor(handlers)
    producer.init()
    producer.add(*range(600), topic="wide")
    value = messages.EndTxnRequest(
        transactional_id="x", producer_id=0, producer_epoch=0, committed=True
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(handlers.answer, END, 5, value)
        await checkpoint()
        tasks.cancel_scope.cancel()
    transactions = handlers.context.transactions
    assert producer.state == "PrepareCommit"
    while (due_ms := transactions.next_deadline_ms()) is not None and due_ms <= 1:
        transactions.on_time()
    assert producer.state == "CompleteCommit"


def write_markers(
    handlers: Handlers, *, epoch: int = 0, version: int = 1, topic: str = TOPIC, **fields: Any
) -> list[int]:
    request = messages.WriteTxnMarkersRequest
    one = request.WritableTxnMarker(
        producer_id=0,
        producer_epoch=epoch,
        transaction_result=False,
        topics=[request.WritableTxnMarkerTopic(name=topic, partition_indexes=[0, 1, 2])],
        coordinator_epoch=0,
        **fields,
    )
    (answer,) = handlers.now(MARKERS, version, request(markers=[one])).markers
    (result,) = answer.topics
    assert (answer.producer_id, result.name) == (0, topic)
    return [each.error_code for each in result.partitions]


def test_t59_markers_of_an_administrator(producer: Transactor) -> None:
    handlers = producer.broker
    producer.produce()
    assert handlers.log(0).last_stable_offset == 0
    assert write_markers(handlers) == [0, 0, 3]
    assert handlers.log(0).last_stable_offset == 2
    assert write_markers(handlers, topic="unknown") == [3, 3, 3]
    assert handlers.now(MARKERS, 1, messages.WriteTxnMarkersRequest(markers=[])).markers == []


def test_t54_an_older_epoch_or_coordinator(producer: Transactor) -> None:
    handlers = producer.broker
    producer.produce()
    producer.end()
    assert write_markers(handlers) == [47, 0, 3]
    assert write_markers(handlers, epoch=1) == [0, 0, 3]
    producer.produce()
    assert write_markers(handlers, epoch=1, version=2, transaction_version=2)[0] == 47


@pytest.mark.anyio
async def test_t59_many_markers_let_others_have_their_turn(handlers: Handlers) -> None:
    handlers.create("wide", 300)
    request = messages.WriteTxnMarkersRequest
    wide = request.WritableTxnMarkerTopic(name="wide", partition_indexes=[*range(300)])
    one = request.WritableTxnMarker(
        producer_id=0, producer_epoch=0, transaction_result=True, topics=[wide], coordinator_epoch=0
    )
    (answer,) = (await handlers.answer(MARKERS, 1, request(markers=[one]))).markers
    assert {each.error_code for each in answer.topics[0].partitions} == {0}
    assert handlers.log(299, "wide").log_end_offset == 1


@pytest.mark.anyio
async def test_t59_slow_markers_let_others_have_their_turn(handlers: Handlers, disk: Disk) -> None:
    def take_long(path: str) -> None:
        if path.endswith(".log"):
            handlers.clock.step(STEP_MS)

    disk.before("pwrite", take_long)
    one = messages.WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=0,
        producer_epoch=0,
        transaction_result=True,
        topics=[
            messages.WriteTxnMarkersRequest.WritableTxnMarkerTopic(
                name=TOPIC, partition_indexes=[0, 1]
            )
        ],
        coordinator_epoch=0,
    )
    turns: list[int] = []

    async def other() -> None:
        turns.append(handlers.clock.monotonic_ms())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            handlers.answer, MARKERS, 1, messages.WriteTxnMarkersRequest(markers=[one])
        )
        tasks.start_soon(other)
    assert turns == [STEP_MS]

"""Transactional Produce: T-33 to T-39, V-60, V-61, and what consumers see of it: T-55 to T-57.

Also tests: broker_lite.handler.transactions.check.
"""

from pathlib import Path

import pytest

from broker_lite.handler.produce import transaction as produce_transaction
from broker_lite.wire import messages
from tests.handler.data_apis import LIST_OFFSETS, PRODUCE, TOPIC, Handlers, outcome, plain, size
from tests.handler.transactions.transaction_requests import (
    NEW,
    OLD,
    TRANSACTIONAL,
    Transactor,
    committed,
)
from tests.log.batches import batch, record
from tests.support.disk import Disk


@pytest.mark.parametrize(
    ("version", "code", "text"),
    [
        (8, 48, "Partition was not added to the transaction"),
        (10, 48, "Partition was not added to the transaction"),
        (11, 120, None),
    ],
)
def test_t34_t71_a_partition_that_was_not_added(
    producer: Transactor, version: int, code: int, text: str | None
) -> None:
    assert outcome(producer.produce(version=version)) == (code, -1, -1, -1, 0, text)
    assert producer.state == "Empty"


@pytest.mark.parametrize("version", [8, OLD])
def test_t34_a_partition_that_was_added(producer: Transactor, version: int) -> None:
    assert producer.add(0) == [0]
    assert [producer.produce(version=version).base_offset for _ in range(3)] == [0, 1, 2]
    assert producer.end(version=3) == 0
    assert producer.produce(version=version).error_code == (120 if version == OLD else 48)


def test_t34_errors_of_the_coordinator(producer: Transactor) -> None:
    producer_id, epoch = producer.producer
    for wrong, code in [((9, epoch), 49), ((producer_id, 5), 47)]:
        producer.producer = wrong
        assert outcome(producer.produce(version=OLD)) == plain(code)
        assert outcome(producer.produce(version=NEW)) == plain(code)


@pytest.mark.parametrize(("version", "code"), [(OLD, 19), (NEW, 51)])
def test_t34_t35_a_transaction_that_is_ending(
    producer: Transactor, disk: Disk, version: int, code: int
) -> None:
    producer.produce(0)
    disk.refuse("pwrite", below="t-0")
    stale = producer.producer
    assert producer.end() == 0
    assert producer.state == "PrepareCommit"
    producer.producer = (stale[0], stale[1] + 1)
    answer = producer.produce(1, version=version)
    assert answer.error_code == code
    if code == 19:
        assert answer.error_message == (
            "Unable to verify the partition has been added to the transaction. "
            "Underlying error: CONCURRENT_TRANSACTIONS"
        )
    disk.mend()
    producer.broker.clock.step(1000)
    producer.broker.context.transactions.on_time()
    assert producer.state == "CompleteCommit"


def test_t35_the_partition_is_added_implicitly(producer: Transactor) -> None:
    assert producer.produce(0).error_code == 0
    assert producer.produce(1).error_code == 0
    assert producer.state == "Ongoing"
    assert producer.produce(0).base_offset == 1


def test_t35_also_with_verification_off(tmp_path: Path) -> None:
    name = "transaction.partition.verification.enable"
    broker = Handlers(tmp_path / "data", settings={name: "false"})
    producer = Transactor(broker)
    producer.init()
    assert producer.produce(version=OLD).error_code == 0
    assert producer.state == "Empty"
    producer.sequences = {}
    assert producer.produce(1, version=NEW).error_code == 0
    assert producer.state == "Ongoing"
    broker.cluster.close()


def test_t36_t61_an_older_epoch_is_47_after_a_timeout(producer: Transactor) -> None:
    producer.produce()
    producer.broker.clock.step(1001)
    producer.broker.context.transactions.on_time()
    assert producer.state == "CompleteAbort"
    for version in (8, OLD, NEW):
        assert outcome(producer.produce(version=version)) == plain(47)
    assert producer.init(producer.producer) == 0
    assert producer.producer == (0, 1)
    assert producer.produce().error_code == 0


def test_t37_a_plain_batch_inside_a_transaction_is_48(producer: Transactor) -> None:
    producer.produce()
    (answer,) = producer.broker.produce(batch(record(), producer=(*producer.producer, 1)))
    assert answer.error_code == 48


def test_t38_a_new_epoch_begins_with_sequence_0(producer: Transactor) -> None:
    producer.produce()
    assert producer.end() == 0
    producer.sequences[0] = 1
    assert producer.produce().error_code == 45


def test_t39_acks_1_is_accepted(producer: Transactor) -> None:
    assert producer.produce(acks=1).error_code == 0


def test_t33_no_transactional_id_is_53_everywhere(producer: Transactor) -> None:
    good = batch(record())
    bad = batch(record(), attributes=TRANSACTIONAL, producer=(*producer.producer, 0))
    answers = producer.broker.produce(good, bad, version=NEW)
    assert [answer.error_code for answer in answers] == [53, 53]


def test_v60_plain_batches_of_a_transactional_request_are_not_asked_about(
    producer: Transactor,
) -> None:
    good = batch(record())
    transactional = batch(record(), attributes=TRANSACTIONAL, producer=(*producer.producer, 0))
    answers = producer.broker.produce(good, transactional, version=OLD, transactional_id="x")
    assert [answer.error_code for answer in answers] == [0, 120]


@pytest.mark.anyio
@pytest.mark.parametrize(("version", "codes"), [(OLD, [0, 120, 120]), (NEW, [0, 0, 0])])
async def test_t34_t35_very_many_partitions_are_asked_about_with_pauses(
    handlers: Handlers, version: int, codes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them as one of a few; with the older versions only the first was added."""
    monkeypatch.setattr(produce_transaction, "LOGS_AT_A_TIME", 1)
    monkeypatch.setattr(produce_transaction, "VERIFIED_AT_A_TIME", 1)
    handlers.create("three", 3)
    producer = Transactor(handlers)
    producer.init()
    assert producer.add(0, topic="three") == [0]
    data = batch(record(), attributes=TRANSACTIONAL, producer=(*producer.producer, 0))
    request = handlers.produce_request(
        *[data] * 3, version=version, topic="three", transactional_id=producer.name
    )
    (topic,) = (await handlers.answer(PRODUCE, version, request)).responses
    assert [each.error_code for each in topic.partition_responses] == codes


def test_v60_a_log_that_cannot_be_opened(producer: Transactor, disk: Disk) -> None:
    disk.refuse("scandir", below="t-")
    assert outcome(producer.produce()) == plain(56)


@pytest.mark.parametrize("version", [8, OLD, NEW])
def test_v60_a_partition_that_another_broker_leads(producer: Transactor, version: int) -> None:
    producer.producer = (9, 0)  # unknown, but the leader comes first
    producer.broker.log().leader_id = 2
    assert producer.produce(version=version).error_code == 6


@pytest.mark.parametrize("commit", [True, False])
def test_t55_t56_what_consumers_see(producer: Transactor, commit: bool) -> None:
    broker = producer.broker
    for _ in range(3):
        producer.produce()
    assert latest(broker, 0) == 3
    assert latest(broker, 1) == 0
    answer = committed(broker)
    assert (answer.last_stable_offset, size(answer), answer.aborted_transactions) == (0, 0, [])
    assert producer.end(commit=commit) == 0
    assert latest(broker, 0) == latest(broker, 1) == 4
    answer = committed(broker)
    assert answer.last_stable_offset == 4
    assert size(answer) > 0
    aborted = [(each.producer_id, each.first_offset) for each in answer.aborted_transactions]
    assert aborted == ([] if commit else [(0, 0)])


def latest(broker: Handlers, isolation_level: int) -> int:
    request = messages.ListOffsetsRequest
    value = request(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[
            request.ListOffsetsTopic(
                name=TOPIC,
                partitions=[request.ListOffsetsPartition(partition_index=0, timestamp=-1)],
            )
        ],
    )
    (topic,) = broker.now(LIST_OFFSETS, 5, value).topics
    return int(topic.partitions[0].offset)

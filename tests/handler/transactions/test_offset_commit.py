"""TxnOffsetCommit: T-40 to T-45, and what becomes of its offsets: T-53.

Also tests: broker_lite.handler.transactions.check.
"""

from pathlib import Path
from typing import Any

import pytest

from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.handler.data_apis import TOPIC, Handlers
from tests.handler.transactions.transaction_requests import COMMIT_OFFSETS, OFFSET_FETCH, Transactor
from tests.support.disk import Disk


async def send(producer: Transactor, version: int, offset: int = 5, **fields: Any) -> list[int]:
    """Commit an offset of partitions 0 and 9; gives their codes."""
    request = messages.TxnOffsetCommitRequest
    topic_id = producer.broker.topic_id() if version >= 6 else bytes(16)
    group = fields.pop("group_id", "g")
    partitions = [
        request.TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
        for index in fields.pop("partitions", [0, 9])
    ]
    value = request(
        transactional_id=producer.name,
        group_id=group,
        producer_id=producer.producer[0],
        producer_epoch=producer.producer[1],
        topics=[
            request.TxnOffsetCommitRequestTopic(
                name=fields.pop("topic", TOPIC),
                topic_id=fields.pop("topic_id", topic_id),
                partitions=partitions,
            )
        ],
        **fields,
    )
    answer = await producer.broker.answer(COMMIT_OFFSETS, version, value)
    (topic,) = answer.topics
    codes = {each.partition_index: each.error_code for each in topic.partitions}
    return [codes[index] for index in sorted(codes)]


def offsets(producer: Transactor, *, require_stable: bool = False) -> list[tuple[int, int]]:
    request = messages.OffsetFetchRequest
    topic = request.OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])
    group = request.OffsetFetchRequestGroup(group_id="g", topics=[topic])
    value = request(groups=[group], require_stable=require_stable)
    (answer,) = producer.broker.now(OFFSET_FETCH, 8, value).groups
    return [
        (each.committed_offset, each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    ]


pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("version", range(7))
async def test_t42_t43_t53_offsets_count_after_the_commit(
    producer: Transactor, version: int
) -> None:
    if version < 5:
        assert producer.add_group() == 0
    assert await send(producer, version, 4) == [0, 3]
    assert await send(producer, version, 5) == [0, 3]
    assert producer.state == "Ongoing"
    assert offsets(producer) == [(-1, 0)]
    assert offsets(producer, require_stable=True) == [(-1, 88)]
    assert producer.end() == 0
    assert offsets(producer, require_stable=True) == [(5, 0)]


async def test_t53_an_abort_drops_them(producer: Transactor) -> None:
    await send(producer, 5)
    assert producer.end(commit=False) == 0
    assert offsets(producer, require_stable=True) == [(-1, 0)]


@pytest.mark.parametrize(("version", "code"), [(0, 48), (3, 48), (4, 120)])
async def test_t42_the_group_must_be_in_the_transaction(
    producer: Transactor, version: int, code: int
) -> None:
    assert await send(producer, version) == [code, 3]
    assert producer.state == "Empty"


@pytest.mark.parametrize("version", range(7))
async def test_t42_t61_another_producer(producer: Transactor, version: int) -> None:
    for wrong, code in [((9, 0), 49), ((0, 3), 47)]:
        producer.producer = wrong
        assert await send(producer, version) == [code, 3]


async def test_t40_what_is_unknown(producer: Transactor) -> None:
    assert await send(producer, 5, topic="unknown") == [3, 3]
    assert await send(producer, 6, topic_id=b"\7" * 16) == [100, 100]
    assert await send(producer, 6, topic_id=b"\7" * 16, group_id="") == [100, 100]
    assert await send(producer, 5, group_id="") == [24, 3]
    assert producer.state == "Empty"


async def test_t42_the_partition_knows_a_higher_epoch(producer: Transactor) -> None:
    """Measured: then the coordinator is not asked any more."""
    old = producer.producer
    assert await send(producer, 5) == [0, 3]
    assert producer.end() == 0
    producer.name, producer.producer = "unknown", old
    assert await send(producer, 5) == [47, 3]


async def test_t42_verification_can_be_off(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = "transaction.partition.verification.enable"
    broker = Handlers(tmp_path / "other", settings={name: "false"})
    producer = Transactor(broker)
    producer.init()
    assert await send(producer, 4) == [0, 3]
    assert producer.state == "Empty"
    # the log fences without that, too; nobody else of its partition is bothered
    producer_id, epoch = producer.producer
    producer.producer = (producer_id, epoch + 1)
    assert await send(producer, 4) == [0, 3]
    producer.producer = (producer_id, epoch)
    assert await send(producer, 4) == [47, 3]
    assert "group state not written" not in caplog.text
    broker.cluster.close()


async def test_t44_what_cannot_be_asked_now(producer: Transactor, disk: Disk) -> None:
    disk.refuse("scandir", below="__")
    assert await send(producer, 5, partitions=[0]) == [15]


@pytest.mark.parametrize(("version", "code"), [(0, 15), (1, 15), (2, 14), (4, 14)])
async def test_t44_old_clients_do_not_know_14(
    producer: Transactor, monkeypatch: pytest.MonkeyPatch, version: int, code: int
) -> None:
    def verify(_: object, __: object, partitions: list[object]) -> dict[object, ErrorCode]:
        return dict.fromkeys(partitions, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    monkeypatch.setattr(producer.broker.context.transactions, "verify", verify)
    assert await send(producer, version) == [code, 3]


async def test_t44_what_cannot_be_written_is_told_of_every_partition(
    producer: Transactor, disk: Disk
) -> None:
    assert await send(producer, 5) == [0, 3]
    disk.refuse("pwrite", below="__consumer_offsets")
    assert await send(producer, 5) == [16, 3]
    disk.mend()
    disk.refuse("pwrite", below="__transaction_state")
    assert await send(producer, 5, group_id="another") == [16, 3]

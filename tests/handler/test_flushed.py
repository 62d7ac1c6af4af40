"""S-32: an answer comes when what it tells of is on disk; where that fails, it does not say so.

Also tests: broker_lite.handler.produce.flushed.
"""

import asyncio
import errno
import os
import random
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import CloseConnection, Request
from broker_lite.handler.dispatch import dispatch
from broker_lite.handler.fetch.session import FetchSessionCache
from broker_lite.handler.flushed import wait_for_coordinators
from broker_lite.handler.produce import append as produce_append
from broker_lite.handler.produce.append import INLINE_BYTES_MAX
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.visibility import Visibility
from broker_lite.record.builder import BatchBuilder
from broker_lite.record.codecs.compression import Codec
from broker_lite.server.upkeep.group_commit import GroupCommit
from broker_lite.wire import messages
from tests.log.logs import append
from tests.support.coordinator_topics import make_offsets_topic
from tests.support.disk import Disk
from tests.support.handler_broker import HandlerBroker, OpenBroker, join

pytestmark = pytest.mark.anyio

TOPIC, NAME, GROUP = "t", "x", "g"
TRANSACTIONS, OFFSETS = "__transaction_state-0", "__consumer_offsets-0"


class SlowDisk:
    """Holds up each fdatasync of a directory until the test lets it go on, or has it fail."""

    def __init__(self, disk: Disk) -> None:
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.slow = self.broken = "nothing"
        self.synced: list[str] = []
        disk.around("fdatasync", self.sync)

    def sync(self, path: str, do: Callable[[], None]) -> None:
        directory = os.path.basename(os.path.dirname(path))
        if directory == self.broken:
            raise OSError(errno.EIO, "the disk is gone")
        if directory == self.slow:
            assert self.may_go_on.wait(10)
        do()
        self.synced.append(directory)


@pytest.fixture
def disk(disk: Disk) -> SlowDisk:
    return SlowDisk(disk)


@pytest.fixture
def durable(open_broker: OpenBroker) -> HandlerBroker:
    broker = open_broker(
        log_flush_interval_messages="1",
        offsets_topic_num_partitions="1",
        transaction_state_log_num_partitions="1",
    )
    kind = messages.CreateTopicsRequest
    topic = kind.CreatableTopic(name=TOPIC, num_partitions=3, replication_factor=1)
    broker.context.fetch_sessions = FetchSessionCache(1)
    broker.call("CreateTopics", 5, topics=[topic], timeout_ms=1000)
    return broker


async def ask(broker: HandlerBroker, name: str, version: int, **fields: Any) -> Any:
    request_type = getattr(messages, f"{name}Request")
    response_type = getattr(messages, f"{name}Response")
    body = memoryview(bytearray(request_type.encode(request_type(**fields), version)))
    request = Request(request_type.api_key, version, 1, "test", body, 0, True)
    parts = await dispatch(broker.context, request)
    assert parts is not None
    return response_type.decode(join(parts), version)[0]


@asynccontextmanager
async def serving(broker: HandlerBroker) -> AsyncIterator[HandlerBroker]:
    async with GroupCommit(broker.cluster.logs.commits):
        yield broker


async def produce(
    broker: HandlerBroker,
    *partitions: int,
    producer: tuple[int, int, int] | None = None,
    records: Mapping[int, bytes] = MappingProxyType({}),
) -> list[int]:
    kind = messages.ProduceRequest
    data = []
    for partition in partitions:
        fields: dict[str, Any] = {}
        if producer is not None:
            fields = dict(
                zip(("producer_id", "producer_epoch", "base_sequence"), producer, strict=True)
            )
            fields["is_transactional"] = True
        builder = BatchBuilder(**fields)
        builder.append(1, b"k", b"v")
        batch = records.get(partition) or bytes(builder.build())
        data.append(kind.PartitionProduceData(index=partition, records=batch))
    answer = await ask(
        broker,
        "Produce",
        12,
        acks=-1,
        timeout_ms=1000,
        transactional_id=NAME if producer else None,
        topic_data=[kind.TopicProduceData(name=TOPIC, partition_data=data)],
    )
    return [each.error_code for each in answer.responses[0].partition_responses]


async def comes_after(disk: SlowDisk, question: Callable[[], Awaitable[Any]]) -> Any:
    """Ask, see that there is no answer while the disk is slow, and let the disk go on."""
    disk.may_go_on.clear()
    asked = asyncio.ensure_future(question())
    await anyio.wait_all_tasks_blocked()
    is_early = asked.done()
    disk.may_go_on.set()
    answer = await asked
    assert not is_early
    return answer


async def test_s32_a_produce_is_answered_when_all_its_partitions_are_on_disk(
    durable: HandlerBroker, disk: SlowDisk
) -> None:
    """V-71: the high watermark of each is above its batch by then."""
    disk.slow = f"{TOPIC}-2"
    async with serving(durable) as broker:
        codes = await comes_after(disk, lambda: produce(broker, 0, 1, 2))
        assert broker.context.has_waited
    assert codes == [0, 0, 0]
    assert sorted(disk.synced) == [f"{TOPIC}-{index}" for index in range(3)]


async def test_s32_a_partition_that_is_not_on_disk_is_offline(
    durable: HandlerBroker, disk: SlowDisk
) -> None:
    """V-72: of one request the others are acknowledged; every later use is refused."""
    disk.broken = f"{TOPIC}-1"
    storage_error = ErrorCode.KAFKA_STORAGE_ERROR
    async with serving(durable) as broker:
        assert await produce(broker, 0, 1, 2) == [0, storage_error, 0]
        disk.broken = "nothing"
        assert await produce(broker, 0, 1) == [0, storage_error]
        kind = messages.ListOffsetsRequest
        partitions = [kind.ListOffsetsPartition(partition_index=1, timestamp=-1)]
        answer = await ask(
            broker,
            "ListOffsets",
            5,
            topics=[kind.ListOffsetsTopic(name=TOPIC, partitions=partitions)],
        )
        assert answer.topics[0].partitions[0].error_code == storage_error
        delete = messages.DeleteRecordsRequest
        asked = delete.DeleteRecordsPartition(partition_index=1, offset=0)
        answer = await ask(
            broker,
            "DeleteRecords",
            1,
            topics=[delete.DeleteRecordsTopic(name=TOPIC, partitions=[asked])],
            timeout_ms=1,
        )
        assert answer.topics[0].partitions[0].error_code == storage_error


async def init(broker: HandlerBroker) -> tuple[int, int]:
    answer = await ask(
        broker, "InitProducerId", 5, transactional_id=NAME, transaction_timeout_ms=1000
    )
    assert answer.error_code == 0
    return answer.producer_id, answer.producer_epoch


async def end(broker: HandlerBroker, producer: tuple[int, int]) -> int:
    answer = await ask(
        broker,
        "EndTxn",
        5,
        transactional_id=NAME,
        producer_id=producer[0],
        producer_epoch=producer[1],
        committed=True,
    )
    return int(answer.error_code)


async def test_s32_a_producer_gets_its_id_when_that_is_on_disk(
    durable: HandlerBroker, disk: SlowDisk
) -> None:
    disk.slow = TRANSACTIONS
    async with serving(durable) as broker:
        await comes_after(disk, lambda: init(broker))


async def test_s32_what_a_transaction_writes_comes_after_its_partition_is_known(
    durable: HandlerBroker, disk: SlowDisk
) -> None:
    """T-35: records of which the coordinator knows nothing would stay open for ever."""
    async with serving(durable) as broker:
        producer = await init(broker)
        disk.synced.clear()
        disk.slow = TRANSACTIONS
        assert await comes_after(disk, lambda: produce(broker, 0, producer=(*producer, 0))) == [0]
    assert disk.synced == [TRANSACTIONS, f"{TOPIC}-0"]


@pytest.mark.parametrize("slow", [TRANSACTIONS, f"{TOPIC}-0"])
async def test_s32_decision_markers_and_completion_reach_the_disk_in_this_order(
    durable: HandlerBroker, disk: SlowDisk, slow: str
) -> None:
    async with serving(durable) as broker:
        producer = await init(broker)
        await produce(broker, 0, 1, producer=(*producer, 0))
        disk.synced.clear()
        disk.slow = slow
        assert await comes_after(disk, lambda: end(broker, producer)) == 0
        log = broker.cluster.log(TOPIC, 0)
        assert (log.high_watermark, log.last_stable_offset) == (2, 2)
    assert disk.synced[0] == TRANSACTIONS
    assert sorted(disk.synced[1:3]) == [f"{TOPIC}-0", f"{TOPIC}-1"]
    assert disk.synced[3:] == [TRANSACTIONS]


async def test_s32_a_decision_that_may_not_be_on_disk_is_not_told(
    durable: HandlerBroker, disk: SlowDisk
) -> None:
    async with serving(durable) as broker:
        producer = await init(broker)
        await produce(broker, 0, producer=(*producer, 0))
        disk.broken = TRANSACTIONS
        with pytest.raises(CloseConnection):
            await end(broker, producer)
        answer = await end(broker, producer)
        assert answer == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert broker.cluster.log(TOPIC, 0).last_stable_offset == 0


async def test_s32_a_transaction_waits_for_a_partition_that_is_offline(
    durable: HandlerBroker, disk: SlowDisk
) -> None:
    """T-58: its marker is tried again, and the transaction is not complete before."""
    async with serving(durable) as broker:
        producer = await init(broker)
        await produce(broker, 0, producer=(*producer, 0))
        disk.broken = f"{TOPIC}-0"
        with pytest.raises(CloseConnection):
            await end(broker, producer)
        broker.clock.step(2000)
        broker.coordinators.transactions.on_time()
        found = broker.coordinators.transactions.find(NAME, 1)
        assert not isinstance(found, ErrorCode)
        assert found.state.name == "PREPARE_COMMIT"


async def commit(broker: HandlerBroker) -> int:
    make_offsets_topic(broker.cluster)
    kind = messages.OffsetCommitRequest
    partition = kind.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    answer = await ask(
        broker,
        "OffsetCommit",
        8,
        group_id=GROUP,
        generation_id_or_member_epoch=-1,
        topics=[kind.OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])],
    )
    return int(answer.topics[0].partitions[0].error_code)


async def test_s32_offsets_are_committed_when_they_are_on_disk(
    durable: HandlerBroker, disk: SlowDisk
) -> None:
    disk.slow = OFFSETS
    async with serving(durable) as broker:
        assert await comes_after(disk, lambda: commit(broker)) == 0


async def test_s32_offsets_that_may_not_be_on_disk_are_not_committed(
    durable: HandlerBroker, disk: SlowDisk
) -> None:
    """The groups are not there until the next start."""
    async with serving(durable) as broker:
        assert await commit(broker) == 0
        disk.broken = OFFSETS
        not_coordinator = ErrorCode.NOT_COORDINATOR
        assert [await commit(broker) for _ in range(2)] == [not_coordinator] * 2


async def test_s32_markers_are_answered_when_they_are_on_disk(
    durable: HandlerBroker, disk: SlowDisk
) -> None:
    async with serving(durable) as broker:
        producer = await init(broker)
        await produce(broker, 0, producer=(*producer, 0))
        kind = messages.WriteTxnMarkersRequest
        marker = kind.WritableTxnMarker(
            producer_id=producer[0],
            producer_epoch=producer[1],
            transaction_result=True,
            topics=[kind.WritableTxnMarkerTopic(name=TOPIC, partition_indexes=[0])],
            coordinator_epoch=0,
        )
        disk.slow = f"{TOPIC}-0"
        answer = await comes_after(
            disk, lambda: ask(broker, "WriteTxnMarkers", 1, markers=[marker])
        )
        assert answer.markers[0].topics[0].partitions[0].error_code == 0


async def test_s32_a_fetch_that_waits_is_answered_when_the_record_is_on_disk(
    durable: HandlerBroker, disk: SlowDisk
) -> None:
    """F-31: the flush wakes it, not the append."""
    kind = messages.FetchRequest
    asked = kind.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    topics = [kind.FetchTopic(topic=TOPIC, partitions=[asked])]
    async with serving(durable) as broker:
        fetched = asyncio.ensure_future(
            ask(broker, "Fetch", 4, max_wait_ms=60_000, min_bytes=1, max_bytes=1000, topics=topics)
        )
        await anyio.wait_all_tasks_blocked()
        disk.slow = f"{TOPIC}-0"
        disk.may_go_on.clear()
        produced = asyncio.ensure_future(produce(broker, 0))
        await anyio.wait_all_tasks_blocked()
        is_early = fetched.done()
        disk.may_go_on.set()
        assert await produced == [0]
        answer = (await fetched).responses[0].partitions[0]
    assert (is_early, answer.high_watermark, answer.error_code) == (False, 1, 0)


async def test_s32_a_flush_that_fails_before_the_last_partition_is_appended_counts(
    durable: HandlerBroker, disk: SlowDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one's batch is so large that a thread validates it meanwhile, and damaged."""
    builder = BatchBuilder(codec=Codec.GZIP)
    builder.append(1, b"k", random.Random(7).randbytes(2 * INLINE_BYTES_MAX))
    damaged = bytes(builder.build())[:-1] + b"?"
    commits = durable.cluster.logs.commits
    go_offline, is_offline = commits.went_offline, threading.Event()

    def went_offline(failed: Visibility) -> None:
        go_offline(failed)
        is_offline.set()

    def validate_late(*args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            assert is_offline.wait(10)
        return validate_records(*args, **kwargs)

    commits.went_offline = went_offline
    monkeypatch.setattr(produce_append, "validate_records", validate_late)
    disk.broken = f"{TOPIC}-0"
    async with serving(durable) as broker:
        codes = await produce(broker, 0, 1, records={1: damaged})
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.CORRUPT_MESSAGE]
    assert is_offline.is_set()


async def test_s32_a_flush_that_has_just_failed_in_its_thread_counts(
    durable: HandlerBroker,
) -> None:
    """The log is offline by then, but the loop has not been told yet."""
    commits = durable.cluster.logs.commits
    commits.start = lambda _: None
    log = durable.cluster.log(TOPIC, 0)
    append(log)
    assert log.visibility in commits.held
    log.flusher.offline_reason = OSError(errno.EIO, "the disk is gone")
    with pytest.raises(CloseConnection):
        await wait_for_coordinators(durable.context, commits.failures)

"""C-53: a Produce with acks -1 waits for the replicas in sync."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from broker_lite.control.metadata.image import TOPIC_RESOURCE
from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.errors import ErrorCode
from broker_lite.log.replicas import Lag
from tests.handler.data_apis import (
    FETCH,
    PRODUCE,
    TOPIC,
    Handlers,
    fetched,
    partition_answers,
    size,
    wanted,
)
from tests.handler.fetch.old_client_requests import message
from tests.log.batches import batch, record

pytestmark = pytest.mark.anyio
FROZEN = Lag(is_frozen=True)
LONG_MS = 60_000


class Cluster:
    """Three brokers; requests go to the leader of partition 0, which has two followers."""

    def __init__(self, data_dir: Path) -> None:
        self.handlers = Handlers(
            data_dir,
            settings={
                "broker.lite.brokers": "3",
                "default.replication.factor": "3",
                "min.insync.replicas": "2",
            },
        )
        self.cluster = self.handlers.cluster
        for node_id in (1, 2, 3):
            self.cluster.register(node_id, [])
        self.manager = ReplicaManager(self.cluster, self.handlers.clock)
        partition = self.cluster.topics[TOPIC].partitions[0]
        self.leader = partition.leader
        self.followers = [each for each in partition.replicas if each != self.leader]
        self.at(self.leader)

    def at(self, node_id: int) -> None:
        self.handlers.context.node_id = node_id

    def lag(self, node_id: int, lag: Lag = FROZEN) -> None:
        self.manager.fall_behind(self.cluster.topics[TOPIC], 0, node_id, lag)

    def catch_up(self, node_id: int) -> None:
        self.manager.catch_up(self.cluster.topics[TOPIC], 0, node_id)

    def shrink(self, *node_ids: int) -> None:
        for node_id in node_ids:
            self.manager.shrink_isr(self.cluster.topics[TOPIC], 0, node_id)

    def lead(self, node_id: int) -> None:
        topic = self.cluster.topics[TOPIC]
        before = topic.partitions[0]
        after = before._replace(leader=node_id, leader_epoch=before.leader_epoch + 1)
        self.cluster.controller.alter(topic, 0, after)

    async def produce(
        self,
        *record_sets: bytes,
        acks: int = -1,
        timeout_ms: int = LONG_MS,
        version: int = 8,
        partitions: Sequence[int] | None = None,
    ) -> Any:
        sets = record_sets or (batch(record()),)
        value = self.handlers.produce_request(
            *sets, version=version, acks=acks, partitions=partitions
        )
        value.timeout_ms = timeout_ms
        answer = await self.handlers.answer(PRODUCE, version, value)
        found = partition_answers(answer)
        return found if found is None or len(found) > 1 else found[0]

    @property
    def is_watched(self) -> bool:
        return self.handlers.log().visibility.is_watched


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    opened = Cluster(tmp_path / "data")
    yield opened
    opened.cluster.close()


class Sent:
    """A Produce that is under way."""

    def __init__(self) -> None:
        self.answer: Any = None

    async def run(self, cluster: Cluster, **fields: Any) -> None:
        self.answer = await cluster.produce(**fields)


async def settle() -> None:
    for _ in range(10):
        await anyio.lowlevel.checkpoint()


def code(answer: Any) -> ErrorCode:
    return ErrorCode(answer.error_code)


async def test_c53_it_waits_for_a_replica_in_sync(cluster: Cluster) -> None:
    cluster.lag(cluster.followers[0])
    sent = Sent()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: sent.run(cluster))
        await settle()
        assert (sent.answer, cluster.handlers.log().log_end_offset) == (None, 1)
        assert cluster.is_watched
        cluster.catch_up(cluster.followers[0])
    assert (code(sent.answer), sent.answer.base_offset) == (ErrorCode.NONE, 0)
    assert not cluster.is_watched


@pytest.mark.parametrize("timeout_ms", [0, -1, 20])
async def test_c53_it_times_out(cluster: Cluster, timeout_ms: int) -> None:
    """The records stay, and the answer has their offsets."""
    cluster.lag(cluster.followers[0])
    answer = await cluster.produce(timeout_ms=timeout_ms)
    assert (code(answer), answer.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 0)
    assert (cluster.handlers.log().log_end_offset, cluster.is_watched) == (1, False)


async def test_c53_what_does_not_lag_is_not_timed_out(cluster: Cluster) -> None:
    cluster.lag(cluster.followers[0])
    topic = cluster.cluster.topics[TOPIC]
    other = topic.partitions[1]
    after = other._replace(leader=cluster.leader, leader_epoch=other.leader_epoch + 1)
    cluster.cluster.controller.alter(topic, 1, after)
    answers = await cluster.produce(batch(record()), batch(record()), timeout_ms=10)
    assert [code(each) for each in answers] == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE]


@pytest.mark.parametrize("acks", [0, 1])
async def test_c53_other_acks_do_not_wait(cluster: Cluster, acks: int) -> None:
    cluster.lag(cluster.followers[0])
    answer = await cluster.produce(acks=acks)
    assert answer is None if acks == 0 else code(answer) is ErrorCode.NONE
    log = cluster.handlers.log()
    assert (log.log_end_offset, log.high_watermark, cluster.is_watched) == (1, 0, False)


@pytest.mark.parametrize(("acks", "expected"), [(-1, ErrorCode.NOT_ENOUGH_REPLICAS), (1, 0)])
async def test_c53_too_few_in_sync(cluster: Cluster, acks: int, expected: int) -> None:
    cluster.shrink(*cluster.followers)
    answer = await cluster.produce(acks=acks)
    end = 0 if expected else 1
    assert (answer.error_code, cluster.handlers.log().log_end_offset) == (expected, end)
    assert (answer.base_offset, cluster.handlers.log().high_watermark) == (end - 1, 0)
    cluster.catch_up(cluster.followers[1])
    assert cluster.handlers.log().high_watermark == end
    assert code(await cluster.produce()) is ErrorCode.NONE


async def test_c53_too_few_in_sync_comes_before_the_records_are_looked_at(
    cluster: Cluster,
) -> None:
    """Partition.appendRecordsToLeader."""
    cluster.shrink(*cluster.followers)
    broken = bytearray(batch(record()))
    broken[20] ^= 1
    assert code(await cluster.produce(bytes(broken))) is ErrorCode.NOT_ENOUGH_REPLICAS
    cluster.at(cluster.followers[0])
    assert code(await cluster.produce()) is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_c53_the_isr_shrinks_while_it_waits(cluster: Cluster) -> None:
    """One of three leaves, and it goes on; with two gone the high watermark stands still."""
    cluster.lag(cluster.followers[0])
    first, second = Sent(), Sent()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: first.run(cluster))
        await settle()
        cluster.shrink(cluster.followers[0])
        await settle()
        assert code(first.answer) is ErrorCode.NONE
        cluster.lag(cluster.followers[1])
        group.start_soon(lambda: second.run(cluster, timeout_ms=50))
        await settle()
        cluster.shrink(cluster.followers[1])
    assert code(second.answer) is ErrorCode.REQUEST_TIMED_OUT


async def test_c53_replicated_but_too_few_by_now(cluster: Cluster) -> None:
    """The high watermark came, and then the ISR shrank before the answer was made."""
    cluster.lag(cluster.followers[0])
    sent = Sent()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: sent.run(cluster))
        await settle()
        cluster.catch_up(cluster.followers[0])
        cluster.shrink(*cluster.followers)
    assert code(sent.answer) is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert sent.answer.base_offset == 0


@pytest.mark.parametrize("goes_back", [False, True])
@pytest.mark.parametrize("is_behind", [False, True])
async def test_c53_another_broker_leads(cluster: Cluster, goes_back: bool, is_behind: bool) -> None:
    cluster.lag(cluster.followers[0])
    sent = Sent()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: sent.run(cluster))
        await settle()
        cluster.lead(cluster.followers[not is_behind])
        if goes_back:
            cluster.lead(cluster.leader)
        if is_behind or goes_back:
            cluster.catch_up(cluster.followers[0])
    is_there = goes_back and not is_behind
    assert code(sent.answer) is (ErrorCode.NONE if is_there else ErrorCode.NOT_LEADER_OR_FOLLOWER)


async def test_c53_the_topic_is_deleted_and_comes_again(cluster: Cluster) -> None:
    cluster.lag(cluster.followers[0])
    sent = Sent()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: sent.run(cluster))
        await settle()
        cluster.handlers.delete(TOPIC)
        cluster.handlers.create(TOPIC, 2)
    assert code(sent.answer) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_c53_the_log_goes_offline(cluster: Cluster) -> None:
    cluster.lag(cluster.followers[0])
    sent = Sent()
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: sent.run(cluster))
        await settle()
        visibility = cluster.handlers.log().visibility
        visibility.flusher.offline_reason = "a broken disk"
        cluster.cluster.logs.offline.take(visibility)
        visibility.wake()
    assert code(sent.answer) is ErrorCode.KAFKA_STORAGE_ERROR


async def test_c53_the_client_goes(cluster: Cluster) -> None:
    cluster.lag(cluster.followers[0])
    with anyio.move_on_after(0.02) as scope:
        await cluster.produce()
    assert scope.cancelled_caught
    assert (cluster.is_watched, cluster.handlers.log().log_end_offset) == (False, 1)


async def test_c53_a_duplicate_waits_for_what_it_repeats(cluster: Cluster) -> None:
    first = batch(record(), producer=(7, 0, 0))
    assert code(await cluster.produce(first)) is ErrorCode.NONE
    cluster.lag(cluster.followers[0])
    assert code(await cluster.produce(first)) is ErrorCode.NONE  # it is replicated already
    second = batch(record(), producer=(7, 0, 1))
    for _ in range(2):
        answer = await cluster.produce(second, timeout_ms=5)
        assert (code(answer), answer.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, 1)
    assert cluster.handlers.log().log_end_offset == 2


@pytest.mark.parametrize("version", [0, 1, 2, 3, 9, 12])
async def test_c53_every_version_waits(cluster: Cluster, version: int) -> None:
    """Old formats, too: they are converted, and the request has other bytes than the log."""
    records = message(b"v", magic=1 if version == 2 else 0) if version < 3 else batch(record())
    cluster.lag(cluster.followers[0])
    answer = await cluster.produce(records, version=version, timeout_ms=5)
    assert code(answer) is ErrorCode.REQUEST_TIMED_OUT
    cluster.catch_up(cluster.followers[0])
    assert code(await cluster.produce(records, version=version)) is ErrorCode.NONE


async def test_c50_min_insync_replicas_of_the_topic(cluster: Cluster) -> None:
    cluster.shrink(*cluster.followers)
    cluster.cluster.alter_configs([(TOPIC_RESOURCE, TOPIC, {"min.insync.replicas": "1"})])
    assert code(await cluster.produce()) is ErrorCode.NONE
    cluster.cluster.alter_configs([(TOPIC_RESOURCE, TOPIC, {"min.insync.replicas": "3"})])
    assert code(await cluster.produce()) is ErrorCode.NOT_ENOUGH_REPLICAS


# -- readers


def fetch(cluster: Cluster, offset: int, **fields: Any) -> Any:
    (answer,) = cluster.handlers.fetch(wanted(offset=offset), **fields)
    return answer


async def test_c54_a_follower_has_what_it_has(cluster: Cluster) -> None:
    """Source: Partition.fetchRecords at a follower."""
    lagging, current = cluster.followers
    await cluster.produce()
    cluster.shrink(lagging)
    await cluster.produce()
    cluster.at(current)
    assert (fetch(cluster, 1).high_watermark, size(fetch(cluster, 1)) > 0) == (2, True)
    cluster.at(lagging)
    answer = fetch(cluster, 0)
    assert (answer.high_watermark, answer.last_stable_offset) == (1, 1)
    one = size(answer)
    assert (code(fetch(cluster, 1)), size(fetch(cluster, 1))) == (ErrorCode.NONE, 0)
    assert code(fetch(cluster, 2)) is ErrorCode.OFFSET_OUT_OF_RANGE
    assert size(fetch(cluster, 0, isolation_level=1)) == one
    cluster.catch_up(lagging)
    assert (size(fetch(cluster, 0)), code(fetch(cluster, 2))) == (2 * one, ErrorCode.NONE)


async def test_c54_a_follower_without_room(cluster: Cluster) -> None:
    lagging = cluster.followers[0]
    await cluster.produce()
    cluster.shrink(lagging)
    await cluster.produce()
    cluster.at(lagging)
    for offset, expected in ((0, ErrorCode.NONE), (2, ErrorCode.OFFSET_OUT_OF_RANGE)):
        (answer,) = cluster.handlers.fetch(wanted(offset=offset), max_bytes=0, version=12)
        assert code(answer) is expected
        if not expected:
            assert answer.high_watermark == 1


@pytest.mark.parametrize(
    ("event", "version", "epoch", "expected"),
    [
        ("moves", 10, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ("moves", 12, 0, ErrorCode.FENCED_LEADER_EPOCH),
        ("cut", 10, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        ("cut", 12, 0, ErrorCode.FENCED_LEADER_EPOCH),
        ("cut-and-append", 12, -1, ErrorCode.NONE),
        ("catches-up", 12, 0, ErrorCode.NONE),
        ("deleted", 12, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
async def test_c54_a_long_poll_is_woken(
    cluster: Cluster, event: str, version: int, epoch: int, expected: ErrorCode
) -> None:
    """Source: DelayedFetch; a reader without an epoch may go on at a follower."""
    await cluster.produce()
    lagging = cluster.followers[0]
    cluster.lag(lagging)
    await cluster.produce(acks=1)
    answers: list[Any] = []

    async def poll() -> None:
        asked = wanted(offset=1, current_leader_epoch=epoch)
        request = cluster.handlers.fetch_request(asked, max_wait_ms=LONG_MS)
        answers.extend(fetched(await cluster.handlers.answer(FETCH, version, request)))

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(poll)
            await settle()
            assert answers == []
            if event == "moves":
                cluster.lead(cluster.followers[1])
            elif event == "deleted":
                cluster.handlers.delete(TOPIC)
            elif event == "catches-up":
                cluster.catch_up(lagging)
            else:
                cluster.lead(lagging)
            if event == "cut-and-append":
                await settle()
                assert answers == []
                cluster.at(lagging)
                await cluster.produce(acks=1)
    assert code(answers[0]) is expected
    assert (size(answers[0]) > 0) is (expected is ErrorCode.NONE)

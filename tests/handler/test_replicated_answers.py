"""Requests to coordinators while a replica of their state topics is behind."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from broker_lite.log.replicas import Lag
from broker_lite.wire import messages
from tests.handler.groups.group_requests import send
from tests.handler.three_brokers import ThreeBrokers
from tests.log.batches import batch, record
from tests.support.handler_broker import OpenBroker

TRANSACTIONAL = 0x10
NAME = "x"
COMMIT_TIMEOUT_MS = 5000
TRANSACTION_TIMEOUT_MS = 900
OK, NOT_AVAILABLE, NOT_COORDINATOR = 0, 15, 16
NOT_ENOUGH_REPLICAS = 19


class Scene:
    """Three brokers; replicas of the partitions of the group g and of the id x can be behind."""

    def __init__(self, brokers: ThreeBrokers) -> None:
        self.brokers = brokers
        self.clock = brokers.broker.clock
        self.coordinators = brokers.broker.coordinators
        self.manager = ReplicaManager(brokers.cluster, self.clock)

    def _each(self, act: Callable[..., None], topic_name: str, name: str, *more: Any) -> None:
        topic = self.brokers.cluster.topics[topic_name]
        index = self.brokers.partition(name, topic_name)
        partition = topic.partitions[index]
        follower = next(each for each in partition.replicas if each != partition.leader)
        act(topic, index, follower, *more)

    def lag(self, topic: str = OFFSETS_TOPIC, name: str = "g") -> None:
        self._each(self.manager.fall_behind, topic, name, Lag(is_frozen=True))

    def catch_up(self, topic: str = OFFSETS_TOPIC, name: str = "g") -> None:
        self._each(self.manager.catch_up, topic, name)

    def step(self, step_ms: int) -> None:
        self.clock.step(step_ms)
        self.coordinators.groups.on_time()
        self.coordinators.transactions.on_time()

    async def begin(self, asked: Awaitable[Any]) -> "asyncio.Future[Any]":
        """Send a request that has to wait."""
        task = asyncio.ensure_future(asked)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not task.done()
        return task

    def ask(self, name: str, version: int, **fields: Any) -> Awaitable[Any]:
        """Send a request to the coordinator of the group g."""
        return self._to(self.brokers.coordinator("g"), name, version, **fields)

    def ask_x(self, name: str, version: int, **fields: Any) -> Awaitable[Any]:
        """Send a request to the coordinator of the id x."""
        node_id = self.brokers.coordinator(NAME, TRANSACTIONS_TOPIC)
        return self._to(node_id, name, version, **fields)

    def _to(self, node_id: int, name: str, version: int, **fields: Any) -> Awaitable[Any]:
        self.brokers.context.node_id = node_id
        return send(self.brokers.broker, name, version, **fields)

    async def commit(self, offset: int = 3) -> int:
        types = messages.OffsetCommitRequest
        partition = types.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topics = [types.OffsetCommitRequestTopic(name="t", partitions=[partition])]
        answer = await self.ask("OffsetCommit", 9, group_id="g", topics=topics)
        return int(answer.topics[0].partitions[0].error_code)

    async def init(self) -> tuple[int, int]:
        answer = await self.ask_x(
            "InitProducerId",
            5,
            transactional_id=NAME,
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
            producer_id=-1,
            producer_epoch=-1,
        )
        assert answer.error_code == OK
        return answer.producer_id, answer.producer_epoch


@pytest.fixture
def scene(open_broker: OpenBroker) -> Scene:
    return Scene(ThreeBrokers.open(open_broker))


def test_c72_a_commit(scene: Scene) -> None:
    async def run() -> None:
        scene.lag()
        committing = await scene.begin(scene.commit())
        scene.step(COMMIT_TIMEOUT_MS)
        assert await committing == NOT_AVAILABLE
        scene.catch_up()
        assert await scene.commit() == OK

    asyncio.run(run())


@pytest.mark.parametrize("name", ["OffsetCommit", "TxnOffsetCommit"])
def test_c72_a_commit_for_no_known_partition_does_not_wait(scene: Scene, name: str) -> None:
    kind = getattr(messages, f"{name}Request")
    partition = getattr(kind, f"{name}RequestPartition")(partition_index=0)
    topics = [getattr(kind, f"{name}RequestTopic")(name="no", partitions=[partition])]
    fields = {"transactional_id": NAME, "producer_id": 1} if name == "TxnOffsetCommit" else {}

    async def run() -> None:
        scene.lag()
        committing = await scene.begin(scene.commit())
        answer = await scene.ask(name, 3, group_id="g", topics=topics, **fields)
        assert answer.topics[0].partitions[0].error_code == 3
        scene.catch_up()
        assert await committing == OK

    asyncio.run(run())


@pytest.mark.parametrize("version", [7, 8])
def test_c72_offsets_that_have_to_be_stable(scene: Scene, version: int) -> None:
    """Clients before 3.9 do not know 15 as an answer to OffsetFetch, so Kafka answers 16."""

    def fetch(*, require_stable: bool) -> Awaitable[Any]:
        fields: dict[str, Any] = {"group_id": "g", "topics": None}
        if version == 8:
            kind = messages.OffsetFetchRequest.OffsetFetchRequestGroup
            fields = {"groups": [kind(group_id="g", topics=None), kind(group_id="", topics=None)]}
        return scene.ask("OffsetFetch", version, require_stable=require_stable, **fields)

    def outcome(answer: Any) -> tuple[int, list[int]]:
        one = answer.groups[0] if version == 8 else answer
        offsets = [each.committed_offset for topic in one.topics for each in topic.partitions]
        return one.error_code, offsets

    async def run() -> None:
        scene.lag()
        committing = await scene.begin(scene.commit())
        assert outcome(await fetch(require_stable=False)) == (OK, [])
        fetching = await scene.begin(fetch(require_stable=True))
        scene.step(COMMIT_TIMEOUT_MS)
        assert outcome(await fetching) == (NOT_COORDINATOR, [])
        assert await committing == NOT_AVAILABLE
        fetching = await scene.begin(fetch(require_stable=True))
        scene.catch_up()
        assert outcome(await fetching) == (OK, [3])
        scene.lag()
        assert outcome(await fetch(require_stable=True)) == (OK, [3])

    asyncio.run(run())


def test_c72_groups_that_are_deleted(scene: Scene) -> None:
    """All groups of a partition wait for it, also those that are not there."""
    brokers = scene.brokers
    names = [f"n{number}" for number in range(100)]
    gone = next(each for each in names if brokers.partition(each) == brokers.partition("g"))
    foreign = next(each for each in names if brokers.coordinator(each) != brokers.coordinator("g"))

    def delete() -> Awaitable[Any]:
        return scene.ask("DeleteGroups", 2, groups_names=["g", gone, foreign])

    def codes(answer: Any) -> dict[str, int]:
        return {each.group_id: each.error_code for each in answer.results}

    async def run() -> None:
        assert await scene.commit() == OK
        scene.lag()
        deleting = await scene.begin(delete())
        scene.step(COMMIT_TIMEOUT_MS)
        late = {"g": NOT_AVAILABLE, gone: NOT_AVAILABLE, foreign: NOT_COORDINATOR}
        assert codes(await deleting) == late
        again = await scene.begin(delete())
        scene.catch_up()
        assert codes(await again) == {"g": 69, gone: 69, foreign: NOT_COORDINATOR}

    asyncio.run(run())


def test_c72_groups_are_not_deleted_while_records_before_wait(scene: Scene) -> None:
    """Measured: Kafka looks for share groups first, which waits for the records before it."""

    async def delete() -> int:
        return int((await scene.ask("DeleteGroups", 2, groups_names=["g"])).results[0].error_code)

    async def run() -> None:
        scene.lag()
        committing = await scene.begin(scene.commit())
        deleting = await scene.begin(delete())
        scene.step(COMMIT_TIMEOUT_MS)
        assert await committing == await deleting == NOT_AVAILABLE
        deleting = await scene.begin(delete())
        scene.catch_up()
        assert await deleting == OK

    asyncio.run(run())


@pytest.mark.parametrize("is_late", [False, True])
@pytest.mark.parametrize("version", [3, 4])
def test_c73_partitions_of_a_transaction(scene: Scene, version: int, is_late: bool) -> None:
    types = messages.AddPartitionsToTxnRequest
    topics = [types.AddPartitionsToTxnTopic(name="t", partitions=[0])]

    def add(producer: tuple[int, int]) -> Awaitable[Any]:
        if version == 3:
            return scene.ask_x(
                "AddPartitionsToTxn",
                3,
                v3_and_below_transactional_id=NAME,
                v3_and_below_producer_id=producer[0],
                v3_and_below_producer_epoch=producer[1],
                v3_and_below_topics=topics,
            )
        one = types.AddPartitionsToTxnTransaction(
            transactional_id=NAME,
            producer_id=producer[0],
            producer_epoch=producer[1],
            topics=topics,
        )
        return scene.ask_x("AddPartitionsToTxn", 4, transactions=[one])

    def code(answer: Any) -> int:
        results = answer.results_by_topic_v3_and_below
        if version == 4:
            results = answer.results_by_transaction[0].topic_results
        return int(results[0].results_by_partition[0].partition_error_code)

    async def run() -> None:
        producer = await scene.init()
        scene.lag(TRANSACTIONS_TOPIC, NAME)
        adding = await scene.begin(add(producer))
        if is_late:
            scene.step(TRANSACTION_TIMEOUT_MS)
            assert code(await adding) == NOT_AVAILABLE
        else:
            scene.catch_up(TRANSACTIONS_TOPIC, NAME)
            assert code(await adding) == OK

    asyncio.run(run())


@pytest.mark.parametrize("is_late", [False, True])
def test_c73_a_group_of_a_transaction(scene: Scene, is_late: bool) -> None:
    async def run() -> None:
        producer_id, producer_epoch = await scene.init()
        fields = {
            "transactional_id": NAME,
            "producer_id": producer_id,
            "producer_epoch": producer_epoch,
        }
        scene.lag(TRANSACTIONS_TOPIC, NAME)
        adding = await scene.begin(scene.ask_x("AddOffsetsToTxn", 3, group_id="g", **fields))
        if is_late:
            scene.step(TRANSACTION_TIMEOUT_MS)
            assert (await adding).error_code == NOT_AVAILABLE
            return
        scene.catch_up(TRANSACTIONS_TOPIC, NAME)
        assert (await adding).error_code == OK
        scene.lag(TRANSACTIONS_TOPIC, NAME)
        ending = await scene.begin(scene.ask_x("EndTxn", 4, committed=True, **fields))
        scene.catch_up(TRANSACTIONS_TOPIC, NAME)
        assert (await ending).error_code == OK

    asyncio.run(run())


@pytest.mark.parametrize("is_late", [False, True])
def test_c73_a_commit_that_adds_its_group(scene: Scene, is_late: bool) -> None:
    """First it waits for the partition of the transaction, then for that of the group."""
    types = messages.TxnOffsetCommitRequest
    partition = types.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=3)
    topics = [types.TxnOffsetCommitRequestTopic(name="t", partitions=[partition])]

    async def run() -> None:
        producer_id, producer_epoch = await scene.init()
        fields = {"transactional_id": NAME, "group_id": "g", "topics": topics}
        fields |= {"producer_id": producer_id, "producer_epoch": producer_epoch}
        scene.lag(TRANSACTIONS_TOPIC, NAME)
        scene.lag()
        committing = await scene.begin(scene.ask("TxnOffsetCommit", 5, **fields))
        if is_late:
            scene.step(TRANSACTION_TIMEOUT_MS)
        else:
            scene.catch_up(TRANSACTIONS_TOPIC, NAME)
            for _ in range(5):
                await asyncio.sleep(0)
            assert not committing.done()
            scene.catch_up()
        (topic,) = (await committing).topics
        assert topic.partitions[0].error_code == (NOT_AVAILABLE if is_late else OK)

    asyncio.run(run())


@pytest.mark.parametrize("is_late", [False, True])
def test_c73_a_produce_that_adds_its_partition(scene: Scene, is_late: bool) -> None:
    async def run() -> None:
        producer = await scene.init()
        scene.brokers.context.node_id = 1  # it leads partition 0
        types = messages.ProduceRequest
        data = batch(record(), attributes=TRANSACTIONAL, producer=(*producer, 0))
        topic = types.TopicProduceData(
            name="t", partition_data=[types.PartitionProduceData(index=0, records=data)]
        )
        scene.lag(TRANSACTIONS_TOPIC, NAME)
        sent = send(
            scene.brokers.broker,
            "Produce",
            12,
            transactional_id=NAME,
            acks=-1,
            timeout_ms=1000,
            topic_data=[topic],
        )
        producing = await scene.begin(sent)
        if is_late:
            scene.step(TRANSACTION_TIMEOUT_MS)
        else:
            scene.catch_up(TRANSACTIONS_TOPIC, NAME)
        (answer,) = (await producing).responses
        expected = NOT_ENOUGH_REPLICAS if is_late else OK
        assert answer.partition_responses[0].error_code == expected

    asyncio.run(run())

"""What a member says about records while a replica of `__share_group_state` is behind."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.control.topics.internal_topics import SHARE_TOPIC
from broker_lite.log.replicas import Lag
from broker_lite.wire import messages
from tests.handler.groups.group_requests import send
from tests.handler.share.share_requests import Sharer, acquired
from tests.handler.three_brokers import ThreeBrokers
from tests.support.handler_broker import OpenBroker

TIMEOUT_MS = 5000
OK, NOT_AVAILABLE = 0, 15


class Scene:
    """A member of a share group has acquired ten records of partition 0, which broker 1 leads."""

    def __init__(self, brokers: ThreeBrokers) -> None:
        self.brokers = brokers
        self.clock = brokers.broker.clock
        self.shares = brokers.broker.coordinators.groups.shares
        self.manager = ReplicaManager(brokers.cluster, self.clock)
        self.sharer = Sharer(brokers.broker)
        brokers.context.node_id = brokers.coordinator("g")
        assert self.sharer.beat().error_code == OK
        brokers.context.node_id = 1
        self.sharer.append(10)
        assert acquired(self.sharer.fetch()) == [(0, 9, 1)]

    def lag(self) -> None:
        self._one(self.manager.fall_behind, Lag(is_frozen=True))

    def catch_up(self) -> None:
        self._one(self.manager.catch_up)

    def step(self, step_ms: int) -> None:
        self.clock.step(step_ms)
        self.shares.on_time()

    async def begin(self, asked: Awaitable[Any]) -> "asyncio.Future[Any]":
        """Send a request that has to wait."""
        task = asyncio.ensure_future(asked)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not task.done()
        return task

    def _one(self, act: Callable[..., None], *more: Any) -> None:
        topic = self.brokers.cluster.topics[SHARE_TOPIC]
        leader, replicas = topic.partitions[0].leader, topic.partitions[0].replicas
        act(topic, 0, next(each for each in replicas if each != leader), *more)

    def accept(self, first: int, last: int) -> Awaitable[Any]:
        said = {0: [(first, last, [1])]}
        return self.sharer.fetch_later(said=said, count=0, max_wait_ms=0)

    async def say(self, first: int, last: int) -> int:
        message = messages.ShareAcknowledgeRequest
        batch_of = message.AcknowledgementBatch
        said = batch_of(first_offset=first, last_offset=last, acknowledge_types=[1])
        partition = message.AcknowledgePartition(partition_index=0, acknowledgement_batches=[said])
        topic = message.AcknowledgeTopic(topic_id=self.sharer.topic_id, partitions=[partition])
        fields = {"group_id": "g", "member_id": "m", "share_session_epoch": self.sharer.epoch}
        self.sharer.epoch += 1
        broker = self.brokers.broker
        answer = await send(broker, "ShareAcknowledge", 2, topics=[topic], **fields)
        return int(answer.responses[0].partitions[0].error_code)


@pytest.fixture
def scene(open_broker: OpenBroker) -> Scene:
    prefix = "share_coordinator_state_topic_"
    settings = {"replication_factor": "3", "num_partitions": "1", "min_isr": "1"}
    return Scene(
        ThreeBrokers.open(open_broker, **{prefix + name: each for name, each in settings.items()})
    )


def test_k27_acknowledgements_wait_for_replicas(scene: Scene) -> None:
    async def act() -> None:
        scene.lag()
        asked = await scene.begin(scene.say(0, 3))
        scene.catch_up()
        assert await asked == OK
        scene.lag()
        asked = await scene.begin(scene.accept(4, 5))
        scene.catch_up()
        assert (await asked)[0].acknowledge_error_code == OK
        assert await scene.say(6, 7) == OK

    asyncio.run(act())


def test_k27_replicas_that_take_too_long(scene: Scene) -> None:
    async def act() -> None:
        scene.lag()
        asked = await scene.begin(scene.say(0, 3))
        assert scene.shares.next_deadline_ms() == scene.clock.steady_ms() + TIMEOUT_MS
        scene.step(TIMEOUT_MS)
        assert await asked == NOT_AVAILABLE
        asked = await scene.begin(scene.accept(4, 5))
        scene.step(TIMEOUT_MS)
        assert (await asked)[0].acknowledge_error_code == NOT_AVAILABLE

    asyncio.run(act())


def test_k27_another_broker_keeps_the_state_by_now(scene: Scene) -> None:
    async def act() -> None:
        scene.lag()
        asked = await scene.begin(scene.say(0, 3))
        cluster = scene.brokers.cluster
        cluster.controller.fence(cluster.topics[SHARE_TOPIC].partitions[0].leader)
        assert await asked == NOT_AVAILABLE

    asyncio.run(act())


def test_k27_the_states_are_lost_with_their_topic(scene: Scene) -> None:
    async def act() -> None:
        scene.lag()
        asked = await scene.begin(scene.say(0, 3))
        cluster = scene.brokers.cluster
        cluster.delete_topics([cluster.topics[SHARE_TOPIC]])
        assert await asked == NOT_AVAILABLE

    asyncio.run(act())

"""Three brokers with groups, one of which is behind."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from broker_lite.control.replication.replica_manager import ReplicaManager
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.errors import BrokerError
from broker_lite.log.replicas import Lag
from tests.control.trio import Trio

FROZEN = Lag(is_frozen=True)


class LaggingTrio(Trio):
    """Three brokers; a replica of the partition of the group g can be behind."""

    def start(self) -> None:
        super().start()
        self.manager = ReplicaManager(self.cluster, self.clock)

    def lag(self, number: int = 0) -> None:
        """Freeze a follower; number 0 is the one that would lead next."""
        topic = self.cluster.topics[OFFSETS_TOPIC]
        replicas = topic.partitions[self.partition].replicas
        self.follower = [each for each in replicas if each != self.leader][number]
        self.manager.fall_behind(topic, self.partition, self.follower, FROZEN)

    def catch_up(self) -> None:
        topic = self.cluster.topics[OFFSETS_TOPIC]
        self.manager.catch_up(topic, self.partition, self.follower)

    def step(self, step_ms: int) -> None:
        self.clock.step(step_ms)
        self.groups.on_time()

    @property
    def waits(self) -> int:
        """How many answers wait."""
        return len(self.groups._waits._timers)

    @property
    def is_watched(self) -> bool:
        return self.cluster.log(OFFSETS_TOPIC, self.partition).visibility.is_watched


async def begun(asked: Awaitable[Any]) -> "asyncio.Future[Any]":
    """Send a request, and let it come as far as it does at once."""
    task = asyncio.ensure_future(asked)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def refused(asked: Awaitable[Any]) -> type[BrokerError] | None:
    """The error of a request, None if it succeeds."""
    try:
        await asked
    except BrokerError as error:
        return type(error)
    return None

"""One of the two brokers under comparison: runs sequences and writes down what it answered."""

import asyncio
from typing import Any, Final

from broker_lite.wire import messages
from tests.differential.coordinator_connection import Connections
from tests.differential.coordinator_memory import Memory
from tests.differential.coordinator_scene import LOADING, Entry, Scene
from tests.differential.coordinator_sequence import (
    CHANGING_TOPIC,
    OWN_TOPIC,
    OWN_TOPIC_PARTITIONS,
    SHARED_TOPICS,
    SHORT_CONSUMER_SESSION_MS,
    Sequence,
)
from tests.differential.coordinator_topics import (
    POLL_S,
    SETTLE_S,
    ask,
    create_topics,
    delete_topics,
)

GROUP_RESOURCE: Final = 32
GROUPS: Final = ("g0", "g1")


class Side:
    """A broker, by its address; every sequence has names of its own on it.

    Args:
        tag: in front of every name; two sides that are one broker have different ones.
    """

    def __init__(self, host: str, port: int, tag: str) -> None:
        self.connections = Connections(host, port)
        self._tag = tag
        self._topic_ids: dict[str, bytes] = {}

    async def prepare(self, run: str) -> None:
        """Create the shared topics, where they are not there, and wake the coordinators.

        Args:
            run: what no run on this broker had in its names before.
        """
        self._tag += run
        self._topic_ids = await create_topics(self.connections, SHARED_TOPICS)
        find = messages.FindCoordinatorRequest
        for key_type in (0, 1):
            answer = await self._ask(find(key="any", key_type=key_type), 3)
            while answer.error_code in LOADING:
                await asyncio.sleep(POLL_S)
                answer = await self._ask(find(key="any", key_type=key_type), 3)

    async def versions(self) -> dict[int, tuple[int, int]]:
        """The versions that it serves, by api key."""
        answer = await self._ask(messages.ApiVersionsRequest(), 0)
        return {row.api_key: (row.min_version, row.max_version) for row in answer.api_keys}

    async def run(self, sequence: Sequence, attempt: int, patience_s: float) -> list[Entry]:
        """Run a sequence under names that were never used before.

        Args:
            patience_s: how long an answer may take before its request counts as parked.
        """
        tag = f"{self._tag}{sequence.seed}x{attempt}-"
        topic_ids = dict(self._topic_ids)
        own = tag + OWN_TOPIC
        if sequence.has_topic:
            topic_ids |= await create_topics(self.connections, {own: OWN_TOPIC_PARTITIONS})
        if sequence.has_group_configs:
            await self._shorten_sessions([tag + group for group in GROUPS])
        scene = Scene(self.connections, Memory(tag, topic_ids), sequence, patience_s)
        try:
            return await scene.run()
        finally:
            scene.close()
            if sequence.has_topic:
                await delete_topics(self.connections, [own])
            if any(step.api == "Topic" for step in sequence.steps):
                await delete_topics(self.connections, [tag + CHANGING_TOPIC])

    async def _ask(self, request: Any, version: int) -> Any:
        return await ask(self.connections, request, version)

    async def _shorten_sessions(self, groups: list[str]) -> None:
        kind = messages.IncrementalAlterConfigsRequest
        values = {
            "consumer.session.timeout.ms": SHORT_CONSUMER_SESSION_MS,
            "consumer.heartbeat.interval.ms": 100,
        }
        configs = [
            kind.AlterableConfig(name=name, config_operation=0, value=str(value))
            for name, value in values.items()
        ]
        resources = [
            kind.AlterConfigsResource(
                resource_type=GROUP_RESOURCE, resource_name=group, configs=configs
            )
            for group in groups
        ]
        answer = await self._ask(kind(resources=resources), 1)
        assert {row.error_code for row in answer.responses} == {0}, answer
        # Kafka answers before its group coordinator has seen the change
        await asyncio.sleep(SETTLE_S)

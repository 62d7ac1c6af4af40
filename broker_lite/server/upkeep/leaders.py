"""Periodic elections: preferred replicas lead again, and partitions without a leader get one."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, TypeAlias

import anyio

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.cluster.controller import Alteration
from broker_lite.control.cluster.electing import preferred_elections, unclean_elections
from broker_lite.control.metadata.topic import Topic
from broker_lite.handler.large import in_turns
from broker_lite.server.upkeep.maintenance import repeat
from broker_lite.server.upkeep.pauses import Pauses

_Plan: TypeAlias = Callable[[Cluster, Topic, range], list[Alteration]]

PARTITIONS_AT_A_TIME: Final = 256


async def keep_leaders(cluster: Cluster, clock: Clock) -> None:
    """Hold the periodic elections until cancelled; one broker alone needs none.

    See: C-41, C-42 (QuorumController.registerElectPreferred, registerElectUnclean).
    """
    if len(cluster.node_ids) == 1:
        return
    settings, pauses = cluster.settings, Pauses(clock)
    async with anyio.create_task_group() as group:
        if settings.auto_leader_rebalance_enable:
            interval_ms = settings.leader_imbalance_check_interval_seconds * 1000
            work = partial(elect, cluster, preferred_elections)
            group.start_soon(repeat, "leader rebalance", interval_ms, work, pauses)
        interval_ms = settings.unclean_leader_election_interval_ms
        work = partial(elect, cluster, unclean_elections)
        group.start_soon(repeat, "unclean elections", interval_ms, work, pauses)


async def elect(
    cluster: Cluster,
    plan: _Plan,
    topic_name: str | None = None,
    *,
    at_a_time: int = PARTITIONS_AT_A_TIME,
) -> None:
    """Hold elections in one topic, or in all; other tasks run in between.

    Args:
        cluster: of the process.
        plan: finds the partitions of a topic that need another leader, within a range.
        topic_name: None for all topics.
        at_a_time: how many partitions are looked at, and changed in one write.

    Raises:
        KafkaStorageError: not written; the elections so far are held.
    """
    async for topic_id, indexes in in_turns(_slices(cluster, topic_name, at_a_time), at_least=1):
        topic = cluster.topics_by_id.get(topic_id)
        if topic is not None:  # partitions never become fewer
            cluster.controller.alter_all(plan(cluster, topic, indexes))


def _slices(
    cluster: Cluster, topic_name: str | None, at_a_time: int
) -> Iterator[tuple[bytes, range]]:
    for topic in [*cluster.topics.values()]:
        if topic_name in (None, topic.name):
            indexes = range(topic.partition_count)
            for start in range(0, len(indexes), at_a_time):
                yield topic.topic_id, indexes[start : start + at_a_time]

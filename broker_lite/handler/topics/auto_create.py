"""Create topics when a client asks for their metadata.

One request creates no more than a CreateTopics may: if the missing topics would have more than
10,000 partitions together, none is created, as in Kafka. Many topics are created a few at a time.
Each time is one change of the metadata, and other connections have their turn in between.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.metadata.topic_names import INTERNAL_TOPICS, is_legal_topic_name
from broker_lite.control.topics.topic_rules import NewTopic, check_partition_total
from broker_lite.errors import BrokerError, KafkaStorageError, PolicyViolation, cause_of
from broker_lite.handler.large import in_turns
from broker_lite.handler.topics.create_topics import make_logs, some_at_a_time

if TYPE_CHECKING:
    from broker_lite.control.quotas.mutations import MutationQuota

_log = logging.getLogger("broker_lite.handler")


async def create_missing(
    cluster: Cluster, names: Iterable[str], quota: "MutationQuota | None" = None
) -> list[str]:
    """Create topics on demand; the client sees a topic that cannot be created as unknown.

    Args:
        cluster: where they are created.
        names: of the topics.
        quota: of the client; None if there is none.

    Returns:
        The names of the topics that exist now and did not exist before.

    Rule: P-85, P-86 (AutoTopicCreationManager, by one request to the controller).
    See: P-87, P-102.
    """
    missing = [name async for name in in_turns(names) if _is_missing(cluster, name)]
    if not missing:
        return []
    try:
        check_partition_total([len(missing) * cluster.settings.num_partitions])
    except PolicyViolation as error:
        _log.warning("%d topics not created on demand: %s", len(missing), error.message)
        return []
    for names_of_one_change in some_at_a_time(missing, lambda _: cluster.settings.num_partitions):
        await _create(cluster, names_of_one_change, quota)
    return [name for name in missing if name in cluster.topics]


def _is_missing(cluster: Cluster, name: str) -> bool:
    return name not in cluster.topics and name not in INTERNAL_TOPICS and is_legal_topic_name(name)


async def _create(cluster: Cluster, names: Sequence[str], quota: "MutationQuota | None") -> None:
    """Create topics as one change, except those that another client has created meanwhile."""
    plans = []
    for name in names:
        if name in cluster.topics:
            continue
        try:
            plan = cluster.plan_topic(NewTopic(name))
            if quota is not None:
                quota.record(plan.partition_count)
            plans.append(plan)
        except BrokerError as error:
            _log.warning(
                "topic %s not created on demand: %s", name, error.message or error.code.name
            )
    try:
        topics = cluster.create_topics(plans)
    except KafkaStorageError as error:
        _log.warning("topics not created on demand: %s", cause_of(error))
        return
    for topic in topics:
        await make_logs(cluster, topic, 0)

"""One of the two clusters under comparison: prepares it, and begins scripts on it."""

from typing import Any, Final, Self

from broker_lite.wire import messages
from tests.differential.cluster import Clients, Cluster
from tests.differential.cluster_scene import Scene
from tests.differential.cluster_script import Script
from tests.differential.cluster_settling import STATE_TOPICS, Settling, wait_for_coordinators
from tests.differential.coordinator_sequence import SHARED_TOPICS
from tests.differential.kafka_cluster import NODE_IDS

_TOPIC_EXISTS: Final = 36
_AGO_MS: Final = 600_000
# the same on both clusters, so that a group has the same coordinator on both
_STATE_ASSIGNMENT: Final = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
_STATE_CONFIGS: Final = {"cleanup.policy": "compact", "min.insync.replicas": "1"}


class Side:
    """A cluster; every script has names of its own on it. A context manager.

    Args:
        now_ms: the same for both.
    """

    def __init__(self, cluster: Cluster, now_ms: int) -> None:
        self._cluster = cluster
        self._clients = Clients(cluster)
        self._run_name = ""
        self._attempts: dict[int, int] = {}
        self._shared: dict[str, bytes] = {}
        self._start_ms = now_ms - _AGO_MS

    def versions(self) -> dict[int, tuple[int, int]]:
        """The versions that its brokers serve, by api key."""
        return self._clients.versions(NODE_IDS[0])

    def prepare(self, run_name: str) -> None:
        """Create the topics that are no script's own, and wake the coordinators.

        Args:
            run_name: what no run on this cluster had in its names before.
        """
        self._run_name = run_name
        self._create(dict.fromkeys(STATE_TOPICS, _STATE_ASSIGNMENT), _STATE_CONFIGS)
        self._create({name: ((1,),) * count for name, count in SHARED_TOPICS.items()}, {})
        Settling(self._clients, NODE_IDS, dict.fromkeys(SHARED_TOPICS, 1)).wait()
        wait_for_coordinators(self._clients, NODE_IDS[0])
        kind = messages.MetadataRequest
        topics = [kind.MetadataRequestTopic(name=name) for name in SHARED_TOPICS]
        answer = self._clients.ask(NODE_IDS[0], kind(topics=topics), 12)
        self._shared = {topic.name: topic.topic_id for topic in answer.topics}

    def begin(self, script: Script) -> Scene:
        """Begin a script under names that were never used before."""
        attempt = self._attempts[script.seed] = self._attempts.get(script.seed, 0) + 1
        tag = f"{self._run_name}{script.seed}x{attempt}-"
        scene = Scene(self._cluster, self._clients, tag, self._start_ms)
        scene.share_topics(self._shared)
        return scene

    def _create(self, topics: dict[str, Any], configs: dict[str, str]) -> None:
        kind = messages.CreateTopicsRequest
        asked = [
            kind.CreatableTopic(
                name=name,
                num_partitions=-1,
                replication_factor=-1,
                assignments=[
                    kind.CreatableReplicaAssignment(partition_index=index, broker_ids=list(ids))
                    for index, ids in enumerate(assignment)
                ],
                configs=[
                    kind.CreatableTopicConfig(name=key, value=value)
                    for key, value in configs.items()
                ],
            )
            for name, assignment in topics.items()
        ]
        answer = self._clients.ask(NODE_IDS[0], kind(topics=asked, timeout_ms=10_000), 5)
        assert {row.error_code for row in answer.topics} <= {0, _TOPIC_EXISTS}, answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._clients.close()

"""A member of a share group at a cluster of processes: it asks the leader of each partition."""

import base64
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Self

from broker_lite.wire import messages
from tests.server.processes.conftest import Cluster, wait_until
from tests.support.raw_client import RawClient

TOPIC = "t"
GROUP = "g"
OK = 0

Acquired = list[tuple[int, int, int]]


def member_id(name: str) -> str:
    """Return an id as Java's clients make them."""
    return base64.urlsafe_b64encode(name.encode().ljust(16, b"-")).rstrip(b"=").decode()


class Member(ExitStack):
    """The member; a context manager, which closes its connections."""

    def __init__(self, started: Cluster, name: str = "m") -> None:
        super().__init__()
        self._started = started
        self._member_id = member_id(name)
        self._clients: dict[int, RawClient] = {}
        self._epochs: dict[int, int] = {}
        self._leaders: dict[int, int] = {}
        self.topic_id = b""

    def __enter__(self) -> Self:
        super().__enter__()
        asked = messages.MetadataRequest.MetadataRequestTopic(name=TOPIC)
        (topic,) = self.coordinator.call("Metadata", 12, topics=[asked]).topics
        self.topic_id = topic.topic_id
        self._leaders = {each.partition_index: each.leader_id for each in topic.partitions}
        return self

    @property
    def coordinator(self) -> RawClient:
        """A connection to the first process."""
        return self._client(1)

    def _client(self, node_id: int) -> RawClient:
        client = self._clients.get(node_id)
        if client is None:
            address = self._started.addresses[node_id - 1]
            client = self._clients[node_id] = self.enter_context(RawClient(*address))
        return client

    def partition_of(self, node_id: int) -> int:
        """Return a partition that a broker leads."""
        return next(index for index, leader in self._leaders.items() if leader == node_id)

    def configure(self, **configs: str) -> None:
        """Set configs of the group."""
        message = messages.IncrementalAlterConfigsRequest
        altered = [
            message.AlterableConfig(name=name.replace("_", "."), config_operation=0, value=value)
            for name, value in configs.items()
        ]
        resource = message.AlterConfigsResource(
            resource_type=32, resource_name=GROUP, configs=altered
        )
        (answer,) = self.coordinator.call(
            "IncrementalAlterConfigs", 1, resources=[resource]
        ).responses
        assert answer.error_code == OK, answer.error_message

    def join(self) -> None:
        """Become a member of the group."""
        wait_until(self._found)
        self.beat(0, [TOPIC])

    def _found(self) -> bool:
        answer = self.coordinator.call("FindCoordinator", 4, key_type=0, coordinator_keys=[GROUP])
        return bool(answer.coordinators[0].error_code == OK)

    def beat(self, epoch: int, names: Sequence[str] | None = None) -> None:
        """Send a heartbeat; epoch -1 leaves the group."""
        answer = self.coordinator.call(
            "ShareGroupHeartbeat",
            1,
            group_id=GROUP,
            member_id=self._member_id,
            member_epoch=epoch,
            subscribed_topic_names=None if names is None else [*names],
        )
        assert answer.error_code == OK, answer.error_message

    def fetch(self, partition: int, wait_ms: int = 0) -> Acquired | int:
        """Acquire records of a partition; return their offsets and counts, or its error."""
        message = messages.ShareFetchRequest
        node_id = self._leaders[partition]
        epoch = self._epochs.get(node_id, 0)
        topics = []
        if epoch == 0:
            named = [message.FetchPartition(partition_index=partition)]
            topics = [message.FetchTopic(topic_id=self.topic_id, partitions=named)]
        answer = self._client(node_id).call(
            "ShareFetch",
            2,
            group_id=GROUP,
            member_id=self._member_id,
            share_session_epoch=epoch,
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=1 << 20,
            max_records=100,
            batch_size=100,
            topics=topics,
        )
        if answer.error_code:
            return int(answer.error_code)
        self._epochs[node_id] = epoch + 1
        for topic in answer.responses:
            for told in topic.partitions:
                if told.error_code:
                    return int(told.error_code)
                return [
                    (each.first_offset, each.last_offset, each.delivery_count)
                    for each in told.acquired_records
                ]
        return []

    def say(self, partition: int, first: int, last: int, kind: int = 1) -> int:
        """Say what became of records; return the error."""
        message = messages.ShareAcknowledgeRequest
        node_id = self._leaders[partition]
        batch = message.AcknowledgementBatch(
            first_offset=first, last_offset=last, acknowledge_types=[kind]
        )
        named = message.AcknowledgePartition(
            partition_index=partition, acknowledgement_batches=[batch]
        )
        answer = self._client(node_id).call(
            "ShareAcknowledge",
            2,
            group_id=GROUP,
            member_id=self._member_id,
            share_session_epoch=self._epochs[node_id],
            topics=[message.AcknowledgeTopic(topic_id=self.topic_id, partitions=[named])],
        )
        if answer.error_code:
            return int(answer.error_code)
        self._epochs[node_id] += 1
        return int(answer.responses[0].partitions[0].error_code)

    def leave_sessions(self) -> None:
        """Close all connections; the share sessions end with them."""
        self._clients.clear()
        self._epochs.clear()
        self.close()

    def describe(self) -> dict[int, tuple[int, int, int]]:
        """Return error, start and lag of the group, by partition."""
        message = messages.DescribeShareGroupOffsetsRequest
        group = message.DescribeShareGroupOffsetsRequestGroup(group_id=GROUP, topics=None)
        (told,) = self.coordinator.call("DescribeShareGroupOffsets", 1, groups=[group]).groups
        assert told.error_code == OK, told.error_message
        return {
            each.partition_index: (each.error_code, each.start_offset, each.lag)
            for topic in told.topics
            for each in topic.partitions
        }

    def alter(self, partition: int, start: int) -> Any:
        """Set where the group starts; return the error of the partition."""
        message = messages.AlterShareGroupOffsetsRequest
        named = message.AlterShareGroupOffsetsRequestPartition(
            partition_index=partition, start_offset=start
        )
        topic = message.AlterShareGroupOffsetsRequestTopic(topic_name=TOPIC, partitions=[named])
        answer = self.coordinator.call("AlterShareGroupOffsets", 0, group_id=GROUP, topics=[topic])
        assert answer.error_code == OK, answer.error_message
        return answer.responses[0].partitions[0].error_code

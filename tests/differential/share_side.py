"""One broker in the comparison of share groups, and two members of a group there."""

import base64
import time
from collections.abc import Sequence
from typing import Any, Final

from broker_lite.record.builder import BatchBuilder
from broker_lite.wire import messages
from tests.support.raw_client import RawClient

TIMEOUT_S: Final = 30.0
WAIT_MS: Final = 300
"""How long a fetch waits: Kafka releases records beside the answer to the request."""
Said = Sequence[tuple[int, int, Sequence[int]]]
"""What a member says about records: first and last offset, and the types."""


class ShareSide:
    """Topics, a group that reads them, and connections of its members.

    Attributes:
        epochs: of the members' sessions, by member.
    """

    def __init__(self, port: int, name: str, configs: dict[str, str], topics: int = 1) -> None:
        self._port = port
        self._name = name
        self._admin = RawClient("127.0.0.1", port, timeout_s=TIMEOUT_S)
        self._clients: dict[str, RawClient] = {}
        self.epochs: dict[str, int] = {}
        self._find_coordinator()
        self._topics = [name, *(f"{name}-{number}" for number in range(1, topics))]
        self._topic_ids = [self._create_topic(number) for number in range(topics)]
        self._configure(configs)

    def close(self) -> None:
        for client in (self._admin, *self._clients.values()):
            client.close()

    # -- before it begins

    def _find_coordinator(self) -> None:
        def found() -> bool:
            answer = self._admin.call(
                "FindCoordinator", 4, key_type=0, coordinator_keys=[self._name]
            )
            return bool(answer.coordinators[0].error_code == 0)

        until(found)

    def _create_topic(self, number: int) -> bytes:
        topic = messages.CreateTopicsRequest.CreatableTopic(
            name=self._topics[number], num_partitions=1, replication_factor=1
        )
        answer = self._admin.call("CreateTopics", 7, topics=[topic], timeout_ms=10_000)
        assert answer.topics[0].error_code == 0
        topic_id: bytes = answer.topics[0].topic_id
        until(lambda: self.append(1, number) == 0)
        return topic_id

    def _configure(self, configs: dict[str, str]) -> None:
        message = messages.IncrementalAlterConfigsRequest
        resource = message.AlterConfigsResource(
            resource_type=32,
            resource_name=self._name,
            configs=[
                message.AlterableConfig(name=name, config_operation=0, value=value)
                for name, value in configs.items()
            ],
        )
        answer = self._admin.call("IncrementalAlterConfigs", 1, resources=[resource])
        assert answer.responses[0].error_code == 0, answer.responses[0].error_message

    def join(self, member: str) -> None:
        """Let a member join, and open its session, which acquires nothing yet."""
        is_first = not self._clients
        self._clients[member] = RawClient("127.0.0.1", self._port, timeout_s=TIMEOUT_S)

        def is_assigned() -> bool:
            assigned = self._beat(member, 0).assignment
            return bool(assigned and assigned.topic_partitions)

        until(is_assigned)
        self.epochs[member] = 0
        self.fetch(member, 0, 1, False)
        if is_first:
            self._await_state(member)

    def _await_state(self, member: str) -> None:
        """Acquire the first record and release it: Kafka reads the state beside the first fetch."""
        until(lambda: bool(self.fetch(member, 1, 1, True)))
        self.say(member, [(0, 0, [2])], False)

    def _beat(self, member: str, epoch: int) -> Any:
        return self._admin.call(
            "ShareGroupHeartbeat",
            1,
            group_id=self._name,
            member_id=id_of(member),
            member_epoch=epoch,
            subscribed_topic_names=self._topics,
        )

    # -- steps

    def keep(self) -> None:
        """Keep the members in the group; a sequence of this kind needs nothing for that."""

    def append(self, size: int, topic: int = 0) -> int:
        """Append a batch of so many records; return the error code."""
        now_ms = int(time.time() * 1000)  # an older record would soon be deleted
        builder = BatchBuilder()
        for number in range(size):
            builder.append(now_ms, None, b"v%d" % number)
        return self._produce(topic, bytes(builder.build()), None)

    def _produce(self, topic: int, records: bytes, transactional_id: str | None) -> int:
        message = messages.ProduceRequest
        partition = message.PartitionProduceData(index=0, records=records)
        data = message.TopicProduceData(name=self._topics[topic], partition_data=[partition])
        answer = self._admin.call(
            "Produce",
            9,
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[data],
        )
        return int(answer.responses[0].partition_responses[0].error_code)

    def fetch(self, member: str, count: int, batch: int, strict: bool) -> Any:
        """Let a member acquire records; return the error, or what it has acquired."""
        message = messages.ShareFetchRequest
        epoch = self.epochs[member]
        topics = []
        if epoch == 0:
            partition = message.FetchPartition(partition_index=0)
            topics = [message.FetchTopic(topic_id=self._topic_ids[0], partitions=[partition])]
        answer = self._clients[member].call(
            "ShareFetch",
            2,
            group_id=self._name,
            member_id=id_of(member),
            share_session_epoch=epoch,
            max_wait_ms=WAIT_MS,
            min_bytes=1,
            max_bytes=10_000_000,
            max_records=count,
            batch_size=batch,
            share_acquire_mode=int(strict),
            topics=topics,
        )
        if answer.error_code:
            return answer.error_code
        self.epochs[member] = epoch + 1
        return [
            (each.first_offset, each.last_offset, each.delivery_count)
            for topic in answer.responses
            for partition in topic.partitions
            for each in partition.acquired_records
        ]

    def say(self, member: str, said: Said, renew: bool, topic: int = 0) -> Any:
        """Let a member acknowledge records; return the errors with their texts."""
        message = messages.ShareAcknowledgeRequest
        batches = [
            message.AcknowledgementBatch(
                first_offset=first, last_offset=last, acknowledge_types=list(kinds)
            )
            for first, last, kinds in said
        ]
        topic_id = self._topic_ids[topic]
        partition = message.AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
        answer = self._clients[member].call(
            "ShareAcknowledge",
            2,
            group_id=self._name,
            member_id=id_of(member),
            share_session_epoch=self.epochs[member],
            is_renew_ack=renew,
            topics=[message.AcknowledgeTopic(topic_id=topic_id, partitions=[partition])],
        )
        if answer.error_code:
            return answer.error_code
        self.epochs[member] += 1
        return [
            (each.error_code, each.error_message)
            for answered in answer.responses
            for each in answered.partitions
        ]

    def reopen(self, member: str) -> Any:
        """End the session of a member, and begin another one."""
        answer = self._clients[member].call(
            "ShareFetch",
            2,
            group_id=self._name,
            member_id=id_of(member),
            share_session_epoch=-1,
        )
        self.epochs[member] = 0
        time.sleep(WAIT_MS / 1000)
        return answer.error_code, self.fetch(member, 0, 1, False)

    def disconnect(self, member: str) -> Any:
        """Close the connection of a member; its session ends with it."""
        self._clients[member].close()
        time.sleep(WAIT_MS / 1000)
        self._clients[member] = RawClient("127.0.0.1", self._port, timeout_s=TIMEOUT_S)
        error = self.fetch(member, 0, 1, False)
        self.epochs[member] = 0
        return error, self.fetch(member, 0, 1, False)

    def describe(self) -> Any:
        """Return where the group starts, and its lag."""
        message = messages.DescribeShareGroupOffsetsRequest
        group = message.DescribeShareGroupOffsetsRequestGroup(group_id=self._name, topics=None)
        answer = self._admin.call("DescribeShareGroupOffsets", 1, groups=[group])
        return [
            (each.start_offset, each.lag)
            for topic in answer.groups[0].topics
            for each in topic.partitions
        ]


def id_of(member: str) -> str:
    """The id of a member as Java's clients make it: a UUID in Kafka's text form."""
    return base64.urlsafe_b64encode(member.encode().ljust(16, b"-")).rstrip(b"=").decode()


def until(is_so: Any) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not is_so():
        assert time.monotonic() < deadline, "not ready in time"
        time.sleep(0.1)

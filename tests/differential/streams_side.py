"""One broker in the comparison of streams groups: its topics, a group, and the steps of members."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count as count_up
from struct import unpack_from
from typing import Any, Final

from broker_lite.coordinator.placement import partition_of
from broker_lite.record.records import iterate_records
from broker_lite.wire import messages
from tests.differential.coordinator_views import batches_of
from tests.support.raw_client import RawClient

TIMEOUT_S: Final = 30.0
SETTLE_S: Final = 0.3
"""How long Kafka's coordinator may take to see a setting that clients see already."""
_NOT_READY: Final = frozenset({14, 15, 16})
_OFFSETS_PARTITIONS: Final = 4
_GROUP: Final = 32
_LEFT_OUT: Final = frozenset({"throttle_time_ms", "unknown_tags", "metadata_hash"})
_TIMES: Final = frozenset({"assignment_timestamp"})
_RECORDS: Final[Mapping[int, tuple[str, str]]] = {
    17: ("StreamsGroupMetadataKey", "StreamsGroupMetadataValue"),
    19: ("StreamsGroupMemberMetadataKey", "StreamsGroupMemberMetadataValue"),
    20: ("StreamsGroupTargetAssignmentMetadataKey", "StreamsGroupTargetAssignmentMetadataValue"),
    21: ("StreamsGroupTargetAssignmentMemberKey", "StreamsGroupTargetAssignmentMemberValue"),
    22: ("StreamsGroupCurrentMemberAssignmentKey", "StreamsGroupCurrentMemberAssignmentValue"),
    23: ("StreamsGroupTopologyKey", "StreamsGroupTopologyValue"),
}


class StreamsSide:
    """Topics, a group, and connections to a broker.

    Attributes:
        answers: the last answer with tasks that each member got, by member.
        epochs: of the members.
    """

    def __init__(self, port: int, name: str) -> None:
        self._client = RawClient("127.0.0.1", port, timeout_s=TIMEOUT_S)
        self._group = name
        self._probes = 0
        self._known: set[str] = set()
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, dict[str, list[Any]]] = {}

        def found() -> bool:
            answer = self._client.call(
                "FindCoordinator", 4, key_type=0, coordinator_keys=[self._group]
            )
            return bool(answer.coordinators[0].error_code == 0)

        until(found)
        until(lambda: self.fetch_offsets(None, -1)["groups"][0]["error_code"] not in _NOT_READY)

    def close(self) -> None:
        self._client.close()

    # -- topics and settings

    def create(self, name: str, count: int) -> Any:
        topic = messages.CreateTopicsRequest.CreatableTopic(
            name=name, num_partitions=count, replication_factor=1
        )
        answer = self._client.call("CreateTopics", 7, topics=[topic], timeout_ms=10_000)
        error: int = answer.topics[0].error_code
        self._await_count(name, count, error)
        return error

    def grow(self, name: str, count: int) -> Any:
        topic = messages.CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count)
        answer = self._client.call("CreatePartitions", 3, topics=[topic], timeout_ms=10_000)
        error: int = answer.results[0].error_code
        self._await_count(name, count, error)
        return error

    def delete(self, name: str) -> Any:
        topic = messages.DeleteTopicsRequest.DeleteTopicState(name=name)
        answer = self._client.call("DeleteTopics", 6, topics=[topic], timeout_ms=10_000)
        error: int = answer.responses[0].error_code
        self._await_count(name, None, error)
        return error

    def _await_count(self, name: str, count: int | None, error: int) -> None:
        """Wait until clients and the coordinator see what has become of a topic."""
        if error == 0:
            until(lambda: self.topics().get(name) == count)
        self._settle()

    def _settle(self) -> None:
        """Wait until the leaders of all partitions know it, and the coordinator of the group.

        Clients see topics before: Kafka makes the logs of new partitions in between.
        """
        until(self._is_led)
        until(self._is_noticed)

    def _is_led(self) -> bool:
        message = messages.ListOffsetsRequest
        topics = [
            message.ListOffsetsTopic(
                name=name,
                partitions=[
                    message.ListOffsetsPartition(partition_index=index, timestamp=-1)
                    for index in range(count)
                ],
            )
            for name, count in self.topics().items()
        ]
        answer = self._client.call("ListOffsets", 6, replica_id=-1, topics=topics)
        return all(
            partition.error_code == 0 for topic in answer.topics for partition in topic.partitions
        )

    def _is_noticed(self) -> bool:
        """Return whether the coordinator sees the topics that clients see.

        A consumer group tells it, which has the same coordinator and a member that reads all.
        """
        topics = self._described()
        self._known |= topics.keys()
        self._probes += 1
        names = (f"{self._group}+{self._probes}+{number}" for number in count_up())
        mine = partition_of(self._group, _OFFSETS_PARTITIONS)
        group = next(each for each in names if partition_of(each, _OFFSETS_PARTITIONS) == mine)
        joined = {"rebalance_timeout_ms": 1000, "subscribed_topic_names": sorted(self._known)}
        fields = {"group_id": group, "member_id": "probe"}
        answer = self._client.call(
            "ConsumerGroupHeartbeat", 1, **fields, **joined, member_epoch=0, topic_partitions=[]
        )
        if answer.error_code != 0 or answer.assignment is None:
            return not self._known
        seen = {each.topic_id: len(each.partitions) for each in answer.assignment.topic_partitions}
        self._client.call("ConsumerGroupHeartbeat", 1, **fields, member_epoch=-1)
        return seen == {each.topic_id: len(each.partitions) for each in topics.values()}

    def await_topics(self, wanted: dict[str, int]) -> None:
        """Wait until there are these topics: Kafka creates internal ones beside its answer."""
        until(lambda: self.topics() == wanted)
        self._settle()

    def topics(self) -> dict[str, int]:
        """Return the topics of the group and their numbers of partitions."""
        return {name: len(topic.partitions) for name, topic in self._described().items()}

    def _described(self) -> dict[str, Any]:
        answer = self._client.call("Metadata", 12, topics=None)
        return {
            each.name: each for each in answer.topics if each.name.startswith(f"{self._group}-")
        }

    def configure(self, name: str, value: str) -> Any:
        message = messages.IncrementalAlterConfigsRequest
        config = message.AlterableConfig(name=name, config_operation=0, value=value)
        resource = message.AlterConfigsResource(
            resource_type=_GROUP, resource_name=self._group, configs=[config]
        )
        answer = self._client.call("IncrementalAlterConfigs", 1, resources=[resource])
        until(lambda: self._config(name) == value)
        time.sleep(SETTLE_S)
        return answer.responses[0].error_code

    def _config(self, name: str) -> Any:
        """Return a setting of the group as clients see it."""
        message = messages.DescribeConfigsRequest
        resource = message.DescribeConfigsResource(
            resource_type=_GROUP, resource_name=self._group, configuration_keys=[name]
        )
        answer = self._client.call("DescribeConfigs", 4, resources=[resource])
        return answer.results[0].configs[0].value

    # -- members

    def beat(self, member: str, fields: Mapping[str, Any]) -> Any:
        """Send a heartbeat; an epoch or tasks that are not given are those of the last answer."""
        owned = self.owned.get(member, {})
        request = {
            "group_id": self._group,
            "member_id": member,
            "member_epoch": self.epochs.get(member, 0),
            "endpoint_information_epoch": 0,
            **{role: owned.get(role) for role in ("active_tasks", "standby_tasks")},
            "warmup_tasks": [] if owned else None,
            **fields,
        }
        answer = self._client.call("StreamsGroupHeartbeat", 0, **request)
        if answer.error_code == 0:
            self.epochs[member] = answer.member_epoch
            if answer.active_tasks is not None:
                kept = messages.StreamsGroupHeartbeatRequest.TaskIds
                self.owned[member] = {
                    role: [
                        kept(subtopology_id=each.subtopology_id, partitions=each.partitions)
                        for each in getattr(answer, role)
                    ]
                    for role in ("active_tasks", "standby_tasks")
                }
        return shown(answer)

    def forget(self, member: str) -> None:
        self.epochs.pop(member, None)
        self.owned.pop(member, None)

    def join_classic(self) -> Any:
        message = messages.JoinGroupRequest
        protocol = message.JoinGroupRequestProtocol(name="range", metadata=b"")
        answer = self._client.call(
            "JoinGroup",
            5,
            group_id=self._group,
            member_id="nobody",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[protocol],
        )
        return answer.error_code

    def join_consumer(self) -> Any:
        answer = self._client.call(
            "ConsumerGroupHeartbeat",
            1,
            group_id=self._group,
            member_id="consumer",
            member_epoch=0,
            rebalance_timeout_ms=1000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        return answer.error_code, answer.error_message

    # -- offsets

    def commit(self, member: str, epoch: int, topic: str, index: int, version: int) -> Any:
        message = messages.OffsetCommitRequest
        partition = message.OffsetCommitRequestPartition(partition_index=index, committed_offset=0)
        answer = self._client.call(
            "OffsetCommit",
            version,
            group_id=self._group,
            member_id=member,
            generation_id_or_member_epoch=epoch,
            topics=[message.OffsetCommitRequestTopic(name=topic, partitions=[partition])],
        )
        return shown(answer)

    def fetch_offsets(self, member: str | None, epoch: int) -> Any:
        group = messages.OffsetFetchRequest.OffsetFetchRequestGroup(
            group_id=self._group, member_id=member, member_epoch=epoch, topics=None
        )
        return shown(self._client.call("OffsetFetch", 9, groups=[group]))

    def delete_offset(self, topic: str) -> Any:
        message = messages.OffsetDeleteRequest
        partition = message.OffsetDeleteRequestPartition(partition_index=0)
        entry = message.OffsetDeleteRequestTopic(name=topic, partitions=[partition])
        return shown(self._client.call("OffsetDelete", 0, group_id=self._group, topics=[entry]))

    # -- what is seen of the group

    def describe(self) -> Any:
        asked = [self._group, f"{self._group}-none", ""]
        return shown(self._client.call("StreamsGroupDescribe", 0, group_ids=asked))

    def list_groups(self, states: Sequence[str]) -> Any:
        answer = self._client.call("ListGroups", 5, states_filter=list(states), types_filter=[])
        return [shown(each) for each in answer.groups if each.group_id == self._group]

    def describe_classic(self) -> Any:
        return shown(self._client.call("DescribeGroups", 6, groups=[self._group]))

    def delete_group(self) -> Any:
        return shown(self._client.call("DeleteGroups", 2, groups_names=[self._group]))

    def records(self) -> list[Any]:
        """Return the records of the group in the log, in their order."""
        count = self._partition_count("__consumer_offsets")
        return [record for index in range(count) for record in self._records_of_partition(index)]

    def _partition_count(self, name: str) -> int:
        topic = messages.MetadataRequest.MetadataRequestTopic(name=name)
        return len(self._client.call("Metadata", 12, topics=[topic]).topics[0].partitions)

    def _records_of_partition(self, index: int) -> Iterator[Any]:
        kind, offset = messages.FetchRequest, 0
        while True:
            partition = kind.FetchPartition(
                partition=index, fetch_offset=offset, partition_max_bytes=8_000_000
            )
            topic = kind.FetchTopic(topic="__consumer_offsets", partitions=[partition])
            answer = self._client.call(
                "Fetch", 12, max_wait_ms=0, min_bytes=0, max_bytes=8_000_000, topics=[topic]
            )
            batches = batches_of(answer.responses[0].partitions[0])
            if not batches:
                return
            for batch in batches:
                for record in iterate_records(batch):
                    decoded = self._decoded(bytes(record.key or b""), record.value)
                    if decoded is not None:
                        yield decoded
            offset = batches[-1].next_offset

    def _decoded(self, key: bytes, value: memoryview | None) -> Any:
        kind = unpack_from(">h", key)[0]
        if kind not in _RECORDS:
            return None
        key_type, value_type = (getattr(messages, name) for name in _RECORDS[kind])
        where = key_type.decode(key, 0, 2)[0]
        if where.group_id != self._group:
            return None
        said = None if value is None else shown(value_type.decode(bytes(value), 0, 2)[0])
        return kind, shown(where), said


def shown(value: Any, field: str = "") -> Any:
    """Return an answer as plain data; lists are sorted, because Kafka keeps sets in hash maps."""
    if isinstance(value, list):
        return sorted((shown(item, field) for item in value), key=repr)
    if value is None or isinstance(value, str | bool | float | bytes):
        return value
    if isinstance(value, int):
        return "a time" if field in _TIMES else value
    slots = [slot for slot in type(value).__slots__ if slot not in _LEFT_OUT]
    return {slot: shown(getattr(value, slot), slot) for slot in slots}


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not is_so():
        assert time.monotonic() < deadline, "not ready in time"
        time.sleep(0.1)

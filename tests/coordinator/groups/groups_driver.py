"""Drives a whole group coordinator by hand, with the log that its runtime would write."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from broker_lite.coordinator.effects import Caller, Effects, StateRecord
from broker_lite.coordinator.group_settings import GroupSettings
from broker_lite.coordinator.groups.coordinator import GroupCoordinator
from broker_lite.coordinator.placement import partition_of
from broker_lite.coordinator.registry import GroupEffects
from broker_lite.coordinator.subscriptions import Prepared
from broker_lite.errors import ErrorCode
from broker_lite.wire import ZERO_UUID, messages

START_MS = 1_000_000
PARTITIONS = 4

# producer id or -1, and records; or producer id, and whether it committed
Batch = tuple[int, Sequence[StateRecord] | bool]


@dataclass(frozen=True)
class FakeTopic:
    name: str
    topic_id: bytes
    partition_count: int = 3


class FakeTopics:
    """Topics by name; an id is the name, filled up."""

    def __init__(self, *names: str) -> None:
        self.prepared: Mapping[str, Prepared] = {}
        self.is_visible: Callable[[str], bool] | None = None
        self.topics = {name: FakeTopic(name, id_of(name)) for name in names}

    def get(self, name: str) -> FakeTopic | None:
        return self.topics.get(name)

    def racks(self, name: str) -> Iterable[str]:
        return ()

    def by_id(self, topic_id: bytes) -> FakeTopic | None:
        return next((one for one in self.topics.values() if one.topic_id == topic_id), None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.topics)


def id_of(name: str) -> bytes:
    return name.encode().ljust(16, b"-")


class Driver:
    """A coordinator with topics `t` and `u` of 3 partitions each."""

    def __init__(self, **settings: Any) -> None:
        self.settings = GroupSettings(**settings)
        self.topics = FakeTopics("t", "u")
        self.now_ms = START_MS
        self.uuids = count(1)
        self.tokens = count(1)
        self.answers: dict[object, Any] = {}
        self.log: list[tuple[int, Batch]] = []
        self.coordinator = self.make()

    def make(self) -> GroupCoordinator:
        return GroupCoordinator(self.settings, self.topics, self.make_uuid, self.partition_of)

    def make_uuid(self) -> str:
        return f"00000000-0000-0000-0000-{next(self.uuids):012}"

    def partition_of(self, group_id: str) -> int:
        return partition_of(group_id, PARTITIONS)

    # events

    def ask(
        self,
        event: Callable[[Any, Caller, int], Effects],
        request: Any,
        version: int,
        group_id: str = "g",
    ) -> Any:
        """The answer, or None while the request waits; its token is `last_token`."""
        self.last_token = next(self.tokens)
        caller = Caller(version, "c", "/127.0.0.1", self.last_token)
        self.take(group_id, event(request, caller, self.now_ms))
        return self.answers.get(self.last_token)

    def take(self, group_id: str, effects: Effects) -> Effects:
        if effects.records:
            producer_id = -1 if effects.producer is None else effects.producer[0]
            batch = (producer_id, tuple(effects.records))
            self.log.append((self.partition_of(group_id), batch))
        for token, response in effects.replies:
            assert token not in self.answers
            self.answers[token] = response
        return effects

    def take_all(self, several: GroupEffects) -> dict[str, Effects]:
        return {group_id: self.take(group_id, effects) for group_id, effects in several}

    def commit(
        self,
        offset: int = 5,
        *,
        group_id: str = "g",
        topics: Sequence[tuple[str, Sequence[int]]] = (("t", (0,)),),
        version: int = 9,
        member_id: str = "",
        instance_id: str | None = None,
        generation: int = -1,
        metadata: str | None = "",
        retention_ms: int = -1,
    ) -> list[tuple[str, int, ErrorCode]]:
        """The results by topic and partition."""
        message = messages.OffsetCommitRequest
        request = message(
            group_id=group_id,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            retention_time_ms=retention_ms,
            topics=[
                message.OffsetCommitRequestTopic(
                    name="" if version >= 10 else name,
                    topic_id=id_of(name) if version >= 10 else ZERO_UUID,
                    partitions=[
                        message.OffsetCommitRequestPartition(
                            partition_index=index,
                            committed_offset=offset,
                            committed_leader_epoch=3,
                            committed_metadata=metadata,
                        )
                        for index in partitions
                    ],
                )
                for name, partitions in topics
            ],
        )
        response = self.ask(self.coordinator.commits.commit, request, version, group_id)
        messages.OffsetCommitResponse.encode(response, version)
        return results(response)

    def commit_in_transaction(
        self,
        offset: int,
        producer_id: int = 7,
        *,
        group_id: str = "g",
        topics: Sequence[tuple[str, Sequence[int]]] = (("t", (0,)),),
        version: int = 5,
        member_id: str = "",
        generation: int = -1,
        metadata: str | None = "",
    ) -> list[tuple[str, int, ErrorCode]]:
        message = messages.TxnOffsetCommitRequest
        request = message(
            transactional_id="x",
            group_id=group_id,
            producer_id=producer_id,
            producer_epoch=2,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            topics=[
                message.TxnOffsetCommitRequestTopic(
                    name="" if version >= 6 else name,
                    topic_id=id_of(name) if version >= 6 else ZERO_UUID,
                    partitions=[
                        message.TxnOffsetCommitRequestPartition(
                            partition_index=index,
                            committed_offset=offset,
                            committed_leader_epoch=3,
                            committed_metadata=metadata,
                        )
                        for index in partitions
                    ],
                )
                for name, partitions in topics
            ],
        )
        event = self.coordinator.commits.commit_transactional
        response = self.ask(event, request, version, group_id)
        messages.TxnOffsetCommitResponse.encode(response, version)
        return results(response)

    def end(self, producer_id: int = 7, *, committed: bool, group_id: str = "g") -> None:
        """The marker of a transaction is written."""
        partition = self.partition_of(group_id)
        self.log.append((partition, (producer_id, committed)))
        self.coordinator.registry.offsets.complete(partition, producer_id, committed=committed)

    def fetch(
        self,
        *partitions: tuple[str, int],
        group_id: str = "g",
        version: int = 9,
        stable: bool = False,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> Any:
        """Offsets by topic and partition (error codes where there is one); without any, all."""
        message = messages.OffsetFetchRequest
        by_topic: dict[str, list[int]] = {}
        for name, index in partitions:
            by_topic.setdefault(name, []).append(index)
        if version < 8:
            topics: Any = [
                message.OffsetFetchRequestTopic(name=name, partition_indexes=indexes)
                for name, indexes in by_topic.items()
            ]
            request = message(group_id=group_id, topics=topics or None, require_stable=stable)
        else:
            topics = [
                message.OffsetFetchRequestTopics(
                    name=name, topic_id=id_of(name), partition_indexes=indexes
                )
                for name, indexes in by_topic.items()
            ]
            asked = message.OffsetFetchRequestGroup(
                group_id=group_id,
                member_id=member_id,
                member_epoch=member_epoch,
                topics=topics or None,
            )
            request = message(groups=[asked], require_stable=stable)
        response = self.coordinator.fetches.fetch(request, version)
        messages.OffsetFetchResponse.encode(response, version)
        group = response.groups[0] if version >= 8 else response
        if group.error_code:
            assert group.topics == []
            return group.error_code
        return {
            (topic.name, one.partition_index): one.error_code or one.committed_offset
            for topic in group.topics
            for one in topic.partitions
        }

    def delete_offsets(
        self, *topics: tuple[str, Sequence[int]], group_id: str = "g"
    ) -> list[tuple[str, int, ErrorCode]] | ErrorCode:
        message = messages.OffsetDeleteRequest
        request = message(
            group_id=group_id,
            topics=[
                message.OffsetDeleteRequestTopic(
                    name=name,
                    partitions=[
                        message.OffsetDeleteRequestPartition(partition_index=index)
                        for index in partitions
                    ],
                )
                for name, partitions in topics
            ],
        )
        response = self.ask(self.coordinator.removals.delete, request, 0, group_id)
        messages.OffsetDeleteResponse.encode(response, 0)
        return response.error_code or results(response)

    def delete_groups(self, *group_ids: str) -> dict[str, ErrorCode]:
        request = messages.DeleteGroupsRequest(groups_names=list(group_ids))
        response, deleted = self.coordinator.admin.delete_groups(request)
        messages.DeleteGroupsResponse.encode(response, 2)
        self.take_all(deleted)
        assert len({one.group_id for one in response.results}) == len(response.results)
        return {one.group_id: one.error_code for one in response.results}

    def join(
        self,
        member_id: str = "",
        *,
        group_id: str = "g",
        version: int = 3,
        protocol_type: str = "consumer",
        metadata: bytes = b"",
        session_ms: int = 10_000,
        instance_id: str | None = None,
    ) -> Any:
        """JoinGroup; by default in a version that lets a member in at once."""
        message = messages.JoinGroupRequest
        protocol = message.JoinGroupRequestProtocol(name="range", metadata=metadata)
        request = message(
            group_id=group_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=session_ms,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[protocol],
        )
        return self.ask(self.coordinator.members.join, request, version, group_id)

    def sync(self, member_id: str, generation: int = 1, *, group_id: str = "g") -> Any:
        message = messages.SyncGroupRequest
        given = message.SyncGroupRequestAssignment(member_id=member_id, assignment=b"a")
        request = message(
            group_id=group_id, generation_id=generation, member_id=member_id, assignments=[given]
        )
        return self.ask(self.coordinator.members.sync, request, 3, group_id)

    def stable_member(self, **join: Any) -> str:
        """The one member of a classic group that is stable."""
        member_id: str = self.join(**join).member_id
        assert self.sync(member_id, group_id=join.get("group_id", "g")).error_code == 0
        return member_id

    def leave(self, member_id: str, *, group_id: str = "g") -> ErrorCode:
        request = messages.LeaveGroupRequest(group_id=group_id, member_id=member_id)
        code: ErrorCode = self.ask(self.coordinator.members.leave, request, 2, group_id).error_code
        return code

    def consumer_heartbeat(
        self, member_id: str = "m", epoch: int = 0, *, group_id: str = "g", **fields: Any
    ) -> Any:
        """ConsumerGroupHeartbeat; with epoch 0 that of a member that subscribes to `t`."""
        joining = {
            "rebalance_timeout_ms": 30_000,
            "subscribed_topic_names": ["t"],
            "topic_partitions": [],
        }
        request = messages.ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            **{**(joining if epoch == 0 else {}), **fields},
        )
        event = self.coordinator.members.consumer_heartbeat
        response = self.ask(event, request, 1, group_id)
        messages.ConsumerGroupHeartbeatResponse.encode(response, 1)
        return response

    def step(self, elapsed_ms: int) -> list[str]:
        """Time goes by; the groups that timers changed."""
        self.now_ms += elapsed_ms
        happened = self.coordinator.members.on_time(self.now_ms)
        for group_id, effects in happened:
            self.take(group_id, effects)
        return [group_id for group_id, _ in happened]

    def expire(self, elapsed_ms: int = 0) -> dict[str, Effects]:
        self.now_ms += elapsed_ms
        return self.take_all(self.coordinator.removals.expire(self.now_ms))

    # views

    def list(self, states: Sequence[str] = (), types: Sequence[str] = ()) -> set[tuple[str, ...]]:
        request = messages.ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        response = self.coordinator.admin.list_groups(request)
        messages.ListGroupsResponse.encode(response, 5)
        return {
            (one.group_id, one.protocol_type, one.group_state, one.group_type)
            for one in response.groups
        }

    def restart(self) -> None:
        """Everything is read back from the log."""
        self.coordinator = self.make()
        for partition, (producer_id, content) in self.log:
            if isinstance(content, bool):
                self.coordinator.registry.offsets.complete(
                    partition, producer_id, committed=content
                )
            else:
                self.coordinator.replay.batch(partition, producer_id, content)
        for partition in range(PARTITIONS):
            self.take_all(self.coordinator.replay.loaded(partition, self.now_ms))

    def offsets(self, *group_ids: str) -> dict[str, Any]:
        """What clients see of the offsets of groups, with what waits for a transaction."""
        return {
            group_id: (
                self.fetch(group_id=group_id),
                self.fetch(group_id=group_id, stable=True),
            )
            for group_id in group_ids
        }


def results(response: Any) -> list[tuple[str, int, ErrorCode]]:
    return [
        (topic.name, one.partition_index, ErrorCode(one.error_code))
        for topic in response.topics
        for one in topic.partitions
    ]

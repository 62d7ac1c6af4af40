"""A cluster with groups, without a server: requests go to the runtime."""

from collections.abc import Coroutine
from itertools import count
from pathlib import Path
from typing import Any

from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.alarm import Alarm
from broker_lite.control.coordinators.group_service import Groups
from broker_lite.control.topics.internal_topics import OFFSETS_TOPIC
from broker_lite.coordinator.effects import Caller
from broker_lite.settings import Given, Settings
from broker_lite.wire import messages
from tests.support.coordinator_topics import make_offsets_topic

JOIN, SYNC, COMMIT, FETCH = 5, 3, 8, 8


class Node:
    """A cluster with groups, which may be started again."""

    def __init__(self, data_dir: Path, clock: Clock | None = None, **texts: str) -> None:
        self.data_dir = data_dir
        given = {name.replace("_", "."): Given(text, "test") for name, text in texts.items()}
        self.settings = Settings(given)
        self.clock = clock or Clock.standing_still()
        self.start()

    def start(self) -> None:
        self.alarm = Alarm()
        self.cluster = Cluster.open(self.settings, self.data_dir, self.clock)
        numbers = count(1)
        self.groups = Groups(
            cluster=self.cluster,
            clock=self.clock,
            alarm=self.alarm,
            make_uuid=lambda: str(next(numbers)),
        )
        self.groups.start()

    def restart(self) -> None:
        self.cluster.close()
        self.start()

    # -- requests

    def ask(self, name: str, version: int, **fields: Any) -> Coroutine[Any, Any, Any]:
        make_offsets_topic(self.cluster)
        event = {
            "JoinGroup": self.groups.coordinator.members.join,
            "SyncGroup": self.groups.coordinator.members.sync,
            "LeaveGroup": self.groups.coordinator.members.leave,
            "OffsetCommit": self.groups.coordinator.commits.commit,
        }[name]
        body = getattr(messages, f"{name}Request")(**fields)
        caller = Caller(version, "c", "/127.0.0.1", None)
        return self.groups.ask(event, body.group_id, body, caller)

    def join(self, member_id: str, group_id: str = "g", protocol: str = "range") -> Any:
        types = messages.JoinGroupRequest
        return self.ask(
            "JoinGroup",
            JOIN,
            group_id=group_id,
            member_id=member_id,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=20_000,
            protocol_type="consumer",
            protocols=[types.JoinGroupRequestProtocol(name=protocol, metadata=b"")],
        )

    async def settled_member(self, group_id: str = "g", assignment: bytes = b"a") -> str:
        member_id: str = (await self.join("", group_id)).member_id
        await self.join(member_id, group_id)
        one = messages.SyncGroupRequest.SyncGroupRequestAssignment
        assignments = [one(member_id=member_id, assignment=assignment)]
        await self.ask(
            "SyncGroup",
            SYNC,
            group_id=group_id,
            member_id=member_id,
            generation_id=1,
            assignments=assignments,
        )
        return member_id

    def commit(self, group_id: str = "g", offset: int = 7, metadata: str = "") -> Any:
        types = messages.OffsetCommitRequest
        partition = types.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=metadata
        )
        topic = types.OffsetCommitRequestTopic(name="t", partitions=[partition])
        return self.ask("OffsetCommit", COMMIT, group_id=group_id, topics=[topic])

    def offsets(self, group_id: str = "g") -> dict[tuple[str, int], int]:
        one = messages.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=None)
        request = messages.OffsetFetchRequest(groups=[one])
        (group,) = self.groups.coordinator.fetches.fetch(request, FETCH).groups
        return {
            (topic.name, partition.partition_index): partition.committed_offset
            for topic in group.topics
            for partition in topic.partitions
        }

    def states(self) -> dict[str, str]:
        listed = self.groups.coordinator.admin.list_groups(messages.ListGroupsRequest())
        return {group.group_id: group.group_state for group in listed.groups}

    @property
    def neighbour(self) -> str:
        """A group in the partition of g."""
        names = (f"n{number}" for number in count())
        partition_of = self.groups.partition_of
        return next(name for name in names if partition_of(name) == partition_of("g"))

    @property
    def log_path(self) -> Path:
        partition = self.groups.partition_of("g")
        return self.data_dir / f"{OFFSETS_TOPIC}-{partition}" / f"{0:020d}.log"


def error_of(response: Any) -> int:
    ((partition,),) = [topic.partitions for topic in response.topics]
    code: int = partition.error_code
    return code

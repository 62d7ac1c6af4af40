"""Users of groups that know what was acknowledged to them, while the broker is killed."""

from typing import Any, Final, Protocol

from broker_lite.errors import ErrorCode
from broker_lite.wire import messages
from tests.bench.group_frames import subscription
from tests.fuzz.kill import LOST
from tests.fuzz.transactor import TOPIC
from tests.support.raw_client import RawClient

PARTITIONS: Final = 4
SESSION_MS: Final = 45_000
_INSTANCE: Final = "instance"
_STAYS: Final = 4


class Committer:
    """Commits growing offsets of a few partitions of a group without members."""

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.acknowledged = [-1] * PARTITIONS
        self.fault: str | None = None
        self._sent = [-1] * PARTITIONS
        self._next = 0

    def load(self, port: int) -> None:
        """Commit until the broker is gone."""
        kind = messages.OffsetCommitRequest
        try:
            with RawClient("127.0.0.1", port) as client:
                client.call("FindCoordinator", 1, key=self.group_id)
                while self.fault is None:
                    number, self._next = self._next, self._next + 1
                    index = number % PARTITIONS
                    self._sent[index] = number
                    partition = kind.OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=number, committed_metadata="m"
                    )
                    topic = kind.OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
                    answer = client.call("OffsetCommit", 8, group_id=self.group_id, topics=[topic])
                    if code := answer.topics[0].partitions[0].error_code:
                        self.fault = f"{self.group_id}: OffsetCommit answered {code}"
                    self.acknowledged[index] = number
        except LOST:
            return

    def check(self, client: RawClient) -> str | None:
        """What was acknowledged is there, unless a later one is; return what is wrong."""
        kind = messages.OffsetFetchRequest.OffsetFetchRequestTopic
        topics = [kind(name=TOPIC, partition_indexes=list(range(PARTITIONS)))]
        answer = client.call("OffsetFetch", 7, group_id=self.group_id, topics=topics)
        for one in answer.topics[0].partitions:
            index = one.partition_index
            if one.committed_offset not in {self.acknowledged[index], self._sent[index]}:
                return f"{self.group_id}: {one} was committed as {self.acknowledged[index]}"
            self.acknowledged[index] = one.committed_offset
        return None


class Protocols(Protocol):
    """How a member joins, shows that it is there, and leaves; each gives an error code."""

    def join(self, client: RawClient) -> int:
        """Become a member."""

    def beat(self, client: RawClient) -> int:
        """Look whether this is still a member."""

    def leave(self, client: RawClient) -> int:
        """Be no member any more."""


class Classic:
    """JoinGroup, SyncGroup, Heartbeat, LeaveGroup of a static member.

    Its instance id tells who it is when the answer to its join was lost.
    """

    def __init__(self, group_id: str) -> None:
        self._group_id = group_id
        self._member: dict[str, Any] = {}
        self._generation = -1

    def join(self, client: RawClient) -> int:
        kind = messages.JoinGroupRequest.JoinGroupRequestProtocol
        joined = client.call(
            "JoinGroup",
            5,
            group_id=self._group_id,
            group_instance_id=_INSTANCE,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            protocol_type="consumer",
            protocols=[kind(name="range", metadata=subscription([TOPIC]))],
        )
        if joined.error_code:
            return int(joined.error_code)
        self._member = {
            "group_id": self._group_id,
            "group_instance_id": _INSTANCE,
            "member_id": joined.member_id,
        }
        self._generation = joined.generation_id
        given = messages.SyncGroupRequest.SyncGroupRequestAssignment(
            member_id=joined.member_id, assignment=b"all"
        )
        synced = client.call(
            "SyncGroup", 3, generation_id=self._generation, assignments=[given], **self._member
        )
        return int(synced.error_code)

    def beat(self, client: RawClient) -> int:
        answer = client.call("Heartbeat", 3, generation_id=self._generation, **self._member)
        return int(answer.error_code)

    def leave(self, client: RawClient) -> int:
        member = messages.LeaveGroupRequest.MemberIdentity(group_instance_id=_INSTANCE)
        left = client.call("LeaveGroup", 3, group_id=self._group_id, members=[member])
        return int(left.error_code or left.members[0].error_code)


class Consumer:
    """ConsumerGroupHeartbeat."""

    def __init__(self, group_id: str) -> None:
        self._member = {"group_id": group_id, "member_id": "member"}
        self._epoch = -1

    def join(self, client: RawClient) -> int:
        answer = client.call(
            "ConsumerGroupHeartbeat",
            1,
            member_epoch=0,
            rebalance_timeout_ms=SESSION_MS,
            subscribed_topic_names=[TOPIC],
            topic_partitions=[],
            **self._member,
        )
        self._epoch = answer.member_epoch
        return int(answer.error_code)

    def beat(self, client: RawClient) -> int:
        answer = client.call("ConsumerGroupHeartbeat", 1, member_epoch=self._epoch, **self._member)
        if answer.error_code == 0 and answer.member_epoch != self._epoch:
            return int(ErrorCode.STALE_MEMBER_EPOCH)
        return int(answer.error_code)

    def leave(self, client: RawClient) -> int:
        answer = client.call("ConsumerGroupHeartbeat", 1, member_epoch=-1, **self._member)
        return int(answer.error_code)


class Member:
    """The only member of its group: joins, stays a little, leaves, and so on.

    Attributes:
        is_member: None while that is not known.
    """

    def __init__(self, name: str, protocols: Protocols) -> None:
        self.name = name
        self.is_member: bool | None = False
        self.changes = 0
        self.fault: str | None = None
        self._protocols = protocols

    def load(self, port: int) -> None:
        """Come and go until the broker is gone."""
        protocols = self._protocols
        try:
            with RawClient("127.0.0.1", port, timeout_s=20) as client:
                client.call("FindCoordinator", 1, key=self.name)
                if self.is_member is None:  # begin anew
                    protocols.leave(client)
                    self.is_member = False
                while self.fault is None:
                    self._change(client, joins=not self.is_member)
                    for _ in range(_STAYS if self.is_member else 0):
                        self._expect("a heartbeat", protocols.beat(client))
        except LOST:
            return

    def _change(self, client: RawClient, *, joins: bool) -> None:
        protocols, self.is_member = self._protocols, None
        self._expect("a change", protocols.join(client) if joins else protocols.leave(client))
        self.is_member = joins
        self.changes += 1

    def _expect(self, what: str, code: int) -> None:
        if code:
            self.fault = f"{self.name}: {what} was answered {code}"

    def check(self, client: RawClient) -> str | None:
        """A member is one still, and who left has left; return what is wrong."""
        if self.is_member is None or self.changes == 0:
            return None
        code = self._protocols.beat(client)
        gone = {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND}
        if (code != 0) if self.is_member else (code not in gone):
            return f"{self.name}: a heartbeat was answered {code}, member: {self.is_member}"
        return None

"""Members of one group, each with a connection of its own, served by one thread.

They do what clients do: join, take or make an assignment, and look after their group at an
interval, which is how a member learns of a rebalance.
"""

import selectors
import socket
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

from broker_lite.errors import ErrorCode
from tests.bench import group_frames as frames

INTERVAL_S: Final = 0.3
_RECEIVE_BYTES: Final = 1 << 18


class Member(ABC):
    """One member of a group; `waits_for` names the API whose answer it waits for."""

    def __init__(self, group_id: str, member_id: str, topic: str) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.topic = topic
        self.epoch = -1
        self.owned: frozenset[int] = frozenset()
        self.is_settled = False

    @abstractmethod
    def begin(self) -> bytes:
        """The request that makes it a member."""

    @abstractmethod
    def beat(self) -> bytes:
        """The request that it sends at an interval."""

    @abstractmethod
    def take(self, data: bytes) -> bytes | None:
        """Take an answer; give the request that follows it at once."""


class ClassicMember(Member):
    """Uses JoinGroup, SyncGroup and Heartbeat; a leader cuts the partitions into equal parts."""

    def __init__(self, group_id: str, topic: str, partition_count: int) -> None:
        super().__init__(group_id, "", topic)
        self._metadata = frames.subscription([topic])
        self._partition_count = partition_count
        self._take = self._take_join

    def begin(self) -> bytes:
        return self._join()

    def beat(self) -> bytes:
        self._take = self._take_beat
        return frames.heartbeat(self.group_id, self.member_id, self.epoch)

    def take(self, data: bytes) -> bytes | None:
        return self._take(data)

    def _join(self) -> bytes:
        self.is_settled = False
        self._take = self._take_join
        return frames.join(self.group_id, self.member_id, self._metadata, frames.JOIN_VERSION)

    def _take_join(self, data: bytes) -> bytes | None:
        value = frames.answer("JoinGroup", frames.JOIN_VERSION, data)
        self.member_id = value.member_id
        if value.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            return self._join()
        assert value.error_code == 0, value
        self.epoch = value.generation_id
        self._take = self._take_sync
        given = self._cut([each.member_id for each in value.members])
        return frames.sync(self.group_id, self.member_id, self.epoch, given)

    def _cut(self, member_ids: Sequence[str]) -> list[tuple[str, bytes]]:
        return [
            (each, frames.assignment(self.topic, range(i, self._partition_count, len(member_ids))))
            for i, each in enumerate(member_ids)
        ]

    def _take_sync(self, data: bytes) -> bytes | None:
        value = frames.answer("SyncGroup", frames.SYNC_VERSION, data)
        if value.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            return self._join()
        assert value.error_code == 0, value
        self.owned = frozenset(_assigned(value.assignment))
        self.is_settled = True
        return None

    def _take_beat(self, data: bytes) -> bytes | None:
        value = frames.answer("Heartbeat", frames.HEARTBEAT_VERSION, data)
        if value.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            return self._join()
        assert value.error_code == 0, value
        return None


class ConsumerMember(Member):
    """Uses ConsumerGroupHeartbeat; says at once what it holds when that has changed."""

    def begin(self) -> bytes:
        return frames.consumer_join(self.group_id, self.member_id, [self.topic])

    def beat(self) -> bytes:
        return frames.consumer_heartbeat(self.group_id, self.member_id, self.epoch)

    def take(self, data: bytes) -> bytes | None:
        value = frames.answer("ConsumerGroupHeartbeat", frames.CONSUMER_VERSION, data)
        assert value.error_code == 0, value
        self.epoch = value.member_epoch
        self.is_settled = True
        if value.assignment is None:
            return None
        held = value.assignment.topic_partitions
        self.owned = frozenset(index for each in held for index in each.partitions)
        return frames.consumer_heartbeat(
            self.group_id, self.member_id, self.epoch, topic_partitions=_held(held)
        )


def _held(assigned: Sequence[Any]) -> list[Any]:
    kind = frames.messages.ConsumerGroupHeartbeatRequest.TopicPartitions
    return [kind(topic_id=each.topic_id, partitions=each.partitions) for each in assigned]


def _assigned(data: bytes) -> list[int]:
    """The partitions in an assignment that a leader of this module made."""
    value, _ = frames.messages.ConsumerProtocolAssignment.decode(data, 1, 2)
    return [index for each in value.assigned_partitions for index in each.partitions]


class Crowd:
    """All members of a group, at work."""

    def __init__(self, port: int, interval_s: float = INTERVAL_S) -> None:
        self.members: list[Member] = []
        self._port = port
        self._interval_s = interval_s
        self._selector = selectors.DefaultSelector()
        self._sockets: list[socket.socket] = []
        self._received: list[bytearray] = []
        self._due_s: list[float | None] = []

    def connect(self, members: Sequence[Member]) -> None:
        """Open connections for more members."""
        for member in members:
            connection = socket.create_connection(("127.0.0.1", self._port), 60)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(connection, selectors.EVENT_READ, len(self.members))
            self.members.append(member)
            self._sockets.append(connection)
            self._received.append(bytearray())
            self._due_s.append(None)

    def join(self, first: int = 0) -> float:
        """Let all members from this one on join; give the moment at which the last one did."""
        for index in range(first, len(self.members)):
            self._sockets[index].sendall(self.members[index].begin())
        return time.perf_counter()

    def run(self, is_done: Callable[[Sequence[Member]], bool], timeout_s: float = 60) -> float:
        """Serve all members until they are done; give the moment at which they were."""
        end_s = time.perf_counter() + timeout_s
        while not is_done(self.members):
            for key, _ in self._selector.select(0.005):
                self._receive(key.data)
            now_s = time.perf_counter()
            for index, due_s in enumerate(self._due_s):
                if due_s is not None and due_s <= now_s:
                    self._due_s[index] = None
                    self._sockets[index].sendall(self.members[index].beat())
            if now_s > end_s:
                raise TimeoutError(f"not settled after {timeout_s} s")
        return time.perf_counter()

    def _receive(self, index: int) -> None:
        received = self._received[index]
        data = self._sockets[index].recv(_RECEIVE_BYTES)
        if not data:
            raise ConnectionError("the broker closed a member's connection")
        received += data
        if len(received) < 4 or len(received) < 4 + struct.unpack_from(">i", received)[0]:
            return
        reply = self.members[index].take(bytes(received[4:]))
        received.clear()
        if reply is None:
            self._due_s[index] = time.perf_counter() + self._interval_s
        else:
            self._sockets[index].sendall(reply)

    def close(self) -> None:
        """Close all connections."""
        self._selector.close()
        for connection in self._sockets:
            connection.close()


def settled(partition_count: int) -> Callable[[Sequence[Member]], bool]:
    """Whether all members are at one epoch, and each partition is owned once."""

    def is_done(members: Sequence[Member]) -> bool:
        if not all(member.is_settled for member in members):
            return False
        if len({member.epoch for member in members}) > 1:
            return False
        owned = sum(len(member.owned) for member in members)
        return owned == partition_count == len(frozenset().union(*(m.owned for m in members)))

    return is_done

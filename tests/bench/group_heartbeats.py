"""Many small groups whose members heartbeat at an even pace, each on a connection of its own."""

import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

from tests.bench import group_frames as frames

MEMBERS = 3
_ROUNDS_MAX = 10


class Beating:
    """Connections, each with the heartbeat of its member."""

    def __init__(self, port: int, count: int) -> None:
        self.sockets = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(count)]
        self.beats: list[bytes] = []
        self.wanted = b""
        for connection in self.sockets:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask_all(self, requests: Sequence[bytes]) -> list[bytes]:
        """Send a request on each connection, then take all answers."""
        for connection, request in zip(self.sockets, requests, strict=True):
            connection.sendall(request)
        return [receive(connection) for connection in self.sockets]

    def close(self) -> None:
        """Close all connections."""
        for connection in self.sockets:
            connection.close()


def receive(connection: socket.socket) -> bytes:
    """One answer, without its size."""
    (size,) = struct.unpack(">i", _read(connection, 4))
    return _read(connection, size)


def _read(connection: socket.socket, size: int) -> bytes:
    data = connection.recv(size, socket.MSG_WAITALL)
    if len(data) < size:
        raise ConnectionError("the broker closed a member's connection")
    return data


def classic_groups(port: int, count: int, topic: str) -> Beating:
    """Stable classic groups; they need a broker that waits a little for the first members."""
    beating = Beating(port, MEMBERS * count)
    metadata = frames.subscription([topic])
    names = [f"group-{index // MEMBERS}" for index in range(MEMBERS * count)]
    joins = beating.ask_all([frames.join(name, "", metadata) for name in names])
    joined = [frames.answer("JoinGroup", frames.JOIN_AT_ONCE_VERSION, data) for data in joins]
    assert {each.generation_id for each in joined} == {1}, joined[:3]
    syncs = []
    for name, each in zip(names, joined, strict=True):
        ids = [member.member_id for member in each.members]
        given = [(one, frames.assignment(topic, [index])) for index, one in enumerate(ids)]
        syncs.append(frames.sync(name, each.member_id, each.generation_id, given))
    for data in beating.ask_all(syncs):
        answer = frames.answer("SyncGroup", frames.SYNC_VERSION, data)
        assert answer.error_code == 0, answer
        assert answer.assignment, answer
    beating.beats = [
        frames.heartbeat(name, each.member_id, each.generation_id)
        for name, each in zip(names, joined, strict=True)
    ]
    beating.wanted = bytes.fromhex("00000007 00 00000000 0000 00")
    return beating


def consumer_groups(port: int, count: int, topic: str) -> Beating:
    """Stable consumer groups; each member holds one of three partitions."""
    beating = Beating(port, MEMBERS * count)
    ids = [(f"group-{i // MEMBERS}", f"member-{i % MEMBERS}") for i in range(MEMBERS * count)]
    answers = beating.ask_all([frames.consumer_join(*each, [topic]) for each in ids])
    for _ in range(_ROUNDS_MAX):
        values = [_consumer_answer(data) for data in answers]
        if len({value.member_epoch for value in values}) == 1 and not any(
            value.assignment for value in values
        ):
            break
        answers = beating.ask_all(
            [
                frames.consumer_heartbeat(*each, value.member_epoch, **_held(value))
                for each, value in zip(ids, values, strict=True)
            ]
        )
    else:
        raise TimeoutError("the groups have not settled")
    beating.beats = [
        frames.consumer_heartbeat(*each, value.member_epoch)
        for each, value in zip(ids, values, strict=True)
    ]
    beating.wanted = beating.ask_all(beating.beats)[0]
    return beating


def _consumer_answer(data: bytes) -> Any:
    value = frames.answer("ConsumerGroupHeartbeat", frames.CONSUMER_VERSION, data)
    assert value.error_code == 0, value
    return value


def _held(value: Any) -> dict[str, Any]:
    if value.assignment is None:
        return {}
    kind = frames.messages.ConsumerGroupHeartbeatRequest.TopicPartitions
    held = value.assignment.topic_partitions
    return {
        "topic_partitions": [
            kind(topic_id=each.topic_id, partitions=each.partitions) for each in held
        ]
    }


def paced(beating: Beating, interval_s: float, rounds: int) -> int:
    """Send every heartbeat once an interval, evenly spread; check the answers and count them."""
    count = len(beating.sockets)
    began = time.perf_counter()
    sent = 0
    for turn in range(rounds):
        for index, (connection, beat) in enumerate(
            zip(beating.sockets, beating.beats, strict=True)
        ):
            due = began + (turn + index / count) * interval_s
            if (early_s := due - time.perf_counter()) > 0:
                time.sleep(early_s)
            connection.sendall(beat)
            data = receive(connection)
            sent += 1
            if not data.startswith(beating.wanted[:11]):
                raise ValueError(f"a heartbeat was answered {data.hex()}")
    return sent

"""Requests about groups, in every version, to a broker without sockets."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from broker_lite.handler.context import Request
from broker_lite.handler.dispatch import dispatch
from broker_lite.wire import messages
from tests.support.coordinator_topics import GROUP_APIS, make_offsets_topic
from tests.support.handler_broker import HandlerBroker


async def send(broker: HandlerBroker, name: str, version: int, **fields: Any) -> Any:
    """Send a request by the name of its API, and wait for the decoded response.

    It is sent as by a client that has found the coordinator.
    """
    if name in GROUP_APIS and broker.finds_coordinator:
        make_offsets_topic(broker.cluster)
    request_type = getattr(messages, f"{name}Request")
    response_type = getattr(messages, f"{name}Response")
    body = memoryview(bytearray(request_type.encode(request_type(**fields), version)))
    request = Request(request_type.api_key, version, 1, None, body, 0, True)
    parts = await dispatch(broker.context, request)
    assert parts is not None
    data = b"".join(parts)  # type: ignore[arg-type]
    response, end = response_type.decode(data, version)
    assert end == len(data)
    return response


def join(broker: HandlerBroker, version: int, **fields: Any) -> Coroutine[Any, Any, Any]:
    """Join group g with one protocol."""
    protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"m")
    given = {
        "group_id": "g",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 20_000,
        "protocol_type": "consumer",
        "protocols": [protocol],
        **fields,
    }
    return send(broker, "JoinGroup", version, **given)


def member_of(broker: HandlerBroker) -> str:
    """Make group g stable with one member, and give its id."""

    async def scene() -> str:
        member_id: str = (await join(broker, 3)).member_id
        assignment = messages.SyncGroupRequest.SyncGroupRequestAssignment(
            member_id=member_id, assignment=b"a"
        )
        synced = await send(
            broker,
            "SyncGroup",
            2,
            group_id="g",
            generation_id=1,
            member_id=member_id,
            assignments=[assignment],
        )
        assert (synced.error_code, synced.assignment) == (0, b"a")
        return member_id

    return asyncio.run(scene())


def commit(broker: HandlerBroker, version: int = 8, **fields: Any) -> Any:
    """Commit offset 7 of partition 0 of topic t in group g, or what the fields say."""
    types = messages.OffsetCommitRequest
    partition = types.OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    topic = types.OffsetCommitRequestTopic(name="t", partitions=[partition])
    if version >= 10:
        topic.topic_id = broker.cluster.topics["t"].topic_id
    given = {"group_id": "g", "topics": [topic], **fields}
    return broker.call("OffsetCommit", version, **given)


def break_log(broker: HandlerBroker) -> None:
    """Make the state of group g unreadable: its partition is damaged, and read anew
    because its leader was gone for a moment."""
    groups = broker.context.groups
    log = broker.cluster.log(groups.topic.name, groups.partition_of("g"))
    segment = log.segments.active
    with open(segment.path, "r+b") as file:
        file.seek(segment.size_bytes - 1)
        byte = file.read(1)
        file.seek(segment.size_bytes - 1)
        file.write(bytes([byte[0] ^ 1]))
    controller = broker.cluster.controller
    controller.fence(broker.context.node_id)
    controller.unfence(broker.context.node_id)

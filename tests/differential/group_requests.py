"""Group steps made into requests, with what one broker told the sequence."""

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from broker_lite.wire import ZERO_UUID, messages
from tests.differential.coordinator_memory import Memory
from tests.differential.coordinator_sequence import SHARED_TOPICS, Step

CONSUMER: Final = "consumer"
TOO_LONG: Final = "too long"
METADATA_TOO_LONG: Final = "x" * 4097
UNKNOWN_TOPIC_ID: Final = bytes(range(16))
Build = Callable[[Step, Memory], Any]


def subscription(topics: Sequence[str], version: int, variant: int = 0) -> bytes:
    """The metadata of a member that subscribes to topics (G-76)."""
    message = messages.ConsumerProtocolSubscription
    value = message(topics=list(topics), user_data=bytes([variant]) if variant else None)
    return struct.pack(">h", version) + message.encode(value, version)


def assignment(topics: Mapping[str, Sequence[int]], version: int = 1) -> bytes:
    """What a leader assigns to a member (G-76)."""
    message = messages.ConsumerProtocolAssignment
    given = [
        message.TopicPartition(topic=topic, partitions=list(partitions))
        for topic, partitions in topics.items()
    ]
    return struct.pack(">h", version) + message.encode(message(assigned_partitions=given), version)


def _join(step: Step, memory: Memory) -> Any:
    args, kind = step.args, messages.JoinGroupRequest
    protocols = [
        kind.JoinGroupRequestProtocol(name=name, metadata=_metadata(args, version, variant))
        for name, version, variant in args["protocols"]
    ]
    fields: dict[str, Any] = {}
    if step.version >= 1:
        fields["rebalance_timeout_ms"] = args["rebalance_ms"]
    return kind(
        group_id=memory.own(args["group"]),
        session_timeout_ms=args["session_ms"],
        member_id=memory.member_id(step, args["who"]),
        protocol_type=args["type"],
        protocols=protocols,
        **fields,
        **_instance(step, 5),
    )


def _metadata(args: Mapping[str, Any], version: int, variant: int) -> bytes:
    if args["type"] == CONSUMER and version >= 0:
        return subscription(args["topics"], version, variant)
    if args["type"] == CONSUMER:
        # ends too early; with a length beyond the end Kafka answers -1 to all joins from then on
        return b"\x00"
    return b"metadata %d" % variant


def _sync(step: Step, memory: Memory) -> Any:
    args, kind = step.args, messages.SyncGroupRequest
    member = memory.members[step.slot]
    ids = sorted(member.leads or [member.current_id], key=memory.names.text)
    if args["assign"] == "some":
        ids = ids[:1]
    elif args["assign"] == "none":
        ids = []
    elif args["assign"] == "ghost":
        ids = [*ids, "ghost"]
    fields: dict[str, Any] = {}
    if step.version >= 5:
        fields["protocol_type"] = _known_or(args["type"], member.protocol_type)
        fields["protocol_name"] = _known_or(args["protocol"], member.protocol_name)
    return kind(
        group_id=memory.own(args["group"]),
        generation_id=known_generation(step, memory),
        member_id=memory.member_id(step, args["who"]),
        assignments=[
            kind.SyncGroupRequestAssignment(
                member_id=raw, assignment=_given(member.protocol_type, index, raw, memory)
            )
            for index, raw in enumerate(ids)
        ],
        **fields,
        **_instance(step, 3),
    )


def _given(protocol_type: str | None, index: int, raw: str, memory: Memory) -> bytes:
    if protocol_type == CONSUMER:
        return assignment({"d6": [index], "d1": [0]} if index == 0 else {"d6": [index]})
    return f"for {memory.names.text(raw)}".encode()


def _known_or(word: str | None, known: str | None) -> str | None:
    return known if word == "known" else word


def _heartbeat(step: Step, memory: Memory) -> Any:
    return messages.HeartbeatRequest(
        group_id=memory.own(step.args["group"]),
        generation_id=known_generation(step, memory),
        member_id=memory.member_id(step, step.args["who"]),
        **_instance(step, 3),
    )


def _leave(step: Step, memory: Memory) -> Any:
    kind, group = messages.LeaveGroupRequest, memory.own(step.args["group"])
    leaving = step.args["members"]
    if step.version < 3:
        return kind(group_id=group, member_id=memory.member_id(step, leaving[0][0]))
    members = [
        kind.MemberIdentity(member_id=memory.member_id(step, who), group_instance_id=instance)
        for who, instance in leaving
    ]
    return kind(group_id=group, members=members)


def _commit(step: Step, memory: Memory) -> Any:
    kind = messages.OffsetCommitRequest
    return kind(
        group_id=memory.own(step.args["group"]),
        generation_id_or_member_epoch=known_generation(step, memory),
        member_id=memory.member_id(step, step.args["who"]),
        topics=committed_topics(
            kind.OffsetCommitRequestTopic, kind.OffsetCommitRequestPartition, step, memory, 10, 6
        ),
        **_instance(step, 7),
    )


def committed_topics(
    topic_class: Any,
    partition_class: Any,
    step: Step,
    memory: Memory,
    ids_from: int,
    epochs_from: int,
) -> list[Any]:
    """The topics of an OffsetCommit or TxnOffsetCommit."""
    topics = []
    for name, index, offset, epoch, metadata in step.args["offsets"]:
        fields = {"committed_leader_epoch": epoch} if step.version >= epochs_from else {}
        partition = partition_class(
            partition_index=index,
            committed_offset=offset,
            committed_metadata=METADATA_TOO_LONG if metadata == TOO_LONG else metadata,
            **fields,
        )
        topics.append(
            topic_class(**topic_key(name, step, memory, ids_from), partitions=[partition])
        )
    return topics


def topic_key(name: str, step: Step, memory: Memory, ids_from: int) -> dict[str, Any]:
    """A topic by its name, or from some version on by its id."""
    if step.version < ids_from:
        return {"name": memory.topic(name)}
    if name == "zero":
        return {"topic_id": ZERO_UUID}
    return {"topic_id": memory.topic_ids.get(memory.topic(name), UNKNOWN_TOPIC_ID)}


def _fetch_offsets(step: Step, memory: Memory) -> Any:
    args, kind = step.args, messages.OffsetFetchRequest
    fields = {"require_stable": args["stable"]} if step.version >= 7 else {}
    names = args["topics"]
    if step.version < 8:
        topics = None
        if names is not None:
            topics = [
                kind.OffsetFetchRequestTopic(
                    name=memory.topic(name), partition_indexes=list(range(2))
                )
                for name in names
            ]
        return kind(group_id=memory.own(args["groups"][0]), topics=topics, **fields)
    groups = []
    for group in args["groups"]:
        asked = None
        if names is not None:
            asked = [
                kind.OffsetFetchRequestTopics(
                    **topic_key(name, step, memory, 10), partition_indexes=list(range(2))
                )
                for name in names
            ]
        member: dict[str, Any] = {}
        if step.version >= 9 and args["who"] != "none":
            member["member_id"] = memory.member_id(step, args["who"])
            member["member_epoch"] = known_generation(step, memory)
        groups.append(
            kind.OffsetFetchRequestGroup(group_id=memory.own(group), topics=asked, **member)
        )
    return kind(groups=groups, **fields)


def _delete_offsets(step: Step, memory: Memory) -> Any:
    kind = messages.OffsetDeleteRequest
    topics = [
        kind.OffsetDeleteRequestTopic(
            name=memory.topic(name),
            partitions=[kind.OffsetDeleteRequestPartition(partition_index=index)],
        )
        for name, index in step.args["offsets"]
    ]
    return kind(group_id=memory.own(step.args["group"]), topics=topics)


def _consumer_heartbeat(step: Step, memory: Memory) -> Any:
    args, kind = step.args, messages.ConsumerGroupHeartbeatRequest
    member = memory.members[step.slot]
    epoch = args["epoch"]
    if epoch == "known":
        epoch = member.epoch
    elif isinstance(epoch, str):
        epoch = member.epoch + int(epoch)
    fields: dict[str, Any] = {}
    if step.version >= 1:
        fields["subscribed_topic_regex"] = args["regex"]
    names = args["names"]
    return kind(
        group_id=memory.own(args["group"]),
        member_id=memory.member_id(step, args["who"]),
        member_epoch=epoch,
        instance_id=args["instance"],
        rack_id=args["rack"],
        rebalance_timeout_ms=args["rebalance_ms"],
        subscribed_topic_names=None if names is None else [memory.topic(n) for n in names],
        server_assignor=args["assignor"],
        topic_partitions=_owned(args["owned"], member.owned, memory, kind),
        **fields,
    )


def _owned(
    word: str, owned: Mapping[bytes, list[int]], memory: Memory, kind: Any
) -> list[Any] | None:
    if word == "null":
        return None
    held = dict(owned)
    if word == "empty":
        held = {}
    elif word == "first":
        held = {topic: partitions[:1] for topic, partitions in list(owned.items())[:1]}
    elif word == "all":
        held = {memory.topic_ids[name]: list(range(n)) for name, n in SHARED_TOPICS.items()}
    return [
        kind.TopicPartitions(topic_id=topic, partitions=list(partitions))
        for topic, partitions in held.items()
    ]


def _instance(step: Step, since: int) -> dict[str, Any]:
    instance = step.args.get("instance")
    return {"group_instance_id": instance} if step.version >= since else {}


def known_generation(step: Step, memory: Memory) -> int:
    """The generation or epoch of a step: none, the known one and a difference, or a number."""
    word = step.args["generation"]
    member = memory.members[step.slot]
    if word is None:
        return -1
    if isinstance(word, str):
        return member.epoch + int(word)
    return member.generation + int(word)


GROUP_REQUESTS: Final[Mapping[str, Build]] = {
    "JoinGroup": _join,
    "SyncGroup": _sync,
    "Heartbeat": _heartbeat,
    "LeaveGroup": _leave,
    "OffsetCommit": _commit,
    "OffsetFetch": _fetch_offsets,
    "OffsetDelete": _delete_offsets,
    "ConsumerGroupHeartbeat": _consumer_heartbeat,
    "DeleteGroups": lambda step, memory: messages.DeleteGroupsRequest(
        groups_names=[memory.own(name) for name in step.args["groups"]]
    ),
    "ListGroups": lambda step, memory: messages.ListGroupsRequest(
        **({"states_filter": list(step.args["states"])} if step.version >= 4 else {}),
        **({"types_filter": list(step.args["types"])} if step.version >= 5 else {}),
    ),
    "DescribeGroups": lambda step, memory: messages.DescribeGroupsRequest(
        groups=[memory.own(name) for name in step.args["groups"]]
    ),
    "ConsumerGroupDescribe": lambda step, memory: messages.ConsumerGroupDescribeRequest(
        group_ids=[memory.own(name) for name in step.args["groups"]]
    ),
}

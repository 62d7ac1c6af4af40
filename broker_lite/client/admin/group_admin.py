"""Lists, describes and deletes groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.client.address import Address
from broker_lite.client.broker_connection import Connection
from broker_lite.client.client import Client
from broker_lite.client.errors import NotSupported, Refused, check
from broker_lite.client.partition_offsets import by_topic
from broker_lite.client.topic_partitions import TopicPartition
from broker_lite.coordinator.embedded_protocol import PROTOCOL_TYPE, parse_assignment
from broker_lite.errors import ErrorCode
from broker_lite.wire import DecodeError, messages

CLASSIC: Final = "Classic"
CONSUMER: Final = "Consumer"
DEAD: Final = "Dead"
EMPTY: Final = "Empty"

Partitions = Mapping[str, Sequence[int]]


class ListedGroup(NamedTuple):
    """A consumer group; state and kind are "Unknown" if the broker does not say."""

    group: str
    kind: str
    state: str


class Member(NamedTuple):
    """A member of a group.

    Attributes:
        epoch: None in groups of the classic protocol.
        target: the assignment to reach; None in groups of the classic protocol.
    """

    member_id: str
    instance_id: str
    client_id: str
    host: str
    assignment: Partitions
    epoch: int | None
    target: Partitions | None


class Group(NamedTuple):
    """A group with its members.

    Attributes:
        epoch: None in groups of the classic protocol; so is target_epoch.
    """

    group: str
    state: str
    assignor: str
    coordinator_id: int
    coordinator: Address
    members: Sequence[Member]
    epoch: int | None
    target_epoch: int | None


def list_groups(client: Client) -> list[ListedGroup]:
    """List the consumer groups of all brokers, sorted by name."""
    found = {}
    for node_id in client.nodes():
        answer = client.request(messages.ListGroupsRequest(), node_id=node_id)
        check("groups", answer.error_code)
        for each in answer.groups:
            kind = (each.group_type or "Unknown").capitalize()
            if each.protocol_type in ("", PROTOCOL_TYPE) and kind in (CLASSIC, CONSUMER, "Unknown"):
                state = each.group_state or "Unknown"
                found[each.group_id] = ListedGroup(each.group_id, kind, state)
    return [found[name] for name in sorted(found)]


def describe_group(client: Client, group: str) -> Group:
    """Describe a group of either protocol.

    Raises:
        Refused: the group does not exist, or the coordinator refused.
    """
    return client.retry(lambda: _describe(client, group))


def _describe(client: Client, group: str) -> Group:
    node_id = client.coordinator(group)
    connection = client.connection(node_id)
    address = client.nodes().get(node_id, connection.address)
    answer = _describe_consumer_group(connection, group)
    if answer is not None:
        return Group(
            group,
            answer.group_state,
            answer.assignor_name,
            node_id,
            address,
            [_consumer_member(each) for each in answer.members],
            answer.group_epoch,
            answer.assignment_epoch,
        )
    (found,) = connection.request(messages.DescribeGroupsRequest(groups=[group])).groups
    check(f"group {group}", found.error_code, found.error_message)
    members = [_classic_member(each, found.protocol_type) for each in found.members]
    return Group(
        group, found.group_state, found.protocol_data, node_id, address, members, None, None
    )


def _describe_consumer_group(
    connection: Connection, group: str
) -> messages.ConsumerGroupDescribeResponse.DescribedGroup | None:
    """Describe a group of the consumer protocol; None if it is not one."""
    value = messages.ConsumerGroupDescribeRequest(group_ids=[group])
    try:
        (answer,) = connection.request(value).groups
    except NotSupported:
        return None
    if answer.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
        return None
    check(f"group {group}", answer.error_code, answer.error_message)
    return answer


def _consumer_member(answer: messages.ConsumerGroupDescribeResponse.Member) -> Member:
    return Member(
        answer.member_id,
        answer.instance_id or "",
        answer.client_id,
        answer.client_host,
        _named(answer.assignment),
        answer.member_epoch,
        _named(answer.target_assignment),
    )


def _named(assignment: messages.ConsumerGroupDescribeResponse.Assignment) -> dict[str, list[int]]:
    return {each.topic_name: sorted(each.partitions) for each in assignment.topic_partitions}


def _classic_member(
    answer: messages.DescribeGroupsResponse.DescribedGroupMember, protocol_type: str
) -> Member:
    data = bytes(answer.member_assignment)
    assignment: Partitions = {}
    if data and protocol_type == PROTOCOL_TYPE:
        try:
            assignment = parse_assignment(data)[0]
        except DecodeError as error:
            what = f"member {answer.member_id}"
            raise Refused(what, ErrorCode.UNKNOWN_SERVER_ERROR, f"assignment: {error}") from error
    return Member(
        answer.member_id,
        answer.group_instance_id or "",
        answer.client_id,
        answer.client_host,
        {name: sorted(numbers) for name, numbers in assignment.items()},
        None,
        None,
    )


def delete_group(client: Client, group: str) -> None:
    """Delete an empty group with its offsets.

    Raises:
        Refused: it does not exist or is not empty, or the coordinator refused.
    """

    def ask() -> None:
        value = messages.DeleteGroupsRequest(groups_names=[group])
        (answer,) = client.request(value, node_id=client.coordinator(group)).results
        check(f"group {group}", answer.error_code)

    client.retry(ask)


def delete_offsets(
    client: Client, group: str, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """Delete the committed offsets of a group for partitions.

    Returns:
        The error code of each partition.

    Raises:
        Refused: the whole request was refused.
    """
    make = messages.OffsetDeleteRequest
    topics = [
        make.OffsetDeleteRequestTopic(
            name=name,
            partitions=[
                make.OffsetDeleteRequestPartition(partition_index=number) for number in numbers
            ],
        )
        for name, numbers in by_topic(partitions).items()
    ]

    def ask() -> messages.OffsetDeleteResponse:
        value = make(group_id=group, topics=topics)
        answer = client.request(value, node_id=client.coordinator(group))
        check(f"group {group}", answer.error_code)
        return answer

    return {
        (topic.name, partition.partition_index): partition.error_code
        for topic in client.retry(ask).topics
        for partition in topic.partitions
    }

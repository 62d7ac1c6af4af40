"""Requests that brokers in different processes send to each other, as Kafka's brokers do.

The leader of a partition asks the coordinator whether the partition is in a transaction; the
coordinator has the leaders write the markers at the end. For the lag of groups it asks them where
their partitions begin and end.

Source: AddPartitionsToTxnManager, TransactionMarkerChannelManager, NetworkPartitionMetadataClient.
"""

import asyncio
import struct
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from broker_lite.control.coordinators.elsewhere import Sent
from broker_lite.coordinator.transactions.coordinator import Ending
from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.transaction import TopicPartition
from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    KafkaStorageError,
    NotLeaderOrFollower,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from broker_lite.handler.context import CloseConnection
from broker_lite.handler.large import LARGE_BYTES, encode_in_turns, in_slices
from broker_lite.handler.uncollected import uncollected
from broker_lite.record.control import EndTransactionMarker
from broker_lite.server.processes.calls import Call
from broker_lite.server.processes.channel import CallFailed, Channel, ChannelClosed
from broker_lite.server.processes.forwarded import decode_outcome
from broker_lite.wire import messages
from broker_lite.wire.primitives import DecodeError
from broker_lite.wire.structs import Struct

_HEAD: Final = struct.Struct(">hhihx")
_NO_CLIENT_ID: Final = -1
_ADD_PARTITIONS: Final = 24, 5
_WRITE_MARKERS: Final = 27, 2
_LIST_OFFSETS: Final = 2, 7
_NO_REPLICA: Final = -1
_OFFSET_ERRORS: Final[Mapping[int, type[BrokerError]]] = {
    each.code: each for each in (KafkaStorageError, NotLeaderOrFollower, UnknownTopicOrPartition)
}
_ELEMENTS_MAX: Final = 1 << 31
"""Answers of our own processes may have any number of elements."""


async def ask(channel: Channel, api: tuple[int, int], body: Struct) -> Any:  # noqa: ANN401
    """Send a request to the broker at the other end, and return its answer.

    An answer that is long is decoded in slices.

    Raises:
        ChannelClosed: there is no answer.
        CallFailed: the other end could not answer.
    """
    request_type, _ = messages.by_api(api[0])
    return await _ask(channel, api, request_type.encode(body, api[1]))


async def ask_long(channel: Channel, api: tuple[int, int], body: Struct) -> Any:  # noqa: ANN401
    """Do as ask() with a request that is long: it is encoded in slices."""
    request_type, _ = messages.by_api(api[0])
    return await _ask(channel, api, await encode_in_turns(request_type, body, api[1]))


async def _ask(channel: Channel, api: tuple[int, int], body: bytes) -> Any:  # noqa: ANN401
    _, response_type = messages.by_api(api[0])
    head = _HEAD.pack(*api, 0, _NO_CLIENT_ID)
    payload = await channel.call(bytes((Call.ASK,)), head, body)
    try:
        parts = decode_outcome(payload, 0)
        assert parts is not None
        assert isinstance(parts[0], bytes)
        if len(parts[0]) <= LARGE_BYTES:
            value, _ = response_type.decode(parts[0], api[1], 0)
        else:
            slices = response_type.decode_slices(parts[0], api[1], 0, _ELEMENTS_MAX)
            with uncollected():
                value, _ = await in_slices(slices)
    except (CloseConnection, DecodeError) as error:
        raise ChannelClosed from error
    return value


def _by_topic(partitions: Iterable[TopicPartition]) -> Mapping[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for name, index in partitions:
        topics.setdefault(name, []).append(index)
    return topics


class CoordinatorElsewhere:
    """Asks the transaction coordinator in the first process; see AsksCoordinator."""

    def __init__(self, channel: Channel) -> None:
        """Remember the way there."""
        self._channel = channel

    async def __call__(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: Collection[TopicPartition],
        *,
        is_added: bool,
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Add partitions to a transaction, or verify that they were added."""
        types = messages.AddPartitionsToTxnRequest
        transaction = types.AddPartitionsToTxnTransaction(
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            verify_only=not is_added,
            topics=[
                types.AddPartitionsToTxnTopic(name=name, partitions=indexes)
                for name, indexes in _by_topic(partitions).items()
            ],
        )
        try:
            answer = await ask(self._channel, _ADD_PARTITIONS, types(transactions=[transaction]))
        except (ChannelClosed, CallFailed):
            return dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return {
            (topic.name, one.partition_index): ErrorCode(one.partition_error_code)
            for result in answer.results_by_transaction
            for topic in result.topic_results
            for one in topic.results_by_partition
        }


class MarkersElsewhere:
    """Has end markers written by leaders in other processes; see SendsMarkers."""

    def __init__(self, find: Callable[[int], Channel | None]) -> None:
        """Begin.

        Args:
            find: returns the channel to the process of a broker; None if it is not there.
        """
        self._find = find
        self._tasks: set[asyncio.Task[None]] = set()

    def __call__(
        self,
        node_id: int,
        ending: Ending,
        marker: EndTransactionMarker,
        partitions: Sequence[TopicPartition],
        sent: Sent,
        /,
    ) -> None:
        """Send the marker of a transaction for some partitions; `sent` is called later."""
        task = asyncio.create_task(self._send(node_id, ending, marker, partitions, sent))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(
        self,
        node_id: int,
        ending: Ending,
        marker: EndTransactionMarker,
        partitions: Sequence[TopicPartition],
        sent: Sent,
    ) -> None:
        types = messages.WriteTxnMarkersRequest
        written = types.WritableTxnMarker(
            producer_id=ending.producer[0],
            producer_epoch=ending.producer[1],
            transaction_result=marker.is_commit,
            coordinator_epoch=marker.coordinator_epoch,
            transaction_version=ending.transaction_version,
            topics=[
                types.WritableTxnMarkerTopic(name=name, partition_indexes=indexes)
                for name, indexes in _by_topic(partitions).items()
            ],
        )
        channel = self._find(node_id)
        codes: dict[TopicPartition, int] = dict.fromkeys(
            partitions, ErrorCode.NOT_LEADER_OR_FOLLOWER
        )
        try:
            if channel is not None:
                answer = await ask(channel, _WRITE_MARKERS, types(markers=[written]))
                codes = {
                    (topic.name, one.partition_index): one.error_code
                    for result in answer.markers
                    for topic in result.topics
                    for one in topic.partitions
                }
        except (ChannelClosed, CallFailed):
            pass
        sent(codes)


class OffsetsElsewhere:
    """Asks leaders in other processes where their partitions begin or end; see AsksLeader."""

    def __init__(self, find: Callable[[int], Channel | None]) -> None:
        """Begin.

        Args:
            find: returns the channel to the process of a broker; None if it is not there.
        """
        self._find = find

    async def __call__(
        self, node_id: int, partitions: Sequence[TopicPartition], timestamp: int, /
    ) -> Mapping[TopicPartition, int | BrokerError]:
        """See AsksLeader."""
        channel = self._find(node_id)
        if channel is None:
            return {}
        types = messages.ListOffsetsRequest
        topics = [
            types.ListOffsetsTopic(
                name=name,
                partitions=[
                    types.ListOffsetsPartition(partition_index=each, timestamp=timestamp)
                    for each in indexes
                ],
            )
            for name, indexes in _by_topic(partitions).items()
        ]
        body = types(replica_id=_NO_REPLICA, topics=topics)
        try:
            answer = await ask(channel, _LIST_OFFSETS, body)
        except (ChannelClosed, CallFailed):
            return {}
        return {
            (topic.name, each.partition_index): _OFFSET_ERRORS.get(
                each.error_code, UnknownServerError
            )()
            if each.error_code
            else each.offset
            for topic in answer.topics
            for each in topic.partitions
        }

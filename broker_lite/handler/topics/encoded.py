"""Encodes the topics of one Metadata answer, or takes them as they were encoded before."""

from typing import Final, TypeAlias

from broker_lite.control.metadata.topic import Topic
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.large import in_turns, lazily
from broker_lite.handler.topics.placed import Placed, Places
from broker_lite.wire import messages

Described: TypeAlias = "messages.MetadataResponse.MetadataResponseTopic"

_AT_ONCE_MAX: Final = 128
"""So many partitions take a quarter of a millisecond."""


class TopicEncoder:
    """Encodes what one client is told of topics."""

    def __init__(self, context: HandlerContext, version: int) -> None:
        """Look at the brokers.

        Args:
            context: of the connection.
            version: of the answer.
        """
        self._places = Places(context, version)
        self._form = self._places.form
        self._version = version
        self._kept = context.encoded_topics

    def without_partitions(self, topic: Described) -> bytes:
        """Encode an entry that tells an error."""
        return b"".join(messages.MetadataResponse.struct_slices(topic, self._version))

    async def encode(self, topic: Topic, operations: int) -> bytes:
        """Encode a topic.

        Args:
            topic: the topic.
            operations: what the client may do with it, as the answer has it.

        See: P-82.
        """
        kept, form = self._kept, self._form
        data = kept.find(form, topic, operations)
        if data is not None:
            return data
        slices = messages.MetadataResponse.struct_slices(
            _describe(topic, self._places, operations), self._version
        )
        if topic.partition_count <= _AT_ONCE_MAX:
            data = b"".join(slices)
            kept.keep(form, topic, operations, data)
            return data
        async with kept.turn:
            data = kept.find(form, topic, operations)
            if data is None:
                data = b"".join([piece async for piece in in_turns(slices, at_least=1)])
                kept.keep(form, topic, operations, data)
        return data


def _describe(topic: Topic, places: Places, operations: int) -> Described:
    """Rule: P-82."""
    return messages.MetadataResponse.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        topic_authorized_operations=operations,
        partitions=lazily(
            topic.partition_count,
            (
                _partition(index, partition.leader_epoch, places.of(partition))
                for index, partition in enumerate(topic.partitions)
            ),
        ),
    )


def _partition(
    index: int, leader_epoch: int, place: Placed
) -> "messages.MetadataResponse.MetadataResponsePartition":
    return messages.MetadataResponse.MetadataResponsePartition(
        error_code=place.error_code,
        partition_index=index,
        leader_id=place.leader,
        leader_epoch=leader_epoch,
        replica_nodes=place.replicas,
        isr_nodes=place.isr,
        offline_replicas=place.offline,
    )

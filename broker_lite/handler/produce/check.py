"""What a Produce request is checked for before anything is written, in Kafka's order.

All of it reads headers only. Two passes go over the partitions: the first looks for what fails the
whole request whatever else is wrong, the second sorts the partitions.
"""

from typing import Final

from broker_lite.control.metadata.topic import Topic
from broker_lite.errors import BrokerError, ErrorCode, TransactionalIdAuthorizationFailed, Why
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.produce.response import PartitionAnswer, PartitionKey, refusal
from broker_lite.handler.produce.transaction import Accepted
from broker_lite.log.validate.request_shape import (
    check_one_producer,
    check_record_set,
    first_batch_headers,
)
from broker_lite.wire.produce import ProduceRequest, Topics

OLDEST_OF_BATCHES: Final = 3
"""The first version whose records are one v2 batch, which one look at the header checks."""
_TOPIC_IDS_FROM: Final = 13

NO_TOPIC: Final = Why("V-08", "there is no such topic", {})
_NO_PARTITION: Final = Why("V-08", "the topic has no such partition", {})

# a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__

Sorted = tuple[dict[PartitionKey, Accepted], dict[PartitionKey, PartitionAnswer]]
"""The partitions to append to, and those that are refused already."""


def check(context: HandlerContext, produce: ProduceRequest, version: int) -> Sorted:
    """Check a request of version 3 or higher without a pause.

    Raises:
        BrokerError: the whole request fails.

    Rule: V-03, V-07, V-08, V-10.
    See: V-02, V-06, V-09.
    """
    if is_transactional(produce.topics) and produce.transactional_id is None:
        raise needs_transactional_id()
    accepted: dict[PartitionKey, Accepted] = {}
    refused: dict[PartitionKey, PartitionAnswer] = {}
    if sort_partitions(context, produce.topics, version, accepted, refused):
        check_producers(accepted)
    return accepted, refused


def is_transactional(topics: Topics) -> bool:
    """Whether the first batch of a partition is transactional; the ones behind it are not read.

    Raises:
        BrokerError: a malformed header, before that; the whole request fails.

    Rule: V-07.
    See: V-06.
    """
    return first_batch_headers([records for _, _, parts in topics for _, records in parts])


def needs_transactional_id() -> BrokerError:
    """The error of a transactional batch in a request without a transactional id.

    Rule: V-07.
    """
    return TransactionalIdAuthorizationFailed().because(
        "V-07", "a transactional batch in a request without a transactional id"
    )


def check_producers(accepted: dict[PartitionKey, Accepted]) -> None:
    """Demand one producer of all transactional batches.

    Raises:
        InvalidProducerIdMapping: the whole request fails.

    Rule: V-10.
    """
    check_one_producer(partition.producer for partition in accepted.values())


def sort_partitions(
    context: HandlerContext,
    topics: Topics,
    version: int,
    accepted: dict[PartitionKey, Accepted],
    refused: dict[PartitionKey, PartitionAnswer],
) -> bool:
    """Sort partitions into those to append to and those that are refused already.

    The last entry of a partition that comes twice counts.

    Args:
        context: of the connection.
        topics: of the request, or some of them.
        version: of the request; the records of one below 3 have been checked already.
        accepted: is added to.
        refused: is added to.

    Returns:
        Whether a transactional batch is among them.

    Raises:
        BrokerError: the whole request fails.

    Rule: V-03, V-08, V-10.
    See: V-02, V-09.
    """
    cluster = context.cluster
    has_producers = False
    for name, topic_id, partitions in topics:
        if topic_id is not None:
            topic = cluster.topics_by_id.get(topic_id)
        else:
            topic = cluster.topics.get(name or "")
        for index, records in partitions:
            key = (topic_id or name or "", index)
            # as topic.partition_count, but without a call of Python in each request
            if topic is None or not 0 <= index < len(topic.leader_epochs):
                why = NO_TOPIC if topic is None else _NO_PARTITION
                refused[key] = refusal(unknown(topic, version), why=why)
                continue
            producer = None
            if version >= OLDEST_OF_BATCHES:
                try:
                    producer = check_record_set(records, version)
                except BrokerError as error:
                    if error.code == ErrorCode.UNKNOWN_SERVER_ERROR:
                        raise
                    refused[key] = refusal(error.code, why=error.why)
                    continue
            has_producers = has_producers or producer is not None
            accepted[key] = _make(Accepted, (topic, index, records, producer))
    return has_producers


def unknown(topic: Topic | None, version: int) -> ErrorCode:
    """What a partition is answered that is not there.

    Rule: V-08; an id that is not known has an error of its own since version 13.
    """
    if topic is None and version >= _TOPIC_IDS_FROM:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

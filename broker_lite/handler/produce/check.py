"""Check a Produce request in Kafka's order before anything is written.

Only headers are read, and no log is looked at. Two passes go over the partitions: the first looks
for errors that fail the whole request whatever else is wrong, the second sorts the partitions. The
versions served here are 3 and up, which carry one v2 batch per partition. An UnknownServerError
fails the whole request, as in Kafka, where the same input causes an unforeseen exception. Other
errors of check_record_set() fail one partition.
"""

import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from broker_lite.control.metadata.topic import Topic
from broker_lite.errors import (
    BrokerError,
    CorruptMessage,
    ErrorCode,
    InvalidProducerIdMapping,
    InvalidRecord,
    TransactionalIdAuthorizationFailed,
    UnknownServerError,
    UnsupportedCompressionType,
    Why,
)
from broker_lite.handler.context import HandlerContext
from broker_lite.record.batch import (
    CODEC_MASK,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    RECORD_BATCH_OVERHEAD,
    RECORD_OVERHEAD_V0,
    TRANSACTIONAL_FLAG,
    Entry,
    RecordBatch,
    walk,
)
from broker_lite.wire.produce import (
    PartitionAnswer,
    PartitionKey,
    ProduceRequest,
    Topics,
)
from broker_lite.wire.short_produce import OnlyPartition

OLDEST_OF_BATCHES: Final = 3
"""The first version whose records are one v2 batch, which is checked by one look at its header."""
_TOPIC_IDS_FROM: Final = 13

NO_TOPIC: Final = Why("V-08", "there is no such topic", {})
_NO_PARTITION: Final = Why("V-08", "the topic has no such partition", {})

# tuple.__new__, because a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__

ZSTD: Final = 4
ZSTD_SINCE_VERSION: Final = 7

# length, magic and attributes; then, further on, producer id, epoch and sequence.
_PEEK: Final = struct.Struct(">8xi4xb4xh")
_PRODUCER_ID: Final = struct.Struct(">43xq")
_PRODUCER_EPOCH: Final = struct.Struct(">51xh")
_BASE_SEQUENCE: Final = struct.Struct(">53xi")
_PEEK_BYTES: Final = _PEEK.size
_PRODUCER_ID_BYTES: Final = _PRODUCER_ID.size
_OVERFLOWING_LENGTH: Final = 2**31 - LOG_OVERHEAD


class Accepted(NamedTuple):
    """A partition that passed the checks of the request, with the records to append."""

    topic: Topic
    partition: int
    records: "memoryview"  # in quotes, because mypyc would look for the name in this module
    producer: tuple[int, int] | None


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
        check_one_producer(accepted.values())
    return accepted, refused


def usual_topic(context: HandlerContext, request: OnlyPartition) -> Topic | None:
    """Return the topic of a request if it has the partition; else check() has to say what is wrong.

    See: V-08.
    """
    cluster, name = context.cluster, request.topic
    topic = cluster.topics.get(name) if isinstance(name, str) else cluster.topics_by_id.get(name)
    if topic is None or not 0 <= request.index < len(topic.partitions):
        return None
    return topic


def usual_batch(records: memoryview, version: int) -> RecordBatch | None:
    """Return records as one whole batch if check() would have nothing to say about them.

    Args:
        records: of one partition.
        version: of the request.

    Returns:
        None for a transactional batch, and if check() has to look whether it is one batch.

    See: V-06, V-09, V-21.
    """
    size_bytes = len(records)
    if size_bytes < RECORD_BATCH_OVERHEAD:
        return None
    batch = RecordBatch(records, 0, size_bytes)
    if (
        batch.length != size_bytes - LOG_OVERHEAD
        or batch.magic != CURRENT_MAGIC
        or batch.attributes & TRANSACTIONAL_FLAG
        or (version < ZSTD_SINCE_VERSION and batch.attributes & CODEC_MASK >= ZSTD)
    ):
        return None
    return batch


def needs_transactional_id() -> BrokerError:
    """Return the error of a transactional batch in a request without a transactional id.

    Rule: V-07.
    """
    return TransactionalIdAuthorizationFailed().because(
        "V-07", "a transactional batch in a request without a transactional id"
    )


def check_one_producer(partitions: Iterable[Accepted]) -> None:
    """Check that all transactional batches of a request are of one producer and epoch.

    Raises:
        InvalidProducerIdMapping: there are two, with Kafka's text; the whole request fails.

    Rule: V-10 (ReplicaManager.handleProduceAppend).
    """
    distinct = {partition.producer for partition in partitions}
    distinct.discard(None)
    if len(distinct) > 1:
        raise InvalidProducerIdMapping("Transactional records contained more than one producer ID")


def sort_partitions(
    context: HandlerContext,
    topics: Topics,
    version: int,
    accepted: dict[PartitionKey, Accepted],
    refused: dict[PartitionKey, PartitionAnswer],
) -> bool:
    """Sort partitions into those to append to and those that are refused already.

    If a partition comes twice, its last entry counts.

    Args:
        context: of the connection.
        topics: all topics of the request, or some of them.
        version: of the request; the records of one below 3 have been checked already.
        accepted: gets the partitions to append to.
        refused: gets the partitions that are refused, with their answers.

    Returns:
        True if a transactional batch is among them.

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
            if topic is None or not 0 <= index < len(topic.partitions):
                why = NO_TOPIC if topic is None else _NO_PARTITION
                refused[key] = PartitionAnswer(unknown(topic, version), why=why)
                continue
            producer = None
            if version >= OLDEST_OF_BATCHES:
                try:
                    producer = check_record_set(records, version)
                except BrokerError as error:
                    if error.code == ErrorCode.UNKNOWN_SERVER_ERROR:
                        raise
                    refused[key] = PartitionAnswer(error.code, why=error.why)
                    continue
            has_producers = has_producers or producer is not None
            accepted[key] = _make(Accepted, (topic, index, records, producer))
    return has_producers


def unknown(topic: Topic | None, version: int) -> ErrorCode:
    """Return the error for a partition that does not exist.

    Rule: V-08; an id that is not known has an error of its own since version 13.
    """
    if topic is None and version >= _TOPIC_IDS_FROM:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def is_transactional(topics: Topics) -> bool:
    """Read the first header of every partition up to the first transactional one.

    Returns:
        True if a first batch is transactional, so that the request needs its transactional id.

    Raises:
        CorruptMessage: a malformed header, with Kafka's text; the whole request fails.
        UnknownServerError: a length at which Java's int overflows; the whole request fails.

    Rule: V-06, V-07 (RequestUtils.hasTransactionalRecords).
    """
    length: int
    magic: int
    attributes: int
    for _, _, partitions in topics:
        for _, records in partitions:
            if records is None:
                continue
            if len(records) >= _PEEK_BYTES:
                length, magic, attributes = _PEEK.unpack_from(records)
                if (
                    length >= RECORD_OVERHEAD_V0
                    and 0 <= magic <= CURRENT_MAGIC
                    and length < _OVERFLOWING_LENGTH
                ):
                    if (
                        attributes & TRANSACTIONAL_FLAG
                        and magic == CURRENT_MAGIC
                        and length <= len(records) - LOG_OVERHEAD
                    ):
                        return True
                    continue
            # Too short for the peek, or malformed: the walk finds the error in Kafka's order.
            _first_entry(records)
    return False


def _first_entry(records: memoryview) -> Entry | None:
    try:
        return next(walk(records), None)
    except UnknownServerError:
        # Kafka's answer has no text here.
        raise UnknownServerError().because(
            "V-06", "the length that a batch declares is above what 31 bits hold"
        ) from None


def check_record_set(records: memoryview | None, version: int) -> tuple[int, int] | None:
    """Check that a partition's records are one complete v2 batch, maybe with a rest to be cut.

    Args:
        records: as the client sent them; null is refused like an empty set, where Kafka itself
            never answers (V-02).
        version: of the produce request, 3 or higher.

    Returns:
        Producer id and epoch of a transactional batch, None for any other batch.

    Raises:
        InvalidRecord: there is no complete batch, the magic is below 2, or there is a second
            complete batch.
        UnsupportedCompressionType: zstd before version 7.
        CorruptMessage: the header of a second batch is malformed.
        UnknownServerError: the whole request fails; a codec id above 4 before version 7, a header
            too short to hold a producer id, a second length at which Java's int overflows.

    Rule: V-02, V-09, V-21 (ProduceRequest.validateRecords, ReplicaManager).
    See: V-10.
    """
    if records is None or len(records) < _PEEK_BYTES:
        raise InvalidRecord().because(
            "V-09",
            "{size_bytes} bytes of records, which is too short for a batch",
            size_bytes=0 if records is None else len(records),
        )
    length: int
    magic: int
    attributes: int
    length, magic, attributes = _PEEK.unpack_from(records)
    size_bytes = length + LOG_OVERHEAD
    if size_bytes > len(records) or magic != CURRENT_MAGIC:
        raise _not_a_batch(magic, size_bytes, len(records))
    if version < ZSTD_SINCE_VERSION:
        _check_codec(attributes & CODEC_MASK)
    if size_bytes != len(records):
        _check_rest(records[size_bytes:])
    if size_bytes < _PRODUCER_ID_BYTES:
        # The batch ends before the producer id, which is an index error in Kafka.
        raise _cut_off(size_bytes)
    return _producer(records, size_bytes) if attributes & TRANSACTIONAL_FLAG else None


def _check_codec(codec: int) -> None:
    if codec == ZSTD:
        raise UnsupportedCompressionType().because(
            "V-09",
            "zstd needs Produce version {version_min} or higher",
            version_min=ZSTD_SINCE_VERSION,
        )
    if codec > ZSTD:
        raise UnknownServerError().because("V-09", "there is no codec {codec}", codec=codec)


def _not_a_batch(magic: int, size_bytes: int, given_bytes: int) -> InvalidRecord:
    error = InvalidRecord()
    if magic != CURRENT_MAGIC:
        return error.because(
            "V-09",
            "a message of magic {magic}, where magic {expected_magic} was expected",
            magic=magic,
            expected_magic=CURRENT_MAGIC,
        )
    return error.because(
        "V-09",
        "the batch says it has {size_bytes:,} bytes, and {given_bytes:,} came",
        size_bytes=size_bytes,
        given_bytes=given_bytes,
    )


def _cut_off(size_bytes: int) -> UnknownServerError:
    return UnknownServerError().because(
        "V-21", "the batch has {size_bytes} bytes and ends in its header", size_bytes=size_bytes
    )


def _check_rest(rest: memoryview) -> None:
    try:
        second = _first_entry(rest)
    except CorruptMessage:
        # Clients get the text of a malformed header only if it is the first one.
        raise CorruptMessage().because(
            "V-09", "the bytes after the batch are not the start of another batch"
        ) from None
    if second is not None:
        raise InvalidRecord().because(
            "V-09", "a second batch follows, where exactly one was expected"
        )


def _producer(records: memoryview, size_bytes: int) -> tuple[int, int] | None:
    """Rule: V-21: a header cut off before the sequence is an index error in Kafka."""
    producer_id: int = _PRODUCER_ID.unpack_from(records)[0]
    if producer_id < 0:
        return None
    if size_bytes < _BASE_SEQUENCE.size:
        raise _cut_off(size_bytes)
    return producer_id, _PRODUCER_EPOCH.unpack_from(records)[0]


def base_sequence(records: memoryview) -> int:
    """Return the first sequence of a transactional batch for which check_record_set() returned one.

    Args:
        records: a batch whose producer check_record_set() has returned.
    """
    sequence: int = _BASE_SEQUENCE.unpack_from(records)[0]
    return sequence

"""What a produce request is checked for before any log is looked at: its shape, batch by batch.

Served versions are 3 and up, which carry one v2 batch a partition. Only headers are read here. An
UnknownServerError of this module fails the whole request, as Kafka does when it did not foresee
what it stumbles on; the other errors of check_record_set() fail one partition.
"""

import struct
from collections.abc import Iterable
from typing import Final

from broker_lite.errors import (
    BrokerError,
    CorruptMessage,
    ErrorCode,
    InvalidProducerIdMapping,
    InvalidRecord,
    UnknownServerError,
    UnsupportedCompressionType,
)
from broker_lite.record.batch import (
    CODEC_MASK,
    CURRENT_MAGIC,
    LOG_OVERHEAD,
    RECORD_OVERHEAD_V0,
    TRANSACTIONAL_FLAG,
    Entry,
    walk,
)

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

# Raised by the partition before its log could say where it starts.
_LOG_START_UNKNOWN: Final = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)


def first_batch_headers(record_sets: Iterable[memoryview | None]) -> bool:
    """Read the first header of every partition up to the first transactional one.

    Returns:
        Whether a first batch is transactional, so that the request needs its transactional id.

    Raises:
        CorruptMessage: a malformed header, with Kafka's text; the whole request fails.
        UnknownServerError: a length at which Java's int overflows; the whole request fails.

    Rule: V-06 (RequestUtils.hasTransactionalRecords).
    See: V-07.
    """
    length: int
    magic: int
    attributes: int
    for records in record_sets:
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
        # Too short to peek into, or malformed: the walk finds the error in Kafka's order.
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
    """Demand that a partition's records are one complete v2 batch, maybe with a rest to be cut.

    Args:
        records: as the client sent them; null is refused like an empty set, where Kafka itself
            never answers (V-02).
        version: of the produce request, 3 or higher.

    Returns:
        Producer id and epoch of a transactional batch, None for every other one.

    Raises:
        InvalidRecord: no complete batch, a magic below 2, or a second complete batch.
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
            "{size_bytes} bytes of records, in which no batch fits",
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
        # cut off before the producer id, an index error in Kafka
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
        # Clients get the text of a malformed first header only.
        raise CorruptMessage().because(
            "V-09", "what follows the batch is the start of no batch"
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
    """The first sequence of a transactional batch that check_record_set() gave a producer for."""
    sequence: int = _BASE_SEQUENCE.unpack_from(records)[0]
    return sequence


def check_one_producer(producers: Iterable[tuple[int, int] | None]) -> None:
    """Demand that all transactional batches of a request are of one producer and epoch.

    Args:
        producers: what check_record_set() returned for each partition that passed it.

    Raises:
        InvalidProducerIdMapping: there are two, with Kafka's text; the whole request fails.

    See: V-10 (ReplicaManager.handleProduceAppend).
    """
    distinct = set(producers)
    distinct.discard(None)
    if len(distinct) > 1:
        raise InvalidProducerIdMapping("Transactional records contained more than one producer ID")


def answers_log_start_offset(error: BrokerError) -> bool:
    """Tell whether the answer to a failed append has the log start offset, or else -1.

    Args:
        error: raised by validate_records() or by the append; errors of the checks before these are
            all answered with -1.

    See: V-14 (ReplicaManager.appendRecordsToLeader).
    """
    return error.code not in _LOG_START_UNKNOWN

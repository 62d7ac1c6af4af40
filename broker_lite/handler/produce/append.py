"""One partition of a Produce request: validate and append it, and make its answer.

A batch that can be validated within a few milliseconds is validated in the event loop. Any other
batch goes to a worker thread, which is stopped when the broker stops, or when the client has been
gone for a second.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import CancelScope, to_thread

from broker_lite.control.metadata.topic import Topic
from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    KafkaStorageError,
    NotEnoughReplicas,
    NotLeaderOrFollower,
    cause_of,
)
from broker_lite.handler.context import CloseConnection, HandlerContext
from broker_lite.handler.refusals import why_of
from broker_lite.log.canned.endless import SyntheticTopic
from broker_lite.log.validate.old_messages import validate_old_records
from broker_lite.log.validate.produced_batch import validate_records
from broker_lite.log.validate.rejected import RejectedRecords
from broker_lite.log.validate.validated import TakesLong, ValidatedRecords, ValidationConfig
from broker_lite.record.batch import (
    ATTRIBUTES_OFFSET,
    CODEC_MASK,
    CURRENT_MAGIC,
    MAGIC_OFFSET,
    RecordBatch,
)
from broker_lite.record.legacy.messages import ATTRIBUTES_OFFSET as LEGACY_ATTRIBUTES_OFFSET
from broker_lite.record.stopping import Stop, WorkStopped
from broker_lite.wire.produce import PartitionAnswer

if TYPE_CHECKING:
    from broker_lite.log.log import Log

logger = logging.getLogger("broker_lite.handler")

INLINE_BYTES_MAX: Final = 64 * 1024
"""The event loop neither decompresses nor compresses more bytes than these."""
INLINE_PLAIN_BYTES_MAX: Final = 4 * 1024 * 1024
"""The event loop does not even walk more bytes than these: they take 10 ms if records are small."""
INLINE_OLD_BYTES_MAX: Final = 16 * 1024
_NO_CODEC: Final = 0

# The partition raises these before its log could say where it starts.
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

# tuple.__new__, because a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__


def append_at_once(
    context: HandlerContext,
    topic: Topic,
    index: int,
    records: memoryview,
    guard: object | None = None,
    *,
    is_old: bool = False,
    needs_all: bool = False,
    batch: RecordBatch | None = None,
) -> PartitionAnswer | None:
    """Validate and append one batch, unless that takes long.

    Args:
        context: of the connection.
        topic: an existing topic.
        index: see append(), as all other arguments.
        records: see append().
        guard: see append().
        is_old: see append().
        needs_all: see append().
        batch: see validate_records().

    Returns:
        The answer for the partition, also for an error; None if a thread has to validate the batch.
        Nothing is changed then.

    Rule: V-23, V-43, V-72.
    See: V-13, V-14 to V-59.
    """
    name, log = topic.name, None
    try:
        config = context.cluster.validation_config(topic)
        log = _led_log(context, name, index, needs_all)
        now_ms = context.clock.now_ms()
        validated = validate_at_once(records, config, now_ms, index, is_old=is_old, batch=batch)
        if validated is None:
            return None
        return _append_validated(context, log, validated, guard, now_ms)
    except Exception as error:
        return _failed(context, name, index, log, error)


async def append(
    context: HandlerContext,
    topic: Topic,
    index: int,
    records: memoryview,
    guard: object | None = None,
    *,
    is_old: bool = False,
    needs_all: bool = False,
) -> PartitionAnswer | None:
    """Validate and append one batch, in a thread if that takes long.

    Args:
        context: of the connection.
        topic: the topic that the request's checks found.
        index: of the partition.
        records: one complete v2 batch, maybe with a rest; stamped and corrected in place.
        guard: the guard that the verification of a transaction returned.
        needs_all: acks is -1, so that enough replicas have to be in sync.
        is_old: the request's version is below 3, so that records may be anything.

    Returns:
        The answer for the partition, also for an error; None if the topic was deleted while the
        request waited for a thread.

    Raises:
        CloseConnection: the broker stops, or the client has been gone for a while.

    Rule: V-23, V-43, V-72, P-92.
    See: V-13, V-14 to V-59.
    """
    cluster = context.cluster
    if topic.topic_id not in cluster.topics_by_id:
        return None
    answer = append_at_once(
        context, topic, index, records, guard, is_old=is_old, needs_all=needs_all
    )
    if answer is not None:
        return answer
    name, log = topic.name, None
    try:
        config, now_ms = cluster.validation_config(topic), context.clock.now_ms()
        validated = await validate_in_thread(
            records, config, now_ms, index, context.stop, is_old=is_old
        )
        # The topic may have been deleted while the thread ran. A new topic with the same name is
        # another topic.
        if topic.topic_id not in cluster.topics_by_id:
            return None
        log = _led_log(context, name, index, needs_all)
        return _append_validated(context, log, validated, guard, now_ms)
    except CloseConnection:
        raise
    except Exception as error:
        return _failed(context, name, index, log, error)


def _append_validated(
    context: HandlerContext,
    log: "Log",
    validated: ValidatedRecords,
    guard: object | None,
    now_ms: int,
) -> PartitionAnswer:
    info = log.append(
        validated,
        now_ms=now_ms,
        # The flag comes first, because a setting is slow to read and matters to few batches.
        verification_enabled=validated.batch.is_transactional
        and context.cluster.settings_of(context.node_id).transaction_partition_verification_enable,
        verification_guard=guard,
    )
    if log.is_failing:
        log.is_failing = False
        logger.warning(
            "partition is writable again topic=%s partition=%d", log.topic, log.partition
        )
    base_offset, _, append_time_ms, log_start_offset, _ = info
    return _make(
        PartitionAnswer, (0, base_offset, append_time_ms, log_start_offset, (), None, None)
    )


def _failed(
    context: HandlerContext, name: str, index: int, log: "Log | None", error: Exception
) -> PartitionAnswer:
    """Return the answer to a failed append; log it if it is no fault of the client.

    Args:
        context: of the connection.
        name: of the topic.
        index: of the partition.
        log: of the partition; None if it failed before the log was found.
        error: what was raised.
    """
    if isinstance(error, KafkaStorageError):
        if (name, index) not in context.cluster.logs.offline:  # going offline is logged elsewhere
            _note_failing(name, index, log, error)
        return PartitionAnswer(error.code)
    if isinstance(error, BrokerError):
        return _answer_to(error, log or _log_or_none(context, name, index))
    logger.error("append failed topic=%s partition=%d", name, index, exc_info=error)
    return PartitionAnswer(ErrorCode.UNKNOWN_SERVER_ERROR)


def _led_log(context: HandlerContext, name: str, index: int, needs_all: bool) -> "Log":
    """Return the log of a partition that this broker leads.

    Raises:
        NotLeaderOrFollower: another one does.
        SyntheticTopic: its records are not stored.
        NotEnoughReplicas: needs_all, and too few replicas are in sync.
        UnknownTopicOrPartition, KafkaStorageError: see Cluster.log.

    Rule: V-13 (Partition.appendRecordsToLeader).
    """
    log = context.cluster.log(name, index)
    if log.leader_id != context.node_id:
        raise NotLeaderOrFollower
    if log.visibility.synthetic is not None:
        raise SyntheticTopic
    if needs_all and log.lacks_replicas:
        raise NotEnoughReplicas
    return log


def _note_failing(topic: str, index: int, log: "Log | None", error: KafkaStorageError) -> None:
    """Log a failing disk once, not for every request that meets it.

    Rule: V-72.
    """
    if log is None or not log.is_failing:
        cause = cause_of(error)
        logger.error("append failed topic=%s partition=%d reason=%s", topic, index, cause)
    if log is not None:
        log.is_failing = True


def _log_or_none(context: HandlerContext, topic: str, index: int) -> "Log | None":
    try:
        return context.cluster.log(topic, index)
    except BrokerError:
        return None


def _answer_to(error: BrokerError, log: "Log | None") -> PartitionAnswer:
    """See: V-14."""
    log_start_offset = -1
    if log is not None and answers_log_start_offset(error):
        log_start_offset = log.log_start_offset
    if isinstance(error, RejectedRecords):
        return PartitionAnswer(
            error.code, -1, -1, log_start_offset, error.record_errors, error.message, error.why
        )
    return PartitionAnswer(
        error.code, -1, -1, log_start_offset, why=why_of(error, "V-13") if error.code else None
    )


def answers_log_start_offset(error: BrokerError) -> bool:
    """True if the answer to a failed append has the log start offset; else it has -1.

    Args:
        error: raised by validate_records() or by the append. Errors of earlier checks are all
            answered with -1.

    See: V-14 (ReplicaManager.appendRecordsToLeader).
    """
    return error.code not in _LOG_START_UNKNOWN


def validate_at_once(
    records: memoryview,
    config: ValidationConfig,
    now_ms: int,
    index: int,
    *,
    is_old: bool,
    batch: RecordBatch | None = None,
) -> ValidatedRecords | None:
    """Validate in the event loop; None if that takes long, because the records are or become large.

    Raises:
        BrokerError: see validate_records() and validate_old_records().
    """
    if is_old:
        # old messages are converted one by one
        if len(records) > INLINE_OLD_BYTES_MAX or _is_compressed(records):
            return None
        return validate_old_records(records, config, now_ms=now_ms, partition=index)
    if len(records) > INLINE_BYTES_MAX and _is_costly(records, config):
        return None
    try:
        return validate_records(
            records, config, now_ms=now_ms, partition=index, at_once=True, batch=batch
        )
    except TakesLong:
        return None


def _is_costly(records: memoryview, config: ValidationConfig) -> bool:
    codec = records[ATTRIBUTES_OFFSET + 1] & CODEC_MASK
    return (
        codec != _NO_CODEC
        or config.codec not in (None, _NO_CODEC)
        or len(records) > INLINE_PLAIN_BYTES_MAX
    )


def _is_compressed(records: memoryview) -> bool:
    if len(records) <= ATTRIBUTES_OFFSET + 1:
        return False
    is_new = records[MAGIC_OFFSET] == CURRENT_MAGIC
    attributes = records[ATTRIBUTES_OFFSET + 1 if is_new else LEGACY_ATTRIBUTES_OFFSET]
    return attributes & CODEC_MASK != _NO_CODEC


async def validate_in_thread(
    records: memoryview,
    config: ValidationConfig,
    now_ms: int,
    index: int,
    stop: Stop,
    *,
    is_old: bool,
) -> ValidatedRecords:
    """Validate in a worker thread; this connection's next request waits (P-04).

    The broker always waits for the thread. So the records may stay in the receive buffer, and what
    a client sent before it closed is appended.

    Raises:
        BrokerError: see validate_records() and validate_old_records().
        CloseConnection: the work was stopped.
    """
    validate = validate_old_records if is_old else validate_records
    work = partial(validate, records, config, now_ms=now_ms, partition=index, stop=stop)
    with CancelScope(shield=True):
        outcome = await to_thread.run_sync(_outcome, work)
    if isinstance(outcome, WorkStopped):
        raise CloseConnection("the validation of a batch was stopped")
    if isinstance(outcome, BrokerError):
        raise outcome
    return outcome


def _outcome(
    work: Callable[[], ValidatedRecords],
) -> ValidatedRecords | BrokerError | WorkStopped:
    """Call a function and return its error instead of raising it.

    A worker thread keeps the exception that was raised in it until the next full collection, and
    the exception's traceback keeps all decompressed bytes: a gigabyte after a few bad batches.
    """
    try:
        return work()
    except (BrokerError, WorkStopped) as error:
        return error.with_traceback(None)

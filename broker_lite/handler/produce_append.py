"""One partition of a Produce request: validate, append, and what is answered."""

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import CancelScope, to_thread

from broker_lite.control.topic import Topic
from broker_lite.errors import (
    BrokerError,
    DecompressedTooLarge,
    ErrorCode,
    KafkaStorageError,
    cause_of,
)
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.produce_response import PartitionAnswer, refusal
from broker_lite.handler.refusals import why_of
from broker_lite.log.validate import validate_records
from broker_lite.log.validate_legacy import validate_old_records
from broker_lite.log.validate_request import answers_log_start_offset
from broker_lite.log.validated import RejectedRecords, ValidatedRecords, ValidationConfig
from broker_lite.record.batch import ATTRIBUTES_OFFSET, CODEC_MASK, CURRENT_MAGIC, MAGIC_OFFSET
from broker_lite.record.legacy import ATTRIBUTES_OFFSET as LEGACY_ATTRIBUTES_OFFSET

if TYPE_CHECKING:
    from broker_lite.log.log import Log

logger = logging.getLogger("broker_lite.handler")

# Decompressing more than this in the event loop would hold up the other connections.
INLINE_BYTES_MAX: Final = 64 * 1024
INLINE_DECOMPRESSED_BYTES_MAX: Final = 1024 * 1024
INLINE_OLD_BYTES_MAX: Final = 16 * 1024
_NO_CODEC: Final = 0

# a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__


async def append(
    context: HandlerContext,
    topic: Topic,
    index: int,
    records: memoryview,
    guard: object | None = None,
    *,
    is_old: bool = False,
) -> PartitionAnswer | None:
    """Validate and append one batch.

    Args:
        context: of the connection.
        topic: as the request's checks found it.
        index: of the partition.
        records: one complete v2 batch, maybe with a rest; stamped and corrected in place.
        guard: of the verification of a transaction.
        is_old: of a version before 3, so that records may be anything.

    Returns:
        What the partition is answered, errors included; None when the topic was deleted while the
        request waited for a thread.

    Rule: V-13, V-14, V-20 to V-59, V-72, P-92.
    """
    cluster = context.cluster
    name = topic.name
    log = None
    if topic.topic_id not in cluster.topics_by_id:
        return None
    try:
        config = cluster.validation_config(topic)
        log = cluster.log(name, index)
        now_ms = context.clock.now_ms()
        if is_old:
            validated = _validate_old_at_once(records, config, now_ms, index)
        else:
            validated = _validate_at_once(records, config, now_ms, index)
        if validated is None:
            validate = validate_old_records if is_old else validate_records
            work = partial(validate, records, config, now_ms=now_ms, partition=index)
            validated = await _validate_in_thread(work)
            # What was decided before the pause may not hold any more, and a topic made anew under
            # the name is another one.
            if topic.topic_id not in cluster.topics_by_id:
                return None
            log = cluster.log(name, index)
        info = log.append(
            validated,
            now_ms=now_ms,
            # a setting is dear to ask for, and this one is about transactions only
            verification_enabled=validated.batch.is_transactional
            and cluster.settings.transaction_partition_verification_enable,
            verification_guard=guard,
        )
    except KafkaStorageError as failure:
        if (name, index) not in cluster.logs.offline:  # that is told when it goes offline
            _note_failing(name, index, log, failure)
        return refusal(failure.code)
    except BrokerError as error:
        return _answer_to(error, log or _log_or_none(context, name, index))
    except Exception:
        logger.exception("append failed topic=%s partition=%d", name, index)
        return refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
    if log.is_failing:
        log.is_failing = False
        logger.warning("partition is writable again topic=%s partition=%d", name, index)
    base_offset, _, append_time_ms, log_start_offset, _ = info
    return _make(
        PartitionAnswer, (0, base_offset, append_time_ms, log_start_offset, (), None, None)
    )


def _validate_at_once(
    records: memoryview, config: ValidationConfig, now_ms: int, index: int
) -> ValidatedRecords | None:
    """Validate in the event loop, unless that takes long: None for what is, or becomes, large."""
    if len(records) > INLINE_BYTES_MAX and _is_costly(records, config):
        return None
    try:
        return validate_records(
            records,
            config,
            now_ms=now_ms,
            partition=index,
            decompressed_bytes_max=INLINE_DECOMPRESSED_BYTES_MAX,
        )
    except DecompressedTooLarge:
        return None


def _is_costly(records: memoryview, config: ValidationConfig) -> bool:
    codec = records[ATTRIBUTES_OFFSET + 1] & CODEC_MASK
    return codec != _NO_CODEC or config.codec not in (None, _NO_CODEC)


def _validate_old_at_once(
    records: memoryview, config: ValidationConfig, now_ms: int, index: int
) -> ValidatedRecords | None:
    """Validate in the event loop what has few records: they are converted one by one."""
    if len(records) > INLINE_OLD_BYTES_MAX or _is_compressed(records):
        return None
    return validate_old_records(records, config, now_ms=now_ms, partition=index)


def _is_compressed(records: memoryview) -> bool:
    if len(records) <= ATTRIBUTES_OFFSET + 1:
        return False
    is_new = records[MAGIC_OFFSET] == CURRENT_MAGIC
    attributes = records[ATTRIBUTES_OFFSET + 1 if is_new else LEGACY_ATTRIBUTES_OFFSET]
    return attributes & CODEC_MASK != _NO_CODEC


async def _validate_in_thread(work: Callable[[], ValidatedRecords]) -> ValidatedRecords:
    """Validate in a worker thread; this connection's next request waits (P-04).

    The thread is always waited for, so the records may stay in the receive buffer, and what a
    client sent before it closed is appended.
    """
    scope = CancelScope(shield=True)
    with scope:
        outcome = await to_thread.run_sync(_outcome, work)
    if isinstance(outcome, BrokerError):
        raise outcome
    return outcome


def _outcome(work: Callable[[], ValidatedRecords]) -> ValidatedRecords | BrokerError:
    """Call a function and give back its error instead of raising it.

    The thread keeps what was raised, and its traceback all that was decompressed, until the next
    full collection: a gigabyte after a few bad batches.
    """
    try:
        return work()
    except BrokerError as error:
        return error.with_traceback(None)


def _note_failing(topic: str, index: int, log: "Log | None", error: KafkaStorageError) -> None:
    """Tell of a disk that fails once, not for every request that meets it.

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
    """Rule: V-14."""
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

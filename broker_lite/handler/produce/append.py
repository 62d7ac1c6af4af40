"""One partition of a Produce request: validate, append, and what is answered."""

import logging
from typing import TYPE_CHECKING, Final

from broker_lite.control.metadata.topic import Topic
from broker_lite.errors import (
    BrokerError,
    ErrorCode,
    KafkaStorageError,
    cause_of,
)
from broker_lite.handler.context import CloseConnection, HandlerContext
from broker_lite.handler.produce.response import PartitionAnswer, refusal
from broker_lite.handler.produce.validate import validate_at_once, validate_in_thread
from broker_lite.handler.refusals import why_of
from broker_lite.log.validate.request_shape import answers_log_start_offset
from broker_lite.log.validate.validated import RejectedRecords

if TYPE_CHECKING:
    from broker_lite.log.log import Log

logger = logging.getLogger("broker_lite.handler")

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

    Raises:
        CloseConnection: the broker stops, or the client has been gone for a while.

    Rule: V-13, V-23, V-43, V-72, P-92.
    See: V-14 to V-59.
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
        validated = validate_at_once(records, config, now_ms, index, is_old=is_old)
        if validated is None:
            validated = await validate_in_thread(
                records, config, now_ms, index, context.stop, is_old=is_old
            )
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
    except CloseConnection:
        raise
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

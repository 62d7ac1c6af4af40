"""Wait until all replicas in sync have the records of a Produce with acks -1."""

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_lite.control.rounds import Wait
from broker_lite.errors import ErrorCode, Why
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.large import in_turns
from broker_lite.handler.produce.check import Accepted
from broker_lite.record.batch import RecordBatch
from broker_lite.record.framing import CURRENT_MAGIC, MAGIC_OFFSET
from broker_lite.wire.produce import PartitionAnswer, PartitionKey

if TYPE_CHECKING:
    from broker_lite.log.log import Log

_MS_PER_S: Final = 1000
_TIMED_OUT: Final = Why("C-53", "the replicas in sync did not get the records in time", {})
_TOO_FEW: Final = Why("C-53", "the records were appended, but too few replicas are in sync", {})
_MOVED: Final = Why("C-53", "another broker has led the partition since", {})
_GONE: Final = Why("C-53", "the topic was deleted", {})


class _Pending(NamedTuple):
    """Records that wait; a log that was cut since is another one, and has not got them."""

    topic_id: bytes
    log: "Log"
    required_offset: int


async def wait_until_replicated(
    context: HandlerContext,
    timeout_ms: int,
    accepted: dict[PartitionKey, Accepted],
    answers: dict[PartitionKey, PartitionAnswer],
) -> None:
    """Wait for the high watermarks of all partitions of a request.

    Args:
        context: of the connection.
        timeout_ms: of the request.
        accepted: the partitions of the request that passed its checks.
        answers: the answers by partition; where the wait fails, the error is put into its answer.

    Rule: C-53 (DelayedProduce, Partition.checkEnoughReplicasReachOffset).
    """
    pending: dict[PartitionKey, _Pending] = {}
    async for key, (topic, index, records, _) in in_turns(accepted.items()):
        answer = answers[key]
        if not answer.error_code:
            log = context.cluster.loaded_log(topic.name, index)
            required_offset = _required_offset(answer, records, log)
            if log is None or log.log_end_offset < required_offset:
                answers[key] = _failed(answer, *_outcome_without_log(context, topic.topic_id))
            else:
                pending[key] = _Pending(topic.topic_id, log, required_offset)
    with Wait(context.cluster.rounds, max(timeout_ms, 0) / _MS_PER_S) as waiting:
        while pending and not waiting.is_over:
            await _settle_or_wait(context, pending, answers, waiting)
    for key in pending:
        answers[key] = _failed(answers[key], ErrorCode.REQUEST_TIMED_OUT, _TIMED_OUT)


async def _settle_or_wait(
    context: HandlerContext,
    pending: dict[PartitionKey, _Pending],
    answers: dict[PartitionKey, PartitionAnswer],
    waiting: Wait,
) -> None:
    """Settle the partitions that need not wait; if any is left, wait for the next change."""
    waiting.begin()
    visibilities = []
    try:
        for key, each in [*pending.items()]:
            verdict = _look(context, each)
            if verdict is None:
                visibilities.append(each.log.visibility)
                each.log.visibility.add_waiter(waiting)
                continue
            del pending[key]
            if verdict[0]:
                answers[key] = _failed(answers[key], *verdict)
        if pending:
            await waiting.until_change()
    finally:
        for visibility in visibilities:
            visibility.remove_waiter(waiting)


def _required_offset(answer: PartitionAnswer, records: memoryview, log: "Log | None") -> int:
    """Return the high watermark that an appended batch needs; old formats need all of the log."""
    if len(records) > MAGIC_OFFSET and records[MAGIC_OFFSET] == CURRENT_MAGIC:
        batch = RecordBatch(records, 0, len(records))
        return answer.base_offset + batch.last_offset_delta + 1
    return 0 if log is None else log.log_end_offset


def _look(context: HandlerContext, each: _Pending) -> tuple[ErrorCode, Why | None] | None:
    """Return the outcome of one partition; None while it has to wait."""
    log = each.log
    is_offline = log.flusher.offline_reason is not None
    if log.is_deleted or is_offline or each.topic_id not in context.cluster.topics_by_id:
        return _outcome_without_log(context, each.topic_id, is_offline=is_offline)
    if log.leader_id != context.node_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER, _MOVED
    if log.high_watermark < each.required_offset:
        return None
    if log.lacks_replicas:
        return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, _TOO_FEW
    return ErrorCode.NONE, None


def _outcome_without_log(
    context: HandlerContext, topic_id: bytes, *, is_offline: bool = False
) -> tuple[ErrorCode, Why | None]:
    """Return why the log is not there any more to which the records were appended."""
    if topic_id not in context.cluster.topics_by_id:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _GONE
    if is_offline:
        return ErrorCode.KAFKA_STORAGE_ERROR, None
    return ErrorCode.NOT_LEADER_OR_FOLLOWER, _MOVED  # it was cut


def _failed(answer: PartitionAnswer, code: ErrorCode, why: Why | None) -> PartitionAnswer:
    """Return an answer with an error; it keeps the offsets, as Kafka's does."""
    return answer._replace(error_code=code, why=why)

"""Wait until all replicas in sync have the records of a Produce with acks -1."""

from typing import Final, NamedTuple

import anyio

from broker_lite.errors import BrokerError, ErrorCode, Why
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.large import in_turns
from broker_lite.handler.produce.check import Accepted
from broker_lite.record.batch import RecordBatch
from broker_lite.wire.produce import PartitionAnswer, PartitionKey

_MS_PER_S: Final = 1000
_TIMED_OUT: Final = Why("C-53", "the replicas in sync did not get the records in time", {})
_TOO_FEW: Final = Why("C-53", "the records were appended, but too few replicas are in sync", {})
_MOVED: Final = Why("C-53", "another broker leads the partition by now", {})


class _Pending(NamedTuple):
    name: str
    partition: int
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
            batch = RecordBatch(records, 0, len(records))
            required_offset = answer.base_offset + batch.last_offset_delta + 1
            pending[key] = _Pending(topic.name, index, required_offset)
    with anyio.move_on_after(max(timeout_ms, 0) / _MS_PER_S):
        while await _still_pending(context, pending, answers):
            pass
    for key in pending:
        answers[key] = _failed(answers[key], ErrorCode.REQUEST_TIMED_OUT, _TIMED_OUT)


async def _still_pending(
    context: HandlerContext,
    pending: dict[PartitionKey, _Pending],
    answers: dict[PartitionKey, PartitionAnswer],
) -> bool:
    """Settle the partitions that need not wait; if any is left, wait for the next change."""
    changed = anyio.Event()
    logs = []
    try:
        for key, each in [*pending.items()]:
            verdict = _look(context, each)
            if verdict is None:
                log = context.cluster.log(each.name, each.partition)
                log.visibility.add_waiter(changed.set)
                logs.append(log)
                continue
            del pending[key]
            if verdict[0]:
                answers[key] = _failed(answers[key], *verdict)
        if pending:
            await changed.wait()
    finally:
        for log in logs:
            log.visibility.remove_waiter(changed.set)
    return bool(pending)


def _look(context: HandlerContext, each: _Pending) -> tuple[ErrorCode, Why | None] | None:
    """Return the outcome of one partition; None while it has to wait."""
    try:
        log = context.cluster.log(each.name, each.partition)
    except BrokerError as error:
        return ErrorCode(error.code), error.why
    if log.leader_id != context.node_id:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER, _MOVED
    if log.high_watermark < each.required_offset:
        return None
    if log.lacks_replicas:
        return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, _TOO_FEW
    return ErrorCode.NONE, None


def _failed(answer: PartitionAnswer, code: ErrorCode, why: Why | None) -> PartitionAnswer:
    """Return an answer with an error; it keeps the offsets, as Kafka's does."""
    return answer._replace(error_code=code, why=why)

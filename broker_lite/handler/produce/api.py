"""Produce (0): append batches to logs.

If `emulate` names a release before 4.0, versions 0-2 are served too: message sets of magic 0 and 1,
which are stored as v2 batches (V-92). v1 throttle time, v2 log append time (KIP-32).

The checks come in Kafka's order (the table "The whole order" of the specification): first those
that fail the whole request, then those of each partition. Nothing is written before all these
checks are done. Then the partitions are validated and appended one after the other.

- v3 transactional id (KIP-98), one v2 batch a partition; v5 log start offset (KIP-107).
- v7 zstd (KIP-110); v8 record errors and a message (KIP-467); v9 flexible.
- v10 current leader of a partition that moved (KIP-951).
- v11 TRANSACTION_ABORTABLE, v12 partitions are added to the transaction (KIP-890).
- v13 topic ids instead of names (KIP-516).

With acks -1 the answer waits for the high watermark, which stands still while a replica in sync is
behind, and min.insync.replicas is compared with the ISR (V-13).

With an authorizer, the partitions that the client may not write to are set aside first (X-46).

Not done: Kafka's metrics, which tell throttle times among others.
"""

from functools import partial
from typing import Final

from anyio.lowlevel import checkpoint

from broker_lite.control.metadata.topic import Topic
from broker_lite.errors import BrokerError, ErrorCode, Why
from broker_lite.handler.context import CloseConnection, HandlerContext, Parts, Request, Rest
from broker_lite.handler.endpoints import LEADERS_FROM, NO_HINTS, hints_of
from broker_lite.handler.flushed import wait_for_coordinators
from broker_lite.handler.large import LargeRequest
from broker_lite.handler.produce.append import append, append_at_once
from broker_lite.handler.produce.check import (
    NO_TOPIC,
    OLDEST_OF_BATCHES,
    Accepted,
    check,
    unknown,
    usual_batch,
    usual_topic,
)
from broker_lite.handler.produce.flushed import wait_until_flushed
from broker_lite.handler.produce.many import answer_many, check_many, plain_request, refuse_all
from broker_lite.handler.produce.replicated import wait_until_replicated
from broker_lite.handler.produce.slow import note_passage
from broker_lite.handler.produce.transaction import Verdict, check_transaction
from broker_lite.handler.refusals import tell_produce
from broker_lite.log.validate.single_records import RECORD_ERRORS_MAX
from broker_lite.record.batch import ATTRIBUTES_OFFSET, CODEC_MASK, RECORD_BATCH_OVERHEAD
from broker_lite.wire.produce import (
    PartitionAnswer,
    PartitionKey,
    ProduceRequest,
    encode_produce_response,
)
from broker_lite.wire.short_produce import decode_only_partition, encode_only_answer

_ACKS: Final = frozenset((-1, 0, 1))
_ALL: Final = -1
_ADMIN_CLIENT_ID: Final = "__admin_client"
_GO_ON: Final = Verdict(None)

_WRONG_ACKS: Final = Why("V-11", "acks is none of -1, 0 and 1", {})
_INTERNAL: Final = Why("V-12", "only the broker writes to its internal topics", {})
# After so many bytes of a request other connections have their turn; they take 20 ms at most.
_TURN_BYTES_MAX: Final = 1024 * 1024
# What a partition adds to its bytes; and what a compressed one adds, which may become 512 KiB.
_PARTITION_BYTES: Final = 4 * 1024
_COMPRESSED_BYTES: Final = 128 * 1024


async def handle(context: HandlerContext, request: Request) -> Parts | None:
    """Append records.

    Raises:
        DecodeError: the bytes are not a request of this version.
        CloseConnection: acks is 0 and something failed.

    Rule: V-04, V-11, V-12, V-70, V-71, P-07, T-33, T-39.
    See: V-01 to V-14, V-60.
    """
    if isinstance(request, LargeRequest):
        return await _append_all(context, request, await plain_request(request))
    begun = begin(context, request)
    return begun if isinstance(begun, list) else await begun()


def begin(context: HandlerContext, request: Request) -> Parts | Rest:
    """Do what handle() does, without a coroutine for the usual request.

    That is a request for one partition, which is neither transactional nor old, wants an answer,
    and is answered without an error and without a wait.

    Returns:
        The answer; or what is left to do.

    Raises:
        ManyPartitions: the request has to be decoded in slices; nothing is changed.
        DecodeError: the bytes are not a request of this version.
    """
    version = request.api_version
    only = decode_only_partition(request.body, version, request.position)
    if isinstance(only, ProduceRequest):
        return partial(_append_all, context, request, only)
    acks, index, records = only.acks, only.index, only.records
    topic = usual_topic(context, only)
    batch = usual_batch(records, version)
    if (
        (acks != 1 and acks != _ALL)
        or context.authorizer is not None
        or version < OLDEST_OF_BATCHES
        or topic is None
        or batch is None
    ):
        return partial(_append_all, context, request, only.to_request())
    commits = context.cluster.logs.commits
    failures, needs_all = commits.failures, acks == _ALL
    answer = _refused(topic, request, True) or append_at_once(
        context, topic, index, records, needs_all=needs_all, batch=batch
    )
    if answer is None:
        return partial(_append_all, context, request, only.to_request())
    if answer[0] or _has_to_wait(context, acks, failures):
        key = (only.topic, index)
        accepted = {key: Accepted(topic, index, records, None)}
        answers = {key: answer}
        return partial(_finish, context, request, only.to_request(), accepted, answers, failures)
    return [encode_only_answer(only, answer, version)]


async def _append_all(
    context: HandlerContext, request: Request, produce: ProduceRequest
) -> Parts | None:
    """Check all partitions, append to one after the other, wait, and return the answer.

    Raises:
        CloseConnection: acks is 0 and something failed.
    """
    version = request.api_version
    is_large = isinstance(request, LargeRequest)
    answers: dict[PartitionKey, PartitionAnswer] = {}
    failed = 0
    allowed = produce
    try:
        if context.authorizer is not None:
            # Imported here, because most brokers have no authorizer.
            from broker_lite.handler.produce.denied import set_denied_aside

            allowed, answers = await set_denied_aside(context, produce)
            failed |= len(answers)
        accepted, refused = (
            check(context, allowed, version)
            if not is_large and version >= OLDEST_OF_BATCHES
            else await check_many(context, allowed, version)
        )
    except BrokerError as error:
        _count_no_bytes(context)
        answers = await refuse_all(produce, error)
        return await _answer(context, request, produce.acks, answers, has_failed=True)
    verdicts = None
    failures = context.cluster.logs.commits.failures
    if produce.transactional_id is not None:
        verdicts = await check_transaction(context, produce.transactional_id, accepted, version)
        await wait_for_coordinators(context, failures)
    acks_are_valid = produce.acks in _ACKS
    is_old, needs_all = version < OLDEST_OF_BATCHES, produce.acks == _ALL
    turn_bytes, room = 0, RECORD_ERRORS_MAX
    for key, (topic, index, records, _) in accepted.items():
        if turn_bytes > _TURN_BYTES_MAX:
            turn_bytes = 0
            await checkpoint()
        turn_bytes += _cost_bytes(records)
        answer, guard = verdicts.get(key, _GO_ON) if verdicts else _GO_ON
        if answer is None:
            answer = _refused(topic, request, acks_are_valid) or await append(
                context, topic, index, records, guard, is_old=is_old, needs_all=needs_all
            )
        answer = answer or PartitionAnswer(unknown(None, version), why=NO_TOPIC)
        answers[key] = answer = answer.with_errors_up_to(room) if answer[0] else answer
        room -= len(answer.record_errors) if answer[0] else 0
        failed |= answer[0]
    if _has_to_wait(context, produce.acks, failures):
        failed |= await _wait(context, produce, accepted, answers, failures)
    answers.update(refused)
    failed |= len(refused)
    if failed or is_large or produce.acks == 0:
        return await _answer(context, request, produce.acks, answers, has_failed=bool(failed))
    return [encode_produce_response(answers, version)]


def _has_to_wait(context: HandlerContext, acks: int, failures: int) -> bool:
    """True if an answer has to wait, or may have become an error since the append.

    Args:
        context: of the connection.
        acks: of the request.
        failures: how many flushes had failed before the append.
    """
    cluster = context.cluster
    commits = cluster.logs.commits
    if commits.held or commits.failures != failures or cluster.slow_topics:
        return True
    return acks == _ALL and bool(commits.lagging)


async def _finish(
    context: HandlerContext,
    request: Request,
    produce: ProduceRequest,
    accepted: dict[PartitionKey, Accepted],
    answers: dict[PartitionKey, PartitionAnswer],
    failures: int,
) -> Parts | None:
    """Wait for the one partition of a request that begin() has appended to, and return its answer.

    Args:
        context: of the connection.
        request: the request.
        produce: the same, decoded.
        accepted: the partition.
        answers: its answer, which may be an error.
        failures: how many flushes had failed before the append.
    """
    for key, answer in answers.items():
        answers[key] = answer.with_errors_up_to(RECORD_ERRORS_MAX)
    if _has_to_wait(context, produce.acks, failures):
        await _wait(context, produce, accepted, answers, failures)
    failed = any(answer[0] for answer in answers.values())
    return await _answer(context, request, produce.acks, answers, has_failed=failed)


def _count_no_bytes(context: HandlerContext) -> None:
    """Let the bytes of a request that fails as a whole count for no quota (X-83)."""
    if context.quota is not None:
        context.quota.is_refused = True


async def _answer(
    context: HandlerContext,
    request: Request,
    acks: int,
    answers: dict[PartitionKey, PartitionAnswer],
    *,
    has_failed: bool,
) -> Parts | None:
    """Return the answer to a request that is large, failed, or wants none.

    Raises:
        CloseConnection: acks is 0 and something failed.
    """
    version = request.api_version
    if has_failed:
        await tell_produce(context, request, answers)
    if acks == 0:
        _close_after_failure(answers)
        return None
    hints = hints_of(context, answers) if has_failed and version >= LEADERS_FROM else NO_HINTS
    if isinstance(request, LargeRequest):
        return await answer_many(request, answers, hints)
    return [encode_produce_response(answers, version, *hints)]


async def _wait(
    context: HandlerContext,
    produce: ProduceRequest,
    accepted: dict[PartitionKey, Accepted],
    answers: dict[PartitionKey, PartitionAnswer],
    failures: int,
) -> bool:
    """Wait until the records are where acks and settings want them: on disk, at the replicas.

    What the connection waits for after that is noted: the networks of slow topics.

    Args:
        context: of the connection.
        produce: the request.
        accepted: its partitions that passed the checks.
        answers: an answer becomes an error where the wait fails.
        failures: how many flushes had failed before the appends.

    Returns:
        Whether any answer is an error.
    """
    commits = context.cluster.logs.commits
    if context.cluster.slow_topics:
        await note_passage(context, accepted.values())
    if commits.held or commits.failures != failures:
        context.has_waited = True
        await wait_until_flushed(context.cluster, accepted, answers)
    if commits.lagging and produce.acks == _ALL:
        context.has_waited = True
        await wait_until_replicated(context, produce.timeout_ms, accepted, answers)
    return any(answer.error_code for answer in answers.values())


def _cost_bytes(records: memoryview) -> int:
    """Return how many bytes the append of a partition's records counts as."""
    has_codec = len(records) > RECORD_BATCH_OVERHEAD and records[ATTRIBUTES_OFFSET + 1] & CODEC_MASK
    return len(records) + (_COMPRESSED_BYTES if has_codec else _PARTITION_BYTES)


def _refused(topic: Topic, request: Request, acks_are_valid: bool) -> PartitionAnswer | None:
    """Rule: V-11, V-12."""
    if not acks_are_valid:
        return PartitionAnswer(ErrorCode.INVALID_REQUIRED_ACKS, why=_WRONG_ACKS)
    if topic.is_internal and request.client_id != _ADMIN_CLIENT_ID:
        return PartitionAnswer(ErrorCode.INVALID_TOPIC_EXCEPTION, why=_INTERNAL)
    return None


def _close_after_failure(answers: dict[PartitionKey, PartitionAnswer]) -> None:
    """Rule: P-07, V-11: with acks 0 the close is the only sign of an error."""
    for (_, index), answer in answers.items():
        if answer.error_code:
            raise CloseConnection(
                f"Produce with acks=0 failed: error {answer.error_code} in partition {index}"
            )

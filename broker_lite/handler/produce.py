"""Produce (0), versions 3-13; versions 0-2 are advertised and close the connection (P-50).

With `emulate` of a release before 4.0 versions 0-2 are served too: message sets of magic 0 and 1,
which are stored as v2 batches (V-92). v1 throttle time, v2 log append time (KIP-32).

The checks come in Kafka's order (the table "The whole order" of the specification): first those
that fail the whole request, then those of each partition, and nothing is written before all of
them are through. Then the partitions are validated and appended one after the other.

- v3 transactional id (KIP-98), one v2 batch a partition; v5 log start offset (KIP-107).
- v7 zstd (KIP-110); v8 record errors and a message (KIP-467); v9 flexible.
- v10 current leader of a partition that moved (KIP-951), for which one broker has no cause.
- v11 TRANSACTION_ABORTABLE, v12 partitions are added to the transaction (KIP-890).
- v13 topic ids instead of names (KIP-516).

With one replica acks -1 means what acks 1 means: the high watermark moves with the append, and
min.insync.replicas is compared with at most the replica count (V-13).

Not done: authorization.
"""

from collections.abc import Iterator
from typing import Final

from anyio.lowlevel import checkpoint

from broker_lite.control.topic import Topic
from broker_lite.errors import BrokerError, ErrorCode, TransactionalIdAuthorizationFailed, Why
from broker_lite.handler.context import CloseConnection, HandlerContext, Parts, Request
from broker_lite.handler.flushed import wait_for_coordinators, wait_until_flushed
from broker_lite.handler.produce_append import append
from broker_lite.handler.produce_response import (
    PartitionAnswer,
    PartitionKey,
    encode_produce_response,
    refusal,
)
from broker_lite.handler.produce_transaction import Accepted, Verdict, check_transaction
from broker_lite.handler.refusals import tell_produce, why_of
from broker_lite.log.validate_legacy import check_old_record_set
from broker_lite.log.validate_records import RECORD_ERRORS_MAX
from broker_lite.log.validate_request import (
    check_one_producer,
    check_record_set,
    first_batch_headers,
)
from broker_lite.record.batch import ATTRIBUTES_OFFSET, CODEC_MASK, RECORD_BATCH_OVERHEAD
from broker_lite.wire.produce import ProduceRequest, decode_produce_request

MIN_VERSION: Final = 3
MAX_VERSION: Final = 13
ADVERTISED_MIN_VERSION: Final = 0
OLD_MIN_VERSION: Final = 0
"""Of what brokers before 4.0 serve."""

_TOPIC_IDS_FROM: Final = 13
_ACKS: Final = frozenset((-1, 0, 1))
_ADMIN_CLIENT_ID: Final = "__admin_client"
_GO_ON: Final = Verdict(None)

_NO_TOPIC: Final = Why("V-08", "there is no such topic", {})
_NO_PARTITION: Final = Why("V-08", "the topic has no such partition", {})
_WRONG_ACKS: Final = Why("V-11", "acks is none of -1, 0 and 1", {})
_INTERNAL: Final = Why("V-12", "only the broker writes to its internal topics", {})
# After so much of a request other connections have their turn; it takes 20 ms at most.
_TURN_BYTES_MAX: Final = 1024 * 1024
# What a partition counts as beside its bytes, and what one that may decompress to 512 KiB does.
_PARTITION_BYTES: Final = 4 * 1024
_COMPRESSED_BYTES: Final = 128 * 1024

# a NamedTuple's own constructor is a Python function and takes 100 ns more
_make: Final = tuple.__new__


async def handle(context: HandlerContext, request: Request) -> Parts | None:
    """Append records.

    Raises:
        DecodeError: not a request of this version.
        CloseConnection: acks 0 and something failed.

    Rule: V-01 to V-14, V-60, V-70, V-71, P-07, T-33, T-39.
    """
    version = request.api_version
    produce = decode_produce_request(request.body, version, request.position)
    answers: dict[PartitionKey, PartitionAnswer] = {}
    failed = 0
    try:
        accepted, refused = _check(context, produce, version)
    except BrokerError as error:
        whole = refusal(error.code, error.message, why=why_of(error, "V-06"))
        answers = dict.fromkeys((key for key, _ in _partitions(produce)), whole)
        failed = 1
    else:
        verdicts = None
        commits = context.cluster.logs.commits
        failures = commits.failures
        if produce.transactional_id is not None:
            verdicts = check_transaction(context, produce.transactional_id, accepted, version)
            await wait_for_coordinators(context, failures)
        acks_are_valid = produce.acks in _ACKS
        turn_bytes = 0
        listed = 0
        for key, partition in accepted.items():
            topic, index, records, _ = partition
            if turn_bytes > _TURN_BYTES_MAX:
                turn_bytes = 0
                await checkpoint()
            turn_bytes += _cost_bytes(records)
            answer, guard = verdicts.get(key, _GO_ON) if verdicts else _GO_ON
            if answer is None:
                answer = _refused(topic, request, acks_are_valid) or await append(
                    context, topic, index, records, guard, is_old=version < MIN_VERSION
                )
            answer = answer or refusal(_unknown(None, version), why=_NO_TOPIC)
            answers[key] = answer = answer.with_errors_up_to(RECORD_ERRORS_MAX - listed)
            listed += len(answer.record_errors)
            failed |= answer[0]
        if commits.held or commits.failures != failures:
            context.has_waited = True
            await wait_until_flushed(context.cluster, accepted, answers)
        answers.update(refused)
        failed |= len(refused)
    if failed:
        tell_produce(context, request, answers)
    if produce.acks == 0:
        _close_after_failure(answers)
        return None
    return [encode_produce_response(answers, version)]


def _check(
    context: HandlerContext, produce: ProduceRequest, version: int
) -> tuple[dict[PartitionKey, Accepted], dict[PartitionKey, PartitionAnswer]]:
    """Sort the partitions into those to append to and those that are refused already.

    The last entry of a partition that comes twice counts.

    Raises:
        BrokerError: the whole request fails.

    Rule: V-02, V-03, V-06 to V-10.
    """
    topics = produce.topics
    if (
        first_batch_headers([records for _, _, parts in topics for _, records in parts])
        and produce.transactional_id is None
    ):
        raise TransactionalIdAuthorizationFailed().because(
            "V-07", "a transactional batch in a request without a transactional id"
        )
    cluster = context.cluster
    accepted: dict[PartitionKey, Accepted] = {}
    refused: dict[PartitionKey, PartitionAnswer] = {}
    has_producers = False
    is_old = version < MIN_VERSION
    check = check_old_record_set if is_old else check_record_set
    for name, topic_id, partitions in topics:
        if topic_id is not None:
            topic = cluster.topics_by_id.get(topic_id)
        else:
            topic = cluster.topics.get(name or "")
        for index, records in partitions:
            key = (topic_id or name or "", index)
            # as topic.partition_count, but without a call of Python in each request
            if topic is None or not 0 <= index < len(topic.leader_epochs):
                why = _NO_TOPIC if topic is None else _NO_PARTITION
                refused[key] = refusal(_unknown(topic, version), why=why)
                continue
            try:
                producer = check(records, version)
            except BrokerError as error:
                if error.code == ErrorCode.UNKNOWN_SERVER_ERROR or is_old:
                    raise
                refused[key] = refusal(error.code, why=error.why)
                continue
            assert records is not None
            has_producers = has_producers or producer is not None
            accepted[key] = _make(Accepted, (topic, index, records, producer))
    if has_producers:
        check_one_producer(partition.producer for partition in accepted.values())
    return accepted, refused


def _cost_bytes(records: memoryview) -> int:
    """What the append of a partition's records counts as."""
    has_codec = len(records) > RECORD_BATCH_OVERHEAD and records[ATTRIBUTES_OFFSET + 1] & CODEC_MASK
    return len(records) + (_COMPRESSED_BYTES if has_codec else _PARTITION_BYTES)


def _unknown(topic: Topic | None, version: int) -> ErrorCode:
    """Rule: V-08; an id that is not known has an error of its own since version 13."""
    if topic is None and version >= _TOPIC_IDS_FROM:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _partitions(produce: ProduceRequest) -> Iterator[tuple[PartitionKey, memoryview | None]]:
    for name, topic_id, partitions in produce.topics:
        for index, records in partitions:
            yield (topic_id or name or "", index), records


def _refused(topic: Topic, request: Request, acks_are_valid: bool) -> PartitionAnswer | None:
    """Rule: V-11, V-12."""
    if not acks_are_valid:
        return refusal(ErrorCode.INVALID_REQUIRED_ACKS, why=_WRONG_ACKS)
    if topic.is_internal and request.client_id != _ADMIN_CLIENT_ID:
        return refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, why=_INTERNAL)
    return None


def _close_after_failure(answers: dict[PartitionKey, PartitionAnswer]) -> None:
    """Rule: P-07, V-11: with acks 0 the close is the only sign of an error."""
    for (_, index), answer in answers.items():
        if answer.error_code:
            raise CloseConnection(
                f"Produce with acks=0 failed: error {answer.error_code} in partition {index}"
            )

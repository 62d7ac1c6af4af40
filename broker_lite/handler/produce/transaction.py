"""The transactional checks of Produce, before anything is validated or written.

Rule: V-68.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from anyio.lowlevel import checkpoint

from broker_lite.errors import BrokerError, ErrorCode, NotLeaderOrFollower, Why
from broker_lite.handler.context import HandlerContext
from broker_lite.handler.produce.check import Accepted, base_sequence
from broker_lite.handler.refusals import why_of, why_of_transaction
from broker_lite.handler.transactions.check import (
    Support,
    check_elsewhere,
    check_partitions,
    is_fenced,
    is_open,
)
from broker_lite.log.log import Log
from broker_lite.wire.produce import PartitionAnswer, PartitionKey

LOGS_AT_A_TIME: Final = 64
"""Other connections have their turn after so many logs: 2 ms, but 20 ms if they must be loaded."""
VERIFIED_AT_A_TIME: Final = 1024
_ABORTABLE_FROM: Final = 11
_ADDS_FROM: Final = 12

_NOT_ADDED: Final = "Partition was not added to the transaction"
_UNVERIFIED: Final = (
    "Unable to verify the partition has been added to the transaction. Underlying error: "
)
_TRY_AGAIN: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class Verdict(NamedTuple):
    """The answer for a partition; None if its records may be appended, and the guard for that."""

    answer: PartitionAnswer | None
    guard: object | None = None


async def check_transaction(
    context: HandlerContext,
    transactional_id: str,
    accepted: Mapping[PartitionKey, Accepted],
    version: int,
) -> dict[PartitionKey, Verdict]:
    """Decide which partitions of a request with a transactional id may be written to.

    A verification that was begun is remembered. Until it expires or records are appended, higher
    sequences of the producer are refused.

    If there are very many partitions, they are checked a few at a time, with pauses between. Only
    adding them to the transaction is one step, because it is one record of the coordinator.

    Returns:
        A verdict for each partition that could not simply be appended to.

    Rule: V-60 (ReplicaManager.maybeSendPartitionsToTransactionCoordinator,
    UnifiedLog.maybeStartTransactionVerification).
    See: T-34, T-35, V-61.
    """
    support = _support(version)
    settings = context.cluster.settings_of(context.node_id)
    if support is not Support.ADD and not settings.transaction_partition_verification_enable:
        return {}
    verdicts: dict[PartitionKey, Verdict] = {}
    asked: dict[PartitionKey, Accepted] = {}
    for number, (key, partition) in enumerate(accepted.items(), 1):
        if number % LOGS_AT_A_TIME == 0:
            await checkpoint()
        if partition.producer is None:
            continue
        verdict = _look(context, partition, partition.producer, support)
        if verdict is not None:
            verdicts[key] = verdict
            if verdict.answer is None:
                asked[key] = partition
    if asked:
        await _ask(context, transactional_id, asked, support, verdicts)
    return verdicts


def _look(
    context: HandlerContext, partition: Accepted, producer: tuple[int, int], support: Support
) -> Verdict | None:
    """Begin a verification; None if the producer's transaction is already open there."""
    try:
        log = context.cluster.log(partition.topic.name, partition.partition)
    except BrokerError as error:
        return Verdict(PartitionAnswer(error.code, why=why_of(error, "V-13")))
    if log.leader_id != context.node_id:
        moved = NotLeaderOrFollower()
        return Verdict(PartitionAnswer(moved.code, why=why_of(moved, "V-13")))
    if is_fenced(log, producer):
        code = ErrorCode.INVALID_PRODUCER_EPOCH
        return Verdict(PartitionAnswer(code, why=why_of_transaction(code, "T-36")))
    if is_open(log, producer):
        return None
    return Verdict(None, _begin(context, log, partition, producer, support))


def _support(version: int) -> Support:
    if version >= _ADDS_FROM:
        return Support.ADD
    return Support.VERIFY_ABORTABLE if version >= _ABORTABLE_FROM else Support.VERIFY


def _begin(
    context: HandlerContext,
    log: Log,
    partition: Accepted,
    producer: tuple[int, int],
    support: Support,
) -> object:
    return log.producer_state.begin_verification(
        producer[0],
        sequence=base_sequence(partition.records),
        epoch=producer[1],
        now_ms=context.clock.now_ms(),
        supports_epoch_bump=support is Support.ADD,
    ).guard


async def _ask(
    context: HandlerContext,
    transactional_id: str,
    asked: Mapping[PartitionKey, Accepted],
    support: Support,
    verdicts: dict[PartitionKey, Verdict],
) -> None:
    """Ask the coordinator about all partitions, which have one producer (V-10).

    They are added all at once, but verified a few at a time.
    """
    keys = list(asked)
    producer = asked[keys[0]].producer
    assert producer is not None
    at_a_time = len(keys) if support is Support.ADD else VERIFIED_AT_A_TIME
    for start in range(0, len(keys), at_a_time):
        if start:
            await checkpoint()
        names = {
            key: (asked[key].topic.name, asked[key].partition)
            for key in keys[start : start + at_a_time]
        }
        about = (context, transactional_id, producer, names.values(), support)
        if context.transactions.elsewhere is None:
            errors = check_partitions(*about)
        else:
            errors = await check_elsewhere(*about)
        if support is Support.ADD and context.transactions.unreplicated.events:
            unreplicated = context.transactions.unreplicated
            code = await unreplicated.settled(transactional_id)
            errors = errors if not code else dict.fromkeys(errors, code)
        for key, name in names.items():
            if errors[name]:
                verdicts[key] = Verdict(_refusal(errors[name], support))


def _refusal(error_code: ErrorCode, support: Support) -> PartitionAnswer:
    """Rule: V-60.

    See: T-34, T-35.
    """
    why = why_of_transaction(error_code, "V-60")
    if error_code is ErrorCode.INVALID_TXN_STATE:
        why = Why("V-60", "the partition was not added to the transaction", {})
        return PartitionAnswer(error_code, error_message=_NOT_ADDED, why=why)
    is_busy = error_code is ErrorCode.CONCURRENT_TRANSACTIONS and support is not Support.ADD
    if is_busy or error_code in _TRY_AGAIN:
        code = ErrorCode.NOT_ENOUGH_REPLICAS
        return PartitionAnswer(code, error_message=_UNVERIFIED + error_code.name, why=why)
    return PartitionAnswer(error_code, why=why)

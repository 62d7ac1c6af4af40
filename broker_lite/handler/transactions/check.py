"""Ask the transaction coordinator whether records of a transaction may be written.

A partition where the producer's transaction is already open needs no question. For other
partitions, older versions of a request verify that the partition was added to the transaction, and
the newest versions add it (KIP-890).
"""

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final

from broker_lite.coordinator.transactions.rules import Producer
from broker_lite.coordinator.transactions.transaction import EPOCH_BUMP_VERSION, TopicPartition
from broker_lite.errors import ErrorCode
from broker_lite.handler.context import HandlerContext
from broker_lite.log.log import Log

_NONE: Final = ErrorCode.NONE


class Support(Enum):
    """What a request's version can do about a partition that is not in the transaction.

    Rule: T-34, T-35, T-42, T-71 (TransactionSupportedOperation).
    """

    VERIFY = "refuse with an error that old clients know"
    VERIFY_ABORTABLE = "refuse with the error that the transaction must be aborted"
    ADD = "add the partition"


def denied_transaction(context: HandlerContext, transactional_id: str) -> ErrorCode:
    """Return the error if the client may not write by a transactional id, else NONE.

    See: X-54.
    """
    if context.authorizer is None:  # a broker without one imports nothing of it
        return _NONE
    from broker_lite.handler.authorized import is_allowed
    from broker_lite.security.acls.acl import Operation, ResourceType

    kind = ResourceType.TRANSACTIONAL_ID
    if is_allowed(context, Operation.WRITE, kind, transactional_id):
        return _NONE
    return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def denied_group(context: HandlerContext, transactional_id: str, group_id: str) -> ErrorCode:
    """Return the error if the client may not commit a group's offsets in a transaction, else NONE.

    See: X-54 (KafkaApis.handleTxnOffsetCommitRequest, handleAddOffsetsToTxnRequest).
    """
    if context.authorizer is None:
        return _NONE
    from broker_lite.handler.authorized import is_allowed
    from broker_lite.security.acls.acl import Operation, ResourceType

    denied = denied_transaction(context, transactional_id)
    if denied or is_allowed(context, Operation.READ, ResourceType.GROUP, group_id):
        return denied
    return ErrorCode.GROUP_AUTHORIZATION_FAILED


def is_open(log: Log, producer: Producer) -> bool:
    """True if the producer has an open transaction in a partition.

    Rule: T-34 (UnifiedLog.hasOngoingTransaction).
    """
    producer_id, producer_epoch = producer
    entry = log.producer_state.get(producer_id)
    return entry is not None and entry.is_in_transaction and entry.epoch == producer_epoch


def is_fenced(log: Log, producer: Producer) -> bool:
    """True if a partition has seen a higher epoch of the producer.

    Rule: T-36, T-42 (ProducerStateManager.maybeCreateVerificationStateEntry).
    """
    producer_id, producer_epoch = producer
    entry = log.producer_state.get(producer_id)
    return entry is not None and producer_epoch < entry.epoch


def check_partitions(
    context: HandlerContext,
    transactional_id: str,
    producer: Producer,
    partitions: Collection[TopicPartition],
    support: Support,
) -> Mapping[TopicPartition, ErrorCode]:
    """Add partitions, or verify that they were added; NONE for those that may be written to.

    Rule: T-34, T-35, T-42 (AddPartitionsToTxnManager.addOrVerifyTransaction).
    """
    transactions = context.transactions
    if support is Support.ADD:
        error_code = transactions.add_partitions(
            transactional_id, producer, partitions, client_version=EPOCH_BUMP_VERSION
        )
        return dict.fromkeys(partitions, _translated(error_code, support))
    return {
        partition: _translated(error_code, support)
        for partition, error_code in transactions.verify(
            transactional_id, producer, partitions
        ).items()
    }


async def check_elsewhere(
    context: HandlerContext,
    transactional_id: str,
    producer: Producer,
    partitions: Collection[TopicPartition],
    support: Support,
) -> Mapping[TopicPartition, ErrorCode]:
    """Do what check_partitions() does where the coordinator is in another process.

    See: T-34, T-35, T-42.
    """
    ask = context.transactions.elsewhere
    assert ask is not None
    errors = await ask(transactional_id, producer, partitions, is_added=support is Support.ADD)
    return {partition: _translated(code, support) for partition, code in errors.items()}


def _translated(error_code: ErrorCode, support: Support) -> ErrorCode:
    if error_code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error_code is ErrorCode.TRANSACTION_ABORTABLE and support is Support.VERIFY:
        return ErrorCode.INVALID_TXN_STATE
    return error_code

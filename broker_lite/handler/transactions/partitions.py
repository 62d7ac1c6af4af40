"""AddPartitionsToTxn (24), AddOffsetsToTxn (25): name what a transaction writes to.

- AddPartitionsToTxn: v2 PRODUCER_FENCED (KIP-588), v3 flexible, v4 for brokers: many transactions
  at once, and a check without adding (KIP-890); v5 TRANSACTION_ABORTABLE.
- AddOffsetsToTxn: v2 PRODUCER_FENCED, v3 flexible, v4 TRANSACTION_ABORTABLE.

Not done: leaving a broker's request that names no transaction unanswered, as Kafka
does. Here it gets an empty answer.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from broker_lite.control.metadata.topic_names import INTERNAL_TOPICS
from broker_lite.coordinator.transactions.transaction import EPOCH_BUMP_VERSION, TopicPartition
from broker_lite.errors import ErrorCode
from broker_lite.handler.authorized import is_allowed_on_cluster
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import NONE_DENIED, TopicKey, denied_topics_in_turns
from broker_lite.handler.flushed import answers_when_flushed
from broker_lite.handler.large import in_turns, lazily
from broker_lite.handler.refusals import tell_transaction
from broker_lite.handler.transactions.check import denied_group, denied_transaction
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

if TYPE_CHECKING:
    TopicAsked = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    TopicAnswer = messages.AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult


_FENCED_SINCE: Final = 2
_BATCHED_SINCE: Final = 4

Errors = Mapping[TopicPartition, ErrorCode]


@answers_when_flushed
async def handle_partitions(context: HandlerContext, request: Request) -> Parts:
    """Add partitions to transactions, or answer whether they are in them.

    Rule: T-28, T-30.
    See: T-29, T-31.
    """
    body = decode(messages.AddPartitionsToTxnRequest, request)
    types = messages.AddPartitionsToTxnResponse
    response = types()
    if request.api_version >= _BATCHED_SINCE:
        if not is_allowed_on_cluster(context, Operation.CLUSTER_ACTION):
            response.error_code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            return encode(types, response, request)
        for transaction in body.transactions:
            producer = (transaction.producer_id, transaction.producer_epoch)
            errors = await _add(
                context,
                request,
                transaction.transactional_id,
                producer,
                transaction.topics,
                verify_only=transaction.verify_only,
                client_version=EPOCH_BUMP_VERSION,
            )
            response.results_by_transaction.append(
                types.AddPartitionsToTxnResult(
                    transactional_id=transaction.transactional_id,
                    topic_results=_results(transaction.topics, errors),
                )
            )
    else:
        producer = (body.v3_and_below_producer_id, body.v3_and_below_producer_epoch)
        topics = body.v3_and_below_topics
        transactional_id = body.v3_and_below_transactional_id
        errors = await _add(
            context,
            request,
            transactional_id,
            producer,
            topics,
            verify_only=False,
            client_version=0,
        )
        if request.api_version < _FENCED_SINCE:
            errors = {partition: before_fencing(code) for partition, code in errors.items()}
        response.results_by_topic_v3_and_below = _results(topics, errors)
    return encode(types, response, request)


async def _add(
    context: HandlerContext,
    request: Request,
    transactional_id: str,
    producer: tuple[int, int],
    topics: "list[TopicAsked]",
    *,
    verify_only: bool,
    client_version: int,
) -> Errors:
    """Add all partitions or none.

    A broker, which sends the newer versions, has a right on the cluster instead.

    Rule: T-28.
    See: T-29, T-31, C-73, X-54.
    """
    found: dict[TopicPartition, ErrorCode] = {}
    is_broker = client_version > 0
    refused = ErrorCode.NONE if is_broker else denied_transaction(context, transactional_id)
    denied = NONE_DENIED if is_broker or refused else await _denied_topics(context, topics)
    asked = ((topic.name, index) for topic in topics for index in topic.partitions)
    async for partition in in_turns(asked):
        found[partition] = refused or _error_of(context, partition, denied)
    if refused:
        tell_transaction(context, request, refused, transactional_id)
    if any(found.values()):
        good = ErrorCode.OPERATION_NOT_ATTEMPTED
        return {partition: code or good for partition, code in found.items()}
    partitions = list(found)
    transactions = context.transactions
    if verify_only:
        return transactions.verify(transactional_id, producer, partitions, context.node_id)
    error_code = transactions.add_partitions(
        transactional_id,
        producer,
        partitions,
        client_version=client_version,
        node_id=context.node_id,
    )
    if not error_code and transactions.unreplicated.events:
        error_code = await transactions.unreplicated.settled(transactional_id)
    tell_transaction(context, request, error_code, transactional_id)
    return dict.fromkeys(partitions, error_code)


async def _denied_topics(
    context: HandlerContext, topics: "list[TopicAsked]"
) -> frozenset[TopicKey]:
    """Return the topics that a client may not write to; nobody may write to internal ones so.

    See: X-54 (KafkaApis.handleAddPartitionsToTxnRequest).
    """
    names = {topic.name for topic in topics}
    denied = await denied_topics_in_turns(context, Operation.WRITE, names)
    return denied | names.intersection(INTERNAL_TOPICS)


def _error_of(
    context: HandlerContext, partition: TopicPartition, denied: frozenset[TopicKey]
) -> ErrorCode:
    """Return why a partition cannot be added; NONE if it can."""
    name, index = partition
    if name in denied:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    topic = context.cluster.topics.get(name)
    if topic is None or not 0 <= index < topic.partition_count:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _results(topics: "list[TopicAsked]", errors: Errors) -> "list[TopicAnswer]":
    types = messages.AddPartitionsToTxnResponse

    def results_of(topic: "TopicAsked") -> "TopicAnswer":
        results = (
            types.AddPartitionsToTxnPartitionResult(
                partition_index=index, partition_error_code=errors[topic.name, index]
            )
            for index in topic.partitions
        )
        return types.AddPartitionsToTxnTopicResult(
            name=topic.name, results_by_partition=lazily(len(topic.partitions), results)
        )

    return lazily(len(topics), map(results_of, topics))


def before_fencing(error_code: ErrorCode) -> ErrorCode:
    """Return the code for clients that do not know PRODUCER_FENCED.

    Rule: T-30, T-32.
    See: T-26, T-47.
    """
    if error_code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error_code


@answers_when_flushed
async def handle_offsets(context: HandlerContext, request: Request) -> Parts:
    """Add a group whose offsets are to be committed to a transaction.

    Rule: T-32.
    See: X-54.
    """
    body = decode(messages.AddOffsetsToTxnRequest, request)
    transactions = context.transactions
    error_code = denied_group(
        context, body.transactional_id, body.group_id
    ) or transactions.add_partitions(
        body.transactional_id,
        (body.producer_id, body.producer_epoch),
        [transactions.partition_of_group(body.group_id)],
        client_version=0,
        node_id=context.node_id,
    )
    if not error_code and transactions.unreplicated.events:
        error_code = await transactions.unreplicated.settled(body.transactional_id)
    tell_transaction(context, request, error_code, body.transactional_id)
    if request.api_version < _FENCED_SINCE:
        error_code = before_fencing(error_code)
    return encode(
        messages.AddOffsetsToTxnResponse,
        messages.AddOffsetsToTxnResponse(error_code=error_code),
        request,
    )

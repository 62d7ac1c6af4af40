"""TxnOffsetCommit (28): commit a group's offsets as part of a transaction.

- v2 leader epochs (KIP-320); v3 the member's data (KIP-447) and flexible; v4 TRANSACTION_ABORTABLE;
  v5 adds the group to the transaction (KIP-890); v6 topic ids.

The client needs WRITE on the transactional id, READ on the group and READ on the topics (X-54).

Not done: Kafka's metrics, which tell throttle times among others.
"""

from functools import partial
from operator import itemgetter
from typing import Final, cast

from broker_lite.errors import BrokerError, ErrorCode
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.denied import denied_topics
from broker_lite.handler.flushed import wait_for_coordinators
from broker_lite.handler.groups.ask_group import caller_of
from broker_lite.handler.groups.denied_topics import DENIED, is_unknown, key_of, with_denied
from broker_lite.handler.refusals import tell_transaction
from broker_lite.handler.transactions.check import (
    Support,
    check_partitions,
    denied_group,
    is_fenced,
    is_open,
)
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

_LOADING_SINCE: Final = 2
_ABORTABLE_FROM: Final = 4
_ADDS_FROM: Final = 5
_TOPIC_IDS_FROM: Final = 6


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Keep a group's offsets until the producer's transaction ends.

    Rule: T-40, T-44.
    See: T-41 to T-43, T-45.
    """
    body = decode(messages.TxnOffsetCommitRequest, request)
    version = request.api_version
    denied = denied_group(context, body.transactional_id, body.group_id)
    if denied:
        tell_transaction(context, request, denied, body.transactional_id)
        response = messages.TxnOffsetCommitResponse(
            topics=[_refuse_topic(topic, denied) for topic in body.topics]
        )
        return encode(messages.TxnOffsetCommitResponse, response, request)
    topics, by_id = body.topics, version >= _TOPIC_IDS_FROM
    keys = (key_of(topic, by_id=by_id) for topic in topics)
    denied_ones = denied_topics(context, Operation.READ, keys)
    if denied_ones:
        body.topics = [each for each in topics if key_of(each, by_id=by_id) not in denied_ones]
    response = await _commit(context, request, body)
    if denied_ones:
        refuse = partial(_refuse_topic, error_code=DENIED)
        response.topics = with_denied(response.topics, topics, denied_ones, refuse, by_id=by_id)
    return encode(messages.TxnOffsetCommitResponse, response, request)


def _refuse_topic(
    topic: "messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic", error_code: ErrorCode
) -> "messages.TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic":
    """Refuse all partitions, whether they exist or not."""
    types = messages.TxnOffsetCommitResponse
    make_partition = types.TxnOffsetCommitResponsePartition
    return types.TxnOffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            make_partition(partition_index=each.partition_index, error_code=error_code)
            for each in topic.partitions
        ],
    )


async def _commit(
    context: HandlerContext, request: Request, body: messages.TxnOffsetCommitRequest
) -> messages.TxnOffsetCommitResponse:
    """Commit the offsets of topics that the client may read."""
    version = request.api_version
    failures = context.cluster.logs.commits.failures
    refused = _refused(context, body, version)
    unreplicated = context.transactions.unreplicated
    if unreplicated.events and refused is None:  # the group may have been added to the transaction
        refused = await unreplicated.settled(body.transactional_id) or None
    await wait_for_coordinators(context, failures)
    if refused is None:
        try:
            groups = context.groups
            event = groups.coordinator.commits.commit_transactional
            caller = caller_of(context, request, body.group_id)
            answer = await groups.ask(event, body.group_id, body, caller)
            response = cast("messages.TxnOffsetCommitResponse", answer)
        except BrokerError as error:
            refused = error.code
    if refused is not None:
        tell_transaction(context, request, refused, body.transactional_id)
        response = _refusal(context, body, version, refused)
    return response


def _refused(
    context: HandlerContext, body: messages.TxnOffsetCommitRequest, version: int
) -> ErrorCode | None:
    """Return why the transaction refuses the offsets; None if no partition is known.

    Rule: T-40, T-44.
    See: T-42, C-60 (CoordinatorPartitionWriter.maybeStartTransactionVerification).
    """
    if not any(
        _is_known(context, topic, partition.partition_index, version)
        for topic in body.topics
        for partition in topic.partitions
    ):
        return None
    if not body.group_id:
        return ErrorCode.INVALID_GROUP_ID
    topic = context.groups.topic
    if topic.exists and not topic.is_led(body.group_id, context.node_id):
        return ErrorCode.NOT_COORDINATOR
    partition = context.transactions.partition_of_group(body.group_id)
    producer = (body.producer_id, body.producer_epoch)
    try:
        log = context.cluster.log(*partition)
    except BrokerError:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if is_open(log, producer):
        return None
    if is_fenced(log, producer):
        return ErrorCode.INVALID_PRODUCER_EPOCH
    support = _support(version)
    settings = context.cluster.settings_of(context.node_id)
    if support is not Support.ADD and not settings.transaction_partition_verification_enable:
        return None
    errors = check_partitions(context, body.transactional_id, producer, [partition], support)
    error_code = errors[partition]
    if error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _LOADING_SINCE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return error_code or None


def _support(version: int) -> Support:
    if version >= _ADDS_FROM:
        return Support.ADD
    return Support.VERIFY_ABORTABLE if version >= _ABORTABLE_FROM else Support.VERIFY


def _is_known(
    context: HandlerContext,
    topic: "messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic",
    index: int,
    version: int,
) -> bool:
    if version >= _TOPIC_IDS_FROM:
        found = context.cluster.topics_by_id.get(topic.topic_id)
    else:
        found = context.cluster.topics.get(topic.name)
    return found is not None and 0 <= index < found.partition_count


def _refusal(
    context: HandlerContext, body: messages.TxnOffsetCommitRequest, version: int, refused: ErrorCode
) -> messages.TxnOffsetCommitResponse:
    """Answer the same error for every known partition, after those that are not known.

    Topics with partitions that are not known come first.
    """
    types = messages.TxnOffsetCommitResponse
    response = types()
    for topic in body.topics:
        codes = []
        for partition in topic.partitions:
            index = partition.partition_index
            is_known = _is_known(context, topic, index, version)
            codes.append(
                (is_known, index, refused if is_known else _unknown(context, topic, version))
            )
        codes.sort(key=itemgetter(0))
        response.topics.append(
            types.TxnOffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    types.TxnOffsetCommitResponsePartition(
                        partition_index=index, error_code=error_code
                    )
                    for _, index, error_code in codes
                ],
            )
        )
    response.topics.sort(key=lambda topic: not is_unknown(topic))
    return response


def _unknown(
    context: HandlerContext,
    topic: "messages.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic",
    version: int,
) -> ErrorCode:
    if version >= _TOPIC_IDS_FROM and topic.topic_id not in context.cluster.topics_by_id:
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

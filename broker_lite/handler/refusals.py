"""Log the requests that are refused: one line each, limited in number.

When a client fails, people look into the broker's log first. So a line names the client, its
address, the topic and partition, group or transactional id, the error code, and what is wrong in
plain words, with the id of the rule that was broken. The client itself gets only what Kafka sends.

WARNING is for errors that the client does not recover from by itself, such as a record that is not
stored. INFO is for errors that it recovers from (it looks up the leader again, goes to another
offset, begins anew) but that may explain why it is slow. DEBUG is for errors that are part of every
rebalance or start.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from broker_lite.errors import BrokerError, ErrorCode, Why
from broker_lite.handler.context import HandlerContext, RefusedPartition, RefusedPartitions, Request
from broker_lite.handler.large import in_turns
from broker_lite.log.read import seen_offsets
from broker_lite.wire.structs import Struct

if TYPE_CHECKING:
    from broker_lite.handler.fetch.read import PartitionRead
    from broker_lite.log.validate.validated import ValidationConfig
    from broker_lite.wire.produce import PartitionAnswer, PartitionKey

logger = logging.getLogger("broker_lite.refusals")

_TEXT_MAX: Final = 249
_KEY_TEXT_MAX: Final = 60
# So many lines for one request and error code; a request may have 100,000 partitions.
_PARTITIONS_MAX: Final = 5
# So many partitions of one request are kept for those who ask what was refused.
_KEPT_MAX: Final = 100
_NO_PARTITIONS: Final[RefusedPartitions] = MappingProxyType({})

_RETRIED: Final = frozenset(
    {
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNRELEASED_INSTANCE_ID,
    }
)
_USUAL: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)
# the rules of errors that a group's coordinator answers with
_GROUP_RULE: Final = "G-119"
_SHARE_RULE: Final = "K-02"
_SHARE_HEARTBEAT: Final = 76
_GROUP_TEXTS: Final = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "no ACL allows the client to use the topic so",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "no ACL allows the client to use the group so",
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: "the member's protocols do not match the group's",
    ErrorCode.INVALID_GROUP_ID: "the group id is not valid for this request",
    ErrorCode.INVALID_SESSION_TIMEOUT: "the session timeout is outside of what the broker allows"
    " (group.min.session.timeout.ms, group.max.session.timeout.ms)",
    ErrorCode.GROUP_MAX_SIZE_REACHED: "the group has as many members as it may have",
    ErrorCode.FENCED_INSTANCE_ID: "another member has taken over this group.instance.id",
    ErrorCode.UNRELEASED_INSTANCE_ID: "another member still uses this group.instance.id",
}
_TRANSACTION_TEXTS: Final = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "no ACL allows the client to write to the topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "no ACL allows the client to use the group so",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "no ACL allows the client to write to any topic",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "no ACL allows the client to use the"
    " transactional id",
    ErrorCode.PRODUCER_FENCED: "a newer producer uses this transactional id: this one is fenced",
    ErrorCode.INVALID_PRODUCER_EPOCH: "the producer's epoch is not the current one: a newer"
    " producer fenced it, or its transaction was aborted",
    ErrorCode.INVALID_TXN_STATE: "the state of the transaction does not allow it",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "the producer id is not the one of this transactional"
    " id, or there is no such transactional id",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "the transaction timeout is not between 1 ms and"
    " transaction.max.timeout.ms",
    ErrorCode.CONCURRENT_TRANSACTIONS: "the former transaction is still being ended",
    ErrorCode.TRANSACTION_ABORTABLE: "the partition is not in the transaction, which has to be"
    " aborted",
    ErrorCode.INVALID_REQUEST: "the fields of the request contradict each other",
}


def why_of(error: BrokerError, rule: str) -> Why:
    """Return the reason of an error: its own, else its message, else the meaning of its code.

    Args:
        error: the error.
        rule: the rule to name if the error has no reason of its own.
    """
    if error.why is not None:
        return error.why
    text = error.message or (type(error).__doc__ or "").strip()
    return Why(rule, "{text}", {"text": text})


def why_of_transaction(code: ErrorCode, rule: str) -> Why:
    """Return what the coordinator of transactions means by a code."""
    return Why(rule, _TRANSACTION_TEXTS.get(code, code.name), {})


async def tell_produce(
    context: HandlerContext,
    request: Request,
    answers: "Mapping[PartitionKey, PartitionAnswer]",
) -> None:
    """Log the partitions of a Produce that failed.

    A failure without a reason is left out, because it was logged where it happened.
    """
    told: Counter[int] = Counter()
    refused: dict[PartitionKey, RefusedPartition] = {}
    async for (topic, index), answer in in_turns(answers.items()):
        code, why = answer.error_code, answer.why
        if why is None:
            continue
        if context.hooks.keep_refused is not None and len(refused) < _KEPT_MAX:
            config = _config_of(context, topic)
            refused[topic, index] = RefusedPartition(ErrorCode(code), why, config)
        told[code] += 1
        if told[code] <= _PARTITIONS_MAX:
            _tell_partition(context, request, ErrorCode(code), why, topic, index, refused)
    _tell_rest(context, request, told)


async def tell_fetch(
    context: HandlerContext, request: Request, answers: "Iterable[PartitionRead]"
) -> None:
    """Log the partitions of a Fetch that do not have the offset that was asked for."""
    told: Counter[int] = Counter()
    code = ErrorCode.OFFSET_OUT_OF_RANGE
    async for answer in in_turns(answers):
        if answer.error_code != code:
            continue
        told[code] += 1
        if told[code] <= _PARTITIONS_MAX:
            partition = answer.partition
            name = _topic_name(context, partition.topic)
            log = context.cluster.log(name, partition.index)
            seen = seen_offsets(log)
            why = Why(
                "F-05",
                "offset {fetch_offset} where the partition has {log_start_offset} to"
                " {log_end_offset}",
                {
                    "fetch_offset": partition.fetch_offset,
                    "log_start_offset": seen.log_start_offset,
                    "log_end_offset": seen.log_end_offset,
                },
            )
            _tell_partition(context, request, code, why, name, partition.index)
    _tell_rest(context, request, told)


def tell_group(context: HandlerContext, request: Request, group_id: str, response: Struct) -> None:
    """Log the error in a group's response, if it has one.

    If the response has errors per partition, the first one is logged.
    """
    number = getattr(response, "error_code", 0) or next(
        (
            partition.error_code
            for topic in getattr(response, "topics", ())
            for partition in topic.partitions
            if partition.error_code
        ),
        0,
    )
    if not number:
        return
    code = ErrorCode(number)
    text = getattr(response, "error_message", None) or _GROUP_TEXTS.get(code, code.name)
    rule = _SHARE_RULE if request.api_key == _SHARE_HEARTBEAT else _GROUP_RULE
    why = Why(rule, "{text}", {"text": shown(text)})
    tell(context, request, code, why, group=group_id)


def tell_transaction(
    context: HandlerContext, request: Request, code: int, transactional_id: str | None
) -> None:
    """Log the error of the coordinator of transactions, if there is one."""
    if code:
        found = ErrorCode(code)
        why = why_of_transaction(found, "T-19")
        tell(context, request, found, why, transactional_id=transactional_id or "")


def tell(
    context: HandlerContext,
    request: Request,
    code: ErrorCode,
    why: Why,
    refused: RefusedPartitions = _NO_PARTITIONS,
    **subject: str | int,
) -> None:
    """Write one log line, or only count it if there were too many like it.

    Args:
        context: of the connection.
        request: the refused request.
        code: the error code of the answer.
        why: what is wrong.
        refused: the refused partitions of a Produce; others may be added later.
        subject: the names and values of the things that were refused, such as topic and partition.
            Texts may hold anything, because they come from a client.
    """
    level = _level(code)
    api = context.apis.get(request.api_key)
    name = f"API {request.api_key}" if api is None else api.name
    host, port = context.client_address
    client_id = shown(request.client_id or "", _KEY_TEXT_MAX)
    texts = [shown(each) if isinstance(each, str) else each for each in subject.values()]
    # The partition does not count: a producer that fails in many partitions fails for one reason.
    kind = [str(each)[:_KEY_TEXT_MAX] for each in texts[:1]]
    key = (name, code.name, client_id, host, *kind)
    if not context.client_log.admits(logger, level, key):
        return
    names = "".join(f"{each}=%s " for each in subject)
    message = f"{name} refused {names}error=%s client_id=%s client=%s rule=%s reason=%s"
    if context.hooks.keep_refused is not None:
        texts.append(context.hooks.keep_refused(context, request, code, why, refused))
        message = message.replace("error=%s", "request=%s error=%s", 1)
    logger.log(
        level,
        message,
        *texts,
        code.name,
        client_id,
        f"{host}:{port}",
        why.rule,
        str(why),
        extra={"facts": dict(why.facts)},
    )


def shown(text: str, characters_max: int = _TEXT_MAX) -> str:
    """Return a client's text as it may stand in a log line: no control characters, not too long."""
    cut = text[:characters_max]
    if not cut.isprintable():
        cut = ascii(cut)
    return cut if len(text) <= characters_max else f"{cut}..."


def _level(code: ErrorCode) -> int:
    if code in _USUAL:
        return logging.DEBUG
    return logging.INFO if code in _RETRIED else logging.WARNING


def _tell_partition(
    context: HandlerContext,
    request: Request,
    code: ErrorCode,
    why: Why,
    topic: str | bytes,
    index: int,
    refused: RefusedPartitions = _NO_PARTITIONS,
) -> None:
    tell(context, request, code, why, refused, topic=_topic_name(context, topic), partition=index)


def _config_of(context: HandlerContext, topic: str | bytes) -> "ValidationConfig | None":
    cluster = context.cluster
    known = cluster.topics.get(topic) if isinstance(topic, str) else cluster.topics_by_id.get(topic)
    return None if known is None else cluster.validation_config(known)


def _topic_name(context: HandlerContext, topic: str | bytes) -> str:
    if isinstance(topic, str):
        return topic
    found = context.cluster.topics_by_id.get(topic)
    return found.name if found is not None else f"id {topic.hex()}"


def _tell_rest(context: HandlerContext, request: Request, told: Counter[int]) -> None:
    """Log how many more partitions of a request failed with the same code as the logged ones."""
    for code, count in told.items():
        left_out = count - _PARTITIONS_MAX
        if left_out > 0:
            why = Why("V-14", "{count} more partitions of the same request", {"count": left_out})
            tell(context, request, ErrorCode(code), why)

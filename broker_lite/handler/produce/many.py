"""A Produce of very many partitions: the same steps, and other connections have turns in between.

The request comes decoded, in the lane of large requests, and stays there until it is answered. So
the memory it takes is taken only once, however many such requests come. As in any other Produce,
nothing is written before all checks are done. If the cluster has changed since the checks, each
append finds out.

The requests of old clients are handled here, too, whatever their size, because their message sets
are walked message by message.
"""

from collections.abc import Iterator, Mapping
from itertools import starmap
from typing import Final

from broker_lite.errors import BrokerError
from broker_lite.handler.context import HandlerContext, Parts
from broker_lite.handler.endpoints import Hints
from broker_lite.handler.large import LargeRequest, in_turns, lazily
from broker_lite.handler.produce.check import (
    OLDEST_OF_BATCHES,
    Accepted,
    Sorted,
    check_one_producer,
    is_transactional,
    needs_transactional_id,
    sort_partitions,
)
from broker_lite.handler.refusals import why_of
from broker_lite.log.validate.old_messages import check_old_record_set
from broker_lite.wire import messages
from broker_lite.wire.produce import (
    PartitionAnswer,
    PartitionKey,
    Partitions,
    ProduceRequest,
    Topics,
)

PARTITIONS_AT_A_TIME: Final = 256
"""So many partitions are checked within 1 ms."""
_TOPIC_IDS_FROM: Final = 13
_Answered = tuple[int, PartitionAnswer, tuple[int, int] | None]


async def plain_request(request: LargeRequest) -> ProduceRequest:
    """Return the request as decode_produce_request() returns it, and drop the decoded body.

    Topics without partitions are left out: they are not checked and not in the answer.
    """
    body, request.decoded = request.decoded, None
    by_id = request.api_version >= _TOPIC_IDS_FROM
    topics: Topics = []
    async for topic in in_turns(body.topic_data, at_least=1):
        partitions: Partitions = []
        async for each in in_turns(topic.partition_data):
            partitions.append((each.index, each.records))
        if partitions:
            name_and_id = (None, topic.topic_id) if by_id else (topic.name, None)
            topics.append((*name_and_id, partitions))
    return ProduceRequest(body.transactional_id, body.acks, body.timeout_ms, topics)


async def check_many(context: HandlerContext, produce: ProduceRequest, version: int) -> Sorted:
    """Do the same as check(), also for versions below 3.

    Raises:
        BrokerError: the whole request fails.

    See: V-02, V-03, V-06 to V-10.
    """
    async for piece in in_turns(pieces(produce.topics, PARTITIONS_AT_A_TIME), at_least=1):
        if is_transactional(piece):
            if produce.transactional_id is None:
                raise needs_transactional_id()
            break
    accepted: dict[PartitionKey, Accepted] = {}
    refused: dict[PartitionKey, PartitionAnswer] = {}
    has_producers = False
    is_old = version < OLDEST_OF_BATCHES
    at_a_time = 1 if is_old else PARTITIONS_AT_A_TIME
    async for piece in in_turns(pieces(produce.topics, at_a_time), at_least=1):
        has_producers |= sort_partitions(context, piece, version, accepted, refused)
        if is_old:
            await _check_old(piece, accepted)
    if has_producers:
        check_one_producer(accepted.values())
    return accepted, refused


def pieces(topics: Topics, partitions_max: int) -> Iterator[Topics]:
    """Yield the same topics and partitions, a few at a time."""
    piece: Topics = []
    room = partitions_max
    for name, topic_id, partitions in topics:
        for start in range(0, len(partitions), partitions_max):
            some = partitions[start : start + partitions_max]
            piece.append((name, topic_id, some))
            room -= len(some)
            if room <= 0:
                yield piece
                piece, room = [], partitions_max
    if piece:
        yield piece


async def _check_old(topics: Topics, accepted: Mapping[PartitionKey, Accepted]) -> None:
    for name, _, partitions in topics:
        for index, records in partitions:
            if (name or "", index) in accepted:
                async for _ in in_turns(check_old_record_set(records)):
                    pass


async def refuse_all(
    produce: ProduceRequest, error: BrokerError
) -> dict[PartitionKey, PartitionAnswer]:
    """Return the same answer for every partition of a request."""
    answer = PartitionAnswer(error.code, error_message=error.message, why=why_of(error, "V-06"))
    keys = (
        (topic_id or name or "", index)
        for name, topic_id, partitions in produce.topics
        for index, _ in partitions
    )
    return {key: answer async for key in in_turns(keys)}


async def answer_many(
    request: LargeRequest,
    answers: Mapping[PartitionKey, PartitionAnswer],
    hints: Hints,
) -> Parts:
    """Set the answer of a large request; its elements are made while it is encoded.

    Returns:
        No parts, because nothing is encoded yet.

    See: V-01.
    """
    by_topic: dict[str | bytes, list[_Answered]] = {}
    async for key, answer in in_turns(answers.items()):
        topic, index = key
        by_topic.setdefault(topic, []).append((index, answer, hints.leaders.get(key)))
    topics = (_topic(name, partitions) for name, partitions in by_topic.items())
    response = messages.ProduceResponse(
        responses=lazily(len(by_topic), topics),
        node_endpoints=[
            messages.ProduceResponse.NodeEndpoint(**each._asdict()) for each in hints.endpoints
        ],
    )
    request.answer = messages.ProduceResponse, response
    return []


def _topic(
    name: str | bytes, partitions: list[_Answered]
) -> "messages.ProduceResponse.TopicProduceResponse":
    responses = lazily(len(partitions), starmap(_partition, partitions))
    topic = messages.ProduceResponse.TopicProduceResponse(partition_responses=responses)
    if isinstance(name, bytes):
        topic.topic_id = name
    else:
        topic.name = name
    return topic


def _partition(
    index: int, answer: PartitionAnswer, leader: tuple[int, int] | None
) -> "messages.ProduceResponse.PartitionProduceResponse":
    types = messages.ProduceResponse
    code, base_offset, append_time_ms, start_offset, record_errors, message, _ = answer
    response = types.PartitionProduceResponse(
        index=index,
        error_code=code,
        base_offset=base_offset,
        log_append_time_ms=append_time_ms,
        log_start_offset=start_offset,
        record_errors=[
            types.BatchIndexAndErrorMessage(batch_index=number, batch_index_error_message=text)
            for number, text in record_errors
        ],
        error_message=message,
    )
    if leader is not None:
        response.current_leader = types.LeaderIdAndEpoch(
            leader_id=leader[0], leader_epoch=leader[1]
        )
    return response

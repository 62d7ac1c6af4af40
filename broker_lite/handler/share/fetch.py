"""ShareFetch (78): acquire records as a member of a share group (KIP-932).

- The request may also say what became of records that were acquired before.
- v2 chooses whether records are acquired by batches or one by one (KIP-1206), and renews locks
  (KIP-1222).

A session remembers the partitions that a member reads from. It ends when the member says so or
its connection is closed; then what it has acquired is available to others.

A difference to Kafka: a topic that does not exist leaves the share session with the first answer
that says so. In Kafka each answer says so until the client forgets the topic.

A difference to Kafka: what a request releases may be acquired by the same request. Kafka releases
it beside the request, which mostly does not get it.

Not done: records of synthetic topics, which are not acquired; faults in record data, as Fetch has.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from broker_lite.control.rounds import Wait
from broker_lite.coordinator.share_records.acquire import Wish
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    SharedPartition,
    ShareSession,
)
from broker_lite.errors import BrokerError, UnknownTopicId
from broker_lite.handler.codec import decode, encode, encode_long
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.flushed import answers_when_flushed
from broker_lite.handler.large import (
    LargeRequest,
    Turns,
    enter_lane,
    handle_large,
    leave_lane,
)
from broker_lite.handler.share.acknowledge import (
    Answers,
    acknowledge_all,
    said_by,
    wait_until_kept,
)
from broker_lite.handler.share.partition import (
    Answer,
    Found,
    current_leader,
    endpoints,
    find,
    forget_unopened,
    load,
    opened,
)
from broker_lite.handler.share.read import Room, read_and_acquire, readable_bytes
from broker_lite.handler.share.readers import check_reader
from broker_lite.handler.share.sessions import (
    end_session,
    session_of,
    sessions_of,
)
from broker_lite.wire import messages

_BY_RECORDS: Final = 1
_MS_PER_S: Final = 1000
_SHORT_PARTITIONS_MAX: Final = 256
"""An answer of so many partitions is encoded at once."""
_LONG_SESSION: Final = 1000
"""A request of a session with more partitions is a large one, however short it is."""


class Enough(NamedTuple):
    """What a waiting request is answered for.

    Attributes:
        min_bytes: how many bytes it waits for; no more than max_bytes.
        max_bytes: how many it gets at most.
        wish: of the member.
    """

    min_bytes: int
    max_bytes: int
    wish: Wish

    @property
    def is_any(self) -> bool:
        """Whether any record will do."""
        return self.min_bytes <= 1


Ready = list[tuple[Found, SharePartition]]


@answers_when_flushed
async def handle(context: HandlerContext, request: Request) -> Parts | None:
    """Let a member acquire records.

    Rule: K-33 (KafkaApis.handleShareFetchRequest).
    See: K-32.
    See: G-114, G-115.
    """
    body = decode(messages.ShareFetchRequest, request)
    message = messages.ShareFetchResponse
    group_id = body.group_id or ""
    if not isinstance(request, LargeRequest) and _is_long(context, group_id, body.member_id):
        return await handle_large(handle, context, request)
    try:
        check_reader(context, group_id)
        said = await said_by(body)
        session = await session_of(context, body, group_id, is_said=bool(said))
        answers = await acknowledge_all(
            context, group_id, session.member_id, said, may_renew=body.is_renew_ack
        )
        if answers:
            await wait_until_kept(context, request, group_id, answers)
            await enter_lane(context, request)
        if body.share_session_epoch == FINAL_EPOCH:
            end_session(context, session)
        elif not body.is_renew_ack:
            await _fetch(context, request, body, session, answers)
    except BrokerError as error:
        refusal = message(error_code=error.code, error_message=error.message)
        return encode(message, refusal, request)
    response = await _response(context, group_id, answers)
    if len(answers) > _SHORT_PARTITIONS_MAX:
        return await encode_long(message, response, request)
    return encode(message, response, request)


def _is_long(context: HandlerContext, group_id: str, member_id: str | None) -> bool:
    """Return whether the member has a session of very many partitions."""
    session = sessions_of(context).get(group_id, member_id or "")
    return session is not None and len(session.partitions) > _LONG_SESSION


async def _fetch(
    context: HandlerContext,
    request: Request,
    body: messages.ShareFetchRequest,
    session: ShareSession,
    answers: Answers,
) -> None:
    """Acquire records of the session's partitions; wait for them if there are none yet."""
    max_bytes = min(body.max_bytes, context.settings.fetch_max_bytes)
    wants_any = body.max_records > 0 and max_bytes > 0
    ready = await _ready(context, request, session, answers, wants_any)
    wish = Wish(
        session.member_id,
        body.max_records,
        max(body.batch_size, 1),
        body.share_acquire_mode == _BY_RECORDS,
    )
    enough = Enough(min(body.min_bytes, max_bytes), max_bytes, wish)
    if ready and body.max_wait_ms > 0:
        # Most requests need not wait. Those that any record is enough for find out by reading.
        is_enough = enough.is_any or await _is_enough(context, ready, enough)
        is_answered = is_enough and await _acquire(context, ready, answers, enough)
        if not is_answered:
            leave_lane(request)
            is_answered = await _wait(context, body.max_wait_ms, ready, answers, enough)
        if is_answered:
            ready = []
        else:
            await enter_lane(context, request)
            ready = await _ready(context, request, session, answers, wants_any)
    if ready:
        await _acquire(context, ready, answers, enough)
    if body.share_session_epoch != INITIAL_EPOCH:
        await _leave_out_old(session, answers)


async def _acquire(context: HandlerContext, ready: Ready, answers: Answers, enough: Enough) -> bool:
    """Acquire records of some partitions, in order, as long as the member wants more.

    Returns:
        Whether the member is answered for what was read, or a partition has an error or has changed
        hands.
    """
    shares, wish = context.groups.shares, enough.wish
    left_bytes, is_first, has_news, turns = enough.max_bytes, True, False, Turns()
    for found, partition in ready:
        await turns.turn()
        key = SharedPartition(*found.key[1:])
        answer = answers.setdefault(key, Answer(key))
        if wish.records_max <= 0 or left_bytes <= 0:
            continue
        try:
            room = Room(left_bytes, is_first)
            has_read = await read_and_acquire(shares, found, partition, wish, room, answer)
        except BrokerError as error:
            answer.error = error.with_traceback(None)
            has_news = True
            continue
        has_news = has_news or has_read or _is_lost(context, found, partition)
        count = sum([last - first + 1 for first, last, _ in answer.acquired])
        wish = wish._replace(records_max=wish.records_max - count)
        left_bytes -= len(answer.records)
        is_first = is_first and not answer.records
    return has_news


def _is_lost(context: HandlerContext, found: Found, partition: SharePartition) -> bool:
    """Return whether a partition is led anew or deleted, or its share partition was dropped."""
    if context.groups.shares.partition(found.key) is not partition:
        return True
    return found.log.leader_id != context.node_id or found.log.is_deleted


async def _leave_out_old(session: ShareSession, answers: Answers) -> None:
    """Leave out partitions without news, but tell once of each that was added to the session.

    Rule: K-33 (CachedSharePartition.maybeUpdateResponseData).
    """
    turns = Turns()
    for partition in [*answers]:
        await turns.turn()
        answer, is_new = answers[partition], session.partitions.get(partition)
        if is_new is None:
            continue
        if not is_new and not _is_news(answer):
            del answers[partition]
        session.partitions[partition] = answer.error is not None


def _is_news(answer: Answer) -> bool:
    return bool(answer.acquired or answer.is_acknowledged or answer.error is not None)


async def _ready(
    context: HandlerContext,
    request: Request,
    session: ShareSession,
    answers: Answers,
    wants_any: bool,
) -> Ready:
    """Return the partitions that can be read from now; the others get their errors.

    A share partition begins when records of it are wanted for the first time. A topic that does not
    exist is told of once: no topic will ever have its id.
    """
    ready: Ready = []
    turns, partitions = Turns(), session.in_turn()
    failures = await load(context, request, session.group_id, partitions if wants_any else ())
    for partition in partitions:
        await turns.turn()
        try:
            found = find(context, session.group_id, partition)
            if found.key in failures:
                raise failures[found.key]
            in_flight = await opened(context, found) if wants_any else None
        except BrokerError as error:
            # The traceback refers to this frame: a cycle, which a large request would leave.
            told = error.with_traceback(None)
            answers.setdefault(partition, Answer(partition)).error = told
            forget_unopened(context, session.group_id, partition)
            if isinstance(error, UnknownTopicId):
                sessions_of(context).update(session, (), [partition])
            continue
        if in_flight is not None:
            ready.append((found, in_flight))
    return ready


async def _wait(
    context: HandlerContext, max_wait_ms: int, ready: Ready, answers: Answers, enough: Enough
) -> bool:
    """Wait until there are records enough for the member, and let it acquire them.

    Without the memory for these it waits on.

    Returns:
        Whether the member is answered. If not, it has waited for as long as it wants, or a
        partition has changed hands.

    Rule: K-35 (DelayedShareFetch.tryComplete).
    """
    shares = context.groups.shares
    keys = [found.key for found, _ in ready]
    with Wait(context.cluster.rounds, max_wait_ms / _MS_PER_S) as waiting:
        while not waiting.is_over:
            waiting.begin()
            shares.listeners.add(keys, waiting)
            for found, _ in ready:
                found.log.visibility.add_waiter(waiting)
            try:
                if any(_is_lost(context, *each) for each in ready):
                    return False
                if await _is_enough(context, ready, enough) and await _acquire(
                    context, ready, answers, enough
                ):
                    return True
                if shares.held.may_acquire():
                    shares.listeners.stop_for_memory(waiting)
                context.nothing_to_give.start()
                try:
                    await waiting.until_change()
                finally:
                    context.nothing_to_give.stop()
            finally:
                shares.listeners.remove(keys, waiting)
                for found, _ in ready:
                    found.log.visibility.remove_waiter(waiting)
    return False


async def _is_enough(context: HandlerContext, ready: Ready, enough: Enough) -> bool:
    """Return whether a waiting request can be answered.

    Records of a segment that gets no more are enough, however few: an answer has those of one.

    See: F-31.
    """
    wanted_bytes, size_bytes, turns = max(enough.min_bytes, 1), 0, Turns()
    for found, partition in ready:
        await turns.turn()
        try:
            found_bytes = readable_bytes(partition, found.log, enough.wish, enough.max_bytes)
        except BrokerError:
            return True
        is_rest = partition.next_offset() < found.log.segments.active.base_offset
        if found_bytes and is_rest:
            return True
        size_bytes += found_bytes
        if size_bytes >= wanted_bytes:
            return True
    return False


async def _response(
    context: HandlerContext, group_id: str, answers: Answers
) -> messages.ShareFetchResponse:
    message = messages.ShareFetchResponse
    settings = context.groups.shares.settings_of(group_id)
    response = message(acquisition_lock_timeout_ms=settings.lock_duration_ms)
    topics: dict[bytes, messages.ShareFetchResponse.ShareFetchableTopicResponse] = {}
    leaders: list[tuple[int, int] | None] = []
    turns = Turns()
    for (topic_id, index), answer in answers.items():
        await turns.turn()
        topic = topics.get(topic_id)
        if topic is None:
            topic = topics[topic_id] = message.ShareFetchableTopicResponse(topic_id=topic_id)
            response.responses.append(topic)
        leaders.append(current_leader(context, answer.partition, answer.error))
        topic.partitions.append(_partition(index, answer, leaders[-1] or (0, 0)))
    response.node_endpoints = [
        message.NodeEndpoint(node_id=each[0], host=each[1], port=each[2], rack=each[3])
        for each in endpoints(context, leaders)
    ]
    return response


def _partition(
    index: int, answer: Answer, leader: Sequence[int]
) -> "messages.ShareFetchResponse.PartitionData":
    message = messages.ShareFetchResponse
    error, acknowledge_error = answer.error, answer.acknowledge_error
    return message.PartitionData(
        partition_index=index,
        error_code=0 if error is None else error.code,
        error_message=None if error is None else error.message,
        acknowledge_error_code=0 if acknowledge_error is None else acknowledge_error.code,
        acknowledge_error_message=(
            None if acknowledge_error is None else acknowledge_error.message
        ),
        current_leader=message.LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1]),
        records=answer.records,
        acquired_records=[
            message.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
            for first, last, count in answer.acquired
        ],
    )

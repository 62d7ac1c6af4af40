"""ShareAcknowledge (79): tell what became of records, without reading more of them (KIP-932).

- v2 renews locks (KIP-1222).

A difference to Kafka: if the replicas of a state take too long, the client gets the same error (15)
as in Kafka, but what it has said about records counts. In Kafka it counts only if they catch up.

Not done: nothing that a client asks for.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from broker_lite.control.coordinators.kept_states import Keeping
from broker_lite.control.coordinators.share_service import Shares
from broker_lite.coordinator.share_records.acknowledge import (
    Acknowledgement,
    acknowledge,
    check_acquired,
    check_room,
    checked_acknowledgements,
    runs_added,
)
from broker_lite.coordinator.share_records.partition import SharePartition
from broker_lite.coordinator.share_records.parts import in_parts, is_little
from broker_lite.coordinator.share_records.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    SharedPartition,
    check_member,
)
from broker_lite.coordinator.share_records.states import ShareKey
from broker_lite.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    InvalidShareSessionEpoch,
    UnknownTopicOrPartition,
)
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.flushed import answers_when_flushed
from broker_lite.handler.large import Turns, in_turns, leave_lane
from broker_lite.handler.share.partition import (
    Answer,
    Found,
    current_leader,
    endpoints,
    find,
)
from broker_lite.handler.share.readers import check_reader
from broker_lite.handler.share.sessions import end_session, sessions_of
from broker_lite.wire import messages

_NEVER_READ: Final = "This server does not host this topic-partition."
"""Kafka's words where nobody has read from the partition as a member of the group."""

_MS_PER_S: Final = 1000

Answers = dict[SharedPartition, Answer]
Batch = (
    messages.ShareAcknowledgeRequest.AcknowledgementBatch
    | messages.ShareFetchRequest.AcknowledgementBatch
)
Said = Mapping[SharedPartition, Sequence[Batch]]
"""What a request says about the records of partitions."""


class _Part(NamedTuple):
    """A part of what a member says about a partition, and how many runs it adds."""

    said: Sequence[Acknowledgement]
    run_count: int


@answers_when_flushed
async def handle(context: HandlerContext, request: Request) -> Parts:
    """Take what a member says about records that it has acquired.

    See: G-114, K-30 (KafkaApis.handleShareAcknowledgeRequest).
    """
    body = decode(messages.ShareAcknowledgeRequest, request)
    message = messages.ShareAcknowledgeResponse
    group_id = body.group_id or ""
    try:
        check_reader(context, group_id)
        member_id = check_member(body.member_id)
        if body.share_session_epoch == INITIAL_EPOCH:
            raise InvalidShareSessionEpoch
        sessions = sessions_of(context)
        if body.share_session_epoch == FINAL_EPOCH:
            session = sessions.find(group_id, member_id)
        else:
            session = sessions.go_on(group_id, member_id, body.share_session_epoch)
        answers = await acknowledge_all(
            context, group_id, member_id, await said_by(body), may_renew=body.is_renew_ack
        )
        if body.share_session_epoch == FINAL_EPOCH:
            end_session(context, session)
        await wait_until_kept(context, request, group_id, answers)
    except BrokerError as error:
        refusal = message(error_code=error.code, error_message=error.message)
        return encode(message, refusal, request)
    settings = context.groups.shares.settings_of(group_id)
    response = message(acquisition_lock_timeout_ms=settings.lock_duration_ms)
    topics: dict[bytes, messages.ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] = {}
    leaders = []
    turns = Turns()
    for partition, answer in answers.items():
        await turns.turn()
        topic = topics.get(partition.topic_id)
        if topic is None:
            topic = message.ShareAcknowledgeTopicResponse(topic_id=partition.topic_id)
            topics[partition.topic_id] = topic
            response.responses.append(topic)
        error_of = answer.error or answer.acknowledge_error
        leaders.append(current_leader(context, partition, error_of))
        leader_id, leader_epoch = leaders[-1] or (0, 0)
        topic.partitions.append(
            message.PartitionData(
                partition_index=partition.partition,
                error_code=0 if error_of is None else error_of.code,
                error_message=None if error_of is None else error_of.message,
                current_leader=message.LeaderIdAndEpoch(
                    leader_id=leader_id, leader_epoch=leader_epoch
                ),
            )
        )
    response.node_endpoints = [
        message.NodeEndpoint(node_id=each[0], host=each[1], port=each[2], rack=each[3])
        for each in endpoints(context, leaders)
    ]
    return encode(message, response, request)


async def said_by(body: "messages.ShareAcknowledgeRequest | messages.ShareFetchRequest") -> Said:
    """Return what a request says about records, without partitions of which it says nothing."""
    said: dict[SharedPartition, list[Batch]] = {}
    turns = Turns()
    for topic in body.topics:
        for one in topic.partitions:
            await turns.turn()
            if one.acknowledgement_batches:
                key = SharedPartition(topic.topic_id, one.partition_index)
                said.setdefault(key, []).extend(one.acknowledgement_batches)
    return said


async def acknowledge_all(
    context: HandlerContext, group_id: str, member_id: str, said: Said, *, may_renew: bool
) -> Answers:
    """Take what a member says about records; return the answer for each partition."""
    answers: Answers = {}
    turns = Turns()
    for partition, batches in said.items():
        await turns.turn()
        answer = answers[partition] = Answer(partition)
        answer.is_acknowledged = True
        try:
            found = find(context, group_id, partition)
        except BrokerError as error:
            answer.error = error.with_traceback(None)
            continue
        try:
            checked = checked_acknowledgements(map(_acknowledgement, batches), may_renew=may_renew)
            accepted = [each async for each in in_turns(checked)]
            answer.keeping = await _acknowledge(context.groups.shares, found, member_id, accepted)
        except BrokerError as error:
            answer.acknowledge_error = error.with_traceback(None)
    return answers


def _acknowledgement(batch: Batch) -> Acknowledgement:
    return Acknowledgement(batch.first_offset, batch.last_offset, batch.acknowledge_types)


async def wait_until_kept(
    context: HandlerContext, request: Request, group_id: str, answers: Answers
) -> None:
    """Wait until what was acknowledged is kept, and its replicas have it.

    It is told of partitions where that fails.

    See: K-27, K-28.
    """
    shares: Shares = context.groups.shares
    await _wait_for_keepers(context, request, answers)
    if not shares.may_lag:
        return
    waiting = {
        ShareKey(group_id, *partition): answer
        for partition, answer in answers.items()
        if answer.is_acknowledged and answer.error is None and answer.acknowledge_error is None
    }
    leave_lane(request)
    for key in await shares.unreplicated(waiting):
        waiting[key].acknowledge_error = CoordinatorNotAvailable()


async def _wait_for_keepers(context: HandlerContext, request: Request, answers: Answers) -> None:
    """Wait for the process that keeps the states, but not for ever: it may hang."""
    waiting = [(each, each.keeping) for each in answers.values() if each.keeping is not None]
    if not waiting:
        return
    leave_lane(request)
    timeout_s = context.settings.share_coordinator_write_timeout_ms / _MS_PER_S
    await asyncio.wait({keeping for _, keeping in waiting}, timeout=timeout_s)
    for answer, keeping in waiting:
        error = keeping.result() if keeping.done() else CoordinatorNotAvailable()
        answer.acknowledge_error = answer.acknowledge_error or error


async def _acknowledge(
    shares: Shares, found: Found, member_id: str, batches: Sequence[Acknowledgement]
) -> Keeping | None:
    """Take what a member says about records of one partition, in turns if it is very much.

    Returns:
        What tells whether it is kept; None if it is already.

    Raises:
        BrokerError: it does not count; or only a first part of it does, because its locks ended or
            it could not be written.
    """
    if not is_little(batches):  # what most members say needs no turns
        start = _opened(shares, found).start_offset
        batches = [each async for each in in_turns(batches) if each.last_offset >= start]
    now_ms = shares.run_due(found.key)
    if is_little(batches):
        update = acknowledge(_opened(shares, found), member_id, batches, now_ms)
        return shares.settle(found.key, update, found.log.leader_epoch)
    parts, begin = list[_Part](), 0
    async for part in in_turns(in_parts(_opened(shares, found), batches), at_least=1):
        # nothing counts unless all parts are right
        check_acquired(_opened(shares, found), member_id, part, begin)
        parts.append(_Part(part, runs_added(_opened(shares, found), part, begin)))
        begin = part[-1].last_offset + 1
    check_room(_opened(shares, found), sum([each.run_count for each in parts]))
    return await _acknowledge_parts(shares, found, member_id, parts)


async def _acknowledge_parts(
    shares: Shares,
    found: Found,
    member_id: str,
    parts: Sequence[_Part],
) -> Keeping | None:
    """Take what a member says about records of one partition, part by part, if there is room.

    Others have their turns in between. So the memory is held from the first part on: who comes
    meanwhile does not get it, and no part is refused because what is kept of those before it
    takes memory, too.

    See: K-36.
    """
    keeping: Keeping | None = None
    held_count = sum([each.run_count for each in parts])
    shares.held.add_runs(held_count)
    try:
        async for said, run_count in in_turns(parts, at_least=1):
            now_ms = shares.run_due(found.key)
            shares.held.add_runs(-run_count)
            held_count -= run_count
            partition = _opened(shares, found)
            update = acknowledge(partition, member_id, said, now_ms, has_room=True)
            keeping = shares.settle(found.key, update, found.log.leader_epoch) or keeping
    finally:
        shares.held.add_runs(-held_count)
    return keeping


def _opened(shares: Shares, found: Found) -> SharePartition:
    """Return a share partition that a member of the group has read from.

    Raises:
        UnknownTopicOrPartition: nobody has.
    """
    partition = shares.partition(found.key)
    if partition is None:
        raise UnknownTopicOrPartition(_NEVER_READ)
    partition.advance_to(found.log.log_start_offset)
    return partition

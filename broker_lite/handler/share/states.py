"""ReadShareGroupState (84), WriteShareGroupState (85): the states that this process keeps.

Leaders in other processes send them. Clients do not: they are in no table of APIs. How states begin
and end is decided in this process, so the other requests of Kafka's brokers for states are not
needed.

What they have as state epoch is the number of the state (Serials): a group that is made anew has
the epochs of the old one, and a change of the old one may still be on its way.

Both go through very many batches in slices, so that clients have their turn in between.

- WriteShareGroupState: v1 has how many records are done.
"""

from collections.abc import Sequence
from typing import Final

from broker_lite.control.coordinators.share_service import Shares
from broker_lite.coordinator.share_records.held_states import NO_ROOM
from broker_lite.coordinator.share_records.state import StateBatch, StateUpdate
from broker_lite.coordinator.share_records.states import KeptState, ShareKey
from broker_lite.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    ErrorCode,
    FencedLeaderEpoch,
    FencedStateEpoch,
)
from broker_lite.handler.codec import decode, encode, encode_long
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.flushed import answers_when_flushed
from broker_lite.handler.large import Turns
from broker_lite.handler.share.partition import has_state
from broker_lite.handler.share.state_batches import from_structs, to_structs
from broker_lite.wire import messages

_RUNS_PER_BATCH: Final = 2
"""A batch adds at most so many runs to a state: it splits one in two, and is between them."""


@answers_when_flushed
async def handle_read(context: HandlerContext, request: Request) -> Parts:
    """Tell the states of share partitions; 3 for those that have none.

    See: K-28.
    """
    body = decode(messages.ReadShareGroupStateRequest, request)
    message = messages.ReadShareGroupStateResponse
    response = message()
    turns = Turns()
    for topic in body.topics:
        result = message.ReadStateResult(topic_id=topic.topic_id)
        response.results.append(result)
        for each in topic.partitions:
            await turns.turn()
            key = ShareKey(body.group_id, topic.topic_id, each.partition)
            result.partitions.append(_read(context, key))
    return await encode_long(message, response, request)


def _read(
    context: HandlerContext, key: ShareKey
) -> "messages.ReadShareGroupStateResponse.PartitionResult":
    message = messages.ReadShareGroupStateResponse
    try:
        state = context.groups.shares.log.get(key) if has_state(context, key) else None
    except BrokerError as error:
        return message.PartitionResult(
            partition=key.partition, error_code=error.code, error_message=error.message
        )
    if state is None:
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return message.PartitionResult(partition=key.partition, error_code=unknown)
    return message.PartitionResult(
        partition=key.partition,
        state_epoch=state.serial,
        start_offset=state.start_offset,
        state_batches=to_structs(state.batches, message.StateBatch),
    )


@answers_when_flushed
async def handle_write(context: HandlerContext, request: Request) -> Parts:
    """Change states of share partitions in the order of the request.

    If a change fails, later ones of the same state in the request fail, too.

    See: K-28.
    """
    body = decode(messages.WriteShareGroupStateRequest, request)
    message = messages.WriteShareGroupStateResponse
    response = message()
    failed: dict[ShareKey, BrokerError] = {}
    turns = Turns()
    for topic in body.topics:
        result = message.WriteStateResult(topic_id=topic.topic_id)
        response.results.append(result)
        for each in topic.partitions:
            await turns.turn()
            key = ShareKey(body.group_id, topic.topic_id, each.partition)
            batches = await from_structs(each.state_batches, turns)
            if key not in failed:
                try:
                    _write(context, key, each, batches)
                except BrokerError as error:
                    failed[key] = error.with_traceback(None)
            why = failed.get(key)
            result.partitions.append(
                message.PartitionResult(
                    partition=key.partition,
                    error_code=0 if why is None else why.code,
                    error_message=None if why is None else why.message,
                )
            )
    return encode(message, response, request)


def _write(
    context: HandlerContext,
    key: ShareKey,
    said: "messages.WriteShareGroupStateRequest.PartitionData",
    batches: Sequence[StateBatch],
) -> None:
    """Change one state; `batches` are those of the change.

    Raises:
        BrokerError: it does not change.
    """
    log = context.groups.shares.log
    log.check(key)
    _check_epochs(log.get(key), said.state_epoch, said.leader_epoch)
    update = StateUpdate(said.start_offset, said.delivery_complete_count, batches)
    _check_room(context.groups.shares, key, update)
    log.update(key, update, said.leader_epoch)


def _check_room(shares: Shares, key: ShareKey, update: StateUpdate) -> None:
    """Demand that there is memory for what a change adds to a state.

    The leaders count what they have in flight, each for itself; what is kept is counted here. For
    one run more there is some room beyond that, because a member has acknowledged a whole one.

    Raises:
        CoordinatorNotAvailable: there is not.

    See: K-36.
    """
    held = shares.held
    if held.may_keep(_RUNS_PER_BATCH * len(update.batches)):
        return
    growth = shares.log.states.growth(key, update)
    may_keep = held.may_keep_whole() if growth == 1 else held.may_keep(growth)
    if growth > 0 and not may_keep:
        raise CoordinatorNotAvailable(NO_ROOM)


def _check_epochs(state: KeptState | None, serial: int, leader_epoch: int) -> None:
    """Demand that a change is about the state as it is.

    Args:
        state: as it is; None if there is none.
        serial: the number of the state that the leader has read.
        leader_epoch: of the leader.

    Raises:
        FencedStateEpoch: the state has begun anew, or ended, since it was read.
        FencedLeaderEpoch: a later leader has changed it.

    Rule: K-28 (ShareCoordinatorShard.maybeGetWriteStateError).
    """
    if state is None or state.serial != serial:
        raise FencedStateEpoch
    if leader_epoch < state.leader_epoch:
        raise FencedLeaderEpoch

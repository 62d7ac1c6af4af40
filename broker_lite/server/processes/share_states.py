"""What the leaders of share partitions and the process that keeps their states send to each other.

Leaders read and write states by the requests of Kafka's brokers. In the other direction they are
told which states begin anew.

Source: PersisterStateManager.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from broker_lite.control.cluster.cluster import Cluster
from broker_lite.control.coordinators.kept_states import StateWrite
from broker_lite.control.coordinators.share_leaders import share_leader
from broker_lite.coordinator.share_records.states import KeptState, ShareKey
from broker_lite.errors import (
    BrokerError,
    CoordinatorNotAvailable,
    ErrorCode,
    KafkaStorageError,
    NotLeaderOrFollower,
    UnknownServerError,
    UnknownTopicOrPartition,
)
from broker_lite.handler.large import Turns
from broker_lite.handler.share.state_batches import from_structs, to_structs
from broker_lite.server.processes.between_brokers import ask, ask_long
from broker_lite.server.processes.channel import CallFailed, Channel, ChannelClosed, Kind
from broker_lite.wire import messages

_READ_STATE: Final = 84, 0
_WRITE_STATE: Final = 85, 1
_SHORT_BATCHES_MAX: Final = 256
"""A request of so many batches is encoded at once."""

# What clients are told of the errors of states, as Kafka's leaders do.
_ERRORS: Final[Mapping[int, type[BrokerError]]] = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE: CoordinatorNotAvailable,
    ErrorCode.KAFKA_STORAGE_ERROR: KafkaStorageError,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: NotLeaderOrFollower,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopicOrPartition,
    ErrorCode.FENCED_STATE_EPOCH: NotLeaderOrFollower,
    ErrorCode.FENCED_LEADER_EPOCH: NotLeaderOrFollower,
}


def _error_of(code: int, message: str | None = None) -> BrokerError | None:
    """Return what is told of an error code.

    Source: SharePartition.fetchPersisterError.
    """
    if not code:
        return None
    error = _ERRORS.get(code, UnknownServerError)
    return error() if message is None else error(message)


class StatesInFirst:
    """Asks the first process, which keeps the states; see AsksForStates."""

    def __init__(self, channel: Channel) -> None:
        """Remember the way there."""
        self._channel = channel

    async def read(
        self, group_id: str, keys: Sequence[ShareKey]
    ) -> Mapping[ShareKey, KeptState | BrokerError]:
        """See AsksForStates."""
        types = messages.ReadShareGroupStateRequest
        topics: dict[bytes, list[messages.ReadShareGroupStateRequest.PartitionData]] = {}
        for _, topic_id, index in keys:
            topics.setdefault(topic_id, []).append(types.PartitionData(partition=index))
        body = types(
            group_id=group_id,
            topics=[types.ReadStateData(topic_id=each, partitions=topics[each]) for each in topics],
        )
        try:
            answer = await ask(self._channel, _READ_STATE, body)
        except (ChannelClosed, CallFailed):
            return {key: CoordinatorNotAvailable() for key in keys}
        found: dict[ShareKey, KeptState | BrokerError] = {}
        turns = Turns()
        for result in answer.results:
            for each in result.partitions:
                if each.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    continue
                key = ShareKey(group_id, result.topic_id, each.partition)
                error = _error_of(each.error_code, each.error_message)
                found[key] = await _state_of(each, turns) if error is None else error
        return found

    async def write(
        self, group_id: str, writes: Sequence[StateWrite]
    ) -> Sequence[BrokerError | None]:
        """See AsksForStates."""
        types = messages.WriteShareGroupStateRequest
        # a topic for each, because the order counts
        topics = [
            types.WriteStateData(topic_id=each.key.topic_id, partitions=[_written(each)])
            for each in writes
        ]
        is_long = sum([len(each.update.batches) for each in writes]) > _SHORT_BATCHES_MAX
        send = ask_long if is_long else ask
        try:
            body = types(group_id=group_id, topics=topics)
            answer = await send(self._channel, _WRITE_STATE, body)
        except (ChannelClosed, CallFailed):
            return [CoordinatorNotAvailable() for _ in writes]
        return [
            _error_of(each.error_code, each.error_message)
            for result in answer.results
            for each in result.partitions
        ]


async def _state_of(
    said: "messages.ReadShareGroupStateResponse.PartitionResult", turns: Turns
) -> KeptState:
    state = KeptState(said.start_offset, said.state_epoch, 0)
    state.batches = await from_structs(said.state_batches, turns)
    return state


def _written(write: StateWrite) -> "messages.WriteShareGroupStateRequest.PartitionData":
    types = messages.WriteShareGroupStateRequest
    update = write.update
    return types.PartitionData(
        partition=write.key.partition,
        state_epoch=write.state_epoch,
        leader_epoch=write.leader_epoch,
        start_offset=update.start_offset,
        delivery_complete_count=update.complete_count,
        state_batches=to_structs(update.batches, types.StateBatch),
    )


class StartsElsewhere:
    """Tells leaders in other processes which states begin anew, or end."""

    def __init__(self, cluster: Cluster, find: Callable[[int], Channel | None]) -> None:
        """Begin.

        Args:
            cluster: knows the leaders.
            find: returns the channel to the process of a broker; None if it is not there.
        """
        self._cluster = cluster
        self._find = find

    def __call__(self, keys: Iterable[ShareKey]) -> None:
        """Tell of share partitions; what this process or nobody leads is left out."""
        by_leader: dict[int, list[ShareKey]] = {}
        for key in keys:
            by_leader.setdefault(share_leader(self._cluster, key).leader, []).append(key)
        for leader, some in by_leader.items():
            channel = self._find(leader)
            if channel is not None:
                channel.tell(Kind.SHARE_STARTS, encode_keys(some))


def encode_keys(keys: Iterable[ShareKey]) -> bytes:
    """Return share partitions as bytes."""
    named: dict[str, dict[str, list[int]]] = {}
    for group_id, topic_id, index in keys:
        named.setdefault(group_id, {}).setdefault(topic_id.hex(), []).append(index)
    return json.dumps(named, separators=(",", ":")).encode()


def decode_keys(data: bytes) -> Iterator[ShareKey]:
    """Return the share partitions in some bytes."""
    for group_id, topics in json.loads(data).items():
        for topic_id, indexes in topics.items():
            for index in indexes:
                yield ShareKey(group_id, bytes.fromhex(topic_id), index)

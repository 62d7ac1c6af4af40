"""The states of all share partitions that are kept, and their records in `__share_group_state`.

A ShareSnapshot has a whole state, a ShareUpdate what has changed since the record before it. After
so many updates a snapshot is written again. So a state is read from its last snapshot on.

Rule: K-21 (ShareCoordinatorShard).
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from struct import error as StructError
from typing import Any, Final, NamedTuple

from broker_lite.coordinator.effects import NO_START, ShareStart, StateRecord
from broker_lite.coordinator.share_records.held_states import HeldStates
from broker_lite.coordinator.share_records.serials import Begin, Serials
from broker_lite.coordinator.share_records.state import StateBatch, StateUpdate, joined, overlay
from broker_lite.wire import DecodeError, messages
from broker_lite.wire.structs import EncodedElements

_INT16: Final = Struct(">h")
_VERSION_0: Final = b"\x00\x00"
_SNAPSHOT: Final = 0
_SNAPSHOT_TYPE: Final = b"\x00\x00"
_UPDATE: Final = 1
_UPDATE_TYPE: Final = b"\x00\x01"
# A StateBatch of a ShareSnapshot or ShareUpdate of version 0: both offsets, state, delivery count,
# and no tagged fields.
_STATE_BATCH: Final = Struct(">qqbhx")


class ShareKey(NamedTuple):
    """A share partition: the group, the topic and the partition's index."""

    group_id: str
    topic_id: bytes
    partition: int


class KeptState:
    """The state of one share partition.

    Attributes:
        start_offset: NO_START until the first change after a reader has begun.
        complete_count: how many records from there on are done.
        batches: what became of records from there on.
        state_epoch: the epoch of the group when the state began.
        serial: the number of the state, see Serials.
        snapshot_epoch: how many snapshots came before the last one.
        leader_epoch: of the partition's leader at the last change.
        update_count: how many updates have followed the last snapshot.
        created_ms: when the state began.
        place: the partition of the log that has it.
    """

    __slots__ = (
        "batches",
        "complete_count",
        "created_ms",
        "leader_epoch",
        "place",
        "serial",
        "snapshot_epoch",
        "start_offset",
        "state_epoch",
        "update_count",
    )

    def __init__(self, start_offset: int, state_epoch: int, created_ms: int) -> None:
        self.start_offset = start_offset
        self.state_epoch = state_epoch
        self.created_ms = created_ms
        self.snapshot_epoch = 0
        self.leader_epoch = 0
        self.complete_count = 0 if start_offset != NO_START else -1
        self.update_count = 0
        self.batches: list[StateBatch] = []
        self.place = 0
        self.serial = 0

    @property
    def begin(self) -> Begin:
        """When the state began."""
        return Begin(self.state_epoch, self.created_ms)


def _one_place(_key: ShareKey) -> int:
    return 0


class ShareStates:
    """All states by share partition.

    Attributes:
        updates_max: how many updates may follow a snapshot.
    """

    def __init__(
        self,
        updates_max: int,
        place_of: Callable[[ShareKey], int] = _one_place,
        held: HeldStates | None = None,
    ) -> None:
        """Begin without a state.

        Args:
            updates_max: how many updates may follow a snapshot.
            place_of: returns the partition of the log that has a state.
            held: counts the runs of all states; None to count them for these alone.
        """
        self.updates_max = updates_max
        self._held = held or HeldStates()
        self._place_of = place_of
        self._by_key: dict[ShareKey, KeptState] = {}
        self._keys: dict[int, dict[ShareKey, None]] = {}
        self._serials = Serials()

    def get(self, key: ShareKey) -> KeptState | None:
        """Return a state; None if there is none."""
        return self._by_key.get(key)

    def __len__(self) -> int:
        """Return how many share partitions have a state."""
        return len(self._by_key)

    def __iter__(self) -> Iterator[ShareKey]:
        """Iterate over the share partitions that have a state."""
        return iter(self._by_key)

    def keys_of(self, place: int) -> list[ShareKey]:
        """Return the share partitions whose states a partition of the log has."""
        return [*self._keys.get(place, ())]

    def start(self, start: ShareStart, now_ms: int) -> StateRecord:
        """Begin a state anew, or end it; return the record of that.

        See: K-03, K-04 (ShareCoordinatorShard.initializeState, deleteState).
        """
        key = ShareKey(*start[:3])
        if start.start_offset is None:
            self._pop(key)
            return StateRecord(snapshot_key(key), None)
        before = self._by_key.get(key)
        state = KeptState(start.start_offset, start.state_epoch, now_ms)
        if before is not None:
            state.snapshot_epoch = before.snapshot_epoch + 1
        self._begin(key, state)
        return self._snapshot(key, state, now_ms)

    def update(
        self, key: ShareKey, update: StateUpdate, leader_epoch: int, now_ms: int
    ) -> StateRecord:
        """Change a state; return the record of that.

        A state that does not exist begins: its group may have been deleted meanwhile in a way that
        a reader has not noticed.
        """
        state = self._by_key.get(key)
        if state is None:
            state = self._begin(key, KeptState(NO_START, 0, now_ms))
            state.update_count = self.updates_max
        self._change(state, update)
        state.leader_epoch = leader_epoch
        if state.update_count >= self.updates_max:
            return self.snapshot(key, now_ms)
        state.update_count += 1
        message = messages.ShareUpdateValue
        value = message(
            snapshot_epoch=state.snapshot_epoch,
            leader_epoch=leader_epoch,
            start_offset=update.start_offset,
            delivery_complete_count=update.complete_count,
            state_batches=_encoded(update.batches),
        )
        group_id, topic_id, partition = key
        of_update = messages.ShareUpdateKey(
            group_id=group_id, topic_id=topic_id, partition=partition
        )
        return StateRecord(
            _UPDATE_TYPE + messages.ShareUpdateKey.encode(of_update, 0),
            _VERSION_0 + message.encode(value, 0),
        )

    def growth(self, key: ShareKey, update: StateUpdate) -> int:
        """Return how many runs more a state would have after a change; negative for fewer."""
        batches = self._by_key[key].batches
        start_offset = max(self._by_key[key].start_offset, update.start_offset)
        return len(overlay(batches, update.batches, start_offset)) - len(batches)

    def snapshot(self, key: ShareKey, now_ms: int) -> StateRecord:
        """Return a record with the whole state, which replaces all before it."""
        state = self._by_key[key]
        state.snapshot_epoch += 1
        return self._snapshot(key, state, now_ms)

    def _snapshot(self, key: ShareKey, state: KeptState, now_ms: int) -> StateRecord:
        state.update_count = 0
        message = messages.ShareSnapshotValue
        value = message(
            snapshot_epoch=state.snapshot_epoch,
            state_epoch=state.state_epoch,
            leader_epoch=state.leader_epoch,
            start_offset=state.start_offset,
            delivery_complete_count=state.complete_count,
            create_timestamp=state.created_ms,
            write_timestamp=now_ms,
            state_batches=_encoded(state.batches),
        )
        return StateRecord(snapshot_key(key), _VERSION_0 + message.encode(value, 0))

    # -- loading

    def replay(self, key: bytes, value: bytes | None) -> None:
        """Apply a record of the log.

        Raises:
            DecodeError: it cannot be read.
        """
        try:
            self._replay(key, value)
        except (StructError, ValueError) as error:
            raise DecodeError(f"a record of key {key!r:.100} is broken: {error}") from error

    def _replay(self, data: bytes, value: bytes | None) -> None:
        record_type = _INT16.unpack_from(data)[0]
        said, _ = messages.ShareSnapshotKey.decode(data, 0, _INT16.size)
        key = ShareKey(said.group_id, said.topic_id, said.partition)
        if record_type == _SNAPSHOT:
            if value is None:
                self._pop(key)
            else:
                self._put_read(key, _read_snapshot(value))
        elif record_type == _UPDATE and value is not None:
            state = self._by_key.get(key)
            if state is not None:
                update, _ = messages.ShareUpdateValue.decode(value, 0, _INT16.size)
                batches = [_batch(each) for each in update.state_batches]
                start, complete = update.start_offset, update.delivery_complete_count
                self._change(state, StateUpdate(start, complete, batches))
                state.leader_epoch = update.leader_epoch
                state.update_count += 1

    def end_replay(self, place: int) -> None:
        """Note that a partition of the log was read to its end."""
        self._serials.end_reading(place)

    def forget(self, keys: Iterable[ShareKey]) -> None:
        """Drop states from memory; those that are read again are known to be the same."""
        for key in [*keys]:
            state = self._by_key.get(key)
            if state is not None:
                self._serials.forget(state.place, key, state.begin, state.serial)
                self._pop(key)

    def forget_all(self) -> None:
        """Drop all states from memory, because their log was deleted."""
        for key in [*self._by_key]:
            self._pop(key)
        self._serials.forget_all()

    def _begin(self, key: ShareKey, state: KeptState) -> KeptState:
        state.serial = self._serials.new()
        return self._put(key, state)

    def _put_read(self, key: ShareKey, state: KeptState) -> None:
        before = self._by_key.get(key)
        self._put(key, state)
        if before is not None and before.begin == state.begin:
            state.serial = before.serial
        else:
            state.serial = self._serials.of_read(state.place, key, state.begin)

    def _put(self, key: ShareKey, state: KeptState) -> KeptState:
        before = self._by_key.get(key)
        state.place = self._place_of(key) if before is None else before.place
        self._held.add_kept(len(state.batches) - (0 if before is None else len(before.batches)))
        self._by_key[key] = state
        self._keys.setdefault(state.place, {})[key] = None
        return state

    def _pop(self, key: ShareKey) -> None:
        state = self._by_key.pop(key, None)
        if state is not None:
            self._held.add_kept(-len(state.batches))
            keys = self._keys[state.place]
            del keys[key]
            if not keys:
                del self._keys[state.place]

    def _change(self, state: KeptState, update: StateUpdate) -> None:
        before = len(state.batches)
        state.start_offset = max(state.start_offset, update.start_offset)
        state.complete_count = update.complete_count
        state.batches = overlay(state.batches, update.batches, state.start_offset)
        self._held.add_kept(len(state.batches) - before)


def _read_snapshot(value: bytes) -> KeptState:
    said, _ = messages.ShareSnapshotValue.decode(value, 0, _INT16.size)
    state = KeptState(said.start_offset, said.state_epoch, said.create_timestamp)
    state.snapshot_epoch = said.snapshot_epoch
    state.leader_epoch = said.leader_epoch
    state.complete_count = said.delivery_complete_count
    state.batches = joined((_batch(each) for each in said.state_batches), said.start_offset)
    return state


def _batch(
    said: "messages.ShareSnapshotValue.StateBatch | messages.ShareUpdateValue.StateBatch",
) -> StateBatch:
    return StateBatch(said.first_offset, said.last_offset, said.delivery_state, said.delivery_count)


def snapshot_key(key: ShareKey) -> bytes:
    """Return the key of a share partition's snapshots."""
    message = messages.ShareSnapshotKey
    return _SNAPSHOT_TYPE + message.encode(message(**key._asdict()), 0)


def coordinator_key(key: ShareKey) -> str:
    """Return the text that says where the state of a share partition is kept.

    Rule: K-22 (SharePartitionKey.asCoordinatorKey).
    """
    topic = urlsafe_b64encode(key.topic_id).rstrip(b"=").decode()
    return f"{key.group_id}:{topic}:{key.partition}"


def _encoded(batches: Iterable[StateBatch]) -> list[Any]:
    """Encode what became of records, without an object for each of very many runs.

    For the type checker it is a list of anything: encoders take it in place of the structs.
    """
    pack = _STATE_BATCH.pack
    return EncodedElements([pack(*batch) for batch in batches])

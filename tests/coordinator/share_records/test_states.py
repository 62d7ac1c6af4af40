"""The kept states and their records; golden records are those of Kafka 4.3.1."""

import pytest

from broker_lite.coordinator.effects import ShareStart, StateRecord
from broker_lite.coordinator.share_records.state import StateBatch, StateUpdate
from broker_lite.coordinator.share_records.states import (
    ShareKey,
    ShareStates,
    coordinator_key,
    snapshot_key,
)
from broker_lite.wire import DecodeError, messages

TOPIC_ID = bytes.fromhex("97431c87e4d3404b53b03e4f59a1c468")
KEY = ShareKey("ga3", b"t" * 16, 0)


def started(updates_max: int = 500, start: int = -1) -> ShareStates:
    states = ShareStates(updates_max)
    states.start(ShareStart(*KEY, start, 2), 100)
    return states


def test_k22_the_place_of_a_state() -> None:
    assert coordinator_key(ShareKey("g:h", bytes(16), 3)) == "g:h:AAAAAAAAAAAAAAAAAAAAAA:3"


def test_k03_a_snapshot_begins_a_state() -> None:
    record = ShareStates(500).start(ShareStart(*KEY, -1, 2), 100)
    key, _ = messages.ShareSnapshotKey.decode(record.key, 0, 2)
    assert (record.key[:2], key.group_id, key.topic_id, key.partition) == (b"\0\0", *KEY)
    assert record.value is not None
    value, end = messages.ShareSnapshotValue.decode(record.value, 0, 2)
    assert end == len(record.value) == 40
    assert (value.snapshot_epoch, value.state_epoch, value.leader_epoch) == (0, 2, 0)
    assert (value.start_offset, value.delivery_complete_count) == (-1, -1)
    assert (value.create_timestamp, value.write_timestamp, value.state_batches) == (100, 100, [])


def test_k21_an_update_has_what_changed() -> None:
    states = started()
    update = StateUpdate(0, 10, [StateBatch(0, 9, 2, 1)])
    record = states.update(KEY, update, 3, 200)
    assert record.key[:2] == b"\0\1"
    assert record.value is not None
    assert len(record.value) == 46
    value, _ = messages.ShareUpdateValue.decode(record.value, 0, 2)
    assert (value.snapshot_epoch, value.leader_epoch, value.start_offset) == (0, 3, 0)
    assert value.delivery_complete_count == 10
    state = states.get(KEY)
    assert state is not None
    assert (state.start_offset, state.batches) == (0, [(0, 9, 2, 1)])


def test_k21_a_snapshot_follows_some_updates_and_both_are_read_back() -> None:
    states = started(2, 0)
    read = ShareStates(2)
    first = ShareStates(2).start(ShareStart(*KEY, 0, 2), 100)
    read.replay(*first)
    kinds = []
    for step in range(7):
        batch = StateBatch(step * 10, step * 10 + 4, 2 if step % 2 else 0, 1)
        record = states.update(KEY, StateUpdate(step * 5, step, [batch]), 1, step)
        kinds.append(record.key[1])
        read.replay(*record)
        one, other = states.get(KEY), read.get(KEY)
        assert one is not None
        assert other is not None
        for name in ("batches", "start_offset", "complete_count", "leader_epoch", "update_count"):
            assert getattr(one, name) == getattr(other, name), name
    assert kinds == [1, 1, 0, 1, 1, 0, 1]


def test_k04_a_tombstone_ends_a_state() -> None:
    states = started()
    record = states.start(ShareStart(*KEY, None, 0), 200)
    assert record == (snapshot_key(KEY), None)
    assert states.get(KEY) is None
    read = started()
    read.replay(*record)
    assert [*read] == []


def test_a_new_start_raises_the_epoch_of_the_snapshot() -> None:
    states = started()
    states.start(ShareStart(*KEY, 7, 4), 300)
    state = states.get(KEY)
    assert state is not None
    assert (state.snapshot_epoch, state.state_epoch, state.start_offset) == (1, 4, 7)


def test_an_update_of_an_unknown_state() -> None:
    states = ShareStates(500)
    record = states.update(KEY, StateUpdate(5, 0, []), 0, 1)
    assert record.key[:2] == b"\0\0"
    read = ShareStates(500)
    update = started().update(KEY, StateUpdate(5, 0, []), 0, 1)
    read.replay(*update)
    assert [*read] == []
    states.forget(states)
    assert [*states] == []


@pytest.mark.parametrize("key", [b"", b"\0\0\0", b"\0\1\0\1g"])
def test_a_broken_record(key: bytes) -> None:
    with pytest.raises(DecodeError):
        ShareStates(1).replay(key, b"")


def test_the_states_of_a_partition_of_the_log() -> None:
    states = ShareStates(1, lambda key: key.partition % 2)
    keys = [KEY._replace(partition=each) for each in range(4)]
    for key in keys:
        states.start(ShareStart(*key, -1, 2), 100)
    assert states.keys_of(0) == [keys[0], keys[2]]
    states.start(ShareStart(*keys[0], 7, 3), 100)
    states.start(ShareStart(*keys[1], None, 3), 100)
    assert (states.keys_of(0), states.keys_of(1)) == ([keys[0], keys[2]], [keys[3]])
    states.forget(keys)
    assert (states.keys_of(0), states.keys_of(1)) == ([], [])
    read = ShareStates(1, lambda _key: 5)
    read.replay(*ShareStates(1).start(ShareStart(*KEY, -1, 2), 100))
    assert read.keys_of(5) == [KEY]
    read.replay(snapshot_key(KEY), None)
    assert read.keys_of(5) == []


def serial_of(states: ShareStates) -> int:
    state = states.get(KEY)
    assert state is not None
    return state.serial


def test_k28_each_state_that_begins_has_a_number_of_its_own() -> None:
    states = ShareStates(2)
    log, serials = list[StateRecord](), list[int]()
    for start_offset in (-1, 7, None, -1):  # within one millisecond
        log.append(states.start(ShareStart(*KEY, start_offset, 2), 100))
        if start_offset is not None:
            serials.append(serial_of(states))
            for _ in range(3):  # the third one is a snapshot
                log.append(states.update(KEY, StateUpdate(9, 0, []), 0, 101))
            assert serial_of(states) == serials[-1]
    assert len({0, *serials}) == 4
    states.forget([KEY])
    for record in log:
        states.replay(*record)
    assert serial_of(states) not in (0, *serials[:-1])


def test_k28_a_state_that_is_read_again_has_the_same_number() -> None:
    states = ShareStates(2)
    log = [states.start(ShareStart(*KEY, -1, 2), 100)]
    log += [states.update(KEY, StateUpdate(9, 0, []), 0, 101) for _ in range(3)]
    log += [states.start(ShareStart(*KEY, None, 2), 102)]
    log += [states.start(ShareStart(*KEY, -1, 2), 103)]
    log += [states.update(KEY, StateUpdate(9, 0, []), 0, 104) for _ in range(3)]
    serial = serial_of(states)
    for read in (2, len(log)):  # the first time the log cannot be read to its end
        states.forget(states)
        for record in log[:read]:
            states.replay(*record)
    assert serial_of(states) == serial
    states.end_replay(0)
    states.forget_all()
    for record in log:
        states.replay(*record)
    assert serial_of(states) != serial


def test_k36_how_much_a_state_grows_is_known_before() -> None:
    states = started()
    for update in (
        StateUpdate(0, 0, [StateBatch(0, 9, 0, 1)]),
        StateUpdate(0, 0, [StateBatch(4, 4, 2, 1)]),
        StateUpdate(5, 0, []),
    ):
        before = states.get(KEY)
        assert before is not None
        count, growth = len(before.batches), states.growth(KEY, update)
        states.update(KEY, update, 0, 1)
        after = states.get(KEY)
        assert after is not None
        assert len(after.batches) - count == growth
    assert states.growth(KEY, StateUpdate(10, 0, [])) == -1

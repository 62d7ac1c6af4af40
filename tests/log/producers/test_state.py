"""V-54 to V-65 as courses of appends on one partition, and S-43 recovery of the same state."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_lite import errors
from broker_lite.errors import ErrorCode
from broker_lite.log.producers.entry import AppendOrigin, ProducerEntry
from broker_lite.log.producers.snapshot import CorruptSnapshot
from broker_lite.log.producers.state import ProducerStateManager
from broker_lite.record.control import (
    ControlType,
    EndTransactionMarker,
    control_batch,
)
from tests.log.batches import BASE_TIMESTAMP, batch
from tests.log.partition import NOW_MS, Partition, view
from tests.log.producers.test_snapshot import CLOSED, EMPTY, OPEN

DAY_MS = 86_400_000
COMMIT = EndTransactionMarker(True, 4)
ABORT = EndTransactionMarker(False, 4)


def test_idempotent_sequences() -> None:
    """V-93, row by row."""
    partition = Partition()
    for sequence, count, epoch, expected in [
        (5, 1, 0, (0, 0)),
        (6, 3, 0, (0, 1)),
        (6, 3, 0, (0, 1)),
        (6, 2, 0, (45, -1)),
        (5, 1, 0, (0, 0)),
        (8, 1, 0, (45, -1)),
        (10, 1, 0, (45, -1)),
        (9, 1, 0, (0, 4)),
        (10, 1, 0, (0, 5)),
        (11, 1, 0, (0, 6)),
        (12, 1, 0, (0, 7)),
        (6, 3, 0, (0, 1)),
        (13, 1, 0, (0, 8)),
        (6, 3, 0, (45, -1)),
        (3, 1, 1, (45, -1)),
        (0, 1, 1, (0, 9)),
        (14, 1, 0, (47, -1)),
        (13, 1, 0, (47, -1)),
        (0, 1, 1, (0, 9)),
        (2, 1, 1, (45, -1)),
        (0, 1, 2, (0, 10)),
    ]:
        assert partition.append(sequence, count=count, epoch=epoch) == expected


@pytest.mark.parametrize(
    "course",
    [
        pytest.param([(2147483646, 4, 0, 0), (2, 1, 0, 4)], id="V-93-wrap-inside"),
        pytest.param([(2147483647, 1, 0, 0), (0, 1, 0, 1)], id="V-93-wrap-between"),
        pytest.param(
            [
                (7, 1, -1, 0),
                (3, 1, -1, 1),
                (7, 1, -1, 0),
                (3, 1, -1, 1),
                (4, 1, -1, 2),
                (9, 1, 0, 3),
            ],
            id="V-57-3-epoch--1",
        ),
        pytest.param(
            [(7, 1, -1, 0), (8, 1, -1, 1), (6, 1, -1, 2), (7, 1, -1, 0)],
            id="V-54-epoch--1-duplicate-that-looks-like-the-next",
        ),
    ],
)
def test_odd_but_good_sequences(course: list[tuple[int, int, int, int]]) -> None:
    partition = Partition()
    for sequence, count, epoch, base_offset in course:
        assert partition.append(sequence, count=count, epoch=epoch) == (0, base_offset)


def test_without_producer_id() -> None:
    """V-91: -1, -2 and so on are none, also with the transactional bit."""
    partition = Partition()
    for producer_id in (-1, -2):
        assert partition.append(-1, producer_id=producer_id, transactional=True)[0] == 0
    assert len(partition.state) == 0
    assert list(partition.state) == []
    assert partition.last_stable_offset == 2
    assert partition.state.replay(partition.written[0]) is None


def test_a_transaction() -> None:
    """V-94, row by row."""
    partition = Partition()
    state = partition.state
    assert partition.append(-1, producer_id=-1) == (0, 0)
    assert partition.append(0, count=2, transactional=True) == (0, 1)
    assert partition.last_stable_offset == 1
    assert partition.append(0, count=2, transactional=True) == (0, 1)
    assert partition.append(2, transactional=True) == (0, 3)
    assert partition.append(4, transactional=True) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert partition.append(3) == (ErrorCode.INVALID_TXN_STATE, -1)
    assert partition.append(0, producer_id=2) == (0, 4)
    assert partition.append(-1, producer_id=-1) == (0, 5)
    assert (partition.end, partition.last_stable_offset) == (6, 1)
    assert state.describe()[0] == (1, 0, 2, BASE_TIMESTAMP, -1, 1)
    completed = partition.end_transaction(ABORT)
    assert completed == (1, 1, 6, True)
    assert state.last_stable_offset_after(completed) == 7
    assert partition.last_stable_offset == 7
    assert partition.append(3, transactional=True) == (0, 7)
    completed = partition.end_transaction(COMMIT)
    assert completed == (1, 7, 8, False)
    assert partition.end_transaction(COMMIT) is None
    assert partition.append(4) == (0, 10)
    assert state.describe()[0] == (1, 0, 4, BASE_TIMESTAMP, 4, -1)


def test_interleaved_transactions() -> None:
    """V-64, S-16: the index stores the first open transaction of another producer."""
    partition = Partition()
    for producer_id in (1, 2, 3):
        partition.append(0, producer_id=producer_id, transactional=True)
    completed = partition.end_transaction(ABORT, producer_id=2)
    assert completed is not None
    assert partition.state.last_stable_offset_after(completed) == 0
    completed = partition.end_transaction(ABORT, producer_id=1)
    assert completed is not None
    assert partition.state.last_stable_offset_after(completed) == 2
    assert partition.last_stable_offset == 2
    partition.end_transaction(COMMIT, producer_id=3)
    assert partition.last_stable_offset == partition.end


def test_a_marker_above_the_watermark_holds_the_last_stable_offset() -> None:
    """V-64."""
    partition = Partition()
    state = partition.state
    partition.append(0, transactional=True)
    partition.append(0, producer_id=2, transactional=True)
    state.apply_marker(1, 0, COMMIT, offset=2, timestamp_ms=NOW_MS)
    assert state.first_unstable_offset == 0
    assert state.last_stable_offset(2) == 0
    state.high_watermark_moved(2)
    assert state.last_stable_offset(2) == 0
    state.high_watermark_moved(3)
    assert state.last_stable_offset(3) == 1
    assert state.last_stable_offset(1) == 1
    state.apply_marker(2, 0, COMMIT, offset=3, timestamp_ms=NOW_MS)
    assert state.first_unstable_offset == 1
    partition.append(0, producer_id=3, transactional=True)
    state.apply_marker(3, 0, COMMIT, offset=4, timestamp_ms=NOW_MS)
    state.high_watermark_moved(4)
    state.high_watermark_moved(5)
    assert state.first_unstable_offset is None


def test_markers_and_epochs() -> None:
    """V-62: a higher epoch forgets the batches, an equal one keeps them."""
    partition = Partition()
    state = partition.state
    partition.append(0, transactional=True)
    partition.end_transaction(COMMIT)
    assert partition.append(0, transactional=True) == (0, 0)
    partition.end_transaction(COMMIT, epoch=1)
    assert partition.append(1, epoch=1)[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition.append(0, epoch=1) == (0, 3)
    with pytest.raises(errors.InvalidProducerEpoch):
        state.check_marker(1, 0, 4)
    with pytest.raises(errors.TransactionCoordinatorFenced):
        state.check_marker(1, 1, 3)
    state.check_marker(99, 0, 0)
    assert state.apply_marker(99, 5, COMMIT, offset=4, timestamp_ms=NOW_MS) is None
    assert state.get(99) is not None
    assert partition.append(1, producer_id=99, epoch=5)[0] == 45


def test_origins() -> None:
    """V-80."""
    partition = Partition()
    partition.append(5, epoch=1)
    coordinator, replication = AppendOrigin.COORDINATOR, AppendOrigin.REPLICATION
    assert partition.append(5, epoch=1, origin=coordinator) == (0, 1)
    assert partition.append(0, epoch=0, origin=coordinator)[0] == 47
    assert partition.append(0, epoch=0, origin=replication) == (0, 2)


def test_verification() -> None:
    """V-55, V-57 row 1, V-61."""
    partition = Partition()
    state = partition.state
    assert partition.append(0, transactional=True, verification_enabled=True)[0] == 48
    entry = state.begin_verification(1, sequence=3, epoch=0, now_ms=NOW_MS)
    assert state.begin_verification(1, sequence=2, epoch=0, now_ms=NOW_MS) is entry
    assert state.verification(1) is entry
    assert state.verification(2) is None
    enabled = {"transactional": True, "verification_enabled": True}
    assert partition.append(2, **enabled)[0] == 48  # type: ignore[arg-type]
    guard = {"verification_guard": entry.guard}
    assert partition.append(3, **enabled, **guard)[0] == 45  # type: ignore[arg-type]
    assert partition.append(2, **enabled, **guard) == (0, 0)  # type: ignore[arg-type]
    assert state.verification(1) is None
    assert partition.append(3, **enabled) == (0, 1)  # type: ignore[arg-type]
    # Of two entries one goes; a marker without a transaction takes the other.
    state.begin_verification(1, sequence=0, epoch=0, now_ms=NOW_MS)
    state.begin_verification(2, sequence=0, epoch=0, now_ms=NOW_MS)
    partition.end_transaction(COMMIT)
    assert state.verification(1) is None
    assert state.verification(2) is not None


def test_expiry() -> None:
    """V-65: by the newest batch's max timestamp, never inside a transaction."""
    partition = Partition()
    state = partition.state
    assert state.expire(NOW_MS, DAY_MS) == []
    partition.append(0, producer_id=1)
    partition.append(0, producer_id=2, timestamp=BASE_TIMESTAMP + 1)
    partition.append(0, producer_id=3, transactional=True)
    state.begin_verification(4, sequence=0, epoch=0, now_ms=BASE_TIMESTAMP)
    state.begin_verification(5, sequence=0, epoch=0, now_ms=BASE_TIMESTAMP + 1)
    assert state.expire(BASE_TIMESTAMP + DAY_MS - 1, DAY_MS) == []
    assert state.expire(BASE_TIMESTAMP + DAY_MS, DAY_MS) == [1]
    assert state.verification(4) is None
    assert state.verification(5) is not None
    assert partition.append(77, producer_id=1) == (0, 3)
    partition.end_transaction(COMMIT, producer_id=3)
    assert sorted(state.expire(2 * NOW_MS, DAY_MS)) == [1, 2, 3]
    assert len(state) == 0


def test_replay_gives_the_same_state() -> None:
    """S-43, S-17."""
    partition = Partition()
    partition.append(5, count=3)
    partition.append(0, producer_id=2, transactional=True)
    partition.append(0, producer_id=3, transactional=True)
    expected = partition.end_transaction(ABORT, producer_id=2)
    partition.append(8, epoch=0)
    replayed = ProducerStateManager()
    completed = [replayed.replay(written) for written in partition.written]
    assert [c for c in completed if c is not None] == [expected]
    assert replayed.describe() == partition.state.describe()
    assert replayed.to_snapshot() == partition.state.to_snapshot()
    replayed.high_watermark_moved(partition.end)
    assert replayed.last_stable_offset(partition.end) == partition.last_stable_offset == 4


def test_replay_passes_over_other_control_batches() -> None:
    """V-62: an emptied control batch, and types that end nothing."""
    state = ProducerStateManager()
    assert state.replay(view(batch(b"", count=0, attributes=0x30, producer=(1, 0, -1)))) is None
    other = bytes(control_batch(ControlType.LEADER_CHANGE, b"", timestamp=0))
    patched = batch(other[61:], attributes=0x30, producer=(1, 0, -1))
    assert state.replay(view(patched)) is None
    assert len(state) == 0


@pytest.mark.parametrize("data", [CLOSED, OPEN, EMPTY], ids=["TV-64", "TV-65", "TV-66"])
def test_snapshot(data: bytes) -> None:
    state = ProducerStateManager()
    state.load_snapshot(data, NOW_MS, DAY_MS)
    assert state.to_snapshot() == data


def test_snapshot_restores_the_open_transaction_and_one_batch() -> None:
    """S-17, V-67."""
    partition = Partition()
    partition.append(0, count=2)
    partition.append(2, count=3)
    partition.append(0, producer_id=2, transactional=True)
    restarted = Partition()
    restarted.state.load_snapshot(partition.state.to_snapshot(), NOW_MS, DAY_MS)
    restarted.end = partition.end
    assert restarted.last_stable_offset == 5
    assert restarted.append(0, count=2)[0] == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert restarted.append(2, count=3) == (0, 2)
    assert restarted.append(5) == (0, 6)
    assert restarted.append(1, producer_id=2)[0] == ErrorCode.INVALID_TXN_STATE
    assert restarted.end_transaction(COMMIT, producer_id=2) == (2, 5, 7, False)


def test_snapshot_without_its_expired_producers() -> None:
    """S-17, V-65."""
    state = ProducerStateManager()
    state.load_snapshot(OPEN, 2 * NOW_MS, DAY_MS)
    assert [entry.producer_id for entry in state] == [1000]
    state.load_snapshot(CLOSED, 2 * NOW_MS, DAY_MS)
    assert len(state) == 0
    assert state.first_unstable_offset is None


def test_a_corrupt_snapshot_changes_nothing() -> None:
    state = ProducerStateManager()
    state.load_snapshot(OPEN, NOW_MS, DAY_MS)
    with pytest.raises(CorruptSnapshot):
        state.load_snapshot(OPEN[:-1], NOW_MS, DAY_MS)
    assert state.to_snapshot() == OPEN
    state.clear()
    assert state.to_snapshot() == EMPTY


def test_an_empty_state_is_small() -> None:
    assert sys.getsizeof(ProducerStateManager()) <= 80


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 2),
            st.integers(0, 2),
            st.integers(0, 6),
            st.integers(1, 3),
            st.booleans(),
        ),
        max_size=25,
    )
)
def test_any_course_replays_to_the_same_state(
    appends: list[tuple[int, int, int, int, bool]],
) -> None:
    """V-54 to V-59: what was written and taken in is what recovery finds."""
    partition = Partition()
    for producer_id, epoch, sequence, count, transactional in appends:
        code, _ = partition.append(
            sequence,
            count=count,
            epoch=epoch,
            producer_id=producer_id,
            transactional=transactional,
        )
        assert code in (0, 45, 47, 48)
        if count == 3 and transactional and code == 0:
            partition.end_transaction(ABORT, producer_id=producer_id, epoch=epoch)
    replayed = ProducerStateManager()
    for written in partition.written:
        replayed.replay(written)
    replayed.high_watermark_moved(partition.end)
    assert replayed.to_snapshot() == partition.state.to_snapshot()
    assert replayed.first_unstable_offset == partition.state.first_unstable_offset


def test_v57_a_verification_holds_back_even_the_next_batch_in_order() -> None:
    """V-57 row 1: the usual way past the checks is not taken while something is verified."""
    partition = Partition()
    assert partition.append(0) == (0, 0)
    partition.state.begin_verification(1, sequence=0, epoch=0, now_ms=NOW_MS)
    assert partition.append(1) == (45, -1)


def test_v64_an_open_transaction_before_an_undecided_one() -> None:
    """V-64: the smaller of the two first offsets counts."""
    partition = Partition()
    for producer_id in (1, 2):
        partition.append(0, producer_id=producer_id, transactional=True)
    state = partition.state
    state.apply_marker(2, 0, COMMIT, offset=2, timestamp_ms=NOW_MS)
    assert state.first_unstable_offset == 0
    state.apply_marker(1, 0, COMMIT, offset=3, timestamp_ms=NOW_MS)
    assert state.first_unstable_offset == 0
    state.high_watermark_moved(3)
    assert state.first_unstable_offset == 0
    state.high_watermark_moved(4)
    assert state.first_unstable_offset is None


def test_s17_open_transactions_of_a_snapshot_are_put_in_order() -> None:
    """S-17, V-64: a snapshot has its producers in no order."""
    first, second = (ProducerEntry(i, transaction_first_offset=o) for i, o in ((1, 9), (2, 4)))
    state = ProducerStateManager()
    state.load([first, second], NOW_MS, DAY_MS)
    assert state.last_stable_offset(20) == 4


def test_s17_the_batch_at_offset_0_survives_a_snapshot() -> None:
    partition = Partition()
    partition.append(5)
    state = ProducerStateManager()
    state.load_snapshot(partition.state.to_snapshot(), NOW_MS, DAY_MS)
    partition.state = state
    assert partition.append(5) == (0, 0)
    assert partition.end == 1
